"""Compares two MongoDB queries: reads both, brings them to normal form, decides what is left of a difference."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from time import monotonic
from typing import NamedTuple

from canon.errors import ReadError
from canon.logic import forms
from canon.mongo import decision
from canon.mongo.differences import filter_differences, plan_differences
from canon.mongo.envelope import MongoQuery, pin_clock, read_mongo
from canon.mongo.fields import Field, read_fields
from canon.mongo.filters import Form
from canon.mongo.pipelines import Plan, Stage, plan_of
from canon.mongo.values import text
from canon.mongo.witnesses import find_witness
from canon.rules import Rules
from canon.verdict import (
    Canonical,
    Comparison,
    Difference,
    Identical,
    Problem,
    Proved,
    Refuted,
    Side,
    Undecided,
)

_DEFAULT_RULES = Rules()
_FIND_KEYS = frozenset({"filter", "projection", "sort", "skip", "limit"})


def compare_mongo(
    expected: str,
    actual: str,
    *,
    fields: "Mapping[str, Field | str] | None" = None,
    now: datetime | None = None,
    rules: Rules = _DEFAULT_RULES,
) -> Comparison:
    """Decide whether two MongoDB queries mean the same.

    An expected envelope or bare filter is compared in the keys that it writes and no others; a whole statement in
    shell notation, or a pipeline, is compared in all.

    Args:
        expected: the golden query: a filter, an envelope or a pipeline as JSON, or shell text.
        actual: the answer, in any of these.
        fields: what is declared of paths: `Field`s, or the names of types.
        now: the aware instant to which clock calls fold; without one, a query that asks for the time equals only its
            own text.
        rules: how long the decision may take.

    Returns:
        the verdict with its evidence; a text that cannot be read gives `Undecided` with a `problem`, never an
        exception.
    """
    deadline = monotonic() + rules.budget_ms / 1000
    declared = read_fields(fields)
    sides: list[MongoQuery] = []
    plans: list[Plan] = []
    for side, shown in (("expected", expected), ("actual", actual)):
        read = _read(shown, side, declared, now)  # type: ignore[arg-type]
        if isinstance(read, Problem):
            return Undecided(problem=read)
        sides.append(read[0])
        plans.append(read[1])
    if _trimmed(expected) == _trimmed(actual):
        return Identical()
    golden, answer = sides
    try:
        pair = _Pair.of(golden, answer, plans[0], plans[1])
        return pair.compare(declared, rules, deadline)
    except RecursionError:
        problem = Problem(kind="too_large", side=None, message="the two queries are nested too deeply to compare")
        return Undecided(problem=problem)


def _trimmed(shown: str) -> str:
    return shown.strip().removesuffix(";").strip()


def _read(
    shown: str, side: Side, fields: Mapping[str, Field], now: datetime | None
) -> tuple[MongoQuery, Plan] | Problem:
    try:
        query = read_mongo(shown, now=now)
        if query.clock_used and now is not None:
            query = pin_clock(query, now)
        return query, plan_of(query, fields)
    except ReadError as error:
        return error.problem(side)
    except RecursionError:
        return Problem(kind="too_large", side=side, message="the query is nested too deeply to read")


class _Pair(NamedTuple):
    """Two plans, reduced to what is compared, and the differences outside of the plans."""

    golden: MongoQuery
    answer: MongoQuery
    expected: Plan
    actual: Plan
    outside: tuple[Difference, ...]
    collated: bool

    @staticmethod
    def of(golden: MongoQuery, answer: MongoQuery, expected: Plan, actual: Plan) -> "_Pair":
        """Reduce both sides to the keys that the golden writes."""
        outside: list[Difference] = []
        keys = golden.keys
        if "collection" in keys and golden.collection != answer.collection:
            outside.append(
                Difference(kind="source", where="collection", expected=golden.collection, actual=answer.collection)
            )
        collated = golden.complete or "collation" in keys
        if collated and golden.collation != answer.collation:
            outside.append(
                Difference(
                    kind="collation",
                    where="collation",
                    expected=text(golden.collation) if golden.collation else None,
                    actual=text(answer.collation) if answer.collation else None,
                )
            )
        any_collation = bool(golden.collation or answer.collation)
        if golden.operation == "find" and not golden.complete:
            return _Pair(golden, answer, _kept(expected, keys), _kept(actual, keys), tuple(outside), any_collation)
        if golden.operation in ("count", "distinct") and not golden.complete and "filter" not in keys:
            expected, actual = _without_filter(expected), _without_filter(actual)
        return _Pair(golden, answer, expected, actual, tuple(outside), any_collation)

    def compare(self, fields: Mapping[str, Field], rules: Rules, deadline: float) -> Comparison:
        """The verdict."""
        absorbed = self.absorbed()
        if not (self.golden.deterministic and self.answer.deterministic):
            return Undecided(differences=(*self.outside, self.nondeterministic()))
        expected, actual = self.counted()
        if expected.key == actual.key and not self.outside:
            vacuous = self.vacuous(expected, actual)
            return Undecided(differences=vacuous, absorbed=absorbed) if vacuous else Canonical(absorbed=absorbed)
        differences = (*self.outside, *plan_differences(expected, actual))
        if self.collated:
            return Undecided(differences=differences, absorbed=absorbed)
        aligned = _aligned(expected, actual)
        if aligned is None or self.outside:
            return self.refuted(
                expected, actual, differences=differences, fields=fields, rules=rules, deadline=deadline
            )
        assumptions: set[str] = set()
        for place, (want, given) in enumerate(aligned):
            if want == given:
                continue
            outcome = decision.decide(
                want,
                given,
                fields,
                limit=rules.max_regions,
                deadline=deadline,
                witnesses=place == 0,
            )
            if not isinstance(outcome, decision.Same):
                return self.refuted(
                    expected,
                    actual,
                    differences=differences,
                    fields=fields,
                    rules=rules,
                    deadline=deadline,
                    outcome=outcome,
                )
            if outcome.constant is not None:
                return Undecided(differences=(*differences, _vacuous(want, given)), absorbed=absorbed)
            assumptions |= set(outcome.assumptions)
        return Proved(absorbed=absorbed, assumptions=tuple(sorted(assumptions)))

    def counted(self) -> tuple[Plan, Plan]:
        """The plans, with a pipeline that only counts as a count where the other side is one."""
        expected, actual = self.expected, self.actual
        if expected.result == "count" and actual.result == "documents" and actual.single_count:
            return expected, replace(actual, result="count")
        if actual.result == "count" and expected.result == "documents" and expected.single_count:
            return replace(expected, result="count"), actual
        return expected, actual

    def absorbed(self) -> tuple[str, ...]:
        """The identities used on either side."""
        used = set(self.expected.used | self.actual.used)
        one, two = self.expected.sequence, self.actual.sequence
        if one != two and Counter(one) == Counter(two):
            used.add("clause_order")
        if self.golden.operation == self.answer.operation == "find":
            used.discard("find_as_pipeline")
        return tuple(sorted(used))

    def nondeterministic(self) -> Difference:
        """The difference that a query without a determined result makes."""
        return Difference(
            kind="nondeterministic",
            where="query",
            expected=None if self.golden.deterministic else "asks for the time without a pinned clock, or for chance",
            actual=None if self.answer.deterministic else "asks for the time without a pinned clock, or for chance",
        )

    def vacuous(self, expected: Plan, actual: Plan) -> tuple[Difference, ...]:
        """Whether two equal forms are equal only because both contradict themselves, each in its own way."""
        constant = [form for form, _ in expected.blocks if form == forms.FALSE]
        both = "complement" in expected.used and "complement" in actual.used
        if constant and both and Counter(expected.sequence) != Counter(actual.sequence):
            return (Difference(kind="vacuous", where="filter"),)
        return ()

    def refuted(
        self,
        expected: Plan,
        actual: Plan,
        *,
        differences: tuple[Difference, ...],
        fields: Mapping[str, Field],
        rules: Rules,
        deadline: float,
        outcome: "decision.Distinct | decision.Unclear | None" = None,
    ) -> Comparison:
        """A refutation where documents show the difference, else undecided."""
        absorbed = self.absorbed()
        sourced = any(difference.kind in ("source", "collation") for difference in self.outside)
        witness = None
        if not sourced:
            witness = find_witness(
                expected, actual, fields, limit=rules.max_regions, deadline=deadline, outcome=outcome
            )
        if witness is not None:
            return Refuted(differences=differences, witness=witness, absorbed=absorbed)
        if monotonic() > deadline:
            problem = Problem(kind="budget", side=None, message=f"no decision within {rules.budget_ms} ms")
            return Undecided(differences=differences, absorbed=absorbed, problem=problem)
        return Undecided(differences=differences, absorbed=absorbed)


def _vacuous(want: Form, given: Form) -> Difference:
    shown = filter_differences(want, given, "filter")
    return Difference(
        kind="vacuous",
        where="filter",
        expected=shown[0].expected if shown else None,
        actual=shown[0].actual if shown else None,
    )


def _kept(plan: Plan, keys: frozenset[str]) -> Plan:
    """A plan reduced to the parts of a find that the keys name; one that is no find stays whole."""
    kinds = [stage.kind for stage in plan.stages]
    if plan.result != "documents" or kinds != [kind for kind in ("match", "sort", "window") if kind in kinds]:
        projected = [
            stage for stage in plan.stages if stage.kind == "opaque" and stage.text.startswith("find projection")
        ]
        if not projected or plan.result != "documents":
            return plan
    stages: list[Stage] = []
    for stage in plan.stages:
        if stage.kind == "window":
            skip = stage.skip if "skip" in keys else 0
            limit = stage.limit if "limit" in keys else None
            if skip or limit is not None:
                stages.append(replace(stage, text=f"skip {skip} limit {limit}", skip=skip, limit=limit))
        elif {"match": "filter", "sort": "sort", "opaque": "projection"}[stage.kind] in keys:
            stages.append(stage)
    shape = plan.shape if "projection" in keys else type(plan.shape)()
    return replace(plan, stages=tuple(stages), shape=shape)


def _without_filter(plan: Plan) -> Plan:
    return replace(plan, stages=tuple(stage for stage in plan.stages if stage.kind != "match"))


def _aligned(expected: Plan, actual: Plan) -> list[tuple[Form, Form]] | None:
    """The conditions of two plans in pairs, where the plans are the same but for these."""
    one, two = expected.blocks, actual.blocks
    if expected.output != actual.output or len(one) != len(two):
        return None
    pairs: list[tuple[Form, Form]] = []
    for (want, stage), (given, other) in zip(one, two, strict=True):
        if (stage.shown if stage else "") != (other.shown if other else ""):
            return None
        pairs.append((want, given))
    return pairs
