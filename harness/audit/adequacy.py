"""How much of what can go wrong a fixture shows: mutants of each golden, told apart from it by the fixture or not."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from random import Random

from canon.errors import ReadError
from canon.rules import Rules
from canon.schema import Schema
from canon.verdict import DifferenceKind, RowWitness
from harness.audit.fixtures import TableFixture
from harness.types.cases import Case, ExpectSql
from harness.types.frozen import Frozen
from harness.witness.database import Layout, Relation, Rows, Value, comparable, rows_of, violations
from harness.witness.engines import OutOfTime, QueryFailed
from harness.witness.mutations import Mutant, mutants_of
from harness.witness.plans import Plan, Request, Unrunnable, parsed, plans_for, read_pair
from harness.witness.search import NotFound, Search, find_witness
from harness.witness.shrinking import cascade

MUTANT_BUDGET_MS = 1200
GROWTH_TRIES = 300
MAX_ROUNDS = 3


class Survivor(Frozen):
    """A mutant that the fixture does not tell apart from its golden.

    Attributes:
        case_id: whose golden it is.
        kind: the kind of mistake.
        change: what was done.
        text: the mutant.
        witness: the smallest rows that would tell the two apart; `None` = none were found: it may mean the same.
    """

    case_id: str
    kind: DifferenceKind
    change: str
    text: str
    witness: RowWitness | None


class CaseAdequacy(Frozen):
    """The mutants of one golden.

    Attributes:
        case_id: the case.
        tags: its tags.
        killed: mutants that the fixture tells apart.
        equivalent: mutants that canon proved to mean the same, left out.
        unrunnable: mutants that no engine takes, left out.
        survivors: mutants that it does not tell apart.
    """

    case_id: str
    tags: tuple[str, ...]
    killed: int
    equivalent: int = 0
    unrunnable: int = 0
    survivors: tuple[Survivor, ...] = ()

    @property
    def killable(self) -> int:
        """Mutants that some database tells apart."""
        return self.killed + sum(survivor.witness is not None for survivor in self.survivors)


class Adequacy(Frozen):
    """The adequacy of a fixture for a golden file."""

    cases: tuple[CaseAdequacy, ...]

    @property
    def share(self) -> float | None:
        """The killed among the killable mutants; `None` where there are none."""
        return share_of(self.cases)

    def by_tag(self) -> dict[str, float]:
        """The share of each tag, in order of first appearance."""
        tags = dict.fromkeys(tag for case in self.cases for tag in case.tags)
        shares = {tag: share_of([case for case in self.cases if tag in case.tags]) for tag in tags}
        return {tag: share for tag, share in shares.items() if share is not None}


def share_of(cases: Iterable[CaseAdequacy]) -> float | None:
    """The killed among the killable mutants of some cases."""
    killed = killable = 0
    for case in cases:
        killed, killable = killed + case.killed, killable + case.killable
    return killed / killable if killable else None


@dataclass(frozen=True)
class Question:
    """A golden SQL query with what is needed to run it."""

    case: Case
    text: str
    dialect: str
    schema: Schema
    now: datetime | None

    @property
    def args(self) -> tuple[object, ...]:
        """The values bound to the golden's parameters."""
        expectation = self.case.expectation
        return tuple(expectation.args or ()) if isinstance(expectation, ExpectSql) else ()


def case_adequacy(question: Question, fixture: TableFixture, rows: Rows) -> CaseAdequacy:
    """Mutate one golden and run its mutants on the fixture."""
    case = question.case
    try:
        tree = parsed(question.text, question.dialect, question.args, question.now)  # type: ignore[arg-type]
    except Unrunnable:
        return CaseAdequacy(case_id=case.id, tags=case.tags, killed=0, unrunnable=1)
    golden = tree.sql(dialect=question.dialect)
    killed = equivalent = unrunnable = 0
    survivors: list[Survivor] = []
    for mutant in mutants_of(tree, question.dialect, question.schema):
        told = told_apart(golden, mutant.text, question, fixture, rows=rows)
        if told is None:
            unrunnable += 1
        elif told:
            killed += 1
        elif _means_the_same(golden, mutant, question):
            equivalent += 1
        else:
            survivors.append(_survivor(golden, mutant, question, fixture))
    return CaseAdequacy(
        case_id=case.id,
        tags=case.tags,
        killed=killed,
        equivalent=equivalent,
        unrunnable=unrunnable,
        survivors=tuple(survivors),
    )


def _means_the_same(golden: str, mutant: Mutant, question: Question) -> bool:
    from canon.sql import compare_sql

    try:
        found = compare_sql(
            golden, mutant.text, dialect=question.dialect, schema=question.schema, now=question.now, rules=Rules()
        )
    except ReadError:
        return False
    return found.relation in {"identical", "equivalent"}


def _survivor(golden: str, mutant: Mutant, question: Question, fixture: TableFixture) -> Survivor:
    found = find_witness(
        golden,
        mutant.text,
        dialect=question.dialect,
        schema=question.schema,
        now=question.now,
        budget_ms=MUTANT_BUDGET_MS,
        fixture_rows=named_rows(fixture),
    )
    witness = None if isinstance(found, NotFound) else found
    return Survivor(case_id=question.case.id, kind=mutant.kind, change=mutant.change, text=mutant.text, witness=witness)


def named_rows(fixture: TableFixture) -> dict[str, list[dict[str, object]]]:
    """The fixture's rows by column name, at most 200 of a table."""
    return {
        table.name: [
            dict(zip([column.name for column in table.columns], row, strict=True))
            for row in fixture.rows.get(table.name, [])[:200]
        ]
        for table in fixture.schema.tables
    }


def told_apart(
    golden: str, other: str, question: Question, fixture: TableFixture, *, rows: Rows, seconds: float = 5.0
) -> bool | None:
    """Whether these rows give two queries different results in every order of storage; `None` = cannot be run."""
    with_plan = plan_on(golden, other, question, fixture, seconds)
    if with_plan is None:
        return None
    plan, search = with_plan
    with closing(plan):
        return _differs(search, rows)


def _differs(search: Search, rows: Rows) -> bool | None:
    try:
        return search.tells_apart(rows)
    except (QueryFailed, OutOfTime):
        return None


def plan_on(
    golden: str, other: str, question: Question, fixture: TableFixture, seconds: float
) -> tuple[Plan, Search] | None:
    """The faithful engine for two queries, tables as the fixture declares them; `None` = there is none."""
    try:
        pair = read_pair(Request((golden, other), question.dialect, fixture.schema, question.now))
        # The last way is the dialect's own engine, or the nearest to it.
        plan = plans_for(pair)[-1](time.monotonic() + seconds)
    except (Unrunnable, ReadError, RecursionError):
        return None
    search = Search(plan, deadline=time.monotonic() + seconds, fixture=named_rows(fixture))
    try:
        search.warm_up()
    except (QueryFailed, OutOfTime):
        plan.close()
        return None
    return plan, search


# -- adding rows ------------------------------------------------------------------------------------------------------


def rows_to_add(survivors: Sequence[tuple[Survivor, Question]], fixture: TableFixture) -> tuple[Rows, list[Survivor]]:
    """Rows that make the fixture tell the survivors apart, keys kept valid.

    Returns:
        The rows to add by table, and the survivors that no addition was found for.
    """
    waiting = [pair for pair in survivors if pair[0].witness is not None]
    best: tuple[Rows, list[tuple[Survivor, Question]]] = {}, waiting
    for _ in range(MAX_ROUNDS):
        added, left = _grown(waiting, fixture)
        if len(left) < len(best[1]) or not best[0]:
            best = added, left
        if not left:
            break
        # What one mutant needs may be hidden by a row for another: the ones that went without come first now.
        waiting = left + [pair for pair in waiting if pair not in left]
    return best[0], [survivor for survivor, _ in best[1]]


def _grown(
    survivors: Sequence[tuple[Survivor, Question]], fixture: TableFixture
) -> tuple[Rows, list[tuple[Survivor, Question]]]:
    """Add rows for one survivor after the other, and again for those that a later row has hidden."""
    layout = fixture.layout
    added: Rows = {}
    left: list[tuple[Survivor, Question]] = []
    for _ in range(MAX_ROUNDS):
        before, left = added, []
        for survivor, question in survivors:
            extra = _missing(survivor, question, fixture, _merged(fixture.rows, added), layout)
            if extra is None:
                left.append((survivor, question))
            elif extra:
                added = _merged(added, extra)
        if added == before:
            break
    return added, left


def _missing(survivor: Survivor, question: Question, fixture: TableFixture, base: Rows, layout: Layout) -> Rows | None:
    """The rows that the base lacks to tell a survivor apart, none where it does; `None` = none were found."""
    planned = plan_on(question.text, survivor.text, question, fixture, 20.0)
    if planned is None or survivor.witness is None:
        return None
    plan, search = planned
    with closing(plan):
        return {} if _differs(search, base) else _growth(survivor.witness, base, layout, search)


def _growth(witness: RowWitness, base: Rows, layout: Layout, search: Search) -> Rows | None:
    """The fewest rows, made from a witness or near it, that show its difference beside the rows that are there."""
    for candidate in _additions(witness, base, layout, search):
        whole = _merged(base, candidate)
        if not violations(whole, layout) and not search.checks.broken(whole) and _differs(search, whole):
            return _least(candidate, base, layout, search)
    return None


def _additions(witness: RowWitness, base: Rows, layout: Layout, search: Search) -> Iterator[Rows]:
    random = Random(0)  # noqa: S311 - a repeatable choice
    try:
        seed = rows_of(witness.tables, layout)
    except ValueError:
        seed = {}
    for _ in range(4):
        yield _rekeyed(_filled(seed, base, layout, random), base, layout)
    yield _rekeyed(seed, base, layout)
    for index in range(GROWTH_TRIES):
        made = search.builder.varied(seed) if index % 2 and seed else search.builder.candidate(index)
        yield _rekeyed(made if index % 2 else _filled(made, base, layout, random), base, layout)
        if index % 3 == 0:
            # Some differences need a row that belongs to what is there: a second order of a known customer.
            yield _attached(made, base, layout, random)


def _least(candidate: Rows, base: Rows, layout: Layout, search: Search) -> Rows:
    smaller = True
    while smaller:
        smaller = False
        for name, content in candidate.items():
            for index in range(len(content)):
                tried = {**candidate, name: content[:index] + content[index + 1 :]}
                whole = cascade(_merged(base, tried), layout)
                if whole == _merged(base, tried) and not violations(whole, layout) and _differs(search, whole):
                    candidate, smaller = tried, True
                    break
            if smaller:
                break
    return {name: content for name, content in candidate.items() if content}


def _merged(one: Rows, other: Rows) -> Rows:
    return {name: [*one.get(name, []), *other.get(name, [])] for name in dict.fromkeys((*one, *other))}


def _rekeyed(rows: Rows, base: Rows, layout: Layout) -> Rows:
    """The rows with keys that the base does not use, references following."""
    moved: dict[tuple[str, int], dict[object, Value]] = {}
    for relation in layout.relations.values():
        for key in relation.keys:
            if len(key) == 1:
                moved[relation.name, key[0]] = _fresh(relation, key[0], rows, base)
    found: Rows = {}
    for relation in layout.relations.values():
        content = []
        for row in rows.get(relation.name, []):
            cells = list(row)
            for reference in relation.references:
                for here, there in zip(reference.columns, reference.parent_columns, strict=True):
                    change = moved.get((reference.parent, there), {})
                    cells[here] = change.get(comparable(row[here]), row[here])
            for key in relation.keys:
                # A key that is a reference as well follows its parent.
                if len(key) == 1 and not any(key[0] in reference.columns for reference in relation.references):
                    cells[key[0]] = moved[relation.name, key[0]].get(comparable(row[key[0]]), row[key[0]])
            content.append(tuple(cells))
        if content:
            found[relation.name] = content
    return found


def _fresh(relation: Relation, index: int, rows: Rows, base: Rows) -> dict[object, Value]:
    taken = {comparable(row[index]) for row in base.get(relation.name, [])}
    numbers = [value for value in taken if isinstance(value, int | float)]
    following = int(max(numbers, default=0)) + 1
    changes: dict[object, Value] = {}
    for row in rows.get(relation.name, []):
        value = row[index]
        if value is None:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            # Numbers always follow the fixture's own, so that the added rows read as added.
            changes[comparable(value)] = following
            following += 1
        elif isinstance(value, str) and comparable(value) in taken:
            number = 2
            while comparable(f"{value} {number}") in taken:
                number += 1
            changes[comparable(value)] = f"{value} {number}"
    return changes


def _filled(rows: Rows, base: Rows, layout: Layout, random: Random) -> Rows:
    """The rows with values of the fixture for what is NULL: a NULL too many hides what another row should show."""
    found: Rows = {}
    for name, content in rows.items():
        relation = layout.find(name)
        referring = (
            {i for reference in relation.references for i in reference.columns} if relation is not None else set()
        )
        there = base.get(name, [])
        filled = []
        for row in content:
            model = random.choice(there) if there else row
            filled.append(
                tuple(
                    model[index] if value is None and index not in referring else value
                    for index, value in enumerate(row)
                )
            )
        found[name] = filled
    return found


def _attached(rows: Rows, base: Rows, layout: Layout, random: Random) -> Rows:
    """Only the rows that refer to others, pointed at parents of the base."""
    found: Rows = {}
    for relation in layout.relations.values():
        content = []
        for row in rows.get(relation.name, []) if relation.references else ():
            cells = list(row)
            for reference in relation.references:
                parents = base.get(reference.parent, [])
                if parents:
                    chosen = random.choice(parents)
                    for here, there in zip(reference.columns, reference.parent_columns, strict=True):
                        cells[here] = chosen[there]
            content.append(tuple(cells))
        if content:
            found[relation.name] = content
    return _rekeyed(found, base, layout)
