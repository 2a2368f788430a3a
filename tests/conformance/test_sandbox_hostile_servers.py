"""Hostile queries on PostgreSQL, MongoDB and DuckDB: how they end, which wall stopped them, and how soon."""

import time

import psycopg
import pytest

from harness.errors import SandboxError
from harness.sandbox.backends import UnreachableError
from harness.sandbox.fixtures import open_fixture
from harness.sandbox.policy import Policy
from harness.sandbox.postgresfixture import load_script, reader_url
from harness.sandbox.sandbox import Sandbox

DEADLINE = 1.0
REFUSED = "validation_rejected"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Policy(deadline_seconds=DEADLINE), workers=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def postgres(embedded_postgres):
    script = """
        CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y');
        CREATE VIEW v AS SELECT * FROM t;
        CREATE TABLE hidden (a int); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
        CREATE TABLE computed (a int, b int GENERATED ALWAYS AS (a + 1) STORED);
        CREATE DOMAIN odd AS int CHECK (value % 2 = 1); CREATE TABLE custom (a odd);
        CREATE FUNCTION lower(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
    """
    return load_script(embedded_postgres, script, "script")


COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
# (query, status, code, wall)
POSTGRES = [
    ("SELECT pg_read_file('/etc/passwd')", REFUSED, "function_not_allowed", "parse"),
    ("SELECT * FROM pg_ls_dir('/')", REFUSED, "function_not_allowed", "parse"),
    ("COPY t TO PROGRAM 'id'", REFUSED, "write", "parse"),
    ("SELECT * FROM dblink('x', 'SELECT 1') AS d(a int)", REFUSED, "function_not_allowed", "parse"),
    ("CREATE EXTENSION dblink", REFUSED, None, "parse"),
    ("LOAD 'x'", REFUSED, None, "parse"),
    ("SELECT lo_import('/etc/passwd')", REFUSED, "function_not_allowed", "parse"),
    ("SELECT set_config('search_path', 'public', false)", REFUSED, "function_not_allowed", "parse"),
    ("SELECT pg_sleep(10)", REFUSED, "function_not_allowed", "parse"),
    ("SELECT pg_advisory_lock(1)", REFUSED, "function_not_allowed", "parse"),
    ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", REFUSED, "write", "parse"),
    ("SELECT * INTO x FROM t", REFUSED, "write", "parse"),
    ("SELECT * FROM t FOR UPDATE", REFUSED, "locking", "parse"),
    ("DO $$ BEGIN END $$", REFUSED, "not_a_read", "parse"),
    ("LISTEN x", REFUSED, None, "parse"),
    ("PREPARE p AS SELECT 1", REFUSED, None, "parse"),
    ("SELECT 1; COMMIT; DROP TABLE t", REFUSED, "multiple_statements", "parse"),
    ("SELECT pg_notify('a', 'b')", REFUSED, "function_not_allowed", "parse"),
    ("SELECT query_to_xml('SELECT 1', true, true, '')", REFUSED, "function_not_allowed", "parse"),
    ("SELECT pg_terminate_backend(1)", REFUSED, "function_not_allowed", "parse"),
    ("SELECT * FROM pg_authid", REFUSED, "table_not_allowed", "parse"),
    ("SELECT * FROM pg_catalog.pg_stat_activity", REFUSED, "table_not_allowed", "parse"),
    ("SELECT public.lower(1)", REFUSED, "function_not_allowed", "parse"),
    ("SELECT 't'::regclass", REFUSED, "type_not_allowed", "parse"),
    ("SELECT a OPERATOR(public.+) 1 FROM t", REFUSED, "operator_not_allowed", "parse"),
    ("SELECT current_user", REFUSED, "function_not_allowed", "parse"),
    ("SELECT * FROM v", REFUSED, "table_not_allowed", "parse"),
    ("SELECT * FROM hidden", REFUSED, "table_not_allowed", "parse"),
    ("SELECT * FROM computed", REFUSED, "table_not_allowed", "parse"),
    ("SELECT * FROM custom", REFUSED, "table_not_allowed", "parse"),
    ("SELECT * FROM generate_series(1, 100000000000)", "resource_limit", "disk_limit", "limits"),
    ("SELECT generate_series(1, 100000000000)", "truncated", "row_limit", "limits"),
    ("SELECT count(*) FROM generate_series(1, 100000000000)", None, None, None),
    (COUNT, None, None, None),
    ("SELECT count(*) FROM " + ", ".join(f"t t{n}" for n in range(40)), "timeout", "deadline", "deadline"),
    ("SELECT factorial(100000)", None, None, None),
    ("SELECT length(repeat('x', 1000000000) || repeat('y', 1000000000))", None, None, None),
    ("SELECT format('%1000000000s', 'x')", "resource_limit", "memory_limit", "kernel"),
    ("SELECT string_agg(repeat('x', 100000000), '') FROM generate_series(1, 12)", None, None, None),
    ("SELECT repeat('x', 400000)", "resource_limit", "value_too_large", "limits"),
    ("SELECT repeat('[', 100000)::json", "resource_limit", "too_complex", "limits"),
]


@pytest.mark.parametrize(("query", "status", "code", "wall"), POSTGRES)
def test_hostile_query_on_postgres(sandbox, postgres, query, status, code, wall):
    sandbox.engine(postgres)
    started = time.monotonic()
    result = sandbox.execute(postgres, query)
    assert time.monotonic() - started < DEADLINE + 1.0
    assert result.error is not None
    assert result.status in (("timeout", "resource_limit", "execution_error") if status is None else (status,))
    if code is not None:
        assert result.error.code == code
    if wall is not None:
        assert result.error.wall == wall
    assert sandbox.execute(postgres, "SELECT a, b FROM t ORDER BY a").rows == ((1, "x"), (2, "y"))


BEHIND_THE_PARSE = [
    ("SELECT pg_catalog.pg_sleep(0)", "42501"),
    ("SELECT pg_catalog.pg_read_file('/etc/passwd')", "42501"),
    ("SELECT pg_catalog.pg_ls_dir('/')", "42501"),
    ("SELECT pg_catalog.set_config('search_path', 'x', false)", "42501"),
    ("SELECT pg_catalog.pg_advisory_lock(1)", "42501"),
    ("SELECT pg_catalog.query_to_xml('SELECT 1', true, true, '')", "42501"),
    ("SELECT pg_catalog.pg_notify('a', 'b')", "42501"),
    ("SELECT pg_catalog.lo_import('/etc/passwd')", "42501"),
    ("SELECT pg_catalog.pg_terminate_backend(1)", "42501"),
    ("SELECT * FROM pg_catalog.pg_authid", "42501"),
    ("SELECT * FROM pg_catalog.pg_stat_activity", "42501"),
    ("SELECT pg_catalog.random()", "42501"),
    ("INSERT INTO public.t VALUES (3, 'z')", "42601"),
    ("SELECT * FROM public.t FOR UPDATE", "25006"),
    ("WITH d AS (DELETE FROM public.t RETURNING a) SELECT a FROM d", "0A000"),
    ("SELECT 1; COMMIT; DROP TABLE public.t", "42601"),
    ("SELECT a INTO x FROM public.t", "42601"),
]


@pytest.mark.parametrize(("query", "sqlstate"), BEHIND_THE_PARSE)
def test_the_server_refuses_on_its_own(postgres, query, sqlstate):
    """What the parse would have refused is refused again by cursor, grants or the read-only transaction."""
    from harness.sandbox.engines.postgres import PostgresReader

    with psycopg.connect(postgres, autocommit=True, options="-c search_path=pg_catalog") as connection:
        reader = PostgresReader(connection)
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        with pytest.raises(psycopg.Error) as caught:
            list(reader.rows(query, 1.0)[1])
        connection.rollback()
        assert caught.value.sqlstate == sqlstate
        assert connection.execute("SELECT count(*) FROM public.t").fetchone() == (2,)


ROLES = [
    ("SUPERUSER", "", "super"),
    ("CREATEDB", "", "createdb"),
    ("CREATEROLE", "", "createrole"),
    ("BYPASSRLS", "", "bypassrls"),
    ("REPLICATION", "", "replication"),
    ("", "GRANT INSERT ON t TO {0}", "write"),
    ("", "GRANT UPDATE (a) ON t TO {0}", "write"),
    ("", "GRANT pg_read_server_files TO {0}", "pg_read_server_files"),
    ("", "GRANT pg_execute_server_program TO {0}", "pg_execute_server_program"),
    ("", "GRANT CREATE ON SCHEMA public TO {0}", "create"),
    ("", "CREATE ROLE {0}_boss CREATEDB; GRANT {0}_boss TO {0}", "createdb"),
]


@pytest.mark.parametrize(("attributes", "grant", "reason"), ROLES)
def test_a_role_that_can_do_more_is_refused(sandbox, embedded_postgres, attributes, grant, reason):
    url = embedded_postgres.create_database()
    role = f"role_{abs(hash((attributes, grant)))}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a int)")
        connection.execute(f"CREATE ROLE {role} LOGIN {attributes}")
        if grant:
            connection.execute(grant.format(role))
    with pytest.raises(SandboxError, match=reason):
        sandbox.execute(url.replace("postgres@", f"{role}@", 1), "SELECT 1")


def test_a_role_that_can_only_read_is_taken_and_a_missing_server_is_said(sandbox, embedded_postgres):
    url = embedded_postgres.create_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a numeric); INSERT INTO t VALUES (1.10)")
        connection.execute("CREATE ROLE plain LOGIN; GRANT SELECT ON t TO plain")
    result = sandbox.execute(url.replace("postgres@", "plain@", 1), "SELECT a FROM t")
    assert result.rows == (({"type": "decimal", "value": "1.10"},),)
    with pytest.raises(UnreachableError, match="cannot be reached"):
        sandbox.execute(reader_url("postgresql://postgres@/x?host=/nonexistent"), "SELECT 1")


@pytest.fixture(scope="module")
def mongo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mongo")
    lines = ['{"_id": 1, "a": 5, "s": "%s"}' % ("a" * 32 + "b"), '{"_id": 2, "a": 7, "s": "x"}']
    (folder / "items.jsonl").write_text("\n".join(lines))
    fixture = open_fixture(folder, "mongo")
    yield fixture
    fixture.close()


MONGO = [
    ('{"$where": "sleep(1000)"}', REFUSED, "parse"),
    ('[{"$project": {"x": {"$function": {"body": "f", "args": [], "lang": "js"}}}}]', REFUSED, "parse"),
    ('[{"$group": {"_id": null, "x": {"$accumulator": {}}}}]', REFUSED, "parse"),
    ("db.items.mapReduce(f, g, {})", REFUSED, "parse"),
    ('[{"$out": "copy"}]', REFUSED, "parse"),
    ('[{"$out": {"db": "other", "coll": "copy"}}]', REFUSED, "parse"),
    ('[{"$merge": {"into": "items"}}]', REFUSED, "parse"),
    ('[{"$facet": {"a": [{"$out": "copy"}]}}]', REFUSED, "parse"),
    ('[{"$currentOp": {}}]', REFUSED, "parse"),
    ('[{"$collStats": {}}]', REFUSED, "parse"),
    ('[{"$listSessions": {}}]', REFUSED, "parse"),
    ('[{"$lookup": {"from": {"db": "other", "coll": "x"}, "as": "y", "pipeline": []}}]', REFUSED, "parse"),
    ('[{"$lookup": {"from": "nosuch", "as": "y", "pipeline": []}}]', REFUSED, "parse"),
    ('[{"$unionWith": {"coll": "items", "pipeline": [{"$out": "copy"}]}}]', REFUSED, "parse"),
    ("db.items.deleteMany({})", REFUSED, "parse"),
    ('{"$and": [' * 500 + '{"a": 1}' + "]}" * 500, REFUSED, "parse"),
    ('{"$and": [' + ", ".join(['{"a": 1}'] * 25_000) + "]}", REFUSED, "parse"),
    ('{"s": {"$regex": "(a+)+$"}}', "timeout", "kill"),
    (
        '[{"$project": {"x": {"$reduce": {"input": {"$range": [0, 300000]}, "initialValue": 0, '
        '"in": {"$add": ["$$value", "$$this"]}}}}}]',
        "timeout",
        "kill",
    ),
]


@pytest.mark.parametrize(("query", "status", "wall"), MONGO)
def test_hostile_query_on_mongo(sandbox, mongo, query, status, wall):
    sandbox.execute(mongo, '{"a": 7}')  # whatever the last query left is mended before the clock starts
    started = time.monotonic()
    result = sandbox.execute(mongo, query)
    assert time.monotonic() - started < DEADLINE + 1.0
    assert result.status == status
    assert result.error is not None
    assert result.error.wall == wall
    after = sandbox.execute(mongo, '{"a": 7}')
    assert after.rows == (({"type": "object", "value": {"_id": 2, "a": 7, "s": "x"}},),)


def test_a_mongo_server_without_logins_is_refused(sandbox, mongo_uri):
    with pytest.raises(SandboxError, match="no login"):
        sandbox.execute(mongo_uri.replace("/?", "/some?"), '{"a": 1}')


@pytest.fixture(scope="module")
def duck(tmp_path_factory):
    script = tmp_path_factory.mktemp("duck") / "fixture.sql"
    script.write_text(
        "CREATE TABLE t (a INTEGER, b VARCHAR); INSERT INTO t VALUES (1, 'x'); CREATE VIEW v AS SELECT 1 AS a"
    )
    fixture = open_fixture(script, "duckdb")
    yield fixture
    fixture.close()


DUCKDB = [
    ("SELECT * FROM read_csv('/etc/passwd')", REFUSED, "function_not_allowed", "parse"),
    ("SELECT * FROM read_parquet('x')", REFUSED, "function_not_allowed", "parse"),
    ("SELECT * FROM glob('/etc/*')", REFUSED, None, "parse"),
    ("SELECT * FROM 'file.csv'", REFUSED, "unknown_table", "parse"),
    ("SELECT * FROM '/etc/passwd'", REFUSED, "unknown_table", "parse"),
    ("COPY t TO '/tmp/rung-x.csv'", REFUSED, "write", "parse"),
    ("ATTACH '/tmp/rung-x.db'", REFUSED, "not_a_read", "parse"),
    ("INSTALL httpfs", REFUSED, "not_a_read", "parse"),
    ("CREATE TEMP TABLE x AS SELECT 1", REFUSED, "write", "parse"),
    ("SELECT getenv('HOME')", REFUSED, "function_not_allowed", "parse"),
    ("SELECT * FROM duckdb_settings()", REFUSED, "function_not_allowed", "parse"),
    ("SELECT * FROM v", REFUSED, "table_not_allowed", "parse"),
    ("SELECT repeat('x', 3000000000)", "resource_limit", "memory_limit", "kernel"),
    ("SELECT count(*) FROM range(100000000000000)", "timeout", "worker_killed", "kill"),
]


@pytest.mark.parametrize(("query", "status", "code", "wall"), DUCKDB)
def test_hostile_query_on_duckdb(sandbox, duck, query, status, code, wall):
    sandbox.engine(duck)
    started = time.monotonic()
    result = sandbox.execute(duck, query)
    assert time.monotonic() - started < DEADLINE + 1.0
    assert result.status == status
    assert result.error is not None
    assert result.error.wall == wall
    if code is not None:
        assert result.error.code == code
    assert sandbox.execute(duck, "SELECT a, b FROM t").rows == ((1, "x"),)
