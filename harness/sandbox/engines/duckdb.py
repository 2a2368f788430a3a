"""DuckDB inside the walls: a private copy of the fixture, opened read-only, with every door of the engine locked.

Runs in a child of a zygote that has loaded the library. The database is opened before the walls stand (it needs to look
around the system), and no query is read before they do.
"""

import time
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import duckdb

from harness.sandbox.agreement import Row
from harness.sandbox.work import Failure

_BATCH = 256
# For timestamps with a zone, the library wants these, and inside the walls nothing can be loaded any more.
_ZONES = (ZoneInfo("UTC"), ZoneInfo("Etc/UTC"))
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "access_mode": "READ_ONLY",
    "enable_external_access": "false",
    "lock_configuration": "true",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "threads": "1",
    "max_temp_directory_size": "0KB",
}


def version() -> str:
    """Which DuckDB this is."""
    return f"duckdb {duckdb.__version__}"


def open_reader(request: dict[str, Any]) -> "DuckdbReader":
    """Open the private copy of the fixture that the request names.

    Raises:
        Failure: it is no database that this version reads.
    """
    config = {**_LOCKED, "memory_limit": f"{request['heap'] // (1024 * 1024)}MB"}
    try:
        connection = duckdb.connect(request["path"], read_only=True, config=config)
    except duckdb.Error as error:
        raise Failure("execution_error", "database_unreadable", "engine") from error
    return DuckdbReader(connection)


class DuckdbReader:
    """Runs reads on an open database.

    Args:
        connection: read-only and locked.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def rows(self, query: str, seconds: float) -> tuple[list[dict[str, str]], Iterator[Row]]:
        """Start a query; see `work.Reader`. The engine has no clock of its own: what does not end is killed."""
        deadline = time.monotonic() + seconds
        cursor = self._connection.execute(query)
        columns = [{"name": str(column[0]), "type": str(column[1])} for column in cursor.description or ()]
        return columns, self._fetch(cursor, deadline)

    @staticmethod
    def _fetch(cursor: duckdb.DuckDBPyConnection, deadline: float) -> Iterator[Row]:
        while True:
            if time.monotonic() > deadline:
                raise Failure("timeout", "deadline", "deadline")
            found = cursor.fetchmany(_BATCH)
            if not found:
                return
            yield from found

    def failure(self, error: Exception) -> Failure | None:
        """What an exception of duckdb means; see `work.Reader`."""
        if not isinstance(error, duckdb.Error):
            return None
        condition = type(error).__name__
        if isinstance(error, duckdb.OutOfMemoryException) or "std::bad_alloc" in str(error):
            return Failure("resource_limit", "memory_limit", "kernel", condition=condition)
        if isinstance(error, duckdb.PermissionException):
            return Failure("validation_rejected", "not_authorized", "authorizer", condition=condition)
        if isinstance(error, duckdb.InvalidInputException) and "read-only" in str(error):
            return Failure("validation_rejected", "read_only", "read_only", condition=condition)
        if isinstance(error, duckdb.InterruptException):
            return Failure("timeout", "deadline", "deadline", condition=condition)
        return Failure("execution_error", "query_failed", "engine", condition=condition)

    def describe(self) -> dict[str, Any]:
        """The schema; see `engines.sqlite`."""
        columns = self._connection.execute(
            "SELECT table_name, column_name, data_type, NOT is_nullable FROM duckdb_columns() "
            "WHERE NOT internal AND schema_name = 'main' ORDER BY table_oid, column_index"
        ).fetchall()
        views = self._connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        refused = [str(name) for (name,) in views]
        tables: dict[str, list[list[Any]]] = {}
        for table, name, kind, not_null in columns:
            if table not in refused:
                tables.setdefault(table, []).append([name, kind, bool(not_null), 0])
        described = [{"name": table, "columns": found} for table, found in tables.items()]
        return {"status": "success", "tables": described, "refused": refused, "virtual": False}
