"""Every hostile query on SQLite: how it ends, which wall stopped it, how soon, and that nothing outside was touched."""

# ruff: noqa: E501 - a table reads best with one row a line

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.sandbox.policy import Policy
from harness.sandbox.sandbox import Sandbox

DEADLINE = 0.4
DOUBLING = "WITH RECURSIVE c(x) AS (SELECT 'aaaaaaaaaa' UNION ALL SELECT x || x FROM c WHERE length(x) < 400000000) "
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "

# (name, query, status, code, wall)
HOSTILE = [
    ("load_extension", "SELECT load_extension('/tmp/x')", "validation_rejected", "function_not_allowed", "parse"),
    ("quoted load_extension", "SELECT \"load_extension\"('x')", "validation_rejected", "function_not_allowed", "parse"),
    ("attach", "ATTACH '/tmp/rung-x.db' AS x", "validation_rejected", "not_a_read", "parse"),
    ("vacuum into", "VACUUM INTO '/tmp/rung-x.db'", "validation_rejected", "not_a_read", "parse"),
    ("pragma writable_schema", "PRAGMA writable_schema = ON", "validation_rejected", "not_a_read", "parse"),
    ("pragma query_only", "PRAGMA query_only = OFF", "validation_rejected", "not_a_read", "parse"),
    ("pragma table", "SELECT * FROM pragma_table_info('t')", "validation_rejected", "function_not_allowed", "parse"),
    ("pragma table bare", "SELECT * FROM pragma_database_list", "validation_rejected", "table_not_allowed", "parse"),
    ("dbstat", "SELECT * FROM dbstat", "validation_rejected", "table_not_allowed", "parse"),
    ("sqlite_stmt", "SELECT * FROM sqlite_stmt", "validation_rejected", "table_not_allowed", "parse"),
    ("sqlite_master", "SELECT sql FROM sqlite_master", "validation_rejected", "table_not_allowed", "parse"),
    ("fts3_tokenizer", "SELECT fts3_tokenizer('simple')", "validation_rejected", "function_not_allowed", "parse"),
    ("insert", "INSERT INTO t VALUES (9, 'z')", "validation_rejected", "write", "parse"),
    ("delete returning", "DELETE FROM t RETURNING a", "validation_rejected", "write", "parse"),
    ("update", "UPDATE t SET a = 1", "validation_rejected", "write", "parse"),
    ("temp table", "CREATE TEMP TABLE x AS SELECT 1", "validation_rejected", "write", "parse"),
    ("fts5", "CREATE VIRTUAL TABLE f USING fts5(x)", "validation_rejected", "write", "parse"),
    ("second statement", "SELECT 1; DROP TABLE t", "validation_rejected", "multiple_statements", "parse"),
    ("explain", "EXPLAIN SELECT 1", "validation_rejected", "not_a_read", "parse"),
    ("view", "SELECT * FROM v", "validation_rejected", "table_not_allowed", "parse"),
    (
        "endless count",
        NUMBERS.replace("WHERE i < 100000", "") + "SELECT count(*) FROM n",
        "timeout",
        "deadline",
        "deadline",
    ),
    ("endless rows", NUMBERS.replace("WHERE i < 100000", "") + "SELECT i FROM n", "truncated", "row_limit", "limits"),
    (
        "cross join",
        NUMBERS + "SELECT count(*) FROM n a, n b, n c, n d, n e",
        "timeout",
        "deadline",
        "deadline",
    ),
    ("string doubling", DOUBLING + "SELECT length(x) FROM c", "resource_limit", "value_too_large", "limits"),
    ("zeroblob", "SELECT zeroblob(900000000)", "validation_rejected", "function_not_allowed", "parse"),
    ("randomblob", "SELECT randomblob(900000000)", "validation_rejected", "function_not_allowed", "parse"),
    ("hex of a long text", DOUBLING + "SELECT hex(x) FROM c", "resource_limit", "value_too_large", "limits"),
    ("printf width", "SELECT printf('%.*c', 900000000, 'x')", "timeout", "worker_killed", "kill"),
    (
        "quadratic instr",
        NUMBERS + "SELECT sum(instr(x, x || 'b')) FROM n, (SELECT printf('%.*c', 130000, 'a') AS x) WHERE i > 0",
        "timeout",
        None,
        None,
    ),
    ("group_concat bomb", NUMBERS + "SELECT group_concat(i) FROM n", "resource_limit", "value_too_large", "limits"),
    ("json bomb", NUMBERS + "SELECT json_group_array(i) FROM n", "resource_limit", "value_too_large", "limits"),
    (
        "deep json",
        "SELECT json_extract(printf('%.*c', 50000, '['), '$')",
        "execution_error",
        "query_failed",
        "engine",
    ),
    ("900 parentheses", "SELECT " + "(" * 900 + "1" + ")" * 900, "validation_rejected", "too_complex", "parse"),
    ("3000 plus", "SELECT 1" + " + 1" * 3000, "validation_rejected", "too_complex", "parse"),
    ("600 unions", "SELECT 1" + " UNION SELECT 1" * 600, "validation_rejected", "too_complex", "parse"),
    (
        "sort blow-up",
        NUMBERS + "SELECT a.i FROM n a, n b ORDER BY printf('%.*c', 2000, 'x') || (a.i * b.i)",
        None,
        None,
        None,
    ),
]


@pytest.fixture(scope="module")
def fixture_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "fixture.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'); CREATE VIEW v AS SELECT * FROM t"
        )
    connection.close()
    return path


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Policy(deadline_seconds=DEADLINE), workers=1) as opened:
        yield opened


def world(path: Path):
    """What must not change: the fixture, its folder, temporary folders, our files and the children of this process."""
    return (
        hashlib.sha256(path.read_bytes()).hexdigest(),
        sorted(entry.name for entry in path.parent.iterdir()),
        path.stat().st_mtime_ns,
        sorted(name for name in os.listdir("/tmp") if name.startswith(("rung-x", "core"))),
        os.getcwd(),
    )


@pytest.mark.parametrize(
    ("query", "status", "code", "wall"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
def test_hostile_query(sandbox, fixture_file, query, status, code, wall):
    before = world(fixture_file)
    started = time.monotonic()
    result = sandbox.execute(fixture_file, query)
    assert time.monotonic() - started < DEADLINE + 1.0
    assert result.status in (("timeout", "resource_limit") if status is None else (status,))
    assert result.error is not None
    if code is not None:
        assert (result.error.code, result.error.wall) == (code, wall)
    assert not result.succeeded
    assert world(fixture_file) == before
    assert sandbox.execute(fixture_file, "SELECT count(*) FROM t").rows == ((2,),)


# The same attacks without the first wall: what the parse would have refused is refused again by the engine's authorizer.
BEHIND_THE_PARSE = [
    ("load_extension", "SELECT load_extension('x')", "not_authorized", "authorizer"),
    ("attach", "ATTACH '/tmp/rung-x.db' AS x", "not_authorized", "authorizer"),
    ("vacuum into", "VACUUM INTO '/tmp/rung-x.db'", "not_authorized", "authorizer"),
    ("pragma", "PRAGMA query_only = OFF", "not_authorized", "authorizer"),
    ("pragma table", "SELECT * FROM pragma_database_list", "not_authorized", "authorizer"),
    ("dbstat", "SELECT count(*) FROM dbstat", None, None),
    ("sqlite_master", "SELECT sql FROM sqlite_master", "not_authorized", "authorizer"),
    ("fts3_tokenizer", "SELECT fts3_tokenizer('simple')", "not_authorized", "authorizer"),
    ("zeroblob", "SELECT hex(zeroblob(1000))", "not_authorized", "authorizer"),
    ("insert", "INSERT INTO t VALUES (9, 'z')", "not_authorized", "authorizer"),
    ("temp table", "CREATE TEMP TABLE x AS SELECT 1", "not_authorized", "authorizer"),
    ("fts5", "CREATE VIRTUAL TABLE f USING fts5(x)", "not_authorized", "authorizer"),
    ("view", "SELECT a FROM v", "not_authorized", "authorizer"),
    ("transaction", "BEGIN", "not_authorized", "authorizer"),
    ("two statements", "SELECT 1; SELECT 2", "query_failed", "engine"),
    ("900 parentheses", "SELECT " + "(" * 1100 + "1" + ")" * 1100, "query_failed", "engine"),
    ("600 unions", "SELECT 1" + " UNION SELECT 1" * 600, "query_failed", "engine"),
]


RUN_EACH = """
import json, sys
from harness.sandbox.engines.sqlite import SqliteReader, lay_down
from harness.sandbox.work import QueryLimits, execute

image, queries = open(sys.argv[1], "rb").read(), json.load(sys.stdin)
# The heap limit holds for the whole process and can only be lowered: not in the process of the tests.
readers = [SqliteReader(lay_down(image), 262144, 96 * 1024 * 1024) for _ in queries]
json.dump([execute(r, q, QueryLimits(0.5, 100, 262144, 1 << 20)) for r, q in zip(readers, queries)], sys.stdout)
"""


@pytest.fixture(scope="module")
def reports_of_the_engine_alone(fixture_file):
    done = subprocess.run(
        [sys.executable, "-c", RUN_EACH, str(fixture_file)],
        input=json.dumps([row[1] for row in BEHIND_THE_PARSE]),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip([row[0] for row in BEHIND_THE_PARSE], json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("name", "code", "wall"), [(row[0], *row[2:]) for row in BEHIND_THE_PARSE])
def test_the_engine_refuses_on_its_own(reports_of_the_engine_alone, name, code, wall):
    report = reports_of_the_engine_alone[name]
    assert report["status"] in ("validation_rejected", "execution_error")
    if code is not None:
        assert (report["code"], report["layer"]) == (code, wall)
    assert "rows" not in report
