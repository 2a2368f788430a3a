"""`rung init`: write a starter golden file and `rung.toml`."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write them.")] = Path(),
    *,
    force: Annotated[bool, typer.Option("--force", help="Write over what is there.")] = False,
) -> None:
    """Write a starter golden file, a vocabulary config and rung.toml, ready for `rung run -dry-run`."""
    from harness.runs.starter import write_starter

    for path in write_starter(folder, force=force):
        sys.stdout.write(f"wrote {path}\n")
    sys.stdout.write("next: rung run -dry-run, then name a model in rung.toml and rung run\n")
