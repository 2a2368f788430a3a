"""Running one query in the sandbox: results, limits, handed-over validations, unusable databases, clock."""

# ruff: noqa: E501 - a table reads best with one row a line

import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from harness.errors import SandboxError, UsageError
from harness.sandbox.policy import KIB, Policy
from harness.sandbox.result import MESSAGES, SandboxResult, Validation
from harness.sandbox.sandbox import Sandbox
from harness.sandbox.validation import sha256


def make(path, script):
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return make(
        tmp_path_factory.mktemp("shop") / "shop.db",
        """
        CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, born TEXT);
        CREATE TABLE "Order Lines" (id INTEGER PRIMARY KEY, customer INTEGER, total REAL, note BLOB);
        INSERT INTO customers VALUES (1, 'Ann', '1990-01-02'), (2, 'Bob', NULL), (3, 'Cleo', '2001-05-06');
        INSERT INTO "Order Lines" VALUES (1, 1, 12.5, x'00ff'), (2, 1, 7.5, NULL), (3, 2, 9e999, NULL);
        """,
    )


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(workers=2) as opened:
        yield opened


QUERIES = [
    ("SELECT name FROM customers ORDER BY id", (("Ann",), ("Bob",), ("Cleo",))),
    ("SELECT note, total FROM [Order Lines] WHERE id <> 2 ORDER BY id;", (
        ({"type": "blob", "base64": "AP8="}, 12.5),
        (None, {"type": "float", "value": "inf"}),
    )),
    ('SELECT c.name, sum(o.total) AS s FROM customers c JOIN "order lines" o ON o.customer = c.id GROUP BY 1 HAVING s < 100',
     (("Ann", 20.0),)),
    ("WITH x(n) AS (SELECT count(*) FROM customers) SELECT n + 9007199254740990 FROM x", ((9007199254740993,),)),
    ("SELECT id FROM customers WHERE born IS NULL UNION ALL SELECT -1", ((2,), (-1,))),
    ("SELECT j.value FROM json_each('[1, \"é\"]') j", ((1,), ("é",))),
    ("SELECT row_number() OVER (ORDER BY name DESC), upper(name) FROM customers LIMIT 1", ((1, "CLEO"),)),
    ("SELECT strftime('%Y', born), substr(name, 1, 2) FROM customers WHERE name LIKE 'c%'", (("2001", "Cl"),)),
    ("SELECT 1 WHERE 0", ()),
]  # fmt: skip


@pytest.mark.parametrize(("query", "rows"), QUERIES)
def test_a_read_returns_its_rows(sandbox, shop, query, rows):
    result = sandbox.execute(shop, query)
    assert (result.status, result.error) == ("success", None)
    assert result.rows == rows
    assert result.succeeded
    assert result.sql_sha256 == sha256(query)


def test_a_result_says_how_it_was_held(sandbox, shop):
    result = sandbox.execute(shop, "SELECT id, name FROM customers LIMIT 1")
    assert result.columns == ("id", "name")
    assert result.schema_.names == ("id", "name")
    assert result.engine == f"sqlite {sqlite3.sqlite_version}"
    assert {"seccomp", "no_new_privs", "rlimits", "kill", "death_signal"} <= set(result.layers)
    assert ("user" in result.layers) == (os.geteuid() == 0)
    assert ("landlock" in result.layers) != any("landlock" in warning for warning in result.warnings)
    assert result.validation is not None
    assert result.validation.tables == ("customers",)
    assert len(result.snapshot_sha256 or "") == len(result.schema_sha256 or "") == 64
    assert SandboxResult.model_validate_json(result.model_dump_json()).rows == result.rows


FAILURES = [
    ("SELECT nosuch FROM customers", "execution_error", "query_failed", "engine"),
    ("SELECT * FROM nosuch", "validation_rejected", "unknown_table", "parse"),
    ("SELEC 1", "validation_rejected", None, "parse"),
    ("", "validation_rejected", "empty", "parse"),
    (" ; -- nothing", "validation_rejected", "empty", "parse"),
    ("SELECT ?", "validation_rejected", "unbound_parameter", "parse"),
    ("SELECT 1 /* a /* b */", "validation_rejected", "unparseable", "parse"),
    ("SELECT '\x00'", "validation_rejected", "unparseable", "parse"),
    ("SELECT '\ud800'", "validation_rejected", "unparseable", "parse"),
    ("VALUES (1)", "validation_rejected", "not_a_read", "parse"),
    ("SELECT 1" + " " * 100_000, "validation_rejected", "too_long", "parse"),
    ("SELECT * FROM other.customers", "validation_rejected", "table_not_allowed", "parse"),
]


@pytest.mark.parametrize(("query", "status", "code", "wall"), FAILURES)
def test_what_is_no_read_is_refused_with_a_fixed_message(sandbox, shop, query, status, code, wall):
    result = sandbox.execute(shop, query)
    assert result.status == status
    assert result.error is not None
    assert result.error.wall == wall
    if code:
        assert result.error.code == code
    assert result.error.message == MESSAGES[result.error.code]
    assert result.rows == ()
    text = result.model_dump_json()
    assert "nosuch" not in text
    assert str(shop) not in text


def test_row_and_byte_limits_leave_a_preview(sandbox, shop):
    with Sandbox(Policy(max_rows=2, max_result_bytes=2 * KIB, max_value_bytes=KIB), workers=1) as small:
        exact = small.execute(shop, "SELECT id FROM customers LIMIT 2")
        assert (exact.status, exact.truncated) == ("success", False)
        more = small.execute(shop, "SELECT id FROM customers")
        assert (more.status, more.truncated, more.rows, more.succeeded) == ("truncated", True, ((1,), (2,)), False)
        assert more.error is not None
        assert more.error.code == "row_limit"
        wide = small.execute(
            shop, "SELECT substr(printf('%900d', id), 1, 900), 'x', substr(printf('%900d', id), 1, 900) FROM customers"
        )
        assert (wide.status, len(wide.rows)) == ("truncated", 1)
        assert wide.error is not None
        assert wide.error.code == "byte_limit"
        value = small.execute(shop, "SELECT replace(printf('%900d', 1), ' ', 'xx')")
        assert (value.status, value.rows) == ("resource_limit", ())


def test_a_handed_over_validation_is_checked(sandbox, shop):
    query = "SELECT name FROM customers"
    good = sandbox.execute(shop, query).validation
    assert sandbox.execute(shop, query, validation=good).status == "success"
    cases = [
        (good.model_copy(update={"accepted": False}), "validation_failed"),
        (good.model_copy(update={"version": "rung.validation/0"}), "validation_version"),
        (good.model_copy(update={"sql_sha256": sha256("SELECT 2")}), "validation_hash"),
    ]
    for validation, code in cases:
        result = sandbox.execute(shop, query, validation=validation)
        assert (result.status, result.error.code, result.snapshot_sha256) == ("validation_rejected", code, None)


def test_a_forged_validation_does_not_open_the_door(sandbox, shop):
    query = "DELETE FROM customers"
    forged = Validation(accepted=True, dialect="sqlite", sql_sha256=sha256(query))
    result = sandbox.execute(shop, query, validation=forged)
    assert (result.status, result.error.code) == ("validation_rejected", "write")


def test_unusable_databases(sandbox, tmp_path):
    wal = tmp_path / "wal.db"
    connection = sqlite3.connect(wal)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a)")
    assert sandbox.execute(wal, "SELECT 1").error.code == "database_wal"
    connection.close()
    assert sandbox.execute(wal, "SELECT 1").error.code == "database_wal"  # the header says so, without the files
    plain = make(tmp_path / "plain.db", "CREATE TABLE t (a)")
    (tmp_path / "plain.db-journal").touch()
    assert sandbox.execute(plain, "SELECT 1").error.code == "database_journal"
    text = tmp_path / "text.db"
    text.write_text("hello" * 100)
    assert sandbox.execute(text, "SELECT 1").error.code == "database_unreadable"
    assert sandbox.execute(tmp_path / "no.db", "SELECT 1").error.code == "database_missing"
    os.mkfifo(tmp_path / "pipe.db")
    assert sandbox.execute(tmp_path / "pipe.db", "SELECT 1").error.code == "database_not_regular"
    virtual = make(tmp_path / "virtual.db", "CREATE VIRTUAL TABLE f USING fts5(x)")
    assert sandbox.execute(virtual, "SELECT 1").error.code == "virtual_tables"
    with Sandbox(Policy(max_image_bytes=4 * KIB), workers=1) as small:
        big = make(tmp_path / "big.db", "CREATE TABLE t (a); CREATE TABLE u (a);")
        assert small.execute(big, "SELECT 1").error.code == "database_too_large"
    damaged = make(tmp_path / "damaged.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    data = bytearray(damaged.read_bytes())
    data[100:4000] = os.urandom(3900)
    damaged.write_bytes(data)
    assert sandbox.execute(damaged, "SELECT * FROM t").status in ("execution_error", "validation_rejected")


def test_a_changed_file_is_read_anew(sandbox, tmp_path):
    path = make(tmp_path / "x.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    first = sandbox.execute(path, "SELECT a FROM t")
    make(path, "UPDATE t SET a = 2")
    second = sandbox.execute(path, "SELECT a FROM t")
    assert (first.rows, second.rows) == (((1,),), ((2,),))
    assert first.snapshot_sha256 != second.snapshot_sha256
    assert first.schema_sha256 == second.schema_sha256


def test_the_pinned_clock_reaches_the_query(sandbox, shop):
    now = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
    query = "SELECT date('now'), datetime('now', '-1 day'), CURRENT_TIMESTAMP"
    pinned = sandbox.execute(shop, query, now=now)
    assert pinned.rows == (("2031-02-03", "2031-02-02 04:05:06", "2031-02-03 04:05:06"),)
    assert pinned.validation.deterministic
    free = sandbox.execute(shop, "SELECT date('now')")
    assert free.rows[0][0] != "2031-02-03"
    assert not free.validation.deterministic


def test_a_timeout_is_never_longer_than_the_policy(shop):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with Sandbox(Policy(deadline_seconds=0.3), workers=1) as quick:
        started = time.monotonic()
        result = quick.execute(shop, endless, timeout=60)
        assert (result.status, result.error.wall) == ("timeout", "deadline")
        assert time.monotonic() - started < 1.3


def test_fifty_callers_at_once(sandbox, shop):
    with ThreadPoolExecutor(50) as pool:
        results = list(
            pool.map(lambda n: sandbox.execute(shop, f"SELECT {n} + id FROM customers WHERE id = 1"), range(200))
        )
    assert [result.rows for result in results] == [((n + 1,),) for n in range(200)]


def test_an_image_of_more_than_sixteen_mebibytes(sandbox, tmp_path):
    path = make(
        tmp_path / "big.db",
        """
        CREATE TABLE t (a, b);
        INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        SELECT i, hex(randomblob(500)) FROM n;
    """,
    )
    assert path.stat().st_size > 16 * 1024 * KIB
    assert sandbox.execute(path, "SELECT count(*), sum(a) FROM t").rows == ((20000, 200010000),)


def test_what_a_policy_takes():
    for change in ({"deadline_seconds": 0}, {"deadline_seconds": float("nan")}, {"max_rows": 0}, {"max_sql_characters": 200_000},
                   {"max_image_bytes": 250 * 1024 * KIB}, {"unknown": 1}):  # fmt: skip
        with pytest.raises(ValidationError):
            Policy(**change)
    assert Policy().model_dump()["max_value_bytes"] == 256 * KIB


def test_a_sandbox_that_is_not_open_runs_nothing(shop):
    closed = Sandbox(workers=1)
    with pytest.raises(SandboxError, match="not open"):
        closed.execute(shop, "SELECT 1")
    with pytest.raises(UsageError, match="at least one"):
        Sandbox(workers=0)


def test_other_platforms_read_and_compare_but_do_not_run(monkeypatch, shop):
    import harness.sandbox.processes as processes
    from harness.sandbox import compare_results
    from harness.sandbox.validation import read

    monkeypatch.setattr(processes.sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="Linux"), Sandbox(workers=1):
        pass
    assert read("SELECT 1", "sqlite", None).text == "SELECT 1"
    assert compare_results([(1,)], [(1,)]) is None
