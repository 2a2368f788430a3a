"""The progress bar of a run: attempts, rate, time left, and how many stand on each rung, on stderr."""

from collections import Counter
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from harness.report.terminal import COLOURS
from harness.types.outcomes import LADDER, Grade, Outcome


class ProgressBar:
    """Watches a run. Draws nothing where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[grades]}", markup=True),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._counts: Counter[Grade] = Counter()
        self._task: TaskID | None = None

    def began(self, total: int, done: int) -> None:
        """Start drawing."""
        self._progress.start()
        self._task = self._progress.add_task("asking", total=total, completed=done, rate="", grades="")

    def finished(self, outcome: Outcome) -> None:
        """Count one attempt."""
        self._counts[outcome.grade] += 1
        if self._task is None:
            return
        self._progress.advance(self._task)
        speed = self._progress.tasks[0].speed
        rate = f"{speed:.1f}/s" if speed else ""
        self._progress.update(self._task, rate=rate, grades=grade_counts(self._counts).markup)

    def ended(self) -> None:
        """Take the bar away."""
        self._progress.stop()


def grade_counts(counts: Counter[Grade]) -> Text:
    """How many attempts stand on each rung so far, as one short line."""
    parts = [Text(f"{grade} {counts[grade]}", style=COLOURS[grade]) for grade in LADDER if counts[grade]]
    return Text(" ").join(parts)
