"""Targets by name: what is meant where none is named, and what each one lacks."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import TargetError, UsageError
from harness.targets.registry import TARGETS, TargetSettings, create_target, default_target, target_entry


@pytest.mark.parametrize(
    ("config", "options", "name"),
    [
        (Path("orders.json"), {}, "queryforge"),
        (Path("schema.sql"), {}, "prompt"),
        (Path("SCHEMA.DDL"), {}, "prompt"),
        (None, {}, "prompt"),
        (Path("orders.json"), {"answers": Path("a.csv")}, "recorded"),
        (Path("orders.json"), {"command": ("python", "answer.py")}, "command"),
        (Path("orders.json"), {"function": "mine:answer"}, "python"),
        (None, {"url": "http://127.0.0.1:8000/answer"}, "http"),
    ],
)
def test_the_target_that_is_meant(config, options, name):
    assert default_target(config, **options) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("queryforge", "--target queryforge asks a model: name it with --model"),
        ("prompt", "--target prompt asks a model: name it with --model"),
        ("recorded", "--target recorded reads answers from a file: name it with --answers FILE"),
        ("command", "--target command runs a program: name it with --command 'PROGRAM ARGUMENTS'"),
        ("http", "--target http asks a service: name it with --url http://127.0.0.1:8000/query"),
        ("python", "--target python calls a function: name it with --function module:function"),
        ("recorder", "no target is called recorder; did you mean recorded?"),
        ("zzz", f"no target is called zzz; there are {', '.join(TARGETS)}"),
    ],
)
def test_what_a_target_lacks_is_said(name, message):
    with pytest.raises(UsageError) as caught:
        create_target(name, TargetSettings())
    assert str(caught.value) == message


def test_targets_are_made_with_their_settings(tmp_path):
    program = create_target("command", TargetSettings(command=(sys.executable, "-V")))
    assert program.name == "command"
    function = create_target("python", TargetSettings(function="json:dumps"))
    assert function.name == "python"
    with pytest.raises(TargetError, match="no program is called"):
        create_target("command", TargetSettings(command=("no-such-program-here",)))


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_says_what_it_is(name):
    entry = target_entry(name)
    assert entry.summary
    assert entry.needs in ("gateway", "chatter", "nothing")


def test_naming_the_targets_loads_none_of_them():
    code = (
        "import sys, harness.targets.registry as registry; assert registry.TARGETS;"
        "print([name for name in sys.modules if name in ('queryforge', 'httpx', 'sqlglot', 'starlette')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"
