"""`rung sql`: run one read in the sandbox, or check the execution accuracy of a file of query pairs."""

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

app = typer.Typer(
    name="sql",
    help="Run queries on a fixture, read-only and bounded.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

_NOT_COMPLETE = 2


class _Checking(TyperCommand):
    """A command whose wrong flags end as its other bad input does, not with the status of a failed accuracy."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse the arguments."""
        try:
            return super().make_context(*args, **more)
        except typer.Exit:  # --help
            raise
        except Exception as error:
            said = getattr(error, "format_message", None)
            if said is None:
                raise
            _refuse("BAD_ARGS", 5, f"{said()} (rung sql check --help lists the flags)")


def _refuse(symbol: str, status: int, message: str) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"{symbol}: {line}", err=True)
    raise typer.Exit(status)


def _number(name: str, text: str, low: float, high: float, *, whole: bool) -> float:
    try:
        value = float(int(text)) if whole else float(text)
    except (ValueError, OverflowError):
        value = math.nan
    if not low <= value <= high:
        bounds = f"{low:,.0f} to {high:,.0f}" if whole else f"{low:g} to {high:g}"
        _refuse(
            "BAD_ARGS", 5, f"--{name} must be {'a whole number' if whole else 'a number'} from {bounds}, not {text}"
        )
    return value


@app.command(cls=_Checking)
def check(
    *,
    cases: Annotated[Path | None, typer.Option(help="JSON Lines: id, question, generatedSql, referenceSql, …")] = None,
    db: Annotated[
        str | None, typer.Option(help="sqlite:///FILE, duckdb:///FILE or postgresql://… of a fixture.")
    ] = None,
    timeout_ms: Annotated[str, typer.Option(help="Milliseconds of each query, 1 to 300,000.")] = "5000",
    max_rows: Annotated[str, typer.Option(help="Rows of each result, 1 to 100,000.")] = "10000",
    min_accuracy: Annotated[str, typer.Option(help="The execution accuracy that passes, 0 to 1.")] = "1.0",
    format_: Annotated[str, typer.Option("--format", help="json or text.")] = "text",
    show_diff: Annotated[bool, typer.Option("--show-diff", help="Show rows of mismatches (fixture data).")] = False,
    parallel: Annotated[str, typer.Option(help="Cases at a time, 1 to 64.")] = "1",
) -> None:
    """Compare generated with reference results: exit 0 pass, 1 below, 5 bad input, 7 weak evidence, 11 I/O."""
    from harness.errors import InputError, MissingExtraError, SandboxError, UsageError
    from harness.sandbox.backends import UnreachableError
    from harness.sandbox.casefile import read_cases
    from harness.sandbox.checking import EXIT_CODES, check_cases
    from harness.sandbox.fixtures import open_fixture
    from harness.sandbox.policy import Policy
    from harness.sandbox.sandbox import Sandbox

    if cases is None or db is None:
        _refuse("BAD_ARGS", 5, "--cases FILE.jsonl and --db URL are both needed")
    if format_ not in ("json", "text"):
        _refuse("BAD_ARGS", 5, f"--format must be json or text, not {format_}")
    workers = int(_number("parallel", parallel, 1, 64, whole=True))
    policy = Policy.for_checks(
        timeout_ms=int(_number("timeout-ms", timeout_ms, 1, 300_000, whole=True)),
        max_rows=int(_number("max-rows", max_rows, 1, 100_000, whole=True)),
    )
    minimum = _number("min-accuracy", min_accuracy, 0, 1, whole=False)
    try:
        wanted = read_cases(cases)
        fixture = open_fixture(_database_url(db), None)
        with Sandbox(policy, workers=workers) as sandbox:
            report = check_cases(sandbox, fixture, wanted, min_accuracy=minimum, show_diff=show_diff, parallel=workers)
    except UnreachableError as problem:
        _refuse("IO_ERROR", 11, str(problem))
    except (InputError, SandboxError, UsageError, MissingExtraError) as problem:
        _refuse("BAD_ARGS", 5, str(problem))
    data = report.data()
    typer.echo(json.dumps(data, separators=(",", ":")) if format_ == "json" else _as_text(data))
    raise typer.Exit(EXIT_CODES[report.symbol])


def _database_url(db: str) -> str:
    if not db.startswith(("sqlite:///", "duckdb:///", "postgresql://", "postgres://")):
        _refuse("BAD_ARGS", 5, "--db must be sqlite:///FILE, duckdb:///FILE or postgresql://…")
    return db


def _as_text(data: dict[str, object]) -> str:
    accuracy = data["executionAccuracy"]
    shown = "unavailable" if accuracy is None else f"{accuracy:.4f}"
    lines = [f"{data['status']}: execution accuracy {shown} (needed {data['minAccuracy']}), {data['caseCount']} cases"]
    outcomes = data["outcomes"]
    assert isinstance(outcomes, dict)
    lines += [f"  {name}: {count}" for name, count in outcomes.items() if count]
    cases = data["cases"]
    assert isinstance(cases, list)
    for case in cases:
        if case["outcome"] != "match":
            reason = f" ({case['reason']})" if "reason" in case else ""
            lines.append(f"{json.dumps(case['id'], ensure_ascii=False)}: {case['outcome']}{reason}")
        for side, name in (("missing", "missingRows"), ("extra", "extraRows")):
            lines += [f"  {side} {json.dumps(row)}" for row in case.get("diff", {}).get(name, ())]
    warnings = data["warnings"]
    assert isinstance(warnings, list)
    return "\n".join([*lines, *(f"warning: {warning}" for warning in warnings)])


@app.command()
def run(
    *,
    database: Annotated[str, typer.Option(help="A fixture: a file, or a URL.")],
    sql: Annotated[str | None, typer.Option(help="The query.")] = None,
    sql_file: Annotated[Path | None, typer.Option(help="A file with the query.")] = None,
    timeout_seconds: Annotated[float | None, typer.Option(help="Seconds for everything (default 10).")] = None,
    max_result_rows: Annotated[int | None, typer.Option(help="Rows that are returned (default 1,000).")] = None,
    dialect: Annotated[str | None, typer.Option(help="The query's dialect (default: the engine's own).")] = None,
) -> None:
    """Run one read-only query and print its result as JSON. Exit 0 = complete; 2 = anything else, a cut preview too."""
    from pydantic import ValidationError

    from harness.errors import RungError
    from harness.sandbox.policy import Policy
    from harness.sandbox.sandbox import Sandbox

    changes: dict[str, object] = {}
    if timeout_seconds is not None:
        changes["deadline_seconds"] = timeout_seconds
    if max_result_rows is not None:
        changes["max_rows"] = max_result_rows
    try:
        policy = Policy.model_validate(changes)
    except ValidationError as problem:
        details = problem.errors()[0]
        _refuse("error", _NOT_COMPLETE, f"{details['loc'][0] if details['loc'] else 'policy'}: {details['msg']}")
    query = _query(sql, sql_file)
    try:
        with Sandbox(policy, workers=1) as sandbox:
            result = sandbox.execute(database, query, dialect=dialect)
    except RungError as problem:
        _refuse("error", _NOT_COMPLETE, str(problem))
    sys.stdout.write(json.dumps(result.model_dump(mode="json")) + "\n")
    raise typer.Exit(0 if result.succeeded else _NOT_COMPLETE)


def _query(sql: str | None, sql_file: Path | None) -> str:
    from harness.sandbox.policy import SQL_LIMIT

    if (sql is None) == (sql_file is None):
        _refuse("error", _NOT_COMPLETE, "give the query by exactly one of --sql and --sql-file")
    if sql is not None:
        return sql
    assert sql_file is not None
    try:
        with sql_file.open("rb") as file:
            data = file.read(4 * SQL_LIMIT + 5)
        return data.decode("utf-8-sig")
    except OSError as problem:
        _refuse("error", _NOT_COMPLETE, f"{sql_file}: {problem.strerror}")
    except UnicodeDecodeError:
        _refuse("error", _NOT_COMPLETE, f"{sql_file}: is no UTF-8")
