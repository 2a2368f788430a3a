"""The region decision for filters: proofs with their assumptions, witnesses that re-run, and what stays open."""

import sqlite3

import pytest

from canon.rules import Rules
from canon.sql import compare_sql, read_schema

DDL = """CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, m INTEGER, r REAL, s TEXT, d DATE,
status TEXT NOT NULL CHECK (status IN ('a', 'b', 'c')), p INTEGER NOT NULL REFERENCES parent (id));
CREATE TABLE parent (id INTEGER PRIMARY KEY, label TEXT NOT NULL);"""
SCHEMA = read_schema(DDL, "sqlite")

EQUIVALENT = [
    ("n > 3", "n >= 4", "canonical"),
    ("NOT (n > 3 OR m = 1)", "n <= 3 AND m <> 1", "canonical"),
    ("(n = 1 OR m = 2) AND (n = 1 OR m = 3)", "n = 1 OR (m = 2 AND m = 3)", "proved"),
    ("status <> 'a'", "status IN ('b', 'c')", "proved"),
    ("n < m OR n = m", "n <= m", "proved"),
    ("s LIKE 'a%' AND (n = 1 OR s LIKE 'a%')", "s LIKE 'a%'", "canonical"),
    ("n IN (1, 2, 3)", "n BETWEEN 1 AND 3", "canonical"),
    ("n = 1 OR (n <> 1 AND m = 2)", "n = 1 OR (m = 2 AND n IS NOT NULL)", "proved"),
]

DIFFERENT = [
    ("r > 3", "r >= 4"),
    ("n > 3", "n > 4"),
    ("n BETWEEN 1 AND 5", "n > 1 AND n < 5"),
    ("n <> 2", "n <> 2 OR n IS NULL"),
    ("s = 'a'", "s = 'A'"),
    ("n = n", "1 = 1"),
    ("n < m", "n <= m"),
    ("status <> 'a'", "status = 'b'"),
    ("n = 1 OR m = 1 AND r = 1", "(n = 1 OR m = 1) AND r = 1"),
    ("d > '2026-07-05'", "d >= '2026-07-05'"),
    ("n IN (1, 2)", "n = 1 AND m = 2"),
    ("s > 'b'", "s >= 'b'"),
]


@pytest.mark.parametrize(("first", "second", "basis"), EQUIVALENT)
def test_equal_filters_are_proved(first, second, basis):
    verdict = compare_sql(
        f"SELECT id FROM t WHERE {first}", f"SELECT id FROM t WHERE {second}", dialect="sqlite", schema=SCHEMA
    )
    assert verdict.basis == basis


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
@pytest.mark.parametrize("outputs", ["id", "COUNT(*)", "DISTINCT s, n"])
def test_every_witness_reruns_and_obeys_the_schema(first, second, outputs):
    queries = [f"SELECT {outputs} FROM t WHERE {condition}" for condition in (first, second)]
    verdict = compare_sql(*queries, dialect="sqlite", schema=SCHEMA)
    assert verdict.basis == "refuted"
    assert verdict.differences
    db = sqlite3.connect(":memory:")
    db.executescript(DDL)
    db.execute("PRAGMA foreign_keys = ON")
    for table in reversed(verdict.witness.tables):
        for row in table.rows:
            db.execute(
                f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({', '.join('?' * len(row))})", row
            )
    assert db.execute(queries[0]).fetchall() == list(verdict.witness.expected.rows)
    assert db.execute(queries[1]).fetchall() == list(verdict.witness.actual.rows)
    assert verdict.witness.expected.rows != verdict.witness.actual.rows
    db.close()


def test_a_proof_within_a_declared_domain_says_so():
    verdict = compare_sql(
        "SELECT id FROM t WHERE status <> 'a'",
        "SELECT id FROM t WHERE status IN ('b', 'c')",
        dialect="sqlite",
        schema=SCHEMA,
    )
    assert verdict.assumptions == ("CHECK (status IN ('a', 'b', 'c'))",)


@pytest.mark.parametrize(
    ("dialect", "first", "second"),
    [
        ("mysql", "s = 'a'", "s = 'A'"),
        ("mysql", "s = 'a'", "s = 'a '"),
        ("tsql", "s = 'é'", "s = 'e'"),
        ("sqlite", "s LIKE 'a%' AND n > 1", "s LIKE 'b%' AND n > 1"),
        ("sqlite", "lower(s) = 'a'", "lower(s) = 'b'"),
    ],
)
def test_what_the_regions_cannot_tell_apart_stays_undecided(dialect, first, second):
    verdict = compare_sql(
        f"SELECT id FROM t WHERE {first}", f"SELECT id FROM t WHERE {second}", dialect=dialect, schema=SCHEMA
    )
    assert verdict.basis == "undecided"


def test_a_product_past_the_bound_stays_undecided():
    first = " AND ".join(f"(a{i} > {i} OR b{i} < {i})" for i in range(9))
    second = first.replace("< 3", "<= 3")
    verdict = compare_sql(
        f"SELECT x FROM t WHERE {first}", f"SELECT x FROM t WHERE {second}", rules=Rules(max_regions=1000)
    )
    assert verdict.basis == "undecided"


@pytest.mark.parametrize(
    ("first", "second", "kind", "field"),
    [
        ("n > 3 AND m = 1", "n > 3", "missing_predicate", "m"),
        ("n > 3", "n > 3 AND m = 1", "extra_predicate", "m"),
        ("r > 3", "r >= 3", "bound_inclusivity", "r"),
        ("r > 3", "r > 4", "wrong_value", "r"),
        ("r > 3", "r < 3", "wrong_operator", "r"),
        ("n = 3", "m = 3", "wrong_field", "n"),
        ("d > '2026-07-05'", "d > '2026-07-06'", "date_resolution", "d"),
        ("n = 1 OR m = 2", "n = 1 OR m = 3", "boolean_structure", None),
    ],
)
def test_the_difference_is_named_as_a_person_would(first, second, kind, field):
    verdict = compare_sql(
        f"SELECT id FROM t WHERE {first}", f"SELECT id FROM t WHERE {second}", dialect="sqlite", schema=SCHEMA
    )
    assert [(d.kind, d.field, d.where) for d in verdict.differences] == [(kind, field, "WHERE")]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("SELECT n FROM t", "SELECT m FROM t", "projection"),
        ("SELECT SUM(n) FROM t", "SELECT AVG(n) FROM t", "aggregate"),
        ("SELECT n FROM t", "SELECT DISTINCT n FROM t", "distinct"),
        ("SELECT n FROM t ORDER BY n", "SELECT n FROM t ORDER BY n DESC", "sort_direction"),
        ("SELECT n FROM t ORDER BY n", "SELECT n FROM t ORDER BY m", "sort_key"),
        ("SELECT n FROM t LIMIT 1", "SELECT n FROM t LIMIT 2", "limit"),
        ("SELECT n FROM t LIMIT 1 OFFSET 1", "SELECT n FROM t LIMIT 1", "offset"),
        ("SELECT COUNT(*) FROM t GROUP BY n", "SELECT COUNT(*) FROM t GROUP BY m", "grouping"),
        ("SELECT n FROM t GROUP BY n HAVING COUNT(*) > 1", "SELECT n FROM t GROUP BY n", "having"),
        ("SELECT label FROM parent", "SELECT n FROM t", "source"),
        (
            "SELECT label FROM t JOIN parent q ON t.m = q.id",
            "SELECT label FROM t LEFT JOIN parent q ON t.m = q.id",
            "join_kind",
        ),
        ("SELECT n FROM t UNION SELECT m FROM t", "SELECT n FROM t UNION ALL SELECT m FROM t", "set_operation"),
    ],
)
def test_each_part_of_a_query_has_its_kind_of_difference(first, second, kind):
    verdict = compare_sql(first, second, dialect="sqlite", schema=SCHEMA)
    assert kind in [difference.kind for difference in verdict.differences]
