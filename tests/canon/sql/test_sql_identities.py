"""Each identity: the pairs that it joins, the neighbours that it must not; both are executed on random databases."""

import random
import sqlite3

import pytest

from canon.rules import Rules
from canon.sql import compare_sql, read_schema

DDL = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, email TEXT UNIQUE);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id),
  total INTEGER, status TEXT NOT NULL, coupon_id INTEGER REFERENCES coupons (id));
CREATE TABLE items (order_id INTEGER NOT NULL REFERENCES orders (id), sku TEXT NOT NULL, qty INTEGER);
CREATE TABLE coupons (id INTEGER PRIMARY KEY, code TEXT);
"""
SCHEMA = read_schema(DDL, "sqlite")
STRICT = Rules(columns="ordered")

JOINED = {
    "aliases and join order": (
        "SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id",
        "SELECT a.name, b.total FROM orders AS b, customers AS a WHERE a.id = b.customer_id",
    ),
    "right join is a left join": (
        "SELECT c.name, o.total FROM customers c LEFT JOIN orders o ON o.customer_id = c.id",
        "SELECT c.name, o.total FROM orders o RIGHT JOIN customers c ON o.customer_id = c.id",
    ),
    "between": (
        "SELECT id FROM orders WHERE total BETWEEN 1 AND 3",
        "SELECT id FROM orders WHERE 3 >= total AND total > 0",
    ),
    "de morgan": (
        "SELECT id FROM orders WHERE NOT (total > 1 OR status = 'a')",
        "SELECT id FROM orders WHERE total <= 1 AND status <> 'a'",
    ),
    "in list": (
        "SELECT id FROM orders WHERE total NOT IN (1, 2, 1)",
        "SELECT id FROM orders WHERE total <> 2 AND total <> 1",
    ),
    "absorption": (
        "SELECT id FROM orders WHERE total = 1 OR (total = 1 AND status = 'a')",
        "SELECT id FROM orders WHERE total = 1",
    ),
    "common factor": (
        "SELECT id FROM orders WHERE (status = 'a' AND total = 1) OR (status = 'a' AND total = 2)",
        "SELECT id FROM orders WHERE status = 'a' AND total IN (1, 2)",
    ),
    "quoted string": ('SELECT id FROM orders WHERE status = "a"', "SELECT id FROM orders WHERE status = 'a'"),
    "literal takes the type of its column": (
        "SELECT id FROM orders WHERE total = '2' AND status = 1",
        "SELECT id FROM orders WHERE total = 2 AND status = '1'",
    ),
    "null test": (
        "SELECT id FROM orders WHERE total IS NOT NULL AND total > 1 AND status IS NOT NULL",
        "SELECT id FROM orders WHERE total > 1",
    ),
    "null-safe equality": (
        "SELECT id FROM orders WHERE total IS NOT 1",
        "SELECT id FROM orders WHERE total <> 1 OR total IS NULL",
    ),
    "coalesce": (
        "SELECT id FROM orders WHERE COALESCE(total, 0) = 0",
        "SELECT id FROM orders WHERE total = 0 OR total IS NULL",
    ),
    "case as a condition": (
        "SELECT id FROM orders WHERE CASE WHEN total > 2 THEN 1 ELSE 0 END = 1",
        "SELECT id FROM orders WHERE total > 2",
    ),
    "integer arithmetic": ("SELECT id FROM orders WHERE total + 1 > 3", "SELECT id FROM orders WHERE 3 <= total"),
    "congruence": (
        "SELECT o.customer_id, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id "
        "WHERE c.name = 'a' GROUP BY o.customer_id",
        "SELECT c.id, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.name = 'a' GROUP BY c.id",
    ),
    "outer join as inner join": (
        "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.total > 1",
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.total > 1",
    ),
    "outer join along a foreign key": (
        "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer_id = c.id",
        "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer_id = c.id",
    ),
    "unused outer join": (
        "SELECT o.id FROM orders o LEFT JOIN coupons p ON o.coupon_id = p.id",
        "SELECT id FROM orders",
    ),
    "unused parent": (
        "SELECT o.total FROM orders o JOIN customers c ON o.customer_id = c.id",
        "SELECT total FROM orders",
    ),
    "unused parent of a nullable key": (
        "SELECT o.total FROM orders o JOIN coupons p ON o.coupon_id = p.id",
        "SELECT total FROM orders WHERE coupon_id IS NOT NULL",
    ),
    "self-join on a key": (
        "SELECT a.total FROM orders a JOIN orders b ON a.id = b.id WHERE b.status = 'a'",
        "SELECT total FROM orders WHERE status = 'a'",
    ),
    "in, exists, join on a key": (
        "SELECT o.id FROM orders o WHERE o.customer_id IN (SELECT id FROM customers WHERE country = 'a')",
        "SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.country = 'a'",
    ),
    "in is exists": (
        "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE total > 1)",
        "SELECT name FROM customers c WHERE EXISTS (SELECT * FROM orders WHERE customer_id = c.id AND total > 1)",
    ),
    "semijoin by distinct": (
        "SELECT DISTINCT c.id, c.name FROM customers c JOIN orders o ON o.customer_id = c.id",
        "SELECT id, name FROM customers WHERE id IN (SELECT customer_id FROM orders)",
    ),
    "not in, not exists, anti-join, except": (
        "SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
        "SELECT id FROM customers EXCEPT SELECT customer_id FROM orders",
    ),
    "anti-join": (
        "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL",
        "SELECT c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)",
    ),
    "grouped membership": (
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id HAVING COUNT(*) > 1",
        "SELECT name FROM customers "
        "WHERE id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) >= 2)",
    ),
    "derived table": (
        "SELECT t.name FROM (SELECT name, country FROM customers) t WHERE t.country = 'a'",
        "SELECT name FROM customers WHERE country = 'a'",
    ),
    "cte": (
        "WITH t AS (SELECT name, country FROM customers) SELECT name FROM t WHERE country = 'a'",
        "SELECT name FROM customers WHERE country = 'a'",
    ),
    "filter over a grouping": (
        "SELECT k FROM (SELECT customer_id k, COUNT(*) n FROM orders GROUP BY customer_id) t WHERE n > 1",
        "SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 1",
    ),
    "having on a key": (
        "SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id HAVING customer_id > 1",
        "SELECT customer_id, COUNT(*) FROM orders WHERE customer_id > 1 GROUP BY customer_id",
    ),
    "determined group key": (
        "SELECT c.id, c.name, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name",
        "SELECT c.id, c.name, COUNT(o.id) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id",
    ),
    "grouping is distinct": (
        "SELECT country FROM customers GROUP BY country",
        "SELECT DISTINCT country FROM customers",
    ),
    "distinct over a key": ("SELECT DISTINCT id, name FROM customers", "SELECT id, name FROM customers"),
    "count of a key": ("SELECT COUNT(DISTINCT id) FROM orders", "SELECT COUNT(*) FROM orders"),
    "count of what a filter keeps from NULL": (
        "SELECT COUNT(total) FROM orders WHERE total > 1",
        "SELECT COUNT(*) FROM orders WHERE total > 1",
    ),
    "conditional count": (
        "SELECT customer_id, SUM(CASE WHEN total > 1 THEN 1 ELSE 0 END) FROM orders GROUP BY customer_id",
        "SELECT customer_id, COUNT(*) FILTER (WHERE total > 1) FROM orders GROUP BY customer_id",
    ),
    "one-row group": ("SELECT id, MAX(total) FROM orders GROUP BY id", "SELECT id, total FROM orders"),
    "union as or": (
        "SELECT id FROM orders WHERE total > 2 UNION SELECT id FROM orders WHERE status = 'a'",
        "SELECT id FROM orders WHERE total > 2 OR status = 'a'",
    ),
    "union commutes": (
        "SELECT name FROM customers UNION SELECT DISTINCT code FROM coupons",
        "SELECT code FROM coupons UNION SELECT name FROM customers",
    ),
    "intersect over a key": (
        "SELECT id FROM orders WHERE total > 0 INTERSECT SELECT id FROM orders WHERE status = 'a'",
        "SELECT id FROM orders WHERE total > 0 AND status = 'a'",
    ),
    "no greater row": (
        "SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM customers x WHERE x.name > c.name)",
        "SELECT id FROM customers WHERE name = (SELECT MAX(name) FROM customers)",
    ),
    "first rank": (
        "SELECT id FROM (SELECT id, RANK() OVER (PARTITION BY customer_id ORDER BY status DESC) r FROM orders) "
        "WHERE r = 1",
        "SELECT id FROM orders o WHERE status = (SELECT MAX(status) FROM orders x WHERE x.customer_id = o.customer_id)",
    ),
    "scalar by key": (
        "SELECT o.id FROM orders o WHERE o.total > (SELECT p.id FROM coupons p WHERE p.id = o.coupon_id)",
        "SELECT o.id FROM orders o JOIN coupons p ON p.id = o.coupon_id WHERE o.total > p.id",
    ),
    "percentage": (
        "SELECT CAST(SUM(CASE WHEN total > 1 THEN 1 ELSE 0 END) AS REAL) * 100 / COUNT(*) FROM orders",
        "SELECT COUNT(CASE WHEN total > 1 THEN 1 END) * 100.0 / COUNT(*) FROM orders",
    ),
    "average": ("SELECT SUM(total) * 1.0 / COUNT(total) FROM orders", "SELECT AVG(total) FROM orders"),
    "single-row table": (
        "SELECT o.id FROM orders o, (SELECT AVG(total) a FROM orders) m WHERE o.total > m.a",
        "SELECT id FROM orders WHERE total > (SELECT AVG(total) FROM orders)",
    ),
    "ordinals and aliases": (
        "SELECT status s, COUNT(*) n FROM orders GROUP BY 1 ORDER BY n DESC, 1",
        "SELECT status, COUNT(*) FROM orders GROUP BY status ORDER BY COUNT(*) DESC, status ASC",
    ),
    "using": (
        "SELECT a.total FROM orders a JOIN orders b USING (customer_id)",
        "SELECT a.total FROM orders a JOIN orders b ON a.customer_id = b.customer_id",
    ),
}

NEIGHBOURS = {
    "bound": ("SELECT id FROM orders WHERE total > 1", "SELECT id FROM orders WHERE total >= 1"),
    "between swapped": (
        "SELECT id FROM orders WHERE total BETWEEN 1 AND 3",
        "SELECT id FROM orders WHERE total BETWEEN 3 AND 1",
    ),
    "or of not equals": (
        "SELECT id FROM orders WHERE total NOT IN (1, 2)",
        "SELECT id FROM orders WHERE total <> 1 OR total <> 2",
    ),
    "excluded middle": ("SELECT id FROM orders WHERE total = 1 OR total <> 1", "SELECT id FROM orders"),
    "reflexive": ("SELECT id FROM orders WHERE total = total", "SELECT id FROM orders"),
    "count of a nullable column": ("SELECT COUNT(total) FROM orders", "SELECT COUNT(*) FROM orders"),
    "left is not inner": (
        "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id",
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id",
    ),
    "on is not where": (
        "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.total > 1",
        "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.total > 1",
    ),
    "not in over nullable": (
        "SELECT id FROM coupons WHERE id NOT IN (SELECT coupon_id FROM orders)",
        "SELECT id FROM coupons p WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.coupon_id = p.id)",
    ),
    "union all": (
        "SELECT status FROM orders UNION SELECT name FROM customers",
        "SELECT status FROM orders UNION ALL SELECT name FROM customers",
    ),
    "distinct on a non-key": ("SELECT DISTINCT status FROM orders", "SELECT status FROM orders"),
    "nullable parent": (
        "SELECT o.total FROM orders o JOIN coupons p ON o.coupon_id = p.id",
        "SELECT total FROM orders",
    ),
    "join of a child": (
        "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id",
        "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders)",
    ),
    "empty sum": (
        "SELECT SUM(CASE WHEN total > 1 THEN 1 ELSE 0 END) FROM orders",
        "SELECT COUNT(CASE WHEN total > 1 THEN 1 END) FROM orders",
    ),
    "having on an aggregate": (
        "SELECT customer_id FROM orders GROUP BY customer_id HAVING MAX(total) > 1",
        "SELECT customer_id FROM orders WHERE total > 2 GROUP BY customer_id",
    ),
    "average of nullable": ("SELECT SUM(total) * 1.0 / COUNT(*) FROM orders", "SELECT AVG(total) FROM orders"),
    "integer division": ("SELECT total / 2 * 2 FROM orders", "SELECT total * 2 / 2 FROM orders"),
    "concatenation order": ("SELECT name || country FROM customers", "SELECT country || name FROM customers"),
    "group by another key": (
        "SELECT COUNT(*) FROM orders GROUP BY status",
        "SELECT COUNT(*) FROM orders GROUP BY customer_id",
    ),
    "except does not commute": (
        "SELECT name FROM customers EXCEPT SELECT code FROM coupons",
        "SELECT code FROM coupons EXCEPT SELECT name FROM customers",
    ),
    "case with NULL": (
        "SELECT CASE WHEN total > 2 THEN 1 ELSE 0 END FROM orders",
        "SELECT CASE WHEN total <= 2 THEN 0 ELSE 1 END FROM orders",
    ),
    "another column": ("SELECT name FROM customers WHERE country = 'a'", "SELECT name FROM customers WHERE name = 'a'"),
    "max of nothing": (
        "SELECT id FROM customers WHERE name >= (SELECT MAX(name) FROM customers WHERE country = 'z')",
        "SELECT id FROM customers c "
        "WHERE NOT EXISTS (SELECT 1 FROM customers x WHERE x.country = 'z' AND x.name > c.name)",
    ),
    "limit": ("SELECT id FROM orders ORDER BY id LIMIT 2", "SELECT id FROM orders ORDER BY id LIMIT 1"),
    "offset": ("SELECT id FROM orders ORDER BY id LIMIT 2", "SELECT id FROM orders ORDER BY id LIMIT 2 OFFSET 1"),
    "direction": ("SELECT id FROM orders ORDER BY id", "SELECT id FROM orders ORDER BY id DESC"),
}

UNLIKE = {
    "star is no list": ("SELECT * FROM coupons", "SELECT id, code FROM coupons"),
    "order present": ("SELECT id FROM orders ORDER BY total", "SELECT id FROM orders"),
    "order of keys": ("SELECT id FROM orders ORDER BY total, status", "SELECT id FROM orders ORDER BY status, total"),
    "random": ("SELECT id FROM orders WHERE random() > 0", "SELECT id FROM orders WHERE random() > 0"),
    "no clock": (
        "SELECT id FROM orders WHERE status > CURRENT_DATE",
        "SELECT id FROM orders WHERE status > CURRENT_DATE",
    ),
    "tie at the limit": (
        "SELECT id FROM orders ORDER BY total DESC LIMIT 1",
        "SELECT id FROM orders WHERE total = (SELECT MAX(total) FROM orders)",
    ),
    "two contradictions": (
        "SELECT id FROM orders WHERE total = 1 AND total = 2",
        "SELECT id FROM orders WHERE total = 3 AND total = 4",
    ),
    "two tautologies": (
        "SELECT id FROM orders WHERE total IS NULL OR total IS NOT NULL",
        "SELECT id FROM orders WHERE status = 'a' OR status <> 'a'",
    ),
}


def _databases(count: int) -> list[sqlite3.Connection]:
    found = []
    for seed in range(count):
        rng = random.Random(seed)
        db = sqlite3.connect(":memory:")
        db.executescript(DDL)
        names = ["a", "b", "c", "1"]
        people = [(i, rng.choice(names), rng.choice([*names, None]), None) for i in range(rng.choice((0, 1, 3)))]
        coupons = [(i, rng.choice([*names, None])) for i in range(rng.choice((0, 1, 3)))]
        orders = [
            (
                i,
                rng.randrange(len(people)),
                rng.choice([0, 1, 2, 3, None]),
                rng.choice(names),
                rng.choice([None, *range(len(coupons))]),
            )
            for i in range(rng.choice((0, 1, 2, 4, 6)) if people else 0)
        ]
        items = [
            (rng.randrange(len(orders)), rng.choice(names), rng.choice([1, 2, None]))
            for _ in range(rng.choice((0, 3)) if orders else 0)
        ]
        db.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", people)
        db.executemany("INSERT INTO coupons VALUES (?, ?)", coupons)
        db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", orders)
        db.executemany("INSERT INTO items VALUES (?, ?, ?)", items)
        found.append(db)
    return found


@pytest.fixture(scope="module")
def databases():
    opened = _databases(60)
    yield opened
    for db in opened:
        db.close()


def _rows(db: sqlite3.Connection, query: str) -> list[tuple]:
    rows = db.execute(query).fetchall()
    return rows if "ORDER BY" in query and "LIMIT" not in query and "OVER" not in query else sorted(rows, key=repr)


@pytest.mark.parametrize("name", JOINED)
def test_the_identity_joins_its_pair_and_both_sides_give_the_same_rows(name, databases):
    first, second = JOINED[name]
    for ours, theirs in ((first, second), (second, first)):
        verdict = compare_sql(ours, theirs, dialect="sqlite", schema=SCHEMA, rules=STRICT)
        assert verdict.relation == "equivalent", verdict
    for db in databases:
        assert _rows(db, first) == _rows(db, second)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_neighbour_stays_apart_and_a_database_shows_why(name, databases):
    first, second = NEIGHBOURS[name]
    for ours, theirs in ((first, second), (second, first)):
        verdict = compare_sql(ours, theirs, dialect="sqlite", schema=SCHEMA, rules=STRICT)
        assert verdict.relation in {"different", "undecided"}, verdict
        assert verdict.differences
        assert getattr(verdict, "problem", None) is None
    assert any(_rows(db, first) != _rows(db, second) for db in databases)


@pytest.mark.parametrize("name", UNLIKE)
def test_what_is_never_absorbed_stays_apart(name):
    first, second = UNLIKE[name]
    verdict = compare_sql(first, second, dialect="sqlite", schema=SCHEMA, rules=STRICT)
    assert verdict.relation == "undecided"
    assert verdict.differences


@pytest.mark.parametrize("name", [*JOINED, *NEIGHBOURS])
def test_a_query_is_identical_to_itself_and_its_fingerprint_is_stable(name):
    from canon.sql import read_sql

    for query in {**JOINED, **NEIGHBOURS}[name]:
        assert compare_sql(query, f" {query} ;\n", dialect="sqlite", schema=SCHEMA).relation == "identical"
        first = read_sql(query, dialect="sqlite", schema=SCHEMA).fingerprint()
        assert first == read_sql(query.replace(" FROM ", "  FROM\n"), dialect="sqlite", schema=SCHEMA).fingerprint()
        assert len(first) == 32


def test_vacuous_pairs_say_so():
    for name in ("two contradictions", "two tautologies"):
        first, second = UNLIKE[name]
        verdict = compare_sql(first, second, dialect="sqlite", schema=SCHEMA)
        assert [difference.kind for difference in verdict.differences] == ["vacuous"]
