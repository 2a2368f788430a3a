"""A comparison as one self-contained HTML page."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from harness.comparison.alignment import ComparedCase
from harness.comparison.comparing import Pair, RunComparison
from harness.comparison.sides import CaseSide
from harness.report import words
from harness.report.comparison import story
from harness.report.html.case import WitnessView, view_witness
from harness.report.html.pages import template
from harness.report.html.run_page import LONGEST, PAGE_BYTES, SHORTEST, longest_that_fits
from harness.report.html.text import anchor
from harness.report.marking import Segment, mark
from harness.report.replacing import replacing
from harness.types.outcomes import LADDER, PASSES, Grade

PER_LIST = 60
"""Cases listed under one heading; the table of cases holds all of them."""

WITNESSED = 20_000
"""Bytes that each case must have of the page before the table of cases repeats the witnesses of the flips."""

FRAME = 900
"""Characters that a case takes besides its long texts."""


class AnswerView(NamedTuple):
    """One run's answer to a case."""

    label: str
    grade: Grade
    repeats: str
    actual: tuple[Segment, ...]
    lines: tuple[str, ...]
    latency: str
    witness: WitnessView | None


class CaseView(NamedTuple):
    """What the template prints of a compared case."""

    anchor: str
    id: str
    nl: str
    expected: str
    tags: tuple[str, ...]
    flips: str
    worst: Grade
    trouble: str
    answers: tuple[AnswerView, ...]


class Flipped(NamedTuple):
    """A list of cases that changed sides one way."""

    title: str
    kind: str
    flip: str
    ids: tuple[str, ...]
    shown: tuple[CaseView, ...]


class PairView(NamedTuple):
    """Two runs against each other, with what changed sides."""

    pair: Pair
    flips: tuple[Flipped, ...]


def write_html(comparison: RunComparison, path: Path) -> None:
    """Write the page to `path`, replacing what is there only once it is whole."""
    with replacing(path) as file:
        file.writelines(_page(comparison))


def _page(comparison: RunComparison) -> Iterator[str]:
    first = comparison.sides[0].label
    reach = max(0.05, *(abs(end) for pair in comparison.pairs for end in (pair.interval.low, pair.interval.high)))
    by_id = {case.id: case for case in comparison.cases}
    return template("comparison.html").generate(
        title=story.headline(comparison),
        c=comparison,
        headline=story.headline(comparison),
        story=story.story(comparison),
        notices=story.notices(comparison),
        measurements=story.measurements(comparison),
        pairs=[_pair(comparison, pair, by_id) for pair in comparison.pairs if pair.first == first],
        reach=min(1.0, reach),
        ladder=LADDER,
        passes=PASSES,
        cases=_rows(comparison),
        per_list=PER_LIST,
    )


def _pair(comparison: RunComparison, pair: Pair, by_id: dict[str, ComparedCase]) -> PairView:
    second = [figures.label for figures in comparison.sides].index(pair.second)
    lists = [
        (f"Passed only with {pair.second}", "better", f"gained-{second}", pair.gained),
        (f"Passed only with {pair.first}", "worse", f"lost-{second}", pair.lost),
    ]
    return PairView(
        pair,
        tuple(
            Flipped(title, kind, flip, ids, tuple(_view(comparison, by_id[each], 1_500) for each in ids[:PER_LIST]))
            for title, kind, flip, ids in lists
            if ids
        ),
    )


def _rows(comparison: RunComparison) -> Iterator[Markup]:
    row = template("comparison_parts.html").module.row  # type: ignore[attr-defined]
    fair = PAGE_BYTES / max(1, len(comparison.cases))
    for case in comparison.cases:
        lengths = [len(case.expected), *(len(side.actual) for side in case.sides)]
        lengths += [len(line) for side in case.sides for line in side.lines]
        limit = max(SHORTEST, min(LONGEST, longest_that_fits(lengths, fair - FRAME - 200 * len(case.sides))))
        yield row(_view(comparison, case, limit, witnessed=fair >= WITNESSED))


def _view(comparison: RunComparison, case: ComparedCase, limit: int, *, witnessed: bool = True) -> CaseView:
    labels = [figures.label for figures in comparison.sides]
    first = case.sides[0]
    flips = ["same" if len({side.passed for side in case.sides}) == 1 else "changed"]
    for index, side in enumerate(case.sides[1:], start=1):
        if side.passed != first.passed:
            flips.append(f"{'gained' if side.passed else 'lost'}-{index}")
    expected = words.clip(case.expected, limit)
    return CaseView(
        anchor=anchor(case.id),
        id=case.id,
        nl=words.clip(case.nl, max(120, limit // 4)),
        expected=expected,
        tags=case.tags,
        flips=" ".join(flips),
        worst=max((side.grade for side in case.sides), key=LADDER.index),
        trouble=next((words.one_line(side.lines[0], 160) for side in case.sides if side.lines), ""),
        answers=tuple(
            _answer(label, side, expected, limit, witnessed=witnessed)
            for label, side in zip(labels, case.sides, strict=True)
        ),
    )


def _answer(label: str, side: CaseSide, expected: str, limit: int, *, witnessed: bool) -> AnswerView:
    shown = side.witness if witnessed else None
    said = None if shown is None else shown.reading
    return AnswerView(
        label=words.clip(label, 80),
        grade=side.grade,
        repeats=f"{side.passes}/{side.attempts}" if side.attempts > 1 else "",
        actual=_marked(expected, words.clip(side.actual, limit), side.grade),
        lines=tuple(words.clip(line, limit) for line in side.lines[:8] if line != said),
        latency=words.milliseconds(sum(side.latencies) / len(side.latencies)) if side.latencies else "",
        witness=None if shown is None else view_witness(shown, limit),
    )


def _marked(expected: str, actual: str, grade: Grade) -> tuple[Segment, ...]:
    if grade == "FAIL" and expected and actual:
        return mark(expected, actual)[1]
    return (Segment(actual, False),)
