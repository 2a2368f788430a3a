"""The terminal report: snapshots at several widths, colour only where it is wanted, hostile text made harmless."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from harness.report.screen import visible
from harness.report.terminal import print_report, report_text, write_report
from harness.types.run import Warned
from tests import synthetic_runs as made

SNAPSHOTS = Path(__file__).parent / "snapshots"
WARNINGS = (
    Warned(kind="contradiction", message="1 case where text and results disagree", cases=("S01",), count=1),
    Warned(kind="unpinned", message="60 cases with relative dates", cases=tuple(f"S{n}" for n in range(50)), count=60),
    Warned(kind="adapted_parameter", message="temperature was not accepted and left out"),
)


def snapshot(name: str, text: str) -> None:
    """Compare with the file; `RUNG_WRITE_SNAPSHOTS=1` writes it anew."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("RUNG_WRITE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("width", [100, 60])
def test_snapshot(width: int) -> None:
    run = made.memory_run(made.sample_pairs(3), made.facts(repeat=3), warnings=WARNINGS)
    text = report_text(run, width=width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    snapshot(f"terminal-{width}", stripped(text))


def test_snapshot_of_every_case() -> None:
    snapshot("terminal-verbose", stripped(report_text(made.sample_run(), verbose=True)))


def test_a_scripted_run_says_so() -> None:
    run = made.memory_run(made.sample_pairs(), made.facts(scripted=True))
    assert "Scripted answers: this run shows the program, it measures no model." in report_text(run)


def test_a_replayed_run_says_so() -> None:
    run = made.memory_run(made.sample_pairs(), made.facts(replayed=True))
    assert "Replayed from a tape: no model was called." in report_text(run)


def test_an_interrupted_run_says_what_is_missing() -> None:
    run = made.memory_run(made.sample_pairs(), cases=40, interrupted=True)
    assert "18 of 40 cases are not finished: the run was interrupted" in report_text(run)


def test_an_empty_run_is_reported() -> None:
    run = made.memory_run([], cases=3, interrupted=True)
    assert "0 of 0 cases passed, –" in report_text(run)


@pytest.mark.parametrize(
    ("passes", "cases", "bar"), [(0, 300, "░" * 25), (1, 300, "█" + "░" * 24), (299, 300, "█" * 24 + "░")]
)
def test_a_bar_is_empty_or_full_only_where_none_or_all_are(passes: int, cases: int, bar: str) -> None:
    case = made.sql_case(1, "s", "SELECT 1")
    pairs = [(case, made.result(case, made.exact(case)))] * passes
    pairs += [(case, made.result(case, made.error("transport", "503")))] * (cases - passes)
    line = next(line for line in report_text(made.memory_run(pairs)).splitlines() if "EXACT" in line)
    assert line.split()[1] == bar


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def printed(stream: io.StringIO) -> str:
    write_report(made.sample_run(), stream)
    return stream.getvalue()


def test_off_a_terminal_no_line_ends_in_blanks() -> None:
    lines = printed(io.StringIO()).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\n".join(lines) + "\n" == stripped(report_text(made.sample_run()))


def test_off_a_terminal_there_is_no_colour() -> None:
    assert "\x1b" not in printed(io.StringIO())


def test_on_a_terminal_there_is_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in printed(Terminal())


def test_no_color_is_heeded_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for code in ("\x1b[31m", "\x1b[32m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[33m", "\x1b[36m"):
        assert code not in printed(Terminal())


def test_an_ascii_terminal_gets_ascii_bars() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    console = Console(file=stream, width=100)
    print_report(made.memory_run([(case, result) for case, result in made.sample_pairs()][:2]), console)
    stream.flush()
    text = stream.buffer.getvalue().decode()
    assert "#####" in text
    assert "\\u2588" not in text


def test_hostile_text_steers_nothing() -> None:
    text = report_text(made.hostile_run(), verbose=True)
    assert [char for char in text if not (char.isprintable() or char == "\n")] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [bold]x[/bold]", "plain [bold]x[/bold]"),
        ("a\nb", "a\nb"),
        ("a\tb", "a b"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202egnp", "\\u202egnp"),
        ("\r\x00", "\\x0d\\x00"),
        ("\ud83d", "\\ud83d"),
    ],
)
def test_what_would_steer_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
