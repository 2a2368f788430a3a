"""Fixtures from files, scripts, folders and servers, and the executor that runs goldens and answers on them."""

# ruff: noqa: E501 - a table reads best with one row a line

import asyncio
import json
import sqlite3
from datetime import UTC, datetime

import duckdb
import pytest

from harness.errors import SandboxError, UsageError
from harness.sandbox.documents import comparable
from harness.sandbox.executor import FixtureExecutor, bound
from harness.sandbox.fixtures import open_fixture
from harness.sandbox.sandbox import Sandbox
from harness.types.answers import MongoAnswer, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql, ResultRules

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SCRIPT = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, total NUMERIC(10, 2), created_at TIMESTAMP, status VARCHAR(9));
INSERT INTO orders VALUES (1, 10.50, '2026-01-15 00:00:00', 'NEW'), (2, 20, '2026-02-20 00:00:00', NULL), (3, 5, '2025-06-01 00:00:00', 'NEW');
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "fixture.sql").write_text(SCRIPT)
    tables = folder / "tables"
    tables.mkdir()
    (tables / "people.csv").write_text("id,name\n1,Ann\n2,\n")
    (tables / "notes.jsonl").write_text('{"id": 1, "text": "x"}\n\n{"id": 2, "text": "y"}\n')
    typed = folder / "typed"
    typed.mkdir()
    (typed / "schema.sql").write_text("CREATE TABLE people (id INTEGER, name VARCHAR(10), joined DATE)")
    (typed / "people.csv").write_text("name,id,joined\nAnn,1,2026-01-01\nBob,2,\n")
    parquet = folder / "parquet"
    parquet.mkdir()
    duckdb.sql(f"COPY (SELECT 1 AS a, 'x' AS b) TO '{parquet / 'p.parquet'}' (FORMAT parquet)")
    documents = folder / "documents"
    documents.mkdir()
    lines = [{"_id": 1, "n": 5, "at": {"$date": "2026-02-01T00:00:00Z"}}, {"_id": 2, "n": 7, "tags": ["a"]}]
    (documents / "items.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with duckdb.connect(str(folder / "renamed.db")) as other:
        other.execute("CREATE TABLE t AS SELECT 7 AS a")
    connection = sqlite3.connect(folder / "shop.db")
    connection.executescript("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x')")
    connection.close()
    return folder


RUNS = [
    ("fixture.sql", "sqlite", "SELECT count(*), sum(total) FROM orders", ((3, 35.5),), "sqlite"),
    ("fixture.sql", "duckdb", "SELECT count(*)::INTEGER FROM orders WHERE status IS NULL", ((1,),), "duckdb"),
    ("fixture.sql", "postgres", "SELECT count(*)::int4 FROM orders WHERE status = 'NEW'", ((2,),), "postgresql"),
    ("embedded:fixture.sql", "postgres", "SELECT id FROM orders WHERE id = 2", ((2,),), "postgresql"),
    (
        "tables",
        "sqlite",
        "SELECT id, name, text FROM people LEFT JOIN notes USING (id) ORDER BY 1",
        (("1", "Ann", None), ("2", None, None)),
        "sqlite",
    ),
    (
        "tables",
        "postgres",
        "SELECT p.id, name, text FROM people p LEFT JOIN notes USING (id) ORDER BY 1",
        ((1, "Ann", "x"), (2, None, "y")),
        "duckdb",
    ),
    ("typed", "sqlite", "SELECT id + 1, name FROM people WHERE joined IS NULL", ((3, "Bob"),), "sqlite"),
    ("typed", "duckdb", "SELECT name FROM people WHERE joined < DATE '2026-02-01'", (("Ann",),), "duckdb"),
    ("embedded:typed", "postgres", "SELECT name FROM people WHERE joined IS NULL", (("Bob",),), "postgresql"),
    ("parquet", "duckdb", "SELECT a, b FROM p", ((1, "x"),), "duckdb"),
    (
        "documents/items.jsonl",
        "mongo",
        '{"n": 5}',
        (
            (
                {
                    "type": "object",
                    "value": {"_id": 1, "n": 5, "at": {"type": "timestamptz", "value": "2026-02-01T00:00:00+00:00"}},
                },
            ),
        ),
        "mongodb",
    ),
    ("renamed.db", "duckdb", "SELECT a FROM t", ((7,),), "duckdb"),
    ("documents", "mongo", "db.items.countDocuments({n: {$gt: 5}})", ((1,),), "mongodb"),
    ("shop.db", "sqlite", "SELECT a FROM t", ((1,),), "sqlite"),
]


@pytest.mark.parametrize(("place", "dialect", "query", "rows", "engine"), RUNS)
def test_fixtures_of_every_kind(data, place, dialect, query, rows, engine):
    prefix, _, name = place.rpartition(":")
    where = f"{prefix}:{data / name}" if prefix else str(data / name)
    fixture = open_fixture(where, dialect)
    try:
        with Sandbox(workers=1) as sandbox:
            result = sandbox.execute(fixture, query, dialect=dialect)
    finally:
        fixture.close()
    assert (result.error, result.rows) == (None, rows)
    assert result.engine.split()[0] == engine


def test_urls_of_files(data, monkeypatch):
    monkeypatch.chdir(data)
    assert open_fixture("sqlite:///shop.db").path.name == "shop.db"
    assert open_fixture(f"sqlite:///{data}/shop.db").path == data / "shop.db"
    for wrong in ("sqlite://shop.db", "sqlite:///x.db?mode=rw", "mysql://x/y", "mongodb://host", "ftp://x"):
        with pytest.raises(UsageError):
            open_fixture(wrong)


BAD = [
    ("shop.db", "postgres", UsageError, "postgres are not run on a sqlite"),
    ("shop.db", "mongo", UsageError, "not run on a sqlite"),
    ("fixture.sql", "mysql", UsageError, "mysql"),
    ("nosuch.sql", "sqlite", SandboxError, "does not exist"),
    ("broken.sql", "sqlite", SandboxError, "broken.sql: near"),
    ("broken.sql", "duckdb", SandboxError, "broken.sql: "),
    ("broken.sql", "postgres", SandboxError, "broken.sql: line 2: "),
    ("ragged", "sqlite", SandboxError, "row 2 has 1 cells"),
    ("ragged", "mongo", SandboxError, "holds no .jsonl"),
    ("badjson", "mongo", SandboxError, "items.jsonl:2: is no JSON"),
    ("empty", "duckdb", SandboxError, "holds neither tables"),
    ("embedded:tables", "postgres", SandboxError, "needs a schema.sql"),
]


@pytest.mark.parametrize(("place", "dialect", "kind", "message"), BAD)
def test_a_fixture_that_cannot_be_used_says_why(data, place, dialect, kind, message):
    (data / "broken.sql").write_text("CREATE TABLE t (a INTEGER);\nCREATE TABEL u (a INTEGER);")
    for name, file, text in (
        ("ragged", "x.csv", "a,b\n1\n"),
        ("badjson", "items.jsonl", "{}\n{"),
        ("empty", "readme.txt", ""),
    ):
        (data / name).mkdir(exist_ok=True)
        (data / name / file).write_text(text)
    prefix, _, name = place.rpartition(":")
    with pytest.raises(kind, match=message):
        open_fixture(f"{prefix}:{data / name}" if prefix else str(data / name), dialect)


def sql(text, backend="sqlite", **more):
    return Case(id="c", nl="q", backend=backend, expectation=ExpectSql(text=text), **more)


@pytest.fixture(scope="module")
def executor(data):
    made = FixtureExecutor(str(data / "shop.db"), folder=data, workers=1)
    yield made
    asyncio.run(made.aclose())
    asyncio.run(made.aclose())


EXECUTIONS = [
    (sql("SELECT a FROM t"), SqlAnswer(text="SELECT a + 0 FROM t"), "match"),
    (sql("SELECT a FROM t"), SqlAnswer(text="SELECT a + 1 FROM t"), "mismatch"),
    (sql("SELECT a FROM t"), SqlAnswer(text="SELECT c FROM t"), "generated_error"),
    (sql("SELECT c FROM t"), SqlAnswer(text="SELECT a FROM t"), "reference_error"),
    (sql("SELECT a FROM t"), SqlAnswer(text="DELETE FROM t"), "refused"),
    (sql("SELECT a FROM t"), MongoAnswer(text="{}"), "generated_error"),
    (sql("SELECT a FROM t WHERE a = 1"), SqlAnswer(text="SELECT a FROM t WHERE a = ?", args=(1,)), "match"),
    (sql("SELECT a FROM t WHERE a = 1"), SqlAnswer(text="SELECT a FROM t WHERE a = ?", args=()), "refused"),
    (
        sql("SELECT id FROM orders WHERE created_at > NOW() - INTERVAL '30 days'", "sql", fixture="fixture.sql"),
        SqlAnswer(text="SELECT id FROM orders WHERE created_at > '2026-01-30'"),
        "match",
    ),
    (
        sql("SELECT id FROM orders WHERE created_at > NOW() - INTERVAL '30 days'", "duckdb", fixture="fixture.sql"),
        SqlAnswer(text="SELECT 2"),
        "match",
    ),
    (
        Case(id="c", nl="q", backend="mongo", expectation=ExpectMongo(text='{"n": 7}'), fixture="documents"),
        MongoAnswer(text="db.items.find({n: {$gte: 6}})"),
        "match",
    ),
    (
        Case(id="c", nl="q", backend="mongo", expectation=ExpectMongo(text='{"n": 7}'), fixture="documents"),
        MongoAnswer(text='{"n": 5}'),
        "mismatch",
    ),
    (
        sql(
            "SELECT id FROM orders ORDER BY status", fixture="fixture.sql", result_rules=ResultRules(order_matters=True)
        ),
        SqlAnswer(text="SELECT id FROM orders ORDER BY status, id DESC"),
        "match",
    ),
    (
        sql("SELECT id, total FROM orders", fixture="fixture.sql", result_rules=ResultRules(match_key=("id",))),
        SqlAnswer(text="SELECT id, total + (id = 1) AS total FROM orders"),
        "mismatch",
    ),
]


@pytest.mark.parametrize(("case", "answer", "outcome"), EXECUTIONS)
def test_execution(executor, case, answer, outcome):
    execution = asyncio.run(executor.execute(case, answer, now=NOW))
    assert execution.outcome == outcome
    assert "SELECT" not in execution.detail
    assert execution.detail or outcome == "match"
    assert not execution.contradiction


def test_what_is_not_executed(executor, data):
    refusal = Case(id="c", nl="q", backend="sqlite", expectation=ExpectRefusal())
    assert asyncio.run(executor.execute(refusal, SqlAnswer(text="SELECT 1"), now=NOW)) is None
    without = FixtureExecutor(None)
    assert asyncio.run(without.execute(sql("SELECT 1"), SqlAnswer(text="SELECT 1"), now=NOW)) is None
    with pytest.raises(UsageError, match="mysql"):
        asyncio.run(executor.execute(sql("SELECT 1", "mysql"), SqlAnswer(text="SELECT 1"), now=NOW))


def test_embedded_takes_the_script_beside_the_corpus(data, tmp_path):
    made = FixtureExecutor("embedded", folder=data, workers=1)
    try:
        execution = asyncio.run(
            made.execute(sql("SELECT count(*) FROM orders", "sql"), SqlAnswer(text="SELECT 3"), now=NOW)
        )
        assert (execution.outcome, execution.engine.split()[0]) == ("match", "postgresql")
    finally:
        made.close()
    bare = FixtureExecutor("embedded", folder=tmp_path)
    with pytest.raises(UsageError, match="no data to run the queries on"):
        asyncio.run(bare.execute(sql("SELECT 1", "sql"), SqlAnswer(text="SELECT 1"), now=NOW))


ORDERS = "CREATE TABLE orders (id INTEGER, status TEXT); INSERT INTO orders VALUES (1, 'NEW'), (2, NULL);"
DOCUMENTS = '{"_id": 1, "n": 5, "m": 1}\n{"_id": 2, "n": 7}\n'


@pytest.mark.parametrize("word", ["embedded", "duckdb"])
@pytest.mark.parametrize("place", ["", ":{}", ":{}/fixture.sql", ":{}/fixture.jsonl"])
def test_each_backend_gets_its_own_part_of_the_fixture(tmp_path, word, place):
    (tmp_path / "fixture.sql").write_text(ORDERS)
    (tmp_path / "fixture.jsonl").write_text(DOCUMENTS)
    made = FixtureExecutor(word + place.format(tmp_path), folder=tmp_path, workers=1, collection=lambda case: "items")
    found = mongo('{"n": 7}')
    try:
        tables = asyncio.run(
            made.execute(sql("SELECT 2", "sql"), SqlAnswer(text="SELECT max(id) FROM orders"), now=NOW)
        )
        items = asyncio.run(made.execute(found, MongoAnswer(text="db.items.find({n: {$gt: 6}})"), now=NOW))
        wrong = asyncio.run(made.execute(found, MongoAnswer(text="db.others.find({n: {$gt: 6}})"), now=NOW))
    finally:
        made.close()
    assert (tables.outcome, tables.engine.split()[0]) == ("match", {"embedded": "postgresql"}.get(word, word))
    assert (items.outcome, items.engine.split()[0], wrong.outcome) == ("match", "mongodb", "generated_error")


@pytest.mark.parametrize(("there", "backend"), [("fixture.sql", "mongo"), ("fixture.jsonl", "sql")])
def test_a_backend_without_its_part_is_named(tmp_path, there, backend):
    (tmp_path / there).write_text("")
    made = FixtureExecutor(str(tmp_path / there))
    case, answer = (
        (mongo("{}"), MongoAnswer(text="{}")) if backend == "mongo" else (sql("SELECT 1"), SqlAnswer(text="SELECT 1"))
    )
    with pytest.raises(UsageError, match=f"{there} has no fixture"):
        asyncio.run(made.execute(case, answer, now=NOW))


def mongo(text):
    return Case(id="c", nl="q", backend="mongo", expectation=ExpectMongo(text=text))


PARTS = [
    ('{"n": 5}', '{"filter": {"n": 5}, "projection": {"n": 1}, "limit": 1}', '{"filter": {"n": 5}}'),
    (
        '{"filter": {}, "limit": 3}',
        "db.i.find({a: 1}, {b: 1}).limit(4)",
        '{"collection": "i", "filter": {"a": 1}, "limit": 4}',
    ),
    ('{"filter": {}, "sort": {"n": 1}}', '{"filter": {"n": 5}, "sort": [{"field": "n", "order": -1}]}', None),
    ("db.i.find({n: 5})", '{"filter": {"n": 5}, "limit": 1}', None),
    ('{"n": 5}', "db.i.findOne({n: 5})", None),
    ('{"n": 5}', "db.i.aggregate([{$match: {n: 5}}])", None),
    ('{"n": 5}', "no query", None),
]


@pytest.mark.parametrize(("golden", "answer", "run"), PARTS)
def test_what_the_golden_leaves_open_is_not_run(golden, answer, run):
    assert comparable(golden, answer, NOW) == (answer if run is None else run)


PERMUTED = [
    ("SELECT a, b FROM t", "SELECT b, a FROM t", "match", "mismatch"),
    ("SELECT a, b FROM t ORDER BY a", "SELECT b, a FROM t ORDER BY a", "match", "mismatch"),
    ("SELECT a, b FROM t", "SELECT b AS c, a FROM t", "mismatch", "mismatch"),
    ("SELECT a, b FROM t", "SELECT a, a AS b FROM t", "mismatch", "mismatch"),
    ("SELECT a, a FROM t", "SELECT b, a FROM t", "mismatch", "mismatch"),
    ("SELECT a, b FROM t", "SELECT a, b FROM t", "match", "match"),
]


@pytest.mark.parametrize(("golden", "answer", "loosely", "strictly"), PERMUTED)
def test_columns_in_another_order(data, executor, golden, answer, loosely, strictly):
    loose = FixtureExecutor(str(data / "shop.db"), workers=1, any_order=True)
    case = sql(golden, result_rules=ResultRules(order_matters="ORDER" in golden))
    try:
        found = asyncio.run(loose.execute(case, SqlAnswer(text=answer), now=NOW))
    finally:
        loose.close()
    assert found.outcome == loosely
    assert asyncio.run(executor.execute(case, SqlAnswer(text=answer), now=NOW)).outcome == strictly


def test_parameters_are_bound():
    assert (
        bound("SELECT a FROM t WHERE a = $2 AND b = $1", ["it's", 5], "postgres")
        == "SELECT a FROM t WHERE a = 5 AND b = 'it''s'"
    )
    assert bound("SELECT :x", {"x": None}, "sqlite") == "SELECT NULL"
    for text, args in (("SELECT $2", [1]), ("SELECT :y", {"x": 1}), ("SELECT (", [1])):
        with pytest.raises(ValueError, match=r"value|parsed"):
            bound(text, args, "postgres")
