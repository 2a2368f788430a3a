"""Searches for the smallest database on which two SQL queries give different results."""

import time
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from random import Random
from typing import Literal

from pydantic import JsonValue
from sqlglot.errors import SqlglotError

from canon.errors import ReadError
from canon.schema import Schema
from canon.verdict import Cell, Difference, RowWitness
from canon.verdict import Table as ResultTable
from harness.types.frozen import Frozen
from harness.witness.builder import Builder
from harness.witness.checks import Checks
from harness.witness.conditions import Demands, Place
from harness.witness.database import Layout, Rows, Value, cell_of, tables_of, violations
from harness.witness.demands import demands_of
from harness.witness.domains import domains_of, telling_values
from harness.witness.engines import Engine, OutOfTime, QueryFailed, shuffled
from harness.witness.plans import Plan, Request, Sides, Unrunnable, plans_for, read_pair
from harness.witness.probes import Probe
from harness.witness.reading import read_rows
from harness.witness.results import Outcome, may_agree, nearly_same, outcome_of, settled_rows
from harness.witness.shrinking import shrink

Args = tuple[JsonValue, ...] | dict[str, JsonValue]
Columns = Literal["any", "ordered"]

QUICK_SAMPLES = 3
LAST_SAMPLES = 12
MORE_AFTER_FREE_CHOICE = 80
KEPT = 24


class NotFound(Frozen):
    """No witness was found.

    Attributes:
        reason: `none found` = all candidates that the budget allowed were tried, or all there are; `budget` = time ran
            out before a few could be tried; `nondeterministic` = the results did differ, but by nothing other than the
            order of rows or a free choice; `not runnable` = a query could not be run here, or not as its dialect means.
        detail: one line for a person.
        tried: how many databases both queries ran on.
    """

    reason: Literal["none found", "budget", "nondeterministic", "not runnable"]
    detail: str = ""
    tried: int = 0


def find_witness(
    expected: str,
    actual: str,
    *,
    dialect: str,
    schema: Schema | str | None,
    now: datetime | None = None,
    seed: int = 0,
    budget_ms: int = 2000,
    differences: tuple[Difference, ...] = (),
    fixture_rows: Mapping[str, list[dict[str, object]]] | None = None,
    columns: Columns = "any",
    expected_args: Args = (),
    actual_args: Args = (),
    postgres: str | None = None,
) -> RowWitness | NotFound:
    """Look for the smallest database that the schema allows and on which the two queries give different results.

    Args:
        expected: the golden query.
        actual: the query that is judged.
        dialect: the sqlglot name of their dialect.
        schema: tables and keys, or DDL text, or `None` to infer the tables from the queries.
        now: the pinned clock, aware; without it both queries are asked at one fixed instant.
        seed: the same seed finds the same witness.
        budget_ms: time for the whole search, in milliseconds.
        differences: what canon says differs; the search looks there first.
        fixture_rows: rows of the user's fixture by table, each by column; the random phase mixes them in.
        columns: `any` lets the results differ by a permutation of columns.
        expected_args: values bound to the parameters of `expected`.
        actual_args: values bound to the parameters of `actual`.
        postgres: connection string of a server on which a witness for PostgreSQL is confirmed as well.

    Returns:
        The witness, or why there is none. Rows count as a bag; their order only where both queries ask for one.
    """
    started = time.monotonic()
    request = Request((expected, actual), dialect, schema, now, (expected_args, actual_args), postgres)
    try:
        pair = read_pair(request)
        ways = plans_for(pair)
    except Unrunnable as problem:
        return NotFound(reason="not runnable", detail=str(problem))
    except ReadError as problem:
        return NotFound(reason="not runnable", detail=problem.message)
    except RecursionError:
        return NotFound(reason="not runnable", detail="a query is nested too deeply")
    found: RowWitness | NotFound = NotFound(reason="budget")
    for number, way in enumerate(ways, 1):
        # The last way has what is left; an earlier one gets half of it.
        share = budget_ms / 1000 - (time.monotonic() - started)
        deadline = time.monotonic() + (share if number == len(ways) else share / 2)
        try:
            with closing(way(deadline)) as plan:
                search = Search(
                    plan,
                    deadline=deadline,
                    seed=seed,
                    differences=differences,
                    fixture=fixture_rows,
                    columns=columns,
                )
                found = _better(found, search.run())
        except Unrunnable as problem:
            found = _better(found, NotFound(reason="not runnable", detail=str(problem)))
        except (RecursionError, SqlglotError) as problem:
            detail = f"a query cannot be put into other words: {type(problem).__name__}"
            found = _better(found, NotFound(reason="not runnable", detail=detail))
        if isinstance(found, RowWitness):
            return found
    return found


def _better(before: RowWitness | NotFound, after: RowWitness | NotFound) -> RowWitness | NotFound:
    """The more telling of two answers: one that ran over one that could not."""
    if isinstance(after, NotFound) and after.reason == "not runnable" and isinstance(before, NotFound) and before.tried:
        return before
    return after


class Search:
    """One search: candidates, the first difference, its confirmation and shrinking."""

    def __init__(
        self,
        plan: Plan,
        *,
        deadline: float,
        seed: int = 0,
        differences: tuple[Difference, ...] = (),
        fixture: Mapping[str, list[dict[str, object]]] | None = None,
        columns: Columns = "any",
    ) -> None:
        self.plan = plan
        self.seed = seed
        self.deadline = deadline
        self.columns = columns
        self.ordered = plan.sides.ordered
        self.tried = 0
        self.free_choice: Rows | None = None
        self.saw_free_choice = False
        self.kept: list[Rows] = []
        self.layout: Layout = plan.layout
        self.demands: Demands = demands_of(plan.trees, plan.layout)
        names = [*dict.fromkeys(self.demands.tables)]
        self.tables = plan.layout.ancestors(names)
        self.checks = Checks(self.tables, plan.dialect, deadline)
        rows = _fixture(fixture or {}, plan.layout)
        values = {
            Place(relation.name, index): telling_values([row[index] for row in rows[relation.name]])
            for relation in self.tables
            if relation.name in rows
            for index in range(len(relation.columns))
        }
        domains, classes = domains_of(
            self.demands,
            plan.layout,
            self.tables,
            allowed=self.checks.allow,
            fixture=values,
            declared=self.checks.constants(),
            folds=plan.folds,
        )
        focus = frozenset(d.field.split(".")[-1].lower() for d in differences if d.field)
        self.builder = Builder(
            plan.layout,
            tables=self.tables,
            demands=self.demands,
            domains=domains,
            classes=classes,
            focus=focus,
            fixture=rows,
            seed=seed,
        )

    def run(self) -> RowWitness | NotFound:
        """Try candidates until a witness is confirmed or time is over."""
        with closing(self.checks):
            try:
                self.warm_up()
                return self._look()
            except OutOfTime:
                return self._nothing()
            except QueryFailed as failure:
                return NotFound(reason="not runnable", detail=str(failure), tried=self.tried)

    def warm_up(self) -> None:
        """Run both queries on nothing: what fails there cannot be run at all."""
        self.plan.sides = self.plan.sides.tried()
        self.ordered = self.plan.sides.ordered

    def _nothing(self) -> NotFound:
        if self.saw_free_choice:
            return NotFound(reason="nondeterministic", tried=self.tried)
        return NotFound(reason="none found" if self.tried >= 20 else "budget", tried=self.tried)

    def _look(self) -> RowWitness | NotFound:
        random = Random(self.seed + 1)  # noqa: S311 - a repeatable choice
        found_free_at = 0
        # Shrinking needs its part of the budget.
        until = time.monotonic() + 0.85 * (self.deadline - time.monotonic())
        while time.monotonic() < until:
            if self.kept and self.tried > 24 and random.random() < 0.5:
                rows = self.builder.varied(random.choice(self.kept))
            else:
                rows = self.builder.candidate(self.tried)
            self.tried += 1
            if not self._differs_once(rows) or self._forbidden(rows):
                continue
            verdict = self._differs(rows, QUICK_SAMPLES, self.plan.sides)
            if verdict == "free choice" and self.free_choice is None:
                self.free_choice, found_free_at = rows, self.tried
            if verdict == "yes" or (self.free_choice and self.tried > found_free_at + MORE_AFTER_FREE_CHOICE):
                witness = self._finish(rows if verdict == "yes" else self.free_choice or rows)
                if witness is not None:
                    return witness
                self.free_choice = None
        if self.free_choice is not None:
            return self._finish(self.free_choice) or self._nothing()
        return self._nothing()

    def _differs_once(self, rows: Rows) -> bool:
        """Whether the results differ in this order of storage; cheap, and true far more often than a witness is."""
        sides = self.plan.sides
        try:
            sides.engine.load(rows)
            left, right = sides.engine.run(sides.expected.plain), sides.engine.run(sides.actual.plain)
        except QueryFailed:
            return False
        if left == right:
            if left:
                self._keep(rows)
            return False
        one, other = _whole(left, self.ordered), _whole(right, self.ordered)
        if may_agree(one, other, ordered=self.ordered, columns=self.columns):
            self._keep(rows)
            return False
        return True

    def _keep(self, rows: Rows) -> None:
        if sum(map(len, rows.values())) <= 30:
            if len(self.kept) < KEPT:
                self.kept.append(rows)
            else:
                self.kept[self.tried % KEPT] = rows

    def _forbidden(self, rows: Rows) -> bool:
        return bool(violations(rows, self.layout)) or self.checks.broken(rows)

    def _differs(self, rows: Rows, samples: int, sides: Sides) -> Literal["yes", "no", "free choice"]:
        """Whether no result that one query may give is one that the other may give.

        `free choice` says that it is so, but that a query may give more than one result.
        """
        random = Random(self.seed + 2)  # noqa: S311 - a repeatable choice
        ordered = self.ordered and sides.ordered
        lefts: list[Outcome] = []
        rights: list[Outcome] = []
        for number in range(samples):
            try:
                sides.engine.load(rows if number == 0 else _reversed(rows) if number == 1 else shuffled(rows, random))
                _add(lefts, _outcome(sides.expected, sides.engine, ordered))
                _add(rights, _outcome(sides.actual, sides.engine, ordered))
            except QueryFailed:
                return "no"
            for one in lefts:
                for other in rights:
                    if may_agree(one, other, ordered=ordered, columns=self.columns):
                        self.saw_free_choice = True
                        return "no"
        return "yes" if len(lefts) == len(rights) == 1 else "free choice"

    def outcomes(self, rows: Rows) -> list[Outcome] | None:
        """Every result that the expected query gives on these rows in some orders of storage; `None` = it fails."""
        random = Random(self.seed + 2)  # noqa: S311 - a repeatable choice
        found: list[Outcome] = []
        for number in range(LAST_SAMPLES):
            try:
                self.plan.sides.engine.load(rows if number == 0 else shuffled(rows, random))
                _add(found, _outcome(self.plan.sides.expected, self.plan.sides.engine, self.ordered))
            except (QueryFailed, OutOfTime):
                return None
        return found

    @staticmethod
    def free_choice_on(outcomes: list[Outcome]) -> bool:
        """Whether LIMIT or OFFSET cuts through rows that differ and that the order does not tell apart."""
        return any(run.take < len(run.rows) and len(set(run.rows)) > 1 for one in outcomes for run in one.runs)

    def tells_apart(self, rows: Rows) -> bool:
        """Whether these rows, however stored, give the two queries results that cannot be the same.

        Raises:
            QueryFailed: a query cannot be run on them.
            OutOfTime: the deadline has passed.
        """
        sides = self.plan.sides
        sides.engine.load(rows)
        for probe in (sides.expected, sides.actual):
            sides.engine.run(probe.plain)
        return self._differs_once(rows) and self._differs(rows, QUICK_SAMPLES, sides) != "no"

    def _plainly_differs(self, rows: Rows, sides: Sides) -> bool:
        """Whether the queries as written differ in every one of some orders of storage."""
        random = Random(self.seed + 3)  # noqa: S311 - a repeatable choice
        lefts, rights = [], []
        for _ in range(4):
            try:
                sides.engine.load(rows)
                lefts.append(sides.engine.run(sides.expected.plain))
                rights.append(sides.engine.run(sides.actual.plain))
            except QueryFailed:
                return False
            rows = shuffled(rows, random)
        return not any(
            nearly_same(settled_rows(one), settled_rows(other))
            if not self.ordered
            else may_agree(_whole(one, True), _whole(other, True), ordered=True, columns=self.columns)
            for one in lefts
            for other in rights
        )

    def _holds(self, rows: Rows, samples: int) -> bool:
        return (
            not self._forbidden(rows)
            and self._differs_once(rows)
            and self._differs(rows, samples, self.plan.sides) != "no"
        )

    def _finish(self, rows: Rows) -> RowWitness | None:
        """Shrink, confirm and describe; `None` where the difference does not stand."""
        sides = self.plan.sides
        if self._differs(rows, LAST_SAMPLES, sides) == "no" or not self._plainly_differs(rows, sides):
            return None
        for samples in (2, LAST_SAMPLES):
            # What is left after shrinking is for the confirmation.
            until = time.monotonic() + 0.6 * (self.deadline - time.monotonic())
            small = shrink(rows, lambda tried, n=samples: self._holds(tried, n), self.layout, until)  # type: ignore[misc]
            if self._differs(small, LAST_SAMPLES, self.plan.sides) == "no" or self._forbidden(small):
                continue
            stands = self._plainly_differs(small, self.plan.sides) and all(
                self._differs(small, QUICK_SAMPLES, sides) != "no" and self._plainly_differs(small, sides)
                for sides in self.plan.confirming
            )
            return self._witness(small) if stands else None
        return None

    def _witness(self, rows: Rows) -> RowWitness:
        shown = self.plan.shown
        shown.engine.load(rows)
        left, right = shown.engine.run(shown.expected.plain), shown.engine.run(shown.actual.plain)
        hidden = {
            relation.name: frozenset(
                index
                for index in range(len(relation.columns))
                if index not in relation.required and all(row[index] is None for row in rows.get(relation.name, ()))
                and Place(relation.name, index) not in self.demands.used
                and relation.name not in self.demands.starred
            )
            for relation in self.tables
        }  # fmt: skip
        tables = tables_of({**{name: [] for name in self._named()}, **rows}, self.layout, hidden)
        expected = _result("expected", self.plan.names[0], left)
        actual = _result("actual", self.plan.names[1], right)
        return RowWitness(
            tables=tables,
            expected=expected,
            actual=actual,
            reading=read_rows(tables, expected, actual, self.ordered),
            confirmed_on=self.plan.engines,
        )

    def _named(self) -> list[str]:
        return list(dict.fromkeys(self.demands.tables))


def _add(outcomes: list[Outcome], outcome: Outcome) -> None:
    if outcome not in outcomes:
        outcomes.append(outcome)


def _outcome(probe: Probe, engine: Engine, ordered: bool) -> Outcome:
    raw = engine.run(probe.open)
    own, keys = probe.split(settled_rows(raw))
    width = len(own[0]) if own else 0
    if keys is None or (not ordered and probe.limit is None and not probe.offset):
        # Without an order that counts, one canonical sequence keeps equal bags equal.
        own, keys = sorted(own, key=repr), None
    return outcome_of(own, width, keys, probe.limit, probe.offset)


def _whole(rows: list[tuple[object, ...]], ordered: bool) -> Outcome:
    settled = settled_rows(rows)
    width = len(rows[0]) if rows else 0
    return outcome_of(settled, width, [(index,) for index in range(len(rows))] if ordered else None, None, 0)


def _reversed(rows: Rows) -> Rows:
    return {name: content[::-1] for name, content in rows.items()}


def _result(name: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> ResultTable:
    width = len(rows[0]) if rows else len(columns)
    names = columns if len(columns) == width else tuple(f"column {index + 1}" for index in range(width))
    cells: tuple[tuple[Cell, ...], ...] = tuple(tuple(cell_of(value) for value in row) for row in rows)
    return ResultTable(name=name, columns=names, rows=cells)


def _fixture(fixture: Mapping[str, list[dict[str, object]]], layout: Layout) -> Rows:
    rows: Rows = {}
    for name, content in fixture.items():
        relation = layout.find(name)
        if relation is None:
            continue
        folded = [{key.lower(): value for key, value in row.items()} for row in content]
        rows[relation.name] = [
            tuple(_plain(row.get(column.name.lower())) for column in relation.columns) for row in folded
        ]
    return rows


def _plain(value: object) -> Value:
    if isinstance(value, list | tuple):
        return tuple(item if isinstance(item, int) else str(item) for item in value)
    return value if value is None or isinstance(value, bool | int | float | str | bytes) else str(value)
