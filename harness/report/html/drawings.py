"""The drawings of the HTML reports: numbers in, SVG out, nothing else.

A drawing stretches to the width it is given (`preserveAspectRatio="none"`), so it holds no text and no circle: labels
are HTML beside it, dots are round line ends that do not stretch. Colours come from the style sheet by class.
"""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from harness.types.outcomes import LADDER, PASSES, Grade

BINS = 24
"""Bars of a histogram."""


def bar(share: float, kind: str, low: float | None = None, high: float | None = None) -> Markup:
    """A share of the whole as a bar, with its interval as a thin line where one is given.

    Args:
        share: 0 to 1.
        kind: class of the bar.
        low: lower limit of the interval, 0 to 1.
        high: upper limit of the interval, 0 to 1.
    """
    parts = ['<rect class="track" width="100" height="10"/>']
    parts.append(f'<rect class="{kind}" width="{_number(share * 100)}" height="10"/>')
    if low is not None and high is not None:
        parts.append(_whisker(low * 100, high * 100))
    return _svg("bar", 100, 10, parts)


def stack(counts: dict[Grade, int]) -> Markup:
    """Cases per grade as one bar, best grade first."""
    total = sum(counts.values())
    parts: list[str] = []
    start = 0.0
    for grade in LADDER:
        width = counts.get(grade, 0) / total * 100 if total else 0.0
        if width:
            parts.append(f'<rect class="{grade.lower()}" x="{_number(start)}" width="{_number(width)}" height="10"/>')
        start += width
    return _svg("stack", 100, 10, parts)


def strip(grades: Iterable[Grade]) -> Markup:
    """One square an attempt, in order, coloured by grade; a failure is half as high, so that colour is not needed."""
    squares = [
        f'<rect class="{grade.lower()}" x="{12 * index}" y="{0 if grade in PASSES else 5}" width="10" '
        f'height="{10 if grade in PASSES else 5}"/>'
        for index, grade in enumerate(grades)
    ]
    width = 12 * max(1, len(squares)) - 2
    text = f'<svg class="strip" width="{width}" height="10" aria-hidden="true">{"".join(squares)}</svg>'
    return Markup(text)  # noqa: S704 - numbers and class names of ours


def histogram(values: Sequence[float], marks: Sequence[float] = ()) -> Markup:
    """How often values fall into equal bins between the least and the largest, with upright lines at `marks`."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    bins = [0] * BINS
    for value in values:
        bins[min(BINS - 1, int((value - low) / span * BINS))] += 1
    tallest = max(bins)
    step = 100 / BINS
    parts = [
        f'<rect class="column" x="{_number(index * step + 0.3)}" y="{_number(40 - 38 * size / tallest)}" '
        f'width="{_number(step - 0.6)}" height="{_number(38 * size / tallest)}"/>'
        for index, size in enumerate(bins)
        if size
    ]
    parts += [f'<path class="mark" d="M{_number((mark - low) / span * 100)} 0v40"/>' for mark in marks]
    return _svg("histogram", 100, 40, parts)


def dot(value: float, low: float, high: float, kind: str) -> Markup:
    """A rate as a dot on its interval, on an axis from 0 to 1."""
    scale = _Scale(0.0, 1.0)
    parts = [_axis(scale, 0.0, 1.0), f'<path class="reach {kind}" d="M{scale(low)} 8H{scale(high)}"/>']
    parts.append(f'<path class="dot {kind}" d="M{scale(value)} 8h0"/>')
    return _svg("dots", 100, 16, parts)


def difference(value: float, low: float, high: float, reach: float) -> Markup:
    """A difference as a dot on its interval, on an axis from `-reach` to `reach` with a line at nothing."""
    scale = _Scale(-reach, reach)
    kind = "better" if low > 0 else "worse" if high < 0 else "unclear"
    parts = [
        f'<path class="grid" d="M0 8H100"/><path class="zero" d="M{scale(0)} 0v16"/>',
        f'<path class="reach {kind}" d="M{scale(low)} 8H{scale(high)}"/>',
        f'<path class="dot {kind}" d="M{scale(value)} 8h0"/>',
    ]
    return _svg("dots", 100, 16, parts)


def paired_dots(first: float, second: float) -> Markup:
    """Two rates of the same cases, joined by a line: hollow for the first, filled for the second."""
    scale = _Scale(0.0, 1.0)
    kind = "better" if second > first else "worse" if second < first else "unclear"
    parts = [
        _axis(scale, 0.0, 1.0),
        f'<path class="reach {kind}" d="M{scale(first)} 8H{scale(second)}"/>',
        f'<path class="dot first" d="M{scale(first)} 8h0"/><path class="hole" d="M{scale(first)} 8h0"/>',
        f'<path class="dot {kind}" d="M{scale(second)} 8h0"/>',
    ]
    return _svg("dots", 100, 16, parts)


class _Scale:
    """Maps values of an axis to 1 … 99, so that dots at the ends are whole."""

    def __init__(self, bottom: float, top: float) -> None:
        self._bottom = bottom
        self._span = (top - bottom) or 1.0

    def __call__(self, value: float) -> str:
        return _number(1 + 98 * min(1.0, max(0.0, (value - self._bottom) / self._span)))


def _axis(scale: _Scale, bottom: float, top: float) -> str:
    lines = "".join(f"M{scale(bottom + (top - bottom) * quarter / 4)} 2v12" for quarter in range(5))
    return f'<path class="grid" d="M{scale(bottom)} 8H{scale(top)}{lines}"/>'


def _whisker(low: float, high: float) -> str:
    line = f"M{_number(low)} 5H{_number(high)}M{_number(low)} 2v6M{_number(high)} 2v6"
    return f'<path class="halo" d="{line}"/><path class="whisker" d="{line}"/>'


def _svg(kind: str, width: int, height: int, parts: Iterable[str]) -> Markup:
    body = "".join(parts)
    head = f'<svg class="{kind}" viewBox="0 0 {width} {height}" preserveAspectRatio="none" aria-hidden="true">'
    return Markup(f"{head}{body}</svg>")  # noqa: S704 - numbers and class names of ours


def _number(value: float) -> str:
    """A coordinate in at most two decimals, no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
