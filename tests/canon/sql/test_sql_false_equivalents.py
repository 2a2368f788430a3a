"""Pairs that look alike but differ in types, collations, schemas or the query an aggregate belongs to: never joined."""

import sqlite3
from contextlib import closing

import pytest

from canon.rules import Rules
from canon.sql import compare_sql, read_schema

DDL = """
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, n INTEGER NOT NULL, s TEXT, w TEXT NOT NULL, r REAL);
CREATE TABLE p (code VARCHAR(9) PRIMARY KEY NOT NULL, n INTEGER);
CREATE TABLE q (id INTEGER PRIMARY KEY, b INTEGER, name TEXT COLLATE NOCASE NOT NULL);
"""
PLAIN = DDL.replace(" COLLATE NOCASE", "")

APART = {
    "a test over a full join keeps its condition": (
        ("sqlite", "duckdb", "postgres"),
        "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM t x FULL JOIN p y ON y.n = x.id WHERE x.a IS NULL)",
        "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM t x FULL JOIN p y ON y.n = x.id)",
    ),
    "a choice by a comparison with NULL is its ELSE": (
        ("sqlite", "duckdb", "postgres", "mysql"),
        "SELECT CASE WHEN n <= a THEN a ELSE 0 END FROM t WHERE a IS NULL",
        "SELECT CASE WHEN NOT n <= a THEN 0 ELSE a END FROM t WHERE a IS NULL",
    ),
    "a choice by a column that is NULL is its ELSE": (
        ("sqlite", "duckdb", "postgres", "mysql"),
        "SELECT CASE WHEN a = a THEN a ELSE 0 END FROM t WHERE a IS NULL",
        "SELECT CASE WHEN a = a THEN a ELSE 2 END FROM t WHERE a IS NULL",
    ),
    "two texts below one literal need not be equal": (
        ("sqlite", "duckdb"),
        "SELECT x.id FROM t x, t y WHERE y.w = x.w AND y.w < 'a'",
        "SELECT x.id FROM t x, t y WHERE y.w >= x.w AND y.w < 'a'",
    ),
    "five columns may hold five texts": (
        ("sqlite", "postgres"),
        "SELECT a.id FROM t a, t b, t c, t d, t e WHERE a.w <> b.w AND a.w <> c.w AND a.w <> d.w AND a.w <> e.w"
        " AND b.w <> c.w AND b.w <> d.w AND b.w <> e.w AND c.w <> d.w AND c.w <> e.w AND d.w <> e.w",
        "SELECT a.id FROM t a, t b, t c, t d, t e WHERE a.w <> b.w AND a.w <> c.w AND a.w <> d.w AND a.w <> e.w"
        " AND b.w <> c.w AND b.w <> d.w AND b.w <> e.w AND c.w <> d.w AND c.w <> e.w AND d.w = e.w",
    ),
    "a test of the padded side is not the test of its ON": (
        ("sqlite", "duckdb", "postgres"),
        "SELECT x.id FROM t x LEFT JOIN t y ON y.n = x.id AND y.w IS NULL WHERE y.n IS NULL AND y.w IS NULL",
        "SELECT x.id FROM t x LEFT JOIN t y ON y.n = x.id WHERE y.n IS NULL AND y.w IS NULL",
    ),
    "a default never taken has no affinity, in a derived table": (
        ("sqlite",),
        "SELECT d.id FROM (SELECT id, COALESCE(w, 'a') AS x FROM t) d WHERE d.x = 5",
        "SELECT id FROM t WHERE w = 5",
    ),
    "an extreme of one row has no affinity, in a derived table": (
        ("sqlite",),
        "SELECT d.id FROM (SELECT id, MAX(w) AS x FROM t GROUP BY id) d WHERE d.x = 5",
        "SELECT id FROM t WHERE w = 5",
    ),
    "a computed output compares texts and numbers as they are": (
        ("sqlite",),
        "SELECT d.id FROM (SELECT id, MAX(w) AS x FROM t GROUP BY id) d WHERE d.x = 5",
        "SELECT d.id FROM (SELECT id, MAX(w) AS x FROM t GROUP BY id) d WHERE d.x = '5'",
    ),
    "a choice of one column has no affinity": (
        ("sqlite",),
        "SELECT d.id FROM (SELECT id, CASE WHEN n > 1 THEN w ELSE w END AS x FROM t) d WHERE d.x = 5",
        "SELECT id FROM t WHERE w = 5",
    ),
    "arithmetic that changes nothing takes the affinity": (
        ("sqlite",),
        "SELECT d.id FROM (SELECT id, n + 0 AS x FROM t) d WHERE d.x = '5'",
        "SELECT id FROM t WHERE n = 5",
    ),
    "many texts equal one number, a table of groups": (
        ("sqlite", "mysql"),
        "SELECT t.id FROM t WHERE t.n IN (SELECT w.s FROM t w GROUP BY w.s HAVING COUNT(*) > 0)",
        "SELECT t.id FROM t JOIN (SELECT w.s FROM t w GROUP BY w.s HAVING COUNT(*) > 0) g ON g.s = t.n",
    ),
    "many texts equal one number, a table of distinct texts": (
        ("sqlite", "mysql"),
        "SELECT t.id FROM t WHERE t.n IN (SELECT w.s FROM t w)",
        "SELECT t.id FROM t JOIN (SELECT DISTINCT w.s FROM t w) g ON g.s = t.n",
    ),
    "many texts equal one number, an outer joined group": (
        ("sqlite", "mysql"),
        "SELECT t.id, g.m FROM t LEFT JOIN (SELECT s, MAX(a) AS m FROM t GROUP BY s) g ON g.s = t.n",
        "SELECT t.id, (SELECT MAX(w.a) FROM t w WHERE w.s = t.n) AS m FROM t",
    ),
    "many texts equal one number, a correlated extreme": (
        ("sqlite", "mysql"),
        "SELECT t.id FROM t WHERE t.a = (SELECT MAX(w.a) FROM t w WHERE w.s = t.n)",
        "SELECT t.id FROM t JOIN (SELECT s, MAX(a) AS m FROM t GROUP BY s) g ON g.s = t.n WHERE t.a = g.m",
    ),
    "many texts equal one number, a counted group": (
        ("sqlite", "mysql"),
        "SELECT t.id FROM t WHERE (SELECT COUNT(*) FROM t w WHERE w.s = t.n) > 1",
        "SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM t w WHERE w.s = t.n GROUP BY w.s HAVING COUNT(*) > 1)",
    ),
    "many texts equal one number, grouped below a join": (
        ("sqlite", "mysql"),
        "SELECT t.id, COUNT(*) FROM t JOIN p ON p.code = t.id GROUP BY t.id",
        "SELECT t.id, g.c FROM t JOIN (SELECT code, COUNT(*) AS c FROM p GROUP BY code) g ON g.code = t.id",
    ),
    "many texts equal one number, joined by a key": (
        ("sqlite", "mysql"),
        "SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM p WHERE p.code = t.n)",
        "SELECT t.id FROM t JOIN p ON p.code = t.n",
    ),
    "many texts equal one number, outer joined": (
        ("sqlite", "mysql"),
        "SELECT t.id FROM t LEFT JOIN p ON p.code = t.n",
        "SELECT t.id FROM t",
    ),
    "many texts equal one literal number": (
        ("mysql",),
        "SELECT t.id FROM t, p WHERE p.code = 1",
        "SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM p WHERE p.code = 1)",
    ),
    "intersection does not convert": (
        ("sqlite",),
        "SELECT id FROM t INTERSECT SELECT code FROM p",
        "SELECT DISTINCT id FROM t WHERE id IN (SELECT code FROM p)",
    ),
    "difference does not convert": (
        ("sqlite",),
        "SELECT id FROM t EXCEPT SELECT code FROM p",
        "SELECT DISTINCT id FROM t WHERE id NOT IN (SELECT code FROM p)",
    ),
    "a member of a list has no affinity": (
        ("sqlite",),
        "SELECT id FROM t WHERE s IN (a)",
        "SELECT id FROM t WHERE s = a",
    ),
    "COALESCE has no affinity": (
        ("sqlite",),
        "SELECT id FROM t WHERE COALESCE(w, 'x') >= a",
        "SELECT id FROM t WHERE w >= a",
    ),
    "an aggregate has no affinity": (
        ("sqlite",),
        "SELECT s FROM t GROUP BY s HAVING MAX(s) > 1",
        "SELECT s FROM t GROUP BY s HAVING s > 1",
    ),
    "the sum of one text": (("sqlite", "mysql"), "SELECT id, SUM(s) FROM t GROUP BY id", "SELECT id, s FROM t"),
    "the sum of a text key": (
        ("sqlite", "mysql"),
        "SELECT s, SUM(DISTINCT s) FROM t GROUP BY s",
        "SELECT DISTINCT s, s FROM t",
    ),
    "a collation that folds, selected": (
        ("sqlite",),
        "SELECT name FROM q WHERE name = 'a'",
        "SELECT 'a' FROM q WHERE name = 'a'",
    ),
    "a collation that folds, joined": (
        ("sqlite",),
        "SELECT t.s FROM t JOIN q ON q.name = t.s",
        "SELECT q.name FROM t JOIN q ON q.name = t.s",
    ),
    "a union converts before it divides": (
        ("postgres", "mysql", "duckdb"),
        "SELECT x / 2 FROM (SELECT a AS x FROM t UNION ALL SELECT r FROM t) d",
        "SELECT a / 2 FROM t UNION ALL SELECT r / 2 FROM t",
    ),
    "a number as a condition": (
        ("sqlite", "mysql"),
        "SELECT id FROM t WHERE a",
        "SELECT id FROM t WHERE a = 1",
    ),
    "another schema": (
        ("sqlite", "postgres", "mysql", "duckdb"),
        "SELECT id FROM one.t",
        "SELECT id FROM two.t",
    ),
    "tables of two schemas are no self-join": (
        ("postgres", "mysql", "duckdb"),
        "SELECT x.id FROM one.t x JOIN two.t y ON x.id = y.id",
        "SELECT x.id FROM one.t x",
    ),
    "an aggregate of the enclosing query": (
        ("sqlite", "postgres"),
        "SELECT (SELECT COUNT(t.id) FROM q WHERE q.id IS NULL) FROM t",
        "SELECT (SELECT COUNT(q.id) FROM q WHERE q.id IS NULL) FROM t",
    ),
}


@pytest.mark.parametrize(
    ("name", "dialect"), [(name, dialect) for name, (dialects, _, _) in APART.items() for dialect in dialects]
)
def test_pairs_that_differ_are_never_joined(name, dialect):
    _, first, second = APART[name]
    schema = read_schema(DDL if dialect == "sqlite" else PLAIN, dialect)
    for expected, actual in ((first, second), (second, first)):
        verdict = compare_sql(expected, actual, dialect=dialect, schema=schema, rules=Rules(columns="ordered"))
        assert verdict.relation in {"undecided", "different"}, verdict


@pytest.mark.parametrize(("dialect", "name"), [("postgres", "public"), ("sqlite", "main"), ("duckdb", "main")])
def test_the_default_schema_may_be_written(dialect, name):
    schema = read_schema(PLAIN, dialect)
    verdict = compare_sql(f"SELECT id FROM {name}.t", "SELECT id FROM t", dialect=dialect, schema=schema)
    assert verdict.relation == "equivalent"


DATA = """
INSERT INTO t VALUES (1, 5, 1, '1', 'x', 0.0), (2, 5, 1, '01', 'x', 0.0), (3, 7, 2, '2', 'x', 0.0),
  (4, 5, 3, '2', 'x', 0.0), (5, 3, 1, '01', 'x', 0.0),
  (6, 3, 1, '1', 'x', 0.0), (7, 4, 9, '09', 'x', 0.0), (8, 4, 9, '9', 'x', 0.0);
INSERT INTO p VALUES ('1', 1), ('01', 1), ('001', 2), ('2', 2);
"""
TEXTS_AND_NUMBERS = [name for name in APART if name.startswith("many texts equal one number, ")]


@pytest.mark.parametrize("name", TEXTS_AND_NUMBERS)
def test_texts_that_equal_one_number_give_other_rows_in_sqlite(name):
    _, ours, theirs = APART[name]
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(PLAIN + DATA)
        first, second = (sorted(database.execute(query).fetchall(), key=repr) for query in (ours, theirs))
    assert first != second
