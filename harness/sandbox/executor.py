"""Runs a golden and an answer on the case's fixture: what `--exec` asks of the sandbox."""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from harness.errors import UsageError
from harness.sandbox.documents import collection_of, comparable
from harness.sandbox.fixtures import Fixture, open_fixture
from harness.sandbox.policy import Policy
from harness.sandbox.result import PairResult
from harness.sandbox.sandbox import Sandbox
from harness.sandbox.work import Failure, outcome_of
from harness.types.answers import MongoAnswer, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectSql, ResultRules
from harness.types.observation import Observation
from harness.types.outcomes import Execution, ExecutionOutcome
from harness.types.results import ComparisonConfig, ExecutionError, ExecutionErrorKind, ExecutionResult, ResultDiff

_DIALECTS = {"sql": "postgres", "postgresql": "postgres", "mongodb": "mongo", "sqlite3": "sqlite"}
_BUILT = ("embedded", "duckdb")
"""Words that make servers or files of the data at a path, or beside the golden file."""
Backend = Literal["sqlite", "duckdb", "postgres", "mongo"]


class FixtureExecutor:
    """Executes pairs of queries on fixtures, each fixture opened once. Safe for threads and for asyncio.

    Args:
        fixture: URL or path of the data for cases that name none of their own; `embedded` = an embedded server for each
            case's own fixture, or for the one in `folder`; `duckdb` = the same with DuckDB in process for PostgreSQL's
            SQL; `None` = such cases are not executed. A script and documents that lie beside each other under one name
            are one fixture: SQL runs on `fixture.sql`, MongoDB's queries on `fixture.jsonl`.
        folder: where relative paths of fixtures start, and where `embedded` and `duckdb` look for `fixture.sql`,
            `fixture.jsonl` or `fixture/`.
        collection: what a case's config calls the collection of its documents, for fixtures of one file.
        any_order: results whose columns come in another order under the same names are the same.
        policy: the limits of each query, `None` = those of checks.
        workers: cases at a time, `None` = one per core.
    """

    def __init__(
        self,
        fixture: str | None = None,
        *,
        folder: Path | None = None,
        policy: Policy | None = None,
        workers: int | None = None,
        collection: Callable[[Case], str | None] | None = None,
        any_order: bool = False,
    ) -> None:
        self._collection = collection
        self._default = fixture
        self._any_order = any_order
        self._folder = folder
        self._sandbox = Sandbox(policy or Policy.for_checks(), workers)
        self._lock = threading.Lock()
        self._fixtures: dict[tuple[str, str, str | None], Fixture] = {}
        self._open = False
        self._pool: ThreadPoolExecutor | None = None

    async def execute(self, case: Case, answer: SqlAnswer | MongoAnswer, *, now: datetime) -> Execution | None:
        """How the results stand to each other; `None` where the case has no fixture or expects no query.

        Raises:
            harness.errors.SandboxError: the fixture cannot be loaded, or the sandbox is broken.
            UsageError: no engine runs the case's dialect on its fixture.
        """
        expected = case.expectation
        if not isinstance(expected, (ExpectSql, ExpectMongo)):
            return None
        place = self._place(case)
        if place is None:
            return None
        if isinstance(expected, ExpectMongo) != isinstance(answer, MongoAnswer):
            return Execution(outcome="generated_error", engine="", detail="the answer is in another query language")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(thread_name_prefix="execute")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._run, case, place, expected, answer, now)

    async def observe(self, case: Case, answer: SqlAnswer | MongoAnswer, *, now: datetime) -> Observation | None:
        """What the answer alone gives on the case's fixture; `None` where the case has none.

        Raises:
            harness.errors.SandboxError: the fixture cannot be loaded, or the sandbox is broken.
            UsageError: no engine runs the case's dialect on its fixture.
        """
        place = self._place(case)
        if place is None:
            return None
        if self._pool is None:
            self._pool = ThreadPoolExecutor(thread_name_prefix="execute")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self.observed, case, place, answer, case.now or now)

    def observed(self, case: Case, place: str, answer: SqlAnswer | MongoAnswer, now: datetime) -> Observation:
        """Run an answer on the fixture at a place; see `observe`."""
        dialect = _DIALECTS.get(case.backend.lower(), case.backend.lower())
        if dialect not in get_args(Backend):
            raise UsageError(f"no engine here runs queries in the dialect {dialect}, which {case.id} is to be run in")
        args: Any = getattr(answer, "args", None)
        try:
            text = bound(answer.text, args, case.backend) if args else answer.text
        except ValueError:
            return _unrun("generated_error", "its parameters cannot be bound to their values")
        found = self._sandbox.execute(self._fixture(place, dialect, self._named(case)), text, dialect=dialect, now=now)
        if found.error is not None:
            failure = outcome_of(Failure(found.status, found.error.code, "engine"))
            return _unrun(failure, found.error.message, found.engine)  # type: ignore[arg-type]  # from a closed list
        result = ExecutionResult(rows=found.rows, schema_=found.schema_, latency_seconds=found.duration_seconds)
        return Observation(engine=found.engine, failure=None, result=result)

    async def aclose(self) -> None:
        """Give back processes, connections and fixtures. Idempotent."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """`aclose` for callers without a loop."""
        with self._lock:
            self._sandbox.close()
            self._open = False
            fixtures, self._fixtures = list(self._fixtures.values()), {}
        for fixture in fixtures:
            fixture.close()

    def compare(
        self,
        place: str,
        expected: str,
        actual: str,
        *,
        dialect: str,
        rules: ResultRules,
        now: datetime | None,
        collection: str | None = None,
    ) -> Execution:
        """Run two queries on a fixture and compare their results.

        Args:
            place: URL or path of the fixture.
            expected: the golden query.
            actual: the answer.
            dialect: of both: `mongo` or the name of a SQL dialect.
            rules: how the results are compared.
            now: the instant that clock functions in both are replaced by.
            collection: what the collection in a fixture of one file of documents is called.

        Raises:
            harness.errors.SandboxError: the fixture cannot be loaded, or the sandbox is broken.
            UsageError: no engine runs this dialect on this fixture.
        """
        dialect = _DIALECTS.get(dialect.lower(), dialect.lower())
        if dialect not in get_args(Backend):
            raise UsageError(f"no engine here runs queries in the dialect {dialect}; leave --exec out for these cases")
        config = ComparisonConfig(
            order_matters=rules.order_matters, float_tolerance=rules.float_tolerance, match_key=rules.match_key
        )
        fixture = self._fixture(place, dialect, collection)
        result = self._sandbox.compare(fixture, expected, actual, config, dialect=dialect, now=now)
        if self._any_order and dialect != "mongo" and result.outcome == "mismatch":
            named = config.model_copy(update={"columns": "name"})
            again = self._sandbox.compare(fixture, expected, actual, named, dialect=dialect, now=now)
            result = again if again.outcome == "match" else result
        return Execution(outcome=result.outcome, engine=result.engine, detail=describe(result))

    def _run(
        self,
        case: Case,
        place: str,
        expected: ExpectSql | ExpectMongo,
        answer: SqlAnswer | MongoAnswer,
        now: datetime,
    ) -> Execution:
        texts: list[str] = []
        for query, failed in ((expected, "reference_error"), (answer, "generated_error")):
            args: Any = getattr(query, "args", None)
            try:
                texts.append(bound(query.text, args, case.backend) if args else query.text)
            except ValueError:
                outcome: ExecutionOutcome = "reference_error" if failed == "reference_error" else "generated_error"
                return Execution(outcome=outcome, engine="", detail="its parameters cannot be bound to their values")
        collection = None
        if isinstance(expected, ExpectMongo):
            collection = collection_of(texts[0], case.now or now) or self._named(case)
            texts[1] = comparable(texts[0], texts[1], case.now or now)
        return self.compare(
            place,
            texts[0],
            texts[1],
            dialect=case.backend,
            rules=case.result_rules,
            now=case.now or now,
            collection=collection,
        )

    def _named(self, case: Case) -> str | None:
        return None if self._collection is None else self._collection(case)

    def _place(self, case: Case) -> str | None:
        """Where the case's data is: its own fixture, else the run's; of the two under one name, its backend's."""
        own, default = case.fixture, self._default
        if own is not None and own.startswith("env:"):
            return _from_environment(own.removeprefix("env:"))
        documents = _DIALECTS.get(case.backend.lower(), case.backend.lower()) == "mongo"
        if own is None and default in _BUILT:
            return f"{default}:{_beside(self._folder or Path(), documents)}"
        place = own if own is not None else default
        if place is None:
            return None
        prefix, _, name = (
            place.rpartition(":") if place.startswith(tuple(f"{word}:" for word in _BUILT)) else ("", "", place)
        )
        if not prefix and "://" in place:
            return place
        if not prefix and own is not None and default in _BUILT and not name.endswith((".db", ".sqlite", ".duckdb")):
            prefix = str(default)
        path = Path(name)
        if own is not None and self._folder is not None and not path.is_absolute() and not path.exists():
            path = self._folder / path
        path = _of_backend(path, documents)
        return f"{prefix}:{path}" if prefix else str(path)

    def _fixture(self, place: str, dialect: str, collection: str | None = None) -> Fixture:
        with self._lock:
            if not self._open:
                self._sandbox.__enter__()
                self._open = True
            key = (place, dialect, collection)
            if key not in self._fixtures:
                self._fixtures[key] = open_fixture(place, dialect, collection=collection)
            return self._fixtures[key]


def _beside(folder: Path, documents: bool) -> Path:
    """The fixture that lies beside a golden file."""
    file = folder / ("fixture.jsonl" if documents else "fixture.sql")
    for found in (file, folder / "fixture"):
        if found.exists():
            return found
    raise UsageError(f"no data to run the queries on: there is neither {file} nor a folder {folder / 'fixture'}")


def _of_backend(path: Path, documents: bool) -> Path:
    """The part of a fixture that a backend reads, where the path names the other part or the folder of both."""
    if path.is_dir():
        return _beside(path, documents) if (path / "fixture.sql").is_file() else path
    if path.suffix.lower() != (".sql" if documents else ".jsonl"):
        return path
    other = path.with_suffix(".jsonl" if documents else ".sql")
    if not other.exists():
        raise UsageError(f"no data for {'MongoDB' if documents else 'SQL'}: {path} has no {other.name} beside it")
    return other


def _from_environment(name: str) -> str:
    """A fixture whose URL holds credentials, so that no file may: `env:NAME`."""
    value = os.environ.get(name)
    if not value:
        raise UsageError(f"the fixture is named by the environment variable {name}, which is not set")
    return value


def _unrun(failure: ExecutionOutcome, message: str, engine: str = "") -> Observation:
    kind: ExecutionErrorKind = {"refused": "refused", "generated_error": "query_failed"}.get(  # type: ignore[assignment]
        failure, "budget_exceeded"
    )
    error = ExecutionError(kind=kind, message=message)
    return Observation(engine=engine, failure=failure, result=ExecutionResult(latency_seconds=0.0, error=error))


def bound(text: str, args: Any, dialect: str) -> str:
    """A query with its parameters replaced by literals.

    Raises:
        ValueError: a parameter has no value, or a value cannot be written as a literal.
    """
    import sqlglot
    from sqlglot import errors, exp

    name = _DIALECTS.get(dialect.lower(), dialect.lower())
    try:
        tree = sqlglot.parse_one(text, dialect=name)
    except (errors.SqlglotError, RecursionError) as problem:
        raise ValueError("the query cannot be parsed") from problem
    used = 0

    def literal(node: exp.Expr) -> exp.Expr:
        nonlocal used
        if not isinstance(node, (exp.Placeholder, exp.Parameter)):
            return node
        inner = str(node.name or node.this.name if isinstance(node.this, exp.Expr) else node.this or "")
        if isinstance(args, dict):
            if inner not in args:
                raise ValueError("a parameter has no value")
            return exp.convert(args[inner])
        place = int(inner) - 1 if inner.isdigit() else used
        used += 1
        if not 0 <= place < len(args):
            raise ValueError("a parameter has no value")
        return exp.convert(args[place])

    return tree.transform(literal).sql(dialect=name)


def describe(result: PairResult) -> str:
    """One line on how the results differ or what went wrong; never SQL text, paths or values."""
    if result.error is not None:
        return result.error.message
    if result.diff is None:
        return ""
    return _differs(result.diff)


def _differs(diff: ResultDiff) -> str:
    if diff.expected_columns != diff.actual_columns:
        return f"{diff.expected_columns} columns expected, {diff.actual_columns} returned"
    parts = [f"{diff.expected_rows} rows expected, {diff.actual_rows} returned"]
    if diff.missing_rows:
        parts.append(f"{diff.missing_rows} missing")
    if diff.extra_rows:
        parts.append(f"{diff.extra_rows} not expected")
    if diff.first_difference is not None:
        parts.append(f"the first difference in row {diff.first_difference + 1}")
    parts += [f"{entry.count} differ in a column" for entry in diff.value_mismatches[:1]]
    return "; ".join(parts)
