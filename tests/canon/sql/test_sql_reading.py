"""Reading: typed problems, bound arguments, clocks, DDL, dialects, and hostile texts within the budget."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from canon.errors import ReadError
from canon.sql import compare_sql, pin_clock, read_schema, read_sql
from canon.sql.compare import INTERNAL

NOW = datetime(2026, 7, 5, 10, 20, 30, tzinfo=UTC)

PROBLEMS = {
    "": "empty",
    " ;\n": "empty",
    "-- nothing": "empty",
    "SELECT 1; SELECT 2": "multiple_statements",
    "SELECT 1; DROP TABLE t": "multiple_statements",
    "DROP TABLE t": "not_a_read",
    "INSERT INTO t SELECT 1": "not_a_read",
    "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x": "not_a_read",
    "SELECT * INTO u FROM t": "not_a_read",
    "EXPLAIN SELECT 1": "not_a_read",
    "selec foo": "unparseable",
    "SELECT 'abc": "unparseable",
    "SELECT FROM WHERE": "unparseable",
    "SELECT 1 \x00": "unparseable",
    "SELECT '\ud800'": "unparseable",
    "SELECT x FROM t WHERE a = $1": "unbound_parameter",
    "SELECT x FROM t WHERE a = %(name)s": "unbound_parameter",
    "SELECT '" + "x" * 1_000_000 + "'": "too_large",
    "SELECT " + "(" * 300 + "1" + ")" * 300: "too_large",
    "SELECT " + "+".join("a" for _ in range(3000)) + " FROM t": "too_large",
}


@pytest.mark.parametrize("text", PROBLEMS, ids=lambda text: repr(text[:40]))
def test_a_text_that_is_no_query_is_a_typed_problem(text):
    with pytest.raises(ReadError) as raised:
        read_sql(text, dialect="postgres")
    assert raised.value.kind == PROBLEMS[text]
    verdict = compare_sql("SELECT 1", text)
    assert (verdict.relation, verdict.problem.kind, verdict.problem.side) == ("undecided", PROBLEMS[text], "actual")


HOSTILE = {
    "ten thousand terms": "SELECT x FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(10_000)),
    "two hundred deep": "SELECT x FROM t WHERE " + "(" * 200 + "a = 1" + ")" * 200,
    "nots": "SELECT x FROM t WHERE " + "NOT " * 200 + "a = 1",
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * 200 + "t" + ") q" * 200,
    "joins": "SELECT t0.a FROM t0 " + " ".join(f"JOIN t{i} ON t{i}.a = t0.a" for i in range(1, 300)),
    "self-joins": "SELECT x0.a FROM t x0 " + " ".join(f"JOIN t x{i} ON x{i}.a = x0.b" for i in range(1, 60)),
    "nested case": "SELECT " + "CASE WHEN a THEN " * 150 + "1" + " END" * 150 + " FROM t",
    "unions": " UNION ALL ".join("SELECT 1" for _ in range(2000)),
    "ctes that double": "WITH a0 AS (SELECT 1 x), "
    + ", ".join(f"a{i} AS (SELECT p.x FROM a{i - 1} p, a{i - 1} q)" for i in range(1, 30))
    + " SELECT * FROM a29",
    "long number": "SELECT x FROM t WHERE a = " + "9" * 5000,
    "unicode": 'SELECT "näme" FROM "täble" WHERE "näme" = \'ß\'',
    "conjunctions of disjunctions": "SELECT x FROM t WHERE "
    + " AND ".join(f"(a{i} = 1 OR b{i} = 2)" for i in range(200)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_queries_get_a_typed_answer(name):
    verdict = compare_sql(HOSTILE[name], "SELECT a FROM t WHERE a = 1")
    assert verdict.relation == "undecided"
    assert verdict.problem is None or (
        verdict.problem.kind in {"too_large", "budget"} and INTERNAL not in verdict.problem.message
    )


@pytest.mark.parametrize(
    ("dialect", "text", "args"),
    [
        ("postgres", "SELECT x FROM t WHERE a = $1 AND b = $2", (5, "z")),
        ("postgres", "SELECT x FROM t WHERE a = %s AND b = %s", (5, "z")),
        ("postgres", "SELECT x FROM t WHERE a = %(a)s AND b = %(b)s", {"a": 5, "b": "z"}),
        ("sqlite", "SELECT x FROM t WHERE a = ? AND b = ?", (5, "z")),
        ("sqlite", "SELECT x FROM t WHERE a = :a AND b = :b", {"a": 5, "b": "z"}),
        ("tsql", "SELECT x FROM t WHERE a = @a AND b = @b", {"a": 5, "b": "z"}),
        ("mysql", "SELECT x FROM t WHERE a = ? AND b = ?", (5, "z")),
    ],
)
def test_bound_arguments_are_inline_literals(dialect, text, args):
    inline = "SELECT x FROM t WHERE b = 'z' AND 5 = a"
    assert compare_sql(text, inline, dialect=dialect, expected_args=args).basis == "canonical"
    other = {"a": 6, "b": "z"} if isinstance(args, dict) else (6, "z")
    assert compare_sql(text, inline, dialect=dialect, expected_args=other).relation == "different"


@pytest.mark.parametrize(
    ("dialect", "text", "folded"),
    [
        ("postgres", "d >= CURRENT_DATE - INTERVAL '30 days'", "d >= '2026-06-05'"),
        ("postgres", "d >= date_trunc('month', now())", "d >= '2026-07-01'"),
        ("postgres", "d < now() - interval '2 hours'", "d < '2026-07-05T08:20:30Z'"),
        ("mysql", "d >= DATE_SUB(CURDATE(), INTERVAL 1 MONTH)", "d >= '2026-06-05'"),
        ("mysql", "d >= NOW()", "d >= '2026-07-05 10:20:30'"),
        ("sqlite", "d >= date('now', '-30 days')", "d >= '2026-06-05'"),
        ("sqlite", "d >= date('now', 'start of month', '-1 month')", "d >= '2026-06-01'"),
        ("tsql", "d >= DATEADD(day, -3, CAST(GETDATE() AS DATE))", "d >= '2026-07-02'"),
    ],
)
def test_clock_calls_fold_at_the_pinned_instant(dialect, text, folded):
    ours, theirs = (f"SELECT x FROM t WHERE {condition}" for condition in (text, folded))
    assert compare_sql(ours, theirs, dialect=dialect, now=NOW).basis == "canonical"
    unpinned = compare_sql(ours, theirs, dialect=dialect)
    assert [difference.kind for difference in unpinned.differences] == ["nondeterministic"]


@pytest.mark.parametrize(
    ("dialect", "text", "pinned"),
    [
        (
            "sqlite",
            "SELECT date('now', '-1 day'), 'now', CURRENT_DATE",
            "SELECT date('2026-07-05 10:20:30', '-1 day'), 'now', '2026-07-05'",
        ),
        ("sqlite", "SELECT date() -- now()", "SELECT date('2026-07-05 10:20:30') -- now()"),
        ("postgres", "SELECT now(), t.now, 'now()'", "SELECT TIMESTAMPTZ '2026-07-05 10:20:30+00', t.now, 'now()'"),
        ("mysql", "SELECT CURDATE()", "SELECT DATE '2026-07-05'"),
        ("postgres", "SELECT a FROM t", "SELECT a FROM t"),
    ],
)
def test_pinning_replaces_clock_calls_and_nothing_else(dialect, text, pinned):
    assert pin_clock(text, dialect=dialect, now=NOW) == pinned


def test_ddl_facts():
    schema = read_schema(
        """CREATE TABLE p (id SERIAL PRIMARY KEY, code VARCHAR(8) UNIQUE, kind BOOLEAN NOT NULL, tags TEXT[]);
        CREATE TABLE c (a INT, b INT, p_id INT REFERENCES p, PRIMARY KEY (a, b), CHECK (a > 0));
        ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES p (id);
        CREATE UNIQUE INDEX i ON c (p_id);""",
        "postgres",
    )
    parent, child = schema.tables
    assert [(c.name, c.type, c.item, c.not_null) for c in parent.columns] == [
        ("id", "integer", "any", True),
        ("code", "text", "any", False),
        ("kind", "boolean", "any", True),
        ("tags", "array", "text", False),
    ]
    assert parent.keys == (("id",), ("code",))
    assert child.keys == (("a", "b"), ("p_id",))
    assert [(k.columns, k.parent, k.parent_columns) for k in child.foreign_keys] == [
        (("p_id",), "p", ("id",)),
        (("b",), "p", ("id",)),
    ]
    assert [c.not_null for c in child.columns] == [True, True, False]
    assert child.checks == ("a > 0",)


def test_sqlite_primary_keys_are_not_null_only_where_they_are_the_row_id():
    schema = read_schema("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (k TEXT PRIMARY KEY)", "sqlite")
    assert [column.not_null for table in schema.tables for column in table.columns] == [True, False]
    rows = read_schema("CREATE TABLE a (id INT PRIMARY KEY)", "sqlite")
    assert rows.tables[0].columns[0].not_null is False


def test_ddl_that_does_not_parse_is_a_typed_error():
    with pytest.raises(ReadError, match="no postgres DDL"):
        read_schema("CREATE TABLE (", "postgres")


@pytest.mark.parametrize(
    ("dialect", "first", "second", "relation"),
    [
        ("postgres", 'SELECT "A" FROM t', "SELECT a FROM t", "undecided"),
        ("postgres", 'SELECT "a" FROM t', "SELECT A FROM T", "equivalent"),
        ("mysql", 'SELECT x FROM t WHERE a = "q"', "SELECT x FROM t WHERE a = 'q'", "equivalent"),
        ("postgres", "SELECT x FROM t ORDER BY a DESC", "SELECT x FROM t ORDER BY a DESC NULLS FIRST", "equivalent"),
        ("sqlite", "SELECT x FROM t ORDER BY a", "SELECT x FROM t ORDER BY a NULLS LAST", "undecided"),
        ("tsql", "SELECT TOP 3 x FROM t", "SELECT TOP 4 x FROM t", "undecided"),
        ("postgres", "SELECT x FROM t LIMIT 3", "SELECT x FROM t FETCH FIRST 3 ROWS ONLY", "equivalent"),
        ("postgres", "SELECT x FROM t LIMIT 3 OFFSET 0", "SELECT x FROM t LIMIT 3", "equivalent"),
        (
            "postgres",
            "SELECT x FROM t WHERE tags && ARRAY['a', 'b']",
            "SELECT x FROM t WHERE tags @> ARRAY['b'] OR tags @> ARRAY['a']",
            "equivalent",
        ),
        (
            "postgres",
            "SELECT x FROM t WHERE tags @> ARRAY['a', 'b']",
            "SELECT x FROM t WHERE tags && ARRAY['a', 'b']",
            "different",
        ),
        (
            "mysql",
            'SELECT x FROM t WHERE JSON_OVERLAPS(tags, \'["a", "b"]\')',
            "SELECT x FROM t WHERE JSON_CONTAINS(tags, '\"a\"') OR 'b' MEMBER OF (tags)",
            "equivalent",
        ),
        ("mysql", "SELECT x FROM t WHERE a <=> NULL", "SELECT x FROM t WHERE a IS NULL", "equivalent"),
        ("postgres", "SELECT x FROM t WHERE a = 500", "SELECT x FROM t WHERE a = 5e2", "equivalent"),
        (
            "postgres",
            "SELECT x FROM t WHERE NOT name LIKE 'a%'",
            "SELECT x FROM t WHERE name NOT LIKE 'a%'",
            "equivalent",
        ),
        ("sqlite", "SELECT x FROM t WHERE name NOT LIKE 'a%'", "SELECT x FROM t WHERE name LIKE 'a%'", "undecided"),
        ("postgres", "SELECT x FROM t WHERE a IS NOT NULL", "SELECT x FROM t WHERE a IS NULL", "different"),
        ("postgres", "SELECT lower(a.x || 'q') FROM t a", "SELECT lower(b.x || 'q') FROM t b", "equivalent"),
        (
            "postgres",
            "SELECT lower(a.x || 'q') FROM t a, t b WHERE b.y = 1",
            "SELECT lower(a.x || 'q') FROM t b, t a WHERE a.y = 1",
            "undecided",
        ),
        (
            "postgres",
            "SELECT x, count(*) FROM t GROUP BY ROLLUP (x)",
            "SELECT x, count(*) FROM t GROUP BY x",
            "undecided",
        ),
        (
            "postgres",
            "WITH RECURSIVE c AS (SELECT 1 n UNION ALL SELECT n + 1 FROM c) SELECT n FROM c",
            "with recursive c as (select 1 n union all select n + 1 from c) select n from c",
            "equivalent",
        ),
    ],
)
def test_dialect_facts(dialect, first, second, relation):
    assert compare_sql(first, second, dialect=dialect).relation == relation


def test_what_a_query_tells_of_itself():
    query = read_sql("SELECT a FROM t JOIN u ON t.x = u.x ORDER BY a LIMIT 3", dialect="postgres")
    assert (query.tables, query.ordered, query.limited, query.deterministic, query.uses_clock) == (
        ("t", "u"),
        True,
        True,
        True,
        False,
    )
    clocked = read_sql("SELECT a FROM t WHERE d > now()", dialect="postgres")
    assert (clocked.uses_clock, clocked.deterministic) == (True, False)
    assert read_sql("SELECT a FROM t WHERE d > now()", dialect="postgres", now=NOW).deterministic is True


def test_fingerprints_and_verdicts_do_not_hang_on_the_hash_seed():
    program = (
        "from canon.sql import compare_sql, read_sql\n"
        "ddl = 'CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c INTEGER)'\n"
        "q = 'SELECT x.b FROM t x JOIN t y ON x.a = y.c JOIN t z ON y.a = z.c '\n"
        "q += \"WHERE x.b IN ('p', 'q') AND (z.a > 1 OR y.a < 2)\"\n"
        "print(read_sql(q, dialect='sqlite', schema=ddl).fingerprint())\n"
        "print(compare_sql(q, q.replace('> 1', '> 2'), dialect='sqlite', schema=ddl).model_dump_json())\n"
    )
    outputs = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[3],
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
