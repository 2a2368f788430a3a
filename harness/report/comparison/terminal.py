"""A comparison in the terminal: verdict, figures side by side, tags, what changed sides."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from harness.comparison.alignment import ComparedCase
from harness.comparison.comparing import Pair, RunComparison
from harness.report import words
from harness.report.comparison import story
from harness.report.screen import safe
from harness.types.outcomes import PASSES

FLIPS_SHOWN = 20
"""Cases that changed sides, shown each way unless all are asked for."""

_STYLES = {"better": "green", "worse": "red", "not told apart": ""}


def print_comparison(comparison: RunComparison, console: Console, *, verbose: bool = False) -> None:
    """Print a comparison.

    Args:
        comparison: what to print.
        console: where to.
        verbose: show every case that changed sides.
    """
    console.print(safe(story.headline(comparison), "bold"))
    for sentence in story.story(comparison):
        console.print(safe(sentence))
    for note in story.notices(comparison):
        console.print(safe(f"note: {note}", "yellow"))
    console.print()
    console.print(_side_by_side(comparison))
    if len(comparison.sides) > 2:
        console.print(_pairs(comparison))
    if comparison.tags:
        console.print(_tags(comparison))
    cases = {case.id: case for case in comparison.cases}
    first = comparison.sides[0].label
    for pair in comparison.pairs:
        if pair.first == first:
            _print_flips(comparison, pair, cases, console, verbose=verbose)


def _side_by_side(comparison: RunComparison) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    grid.add_column("")
    for figures in comparison.sides:
        grid.add_column(safe(figures.label), justify="right", overflow="fold")
    for name, cells in story.measurements(comparison):
        grid.add_row(name, *(safe(cell) for cell in cells))
    return grid


def _pairs(comparison: RunComparison) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", title="Every pair (Holm-corrected)")
    grid.title_justify = "left"
    for name in ("first", "second", "points", "95 % interval", "p", "the second is"):
        grid.add_column(name, justify="right" if name in ("points", "95 % interval", "p") else "left", overflow="fold")
    for pair in comparison.pairs:
        grid.add_row(
            safe(pair.first),
            safe(pair.second),
            words.points(pair.difference),
            f"{words.points(pair.interval.low)} to {words.points(pair.interval.high)}",
            words.p_value(pair.p_value).removeprefix("p = ").removeprefix("p "),
            Text(pair.verdict, style=_STYLES[pair.verdict]),
        )
    return grid


def _tags(comparison: RunComparison) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    grid.add_column("tag", overflow="fold")
    grid.add_column("cases", justify="right")
    for figures in comparison.sides:
        grid.add_column(safe(figures.label), justify="right", overflow="fold")
    grid.add_column("points", justify="right")
    grid.add_column("p (Holm)", justify="right")
    for row in comparison.tags:
        grid.add_row(
            safe(words.one_line(row.tag, 40)),
            f"{row.cases:,}",
            *(words.percent(rate.value) for rate in row.rates),
            words.points(row.rates[-1].value - row.rates[0].value),
            Text(words.p_value(row.p_value).removeprefix("p = ").removeprefix("p "), style=_STYLES[row.verdict]),
        )
    return grid


def _print_flips(
    comparison: RunComparison, pair: Pair, cases: dict[str, ComparedCase], console: Console, *, verbose: bool
) -> None:
    labels = [figures.label for figures in comparison.sides]
    places = labels.index(pair.first), labels.index(pair.second)
    for title, ids, style in (
        (f"Passed only with {pair.second}", pair.gained, "green"),
        (f"Passed only with {pair.first}", pair.lost, "red"),
    ):
        if not ids:
            continue
        console.print(safe(f"{title} ({len(ids):,})", f"bold {style}"))
        shown = ids if verbose else ids[:FLIPS_SHOWN]
        for identity in shown:
            _print_flip(cases[identity], places, labels, console)
        if len(shown) < len(ids):
            console.print(safe(f"  and {len(ids) - len(shown):,} more (--verbose shows all)", "dim"))
        console.print()


def _print_flip(case: ComparedCase, places: tuple[int, int], labels: list[str], console: Console) -> None:
    console.print(safe(f"  {words.one_line(case.id, 40)}  {words.one_line(case.nl, 160)}"))
    for place in places:
        answered = case.sides[place]
        repeats = f" {answered.passes}/{answered.attempts}" if answered.attempts > 1 else ""
        line = Text.assemble(
            safe(f"{words.one_line(labels[place], 24)}: "),
            safe(f"{answered.grade}{repeats} ", "green" if answered.grade in PASSES else "red"),
            safe(words.one_line(answered.actual, 400)),
        )
        console.print(Padding(line, (0, 0, 0, 4), expand=False))
        for difference in answered.lines[:6]:
            console.print(Padding(safe(f"- {words.one_line(difference, 300)}", "dim"), (0, 0, 0, 6), expand=False))
