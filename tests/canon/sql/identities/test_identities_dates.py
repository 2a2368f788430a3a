"""Parts, prefixes and differences of days: the pairs that they join and the neighbours that they must not."""
# ruff: noqa: E501  (a query is one line, so that a pair can be read side by side)

import pytest

from canon.schema import Column
from canon.sql import compare_sql
from tests.canon.sql.identities.executed_pairs import Engine, relation

DDL = """
CREATE TABLE visits (id INT PRIMARY KEY, day DATE, seen DATETIME, label VARCHAR(20));
CREATE TABLE plans (id INT PRIMARY KEY, day DATE NOT NULL);
"""
DAYS = ("2019-12-31", "2020-01-01", "2020-05-31", "2020-06-01", "2020-06-30", "2020-07-01", "2020-12-31", "2021-01-01",
        "2021-06-15")  # fmt: skip

JOINED = {
    "year": ("SELECT id FROM visits WHERE YEAR(day) = 2020",
             "SELECT id FROM visits WHERE day >= '2020-01-01' AND day < '2021-01-01'"),
    "year of an instant": ("SELECT id FROM visits WHERE YEAR(seen) = 2020",
                           "SELECT id FROM visits WHERE seen >= '2020-01-01' AND seen < '2021-01-01'"),
    "extract": ("SELECT id FROM visits WHERE EXTRACT(YEAR FROM day) = 2020", "SELECT id FROM visits WHERE YEAR(day) = 2020"),
    "between years": ("SELECT id FROM visits WHERE YEAR(day) BETWEEN 2020 AND 2021",
                      "SELECT id FROM visits WHERE day BETWEEN '2020-01-01' AND '2021-12-31'"),
    "month of a year": ("SELECT id FROM visits WHERE YEAR(day) = 2020 AND MONTH(day) = 6",
                        "SELECT id FROM visits WHERE day BETWEEN '2020-06-01' AND '2020-06-30'"),
    "format": ("SELECT id FROM visits WHERE DATE_FORMAT(day, '%Y-%m') = '2020-06'",
               "SELECT id FROM visits WHERE day >= '2020-06-01' AND day < '2020-07-01'"),
    "prefix": ("SELECT id FROM visits WHERE LEFT(day, 7) = '2020-06'",
               "SELECT id FROM visits WHERE DATE_FORMAT(day, '%Y-%m') = '2020-06'"),
    "other prefix": ("SELECT id FROM visits WHERE LEFT(day, 4) <> '2020'",
                     "SELECT id FROM visits WHERE day < '2020-01-01' OR day >= '2021-01-01'"),
    "like": ("SELECT id FROM visits WHERE day LIKE '2020-06%'",
             "SELECT id FROM visits WHERE SUBSTR(day, 1, 7) = '2020-06'"),
    "grouped by month": ("SELECT DATE_FORMAT(day, '%Y-%m'), COUNT(*) FROM visits GROUP BY DATE_FORMAT(day, '%Y-%m')",
                         "SELECT LEFT(day, 7), COUNT(*) FROM visits GROUP BY LEFT(day, 7)"),
    "last thirty days": ("SELECT id FROM visits WHERE DATEDIFF('2020-06-30', day) BETWEEN 0 AND 29",
                         "SELECT id FROM visits WHERE day >= '2020-06-01' AND day <= '2020-06-30'"),
    "next day": ("SELECT v.id FROM visits v JOIN plans p ON DATEDIFF(v.day, p.day) = 1",
                 "SELECT v.id FROM visits v, plans p WHERE v.day = DATE_ADD(p.day, INTERVAL 1 DAY)"),
    "next day, turned": ("SELECT v.id FROM visits v JOIN plans p ON DATEDIFF(p.day, v.day) = -1",
                         "SELECT v.id FROM visits v JOIN plans p ON DATE_SUB(v.day, INTERVAL 1 DAY) = p.day"),
}  # fmt: skip

NEIGHBOURS = {
    "another year": ("SELECT id FROM visits WHERE YEAR(day) = 2020", "SELECT id FROM visits WHERE YEAR(day) = 2021"),
    "last day left out": ("SELECT id FROM visits WHERE YEAR(day) = 2020",
                          "SELECT id FROM visits WHERE day >= '2020-01-01' AND day < '2020-12-31'"),
    "month of any year": ("SELECT id FROM visits WHERE MONTH(day) = 6",
                          "SELECT id FROM visits WHERE YEAR(day) = 2020 AND MONTH(day) = 6"),
    "month or year": ("SELECT id FROM visits WHERE YEAR(day) = 2020 AND MONTH(day) = 6",
                      "SELECT id FROM visits WHERE YEAR(day) = 2020 OR MONTH(day) = 6"),
    "no lower end": ("SELECT id FROM visits WHERE DATEDIFF('2020-06-30', day) < 30",
                     "SELECT id FROM visits WHERE day > '2020-05-31' AND day <= '2020-06-30'"),
    "other direction": ("SELECT v.id FROM visits v JOIN plans p ON DATEDIFF(v.day, p.day) = 1",
                        "SELECT v.id FROM visits v JOIN plans p ON DATEDIFF(p.day, v.day) = 1"),
    "two days": ("SELECT v.id FROM visits v JOIN plans p ON DATEDIFF(v.day, p.day) = 1",
                 "SELECT v.id FROM visits v JOIN plans p ON v.day = DATE_ADD(p.day, INTERVAL 2 DAY)"),
    "by year or by month": ("SELECT LEFT(day, 4), COUNT(*) FROM visits GROUP BY LEFT(day, 4)",
                            "SELECT LEFT(day, 7), COUNT(*) FROM visits GROUP BY LEFT(day, 7)"),
}  # fmt: skip

UNKNOWN = {
    "text is no day": ("SELECT id FROM visits WHERE LEFT(label, 4) = '2020'",
                       "SELECT id FROM visits WHERE label >= '2020-01-01' AND label < '2021-01-01'"),
    "a day that is none": ("SELECT id FROM visits WHERE DATE_FORMAT(day, '%Y-%m') = '2020-13'",
                           "SELECT id FROM visits WHERE day >= '2021-01-01' AND day < '2021-02-01'"),
    "moments of a day": ("SELECT id FROM visits WHERE YEAR(seen) = 2020",
                         "SELECT id FROM visits WHERE seen >= '2020-01-01' AND seen <= '2020-12-31'"),
}  # fmt: skip


def _draw(rng, column: Column) -> object:
    if column.type == "integer":
        return rng.randrange(40)
    if column.type == "timestamp":
        return f"{rng.choice(DAYS)} {rng.choice(('00:00:00', '12:30:00'))}"
    return rng.choice(DAYS)


@pytest.fixture(scope="module")
def engine():
    opened = Engine(DDL, "mysql", _draw)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", JOINED)
def test_the_pair_is_joined_and_gives_the_same_rows(name, engine):
    first, second = JOINED[name]
    assert relation(first, second, "mysql", engine.schema) == "equivalent"
    assert engine.results(first) == engine.results(second)
    assert any(engine.results(first))


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_neighbour_stays_apart_and_a_database_shows_why(name, engine):
    first, second = NEIGHBOURS[name]
    assert relation(first, second, "mysql", engine.schema) in {"undecided", "different"}
    assert engine.results(first) != engine.results(second)


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_no_day_is_left_alone(name, engine):
    assert relation(*UNKNOWN[name], "mysql", engine.schema) in {"undecided", "different"}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_other_dialects_are_left_alone(dialect):
    first = "SELECT id FROM visits WHERE YEAR(day) = 2020"
    second = "SELECT id FROM visits WHERE day >= '2020-01-01' AND day < '2021-01-01'"
    schema = "CREATE TABLE visits (id INTEGER PRIMARY KEY, day TEXT)"
    assert compare_sql(first, second, dialect=dialect, schema=schema).relation == "undecided"
