"""Windows, subqueries of one value and extremes: the pairs that are joined and the neighbours that are not."""
# ruff: noqa: E501  (a query is one line, so that a pair can be read side by side)

import pytest

from canon.schema import Column
from tests.canon.sql.identities.executed_pairs import Engine, relation

DDL = """
CREATE TABLE staff (id INT PRIMARY KEY, dept INT NOT NULL, pay INT NOT NULL, bonus INT, team INT);
CREATE TABLE logins (player INT, day INT, device INT NOT NULL, PRIMARY KEY (player, day));
"""

JOINED = {
    "aggregate of the partition": ("SELECT DISTINCT dept, MAX(pay) OVER (PARTITION BY dept) FROM staff",
                                   "SELECT dept, MAX(pay) FROM staff GROUP BY dept"),
    "first value": ("SELECT DISTINCT dept, FIRST_VALUE(pay) OVER (PARTITION BY dept ORDER BY pay) FROM staff",
                    "SELECT dept, MIN(pay) FROM staff GROUP BY dept"),
    "window as a subquery": ("SELECT id, SUM(pay) OVER (PARTITION BY dept) FROM staff",
                             "SELECT id, (SELECT SUM(x.pay) FROM staff x WHERE x.dept = s.dept) FROM staff s"),
    "running sum": ("SELECT id, SUM(bonus) OVER (PARTITION BY dept ORDER BY pay) FROM staff",
                    "SELECT id, (SELECT SUM(x.bonus) FROM staff x WHERE x.dept = s.dept AND x.pay <= s.pay) FROM staff s"),
    "dense rank": ("SELECT id, DENSE_RANK() OVER (ORDER BY pay DESC) FROM staff",
                   "SELECT s.id, (SELECT COUNT(DISTINCT x.pay) FROM staff x WHERE x.pay >= s.pay) FROM staff s"),
    "rank": ("SELECT id, RANK() OVER (PARTITION BY dept ORDER BY pay) FROM staff",
             "SELECT s.id, 1 + (SELECT COUNT(*) FROM staff x WHERE x.dept = s.dept AND x.pay < s.pay) FROM staff s"),
    "filtered partition aggregate": ("SELECT id FROM (SELECT id, pay, AVG(pay) OVER (PARTITION BY dept) a FROM staff) t WHERE pay > a",
                                     "SELECT id FROM staff s WHERE pay > (SELECT AVG(pay) FROM staff x WHERE x.dept = s.dept)"),
    "one value membership": ("SELECT id FROM staff WHERE pay IN (SELECT MAX(pay) FROM staff)",
                             "SELECT id FROM staff WHERE pay = (SELECT MAX(pay) FROM staff)"),
    "first of an order": ("SELECT id FROM staff WHERE bonus = (SELECT bonus FROM staff ORDER BY bonus DESC LIMIT 1)",
                          "SELECT id FROM staff WHERE bonus = (SELECT MAX(bonus) FROM staff)"),
    "first group of an order": ("SELECT dept FROM staff GROUP BY dept HAVING COUNT(*) = (SELECT COUNT(*) FROM staff GROUP BY dept ORDER BY COUNT(*) DESC LIMIT 1)",
                                "SELECT dept FROM staff GROUP BY dept HAVING COUNT(*) = (SELECT MAX(n) FROM (SELECT COUNT(*) n FROM staff GROUP BY dept) t)"),
    "first rank of groups": ("SELECT dept FROM (SELECT dept, RANK() OVER (ORDER BY COUNT(*) DESC) r FROM staff GROUP BY dept) t WHERE r = 1",
                             "SELECT dept FROM staff GROUP BY dept HAVING COUNT(*) = (SELECT MAX(n) FROM (SELECT COUNT(*) n FROM staff GROUP BY dept) t)"),
    "selected value": ("SELECT (SELECT MAX(bonus) FROM staff)", "SELECT MAX(bonus) FROM staff"),
    "below the greatest": ("SELECT MAX(bonus) FROM staff WHERE bonus < (SELECT MAX(bonus) FROM staff)",
                           "SELECT MAX(a.bonus) FROM staff a JOIN staff b ON a.bonus < b.bonus"),
    "not the greatest": ("SELECT id FROM staff WHERE bonus <> (SELECT MAX(bonus) FROM staff)",
                         "SELECT id FROM staff WHERE bonus < (SELECT MAX(bonus) FROM staff)"),
    "row of the first": ("SELECT l.player, l.day FROM logins l JOIN (SELECT player, MIN(day) m FROM logins GROUP BY player) t ON t.player = l.player AND t.m = l.day",
                         "SELECT player, MIN(day) FROM logins GROUP BY player"),
    "first by rank": ("SELECT player, day FROM (SELECT player, day, RANK() OVER (PARTITION BY player ORDER BY day) r FROM logins) t WHERE r = 1",
                      "SELECT player, MIN(day) FROM logins GROUP BY player"),
    "order by a rank": ("SELECT pay, DENSE_RANK() OVER (ORDER BY pay DESC) r FROM staff ORDER BY r",
                        "SELECT pay, DENSE_RANK() OVER (ORDER BY pay DESC) FROM staff ORDER BY pay DESC"),
}  # fmt: skip

NEIGHBOURS = {
    "partition of NULL": ("SELECT id, SUM(pay) OVER (PARTITION BY team) FROM staff",
                          "SELECT id, (SELECT SUM(x.pay) FROM staff x WHERE x.team = s.team) FROM staff s"),
    "running sum and whole sum": ("SELECT id, SUM(pay) OVER (PARTITION BY dept ORDER BY pay) FROM staff",
                                  "SELECT id, SUM(pay) OVER (PARTITION BY dept) FROM staff"),
    "rank and dense rank": ("SELECT id, RANK() OVER (ORDER BY pay) FROM staff", "SELECT id, DENSE_RANK() OVER (ORDER BY pay) FROM staff"),
    "rank with NULL": ("SELECT id, RANK() OVER (ORDER BY bonus DESC) FROM staff",
                       "SELECT s.id, 1 + (SELECT COUNT(*) FROM staff x WHERE x.bonus > s.bonus) FROM staff s"),
    "first value may be NULL": ("SELECT DISTINCT dept, FIRST_VALUE(bonus) OVER (PARTITION BY dept ORDER BY bonus) FROM staff",
                                "SELECT dept, MIN(bonus) FROM staff GROUP BY dept"),
    "window beside a row": ("SELECT DISTINCT id, MAX(pay) OVER (PARTITION BY dept) FROM staff",
                            "SELECT dept, MAX(pay) FROM staff GROUP BY dept"),
    "smallest of nullable": ("SELECT id FROM staff WHERE pay > (SELECT bonus FROM staff ORDER BY bonus LIMIT 1)",
                             "SELECT id FROM staff WHERE pay > (SELECT MIN(bonus) FROM staff)"),
    "first row and greatest": ("SELECT bonus FROM staff ORDER BY bonus DESC LIMIT 1", "SELECT MAX(bonus) FROM staff"),
    "second of an order": ("SELECT id FROM staff WHERE pay = (SELECT pay FROM staff ORDER BY pay DESC LIMIT 1 OFFSET 1)",
                           "SELECT id FROM staff WHERE pay = (SELECT MAX(pay) FROM staff)"),
    "greatest of some": ("SELECT id FROM staff WHERE pay <> (SELECT MAX(pay) FROM staff WHERE dept = 1)",
                         "SELECT id FROM staff WHERE pay < (SELECT MAX(pay) FROM staff WHERE dept = 1)"),
    "greatest and all": ("SELECT id FROM staff WHERE pay >= ALL (SELECT bonus FROM staff)",
                         "SELECT id FROM staff WHERE pay >= (SELECT MAX(bonus) FROM staff)"),
    "rows of a tied extreme": ("SELECT s.dept, s.pay FROM staff s JOIN (SELECT dept, MIN(pay) m FROM staff GROUP BY dept) t ON t.dept = s.dept AND t.m = s.pay",
                               "SELECT dept, MIN(pay) FROM staff GROUP BY dept"),
    "extreme of another column": ("SELECT l.player, l.day FROM logins l JOIN (SELECT player, MIN(device) m FROM logins GROUP BY player) t ON t.player = l.player AND t.m = l.device",
                                  "SELECT player, MIN(day) FROM logins GROUP BY player"),
    "row number of ties": ("SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY dept ORDER BY pay DESC) r FROM staff) t WHERE r <= 2",
                           "SELECT id FROM (SELECT id, RANK() OVER (PARTITION BY dept ORDER BY pay DESC) r FROM staff) t WHERE r <= 2"),
}  # fmt: skip


def _draw(rng, column: Column) -> object:
    return rng.randrange(40 if column.name == "id" else 3 if column.name in {"dept", "team", "player"} else 5)


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
