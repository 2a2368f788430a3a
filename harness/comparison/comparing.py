"""Compares aligned runs: rates with intervals, paired tests with Holm's correction, tags, flips, latency, cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from harness import statistics
from harness.comparison.alignment import Alignment, ComparedCase, align
from harness.comparison.prices import Price, cost, price_of
from harness.comparison.sides import CaseSide, Side, with_unique_labels
from harness.errors import UsageError
from harness.statistics import Interval, PairedTest, Rate
from harness.types.frozen import Frozen
from harness.types.outcomes import LADDER, Grade

DISCORDANCE = 0.2
"""Share of cases on which two models of like quality may be expected to disagree."""

Verdict = Literal["better", "worse", "not told apart"]


class SideFigures(Frozen):
    """One run in figures, over the compared cases.

    Attributes:
        label: what reports call it.
        source: the folder or file.
        model: the model, where known.
        cases: cases of the run, compared or not.
        passed: compared cases that passed every attempt.
        rate: mean over the compared cases (of each case's attempts), with its interval; ERROR counts as failed.
        grades: compared cases per grade.
        flaky: compared cases that passed some attempts and failed others.
        attempts: attempts on the compared cases.
        latency_median: milliseconds per model call, `None` = unknown.
        latency_p95: milliseconds per model call.
        prompt_tokens: over the compared cases, `None` = not reported.
        completion_tokens: over the compared cases.
        cost: by the user's price, `None` without a price or tokens.
        scripted: the answers came from a script.
        replayed: the answers came from a tape.
    """

    label: str
    source: str
    model: str | None
    cases: int
    passed: int
    rate: Rate
    grades: dict[Grade, int]
    flaky: int
    attempts: int
    latency_median: float | None = None
    latency_p95: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    scripted: bool = False
    replayed: bool = False


class Pair(Frozen):
    """Two runs against each other.

    Attributes:
        first: label of the one.
        second: label of the other.
        difference: second minus first, as a share.
        interval: of the difference.
        test: the paired test.
        p_value: of the test, corrected by Holm over all pairs of the comparison.
        verdict: of the second, at the comparison's alpha.
        gained: ids that passed only in the second.
        lost: ids that passed only in the first.
        transitions: cases by grade in the first, then by grade in the second.
    """

    first: str
    second: str
    difference: float
    interval: Interval
    test: PairedTest
    p_value: float
    verdict: Verdict
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    transitions: dict[Grade, dict[Grade, int]]


class TagRow(Frozen):
    """One tag over all runs.

    Attributes:
        tag: the tag.
        cases: compared cases that have it.
        rates: one per run.
        p_value: of the last run against the first, corrected by Holm over the tags.
        verdict: of the last run against the first.
    """

    tag: str
    cases: int
    rates: tuple[Rate, ...]
    p_value: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Everything that reports of a comparison say.

    Attributes:
        sides: the runs in figures, in the order given.
        alignment: what could be compared.
        pairs: every pair of runs, the pairs with the first run first.
        tags: per tag, in order of first appearance.
        indistinguishable: groups of runs that the cases cannot tell apart, best first.
        cases: the compared cases.
        clustered: cases have repeats or groups, so whole cases or groups are resampled.
        alpha: error rate of the verdicts.
        detectable: smallest difference that so many cases would show, `None` where none would.
        discordance: share of cases on which the first two runs differ; `detectable` is meant at it, or at
            `DISCORDANCE` where it is larger: much of a large one is the difference itself.
    """

    sides: tuple[SideFigures, ...]
    alignment: Alignment
    pairs: tuple[Pair, ...]
    tags: tuple[TagRow, ...]
    indistinguishable: tuple[tuple[str, ...], ...]
    cases: tuple[ComparedCase, ...]
    clustered: bool
    alpha: float
    detectable: float | None
    discordance: float

    @property
    def second_is_worse(self) -> bool:
        """Whether any later run is significantly worse than the first."""
        first = self.sides[0].label
        return any(pair.first == first and pair.verdict == "worse" for pair in self.pairs)


def compare(
    sides: Sequence[Side], *, prices: Mapping[str, Price] | None = None, alpha: float = statistics.ALPHA, seed: int = 0
) -> RunComparison:
    """Compare two or more runs.

    Args:
        sides: the runs; later ones are judged against the first.
        prices: money per million tokens, by model, run or label.
        alpha: error rate of the verdicts.
        seed: of bootstrap and permutations; the same seed gives the same figures.

    Raises:
        UsageError: fewer than two runs, an impossible alpha, a price for no run, or no case in common.
    """
    if len(sides) < 2:
        raise UsageError("a comparison needs two runs or more")
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha {alpha}: write an error rate between 0 and 1, such as 0.05")
    sides = with_unique_labels(sides)
    _check_prices(sides, prices or {})
    cases, alignment = align(sides)
    if not cases:
        raise UsageError(f"no case is the same in all of {', '.join(side.source for side in sides)}")
    clusters = [case.cluster for case in cases]
    clustered = len(set(clusters)) < len(clusters) or any(side.attempts > 1 for case in cases for side in case.sides)
    shares = [[case.sides[index].share for case in cases] for index in range(len(sides))]
    pairs = _pairs(sides, cases, shares, clusters, alpha=alpha, seed=seed)
    figures = tuple(
        _figures(index, side, cases, clusters, prices=prices or {}, seed=seed) for index, side in enumerate(sides)
    )
    discordance = sum(one != other for one, other in zip(shares[0], shares[1], strict=True)) / len(cases)
    return RunComparison(
        sides=figures,
        alignment=alignment,
        pairs=pairs,
        tags=_tags(cases, shares, clusters, alpha=alpha, seed=seed),
        indistinguishable=statistics.not_distinguishable(
            [side.label for side in sides],
            [figure.rate.value for figure in figures],
            {(pair.first, pair.second): pair.p_value for pair in pairs},
            alpha,
        ),
        cases=cases,
        clustered=clustered,
        alpha=alpha,
        detectable=statistics.minimum_detectable_difference(
            len(set(clusters)), min(discordance, DISCORDANCE) or DISCORDANCE, alpha=alpha
        ),
        discordance=discordance,
    )


def _check_prices(sides: Sequence[Side], prices: Mapping[str, Price]) -> None:
    known = {name for side in sides for name in _names(side)}
    for name in prices:
        if name not in known:
            raise UsageError(f"--price {name}: no run of that model or name; there are {', '.join(sorted(known))}")


def _names(side: Side) -> list[str]:
    names = [side.label, side.model, side.facts.name if side.facts else None, side.source]
    return [name for name in names if name]


def _pairs(
    sides: Sequence[Side],
    cases: Sequence[ComparedCase],
    shares: Sequence[Sequence[float]],
    clusters: Sequence[str],
    *,
    alpha: float,
    seed: int,
) -> tuple[Pair, ...]:
    places = list(combinations(range(len(sides)), 2))
    tests = [statistics.paired_test(shares[one], shares[other], clusters, seed=seed) for one, other in places]
    corrected = statistics.holm([test.p_value for test in tests])
    found: list[Pair] = []
    for (one, other), test, p_value in zip(places, tests, corrected, strict=True):
        difference = (sum(shares[other]) - sum(shares[one])) / len(cases)
        transitions = Counter((case.sides[one].grade, case.sides[other].grade) for case in cases)
        found.append(
            Pair(
                first=sides[one].label,
                second=sides[other].label,
                difference=difference,
                interval=statistics.paired_interval(shares[one], shares[other], clusters, seed=seed),
                test=test,
                p_value=p_value,
                verdict=_verdict(difference, p_value, alpha),
                gained=tuple(c.id for c in cases if c.sides[other].passed and not c.sides[one].passed),
                lost=tuple(c.id for c in cases if c.sides[one].passed and not c.sides[other].passed),
                transitions={a: {b: transitions[a, b] for b in LADDER} for a in LADDER},
            )
        )
    return tuple(found)


def _verdict(difference: float, p_value: float, alpha: float) -> Verdict:
    if p_value >= alpha or difference == 0:
        return "not told apart"
    return "better" if difference > 0 else "worse"


def _figures(
    index: int,
    side: Side,
    cases: Sequence[ComparedCase],
    clusters: Sequence[str],
    *,
    prices: Mapping[str, Price],
    seed: int,
) -> SideFigures:
    own: list[CaseSide] = [case.sides[index] for case in cases]
    grades = Counter(case.grade for case in own)
    latencies = sorted(latency for case in own for latency in case.latencies)
    prompt = [case.prompt_tokens for case in own if case.prompt_tokens is not None]
    completion = [case.completion_tokens for case in own if case.completion_tokens is not None]
    return SideFigures(
        label=side.label,
        source=side.source,
        model=side.model,
        cases=len(side.cases),
        passed=sum(case.passed for case in own),
        rate=statistics.rate([case.share for case in own], clusters, seed=seed),
        grades={grade: grades[grade] for grade in LADDER},
        flaky=sum(0 < case.passes < case.attempts for case in own),
        attempts=sum(case.attempts for case in own),
        latency_median=latencies[len(latencies) // 2] if latencies else None,
        latency_p95=latencies[min(len(latencies) - 1, int(len(latencies) * 0.95))] if latencies else None,
        prompt_tokens=sum(prompt) if prompt else None,
        completion_tokens=sum(completion) if completion else None,
        cost=cost(own, price_of(_names(side), prices)),
        scripted=side.facts is not None and side.facts.scripted,
        replayed=side.facts is not None and side.facts.replayed,
    )


def _tags(
    cases: Sequence[ComparedCase],
    shares: Sequence[Sequence[float]],
    clusters: Sequence[str],
    *,
    alpha: float,
    seed: int,
) -> tuple[TagRow, ...]:
    members: dict[str, list[int]] = {}
    for index, case in enumerate(cases):
        for tag in dict.fromkeys(case.tags):
            members.setdefault(tag, []).append(index)
    values = {tag: [[share[i] for i in places] for share in shares] for tag, places in members.items()}
    named = {tag: [clusters[i] for i in places] for tag, places in members.items()}
    p_values = [statistics.paired_test(of[0], of[-1], named[tag], seed=seed).p_value for tag, of in values.items()]
    rows: list[TagRow] = []
    for (tag, of), p_value in zip(values.items(), statistics.holm(p_values), strict=True):
        rates = tuple(statistics.rate(each, named[tag], seed=seed) for each in of)
        verdict = _verdict(rates[-1].value - rates[0].value, p_value, alpha)
        rows.append(TagRow(tag=tag, cases=len(members[tag]), rates=rates, p_value=p_value, verdict=verdict))
    return tuple(rows)
