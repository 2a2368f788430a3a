"""Every command of the documentation runs, and every transcript in it is what the program prints."""

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.endpoint.scripted.server import ScriptedServer
from tests.e2e.commands import ROOT, environment
from tests.e2e.docs_pages import FENCE, PAGES, SHELLS, matches, run, steps

SECONDS = 120
TICKETS = {
    "open tickets": "SELECT id FROM tickets WHERE 'open' = status",
    "tickets with priority 2 or 3": "SELECT id FROM tickets WHERE priority = 2 OR priority = 3",
    "tickets opened in the last 7 days": "SELECT id FROM tickets WHERE opened >= date('2026-08-04', '-7 days')",
    "tickets that are still not closed": "SELECT id FROM tickets WHERE closed = NULL",
    "who is the customer behind ticket 7": '{"unsupported": "there is no customer"}',
}
MENDED = {"which products cost more than 25": "SELECT name FROM products WHERE price > 25"}
# The lines of the rest of a page that end in another status than 0 show it: the status is part of what they say.
WITH_STATUS_1 = ("-model", "rung grade", "rung explain", "check-goldens", "rung run -dry-run")
PAGE_NAMES = sorted(str(path.relative_to(PAGES)) for path in PAGES.rglob("*.md"))
RUN_BY_PAGES = [
    name for name in PAGE_NAMES if any(hasattr(step, "shown") for step in steps((PAGES / name).read_text()))
]
REFUSED_INPUT = "broken.csv"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("scripts")
    kept = [json.loads(line) for line in (ROOT / "goldens/shop/replies.jsonl").read_text("utf-8").splitlines()]
    own = [_reply(f"T{number}", nl, text) for number, (nl, text) in enumerate(TICKETS.items(), 1)]
    other = [
        _reply(line["id"], nl, MENDED[nl]) if (nl := line["match"]["sentence"]) in MENDED else line for line in kept
    ]
    with (
        ScriptedServer(_script(folder / "a.jsonl", kept + own)) as a,
        ScriptedServer(_script(folder / "b.jsonl", other)) as b,
    ):
        yield {"https://HOST/v1": a.base_url, "https://OTHER-HOST/v1": b.base_url}


def _reply(name: str, sentence: str, content: str) -> dict[str, object]:
    return {"id": name, "match": {"sentence": sentence}, "responses": [{"content": content}]}


def _script(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def checkout(folder: Path) -> dict[str, str]:
    """A copy of what a reader has at hand, and the environment with the programs that pages name."""
    programs = folder.parent / f"{folder.name}-programs"
    for path in (folder, programs):
        path.mkdir(exist_ok=True)
    shutil.copytree(ROOT / "goldens", folder / "goldens")
    shutil.copytree(ROOT / "results", folder / "results")
    for name, line in {
        "rung": f'exec "{sys.executable}" -m harness "$@"',
        "pytest": f'exec "{sys.executable}" -m pytest -p no:cacheprovider "$@"',
        "python3": f'exec "{sys.executable}" "$@"',
        "pip": ":",  # what is installed is looked at by test_extras_that_are_named_exist
        "make": f'exec /usr/bin/make --no-print-directory -n -C "{ROOT}" "$@"',  # the rules exist; each is long
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return environment(PATH=path, COLUMNS="100", NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1")


def with_hosts(page: str, hosts: dict[str, str]) -> str:
    for name, base_url in hosts.items():
        page = page.replace(name, base_url)
    return page


@pytest.mark.parametrize("name", RUN_BY_PAGES)
def test_commands_run_and_transcripts_are_what_is_printed(name: str, tmp_path: Path, hosts: dict[str, str]) -> None:
    page = with_hosts((PAGES / name).read_text("utf-8"), hosts)
    folder = tmp_path / "reader"
    for command in run(page, folder, checkout(folder), SECONDS):
        told = "\n".join((f"$ {command.text}", *command.printed))
        assert command.status in _statuses(command.text), f"status {command.status}\n{told}"
        assert "Traceback" not in told, told
        if command.shown is not None:
            assert matches(command.shown, command.printed), told


def _statuses(command: str) -> set[int]:
    if REFUSED_INPUT in command:
        return {2}
    return {0, 1} if any(part in command for part in WITH_STATUS_1) else {0}


def test_each_shell_block_is_one_that_is_run() -> None:
    languages = {found[0] for name in PAGE_NAMES for found in FENCE.findall((PAGES / name).read_text("utf-8"))}
    assert languages <= {*SHELLS, "python", "csv", "sql", "json", "toml", "yaml"}
    assert len(RUN_BY_PAGES) >= 9


def test_extras_that_are_named_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"].keys()
    named = {
        extra
        for name in PAGE_NAMES
        for group in re.findall(r"'\.\[([\w,-]+)\]'", (PAGES / name).read_text("utf-8"))
        for extra in group.split(",")
    }
    assert named == {"postgres", "duckdb", "mongo-embedded", "ray"}
    assert named <= extras


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "…"], ["a", "b", "c"], True),
        (["took … ms"], ["took 3 ms"], True),
        (["took … ms"], ["took 3 s"], False),
        ([], ["a"], False),
    ],
)
def test_a_transcript_is_held_against_all_that_was_printed(shown: list[str], printed: list[str], same: bool) -> None:
    assert matches(shown, printed) is same
