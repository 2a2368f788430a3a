"""The normal form means what the query means: both are executed on random databases that obey the schema.

`RUNG_SQL_PROPERTY_QUERIES` sets how many queries are tried (default 500), `RUNG_SQL_PROPERTY_SEED` the first seed.
"""

import os
import random
import sqlite3

import duckdb
import pytest

from canon.sql import compare_sql, read_schema, read_sql
from tests.properties.algebra_as_sql import NotWritten, Writer
from tests.properties.sql_generator import Made, Queries, make_rows, make_schema

QUERIES = int(os.environ.get("RUNG_SQL_PROPERTY_QUERIES", "500"))
SEED = int(os.environ.get("RUNG_SQL_PROPERTY_SEED", "20260705"))
PER_SCHEMA = 5
DATABASES = 5


def _sqlite(made: Made, rows: dict) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.executescript(made.ddl)
    for table, found in rows.items():
        for row in found:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return db


def _duckdb(made: Made, rows: dict) -> duckdb.DuckDBPyConnection:
    db = duckdb.connect(":memory:")
    for statement in made.ddl.split("\n"):
        db.execute(statement)
    for table, found in rows.items():
        for row in found:
            db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    return db


def _bag(db, query: str) -> list[tuple]:
    rows = [
        tuple(int(cell) if isinstance(cell, (bool, float)) and cell == int(cell) else cell for cell in row)
        for row in db.execute(query).fetchall()
    ]
    return sorted(rows, key=repr)


@pytest.mark.parametrize(("dialect", "open_database", "share"), [("sqlite", _sqlite, 1.0), ("duckdb", _duckdb, 0.2)])
def test_the_normal_form_gives_the_rows_of_the_query(dialect, open_database, share):
    writer = Writer(dialect)
    tried = informative = 0
    for number in range(int(QUERIES * share) // PER_SCHEMA):
        rng = random.Random(SEED + number)
        made = make_schema(rng)
        schema = read_schema(made.ddl, dialect)
        databases = [open_database(made, make_rows(made, rng)) for _ in range(DATABASES)]
        for _ in range(PER_SCHEMA):
            query = Queries(made, rng).query()
            expected = [_bag(db, query) for db in databases]
            normal = read_sql(query, dialect=dialect, schema=schema)
            try:
                rewritten = writer.rel(normal.normal())
            except NotWritten:
                continue
            got = [_bag(db, rewritten) for db in databases]
            assert got == expected, f"seed {SEED + number}\n{made.ddl}\n{query}\n{rewritten}\n{sorted(normal.ctx.used)}"
            tried += 1
            informative += any(expected)
        for db in databases:
            db.close()
    assert tried > QUERIES * share * 0.9
    assert informative > tried * 0.4


def test_what_is_called_equal_agrees_and_the_verdict_is_symmetric():
    """Pairs of independent queries over one narrow schema: whatever is called equal agrees on every database."""
    equal = 0
    for number in range(QUERIES // 10):
        rng = random.Random(SEED * 7 + number)
        made = make_schema(rng)
        schema = read_schema(made.ddl, "sqlite")
        databases = [_sqlite(made, make_rows(made, rng)) for _ in range(DATABASES)]
        written = [Queries(made, rng).plain(["int"], 0) for _ in range(6)]
        written += [f"SELECT * FROM ({query})" for query in written[:2]]
        for index, first in enumerate(written):
            for second in written[index + 1 :]:
                one = compare_sql(first, second, dialect="sqlite", schema=schema)
                other = compare_sql(second, first, dialect="sqlite", schema=schema)
                assert one.relation == other.relation, (first, second)
                assert getattr(one, "problem", None) is None, (one, first, second)
                if one.relation == "equivalent":
                    equal += 1
                    for db in databases:
                        assert _bag(db, first) == _bag(db, second), (made.ddl, first, second)
        for db in databases:
            db.close()
    assert equal >= QUERIES // 10


def test_the_normal_form_is_a_fixed_point_of_the_text():
    """The same query with its sources renamed has the same fingerprint."""
    for number in range(QUERIES // 10):
        rng = random.Random(SEED * 3 + number)
        made = make_schema(rng)
        schema = read_schema(made.ddl, "sqlite")
        query = Queries(made, rng).query()
        renamed = query
        for index in range(30, 0, -1):
            renamed = renamed.replace(f"t{index}.", f"z{99 - index}.").replace(f" AS t{index}", f" AS z{99 - index}")
        first = read_sql(query, dialect="sqlite", schema=schema).fingerprint()
        assert first == read_sql(renamed, dialect="sqlite", schema=schema).fingerprint(), query
