"""From arguments to a command: both spellings, environment, settings, help, errors in words."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer

from harness.cli import COMMANDS, Entry, main
from harness.cli.dispatch import dispatch, double_dashed
from harness.errors import EndpointError, UsageError

SEEN: dict[str, object] = {}


def probe(
    *,
    repeat: Annotated[int, typer.Option()] = 1,
    base_url: Annotated[str | None, typer.Option()] = None,
    golden: Annotated[Path | None, typer.Option("--in")] = None,
    out: Annotated[list[Path] | None, typer.Option()] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run")] = False,
    fail: Annotated[str | None, typer.Option()] = None,
) -> None:
    """Keep what was given."""
    SEEN.clear()
    SEEN.update(repeat=repeat, base_url=base_url, golden=golden, out=out, dry_run=dry_run)
    errors: dict[str, Exception] = {
        "usage": UsageError("--x is no number"),
        "endpoint": EndpointError("nobody answers\nat all"),
        "bug": ZeroDivisionError("division by zero"),
        "interrupt": KeyboardInterrupt(),
        "pipe": BrokenPipeError(),
    }
    if fail == "exit":
        raise typer.Exit(7)
    if fail:
        raise errors[fail]


TABLE = (Entry("probe", f"{__name__}:probe", "Keep what was given."),)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[probe.__module__])
    monkeypatch.chdir(tmp_path)
    SEEN.clear()


def run(*argv: str) -> int:
    return dispatch(TABLE, ["probe", *argv])


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        (["-repeat", "5"], {"repeat": 5}),
        (["--repeat", "5"], {"repeat": 5}),
        (["-repeat=5"], {"repeat": 5}),
        (["--repeat=5"], {"repeat": 5}),
        (["-in", "g.csv", "-base-url", "http://h/v1"], {"golden": Path("g.csv"), "base_url": "http://h/v1"}),
        (["-dry-run"], {"dry_run": True}),
        (["-out", "a.csv", "--out", "b.jsonl"], {"out": [Path("a.csv"), Path("b.jsonl")]}),
    ],
)
def test_flags_work_in_both_spellings(argv: list[str], options: dict[str, object]) -> None:
    assert run(*argv) == 0
    assert {name: SEEN[name] for name in options} == options


def test_only_known_flags_are_respelt_and_nothing_after_the_double_dash() -> None:
    options = frozenset({"--repeat"})
    assert double_dashed(["-repeat", "-x", "-repeats", "--", "-repeat"], options) == [
        "--repeat", "-x", "-repeats", "--", "-repeat"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "environment", "settings", "repeat"),
    [
        ([], {}, "", 1),
        ([], {}, "repeat = 2", 2),
        ([], {}, "repeat = 2\n[probe]\nrepeat = 3", 3),
        ([], {"RUNG_REPEAT": "4"}, "repeat = 2\n[probe]\nrepeat = 3", 4),
        (["-repeat", "5"], {"RUNG_REPEAT": "4"}, "repeat = 2", 5),
    ],
)
def test_flag_before_environment_before_file_before_default(
    argv: list[str], environment: dict[str, str], settings: str, repeat: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rung.toml").write_text(settings)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run(*argv) == 0
    assert SEEN["repeat"] == repeat


def test_settings_take_both_kinds_of_key_and_lists() -> None:
    Path("rung.toml").write_text('base-url = "http://h/v1"\ndry_run = true\n[probe]\nout = ["a.csv", "b.csv"]')
    assert run() == 0
    assert (SEEN["base_url"], SEEN["dry_run"], SEEN["out"]) == ("http://h/v1", True, [Path("a.csv"), Path("b.csv")])


def test_settings_may_stand_in_pyproject() -> None:
    Path("pyproject.toml").write_text("[tool.rung]\nrepeat = 6\n[tool.rung.probe]\nbase-url = 'http://h'")
    assert run() == 0
    assert (SEEN["repeat"], SEEN["base_url"]) == (6, "http://h")


def test_a_top_level_key_of_another_command_is_no_error_but_a_key_in_the_own_table_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("rung.toml").write_text("prices = 3")
    assert run() == 0
    Path("rung.toml").write_text("[probe]\nreapeat = 3")
    assert run() == 2
    assert capsys.readouterr().err == (
        "error: rung.toml: reapeat: rung probe has no flag --reapeat; did you mean repeat?\n"
    )


def test_settings_that_are_no_toml_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rung.toml").write_text("repeat = = 3")
    assert run() == 2
    assert capsys.readouterr().err.startswith("error: rung.toml: not TOML: ")


@pytest.mark.parametrize(
    ("fail", "status", "said"),
    [
        ("usage", 2, "usage: --x is no number\n"),
        ("endpoint", 3, "error: nobody answers\nerror: at all\n"),
        ("interrupt", 130, ""),
        ("exit", 7, ""),
    ],
)
def test_errors_become_words_and_a_status(
    fail: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--fail", fail) == status
    assert capsys.readouterr().err == said


def test_a_bug_is_confessed_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNG_DEBUG", raising=False)
    assert run("--fail", "bug") == 70
    said = capsys.readouterr().err
    assert said.startswith("internal error: ZeroDivisionError: division by zero\n")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["prove"], "No such command 'prove'. Did you mean 'probe'?"),
        (["probe", "--repeta", "3"], "--repeta"),
        (["probe", "-repeat", "many"], "Invalid value for '--repeat': Input should be a valid integer"),
    ],
)
def test_wrong_usage_says_what_is_wrong(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(TABLE, argv) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["20", "80", "300"])
@pytest.mark.parametrize("argv", [["--help"], ["-h"], []])
def test_the_overview_names_every_command(
    argv: list[str], columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    main(argv)
    captured = capsys.readouterr()
    if argv != ["-h"]:
        for entry in COMMANDS:
            assert entry.summary in captured.out + captured.err


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_has_help(entry: Entry, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([entry.name, "--help"]) == 0
    assert f"rung {entry.name}" in capsys.readouterr().out


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_a_summary_fits_its_line(entry: Entry) -> None:
    assert len(entry.summary) <= 58


def test_the_overview_imports_nothing_heavy() -> None:
    heavy = "{'sqlglot', 'pydantic', 'httpx', 'scipy', 'queryforge', 'pymongo', 'bson', 'starlette', 'rich', 'jinja2'}"
    code = f"import sys; from harness.cli import main; main(['--help']); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("rung 0.")
