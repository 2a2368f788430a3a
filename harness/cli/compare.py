"""`rung compare`: runs or results side by side, with paired statistics."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.comparison.comparing import RunComparison, compare
from harness.comparison.files import read_results
from harness.comparison.prices import read_prices
from harness.comparison.sides import Side, side_of_run
from harness.errors import UsageError

SidesArgument = Annotated[
    list[Path],
    typer.Argument(metavar="A B …", help="Run folders or results files (.csv .jsonl); the first is the baseline."),
]
OutOption = Annotated[
    list[Path] | None, typer.Option(help="File to write, .html .md or .json; may be given several times.")
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL=IN,OUT", help="Prices per million tokens, for the cost; once per model."),
]
FailOption = Annotated[
    bool, typer.Option("--fail-if-worse", help="Exit 1 when a later run is significantly worse than the first.")
]
AlphaOption = Annotated[float, typer.Option(help="Error rate of the tests.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the bootstrap and of the permutations.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the report.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print nothing.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show every case that changed sides.")]


def compare_runs(
    sides: SidesArgument,
    *,
    out: OutOption = None,
    price: PriceOption = None,
    fail_if_worse: FailOption = False,
    alpha: AlphaOption = 0.05,
    seed: SeedOption = 0,
    json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Compare runs case by case: which is better, is that noise, what changed sides."""
    for path in out or []:
        if path.suffix.lower() not in (".html", ".md", ".json"):
            raise UsageError(f"--out {path}: a comparison ends in .html, .md or .json")
    prices = read_prices(price or [])
    comparison = compare([open_side(path) for path in sides], prices=prices, alpha=alpha, seed=seed)
    for path in out or []:
        write_result(comparison, path)
        typer.echo(f"wrote {path}", err=True)
    if not quiet:
        print_result(comparison, as_json=json, verbose=verbose)
    if fail_if_worse and comparison.second_is_worse:
        raise typer.Exit(1)


def open_side(path: Path) -> Side:
    """Read a run folder or a results file.

    Raises:
        UsageError: there is neither.
    """
    if path.is_dir():
        from harness.runs.folder import open_run

        opened = open_run(path)
        return side_of_run(str(path), opened.facts, opened.results())
    if not path.exists():
        raise UsageError(f"{path}: no such run folder or results file")
    return read_results(path)


def write_result(comparison: RunComparison, path: Path) -> None:
    """Write a comparison in the format that the file's name asks for."""
    match path.suffix.lower():
        case ".html":
            from harness.report.comparison.page import write_html

            write_html(comparison, path)
        case ".md":
            from harness.report.comparison.markdown import write_markdown

            write_markdown(comparison, path)
        case _:
            from harness.report.comparison.as_json import dumps
            from harness.report.replacing import replacing

            with replacing(path) as file:
                file.write(dumps(comparison) + "\n")


def print_result(comparison: RunComparison, *, as_json: bool, verbose: bool) -> None:
    """Print a comparison, as text or as one JSON object."""
    if as_json:
        from harness.report.comparison.as_json import dumps

        typer.echo(dumps(comparison))
        return
    from harness.report.comparison.terminal import print_comparison
    from harness.report.terminal import console_on

    print_comparison(comparison, console_on(sys.stdout), verbose=verbose)
