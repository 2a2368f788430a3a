"""Rewrites that break a query's meaning give a witness, rewrites that keep it give none, on random schemas."""

import random
import sqlite3

import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from canon.sql import read_schema
from canon.verdict import RowWitness
from harness.witness.database import Layout, rows_of, violations
from harness.witness.search import NotFound, find_witness

RELAXED = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def schema(rng: random.Random) -> str:
    null = [" NOT NULL" if rng.random() < 0.4 else "" for _ in range(6)]
    check = " CHECK (x BETWEEN 0 AND 50)" if rng.random() < 0.3 else ""
    unique = ", UNIQUE (name)" if rng.random() < 0.2 else ""
    return (
        f"CREATE TABLE p (id INTEGER PRIMARY KEY, a INTEGER{null[0]}, name TEXT{null[1]}, r REAL{null[2]}{unique});"
        f"CREATE TABLE c (id INTEGER PRIMARY KEY, pid INTEGER{null[3]} REFERENCES p (id), x INTEGER{null[4]}{check}, "
        f"tag TEXT{null[5]})"
    )


def predicate(rng: random.Random, alias: str) -> str:
    columns = {"p": ("a", "r"), "c": ("x",)}[alias]
    texts = {"p": "name", "c": "tag"}[alias]
    choice = rng.randrange(5)
    if choice == 0:
        return f"{alias}.{texts} = '{rng.choice(('red', 'blue'))}'"
    if choice == 1:
        return f"{alias}.{rng.choice(columns)} {rng.choice(('>', '>=', '<', '<='))} {rng.randrange(1, 30)}"
    if choice == 2:
        return f"{alias}.{texts} LIKE 'r%'"
    if choice == 3:
        return f"{alias}.{rng.choice(columns)} IN ({rng.randrange(5)}, {rng.randrange(5, 9)})"
    return f"{alias}.{texts} IS NOT NULL"


def query(rng: random.Random) -> str:
    conditions = [predicate(rng, rng.choice(("p", "c"))) for _ in range(rng.randrange(1, 4))]
    where = f" WHERE {rng.choice((' AND ', ' OR ')).join(conditions)}"
    source = f"p {rng.choice(('JOIN', 'LEFT JOIN'))} c ON c.pid = p.id"
    shape = rng.randrange(3)
    if shape == 0:
        return f"SELECT p.id, p.name, c.x FROM {source}{where}"
    if shape == 1:
        return f"SELECT p.name, COUNT(*), SUM(c.x) FROM {source}{where} GROUP BY p.name"
    return f"SELECT p.id, COUNT(c.x) FROM {source}{where} GROUP BY p.id HAVING COUNT(*) >= {rng.randrange(1, 4)}"


def kept(text: str, rng: random.Random) -> str:
    """The query after a chain of rewrites that keep its meaning."""
    tree = sqlglot.parse_one(text, dialect="sqlite")
    for _ in range(rng.randrange(1, 4)):
        for node in list(tree.find_all(exp.And, exp.Or)):
            if rng.random() < 0.5:
                left, right = node.left.copy(), node.right.copy()
                node.replace(exp.Paren(this=type(node)(this=right, expression=left)))
        for node in list(tree.find_all(exp.GT, exp.GTE, exp.LT, exp.LTE)):
            if rng.random() < 0.5:
                mirrored = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}[type(node)]
                node.replace(mirrored(this=node.expression.copy(), expression=node.this.copy()))
    where = tree.args["where"]
    if rng.random() < 0.5:
        where.set("this", exp.Not(this=exp.Paren(this=exp.Not(this=exp.Paren(this=where.this.copy())))))
    if rng.random() < 0.4:
        where.set("this", exp.and_(exp.Paren(this=where.this.copy()), exp.Paren(this=where.this.copy())))
    return tree.sql(dialect="sqlite")


@given(st.integers(0, 10**9))
@RELAXED
def test_rewrites_that_keep_the_meaning_give_no_witness(seed: int) -> None:
    rng = random.Random(seed)
    ddl, text = schema(rng), query(rng)
    found = find_witness(text, kept(text, rng), dialect="sqlite", schema=ddl, budget_ms=150, seed=seed)
    assert isinstance(found, NotFound), (ddl, text, found)
    assert found.reason in {"none found", "nondeterministic", "budget"}


BREAKING = {
    "another literal": ("p.a = 7", "p.a = 8"),
    "an edge": ("p.a > 7", "p.a >= 7"),
    "a dropped condition": ("p.a = 7 AND c.tag = 'red'", "p.a = 7"),
    "AND for OR": ("p.a = 7 OR c.tag = 'red'", "p.a = 7 AND c.tag = 'red'"),
    "a lost NOT": ("NOT c.tag = 'red'", "c.tag = 'red'"),
    "another column": ("c.x > 3", "c.id > 3"),
    "a case": ("c.tag = 'red'", "c.tag = 'Red'"),
    "a longer list": ("c.x IN (1, 2)", "c.x IN (1, 2, 3)"),
    "a pattern": ("p.name LIKE 'r%'", "p.name LIKE '%r'"),
}
SHAPES = (
    "SELECT p.id, c.id FROM p JOIN c ON c.pid = p.id WHERE {}",
    "SELECT p.name FROM p LEFT JOIN c ON c.pid = p.id WHERE {}",
    "SELECT COUNT(*) FROM p, c WHERE c.pid = p.id AND ({})",
    "SELECT p.a, SUM(c.x), COUNT(*) FROM p JOIN c ON c.pid = p.id WHERE {} GROUP BY p.a",
    "SELECT id FROM p WHERE EXISTS (SELECT 1 FROM c WHERE c.pid = p.id AND ({}))",
    "SELECT id FROM p WHERE id IN (SELECT pid FROM c WHERE c.pid = p.id AND ({}))",
    "SELECT p.id FROM p JOIN c ON c.pid = p.id WHERE {} ORDER BY p.id, c.id LIMIT 3",
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", BREAKING)
def test_rewrites_that_break_the_meaning_give_a_witness_that_stands(name: str, shape: str) -> None:
    rng = random.Random(f"{name} {shape}")
    ddl = schema(rng).replace(" CHECK (x BETWEEN 0 AND 50)", "")
    expected, actual = (shape.format(part) for part in BREAKING[name])
    found = find_witness(expected, actual, dialect="sqlite", schema=ddl, budget_ms=4000)
    assert isinstance(found, RowWitness), (ddl, expected, actual, found)
    check_stands(found, ddl, expected, actual)


def check_stands(found: RowWitness, ddl: str, expected: str, actual: str) -> None:
    """The witness, read from its JSON, is allowed by the schema and shows the difference in an engine of its own."""
    again = RowWitness.model_validate_json(found.model_dump_json())
    rows = rows_of(again.tables, Layout.of(read_schema(ddl, "sqlite")))
    assert violations(rows, Layout.of(read_schema(ddl, "sqlite"))) == []
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(ddl)
    for name in ("p", "c"):
        for row in rows.get(name, []):
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    results = [sorted(connection.execute(text).fetchall(), key=repr) for text in (expected, actual)]
    connection.close()
    assert results[0] != results[1]


@given(st.integers(0, 10**9))
@RELAXED
def test_a_random_pair_is_refuted_only_by_a_witness_that_stands(seed: int) -> None:
    rng = random.Random(seed)
    ddl, expected, actual = schema(rng), query(rng), query(rng)
    found = find_witness(expected, actual, dialect="sqlite", schema=ddl, budget_ms=500, seed=seed)
    if isinstance(found, RowWitness) and len(found.expected.columns) == len(found.actual.columns):
        check_stands(found, ddl, expected, actual)
        assert found == find_witness(expected, actual, dialect="sqlite", schema=ddl, budget_ms=60_000, seed=seed)
