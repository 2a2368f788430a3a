"""Which texts are one allowed read, for each engine; and what is run of them."""

# ruff: noqa: E501 - a table reads best with one row a line

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sandbox.sortkeys import with_sort_keys
from harness.sandbox.validation import Rejected, Tables, read

SHOP = Tables(
    names={"t": "t", "orders": "Orders", "order lines": "Order Lines", "Mixed": "Mixed", "sales.t": "t"},
    refused=frozenset({"v"}),
)

EVERYWHERE = [
    "SELECT a, b AS c, t.* FROM t WHERE a BETWEEN 1 AND (2) AND b IN ('x', 'y') AND NOT (a IS NULL OR b LIKE 'x%')",
    "SELECT DISTINCT a FROM t JOIN orders o USING (a) LEFT JOIN t AS u ON (u.a = o.a) ORDER BY 1 DESC LIMIT 5 OFFSET 2",
    "SELECT CAST(a AS INTEGER), CAST(b AS VARCHAR(10)), CAST(a AS DECIMAL(10, 2)) FROM t",
    "SELECT CASE WHEN (a > 1) THEN 'x' ELSE (SELECT min(b) FROM orders) END FROM t WHERE EXISTS (SELECT 1 FROM orders)",
    "WITH x (n) AS (SELECT count(*) FROM t), y AS (SELECT n FROM x) SELECT n FROM y UNION ALL SELECT (1) EXCEPT SELECT 2",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r",
    "SELECT sum(a) OVER (PARTITION BY b ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), ntile(4) OVER w "
    "FROM t WINDOW w AS (ORDER BY a)",
    "SELECT b, count(DISTINCT a), avg(a) FILTER (WHERE (a) > 0) FROM t GROUP BY b HAVING (count(*) > 1)",
    "SELECT upper(b) || lower(b), coalesce(a, 0), nullif(a, 1), round(a, 2), substr(b, 1, 2), trim(b), replace(b, 'x', 'y') FROM t",
    "SELECT * FROM (SELECT a FROM t) AS d",
    "(SELECT a FROM t) UNION (SELECT a FROM orders)",
    "SELECT a FROM t -- a remark\n",
    "SELECT /* a remark */ 'DROP TABLE t; --' FROM t;",
]
PER_ENGINE = {
    "sqlite": [
        "SELECT strftime('%Y', b), date('now', '-1 day'), julianday(b), iif(a > 1, 2, 3), ifnull(a, 0) FROM t",
        "SELECT group_concat(DISTINCT a), total(a), json_extract(b, '$.x'), b -> '$.x', b ->> 'x' FROM t",
        "SELECT value FROM t, json_each(t.b) WHERE b GLOB 'a*' AND glob('a*', b)",
        "SELECT printf('%.2f', a), instr(b, 'x'), hex(b), typeof(a), unicode(b), char(65) FROM [t] WHERE `a` = 1",
        "WITH x AS MATERIALIZED (SELECT 1 AS a) SELECT * FROM x",
        'SELECT id FROM "Order Lines"',
        "SELECT a FROM main.t NATURAL JOIN Orders",
    ],
    "postgres": [
        "SELECT DISTINCT ON (b) a::numeric(10, 2), b::text, '2026-01-01'::date, date '2026-01-01', interval '1 day' FROM t",
        "SELECT EXTRACT(year FROM b), date_trunc('month', b), to_char(b, 'YYYY'), age(b), b AT TIME ZONE 'UTC' FROM t",
        "SELECT position('x' IN b), substring(b FROM 1 FOR 2), trim(BOTH 'x' FROM b), overlay(b PLACING 'y' FROM 1) FROM t",
        "SELECT array_agg(a ORDER BY b), string_agg(b, ','), percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t",
        "SELECT a FROM t WHERE tags @> ARRAY['x', 'y'] AND tags && ARRAY['z'] AND 'x' = ANY (tags) AND a = ALL (ARRAY[1])",
        "SELECT b -> 'x' ->> 'y', b #>> '{a}' FROM t WHERE b ~* '^x' AND b SIMILAR TO 'x%' AND b ILIKE 'x'",
        "SELECT b, sum(a) FROM t GROUP BY GROUPING SETS ((b), ()), ROLLUP (a)",
        "SELECT x, n FROM t, unnest(tags) WITH ORDINALITY AS u (x, n)",
        "SELECT * FROM t, LATERAL (SELECT max(a) FROM orders o WHERE o.a = t.a) AS l (m)",
        "SELECT d FROM generate_series('2026-01-01'::timestamptz, '2026-02-01', '1 day') AS g (d)",
        "SELECT greatest(a, 1), jsonb_build_object('a', a), row_to_json(t), regexp_replace(b, 'x', 'y', 'g') FROM t",
        "SELECT a FROM t ORDER BY a NULLS LAST FETCH FIRST 3 ROWS ONLY",
        "SELECT ARRAY(SELECT a FROM t), ROW(1, 2) FROM sales.t",
        "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS v2 (a, b) JOIN t USING (a)",
        "SELECT pg_catalog.lower(b), \"left\"(b, 1), now() - interval '30 days', CURRENT_DATE FROM t",
    ],
    "duckdb": [
        "SELECT list_contains(tags, 'x'), tags[1], [1, 2], {'a': 1}, strftime(b, '%Y'), date_diff('day', b, b) FROM t",
        "SELECT a FROM t QUALIFY row_number() OVER (PARTITION BY b ORDER BY a) = 1",
        "SELECT * EXCLUDE (a), TRY_CAST(b AS INTEGER), list_transform(tags, x -> x || 'y') FROM t",
        "SELECT median(a), arg_max(a, b), regexp_matches(b, 'x') FROM t GROUP BY b",
        "FROM t SELECT a",
        "SELECT n FROM range(1, 5) AS r (n)",
    ],
}
PER_ENGINE = {dialect: [*EVERYWHERE, *texts] for dialect, texts in PER_ENGINE.items()}


@pytest.mark.parametrize(
    ("dialect", "text"), [(dialect, text) for dialect, texts in PER_ENGINE.items() for text in texts]
)
def test_an_honest_read_is_accepted(dialect, text):
    accepted = read(text, dialect, SHOP)
    assert accepted.text.rstrip().endswith(("'", "*")) or ";" not in accepted.text[-2:]
    with_sort_keys(accepted)


QUALIFIED = [
    ("SELECT Orders.a FROM Orders", 'SELECT Orders.a FROM "public"."orders"'),
    ('SELECT * FROM "Mixed" m, t', 'SELECT * FROM "public"."Mixed" m, "public"."t"'),
    ("SELECT * FROM sales.t, public.t", "SELECT * FROM sales.t, public.t"),
    ("WITH t AS (SELECT * FROM t) SELECT * FROM t", 'WITH t AS (SELECT * FROM "public"."t") SELECT * FROM t'),
    (
        "WITH RECURSIVE t AS (SELECT 1 UNION SELECT * FROM t) SELECT * FROM t",
        "WITH RECURSIVE t AS (SELECT 1 UNION SELECT * FROM t) SELECT * FROM t",
    ),
    (
        "SELECT 'FROM t', (SELECT 1 FROM t) FROM orders",
        'SELECT \'FROM t\', (SELECT 1 FROM "public"."t") FROM "public"."orders"',
    ),
]


@pytest.mark.parametrize(("text", "run"), QUALIFIED)
def test_tables_of_postgres_are_qualified_in_place(text, run):
    assert read(text, "postgres", SHOP).text == run


REJECTED = [
    ("postgres", "SELECT a FROM v", "table_not_allowed"),
    ("postgres", "SELECT a FROM nosuch", "unknown_table"),
    ("postgres", 'SELECT a FROM "T"', "unknown_table"),
    ("postgres", "SELECT a FROM other.t", "unknown_table"),
    ("postgres", "SELECT a FROM db.public.t", "table_not_allowed"),
    ("postgres", "SELECT a FROM information_schema.tables", "table_not_allowed"),
    ("postgres", "SELECT a::mood FROM t", "type_not_allowed"),
    ("postgres", "SELECT a::public.mood FROM t", "type_not_allowed"),
    ("postgres", "SELECT $1", "unbound_parameter"),
    ("postgres", "SELECT :a", "unbound_parameter"),
    ("postgres", "SELECT pg_sleep (1)", "function_not_allowed"),
    ("postgres", 'SELECT "pg_sleep"(1)', "function_not_allowed"),
    ("postgres", "SELECT pg_sleep/**/(1)", "function_not_allowed"),
    ("postgres", "SELECT myschema.lower('x')", "function_not_allowed"),
    ("postgres", "WITH pg_sleep(x) AS (SELECT 1) SELECT pg_sleep(1) FROM pg_sleep", "function_not_allowed"),
    ("postgres", "SELECT glob('/etc/*')", None),
    ("duckdb", "SELECT * FROM glob('/etc/*')", "function_not_allowed"),
    ("duckdb", "SELECT * FROM sqlite_scan('x', 'y')", "function_not_allowed"),
    ("duckdb", "SELECT * FROM query('SELECT 1')", "function_not_allowed"),
    ("duckdb", "PIVOT t ON a USING sum(b)", None),
    ("duckdb", "SUMMARIZE t", "not_a_read"),
    ("duckdb", "SELECT * FROM 'x.parquet'", "unknown_table"),
    ("sqlite", "SELECT readfile('/etc/passwd')", "function_not_allowed"),
    ("sqlite", "SELECT * FROM sqlite_schema", "table_not_allowed"),
    ("sqlite", "SELECT a FROM temp.t", "table_not_allowed"),
    ("sqlite", "SELECT @a", "unbound_parameter"),
    ("sqlite", "REPLACE INTO t VALUES (1)", None),
    ("sqlite", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "write"),
    ("sqlite", "REINDEX", None),
    ("sqlite", "COMMIT", "not_a_read"),
    ("sqlite", "SELECT 1;;SELECT 2", "multiple_statements"),
    ("sqlite", "1 + 1", "unparseable"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "code"), REJECTED)
def test_what_is_not_allowed_is_rejected(dialect, text, code):
    with pytest.raises(Rejected) as rejected:
        read(text, dialect, SHOP)
    if code is not None:
        assert rejected.value.code == code


SORT_KEYS = [
    ("SELECT a, b FROM t ORDER BY b, a", "SELECT a, b FROM t ORDER BY b, a", (1, 0), 0),
    ("SELECT a AS x FROM t ORDER BY x DESC", "SELECT a AS x FROM t ORDER BY x DESC", (0,), 0),
    ("SELECT a FROM t ORDER BY 1", "SELECT a FROM t ORDER BY 1", (0,), 0),
    ("SELECT a FROM t ORDER BY b DESC, a", "SELECT a , b FROM t ORDER BY b DESC, a", (-1, 0), 1),
    ("SELECT * FROM t ORDER BY a, b + 1", "SELECT * , a, b + 1 FROM t ORDER BY a, b + 1", (-2, -1), 2),
    ("SELECT a, count(*) FROM t GROUP BY a ORDER BY count(*) LIMIT 3", "SELECT a, count(*) FROM t GROUP BY a ORDER BY count(*) LIMIT 3", (1,), 0),
    ("SELECT a FROM t", "SELECT a FROM t", None, 0),
    ("SELECT DISTINCT a FROM t ORDER BY b", "SELECT DISTINCT a FROM t ORDER BY b", None, 0),
    ("SELECT a FROM t UNION SELECT a FROM orders ORDER BY a", "SELECT a FROM t UNION SELECT a FROM orders ORDER BY a", (0,), 0),
    ("SELECT a + 1 AS b FROM t ORDER BY b * 2", "SELECT a + 1 AS b FROM t ORDER BY b * 2", None, 0),
    (
        "SELECT (SELECT max(a) FROM t ORDER BY b) FROM orders ORDER BY substr(c, 1, 2) DESC",
        "SELECT (SELECT max(a) FROM t ORDER BY b) , substr(c, 1, 2) FROM orders ORDER BY substr(c, 1, 2) DESC",
        (-1,),
        1,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "run", "positions", "hidden"), SORT_KEYS)
def test_sort_keys_are_found_or_added(text, run, positions, hidden):
    found = with_sort_keys(read(text, "sqlite", SHOP))
    assert (found.text, found.positions, found.hidden) == (run, positions, hidden)


words = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "t",
        "orders",
        "a",
        "b",
        "1",
        "'x'",
        '"b"',
        "(",
        ")",
        ",",
        ";",
        "*",
        "+",
        "-",
        "--",
        "/*",
        "*/",
        "JOIN",
        "ON",
        "UNION",
        "ALL",
        "WITH",
        "AS",
        "ORDER",
        "BY",
        "LIMIT",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "IN",
        "NOT",
        "NULL",
        "count",
        "lower",
        "load_extension",
        "pg_sleep",
        "INTO",
        "FOR",
        "UPDATE",
        "::",
        "[",
        "]",
        "{",
        "}",
        "$1",
        "?",
        "@",
        ".",
        "E'\\''",
        "$$",
        "U&",
        "::regclass",
    ]
)


@given(
    st.lists(words, max_size=25).map(" ".join) | st.text(max_size=60), st.sampled_from(["sqlite", "duckdb", "postgres"])
)
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_rejected_with_a_known_code(text, dialect):
    from harness.sandbox.result import MESSAGES

    code, accepted = None, None
    try:
        accepted = read(text, dialect, SHOP)
    except Rejected as rejected:
        code = rejected.code
    assert (accepted is None) == (code in MESSAGES)
    if accepted is not None:
        assert not {"load_extension", "pg_sleep"} & set(accepted.functions)
        with_sort_keys(accepted)
