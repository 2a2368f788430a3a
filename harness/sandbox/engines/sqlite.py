"""SQLite inside the walls: an in-memory image, read-only, with a list of allowed functions and every limit set low.

Standard library alone. The zygote lays the image down (which only copies bytes: nothing of it is parsed before the
walls stand); the child sets the limits and runs.
"""

import sqlite3
import time
from collections.abc import Iterator
from typing import Any

from harness.sandbox.agreement import Row
from harness.sandbox.functions import SQLITE_FUNCTIONS, SQLITE_TABLE_FUNCTIONS
from harness.sandbox.work import Failure

_OPERATIONS = 10_000  # between two looks at the clock
_SELECT, _READ, _FUNCTION, _RECURSIVE = 21, 20, 31, 33
_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 400_000,  # 100,000 characters of four bytes
    sqlite3.SQLITE_LIMIT_COLUMN: 2000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 1000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 200,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1_000_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def version() -> str:
    """Which SQLite this is."""
    return f"sqlite {sqlite3.sqlite_version}"


def lay_down(image: bytes) -> sqlite3.Connection:
    """A connection on a private copy of the image; nothing is read from it yet."""
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    connection.deserialize(image)
    return connection


def open_reader(connection: sqlite3.Connection, request: dict[str, Any]) -> "SqliteReader":
    """Set the limits on an image that was laid down.

    Raises:
        Failure: it is no database, or a damaged one.
    """
    try:
        return SqliteReader(connection, request["value_bytes"], request["heap"] + request["image_bytes"])
    except sqlite3.Error as error:
        raise Failure("execution_error", "database_unreadable", "engine") from error


class SqliteReader:
    """Runs reads on an image.

    Args:
        connection: as `lay_down` gives it.
        max_value_bytes: SQLite's own limit on one string, blob or row.
        heap: bytes that SQLite may use beyond the image, which it holds already.
    """

    def __init__(self, connection: sqlite3.Connection, max_value_bytes: int, heap: int) -> None:
        self._connection = connection
        self._deadline = 0.0
        self._denied = False
        connection.text_factory = _text
        for pragma in ("query_only=ON", "trusted_schema=OFF", "temp_store=MEMORY", f"hard_heap_limit={heap}"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_value_bytes)
        # Eponymous virtual tables set themselves up on first use, which the authorizer would refuse.
        connection.execute("SELECT 1 FROM json_each('[]')").fetchall()
        self.tables = self._readable_tables()
        self._special = self._special_names()
        connection.set_progress_handler(self._tick, _OPERATIONS)
        connection.set_authorizer(self._authorize)

    def _readable_tables(self) -> frozenset[str]:
        """Ordinary tables, lower-cased: no views, no virtual tables, none of SQLite's own."""
        found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
        names = (str(name).lower() for (name,) in found)
        return frozenset(name for name in names if not name.startswith("sqlite_"))

    def _special_names(self) -> frozenset[str]:
        """Views, virtual tables, and the modules whose tables are there without having been created."""
        created = self._connection.execute("SELECT name FROM sqlite_master WHERE rootpage = 0 OR type <> 'table'")
        modules = self._connection.execute("PRAGMA module_list")
        names = {str(name).lower() for rows in (created, modules) for (name,) in rows}
        return frozenset(names | {"dbstat", "bytecode", "tables_used", "fts3tokenize"})

    def _tick(self) -> int:
        return 1 if time.monotonic() > self._deadline else 0

    def _authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, source: str | None
    ) -> int:
        if action in (_SELECT, _RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == _READ and first is not None:
            name = first.lower()
            if (name in self.tables and database in ("main", None)) or name in SQLITE_TABLE_FUNCTIONS:
                return sqlite3.SQLITE_OK
            # A table of which no column is read (`count(*)`) comes by name alone, and so does a CTE.
            if not second and name not in self._special and not name.startswith(("sqlite_", "pragma_")):
                return sqlite3.SQLITE_OK
        if action == _FUNCTION and second is not None and second.lower() in SQLITE_FUNCTIONS:
            return sqlite3.SQLITE_OK
        self._denied = True
        return sqlite3.SQLITE_DENY

    def rows(self, query: str, seconds: float) -> tuple[list[dict[str, str]], Iterator[Row]]:
        """Start a query; see `work.Reader`."""
        self._denied = False
        self._deadline = time.monotonic() + seconds
        cursor = self._connection.execute(query)
        if cursor.description is None:
            raise Failure("validation_rejected", "not_a_read", "engine")
        columns = [{"name": _label(column[0]), "type": ""} for column in cursor.description]
        return columns, cursor

    def failure(self, error: Exception) -> Failure | None:
        """What an exception of sqlite3 means; see `work.Reader`."""
        if not isinstance(error, sqlite3.Error):
            return None
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        condition = getattr(error, "sqlite_errorname", None)
        if code == sqlite3.SQLITE_AUTH or self._denied:
            return Failure("validation_rejected", "not_authorized", "authorizer", condition=condition)
        if code == sqlite3.SQLITE_READONLY:
            return Failure("validation_rejected", "read_only", "read_only", condition=condition)
        if code == sqlite3.SQLITE_INTERRUPT:
            return Failure("timeout", "deadline", "deadline", condition=condition)
        if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
            return Failure("resource_limit", "value_too_large", "limits", condition=condition)
        if code == sqlite3.SQLITE_NOMEM:
            return Failure("resource_limit", "memory_limit", "limits", condition=condition)
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return Failure("execution_error", "database_unreadable", "engine", condition=condition)
        return Failure("execution_error", "query_failed", "engine", condition=condition)

    def describe(self) -> dict[str, Any]:
        """The schema: every table with its columns, and what cannot be queried."""
        self._deadline = time.monotonic() + 5
        self._connection.set_authorizer(None)
        tables: list[dict[str, Any]] = []
        refused: list[str] = []
        virtual = False
        catalog = self._connection.execute("SELECT type, name, rootpage, sql FROM sqlite_master").fetchall()
        for kind, name, root, _sql in catalog:
            if kind == "view":
                refused.append(str(name))
            if kind == "table" and not root:
                virtual = True
                refused.append(str(name))
            if kind != "table" or not root or str(name).lower().startswith("sqlite_"):
                continue
            columns = self._connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?)', (name,))
            tables.append({"name": name, "columns": [[str(c), str(t), bool(n), int(k)] for c, t, n, k in columns]})
        return {"status": "success", "tables": tables, "refused": refused, "virtual": virtual}


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def _label(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
