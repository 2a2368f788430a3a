"""The promptfoo assertion, called as promptfoo calls it."""

import runpy
from pathlib import Path
from typing import Any

import pytest

GET_ASSERT = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "promptfoo" / "rung_assert.py"))["get_assert"]
GOLDEN = "SELECT id FROM t WHERE a > 3"
DDL = "CREATE TABLE t (id INTEGER, a INTEGER)"

CALLS: dict[str, tuple[str, dict[str, Any], bool, str]] = {
    "the same": (GOLDEN, {"vars": {"golden": GOLDEN}}, True, "EXACT: identical"),
    "equivalent under its schema": (
        "SELECT id FROM t WHERE a >= 4",
        {"vars": {"golden": GOLDEN}, "config": {"backend": "postgres", "schema": DDL}},
        True,
        "EQUIVALENT",
    ),
    "accepted": (
        "SELECT id FROM t WHERE a >= 3",
        {"vars": {"golden": GOLDEN}, "config": {"accept": ["SELECT id FROM t WHERE a >= 3"]}},
        True,
        "EQUIVALENT",
    ),
    "wrong": ("SELECT id FROM t WHERE a >= 3", {"vars": {"golden": GOLDEN}}, False, "bound inclusive"),
    "no golden": (GOLDEN, {"vars": {}}, False, "no variable `golden`"),
    "an unknown option": (GOLDEN, {"vars": {"golden": GOLDEN}, "config": {"dialect": "x"}}, False, "dialect"),
    "a schema that is none": (
        GOLDEN,
        {"vars": {"golden": GOLDEN}, "config": {"schema": "x"}},
        False,
        "no postgres DDL",
    ),
}


@pytest.mark.parametrize(("output", "context", "passed", "reason"), CALLS.values(), ids=CALLS.keys())
def test_an_output_is_graded(output: str, context: dict[str, Any], passed: bool, reason: str) -> None:
    found = GET_ASSERT(output, context)
    assert (found["pass"], found["score"]) == (passed, float(passed))
    assert reason in found["reason"]
