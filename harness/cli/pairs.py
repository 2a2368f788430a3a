"""`rung pairs`: decide pairs of queries in a JSONL file."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import flags
from harness.errors import UsageError


def pairs(
    file: Annotated[
        Path, typer.Argument(help="One pair a line as JSON: id, a, b, and what is known of them. - = stdin.")
    ],
    *,
    dialect: Annotated[str | None, typer.Option(help="Dialect of lines that name none (default postgres).")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the answers (default stdout).")] = None,
    no_witness: Annotated[bool, typer.Option("--no-witness", help="Do not look for rows that tell two apart.")] = False,
    paranoid: Annotated[bool, typer.Option("--paranoid", help="Hold equivalences against the search as well.")] = False,
    budget_ms: Annotated[int, typer.Option(min=1, help="Milliseconds that one pair may take.")] = 2000,
    parallel: Annotated[int, typer.Option(min=1, help="Processes to spread the pairs over.")] = 1,
    ray: Annotated[
        str | None, typer.Option(help="Spread over a Ray cluster: its address, or local. Needs rung[ray].")
    ] = None,
    log_level: flags.LogLevel = None,
) -> None:
    """Decide for each pair of queries in a file whether the two mean the same: one JSON answer a line, in order."""
    from harness.grading.spreading import Deciding, decide_spread

    if log_level is not None:
        from harness.cli.running import log_to_stderr

        log_to_stderr(log_level)
    deciding = Deciding(dialect=dialect, budget_ms=budget_ms, witness=not no_witness, paranoid=paranoid)
    with ExitStack() as stack:
        try:
            source = (
                sys.stdin
                if str(file) == "-"
                else stack.enter_context(file.open(encoding="utf-8-sig", errors="replace"))
            )
            target = sys.stdout if out is None else stack.enter_context(out.open("w", encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{error.filename}: {error.strerror}") from error
        if ray is None:
            answers = decide_spread(source, deciding, parallel)
        else:
            from harness.grading.cluster import decide_on_cluster

            answers = decide_on_cluster(source, deciding, ray)
        for answer in answers:
            target.write(answer + "\n")
