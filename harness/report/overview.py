"""What a run comes to beyond its counts, gathered in one pass: rates, failure groups, stability, latency."""

from collections import Counter, defaultdict
from typing import NamedTuple

from harness import statistics
from harness.report import words
from harness.statistics import Rate
from harness.types.cases import Case
from harness.types.outcomes import LADDER, CaseResult, Grade, basis_of
from harness.types.run import RunFacts, Summary

MOST_UNSTABLE = 30
"""Rows of the stability table."""


class TagRate(NamedTuple):
    """The cases of one tag.

    Attributes:
        tag: the tag.
        passed: cases that passed every repeat.
        rate: the mean over its cases with its interval.
        p_value: against the cases without the tag, corrected by Holm over all tags; `None` = nothing to compare with.
    """

    tag: str
    passed: int
    rate: Rate
    p_value: float | None

    @property
    def below(self) -> bool:
        """Whether the tag fails more than the rest even after the correction."""
        return self.p_value is not None and self.p_value < statistics.ALPHA


class Failing(NamedTuple):
    """A case that failed, for a list."""

    id: str
    nl: str
    grade: Grade
    line: str
    steady: bool
    shown: bool


class Unstable(NamedTuple):
    """A case whose repeats disagree."""

    id: str
    nl: str
    grades: tuple[Grade, ...]
    distinct: int
    flakiness: float


class Overview(NamedTuple):
    """What reports say of a run above its single cases.

    Attributes:
        facts: what was run.
        summary: the counts of the run itself.
        grades: cases per grade among the cases read, every grade present.
        passed: cases that passed every repeat.
        rate: the share of passed cases with its interval; ERROR counts as a failure.
        mean: the mean of the cases' own pass rates, where there are repeats.
        answered: the share of passed cases among those that got a query or a refusal at all.
        tags: one row per tag, in order of first appearance.
        groups: failed cases by kind, the largest group first; a case stands in each of its kinds.
        clearest: the failure to read first, `None` where none failed.
        unstable: cases whose repeats disagree, the least stable first, at most `MOST_UNSTABLE`.
        unstable_count: how many there are.
        flakiness: chance that two attempts of a case disagree, mean over cases with repeats; `None` without any.
        of_k: k, the chance that all of k attempts pass, and that at least one does; empty without repeats.
        latencies: milliseconds per model call.
        absorbed: identities by name, with the cases that rest on them, the commonest first.
        detectable: smallest difference to another model that so many cases would show, `None` where none would.
    """

    facts: RunFacts
    summary: Summary
    grades: dict[Grade, int]
    passed: int
    rate: Rate
    mean: Rate | None
    answered: Rate
    tags: tuple[TagRate, ...]
    groups: tuple[tuple[str, tuple[Failing, ...]], ...]
    clearest: str | None
    unstable: tuple[Unstable, ...]
    unstable_count: int
    flakiness: float | None
    of_k: tuple[tuple[int, float, float], ...]
    latencies: tuple[float, ...]
    absorbed: tuple[tuple[str, int], ...]
    detectable: float | None

    @property
    def cases(self) -> int:
        """Cases read."""
        return self.rate.cases

    @property
    def failed(self) -> int:
        """Cases that did not pass, ERROR included."""
        return self.cases - self.passed


class Gathering:
    """Takes case after case and ends in an `Overview`; holds a few numbers a case, and a line a failure.

    Attributes:
        clearest: the failure to read first among those added, `None` where none failed.
    """

    def __init__(self, facts: RunFacts, summary: Summary) -> None:
        self._facts = facts
        self._summary = summary
        self._grades: dict[Grade, int] = dict.fromkeys(LADDER, 0)
        self._passes: list[float] = []
        self._means: list[float] = []
        self._attempts: list[tuple[int, int]] = []
        self._clusters: list[str] = []
        self._tags: defaultdict[str, list[int]] = defaultdict(list)
        self._groups: defaultdict[str, list[Failing]] = defaultdict(list)
        self._clearest: tuple[int, int] | None = None
        self.clearest: tuple[Case, CaseResult] | None = None
        self._unstable: list[Unstable] = []
        self._latencies: list[float] = []
        self._absorbed: Counter[str] = Counter()

    def add(self, case: Case, result: CaseResult) -> None:
        """Count one case."""
        outcomes = result.outcomes
        passed = sum(outcome.passed for outcome in outcomes)
        index = len(self._passes)
        self._grades[result.grade] += 1
        self._passes.append(float(passed == len(outcomes)))
        self._means.append(passed / len(outcomes))
        self._attempts.append((len(outcomes), passed))
        self._clusters.append(words.cluster_of(case))
        self._latencies += [call.latency_ms for outcome in outcomes for call in outcome.reply.calls]
        for tag in dict.fromkeys(case.tags):
            self._tags[tag].append(index)
        self._absorbed.update(set(words.absorbed_of(result.worst.judgement)))
        if not result.passed:
            self._fail(case, result)
        if result.distinct_answers > 1:
            chance = statistics.flakiness(len(outcomes), passed)
            grades = tuple(outcome.grade for outcome in outcomes)
            nl = words.one_line(case.nl)
            self._unstable.append(Unstable(case.id, nl, grades, result.distinct_answers, chance))

    def _fail(self, case: Case, result: CaseResult) -> None:
        judgement = result.worst.judgement
        kinds = words.kinds_of(judgement)
        lines = words.failure_lines(judgement)
        shown = basis_of(judgement) == "refuted"
        for kind, line in zip(kinds, (*lines, *lines[-1:] * len(kinds)), strict=False):
            failing = Failing(
                case.id, words.one_line(case.nl, 160), result.grade, words.one_line(line, 240), result.steady, shown
            )
            self._groups[kind].append(failing)
        # Best to read first: a wrong query shown by rows, the same in every repeat, with the fewest things wrong.
        order = (
            2 * (not shown) + (result.grade == "ERROR") + (not result.steady and len(result.outcomes) > 1),
            len(lines),
        )
        if self._clearest is None or order < self._clearest:
            self._clearest, self.clearest = order, (case, result)

    def finish(self) -> Overview:
        """The overview of all that was added."""
        grouped = len(set(self._clusters)) < len(self._clusters)
        clusters = self._clusters if grouped else None
        repeated = [pair for pair in self._attempts if pair[0] > 1]
        least = min((attempts for attempts, _ in repeated), default=0)
        passed = round(sum(self._passes))
        return Overview(
            facts=self._facts,
            summary=self._summary,
            grades=self._grades,
            passed=passed,
            rate=statistics.rate(self._passes, clusters),
            mean=statistics.rate(self._means, clusters) if repeated else None,
            answered=statistics.rate([1.0] * passed + [0.0] * self._grades["FAIL"]),
            tags=self._tag_rates(grouped),
            groups=tuple(sorted(((k, tuple(v)) for k, v in self._groups.items()), key=lambda item: -len(item[1]))),
            clearest=self.clearest[0].id if self.clearest else None,
            unstable=tuple(sorted(self._unstable, key=lambda case: (-case.flakiness, -case.distinct))[:MOST_UNSTABLE]),
            unstable_count=len(self._unstable),
            flakiness=sum(statistics.flakiness(*pair) for pair in repeated) / len(repeated) if repeated else None,
            of_k=tuple(
                (
                    k,
                    sum(statistics.pass_hat_k(*pair, k) for pair in repeated) / len(repeated),
                    sum(statistics.pass_at_k(*pair, k) for pair in repeated) / len(repeated),
                )
                for k in range(1, least + 1)
            ),
            latencies=tuple(self._latencies),
            absorbed=tuple(sorted(self._absorbed.items(), key=lambda item: (-item[1], item[0]))),
            detectable=statistics.minimum_detectable_difference(len(set(self._clusters))),
        )

    def _tag_rates(self, grouped: bool) -> tuple[TagRate, ...]:
        cases, passed_everywhere = len(self._passes), round(sum(self._passes))
        rows: list[tuple[str, int, Rate]] = []
        p_values: dict[str, float] = {}
        for tag, members in self._tags.items():
            values = [self._passes[index] for index in members]
            passed = round(sum(values))
            rows.append(
                (tag, passed, statistics.rate(values, [self._clusters[i] for i in members] if grouped else None))
            )
            if len(members) < cases:
                rest = cases - len(members)
                p_values[tag] = statistics.slice_test(passed, len(members), passed_everywhere - passed, rest)
        corrected = dict(zip(p_values, statistics.holm(list(p_values.values())), strict=True))
        share = passed_everywhere / cases if cases else 0.0
        return tuple(
            TagRate(tag, passed, rate, corrected.get(tag, 1.0) if rate.value < share else None)
            for tag, passed, rate in rows
        )
