"""Witnesses for MySQL, PostgreSQL and DuckDB, on the engines at hand."""

from datetime import UTC, datetime

import pytest

from canon.verdict import RowWitness
from harness.witness.search import NotFound, find_witness

NOW = datetime(2026, 7, 14, 9, tzinfo=UTC)
MYSQL = """
CREATE TABLE Employee (id INT PRIMARY KEY, name VARCHAR(40), salary INT, departmentId INT);
CREATE TABLE Activity (player_id INT, event_date DATE, games INT, PRIMARY KEY (player_id, event_date));
CREATE TABLE Visits (visit_id INT PRIMARY KEY, user_id INT, at DATETIME);
"""
POSTGRES = """
CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL, vip boolean NOT NULL, tags text[]);
CREATE TABLE orders (
    id serial PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers (id), total numeric(10,2), qty integer,
    status text NOT NULL CHECK (status IN ('NEW', 'PAID', 'VOID')), placed_at timestamp NOT NULL
);
"""

MYSQL_DIFFERENT = {
    "nothing and NULL": (
        "SELECT MAX(salary) FROM Employee WHERE salary < (SELECT MAX(salary) FROM Employee)",
        "SELECT DISTINCT salary FROM Employee ORDER BY salary DESC LIMIT 1, 1",
    ),
    "the day before": (
        "SELECT a.player_id FROM Activity a JOIN Activity b ON DATEDIFF(a.event_date, b.event_date) = 1",
        "SELECT a.player_id FROM Activity a JOIN Activity b ON DATEDIFF(b.event_date, a.event_date) = 1",
    ),
    "days back": (
        "SELECT event_date FROM Activity WHERE event_date BETWEEN "
        "DATE_SUB('2019-7-27', INTERVAL 30 DAY) AND '2019-07-27'",
        "SELECT event_date FROM Activity WHERE DATEDIFF('2019-07-27', event_date) BETWEEN 0 AND 29",
    ),
    "the year's last day": (
        "SELECT user_id FROM Visits WHERE YEAR(at) = 2020",
        "SELECT user_id FROM Visits WHERE at >= '2020-01-01' AND at <= '2020-12-31'",
    ),
    "ALL and LIMIT": (
        "SELECT departmentId FROM Employee GROUP BY departmentId HAVING COUNT(*) >= ALL "
        "(SELECT COUNT(*) FROM Employee GROUP BY departmentId)",
        "SELECT departmentId FROM Employee GROUP BY departmentId ORDER BY COUNT(*) DESC LIMIT 1",
    ),
    "rank and dense rank": (
        "SELECT name FROM (SELECT name, RANK() OVER (ORDER BY salary DESC) r FROM Employee) t WHERE r <= 2",
        "SELECT name FROM (SELECT name, DENSE_RANK() OVER (ORDER BY salary DESC) r FROM Employee) t WHERE r <= 2",
    ),
    "joined texts": (
        "SELECT GROUP_CONCAT(DISTINCT name ORDER BY name) FROM Employee",
        "SELECT GROUP_CONCAT(name ORDER BY name) FROM Employee",
    ),
    "division": ("SELECT salary / 2 FROM Employee", "SELECT salary DIV 2 FROM Employee"),
}
MYSQL_SAME = {
    "month by text": (
        "SELECT user_id FROM Visits WHERE YEAR(at) = 2020 AND MONTH(at) = '06'",
        "SELECT user_id FROM Visits WHERE DATE_FORMAT(at, '%Y-%m') = '2020-06'",
    ),
    "case of a text": ("SELECT id FROM Employee WHERE name = 'Ana'", "SELECT id FROM Employee WHERE name = 'ANA'"),
    "conditional sums": (
        "SELECT SUM(IF(salary > 5, 1, 0)) FROM Employee",
        "SELECT SUM(CASE WHEN salary > 5 THEN 1 ELSE 0 END) FROM Employee",
    ),
    "set of pairs": (
        "SELECT player_id FROM Activity WHERE (player_id, event_date) IN "
        "(SELECT player_id, MIN(event_date) FROM Activity GROUP BY player_id)",
        "SELECT player_id FROM Activity GROUP BY player_id",
    ),
    "ALL and MAX": (
        "SELECT name FROM Employee WHERE salary IS NOT NULL AND salary >= ALL "
        "(SELECT salary FROM Employee WHERE salary IS NOT NULL)",
        "SELECT name FROM Employee WHERE salary = (SELECT MAX(salary) FROM Employee)",
    ),
}
POSTGRES_DIFFERENT = {
    "boundary": ("SELECT id FROM orders WHERE total > 100", "SELECT id FROM orders WHERE total >= 100"),
    "integer division": ("SELECT qty / 2 FROM orders", "SELECT qty / 2.0 FROM orders"),
    "last day of the month": (
        "SELECT id FROM orders WHERE placed_at >= '2026-07-01' AND placed_at < '2026-08-01'",
        "SELECT id FROM orders WHERE placed_at BETWEEN '2026-07-01' AND '2026-07-31'",
    ),
    "case of a pattern": (
        "SELECT id FROM customers WHERE name ILIKE 'a%'",
        "SELECT id FROM customers WHERE name LIKE 'a%'",
    ),
    "any and all labels": (
        "SELECT id FROM customers WHERE tags && ARRAY['gift', 'rush']",
        "SELECT id FROM customers WHERE tags @> ARRAY['gift', 'rush']",
    ),
    "row number and rank": (
        "SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY placed_at) FROM orders",
        "SELECT id, rank() OVER (PARTITION BY customer_id ORDER BY placed_at) FROM orders",
    ),
}
POSTGRES_SAME = {
    "truncated": (
        "SELECT id FROM orders WHERE placed_at >= '2026-07-01' AND placed_at < '2026-08-01'",
        "SELECT id FROM orders WHERE date_trunc('month', placed_at) = '2026-07-01'",
    ),
    "filtered": (
        "SELECT COUNT(*) FILTER (WHERE vip) FROM customers",
        "SELECT COUNT(CASE WHEN vip THEN 1 END) FROM customers",
    ),
    "states": ("SELECT id FROM orders WHERE status <> 'VOID'", "SELECT id FROM orders WHERE status IN ('NEW', 'PAID')"),
}


@pytest.mark.parametrize("name", MYSQL_DIFFERENT)
def test_mysql_pairs_that_differ_are_refuted(name: str) -> None:
    found = find_witness(*MYSQL_DIFFERENT[name], dialect="mysql", schema=MYSQL, now=NOW)
    assert isinstance(found, RowWitness), found
    assert found.confirmed_on == ("sqlite",)


@pytest.mark.parametrize("name", MYSQL_SAME)
def test_mysql_pairs_that_mean_the_same_are_not(name: str) -> None:
    found = find_witness(*MYSQL_SAME[name], dialect="mysql", schema=MYSQL, now=NOW, budget_ms=400)
    assert isinstance(found, NotFound), found
    assert found.tried > 20


def test_mysql_that_sqlite_cannot_say_is_not_run() -> None:
    found = find_witness(
        "SELECT name, COUNT(*) FROM Employee GROUP BY name WITH ROLLUP",
        "SELECT name, COUNT(*) FROM Employee GROUP BY name",
        dialect="mysql",
        schema=MYSQL,
    )
    assert isinstance(found, NotFound)
    assert found.reason == "not runnable"


@pytest.mark.parametrize("name", POSTGRES_DIFFERENT)
def test_postgres_pairs_that_differ_are_refuted_there_too(name: str, postgres_url: str) -> None:
    found = find_witness(
        *POSTGRES_DIFFERENT[name], dialect="postgres", schema=POSTGRES, now=NOW, postgres=postgres_url, budget_ms=6000
    )
    assert isinstance(found, RowWitness), found
    assert found.confirmed_on[-2:] == ("duckdb", "postgres")


@pytest.mark.parametrize("name", POSTGRES_SAME)
def test_postgres_pairs_that_mean_the_same_are_not(name: str) -> None:
    found = find_witness(*POSTGRES_SAME[name], dialect="postgres", schema=POSTGRES, now=NOW, budget_ms=1000)
    assert isinstance(found, NotFound), found


def test_duckdb_runs_its_own_dialect() -> None:
    found = find_witness(
        "SELECT id FROM t WHERE x > 1",
        "SELECT id FROM t WHERE x > 2",
        dialect="duckdb",
        schema="CREATE TABLE t (id INTEGER, x INTEGER)",
    )
    assert isinstance(found, RowWitness)
    assert found.confirmed_on == ("duckdb",)


def test_a_dialect_without_an_engine_is_not_run() -> None:
    found = find_witness("SELECT 1", "SELECT 2", dialect="snowflake", schema=None)
    assert isinstance(found, NotFound)
    assert found.reason == "not runnable"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
    ],
)
def test_duckdb_reaches_no_file(text: str) -> None:
    found = find_witness(text, "SELECT x FROM t", dialect="duckdb", schema="CREATE TABLE t (x TEXT)", budget_ms=500)
    assert isinstance(found, NotFound)
    assert found.reason == "not runnable"
