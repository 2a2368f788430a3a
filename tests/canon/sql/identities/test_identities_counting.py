"""Counts of rows that differ, match or meet a condition: the pairs that are joined and the neighbours that are not."""
# ruff: noqa: E501  (a query is one line, so that a pair can be read side by side)

import sqlite3

import pytest

from canon.schema import Column
from canon.sql import read_schema
from tests.canon.sql.identities.executed_pairs import Engine, relation

DDL = """
CREATE TABLE people (id INT PRIMARY KEY, town INT NOT NULL, age INT);
CREATE TABLE pets (id INT PRIMARY KEY, owner INT NOT NULL, kind INT NOT NULL, tag INT);
"""

JOINED = {
    "rows with a match": ("SELECT COUNT(*) FROM people WHERE age > 1 AND id IN (SELECT owner FROM pets WHERE kind = 1)",
                          "SELECT COUNT(DISTINCT p.id) FROM people p JOIN pets t ON t.owner = p.id WHERE p.age > 1 AND t.kind = 1"),
    "rows with a match by group": ("SELECT town, COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM pets t WHERE t.owner = p.id) GROUP BY town",
                                   "SELECT p.town, COUNT(DISTINCT p.id) FROM people p, pets t WHERE t.owner = p.id GROUP BY p.town"),
    "distinct rows": ("SELECT COUNT(*) FROM (SELECT DISTINCT kind FROM pets) t", "SELECT COUNT(DISTINCT kind) FROM pets"),
    "distinct rows by group": ("SELECT owner, COUNT(*) FROM (SELECT DISTINCT owner, kind FROM pets) t GROUP BY owner",
                               "SELECT owner, COUNT(DISTINCT kind) FROM pets GROUP BY owner"),
    "grouped rows": ("SELECT owner, COUNT(*) FROM (SELECT owner, kind FROM pets GROUP BY owner, kind) t GROUP BY owner",
                     "SELECT owner, COUNT(DISTINCT kind) FROM pets GROUP BY owner"),
    "filtered count": ("SELECT COUNT(CASE WHEN tag > 1 THEN 1 END) FROM pets", "SELECT COUNT(*) FROM pets WHERE tag > 1"),
    "counted divisor": ("SELECT SUM(IF(kind = 1, 1, 0)) / SUM(IF(kind = 2, 1, 0)) FROM pets",
                        "SELECT COUNT(IF(kind = 1, 1, NULL)) / COUNT(IF(kind = 2, 1, NULL)) FROM pets"),
}  # fmt: skip

NEIGHBOURS = {
    "matches counted each": ("SELECT COUNT(*) FROM people WHERE id IN (SELECT owner FROM pets)",
                             "SELECT COUNT(p.id) FROM people p JOIN pets t ON t.owner = p.id"),
    "towns, not people": ("SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM pets t WHERE t.owner = p.id)",
                          "SELECT COUNT(DISTINCT p.town) FROM people p JOIN pets t ON t.owner = p.id"),
    "NULL is a distinct row": ("SELECT COUNT(*) FROM (SELECT DISTINCT tag FROM pets) t", "SELECT COUNT(DISTINCT tag) FROM pets"),
    "pairs of columns": ("SELECT COUNT(*) FROM (SELECT DISTINCT owner, kind FROM pets) t", "SELECT COUNT(DISTINCT kind) FROM pets"),
    "sum of what is distinct": ("SELECT SUM(kind) FROM (SELECT DISTINCT kind FROM pets) t", "SELECT SUM(kind) FROM pets"),
    "two counts": ("SELECT COUNT(CASE WHEN tag > 1 THEN 1 END), COUNT(*) FROM pets",
                   "SELECT COUNT(*), COUNT(*) FROM pets WHERE tag > 1"),
    "groups without a match": ("SELECT owner, COUNT(CASE WHEN tag > 1 THEN 1 END) FROM pets GROUP BY owner",
                               "SELECT owner, COUNT(*) FROM pets WHERE tag > 1 GROUP BY owner"),
    "difference of empty sums": ("SELECT SUM(kind = 1) - SUM(kind = 2) FROM pets",
                                 "SELECT COUNT(IF(kind = 1, 1, NULL)) - COUNT(IF(kind = 2, 1, NULL)) FROM pets"),
}  # fmt: skip


def _draw(rng, column: Column) -> object:
    return rng.randrange(12 if column.name in {"id", "owner"} else 4)


@pytest.fixture(scope="module")
def engine():
    opened = Engine(DDL, "mysql", _draw)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", JOINED)
def test_the_pair_is_joined_and_gives_the_same_rows(name, engine):
    first, second = JOINED[name]
    assert relation(first, second, "mysql", engine.schema) == "equivalent"
    if name != "counted divisor":  # MySQL divides by zero to NULL
        assert engine.results(first) == engine.results(second)
        assert any(engine.results(first))


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_neighbour_stays_apart_and_a_database_shows_why(name, engine):
    first, second = NEIGHBOURS[name]
    assert relation(first, second, "mysql", engine.schema) in {"undecided", "different"}
    assert engine.results(first) != engine.results(second)


DIVISIONS = (
    ("SELECT CAST(SUM(CASE WHEN kind = 1 THEN 1 ELSE 0 END) AS REAL) / SUM(CASE WHEN kind = 2 THEN 1 ELSE 0 END) FROM pets",
     "SELECT CAST(COUNT(CASE WHEN kind = 1 THEN 1 END) AS REAL) / COUNT(CASE WHEN kind = 2 THEN 1 END) FROM pets", "equivalent"),
    ("SELECT CAST(COUNT(CASE WHEN kind = 1 THEN 1 END) * 100 AS REAL) / COUNT(*) FROM pets",
     "SELECT COUNT(CASE WHEN kind = 1 THEN 1 END) * 100.0 / COUNT(id) FROM pets", "equivalent"),
    ("SELECT COUNT(CASE WHEN kind = 1 THEN 1 END) * 100 / COUNT(*) FROM pets",
     "SELECT COUNT(CASE WHEN kind = 1 THEN 1 END) * 100.0 / COUNT(*) FROM pets", "undecided"),
)  # fmt: skip


@pytest.mark.parametrize(("first", "second", "wanted"), DIVISIONS)
def test_divisions_in_sqlite(first, second, wanted):
    ddl = "CREATE TABLE pets (id INTEGER PRIMARY KEY, kind INTEGER)"
    assert relation(first, second, "sqlite", read_schema(ddl, "sqlite")) == wanted
    same = []
    for kinds in ([], [1], [2], [1, 2, 3], [1, 2, 2, None], [None]):
        database = sqlite3.connect(":memory:")
        database.execute(ddl)
        database.executemany("INSERT INTO pets (kind) VALUES (?)", [(kind,) for kind in kinds])
        same.append(database.execute(first).fetchall() == database.execute(second).fetchall())
        database.close()
    assert all(same) == (wanted == "equivalent")
