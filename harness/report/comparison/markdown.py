"""A comparison as Markdown, for the summary of a CI job or a pull request."""

from pathlib import Path

from harness.comparison.alignment import ComparedCase
from harness.comparison.comparing import Pair, RunComparison
from harness.report import words
from harness.report.comparison import story
from harness.report.markdown_text import code, fenced, folded, html, inline, table
from harness.report.replacing import replacing
from harness.types.outcomes import LADDER

FLIPS_SHOWN = 60
"""Cases that changed sides, each way: a job summary holds a megabyte."""


def write_markdown(comparison: RunComparison, path: Path) -> None:
    """Write the comparison to `path`."""
    with replacing(path) as file:
        file.write(as_markdown(comparison))


def as_markdown(comparison: RunComparison) -> str:
    """The comparison as Markdown."""
    parts = [f"## {inline(story.headline(comparison))}", *(inline(line, 2_000) for line in story.story(comparison))]
    parts += [f"> {inline(note, 2_000)}" for note in story.notices(comparison)]
    labels = [inline(figures.label, 60) for figures in comparison.sides]
    numbers = frozenset(range(1, len(labels) + 1))
    parts.append(table(["", *labels], [[name, *cells] for name, cells in story.measurements(comparison)], numbers))
    if len(comparison.sides) > 2:
        parts += ["### Every pair, corrected by Holm", _pairs(comparison)]
    if comparison.tags:
        parts += ["### By tag", _tags(comparison)]
    cases = {case.id: case for case in comparison.cases}
    for pair in comparison.pairs:
        if pair.first == comparison.sides[0].label:
            parts += _flips(comparison, pair, cases)
    return "\n\n".join(parts) + "\n"


def _pairs(comparison: RunComparison) -> str:
    rows = [
        [
            inline(pair.first, 60),
            inline(pair.second, 60),
            words.points(pair.difference),
            f"{words.points(pair.interval.low)} to {words.points(pair.interval.high)}",
            words.p_value(pair.p_value).replace("<", "&lt;"),
            pair.verdict,
        ]
        for pair in comparison.pairs
    ]
    return table(["first", "second", "points", "95 % interval", "p", "the second is"], rows, frozenset({2, 3, 4}))


def _tags(comparison: RunComparison) -> str:
    rows = [
        [
            inline(row.tag, 60),
            f"{row.cases:,}",
            *(words.percent(rate.value) for rate in row.rates),
            words.points(row.rates[-1].value - row.rates[0].value),
            words.p_value(row.p_value).replace("<", "&lt;"),
        ]
        for row in comparison.tags
    ]
    labels = [inline(figures.label, 60) for figures in comparison.sides]
    header = ["tag", "cases", *labels, "points", "p (Holm)"]
    return table(header, rows, frozenset(range(1, len(header))))


def _flips(comparison: RunComparison, pair: Pair, cases: dict[str, ComparedCase]) -> list[str]:
    labels = [figures.label for figures in comparison.sides]
    places = labels.index(pair.first), labels.index(pair.second)
    parts = [f"### From {inline(pair.first, 60)} to {inline(pair.second, 60)}", _matrix(pair)]
    for label, ids in ((pair.second, pair.gained), (pair.first, pair.lost)):
        if ids:
            parts.append(f"**Passed only with {inline(label, 60)}** ({len(ids):,})")
            parts += [_flip(cases[identity], places, labels) for identity in ids[:FLIPS_SHOWN]]
            if len(ids) > FLIPS_SHOWN:
                parts.append(f"… and {len(ids) - FLIPS_SHOWN:,} more.")
    return parts


def _matrix(pair: Pair) -> str:
    rows = [[f"**{before}**", *(str(pair.transitions[before][after] or "·") for after in LADDER)] for before in LADDER]
    return table(["before \\ after", *LADDER], rows, frozenset(range(1, len(LADDER) + 1)))


def _flip(case: ComparedCase, places: tuple[int, int], labels: list[str]) -> str:
    parts = [f"Expected {code(case.expected, 600)}"]
    for place in places:
        answered = case.sides[place]
        repeats = f" {answered.passes}/{answered.attempts}" if answered.attempts > 1 else ""
        parts.append(f"{inline(labels[place], 60)}: **{answered.grade}**{repeats}")
        parts.append(fenced(answered.actual, limit=1_500))
        if answered.lines:
            parts.append("\n".join(f"* {inline(line)}" for line in answered.lines[:8]))
    return folded(f"<b>{html(case.id, 60)}</b> {html(case.nl)}", "\n\n".join(parts))
