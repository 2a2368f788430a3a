"""The command line, one thin file a command. A leaf: nothing else imports it.

A command is a function with typer options (or a typer app, for a command with commands of its own) and one line in
`COMMANDS`. Its module is imported when the command is called, and not before: `rung --help` costs nothing.
"""

import sys
from typing import NamedTuple


class Entry(NamedTuple):
    """Where a command lives, and what the overview says of it."""

    name: str
    place: str
    summary: str


COMMANDS: tuple[Entry, ...] = (
    Entry("run", "harness.cli.run:run", "Ask every sentence of a golden file and grade the answers."),
    Entry("demo", "harness.cli.demo:demo", "Run the bundled corpus against a scripted endpoint."),
    Entry("grade", "harness.cli.grade:grade", "Grade answers that exist already; calls no model."),
    Entry("pairs", "harness.cli.pairs:pairs", "Decide for each pair in a file whether both mean the same."),
    Entry("explain", "harness.cli.explain:explain", "Say whether two queries mean the same, and why."),
    Entry("compare", "harness.cli.compare:compare_runs", "Runs side by side: which is better, and is that noise?"),
    Entry("gateway", "harness.cli.gateway:gateway", "Pin, pace, retry and record a program's model calls."),
    Entry("check-goldens", "harness.cli.check_goldens:check_goldens", "Audit a golden file and the fixture behind it."),
    Entry("report", "harness.cli.report:report", "Write a run's reports anew: HTML, Markdown, JUnit, tables."),
    Entry("sql", "harness.cli.sql:app", "Run reads on a fixture; check execution accuracy."),
    Entry("init", "harness.cli.init:init", "Write a starter golden file and rung.toml."),
)
"""In the order of the overview. `place` is `module:function`, `summary` at most 58 characters."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the arguments after the program's name; `None` = those of the process.

    Returns:
        The exit status.
    """
    from harness.cli.dispatch import dispatch

    return dispatch(COMMANDS, sys.argv[1:] if argv is None else argv)
