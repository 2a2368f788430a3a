"""DuckDB as an engine for PostgreSQL and DuckDB queries: locked down, in memory, one thread."""

import math
import re
import time
from collections.abc import Sequence
from random import Random
from threading import Timer
from typing import Self

from canon.schema import Column
from harness.errors import MissingExtraError
from harness.witness.database import Relation, Rows, Value
from harness.witness.engines import MAX_RESULT_ROWS, OutOfTime, QueryFailed, quoted
from harness.witness.probes import SHUFFLE

CONFIG = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",
    "memory_limit": "256MB",
}
_TYPES = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "decimal": "DECIMAL(18, 4)",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP",
    "time": "TIME",
    "blob": "BLOB",
    "json": "VARCHAR",
    "uuid": "UUID",
    "any": "BIGINT",
}
_INTEGERS = "('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT')"
_MACROS = (
    # PostgreSQL 9.3: the quotient of two integers is cut towards zero, and a zero divisor is an error.
    f"CREATE MACRO rung_div(a, b) AS CASE WHEN b = 0 THEN error('division by zero') "
    f"WHEN typeof(a) IN {_INTEGERS} AND typeof(b) IN {_INTEGERS} THEN trunc(a::DOUBLE / b::DOUBLE) "
    f"ELSE a::DOUBLE / b::DOUBLE END",
    f"CREATE MACRO {SHUFFLE}() AS random()",
)


class DuckEngine:
    """DuckDB in memory, its tables without keys."""

    name = "duckdb"
    dialect = "duckdb"

    def __init__(self, tables: Sequence[Relation], deadline: float, texts: frozenset[tuple[str, int]]) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtraError(
                "duckdb", "duckdb", "running PostgreSQL and DuckDB queries in this process"
            ) from None
        self.errors: type[Exception] = duckdb.Error
        self.deadline = deadline
        self.random = Random(0)  # noqa: S311 - breaks ties, keeps no secret
        self.connection = duckdb.connect(":memory:", config=dict(CONFIG))
        for macro in _MACROS:
            self.connection.execute(macro)
        for relation in tables:
            columns = ", ".join(
                f"{quoted(column.name)} {_type(column, (relation.name, index) in texts)}"
                for index, column in enumerate(relation.columns)
            )
            self.connection.execute(f"CREATE TABLE {quoted(relation.name)} ({columns})")
        self.connection.execute("SET lock_configuration = true")
        self.loaded = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, rows: Rows) -> None:
        """Replace the database; each load is one transaction that the next one undoes.

        Raises:
            QueryFailed: a value does not fit its column.
        """
        if self.loaded:
            self.connection.execute("ROLLBACK")
        self.connection.execute("BEGIN")
        self.loaded = True
        try:
            for name, content in rows.items():
                if content:
                    written = ", ".join(f"({', '.join(map(_literal, row))})" for row in content)
                    self.connection.execute(f"INSERT INTO {quoted(name)} VALUES {written}")  # noqa: S608 - quoted
        except self.errors as error:
            raise QueryFailed(str(error)) from None

    def run(self, query: str) -> list[tuple[object, ...]]:
        """Run one read; see `Engine.run`."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime
        timer = Timer(left, self.connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            rows: list[tuple[object, ...]] = self.connection.execute(query).fetchmany(MAX_RESULT_ROWS + 1)
        except self.errors as error:
            if time.monotonic() >= self.deadline:
                raise OutOfTime from None
            if self._aborted():
                self.connection.execute("ROLLBACK")
                self.loaded = False
            raise QueryFailed(str(error)) from None
        finally:
            timer.cancel()
        if len(rows) > MAX_RESULT_ROWS:
            raise QueryFailed(f"more than {MAX_RESULT_ROWS} rows")
        return rows

    def _aborted(self) -> bool:
        """Whether an error has ended the transaction, as some kinds do."""
        try:
            self.connection.execute("SELECT 1")
        except self.errors:
            return True
        return False

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _type(column: Column, text: bool) -> str:
    if column.type == "array":
        return f"{'VARCHAR' if column.item == 'any' else _TYPES.get(column.item, 'VARCHAR')}[]"
    if column.type == "any":
        return "VARCHAR" if text else "BIGINT"
    found = re.fullmatch(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)", column.declared, re.IGNORECASE)
    if column.type == "decimal" and found is not None and int(found.group(1)) <= 38:
        return f"DECIMAL({found.group(1)}, {found.group(2)})"
    return _TYPES[column.type]


def _literal(value: Value) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case float() if not math.isfinite(value):
            return f"'{value}'::DOUBLE"
        case int() | float():
            return repr(value)
        case tuple():
            return f"[{', '.join(map(_literal, value))}]" if value else "[]"
        case bytes():
            return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    return "'" + str(value).replace("'", "''") + "'"
