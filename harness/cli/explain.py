"""`rung explain`: say of two queries whether they mean the same, and why."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from harness.errors import UsageError


def explain(
    a: Annotated[str, typer.Argument(help="The one query, or @FILE.")],
    b: Annotated[str, typer.Argument(help="The other query, or @FILE.")],
    *,
    dialect: Annotated[str, typer.Option(help="SQL dialect, or mongo.")] = "postgres",
    schema: Annotated[Path | None, typer.Option(help="A file with the tables' DDL.")] = None,
    now: Annotated[str | None, typer.Option(help="Pinned clock, ISO 8601.")] = None,
    args_a: Annotated[str | None, typer.Option(help="Bound values of A, as a JSON array or object.")] = None,
    args_b: Annotated[str | None, typer.Option(help="Bound values of B, as a JSON array or object.")] = None,
    star: Annotated[str, typer.Option(help="strict, or expand: SELECT * is the columns of the schema.")] = "strict",
    columns: Annotated[str, typer.Option(help="any, or ordered: columns in another order differ.")] = "any",
    no_witness: Annotated[bool, typer.Option("--no-witness", help="Look for no rows that tell them apart.")] = False,
    budget_ms: Annotated[int, typer.Option(min=1, help="Milliseconds that it may take.")] = 2000,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead.")] = False,
) -> None:
    """Say whether two queries mean the same, and why. Exit status 0 = they do, 1 = not so or not decided."""
    from harness.grading.spreading import Deciding
    from harness.report.explanation import print_explanation
    from harness.report.terminal import console_on

    line: dict[str, JsonValue] = {
        "a": _text(a),
        "b": _text(b),
        "dialect": dialect,
        "schema": _text(f"@{schema}") if schema is not None else None,
        "now": now,
        "args_a": _json("--args-a", args_a),
        "args_b": _json("--args-b", args_b),
        "star": star,
        "columns": columns,
    }
    decider = Deciding(budget_ms=budget_ms, witness=not no_witness).decider()
    pair = decider.read({key: value for key, value in line.items() if value is not None})
    if as_json:
        answer = decider.decide_document(pair)
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
        raise typer.Exit(0 if answer["relation"] in ("identical", "equivalent") else 1)
    found = decider.decide_pair(pair)
    print_explanation(pair.a, pair.b, found, console_on(sys.stdout))
    raise typer.Exit(0 if found.relation in ("identical", "equivalent") else 1)


def _text(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{given[1:]}: {getattr(error, 'strerror', None) or error}") from error


def _json(option: str, given: str | None) -> JsonValue:
    if given is None:
        return None
    try:
        value: JsonValue = json.loads(given)
    except ValueError as error:
        raise UsageError(f"{option} {given!r}: not JSON: {error}") from error
    return value
