"""A promptfoo assertion: the output is a query, graded against the variable `golden` of the test.

assert:
  - type: python
    value: file://rung_assert.py
    config: {backend: postgres, schema: "CREATE TABLE …"}
"""

from typing import Any

import harness

KEYS = ("backend", "schema", "fixture", "columns", "accept", "witness")


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Grade an output; promptfoo takes `pass`, `score` and `reason` from what this returns."""
    golden = context.get("vars", {}).get("golden")
    if not isinstance(golden, str):
        return {"pass": False, "score": 0.0, "reason": "the test has no variable `golden` with the expected query"}
    config = context.get("config") or {}
    options = {key: tuple(config[key]) if key == "accept" else config[key] for key in KEYS if key in config}
    unknown = sorted(config.keys() - set(KEYS))
    if unknown:
        return {"pass": False, "score": 0.0, "reason": f"unknown in `config`: {', '.join(unknown)}"}
    try:
        graded = harness.grade(golden, output, **options)
    except harness.RungError as error:
        return {"pass": False, "score": 0.0, "reason": str(error)}
    reason = "\n".join(graded.lines) or f"{graded.grade}: {graded.basis}"
    return {"pass": graded.passed, "score": float(graded.passed), "reason": reason}
