"""Fixture adequacy: mutants, what a fixture tells apart, and the rows that it lacks."""

from pathlib import Path

import pytest
import sqlglot

from canon.sql import compare_sql, read_schema
from harness.audit.adequacy import Question, case_adequacy, rows_to_add, share_of, told_apart
from harness.audit.fixtures import read_fixture, write_fixture
from harness.types.cases import Case, ExpectSql
from harness.witness.database import violations
from harness.witness.mutations import mutants_of

DDL = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), total REAL NOT NULL,
    made DATE NOT NULL, state TEXT NOT NULL CHECK (state IN ('new', 'paid', 'void'))
);
"""
ROWS = """
INSERT INTO customer VALUES (1, 'Ana', 'PT'), (2, 'Rui', 'ES');
INSERT INTO purchase VALUES (1, 1, 10.5, '2026-01-01', 'new'), (2, 1, 20, '2026-01-02', 'paid');
"""
GOLDENS = (
    "SELECT id FROM purchase WHERE total > 15",
    "SELECT id FROM purchase WHERE total BETWEEN 10 AND 20 AND state <> 'void'",
    "SELECT c.name, COUNT(*) FROM customer c JOIN purchase p ON p.customer_id = c.id GROUP BY c.id, c.name",
    "SELECT DISTINCT country FROM customer WHERE NOT name = 'Ana' OR country = 'FR'",
    "SELECT customer_id, SUM(total) FROM purchase GROUP BY customer_id HAVING COUNT(*) > 1",
    "SELECT name FROM customer ORDER BY name DESC, id LIMIT 2",
    "SELECT id FROM purchase WHERE made >= '2026-01-02'",
)


@pytest.mark.parametrize(
    ("golden", "kind", "mutant"),
    [
        ("SELECT id FROM purchase WHERE total > 15", "bound_inclusivity", "SELECT id FROM purchase WHERE total >= 15"),
        ("SELECT id FROM purchase WHERE total > 15", "missing_predicate", "SELECT id FROM purchase"),
        ("SELECT id FROM purchase WHERE total > 15", "wrong_value", "SELECT id FROM purchase WHERE total > 16"),
        (
            "SELECT id FROM customer WHERE id = 1 OR name = 'a'",
            "boolean_structure",
            "SELECT id FROM customer WHERE (id = 1 AND name = 'a')",
        ),
        ("SELECT id FROM customer WHERE NOT id = 1", "wrong_operator", "SELECT id FROM customer WHERE id = 1"),
        ("SELECT COUNT(*) FROM customer", "aggregate", "SELECT COUNT(country) FROM customer"),
        ("SELECT MAX(total) FROM purchase", "aggregate", "SELECT MIN(total) FROM purchase"),
        ("SELECT name FROM customer", "distinct", "SELECT DISTINCT name FROM customer"),
        ("SELECT name FROM customer", "projection", "SELECT country FROM customer"),
        ("SELECT id FROM customer LIMIT 3", "limit", "SELECT id FROM customer LIMIT 4"),
        ("SELECT id FROM customer ORDER BY name", "sort_direction", "SELECT id FROM customer ORDER BY name DESC"),
        (
            "SELECT id FROM purchase WHERE made > '2026-01-31'",
            "date_resolution",
            "SELECT id FROM purchase WHERE made > '2026-02-01'",
        ),
        (
            "SELECT c.id FROM customer c LEFT JOIN purchase p ON p.customer_id = c.id",
            "join_kind",
            "SELECT c.id FROM customer AS c JOIN purchase AS p ON p.customer_id = c.id",
        ),
        ("SELECT id FROM customer", "extra_predicate", "SELECT id FROM customer WHERE NOT customer.country IS NULL"),
        (
            "SELECT name FROM customer UNION SELECT state FROM purchase",
            "set_operation",
            "SELECT name FROM customer UNION ALL SELECT state FROM purchase",
        ),
    ],
)
def test_mutates_as_models_go_wrong(golden: str, kind: str, mutant: str) -> None:
    tree = sqlglot.parse_one(golden, dialect="sqlite")
    found = {(made.kind, made.text) for made in mutants_of(tree, "sqlite", read_schema(DDL, "sqlite"))}
    assert (kind, mutant) in found
    assert tree.sql(dialect="sqlite") not in {text for _, text in found}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "fixture.sql"
    place.write_text(DDL + ROWS)
    return place


def question(text: str, path: Path) -> Question:
    case = Case(id="A", nl="what", backend="sqlite", expectation=ExpectSql(text=text), tags=("t",))
    return Question(case, text, "sqlite", read_fixture(path, "sqlite").schema, None)


def test_counts_what_the_fixture_shows(path: Path) -> None:
    fixture = read_fixture(path, "sqlite")
    found = case_adequacy(question(GOLDENS[0], path), fixture, fixture.rows)
    changes = {survivor.change for survivor in found.survivors}
    assert {"total > 15 became total >= 15", "15 became 16"} <= changes
    assert all(survivor.witness is not None for survivor in found.survivors)
    assert 0 < found.killed < found.killable
    assert share_of([found]) == found.killed / found.killable


def test_mutants_that_mean_the_same_are_left_out(path: Path) -> None:
    fixture = read_fixture(path, "sqlite")
    found = case_adequacy(question("SELECT id FROM customer", path), fixture, fixture.rows)
    assert found.equivalent >= 1  # DISTINCT over a key


def test_the_written_fixture_shows_every_killable_mutant(path: Path, tmp_path: Path) -> None:
    fixture = read_fixture(path, "sqlite")
    survivors = []
    for text in GOLDENS:
        asked = question(text, path)
        survivors += [(survivor, asked) for survivor in case_adequacy(asked, fixture, fixture.rows).survivors]
    assert survivors
    added, left = rows_to_add(survivors, fixture)
    assert left == []
    target = tmp_path / "augmented.sql"
    write_fixture(fixture, added, target)
    grown = read_fixture(target, "sqlite")
    assert violations(grown.rows, grown.layout) == []
    assert all(set(rows) <= set(grown.rows[name]) for name, rows in fixture.rows.items())
    for survivor, asked in survivors:
        if survivor.witness is not None:
            assert told_apart(asked.text, survivor.text, asked, grown, rows=grown.rows), survivor.change


def test_no_survivor_with_a_witness_means_the_same_as_its_golden(path: Path) -> None:
    fixture = read_fixture(path, "sqlite")
    for text in GOLDENS:
        asked = question(text, path)
        for survivor in case_adequacy(asked, fixture, fixture.rows).survivors:
            found = compare_sql(text, survivor.text, dialect="sqlite", schema=fixture.schema)
            assert found.relation not in {"identical", "equivalent"}
