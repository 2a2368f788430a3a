"""`rung report`: rebuilds any report of a run from its folder."""

import sys
from pathlib import Path
from typing import Annotated

import typer

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, such as runs/<name>.")]
OutOption = Annotated[
    list[Path] | None,
    typer.Option(help="File to write, .csv .jsonl .html .md or .xml (JUnit); may be given several times."),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="In the terminal, list every case.")]


def report(run: RunArgument, out: OutOption = None, verbose: VerboseOption = False) -> None:
    """Write the reports of a run anew; without --out, print it."""
    from harness.report.formats import reporter_for
    from harness.report.terminal import console_on, print_report
    from harness.runs.folder import open_run

    reporters = [(reporter_for(path), path) for path in out or []]
    opened = open_run(run)
    for reporter, path in reporters:
        reporter.write(opened, path)
        typer.echo(f"wrote {path}", err=True)
    if not reporters:
        print_report(opened, console_on(sys.stdout), verbose=verbose)
