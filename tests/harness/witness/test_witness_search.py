"""The witness search: what it finds, what it must not find, and that what it finds stands by itself."""

import json
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from canon.sql import read_schema
from canon.verdict import Difference, RowWitness
from canon.verdict import Table as WitnessTable
from harness.witness.database import Layout, rows_of, violations
from harness.witness.search import NotFound, find_witness

SHOP = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, joined DATE NOT NULL);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (id),
    total REAL,
    qty INTEGER NOT NULL CHECK (qty > 0),
    state TEXT NOT NULL CHECK (state IN ('new', 'paid', 'void'))
);
CREATE TABLE visit (customer_id INTEGER REFERENCES customer (id), page TEXT, seconds INTEGER);
"""
NOW = datetime(2026, 7, 14, 9, tzinfo=UTC)


def search(expected: str, actual: str, **options: object) -> RowWitness | NotFound:
    given = {"dialect": "sqlite", "schema": SHOP, "now": NOW, **options}
    return find_witness(expected, actual, **given)  # type: ignore[arg-type]


DIFFERENT = {
    "boundary": ("SELECT id FROM purchase WHERE total > 100", "SELECT id FROM purchase WHERE total >= 100"),
    "fraction": ("SELECT id FROM purchase WHERE total > 3", "SELECT id FROM purchase WHERE total >= 4"),
    "missing predicate": ("SELECT id FROM purchase WHERE state = 'void'", "SELECT id FROM purchase"),
    "null and not equal": (
        "SELECT id FROM customer WHERE country <> 'PT'",
        "SELECT id FROM customer WHERE NOT (country = 'PT') OR country IS NULL",
    ),
    "case of a text": ("SELECT id FROM customer WHERE name = 'Ana'", "SELECT id FROM customer WHERE name = 'ana'"),
    "pattern and equality": (
        "SELECT id FROM customer WHERE name LIKE 'Ana'",
        "SELECT id FROM customer WHERE name = 'Ana'",
    ),
    "outer join": (
        "SELECT c.id, p.id FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id",
        "SELECT c.id, p.id FROM customer c JOIN purchase p ON p.customer_id = c.id",
    ),
    "ON and WHERE": (
        "SELECT c.id FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id AND p.total > 5",
        "SELECT c.id FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id WHERE p.total > 5",
    ),
    "fan-out": (
        "SELECT name FROM customer WHERE id IN (SELECT customer_id FROM purchase)",
        "SELECT name FROM customer c JOIN purchase p ON p.customer_id = c.id",
    ),
    "NOT IN over NULL": (
        "SELECT id FROM customer c WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.customer_id = c.id)",
        "SELECT id FROM customer WHERE id NOT IN (SELECT customer_id FROM visit)",
    ),
    "count of groups": (
        "SELECT customer_id FROM purchase GROUP BY customer_id HAVING COUNT(*) > 7",
        "SELECT customer_id FROM purchase GROUP BY customer_id HAVING COUNT(*) >= 7",
    ),
    "count of a column": ("SELECT COUNT(*) FROM visit", "SELECT COUNT(page) FROM visit"),
    "distinct names": ("SELECT name FROM customer", "SELECT DISTINCT name FROM customer"),
    "average over NULL": ("SELECT AVG(total) FROM purchase", "SELECT SUM(total) / COUNT(*) FROM purchase"),
    "integer division": ("SELECT qty * 1 / 2 FROM purchase", "SELECT qty * (1 / 2) FROM purchase"),
    "limit": ("SELECT id FROM customer ORDER BY id LIMIT 12", "SELECT id FROM customer ORDER BY id LIMIT 13"),
    "offset": (
        "SELECT name FROM customer ORDER BY id LIMIT 1 OFFSET 5",
        "SELECT name FROM customer ORDER BY id LIMIT 1 OFFSET 6",
    ),
    "direction": ("SELECT id FROM purchase ORDER BY total", "SELECT id FROM purchase ORDER BY total DESC"),
    "ties at the limit": (
        "SELECT id FROM purchase WHERE qty = (SELECT MAX(qty) FROM purchase)",
        "SELECT id FROM purchase ORDER BY qty DESC LIMIT 1",
    ),
    "union all": (
        "SELECT name FROM customer UNION SELECT page FROM visit",
        "SELECT name FROM customer UNION ALL SELECT page FROM visit",
    ),
    "intersection": (
        "SELECT country FROM customer WHERE joined < '2020-01-01' "
        "INTERSECT SELECT country FROM customer WHERE joined > '2021-01-01'",
        "SELECT country FROM customer WHERE joined < '2020-01-01' OR joined > '2021-01-01'",
    ),
    "month": (
        "SELECT id FROM customer WHERE strftime('%m', joined) = '03'",
        "SELECT id FROM customer WHERE strftime('%m', joined) = '04'",
    ),
    "clock": (
        "SELECT id FROM customer WHERE joined >= date('now', '-30 days')",
        "SELECT id FROM customer WHERE joined > date('now', '-30 days')",
    ),
    "double-quoted text": ('SELECT id FROM customer WHERE name = "Ana"', "SELECT id FROM customer WHERE name = 'Eva'"),
    "other sums": (
        "SELECT c.name, SUM(p.total) FROM customer c JOIN purchase p ON p.customer_id = c.id GROUP BY c.id",
        "SELECT c.name, SUM(p.total) FROM customer c JOIN purchase p ON p.customer_id = c.id GROUP BY c.name",
    ),
}

SAME = {
    "limit and order": (
        "SELECT customer_id, COUNT(*) FROM purchase GROUP BY customer_id ORDER BY COUNT(*) DESC LIMIT 1",
        "SELECT p.customer_id, COUNT(*) FROM customer c JOIN purchase p ON p.customer_id = c.id "
        "GROUP BY p.customer_id, c.name ORDER BY 2 DESC LIMIT 1",
    ),
    "tie broken by the other group": (
        "SELECT c.id FROM customer c JOIN purchase p ON p.customer_id = c.id "
        "GROUP BY c.id, c.name ORDER BY COUNT(*) LIMIT 1",
        "SELECT c.id FROM customer c JOIN purchase p ON p.customer_id = c.id "
        "GROUP BY c.name, c.id ORDER BY COUNT(*) LIMIT 1",
    ),
    "enum": ("SELECT id FROM purchase WHERE state <> 'new'", "SELECT id FROM purchase WHERE state IN ('paid', 'void')"),
    "check": ("SELECT id FROM purchase WHERE qty >= 1", "SELECT id FROM purchase"),
    "foreign key": ("SELECT p.id FROM purchase p JOIN customer c ON c.id = p.customer_id", "SELECT id FROM purchase"),
    "key": ("SELECT DISTINCT id, name FROM customer", "SELECT id, name FROM customer"),
    "integers": ("SELECT id FROM purchase WHERE qty > 3", "SELECT id FROM purchase WHERE qty >= 4"),
    "permuted columns": ("SELECT id, name, country FROM customer", "SELECT country, id, name FROM customer"),
    "float sums": (
        "SELECT SUM(total) FROM purchase",
        "SELECT SUM(s) FROM (SELECT customer_id, SUM(total) AS s FROM purchase GROUP BY customer_id)",
    ),
    "both empty": ("SELECT id FROM purchase WHERE state = 'x'", "SELECT id FROM customer WHERE id <> id"),
    "more order than asked": ("SELECT id FROM purchase ORDER BY total", "SELECT id FROM purchase ORDER BY total, id"),
    "unordered limit": ("SELECT name FROM customer LIMIT 2", "SELECT c.name FROM customer AS c LIMIT 2"),
    "order in a subquery": (
        "SELECT name FROM customer",
        "SELECT name FROM (SELECT name FROM customer ORDER BY joined DESC)",
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_refutes_a_pair_that_differs(name: str) -> None:
    expected, actual = DIFFERENT[name]
    found = search(expected, actual)
    assert isinstance(found, RowWitness), found
    assert found.confirmed_on == ("sqlite",)
    assert found.expected.rows != found.actual.rows


@pytest.mark.parametrize("name", SAME)
def test_finds_nothing_where_the_schema_allows_no_difference(name: str) -> None:
    expected, actual = SAME[name]
    found = search(expected, actual, budget_ms=400)
    assert isinstance(found, NotFound), found
    assert found.reason in {"none found", "nondeterministic"}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_witness_runs_again_from_its_json_under_the_declared_keys(name: str) -> None:
    expected, actual = DIFFERENT[name]
    found = search(expected, actual)
    assert isinstance(found, RowWitness)
    again = RowWitness.model_validate_json(found.model_dump_json())
    with sqlite3.connect(":memory:") as connection:
        load(connection, again.tables)
        results = [connection.execute(pinned(text)).fetchall() for text in (expected, actual)]
    connection.close()
    ordered = "ORDER BY" in expected and "ORDER BY" in actual
    shown = [[tuple(row) for row in table.rows] for table in (again.expected, again.actual)]
    if name != "ties at the limit":
        assert [in_order(r, ordered) for r in results] == [in_order(s, ordered) for s in shown]
    assert in_order(results[0], ordered) != in_order(results[1], ordered)


def load(connection: sqlite3.Connection, tables: tuple[WitnessTable, ...]) -> None:
    """Create the declared tables, every constraint in force, and insert the witness."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(SHOP)
    for name in ("customer", "purchase", "visit"):
        for table in tables:
            if table.name == name:
                places = ", ".join("?" * len(table.columns))
                insert = f"INSERT INTO {name} ({', '.join(table.columns)}) VALUES ({places})"
                connection.executemany(insert, table.rows)


def pinned(text: str) -> str:
    return text.replace("'now'", "'2026-07-14 09:00:00'")


def in_order(rows: list[tuple[object, ...]], ordered: bool) -> list[tuple[object, ...]]:
    return rows if ordered else sorted(rows, key=repr)


@pytest.mark.parametrize(
    "name", ["boundary", "ON and WHERE", "NOT IN over NULL", "average over NULL", "distinct names"]
)
def test_a_witness_is_minimal(name: str) -> None:
    """No row can go, with or without the rows that refer to it, and no cell that may be NULL can become NULL."""
    expected, actual = DIFFERENT[name]
    found = search(expected, actual)
    assert isinstance(found, RowWitness)
    layout = Layout.of(read_schema(SHOP, "sqlite"))
    rows = rows_of(found.tables, layout)
    for table, content in rows.items():
        for index, row in enumerate(content):
            assert not differs({**rows, table: content[:index] + content[index + 1 :]}, expected, actual), (table, row)
            relation = layout.find(table)
            assert relation is not None
            for cell, value in enumerate(row):
                if value is not None and cell not in relation.required:
                    blank = (*row[:cell], None, *row[cell + 1 :])
                    changed = {**rows, table: [*content[:index], blank, *content[index + 1 :]]}
                    assert not differs(changed, expected, actual), (table, row, cell)


def differs(rows: dict[str, list[tuple[object, ...]]], expected: str, actual: str) -> bool:
    layout = Layout.of(read_schema(SHOP, "sqlite"))
    if violations(rows, layout):  # type: ignore[arg-type]
        return False
    connection = sqlite3.connect(":memory:")
    connection.executescript(SHOP)
    for name, content in rows.items():
        for row in content:
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    results = [sorted(connection.execute(text).fetchall(), key=repr) for text in (expected, actual)]
    connection.close()
    return results[0] != results[1]


def test_the_same_seed_finds_the_same_witness_whatever_the_hash_seed() -> None:
    code = (
        "from harness.witness.search import find_witness\n"
        f"print(find_witness({DIFFERENT['NOT IN over NULL'][0]!r}, {DIFFERENT['NOT IN over NULL'][1]!r}, "
        f"dialect='sqlite', schema={SHOP!r}, seed=5).model_dump_json())"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["kind"] == "rows"


def test_the_readings_say_what_happens() -> None:
    found = search(*DIFFERENT["missing predicate"])
    assert isinstance(found, RowWitness)
    assert found.reading is not None
    assert found.reading.startswith("with a row of customer")
    assert found.reading.endswith("the golden query returns nothing, the answer (0)")


@pytest.mark.parametrize(
    ("expected", "actual", "reason"),
    [
        ("SELECT name FROM customer; DROP TABLE customer", "SELECT name FROM customer", "not runnable"),
        ("SELECT nam FROM customer", "SELECT name FROM customer", "not runnable"),
        ("DELETE FROM customer", "SELECT name FROM customer", "not runnable"),
        ("SELECT random() FROM customer", "SELECT random() FROM customer", "not runnable"),
        ("SELECT (", "SELECT name FROM customer", "not runnable"),
        ("SELECT name FROM customer WHERE id = ?", "SELECT name FROM customer", "not runnable"),
        ("SELECT page FROM visit ORDER BY page, seconds", "SELECT page FROM visit ORDER BY page", "none found"),
    ],
)
def test_says_why_there_is_none(expected: str, actual: str, reason: str) -> None:
    found = search(expected, actual, budget_ms=200)
    assert isinstance(found, NotFound)
    assert found.reason == reason


def test_bound_values_are_used() -> None:
    found = search(
        "SELECT id FROM purchase WHERE total > ?",
        "SELECT id FROM purchase WHERE total > 40",
        expected_args=(30,),
    )
    assert isinstance(found, RowWitness)
    same = search(
        "SELECT id FROM purchase WHERE total > ?",
        "SELECT id FROM purchase WHERE total > 40",
        expected_args=(40,),
        budget_ms=200,
    )
    assert isinstance(same, NotFound)


def test_columns_in_another_order_differ_where_order_is_asked_for() -> None:
    found = search("SELECT id, qty FROM purchase", "SELECT qty, id FROM purchase", columns="ordered")
    assert isinstance(found, RowWitness)


def test_without_a_schema_the_tables_are_those_that_the_queries_name() -> None:
    found = search("SELECT name FROM t WHERE age > 3", "SELECT name FROM t WHERE age > 4", schema=None)
    assert isinstance(found, RowWitness)
    assert [table.name for table in found.tables] == ["t"]
    assert set(found.tables[0].columns) == {"name", "age"}


def test_a_named_difference_steers_the_search() -> None:
    hint = Difference(kind="missing_predicate", where="WHERE", field="country")
    found = search(
        "SELECT id FROM customer WHERE country = 'PT' AND name = 'Ana'",
        "SELECT id FROM customer WHERE name = 'Ana'",
        differences=(hint,),
    )
    assert isinstance(found, RowWitness)


def test_rows_of_the_fixture_are_mixed_in() -> None:
    found = search(
        "SELECT COUNT(*) FROM customer WHERE length(name) = 11",
        "SELECT COUNT(*) FROM customer WHERE length(name) = 11 AND instr(name, ' ') > 0",
        fixture_rows={"customer": [{"id": 1, "name": "abcdefghijk", "country": None, "joined": "2020-01-01"}]},
    )
    assert isinstance(found, RowWitness)


WIDE = "CREATE TABLE wide (id INTEGER PRIMARY KEY, " + ", ".join(f"c{n} TEXT" for n in range(1000)) + ")"

HOSTILE = {
    "a thousand columns": (WIDE, "SELECT c7 FROM wide WHERE c999 = 'x'", "SELECT c7 FROM wide WHERE c998 = 'x'"),
    "a cross join": (
        "CREATE TABLE t (a INTEGER)",
        "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g, t h",
        "SELECT COUNT(*) + 0 FROM t a, t b, t c, t d, t e, t f, t g, t h",
    ),
    "an endless recursion": (
        "CREATE TABLE t (a INTEGER)",
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT COUNT(*) FROM r",
        "SELECT COUNT(*) FROM t",
    ),
    "deep parentheses": (
        "CREATE TABLE t (a INTEGER)",
        "SELECT a FROM t WHERE " + "(" * 600 + "a = 1" + ")" * 600,
        "SELECT a FROM t",
    ),
    "a long disjunction": (
        "CREATE TABLE t (a INTEGER)",
        "SELECT a FROM t WHERE " + " OR ".join(f"a = {n}" for n in range(400)),
        "SELECT a FROM t WHERE a BETWEEN 0 AND 399",
    ),
    "many tables": (
        ";".join(f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, up INTEGER REFERENCES t{n + 1} (id))" for n in range(60)),
        "SELECT id FROM t0",
        "SELECT up FROM t0",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_queries_and_schemas_stay_in_the_budget(name: str) -> None:
    schema, expected, actual = HOSTILE[name]
    started = time.monotonic()
    found = search(expected, actual, schema=schema, budget_ms=1000)
    # Reading the texts and the schema comes before the search; the margin is for a loaded machine.
    assert time.monotonic() - started < 6
    assert isinstance(found, RowWitness) is (name in {"a thousand columns", "many tables"}), found


@pytest.mark.parametrize(
    "text",
    [
        "SELECT load_extension('x') FROM customer",
        "SELECT name FROM pragma_database_list",
        "SELECT readfile('/etc/hostname') FROM customer",
        "SELECT * FROM dbstat",
    ],
)
def test_a_query_reaches_nothing_but_its_tables(text: str) -> None:
    found = search(text, "SELECT name FROM customer", budget_ms=200)
    assert isinstance(found, NotFound)
    assert found.reason == "not runnable"
