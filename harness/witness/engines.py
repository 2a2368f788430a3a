"""Engines that run a query on a small database in this process, without keys, so that storage order can be shuffled."""

import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol, Self

from harness.witness.database import Relation, Row, Rows, Value
from harness.witness.probes import SHUFFLE

MAX_RESULT_ROWS = 5000
_SAFE_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*(\(\s*\d+\s*(,\s*\d+\s*)?\))?")
_AFFINITIES = {"integer": "INTEGER", "real": "REAL", "decimal": "NUMERIC", "text": "TEXT", "boolean": "NUMERIC"}
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 1000,
}
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})


class QueryFailed(Exception):
    """The engine refused or could not finish a query; the text is the engine's."""


class OutOfTime(Exception):
    """The deadline passed while a query ran."""


class Engine(Protocol):
    """Runs reads on one database at a time."""

    name: str
    dialect: str

    def load(self, rows: Rows) -> None:
        """Replace the database, rows in the given order of storage."""
        ...

    def run(self, query: str) -> list[tuple[object, ...]]:
        """Run one read.

        Raises:
            QueryFailed: the engine refused it.
            OutOfTime: the deadline has passed.
        """
        ...

    def close(self) -> None:
        """Give the engine back."""
        ...


Functions = Mapping[str, tuple[int, Callable[..., str | int | float | None]]]


class SqliteEngine:
    """SQLite in memory: tables without keys, reads only, a deadline that a running query sees."""

    name = "sqlite"
    dialect = "sqlite"

    def __init__(
        self,
        tables: Sequence[Relation],
        deadline: float,
        *,
        functions: Functions | None = None,
        aggregates: Mapping[str, type] | None = None,
        folding: bool = False,
        strict_like: bool = False,
    ) -> None:
        self.deadline = deadline
        self.random = Random(0)  # noqa: S311 - breaks ties, keeps no secret
        self.connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=256)
        for limit, value in _LIMITS.items():
            self.connection.setlimit(limit, value)
        self.connection.execute("PRAGMA hard_heap_limit = 268435456")
        if strict_like:
            self.connection.execute("PRAGMA case_sensitive_like = ON")
        for name, (arity, function) in (functions or {}).items():
            self.connection.create_function(name, arity, function, deterministic=True)
        for name, aggregate in (aggregates or {}).items():
            self.connection.create_aggregate(name, -1, aggregate)
        self.connection.create_function(SHUFFLE, 0, self.random.random)
        self.inserts: dict[str, str] = {}
        for relation in tables:
            self.connection.execute(_create(relation, folding))
            places = ", ".join("?" * len(relation.columns))
            self.inserts[relation.name] = f"INSERT INTO {quoted(relation.name)} VALUES ({places})"  # noqa: S608 - quoted
        self.loaded = False
        self.connection.set_progress_handler(self._late, 2000)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _late(self) -> int:
        return int(time.monotonic() > self.deadline)

    def load(self, rows: Rows) -> None:
        """Replace the database; each load is one transaction that the next one undoes."""
        self.connection.set_authorizer(None)
        if self.loaded:
            self.connection.execute("ROLLBACK")
        self.connection.execute("BEGIN")
        self.loaded = True
        for name, content in rows.items():
            if content:
                try:
                    self.connection.executemany(self.inserts[name], _flat(content))
                except sqlite3.Error as error:
                    raise QueryFailed(str(error)) from None
        self.connection.set_authorizer(_authorize)

    def run(self, query: str) -> list[tuple[object, ...]]:
        """Run one read; see `Engine.run`."""
        try:
            cursor = self.connection.execute(query)
            rows = cursor.fetchmany(MAX_RESULT_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, UnicodeError) as error:
            if "interrupted" in str(error):
                raise OutOfTime from None
            raise QueryFailed(str(error)) from None
        if len(rows) > MAX_RESULT_ROWS:
            raise QueryFailed(f"more than {MAX_RESULT_ROWS} rows")
        return rows

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _flat(content: Sequence[Row]) -> Sequence[Row]:
    """Rows with arrays as text: SQLite has none, and a query that looks into one does not run on it."""
    if not any(isinstance(value, tuple) for row in content for value in row):
        return content
    return [tuple(f"{{{','.join(map(str, v))}}}" if isinstance(v, tuple) else v for v in row) for row in content]


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action not in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS):
        return sqlite3.SQLITE_DENY
    # The pragma functions and virtual tables of statistics read more than the tables that were built.
    return sqlite3.SQLITE_DENY if (first or "").lower().startswith(("pragma_", "dbstat")) else sqlite3.SQLITE_OK


def quoted(name: str) -> str:
    """A name as an identifier of standard SQL."""
    return '"' + name.replace('"', '""') + '"'


def _create(relation: Relation, folding: bool) -> str:
    columns = []
    for column in relation.columns:
        declared = column.declared if _SAFE_TYPE.fullmatch(column.declared) else _AFFINITIES.get(column.type, "")
        fold = " COLLATE NOCASE" if folding and column.type in {"text", "any"} else ""
        columns.append(f"{quoted(column.name)} {declared}{fold}")
    return f"CREATE TABLE {quoted(relation.name)} ({', '.join(columns)})"


def shuffled(rows: Rows, random: Random) -> Rows:
    """The same rows in another order of storage."""
    mixed: Rows = {}
    for name, content in rows.items():
        copy: list[Row] = list(content)
        random.shuffle(copy)
        mixed[name] = copy
    return mixed


__all__ = ["Engine", "Functions", "OutOfTime", "QueryFailed", "SqliteEngine", "Value", "quoted", "shuffled"]
