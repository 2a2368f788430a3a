"""PostgreSQL: the worker process with one connection of a role that can only read, and its read-only transactions.

It is a process of its own so that a value that a driver buffers whole cannot take the caller's memory. What the role
may do is looked at once, on connecting; what it may not do is refused by the server's grants, whatever a text says.
"""

import contextlib
import gc
import signal
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import errors, rows, sql
from psycopg.types import datetime as date_types

from harness.sandbox.agreement import Row
from harness.sandbox.difference import Rules
from harness.sandbox.frames import ClosedError, receive, send
from harness.sandbox.jail import Jail, Limits
from harness.sandbox.work import Failure, Pair, QueryLimits, compare, execute

_MEMORY = 1024 * 1024 * 1024
_DAY = 24 * 3600.0
_SESSION = (
    "-c search_path=pg_catalog -c default_transaction_read_only=on -c timezone=UTC -c datestyle=ISO "
    "-c standard_conforming_strings=on -c client_min_messages=error -c lock_timeout=1000 "
    "-c idle_in_transaction_session_timeout=120000"
)
_ATTRIBUTES = ("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls")
_ROLES = """
SELECT r.rolname, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls
FROM pg_catalog.pg_roles r
WHERE pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER')
"""
# Membership in any predefined role is refused but for reading: they reach files, programs, settings, other sessions.
_HARMLESS_ROLES = frozenset({"pg_read_all_data", "pg_database_owner"})
_WRITES = """
SELECT n.nspname || '.' || c.relname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN pg_catalog.pg_roles r
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
  AND n.nspname NOT LIKE 'pg\\_temp%'
  AND pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER')
  AND (pg_catalog.has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE, REFERENCES'))
LIMIT 1
"""
_CREATES = """
SELECT n.nspname FROM pg_catalog.pg_namespace n CROSS JOIN pg_catalog.pg_roles r
WHERE pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER') AND n.nspname NOT LIKE 'pg\\_%'
  AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE')
LIMIT 1
"""
# What may be read: ordinary and partitioned tables and materialised views whose columns cannot hide a call.
_TABLES = """
SELECT n.nspname, c.relname, c.relkind::text, c.relrowsecurity,
       pg_catalog.has_table_privilege(c.oid, 'SELECT'),
       COALESCE((SELECT pg_catalog.json_agg(pg_catalog.json_build_array(a.attname, pg_catalog.format_type(a.atttypid,
                 a.atttypmod), a.attnotnull) ORDER BY a.attnum)
        FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]'),
       EXISTS (SELECT FROM pg_catalog.pg_attribute a
               JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
               LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
               WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                 AND (a.attgenerated <> ''
                      OR (COALESCE(e.typnamespace, t.typnamespace) <> 'pg_catalog'::pg_catalog.regnamespace
                          AND COALESCE(e.typtype, t.typtype) <> 'e')))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
ORDER BY 1, 2
"""


class Refused(Exception):
    """The database or its role is not one that queries may be run as."""


class PostgresReader:
    """Runs reads in one read-only transaction.

    Args:
        connection: of a role that was looked at.
    """

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection
        self._count = 0

    def rows(self, query: str, seconds: float) -> tuple[list[dict[str, str]], Iterator[Row]]:
        """Start a query; see `work.Reader`."""
        deadline = time.monotonic() + seconds
        self._count += 1
        limit = sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(max(1, int(seconds * 1000))))
        self._connection.execute(limit)
        # A named cursor goes through the extended protocol, which takes one statement and no more.
        cursor = self._connection.cursor(name=f"rung_{self._count}", scrollable=False)
        try:
            cursor.execute(query.encode())
        except psycopg.Error:
            _close(cursor)
            raise
        described = cursor.description or []
        types = self._connection.adapters.types
        columns = []
        for column in described:
            info = types.get(column.type_code)
            array = info is not None and column.type_code == info.array_oid
            columns.append({"name": column.name, "type": (info.name + ("[]" if array else "")) if info else "unknown"})
        return columns, self._fetch(cursor, deadline)

    @staticmethod
    def _fetch(cursor: psycopg.ServerCursor[Row], deadline: float) -> Iterator[Row]:
        batch = 1
        try:
            while True:
                if time.monotonic() > deadline:
                    raise Failure("timeout", "deadline", "deadline")
                found = cursor.fetchmany(batch)
                yield from found
                if len(found) < batch:
                    return
                # Wide rows stay few at a time, so that they fit into this process.
                batch = min(batch * 10, 1000) if sum(len(str(value)) for value in found[0]) < 2000 else 10
        finally:
            _close(cursor)

    def failure(self, error: Exception) -> Failure | None:
        """What an exception of psycopg means; see `work.Reader`."""
        if not isinstance(error, psycopg.Error):
            return None
        state = error.sqlstate
        known = {"sqlstate": state, "condition": type(error).__name__ if state else None}
        for kind, (status, code, layer) in _MEANINGS.items():
            if isinstance(error, kind):
                return Failure(status, code, layer, **known)
        if state is not None and state.startswith("54"):
            return Failure("resource_limit", "value_too_large", "limits", **known)
        if state is None and self._connection.broken:
            return Failure("execution_error", "engine_lost", "engine")
        return Failure("execution_error", "query_failed", "engine", **known)


def _close(cursor: psycopg.ServerCursor[Row]) -> None:
    """Close a cursor, also in a transaction that has failed."""
    with contextlib.suppress(psycopg.Error):
        cursor.close()


_MEANINGS: dict[type[Exception], tuple[str, str, str]] = {
    errors.QueryCanceled: ("timeout", "deadline", "deadline"),
    errors.LockNotAvailable: ("timeout", "deadline", "deadline"),
    errors.OutOfMemory: ("resource_limit", "memory_limit", "kernel"),
    errors.ConfigurationLimitExceeded: ("resource_limit", "disk_limit", "limits"),
    errors.DiskFull: ("resource_limit", "disk_limit", "limits"),
    errors.StatementTooComplex: ("resource_limit", "too_complex", "limits"),
    errors.InsufficientPrivilege: ("validation_rejected", "not_authorized", "grants"),
    errors.ReadOnlySqlTransaction: ("validation_rejected", "read_only", "read_only"),
    errors.AdminShutdown: ("execution_error", "engine_lost", "engine"),
    errors.CrashShutdown: ("execution_error", "engine_lost", "engine"),
    errors.CannotConnectNow: ("execution_error", "engine_lost", "engine"),
}


class Worker:
    """Serves the requests for one database."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Row] | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        if request["op"] == "connect":
            return self._connect(request)
        assert self._connection is not None
        reader = PostgresReader(self._connection)
        try:
            with self._connection.transaction(force_rollback=True):
                self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                return self._work(request, reader)
        except psycopg.Error as error:
            failure = reader.failure(error) or Failure("execution_error", "engine_lost", "engine")
            return {"outcome": "resource_limit", **failure.report()}

    def _work(self, request: dict[str, Any], reader: PostgresReader) -> dict[str, Any]:
        limits = QueryLimits(
            seconds=request["seconds"],
            max_rows=request["max_rows"],
            max_value_bytes=request["value_bytes"],
            max_result_bytes=request["result_bytes"],
        )
        if request["op"] == "compare":
            pair = Pair(request["reference"], request["generated"], Rules.read(request["rules"]), request["show_diff"])
            return compare(reader, pair, limits)
        return execute(reader, request["query"], limits)

    def tidy(self) -> None:
        """Leave nothing of a case in the session."""
        if self._connection is not None and not self._connection.closed:
            self._connection.execute("DISCARD ALL")

    @property
    def lost(self) -> bool:
        """Whether the connection is gone."""
        return self._connection is not None and self._connection.broken

    def _connect(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            connection = psycopg.connect(
                request["url"],
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=10,
                row_factory=rows.tuple_row,
                options=_SESSION,
                application_name="rung",
            )
        except psycopg.Error:
            return {"error": "unreachable", "message": "the PostgreSQL server cannot be reached, or refuses the login"}
        _register(connection)
        self._connection = connection
        try:
            for pid in request["terminate"]:
                with contextlib.suppress(errors.InsufficientPrivilege):
                    connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
            look_at_role(connection)
            found = connection.execute(_TABLES).fetchall()
        except Refused as refused:
            return {"error": "refused", "message": str(refused)}
        except psycopg.Error:
            return {"error": "unreachable", "message": "the PostgreSQL server went away while the role was looked at"}
        major, minor = divmod(connection.info.server_version, 10000)
        tables = [list(row) for row in found]
        return {"version": f"postgresql {major}.{minor}", "pid": connection.info.backend_pid, "tables": tables}


def look_at_role(connection: psycopg.Connection[Row]) -> None:
    """See that the role can read and nothing else.

    Raises:
        Refused: it can do more; the message says what.
    """
    for name, *attributes in connection.execute(_ROLES).fetchall():
        held = [attribute[3:] for attribute, has in zip(_ATTRIBUTES, attributes, strict=True) if has]
        if held:
            raise Refused(f"the role is, or is a member of one that is, {held[0]}; use a role that can only SELECT")
        if str(name).startswith("pg_") and name not in _HARMLESS_ROLES:
            raise Refused(f"the role is a member of {name}; use a role that can only SELECT")
    if (found := connection.execute(_WRITES).fetchone()) is not None:
        raise Refused(f"the role may write to {found[0]}; use a role that can only SELECT")
    if (found := connection.execute(_CREATES).fetchone()) is not None:
        raise Refused(f"the role may create objects in the schema {found[0]}; REVOKE CREATE from it and from PUBLIC")


def _or_text(loader: type[Any]) -> type[Any]:
    """A loader that hands out the text where Python has no such value (infinity, years BC)."""

    class OrText(loader):  # type: ignore[misc]
        def load(self, data: Any) -> Any:
            try:
                return super().load(data)
            except psycopg.DataError:
                return bytes(data).decode()

    return OrText


def _register(connection: psycopg.Connection[Row]) -> None:
    for name, loader in (
        ("date", date_types.DateLoader),
        ("timestamp", date_types.TimestampLoader),
        ("timestamptz", date_types.TimestamptzLoader),
    ):
        connection.adapters.register_loader(name, _or_text(loader))


def main() -> None:
    """Serve on the socket whose number stands on the command line."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    Jail().restrain(Limits(address_space=_MEMORY, cpu_seconds=_DAY, open_files=64))
    worker = Worker()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        try:
            send(channel, {"ready": True})
            while True:
                request, _ = receive(channel)
                send(channel, worker.answer(request))
                if worker.lost:
                    return
                if request["op"] != "connect":
                    worker.tidy()
        except (ClosedError, psycopg.Error):
            return
