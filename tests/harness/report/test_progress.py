"""The progress bar: on a terminal it counts, elsewhere it is silent."""

import io
from collections import Counter

import pytest

from harness.report.progress import ProgressBar, grade_counts
from tests import synthetic_runs as made


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def watched(stream: io.StringIO) -> str:
    bar = ProgressBar(stream)
    bar.began(10, 3)
    case = made.sql_case(1, "s", "SELECT 1")
    for answer in (made.exact(case), made.exact(case), made.error("transport", "503")):
        bar.finished(made.result(case, answer).outcomes[0])
    bar.ended()
    return stream.getvalue()


def test_off_a_terminal_nothing_is_drawn() -> None:
    assert watched(io.StringIO()) == ""


def test_on_a_terminal_attempts_and_grades_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    drawn = watched(Terminal())
    assert "6/10" in drawn
    assert "EXACT 2 ERROR 1" in drawn


def test_only_rungs_that_are_reached_are_counted() -> None:
    assert grade_counts(Counter({"FAIL": 2, "EXACT": 1})).plain == "EXACT 1 FAIL 2"
