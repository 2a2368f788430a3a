"""Conditions as numbers and CASE by what it chooses: the pairs that are joined and the neighbours that are not."""
# ruff: noqa: E501  (a query is one line, so that a pair can be read side by side)

import pytest

from canon.schema import Column
from tests.canon.sql.identities.executed_pairs import Engine, relation

DDL = """
CREATE TABLE trips (id INT PRIMARY KEY, rider INT NOT NULL, status ENUM('done', 'lost', 'void') NOT NULL, fare INT NOT NULL,
  tip INT, mood ENUM('good', 'bad'));
"""

JOINED = {
    "sum of a condition": ("SELECT rider, SUM(status = 'done') FROM trips GROUP BY rider",
                           "SELECT rider, COUNT(CASE WHEN status = 'done' THEN 1 END) FROM trips GROUP BY rider"),
    "sum of nothing": ("SELECT IFNULL(SUM(status = 'done'), 0) FROM trips",
                       "SELECT COUNT(CASE WHEN status = 'done' THEN id END) FROM trips"),
    "sum of an unknown condition": ("SELECT rider, IFNULL(SUM(tip > 1), 0) FROM trips GROUP BY rider",
                                    "SELECT rider, SUM(CASE WHEN tip > 1 THEN 1 ELSE 0 END) FROM trips GROUP BY rider"),
    "having a sum": ("SELECT rider FROM trips GROUP BY rider HAVING SUM(tip > 1) > 0",
                     "SELECT rider FROM trips GROUP BY rider HAVING COUNT(CASE WHEN tip > 1 THEN 1 END) >= 1"),
    "average of a condition": ("SELECT rider, AVG(status = 'done') FROM trips GROUP BY rider",
                               "SELECT rider, SUM(IF(status = 'done', 1, 0)) / COUNT(*) FROM trips GROUP BY rider"),
    "product with a condition": ("SELECT rider, SUM((status = 'done') * fare) FROM trips GROUP BY rider",
                                 "SELECT rider, SUM(CASE WHEN status = 'done' THEN fare ELSE 0 END) FROM trips GROUP BY rider"),
    "group of one": ("SELECT rider FROM trips GROUP BY rider HAVING COUNT(*) <> 1",
                     "SELECT rider FROM trips GROUP BY rider HAVING COUNT(*) > 1"),
    "the other values": ("SELECT id FROM trips WHERE status <> 'done'", "SELECT id FROM trips WHERE status IN ('lost', 'void')"),
    "values that begin so": ("SELECT id FROM trips WHERE mood LIKE 'g%'", "SELECT id FROM trips WHERE mood <> 'bad'"),
    "branches turned": ("SELECT id, CASE WHEN fare > 2 THEN 'dear' ELSE 'cheap' END FROM trips",
                        "SELECT id, CASE WHEN fare <= 2 THEN 'cheap' ELSE 'dear' END FROM trips"),
    "branches turned, with NULL": ("SELECT id, IF(tip > 2, 'a', 'b') FROM trips",
                                   "SELECT id, IF(tip <= 2 OR tip IS NULL, 'b', 'a') FROM trips"),
    "steps in another order": ("SELECT id, CASE WHEN fare > 3 THEN fare * 3 WHEN fare > 1 THEN fare * 2 ELSE fare END FROM trips",
                               "SELECT id, CASE WHEN fare <= 1 THEN fare WHEN fare <= 3 THEN fare * 2 ELSE fare * 3 END FROM trips"),
    "nested choices": ("SELECT id, IF(fare > 1, IF(tip > 1, 'y', 'n'), 'n') FROM trips",
                       "SELECT id, CASE WHEN tip > 1 AND fare > 1 THEN 'y' ELSE 'n' END FROM trips"),
    "a sign": ("SELECT rider, SUM(IF(mood = 'bad', -1 * fare, fare)) FROM trips GROUP BY rider",
               "SELECT rider, SUM(CASE WHEN mood = 'bad' THEN -fare ELSE fare END) FROM trips GROUP BY rider"),
    "difference of sums": ("SELECT rider, SUM(IF(status = 'done', fare, 0)) - SUM(IF(status = 'lost', fare, 0)) FROM trips GROUP BY rider",
                           "SELECT rider, SUM(CASE status WHEN 'done' THEN fare WHEN 'lost' THEN -fare ELSE 0 END) FROM trips GROUP BY rider"),
}  # fmt: skip

NEIGHBOURS = {
    "sum over nothing is NULL": ("SELECT SUM(status = 'done') FROM trips WHERE fare > 99",
                                 "SELECT COUNT(CASE WHEN status = 'done' THEN 1 END) FROM trips WHERE fare > 99"),
    "unknown is not counted by an average": ("SELECT rider, AVG(tip > 1) FROM trips GROUP BY rider",
                                             "SELECT rider, COUNT(CASE WHEN tip > 1 THEN 1 END) / COUNT(*) FROM trips GROUP BY rider"),
    "unknown sum": ("SELECT rider, SUM(tip > 1) FROM trips GROUP BY rider",
                    "SELECT rider, COUNT(CASE WHEN tip > 1 THEN 1 END) FROM trips GROUP BY rider"),
    "sum of zero": ("SELECT rider FROM trips GROUP BY rider HAVING SUM(tip > 1) = 0",
                    "SELECT rider FROM trips GROUP BY rider HAVING COUNT(CASE WHEN tip > 1 THEN 1 END) = 0"),
    "product with an unknown": ("SELECT rider, SUM((tip > 1) * fare) FROM trips GROUP BY rider",
                                "SELECT rider, SUM(CASE WHEN tip > 1 THEN fare ELSE 0 END) FROM trips GROUP BY rider"),
    "an empty table has no group": ("SELECT COUNT(*) FROM trips HAVING COUNT(*) <> 1",
                                    "SELECT COUNT(*) FROM trips HAVING COUNT(*) > 1"),
    "a nullable value may be none of them": ("SELECT id FROM trips WHERE mood = 'good' OR mood = 'bad'", "SELECT id FROM trips"),
    "NULL goes to ELSE": ("SELECT id, IF(tip > 2, 'a', 'b') FROM trips", "SELECT id, IF(tip <= 2, 'b', 'a') FROM trips"),
    "first branch wins": ("SELECT id, CASE WHEN fare > 1 THEN 'a' WHEN fare > 3 THEN 'b' ELSE 'c' END FROM trips",
                          "SELECT id, CASE WHEN fare > 3 THEN 'b' WHEN fare > 1 THEN 'a' ELSE 'c' END FROM trips"),
    "inner ELSE": ("SELECT id, IF(fare > 1, IF(tip > 1, 'y', 'n'), 'y') FROM trips",
                   "SELECT id, CASE WHEN tip > 1 AND fare > 1 THEN 'y' ELSE 'n' END FROM trips"),
    "difference of nullable sums": ("SELECT rider, SUM(IF(status = 'done', tip, 0)) - SUM(IF(status = 'lost', tip, 0)) FROM trips GROUP BY rider",
                                    "SELECT rider, SUM(CASE status WHEN 'done' THEN tip WHEN 'lost' THEN -tip END) FROM trips GROUP BY rider"),
}  # fmt: skip


def _draw(rng, column: Column) -> object:
    if column.values is not None:
        return rng.choice(column.values)
    return rng.randrange(40 if column.name == "id" else 3 if column.name == "rider" else 6)


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


def test_literals_that_a_collation_takes_as_one_are_left_alone(engine):
    first = "SELECT id, CASE WHEN status = 'a' THEN 1 WHEN status = 'A' THEN 2 ELSE 3 END FROM t"
    second = "SELECT id, CASE WHEN status = 'A' THEN 2 WHEN status = 'a' THEN 1 ELSE 3 END FROM t"
    from canon.sql import read_schema

    schema = read_schema("CREATE TABLE t (id INT PRIMARY KEY, status VARCHAR(9))", "mysql")
    assert relation(first, second, "mysql", schema) == "undecided"
