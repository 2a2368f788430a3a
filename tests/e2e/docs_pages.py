"""Reads the documentation's pages: files that they show, commands that they give, transcripts that they print."""

import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "pages"
FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = ("bash", "console")
MARK = "@@exit@@"
ELLIPSIS = "…"


@dataclass
class Command:
    """One command, the output that the page shows (`None`: none), and what came of it."""

    text: str
    shown: list[str] | None
    status: int = -1
    printed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ShownFile:
    """A file whose text a page shows."""

    name: str
    text: str


def steps(page: str) -> list[Command | ShownFile]:
    """The files and commands of a page, in its order."""
    found: list[Command | ShownFile] = []
    for language, title, body in FENCE.findall(page):
        if title:
            found.append(ShownFile(title, body))
        elif language == "bash":
            found.extend(Command(line, None) for line in body.splitlines() if line and not line.startswith("#"))
        elif language == "console":
            for line in body.splitlines():
                if line.startswith("$ "):
                    found.append(Command(line[2:], []))
                else:
                    found[-1].shown.append(line)
    return found


def run(page: str, folder: Path, environment: Mapping[str, str], seconds: float) -> list[Command]:
    """Run a page's commands in one shell, as a reader would, and give them with what they printed."""
    lines, commands = [], []
    for step in steps(page):
        if isinstance(step, ShownFile):
            kept = folder / f".shown-{len(lines)}"
            kept.write_text(step.text, "utf-8")
            lines.append(f"cp {shlex.quote(str(kept))} {shlex.quote(step.name)}")
        else:
            commands.append(step)
            lines.append(f"(exit $status)\n{step.text}\nstatus=$?\nprintf '\\n{MARK}%s\\n' $status")
    done = subprocess.run(
        ["bash", "-c", "status=0\nexec 2>&1\n" + "\n".join(lines)],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=seconds,
        check=False,
    )
    parts = re.split(rf"\n{MARK}(\d+)\n", done.stdout)
    assert len(parts) == 2 * len(commands) + 1, done.stdout
    for command, printed, status in zip(commands, parts[::2], parts[1::2], strict=False):
        command.printed = [line.rstrip() for line in printed.rstrip().splitlines()]
        command.status = int(status)
    return commands


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether a transcript is what was printed: `…` in a line stands for any text, alone for any lines."""
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line.strip() == ELLIPSIS else _line(line) + r"\n"
        for line in (each.rstrip() for each in shown)
    )
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def _line(text: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in text.split(ELLIPSIS))
