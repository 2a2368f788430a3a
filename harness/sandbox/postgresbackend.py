"""PostgreSQL: queries are read by the parser and run by a worker that is connected as a role that can only read."""

import importlib
import threading
from typing import Any

from harness.errors import MissingExtraError, SandboxError
from harness.sandbox.backends import Job, Outcome, UnreachableError
from harness.sandbox.fixtures import Fixture
from harness.sandbox.processes import Process
from harness.sandbox.reading import FixtureSchema, SqlRead, read_query, schema_of
from harness.sandbox.serverbackend import (
    ASSUMED_LAYERS,
    after_setup,
    ask,
    failure_of,
    limits_of,
    pair_request,
    time_left,
)
from harness.sandbox.slots import Slot
from harness.sandbox.work import Failure, outcome_of
from harness.types.results import ComparisonConfig

_READABLE = frozenset({"r", "p", "m"})
_CONNECT_SECONDS = 30.0


class PostgresBackend:
    """Runs cases on a server.

    Args:
        fixture: of the kind `postgres`.
    """

    dialect = "postgres"

    def __init__(self, fixture: Fixture) -> None:
        self._fixture = fixture
        self._engine = ""
        self._schema: FixtureSchema | None = None
        self._lock = threading.Lock()
        self._sessions: dict[int, int] = {}
        self._stale: list[int] = []

    @property
    def engine(self) -> str:
        """Engine and version."""
        return self._engine

    def close(self) -> None:
        """Give the fixture back."""
        self._fixture.close()

    def check(self, slot: Slot) -> None:
        """Connect, and look at what the role may do."""
        slot.worker(self._fixture.key, self._start)

    def execute(self, slot: Slot, query: str, job: Job) -> Outcome:
        """Validate and run one query."""
        read: SqlRead | None = None
        try:
            job = after_setup(job, lambda: self.check(slot))
            assert self._schema is not None
            read = read_query(slot, query, job, self.dialect, self._schema)
            if read.failure is not None:
                raise read.failure
            seconds = time_left(job)
            request = {"op": "run", "query": read.text, **limits_of(job.policy, seconds)}
            answer = self._ask(slot, request, seconds + job.policy.grace_seconds)
        except Failure as failure:
            return self._outcome(failure, read)
        return Outcome(
            failure_of(answer),
            columns=answer.get("columns", []),
            rows=answer.get("rows", ""),
            schema=self._schema.sha256,
            validation=read.validation,
            layers=ASSUMED_LAYERS,
        )

    def compare(
        self, slot: Slot, queries: tuple[str, str], rules: ComparisonConfig, job: Job, *, show_diff: bool
    ) -> Outcome:
        """Validate both queries, and run them in one snapshot of the database."""
        self.check(slot)
        assert self._schema is not None
        wants_order = rules.order_matters and rules.sort_key is None
        reference = read_query(slot, queries[0], job, self.dialect, self._schema, sort_keys=wants_order)
        if reference.failure is not None:
            return Outcome(reference.failure, pair={"outcome": "reference_error"})
        generated = read_query(slot, queries[1], job, self.dialect, self._schema)
        if generated.failure is not None:
            return Outcome(generated.failure, pair={"outcome": outcome_of(generated.failure)})
        seconds = job.policy.deadline_seconds
        request = pair_request(
            (reference.text, generated.text),
            rules,
            sort_key=reference.sort_key,
            hidden=reference.hidden,
            show_diff=show_diff,
        )
        try:
            answer = self._ask(slot, request | limits_of(job.policy, seconds), 3 * seconds + job.policy.grace_seconds)
        except Failure as failure:
            return Outcome(failure, pair={"outcome": outcome_of(failure)})
        return Outcome(failure_of(answer), pair=answer, layers=ASSUMED_LAYERS)

    def _outcome(self, failure: Failure, read: SqlRead | None) -> Outcome:
        schema = None if self._schema is None else self._schema.sha256
        return Outcome(failure, schema=schema, validation=None if read is None else read.validation)

    def _ask(self, slot: Slot, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        worker = slot.worker(self._fixture.key, self._start)
        try:
            return ask(slot, self._fixture.key, self._start, request, seconds)
        except Failure:
            # Its session may still be at work on the server; the next worker to connect ends it.
            with self._lock:
                self._stale.append(self._sessions.pop(worker.pid, 0))
            raise

    def _start(self) -> Process:
        try:
            psycopg = importlib.import_module("psycopg")
        except ImportError as problem:
            raise MissingExtraError("psycopg", "postgres", "a PostgreSQL fixture") from problem
        packages = [psycopg, importlib.import_module("psycopg_binary"), importlib.import_module("typing_extensions")]
        process = Process("harness.sandbox.engines.postgres", [], packages, keep_environment=("HOME", "PG"))
        with self._lock:
            stale, self._stale = [pid for pid in self._stale if pid], []
        answer = process.ask({"op": "connect", "url": self._fixture.url, "terminate": stale}, _CONNECT_SECONDS)
        if "error" in answer:
            process.kill()
            if answer["error"] == "unreachable":
                raise UnreachableError(answer["message"])
            raise SandboxError(answer["message"])
        names, refused = _readable(answer["tables"])
        with self._lock:
            self._sessions[process.pid] = answer["pid"]
            self._engine = answer["version"]
            self._schema = schema_of({"tables": answer["tables"]}, names, refused, "public")
        return process


def _readable(tables: list[list[Any]]) -> tuple[dict[str, str], list[str]]:
    """Names that may be read, and names that are there but may not."""
    names: dict[str, str] = {}
    refused: list[str] = []
    for schema, name, kind, row_security, granted, _columns, hides_calls in tables:
        folded = name if schema == "public" else f"{schema}.{name}"
        if kind in _READABLE and granted and not row_security and not hides_calls:
            names[folded] = name
        else:
            refused.append(folded)
    return names, refused
