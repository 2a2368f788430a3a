"""Counts a run: one pass over its results, holding a number a model call and a line a warning."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from harness.corpus.relative_dates import relative_words
from harness.runs.warnings import Warnings
from harness.types.answers import Call, NoQueryReason, Refusal
from harness.types.cases import Case
from harness.types.outcomes import LADDER, CaseResult, Failed, Grade, NoAnswer, basis_of
from harness.types.run import Latency, RunFacts, Summary, TagCount, Warned


class Countable(Protocol):
    """A run whose results can be counted."""

    @property
    def facts(self) -> RunFacts:
        """What was run."""
        ...

    def cases(self) -> Iterator[Case]:
        """Every case that was asked for."""
        ...

    def results(self) -> Iterator[tuple[Case, CaseResult]]:
        """Every case with an outcome."""
        ...


def summarise(run: Countable, *, interrupted: bool = False, told: Iterable[Warned] = ()) -> Summary:
    """Count a run.

    Cases of which not every repeat is done are counted as asked and not as finished: their grade is not known.

    Args:
        run: what to count.
        interrupted: the run was stopped before its end.
        told: warnings from elsewhere, put before those that the results give.
    """
    count = _Count(run.facts.repeat)
    for case in run.cases():
        count.ask(case)
    for case, result in run.results():
        count.add(case, result)
    return count.summary(interrupted, tuple(told))


class _Count:
    def __init__(self, repeat: int) -> None:
        self._repeat = repeat
        self._cases = self._finished = self._passed = self._undecided = 0
        self._weight = self._weight_passed = 0.0
        self._grades: Counter[Grade] = Counter()
        self._bases: Counter[str] = Counter()
        self._differences: Counter[str] = Counter()
        self._reasons: Counter[NoQueryReason] = Counter()
        self._tags: dict[str, list[int]] = {}
        self._flaky: list[str] = []
        self._steady: list[str] = []
        self._executions: Counter[str] = Counter()
        self._attempts = self._repairs = self._retries = 0
        self._calls = _Calls()
        self._warnings = Warnings()

    def ask(self, case: Case) -> None:
        self._cases += 1
        self._weight += case.weight
        if case.now is None and relative_words(case.nl):
            self._warnings.unpinned(case.id)

    def add(self, case: Case, result: CaseResult) -> None:
        for outcome in result.outcomes:
            self._attempts += 1
            self._repairs += outcome.reply.repairs
            self._retries += outcome.reply.retries
            self._calls.add(outcome.reply.calls)
            self._warnings.notices(case.id, outcome.reply.notices)
            if isinstance(outcome.reply.answer, Refusal) and outcome.reply.answer.by == "words":
                self._warnings.worded(case.id)
            if outcome.execution is not None:
                self._executions[outcome.execution.outcome] += 1
                if outcome.execution.contradiction:
                    self._warnings.contradiction(case.id)
        if len(result.outcomes) >= self._repeat:
            self._finish(case, result)

    def _finish(self, case: Case, result: CaseResult) -> None:
        passed = result.passed
        self._finished += 1
        self._passed += passed
        self._weight_passed += case.weight * passed
        self._grades[result.grade] += 1
        judgement = result.worst.judgement
        self._bases[basis_of(judgement)] += 1
        match judgement:
            case Failed(evidence=evidence) if evidence is not None:
                self._undecided += evidence.basis == "undecided"
                self._differences.update({difference.kind for difference in evidence.differences})
            case NoAnswer(reason=reason):
                self._reasons[reason] += 1
            case _:
                pass
        for tag in dict.fromkeys(case.tags):
            row = self._tags.setdefault(tag, [0, 0])
            row[0] += passed
            row[1] += 1
        if result.flaky:
            self._flaky.append(case.id)
            self._warnings.flaky(case.id)
        if result.steady:
            self._steady.append(case.id)
            self._warnings.steady(case.id, len(result.outcomes))

    def summary(self, interrupted: bool, told: tuple[Warned, ...]) -> Summary:
        return Summary(
            cases=self._cases,
            finished=self._finished,
            passed=self._passed,
            score=self._weight_passed / self._weight if self._weight else 0.0,
            grades={grade: self._grades[grade] for grade in LADDER},
            bases=dict(sorted(self._bases.items())),
            tags=tuple(TagCount(tag=tag, passed=row[0], total=row[1]) for tag, row in self._tags.items()),
            differences=dict(self._differences.most_common()),  # type: ignore[arg-type]  # kinds come from Difference
            reasons=dict(self._reasons.most_common()),
            flaky=tuple(self._flaky),
            steady=tuple(self._steady),
            undecided=self._undecided,
            attempts=self._attempts,
            calls=self._calls.count,
            repairs=self._repairs,
            retries=self._retries,
            prompt_tokens=self._calls.prompt_tokens,
            completion_tokens=self._calls.completion_tokens,
            latency=self._calls.latency(),
            executions=dict(self._executions.most_common()),
            warnings=told + self._warnings.all(),
            interrupted=interrupted,
        )


class _Calls:
    """Measurements over all model calls of a run."""

    def __init__(self) -> None:
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self._latencies = array("d")

    @property
    def count(self) -> int:
        return len(self._latencies)

    def add(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._latencies.append(call.latency_ms)
            self.prompt_tokens = _sum(self.prompt_tokens, call.usage.prompt)
            self.completion_tokens = _sum(self.completion_tokens, call.usage.completion)

    def latency(self) -> Latency | None:
        if not self._latencies:
            return None
        ranked = array("d", sorted(self._latencies))
        return Latency(
            minimum=ranked[0],
            median=quantile(ranked, 0.5),
            p95=quantile(ranked, 0.95),
            maximum=ranked[-1],
        )


def quantile(ranked: Sequence[float], share: float) -> float:
    """The value at a share of a sorted sequence, between two values in proportion (Hyndman and Fan's type 7)."""
    position = (len(ranked) - 1) * share
    below = int(position)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (position - below)


def _sum(total: int | None, reported: int | None) -> int | None:
    return total if reported is None else (total or 0) + reported
