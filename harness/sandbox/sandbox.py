"""The sandbox: validates and runs queries on fixtures behind every wall, many callers at once, and compares results.

A slot is the processes that one case needs at a time: a parser and a zygote (files) or a connected worker (servers).
A case borrows a slot, and what dies in it is started anew by the next case; the case itself is reported, never lost.
"""

import json
import os
import queue
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.errors import SandboxError as BrokenSandboxError
from harness.errors import UsageError
from harness.sandbox.backends import Backend, Job, Outcome, backend_for
from harness.sandbox.comparison import result_diff
from harness.sandbox.fixtures import Fixture, open_fixture
from harness.sandbox.jail import unprivileged_uid
from harness.sandbox.policy import Policy
from harness.sandbox.processes import require_linux
from harness.sandbox.result import (
    MESSAGES,
    VALIDATION_VERSION,
    PairResult,
    SandboxError,
    SandboxResult,
    Status,
    Validation,
    columns_of,
)
from harness.sandbox.slots import Slot
from harness.sandbox.validation import sha256
from harness.sandbox.work import Failure, outcome_of
from harness.types.results import ComparisonConfig

Database = str | Path | Fixture


class Sandbox:
    """Runs queries. A context manager; safe for threads.

    Args:
        policy: the limits of each case.
        workers: how many cases run at a time, `None` = one per core.

    Raises:
        harness.errors.SandboxError: this is not Linux, or a wall that must stand does not (checked on entry).
    """

    def __init__(self, policy: Policy | None = None, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise UsageError("a sandbox needs at least one worker")
        self.policy = policy or Policy()
        self._count = workers or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers or 1
        self._slots: queue.LifoQueue[Slot] = queue.LifoQueue()
        self._all: list[Slot] = []
        self._backends: dict[str, Backend] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        require_linux()
        uid = unprivileged_uid()
        self._all = [Slot(uid) for _ in range(self._count)]
        try:
            self._all[0].prove_walls(self.policy)
        except BaseException:
            self._close_slots()
            raise
        for slot in reversed(self._all):
            self._slots.put(slot)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process. Idempotent."""
        self._close_slots()
        with self._lock:
            backends, self._backends = list(self._backends.values()), {}
        for backend in backends:
            backend.close()

    def _close_slots(self) -> None:
        slots, self._all = self._all, []
        for slot in slots:
            slot.close()

    @property
    def processes(self) -> tuple[int, ...]:
        """Ids of the processes that stand ready."""
        return tuple(pid for slot in self._all for pid in slot.processes)

    def execute(
        self,
        database: Database,
        query: str,
        *,
        validation: Validation | None = None,
        timeout: float | None = None,
        dialect: str | None = None,
        now: datetime | None = None,
    ) -> SandboxResult:
        """Validate one read against the fixture and run it.

        Args:
            database: a fixture, its path or its URL.
            query: SQL, or for MongoDB an envelope or a pipeline as text.
            validation: what an earlier validation said; it is checked, and the query is validated again anyway.
            timeout: seconds for everything, at most the policy's deadline.
            dialect: of the query; `None` = the engine's own.
            now: the instant that clock functions are replaced by, aware; `None` = the engine's clock.

        Raises:
            harness.errors.SandboxError: the sandbox itself is broken, or the fixture cannot be loaded.
            UsageError: no engine here runs this dialect on this fixture.
        """
        started = time.monotonic()
        facts = _Facts(self.policy, query, started)
        refused = _handed_over(validation, query)
        if refused is not None:
            return facts.failed(Failure("validation_rejected", refused, "parse"), validation)
        backend = self._backend(database, dialect)
        seconds = min(timeout or self.policy.deadline_seconds, self.policy.deadline_seconds)
        job = Job(policy=self.policy, deadline=started + seconds, dialect=dialect or backend.dialect, now=now)
        return facts.finished(self._borrowed(lambda slot: backend.execute(slot, query, job)), backend)

    def validate_and_execute(
        self, database: Database, query: str, *, timeout: float | None = None, dialect: str | None = None
    ) -> SandboxResult:
        """`execute` for callers without an earlier validation."""
        return self.execute(database, query, timeout=timeout, dialect=dialect)

    def compare(
        self,
        database: Database,
        reference: str,
        generated: str,
        rules: ComparisonConfig | None = None,
        *,
        dialect: str | None = None,
        now: datetime | None = None,
        show_diff: bool = False,
    ) -> PairResult:
        """Run two queries on one snapshot of a fixture and compare their results inside the walls.

        Each of the queries, and the comparison, may take the policy's deadline.

        Args:
            database: a fixture, its path or its URL.
            reference: the expected query.
            generated: the query to check.
            rules: when the results count as the same. With an order, ties that the reference leaves open may differ.
            dialect: of both queries; `None` = the engine's own.
            now: the instant that clock functions in both are replaced by.
            show_diff: whether the difference may hold sample rows.

        Raises:
            harness.errors.SandboxError: the sandbox itself is broken, or the fixture cannot be loaded.
            UsageError: no engine here runs this dialect on this fixture.
        """
        started = time.monotonic()
        rules = rules or ComparisonConfig()
        backend = self._backend(database, dialect)
        job = Job(policy=self.policy, deadline=started + 600, dialect=dialect or backend.dialect, now=now)
        outcome = self._borrowed(
            lambda slot: backend.compare(slot, (reference, generated), rules, job, show_diff=show_diff)
        )
        return _pair_result(outcome, time.monotonic() - started, backend.engine)

    def engine(self, database: Database, dialect: str | None = None) -> str:
        """Engine and version that a fixture runs on; starts it where it has not run yet.

        Raises:
            harness.errors.SandboxError: the fixture cannot be loaded, or the database is refused.
        """
        backend = self._backend(database, dialect)
        self._borrowed(backend.check)
        return backend.engine

    def _backend(self, database: Database, dialect: str | None) -> Backend:
        fixture = database if isinstance(database, Fixture) else open_fixture(database, dialect)
        with self._lock:
            if not self._all:
                raise BrokenSandboxError("the sandbox is not open; use it in a `with` statement")
            backend = self._backends.get(fixture.key)
            if backend is None:
                backend = self._backends[fixture.key] = backend_for(fixture)
        return backend

    def _borrowed(self, work: "Callable[[Slot], Any]") -> Any:
        slot = self._slots.get()
        try:
            return work(slot)
        finally:
            self._slots.put(slot)


def _handed_over(validation: Validation | None, query: str) -> str | None:
    """Why a validation that was handed over cannot be relied on."""
    if validation is None:
        return None
    if validation.version != VALIDATION_VERSION:
        return "validation_version"
    if validation.sql_sha256 != sha256(query):
        return "validation_hash"
    return None if validation.accepted else "validation_failed"


def error_of(failure: Failure) -> SandboxError:
    """A failure as the error of a result."""
    return SandboxError(
        code=failure.code,
        message=MESSAGES[failure.code],
        wall=failure.layer,  # type: ignore[arg-type]
        sqlstate=failure.sqlstate,
        condition=failure.condition,
    )


class _Facts:
    """What is known of a case before it has run."""

    def __init__(self, policy: Policy, query: str, started: float) -> None:
        self._policy = policy
        self._hash = sha256(query)
        self._started = started

    def failed(self, failure: Failure, validation: Validation | None = None) -> SandboxResult:
        """The result of a case that was not run."""
        return SandboxResult(
            status=failure.status,  # type: ignore[arg-type]
            error=error_of(failure),
            duration_seconds=time.monotonic() - self._started,
            policy=self._policy,
            sql_sha256=self._hash,
            validation=validation,
        )

    def finished(self, outcome: Outcome, backend: Backend) -> SandboxResult:
        """The result of a case that was."""
        failure = outcome.failure
        status: Status = failure.status if failure is not None else "success"  # type: ignore[assignment]
        return SandboxResult(
            status=status,
            error=None if failure is None else error_of(failure),
            columns=columns_of(outcome.columns, backend.dialect),
            rows=tuple(map(tuple, json.loads(outcome.rows))) if outcome.rows else (),
            truncated=status == "truncated",
            duration_seconds=time.monotonic() - self._started,
            policy=self._policy,
            sql_sha256=self._hash,
            snapshot_sha256=outcome.snapshot,
            schema_sha256=outcome.schema,
            validation=outcome.validation,
            engine=backend.engine,
            layers=outcome.layers,
            warnings=outcome.warnings,
        )


def _pair_result(outcome: Outcome, seconds: float, engine: str) -> PairResult:
    failure = outcome.failure
    pair = outcome.pair
    if pair is None:
        pair = {"outcome": "generated_error" if failure is None else outcome_of(failure)}
    diff = pair.get("diff")
    return PairResult(
        outcome=pair["outcome"],
        error=None if failure is None else error_of(failure),
        diff=None if diff is None else result_diff(diff),
        diff_truncated=pair.get("diff_truncated", False),
        duration_seconds=seconds,
        engine=engine,
        layers=outcome.layers,
        warnings=outcome.warnings,
    )
