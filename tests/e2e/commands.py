"""Runs `rung` as a user does: a real process, in a folder of its own."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from harness.cli import main
from harness.endpoint.scripted.script import Match, Script, ScriptedResponse, ScriptLine

ROOT = Path(__file__).resolve().parents[2]
ORDERS = ROOT / "goldens" / "orders"
SECONDS = 60


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, object]:
        """Its output as JSON."""
        return json.loads(self.out)


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without what would steer rung."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RUNG_", "OPENAI_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "NO_PROXY": "*", **extra}


def start(folder: Path, *argv: object, **extra: str) -> subprocess.Popen[str]:
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *map(str, argv)],
        cwd=folder,
        env=environment(**extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def end(process: subprocess.Popen[str]) -> Done:
    """Wait for a command's end."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return Done(process.returncode, out, err)


def rung(folder: Path, *argv: object, **extra: str) -> Done:
    """Run a command."""
    return end(start(folder, *argv, **extra))


def called(folder: Path, *argv: object) -> Done:
    """Run a command in this process: as quick as its work, where a process of its own shows nothing more."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, environment(), clear=True),
    ):
        status = main([str(word) for word in argv])
    return Done(status, out.getvalue(), err.getvalue())


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something holds; fail when it does not come to hold."""
    deadline = time.monotonic() + seconds
    tick = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        tick.wait(0.002)


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C."""
    process.send_signal(signal.SIGINT)


@dataclass(frozen=True)
class People:
    """A corpus over one table, as many cases as wanted, and the script that answers it.

    Every tenth answer is wrong, every seventh a refusal that nobody asked for.
    """

    folder: Path
    cases: int

    @property
    def golden(self) -> Path:
        """The golden file."""
        return self.folder / "golden.csv"

    @property
    def ddl(self) -> Path:
        """The schema."""
        return self.folder / "schema.sql"

    def write(self) -> "People":
        """Write golden file and schema."""
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"p{n},people older than {n} years,sqlite,{_tag(n)},{_golden(n)}\n" for n in range(self.cases))
        self.golden.write_text("id,nl,backend,tags,expect_sql\n" + rows)
        self.ddl.write_text("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER);\n")
        return self

    def script(self) -> Script:
        """The replies."""
        return Script(
            ScriptLine(
                id=f"p{n}",
                match=Match(sentence=f"people older than {n} years"),
                responses=(ScriptedResponse(content=_answer(n)),),
            )
            for n in range(self.cases)
        )

    def flags(self, base_url: str) -> list[object]:
        """The flags of a run over it."""
        target = ["--target", "prompt", "--model", "scripted", "--base-url", base_url]
        return ["--in", self.golden, "--config", self.ddl, *target]


def _tag(number: int) -> str:
    return "even" if number % 2 == 0 else "odd"


def _golden(number: int) -> str:
    return f"SELECT name FROM people WHERE age > {number}"


def _answer(number: int) -> str:
    if number % 10 == 9:
        return f"SELECT name FROM people WHERE age >= {number}"
    if number % 7 == 6:
        return '{"unsupported": "no such thing"}'
    return f"SELECT name FROM people WHERE {number} < age"
