"""Holds pairs of queries to a schema: what canon says of each, and what an engine gives for both on random small databases."""
# ruff: noqa: E501  (a query is one line, so that a pair can be read side by side)

import random
import re
from collections.abc import Callable

import duckdb
import sqlglot
from sqlglot import exp

from canon.rules import Rules
from canon.schema import Column, Schema, Table
from canon.sql import compare_sql, read_schema

RULES = Rules(columns="ordered")
DATABASES = 60

Rows = list[tuple[object, ...]]


def relation(first: str, second: str, dialect: str, schema: Schema) -> str:
    """What canon says of a pair; both orders of the two must say the same."""
    there = compare_sql(first, second, dialect=dialect, schema=schema, rules=RULES)
    back = compare_sql(second, first, dialect=dialect, schema=schema, rules=RULES)
    assert there.relation == back.relation, (there, back)
    assert getattr(there, "problem", None) is None, there
    return there.relation


class Engine:
    """DuckDB with random small databases of one schema, for queries written for MySQL or SQLite."""

    def __init__(self, ddl: str, dialect: str, draw: Callable[[random.Random, Column], object]) -> None:
        self.schema = read_schema(ddl, dialect)
        self.dialect = dialect
        self._databases = [self._database(random.Random(seed), draw) for seed in range(DATABASES)]

    def close(self) -> None:
        """Let go of the databases."""
        for database in self._databases:
            database.close()

    def _database(
        self, rng: random.Random, draw: Callable[[random.Random, Column], object]
    ) -> duckdb.DuckDBPyConnection:
        database = duckdb.connect(":memory:")
        for table in self.schema.tables:
            kinds = {"integer": "BIGINT", "date": "DATE", "timestamp": "TIMESTAMP", "decimal": "DECIMAL(12, 2)"}
            columns = ", ".join(f'"{column.name}" {kinds.get(column.type, "VARCHAR")}' for column in table.columns)
            database.execute(f'CREATE TABLE "{table.name}" ({columns})')
            for row in _rows(rng, table, draw):
                database.execute(f'INSERT INTO "{table.name}" VALUES ({", ".join("?" * len(row))})', row)
        return database

    def results(self, query: str) -> list[Rows]:
        """The rows that a query gives on each database, as bags."""
        text = re.sub(
            r"\bday(?= LIKE)|(?<=\()day(?=, \d)", "CAST(day AS CHAR)", query
        )  # MySQL reads a day as text there
        tree = sqlglot.parse_one(text, dialect=self.dialect).transform(_numbered)
        written = tree.sql(dialect="duckdb")
        found = [database.execute(written).fetchall() for database in self._databases]
        return [sorted([tuple(_plain(value) for value in row) for row in rows], key=repr) for rows in found]


def _numbered(node: exp.Expression) -> exp.Expression:
    """A condition that stands where MySQL takes it as a number, as a number."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.Binary) and isinstance(inner, exp.Predicate):
        parent = node.parent
        if isinstance(parent, exp.Sum | exp.Avg | exp.Mul):
            return exp.cast(inner.copy(), "int")
    return node


def _plain(value: object) -> object:
    """Numbers by value: what is a decimal here may be a float there."""
    number = float(value) if isinstance(value, int | float) or type(value).__name__ == "Decimal" else None  # type: ignore[arg-type]
    return value if number is None else round(number, 6)


def _rows(rng: random.Random, table: Table, draw: Callable[[random.Random, Column], object]) -> Rows:
    found: Rows = []
    seen: set[tuple[object, ...]] = set()
    names = [column.name for column in table.columns]
    for _ in range(rng.choice((0, 1, 3, 6, 8))):
        row = tuple(
            None if not column.not_null and rng.random() < 0.25 else draw(rng, column) for column in table.columns
        )
        keys = [tuple(row[names.index(name)] for name in key) for key in table.keys]
        if not any((place, key) in seen for place, key in enumerate(keys)):
            seen.update((place, key) for place, key in enumerate(keys))
            found.append(row)
    return found
