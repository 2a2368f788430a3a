"""SQLite and DuckDB: a snapshot of a file, given to a fresh child of a zygote for each case."""

import json
import os
import signal
import tempfile
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from harness.errors import SandboxError
from harness.sandbox.backends import Job, Outcome
from harness.sandbox.comparison import plain_rules
from harness.sandbox.fixtures import Fixture
from harness.sandbox.processes import LostError, Report
from harness.sandbox.reading import FixtureSchema, SqlRead, read_query, schema_of
from harness.sandbox.result import MESSAGES, Validation
from harness.sandbox.slots import Slot
from harness.sandbox.snapshot import Snapshot, SnapshotError, Snapshots
from harness.sandbox.work import MAX_REPORT, Failure, outcome_of
from harness.types.results import ComparisonConfig

_HEADER_BYTES = 64 * 1024
_SCHEMA_BYTES = 8 * 1024 * 1024
_SCHEMAS_KEPT = 32
_COPIES_KEPT = 4
_OUT_OF_MEMORY = 3
_DUCKDB_ADDRESS_SPACE = 1024 * 1024 * 1024
_NO_LANDLOCK = "landlock: not in this kernel; seccomp alone keeps files away"
_NO_USER = "user: the process could not change its user"


class FileBackend:
    """Runs cases on a file.

    Args:
        fixture: of the kind `sqlite` or `duckdb`.
    """

    def __init__(self, fixture: Fixture) -> None:
        self._fixture = fixture
        self._kind = fixture.kind
        self._snapshots = Snapshots()
        self._schemas: OrderedDict[str, FixtureSchema] = OrderedDict()
        self._lock = threading.Lock()
        self._engine = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def dialect(self) -> str:
        """`sqlite` or `duckdb`."""
        return self._kind

    @property
    def engine(self) -> str:
        """Engine and version."""
        return self._engine

    def close(self) -> None:
        """Give the snapshots back."""
        self._snapshots.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._fixture.close()

    def check(self, slot: Slot) -> None:
        """See that the file is a usable database."""
        from harness.sandbox.policy import Policy

        policy = Policy()
        job = Job(policy=policy, deadline=time.monotonic() + 60, dialect=self._kind, now=None)
        try:
            snapshot = self._snapshot(policy)
            try:
                self._schema(slot, snapshot, job)
            finally:
                snapshot.close()
        except Failure as failure:
            raise SandboxError(MESSAGES[failure.code]) from failure

    def execute(self, slot: Slot, query: str, job: Job) -> Outcome:
        """Validate and run one query on a snapshot of the file."""
        try:
            snapshot = self._snapshot(job.policy)
        except Failure as failure:
            return Outcome(failure)
        schema: FixtureSchema | None = None
        read: SqlRead | None = None
        try:
            schema = self._schema(slot, snapshot, job)
            read = read_query(slot, query, job, self._kind, schema)
            if read.failure is not None:
                raise read.failure
            left = job.deadline - time.monotonic()
            request = self._request("run", snapshot, job, left) | {"query": read.text}
            limit = job.policy.max_result_bytes + _HEADER_BYTES
            header, rows = self._run(slot, request, snapshot, limit)
            return self._outcome(header, rows, snapshot, schema, read.validation)
        except Failure as failure:
            digest = None if schema is None else schema.sha256
            validation = None if read is None else read.validation
            return Outcome(failure, snapshot=snapshot.sha256, schema=digest, validation=validation)
        finally:
            snapshot.close()

    def compare(
        self, slot: Slot, queries: tuple[str, str], rules: ComparisonConfig, job: Job, *, show_diff: bool
    ) -> Outcome:
        """Validate both queries, and run and compare them in one child."""
        try:
            snapshot = self._snapshot(job.policy)
        except Failure as failure:
            return Outcome(failure, pair={"outcome": "reference_error"})
        try:
            try:
                schema = self._schema(slot, snapshot, job)
            except Failure as failure:
                return Outcome(failure, pair={"outcome": "reference_error"}, snapshot=snapshot.sha256)
            wants_order = rules.order_matters and rules.sort_key is None
            reference = read_query(slot, queries[0], job, self._kind, schema, sort_keys=wants_order)
            if reference.failure is not None:
                return Outcome(reference.failure, pair={"outcome": "reference_error"}, snapshot=snapshot.sha256)
            generated = read_query(slot, queries[1], job, self._kind, schema)
            if generated.failure is not None:
                pair = {"outcome": outcome_of(generated.failure)}
                return Outcome(generated.failure, pair=pair, snapshot=snapshot.sha256)
            plain = plain_rules(rules, sort_key=reference.sort_key, hidden=reference.hidden)
            request = self._request("compare", snapshot, job, job.policy.deadline_seconds) | {
                "reference": reference.text,
                "generated": generated.text,
                "rules": plain.plain(),
                "show_diff": show_diff,
            }
            return self._compared(slot, request, snapshot)
        finally:
            snapshot.close()

    def _compared(self, slot: Slot, request: dict[str, Any], snapshot: Snapshot) -> Outcome:
        try:
            header, _ = self._run(slot, request, snapshot, MAX_REPORT + _HEADER_BYTES)
        except _StageError as ended:
            failure = ended.failure
            pair = {"outcome": outcome_of(failure) if "R" in ended.stages else "reference_error"}
            return Outcome(failure, pair=pair, snapshot=snapshot.sha256)
        code = header.get("code")
        failed = None if code is None else _failure_of(header)
        layers, warnings = _walls(header)
        return Outcome(failed, pair=header, snapshot=snapshot.sha256, layers=layers, warnings=warnings)

    def _snapshot(self, policy: Any) -> Snapshot:
        assert self._fixture.path is not None
        try:
            return self._snapshots.take(self._fixture.path, policy.max_image_bytes, sqlite=self._kind == "sqlite")
        except SnapshotError as problem:
            raise Failure("execution_error", problem.code, "setup") from problem

    def _schema(self, slot: Slot, snapshot: Snapshot, job: Job) -> FixtureSchema:
        with self._lock:
            known = self._schemas.get(snapshot.sha256)
        if known is not None and self._engine:
            return known
        left = max(0.1, min(job.deadline - time.monotonic(), job.policy.deadline_seconds))
        request = self._request("schema", snapshot, job, left)
        header, _ = self._run(slot, request, snapshot, _SCHEMA_BYTES)
        if header["status"] != "success":
            raise _failure_of(header)
        if header["virtual"]:
            raise Failure("validation_rejected", "virtual_tables", "setup")
        described = {"tables": header["tables"], "refused": header["refused"]}
        names = {table["name"].lower(): table["name"] for table in header["tables"]}
        refused = [name.lower() for name in header["refused"]]
        schema = schema_of(described, names, refused, "main")
        with self._lock:
            self._engine = slot.zygote(self._kind).version
            self._schemas[snapshot.sha256] = schema
            while len(self._schemas) > _SCHEMAS_KEPT:
                self._schemas.popitem(last=False)
        return schema

    def _request(self, op: str, snapshot: Snapshot, job: Job, seconds: float) -> dict[str, Any]:
        policy = job.policy
        if seconds <= 0:
            raise Failure("timeout", "deadline", "deadline")
        stages = 3 if op == "compare" else 1
        space = policy.address_space_bytes
        return {
            "op": op,
            "path": self._copy(snapshot) if self._kind == "duckdb" else "",
            "image": snapshot.sha256,
            "image_bytes": snapshot.size,
            "seconds": seconds,
            "stage_seconds": seconds + policy.grace_seconds,
            "kill_after": stages * (seconds + policy.grace_seconds) + 0.2,
            "address_space": max(space, _DUCKDB_ADDRESS_SPACE) if self._kind == "duckdb" else space,
            "value_bytes": policy.max_value_bytes,
            "result_bytes": policy.max_result_bytes,
            "max_rows": policy.max_rows,
            "heap": policy.heap_bytes,
        }

    def _copy(self, snapshot: Snapshot) -> str:
        """A private file with the snapshot's bytes, for an engine that opens files by their names only."""
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="rung-duckdb-")
            path = Path(self._folder.name) / f"{snapshot.sha256}.duckdb"
            if not path.exists():
                for old in sorted(path.parent.iterdir(), key=lambda file: file.stat().st_mtime)[:-_COPIES_KEPT]:
                    old.unlink()
                part = path.with_suffix(".part")
                part.write_bytes(os.pread(snapshot.descriptor, snapshot.size, 0))
                part.chmod(0o400)
                part.replace(path)
            return str(path)

    def _run(self, slot: Slot, request: dict[str, Any], snapshot: Snapshot, limit: int) -> tuple[dict[str, Any], str]:
        try:
            report = slot.zygote(self._kind).run(request, snapshot.descriptor, limit)
        except LostError as lost:
            if lost.timed_out:
                raise _StageError(Failure("timeout", "worker_killed", "kill"), "") from lost
            raise _StageError(Failure("resource_limit", "worker_terminated", "kill"), "") from lost
        head, newline, rest = report.data.partition(b"\n")
        rows, end, _ = rest.partition(b"\n")
        if not newline or not end:
            raise _StageError(_how_it_ended(report), report.stages)
        header = json.loads(head)
        if header.get("status") == "jail":
            raise SandboxError(f"a wall could not be put up ({header['code']}); nothing was run")
        return header, rows.decode()

    def _outcome(
        self, header: dict[str, Any], rows: str, snapshot: Snapshot, schema: FixtureSchema, validation: Validation
    ) -> Outcome:
        layers, warnings = _walls(header)
        return Outcome(
            failure=None if header["status"] == "success" else _failure_of(header),
            columns=header.get("columns", []),
            rows=rows,
            snapshot=snapshot.sha256,
            schema=schema.sha256,
            validation=validation,
            layers=layers,
            warnings=warnings,
        )


class _StageError(Failure):
    """A failure of the child as a whole, with the stages it had reached."""

    def __init__(self, failure: Failure, stages: str) -> None:
        super().__init__(failure.status, failure.code, failure.layer)
        self.failure = failure
        self.stages = stages


def _failure_of(header: dict[str, Any]) -> Failure:
    return Failure(
        header.get("status", "execution_error"),
        header["code"],
        header["layer"],
        sqlstate=header.get("sqlstate"),
        condition=header.get("condition"),
    )


def _how_it_ended(report: Report) -> Failure:
    """A child that left no complete report."""
    if report.too_long:
        return Failure("resource_limit", "report_too_large", "limits")
    if report.killed:
        return Failure("timeout", "worker_killed", "kill")
    if report.ended == _OUT_OF_MEMORY:
        return Failure("resource_limit", "memory_limit", "kernel")
    if report.ended in (-signal.SIGXCPU, -signal.SIGSYS, -signal.SIGSEGV, -signal.SIGABRT):
        return Failure("resource_limit", "worker_terminated", "kernel")
    return Failure("resource_limit", "worker_terminated", "kill")


def _walls(header: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    layers = (*header.get("layers", ()), "kill")
    warnings = [] if "landlock" in layers else [_NO_LANDLOCK]
    return layers, tuple(warnings)
