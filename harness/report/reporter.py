"""The seam between a finished run and what people read of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from harness.types.cases import Case
from harness.types.outcomes import CaseResult
from harness.types.run import RunFacts, Summary


class RunView(Protocol):
    """A run that can be read again and again without holding it in memory."""

    @property
    def facts(self) -> RunFacts:
        """What was run, on what, when, how."""
        ...

    @property
    def summary(self) -> Summary:
        """The counts."""
        ...

    def results(self) -> Iterator[tuple[Case, CaseResult]]:
        """Every case that has an outcome, in the golden's order; each call starts anew."""
        ...


class Reporter(Protocol):
    """Writes one report of a run. A new format is one file that defines one of these and a line in the table."""

    def write(self, run: RunView, path: Path) -> None:
        """Write the report to `path`, replacing what is there only once it is whole."""
        ...
