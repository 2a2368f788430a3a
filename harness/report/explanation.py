"""One pair explained in the terminal: side by side, what was overlooked, what differs, and rows that show it."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from canon.verdict import Canonical, Comparison, Identical, Proved, Refuted, Undecided
from harness.report import screen, words
from harness.report.screen import safe

_SAID = {
    "identical": ("the same text", "bold green"),
    "canonical": ("the same meaning", "bold green"),
    "proved": ("the same meaning, proved", "bold green"),
    "refuted": ("not the same", "bold red"),
    "undecided": ("not decided: neither a proof nor a counterexample was found", "bold yellow"),
}


def print_explanation(a: str, b: str, found: Comparison, console: Console) -> None:
    """Say how two queries stand to each other, and why."""
    left, right = screen.side_by_side(a, b)
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("a", left)
    grid.add_row("b", right)
    console.print(grid)
    said, style = _SAID[found.basis]
    console.print(Text(said, style=style))
    match found:
        case Identical():
            pass
        case Canonical(absorbed=absorbed):
            _print_list("overlooked", [words.identity(name) for name in absorbed], console)
        case Proved(absorbed=absorbed, assumptions=assumptions):
            _print_list("overlooked", [words.identity(name) for name in absorbed], console)
            _print_list("given that", list(assumptions), console)
        case Refuted() | Undecided():
            _print_list("differs", [difference.message for difference in found.differences], console)
            if isinstance(found, Undecided) and found.problem is not None:
                side = {"expected": "a: ", "actual": "b: "}.get(found.problem.side or "", "")
                _print_list("because", [side + found.problem.message], console)
            if isinstance(found, Refuted):
                console.print(Text("  data on which the two differ", style="dim"))
                for part in screen.witness_lines(found.witness, ("a returns", "b returns")):
                    console.print(Padding(part, (0, 0, 0, 4), expand=False))


def _print_list(label: str, lines: list[str], console: Console) -> None:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True, min_width=10)
    grid.add_column(overflow="fold")
    for place, line in enumerate(lines):
        grid.add_row(label if place == 0 else "", safe(line))
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))
