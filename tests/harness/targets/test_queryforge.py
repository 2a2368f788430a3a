"""The `queryforge` target: the real engine, through the gateway, against a scripted endpoint."""

import asyncio
import contextlib
import json
import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.corpus.vocabulary import read_vocabulary
from harness.endpoint.client import ModelClient
from harness.endpoint.gateway import Gateway
from harness.endpoint.scripted.script import Script, ScriptLine
from harness.endpoint.scripted.server import ScriptedServer
from harness.endpoint.settings import EndpointSettings
from harness.errors import TargetError
from harness.targets import queryforge as queryforge_module
from harness.targets.default_projections import DefaultProjections
from harness.targets.engine import compile_ast, default_projection, engine_problem
from harness.targets.queryforge import QueryForgeTarget
from harness.types.answers import MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectSql

NOW = datetime(2026, 9, 14, 8, 30, tzinfo=UTC)
SECRET = "sk-should-never-leave"
CONFIG = {
    "entity": "Order",
    "model": {"apiKey": SECRET, "baseURL": "http://192.0.2.1:9/v1", "model": "other", "maxTokens": 700},
    "models": [{"baseURL": "http://192.0.2.1:9/v1", "model": "fallback"}],
    "backends": {"sql": {"table": "orders"}, "mongo": {"collection": "orders"}},
    "fields": [
        {"name": "status", "type": "enum", "values": ["OPEN", "DONE"]},
        {"name": "createdAt", "type": "date", "mapping": {"sql": "created_at", "mysql": "created_at"}},
        {"name": "amount", "type": "number"},
        {"name": "note", "type": "string", "returnable": False},
    ],
    "defaults": {"limit": 50},
    "policy": {"requires": [{"when": {"field": "amount"}, "requireAlsoOneOf": ["status"], "message": "say a status"}]},
}
COLUMNS = "status, created_at, amount"


def comparison(name, operator, **value):
    return {"type": "comparison", "field": name, "operator": operator, "value": value}


def ast(tree=None, **parts):
    return json.dumps({"version": "1.0", "entity": "Order", **({"filter": tree} if tree else {}), **parts})


OPEN = ast(comparison("status", "equals", kind="enum", v="OPEN"))
INVALID = ast(comparison("state", "equals", kind="enum", v="OPEN"))
LAST_MONTH = comparison("createdAt", "between", kind="period", unit="month", **{"from": -1, "to": -1})
LAST_HOUR = comparison("createdAt", "between", kind="period", unit="hour", **{"from": -1, "to": 0})
TWO_WEEKS = comparison("createdAt", "after", kind="relative_date", unit="day", amount=-14)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


def case(config, backend="postgres", **facts):
    expectation = ExpectMongo(text="{}") if backend == "mongo" else ExpectSql(text="SELECT 1")
    head = {"id": "A/1 ä", "nl": "open orders", "backend": backend, "expectation": expectation, "config": config}
    return Case(**(head | facts))


def ask(asked, *responses, now=NOW, settings=None, **options):
    """Ask once; gives the reply and the bodies of the requests that the endpoint received."""
    given = [response if isinstance(response, dict) else {"content": response} for response in responses]
    line = {"id": asked.id, "match": {"sentence": asked.nl}, "responses": given or [{"content": OPEN}]}

    async def once():
        with ScriptedServer(Script([ScriptLine.model_validate_json(json.dumps(line))])) as server:
            client = ModelClient(EndpointSettings.of(server.base_url, "the-model", **(settings or {"retries": 0})))
            async with Gateway(client) as gateway:
                target = QueryForgeTarget(gateway, model="the-model", **options)
                try:
                    reply = await target.answer(asked, now=now, repeat=0)
                finally:
                    await target.aclose()
            await client.aclose()
            return reply, list(server.received)

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("backend", "answer"),
    [
        ("postgres", SqlAnswer(text=f"SELECT {COLUMNS} FROM orders WHERE status = $1 LIMIT 50", args=("OPEN",))),
        ("mysql", SqlAnswer(text=f"SELECT {COLUMNS} FROM orders WHERE status = ? LIMIT 50", args=("OPEN",))),
        (
            "mongo",
            MongoAnswer(
                text='{"collection":"orders","filter":{"status":"OPEN"},'
                '"projection":{"amount":1,"createdAt":1,"status":1},"limit":50}'
            ),
        ),
    ],
)
def test_a_sentence_becomes_a_query(config, backend, answer):
    reply, received = ask(case(config, backend), OPEN)
    assert reply.answer == answer
    assert reply.raw == OPEN
    assert (len(reply.calls), reply.repairs, reply.retries, reply.notices) == (1, 0, 0, ())
    (request,) = received
    assert request.body["model"] == "the-model"


def test_the_prompt_is_told_the_pinned_day(config):
    _, (request,) = ask(case(config), OPEN)
    system = request.body["messages"][0]["content"]
    assert "Today (UTC): 2026-09-14" in system


def test_days_begin_in_the_time_zone_of_the_config(config):
    config.write_text(json.dumps(CONFIG | {"timezone": "America/New_York"}))
    reply, (request,) = ask(case(config), ast(LAST_MONTH), now=datetime(2026, 9, 1, 2, 30, tzinfo=UTC))
    assert "Today (America/New_York): 2026-08-31" in request.body["messages"][0]["content"]
    assert isinstance(reply.answer, SqlAnswer)
    assert reply.answer.args == ("2026-07-01T04:00:00Z", "2026-08-01T04:00:00Z")


def test_no_key_of_the_config_and_none_of_its_endpoints_is_used(config):
    reply, (request,) = ask(case(config), OPEN)
    assert isinstance(reply.answer, SqlAnswer)
    assert SECRET not in json.dumps(request.headers) + json.dumps(request.body)


def test_a_repair_is_counted(config):
    reply, received = ask(case(config), INVALID, OPEN)
    assert isinstance(reply.answer, SqlAnswer)
    assert (len(reply.calls), reply.repairs, reply.raw) == (2, 1, OPEN)
    assert "failed validation" in received[1].body["messages"][-1]["content"]


def test_repairs_end(config):
    reply, received = ask(case(config), INVALID, max_repairs=1)
    assert isinstance(reply.answer, NoQuery)
    assert reply.answer.reason == "unparseable"
    assert 'unknown field "state"' in reply.answer.message
    assert (len(received), reply.repairs, reply.raw) == (2, 1, INVALID)


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ('{"unsupported": "no carrier"}', "request is not supported by this config: no carrier"),
        (ast(comparison("amount", "gt", kind="number", v=5)), "say a status"),
    ],
    ids=["the model declines", "the policy declines"],
)
def test_refusals_are_typed(config, response, answer):
    reply, received = ask(case(config), response)
    assert reply.answer == Refusal(message=answer)
    assert len(received) == 1


@pytest.mark.parametrize(
    ("response", "reason", "calls"),
    [
        ("no JSON at all", "unparseable", 3),
        ("{}", "unparseable", 3),
        ({"content": OPEN, "finish_reason": "length"}, "truncated", 1),
        ({"content": "", "finish_reason": "content_filter"}, "content_filter", 3),
        ({"status": 500, "body": {"error": {"message": "broken"}}}, "transport", 1),
        ({"status": 401, "body": {"error": {"message": "who are you"}}}, "transport", 1),
    ],
)
def test_what_is_no_query_says_why(config, response, reason, calls):
    reply, received = ask(case(config), response)
    assert isinstance(reply.answer, NoQuery)
    assert (reply.answer.reason, len(received)) == (reason, calls)


def test_transport_is_tried_again_by_the_client_and_not_by_the_engine(config):
    wait = {"status": 503, "headers": {"Retry-After": "0"}, "body": {"error": {"message": "loading"}}}
    reply, received = ask(case(config), wait, wait, OPEN, settings={"retries": 2})
    assert isinstance(reply.answer, SqlAnswer)
    assert (len(received), len(reply.calls), reply.retries) == (3, 1, 2)


def test_scope_narrows_the_query_and_stays_out_of_the_prompt(config):
    reply, (request,) = ask(case(config, scope={"tenant_id": "acme-17", "amount": [1, 2]}), OPEN)
    text = f"SELECT {COLUMNS} FROM orders WHERE (amount IN ($1, $2) AND tenant_id = $3 AND status = $4) LIMIT 50"
    assert reply.answer == SqlAnswer(text=text, args=(1, 2, "acme-17", "OPEN"))
    assert "acme-17" not in json.dumps(request.body)


def test_a_scope_that_the_engine_refuses_is_told(config):
    reply, received = ask(case(config, scope={"status": "NOWHERE"}), OPEN)
    assert isinstance(reply.answer, NoQuery)
    assert reply.answer.reason == "target_crashed"
    assert "NOWHERE" in reply.answer.message
    assert len(received) <= 1


@pytest.mark.parametrize(
    ("tree", "now", "where", "args"),
    [
        (TWO_WEEKS, NOW, "created_at >= $1", ("2026-08-31T08:30:00Z",)),
        (TWO_WEEKS, datetime(2019, 1, 3, tzinfo=UTC), "created_at >= $1", ("2018-12-20T00:00:00Z",)),
        (LAST_MONTH, NOW, "(created_at >= $1 AND created_at < $2)", ("2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z")),
        (
            LAST_HOUR,
            datetime(1999, 12, 31, 23, 59, tzinfo=UTC),
            "(created_at >= $1 AND created_at < $2)",
            ("1999-12-31T22:00:00Z", "2000-01-01T00:00:00Z"),
        ),
        (
            {"type": "logical", "op": "OR", "children": [LAST_MONTH, TWO_WEEKS, LAST_HOUR]},
            NOW,
            "((created_at >= $1 AND created_at < $2) OR created_at >= $3 OR (created_at >= $4 AND created_at < $5))",
            (
                *("2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z", "2026-08-31T08:30:00Z"),
                *("2026-09-14T07:00:00Z", "2026-09-14T09:00:00Z"),
            ),
        ),
    ],
)
def test_dates_are_those_of_the_pinned_clock(config, tree, now, where, args):
    reply, _ = ask(case(config), ast(tree), now=now)
    assert reply.answer == SqlAnswer(text=f"SELECT {COLUMNS} FROM orders WHERE {where} LIMIT 50", args=args)


def test_dates_in_documents_are_pinned_too(config):
    reply, _ = ask(case(config, "mongo"), ast({"type": "logical", "op": "NOT", "children": [LAST_MONTH]}))
    assert isinstance(reply.answer, MongoAnswer)
    span = {"$gte": "2026-08-01T00:00:00Z", "$lt": "2026-09-01T00:00:00Z"}
    # The engine leaves out documents without the field; the bounds are ours, the shape is its own.
    assert json.loads(reply.answer.text)["filter"] == {
        "$and": [{"$nor": [{"createdAt": span}]}, {"createdAt": {"$exists": True}}]
    }


def test_scope_is_kept_where_dates_are_pinned(config):
    reply, _ = ask(case(config, scope={"tenant_id": "t"}), ast(TWO_WEEKS))
    text = f"SELECT {COLUMNS} FROM orders WHERE (tenant_id = $1 AND created_at >= $2) LIMIT 50"
    assert reply.answer == SqlAnswer(text=text, args=("t", "2026-08-31T08:30:00Z"))


def test_dates_beyond_the_calendar_are_no_query(config):
    far = ast(comparison("createdAt", "after", kind="relative_date", unit="year", amount=-1990))
    reply, _ = ask(case(config), far, now=datetime(1950, 1, 1, tzinfo=UTC))
    assert isinstance(reply.answer, NoQuery)
    assert reply.answer.reason == "unparseable"
    assert "out of range" in reply.answer.message


def test_a_backend_that_the_engine_does_not_know(config):
    reply, received = ask(case(config, "sqlite"), OPEN)
    said = "QueryForge compiles for postgres, mysql, mongo, not for sqlite"
    assert reply.answer == NoQuery(reason="target_crashed", message=said)
    assert received == []


def test_configs_that_cannot_be_used(config, tmp_path):
    ddl = tmp_path / "schema.sql"
    ddl.write_text("CREATE TABLE t (a INTEGER);")
    unknown = tmp_path / "unknown.json"
    unknown.write_text(json.dumps(CONFIG | {"colour": "red"}))
    for path, message in (
        (None, "names no vocabulary config"),
        (ddl, "is a schema"),
        (unknown, 'QueryForge refuses .*: parse config: json: unknown field "colour"'),
    ):
        with pytest.raises(TargetError, match=message):
            ask(case(path), OPEN)


def test_facts_name_engine_endpoint_and_config_but_no_key(config):
    async def facts():
        client = ModelClient(EndpointSettings.of("http://127.0.0.1:9/v1", "m"))
        async with Gateway(client) as gateway:
            target = QueryForgeTarget(gateway, model="m", endpoint_facts={"temperature": 0})
            first = target.facts(case(config))
            config.write_text(json.dumps(CONFIG | {"model": {"model": "another"}}))
            second = QueryForgeTarget(gateway, model="m", endpoint_facts={"temperature": 0}).facts(case(config))
            config.write_text(json.dumps(CONFIG | {"defaults": {"limit": 7}}))
            third = QueryForgeTarget(gateway, model="m", endpoint_facts={"temperature": 0}).facts(case(config))
        await client.aclose()
        return first, second, third

    first, second, third = asyncio.run(facts())
    assert first == second != third
    assert (first["engine"], first["model"], first["endpoint"]) == ("1.2.7", "m", {"temperature": 0})
    assert SECRET not in json.dumps(first)


def test_many_cases_wait_for_the_model_at_once(config):
    lines = [
        {"id": str(number), "match": {"sentence": f"open orders {number}!"}, "responses": [{"content": OPEN}]}
        for number in range(24)
    ]

    async def all_at_once():
        script = Script([ScriptLine.model_validate_json(json.dumps(line)) for line in lines])
        with ScriptedServer(script, latency_ms=400) as server:
            client = ModelClient(EndpointSettings.of(server.base_url, "m"))
            async with Gateway(client) as gateway:
                target = QueryForgeTarget(gateway, model="m")
                asked = [case(config, id=str(number), nl=f"open orders {number}!") for number in range(24)]
                started = time.monotonic()
                replies = await asyncio.gather(*(target.answer(one, now=NOW, repeat=0) for one in asked))
                took = time.monotonic() - started
                await target.aclose()
            await client.aclose()
        return replies, took

    replies, took = asyncio.run(all_at_once())
    assert all(isinstance(reply.answer, SqlAnswer) for reply in replies)
    assert took < 24 * 0.4 / 2  # one after another they would wait 9.6 s for the model alone


def engine_processes():
    """Process ids of the engines that this process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == str(os.getpid()) and (entry / "comm").read_text().strip() == "queryforge":
                found.append(int(entry.name))
    return found


def interrupt_engines():
    until = time.monotonic() + 10
    while not (running := engine_processes()):
        assert time.monotonic() < until
    for process in running:
        os.kill(process, signal.SIGINT)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc to find the engine's process")
@pytest.mark.parametrize("patience", [60.0, 0.0], ids=["the run stops", "the run goes on"])
def test_an_engine_that_gets_ctrl_c_leaves_its_attempt_to_the_run(config, monkeypatch, patience):
    monkeypatch.setattr(queryforge_module, "STOPPING_S", patience)
    line = {"id": "A/1 ä", "match": {"sentence": "open orders"}, "responses": [{"content": OPEN, "delay_ms": 60_000}]}

    async def interrupted():
        with ScriptedServer(Script([ScriptLine.model_validate_json(json.dumps(line))])) as server:
            client = ModelClient(EndpointSettings.of(server.base_url, "m"))
            async with Gateway(client) as gateway:
                target = QueryForgeTarget(gateway, model="m")
                asking = asyncio.create_task(target.answer(case(config), now=NOW, repeat=0))
                await asyncio.to_thread(interrupt_engines)
                done, _ = await asyncio.wait({asking}, timeout=1.0)
                asking.cancel()
                await target.aclose()
            await client.aclose()
        return [task.result().answer for task in done]

    answers = asyncio.run(interrupted())
    if patience:
        assert answers == []
        return
    (answer,) = answers
    assert isinstance(answer, NoQuery)
    assert answer.reason in ("target_crashed", "transport")


def test_default_projections_come_from_the_engine(config):
    projections = DefaultProjections()
    text = "SELECT <default> FROM orders WHERE amount > 5"
    expected = ExpectSql(text=text, args=())
    resolved = projections.resolve(case(config, expectation=expected, accept=(text, "SELECT 1")))
    assert resolved.expectation == ExpectSql(text=text.replace("<default>", COLUMNS), args=())
    assert resolved.accept == (text.replace("<default>", COLUMNS), "SELECT 1")
    untouched = case(None)
    assert projections.resolve(untouched) is untouched
    for changes, message in (
        ({"config": None}, "needs a vocabulary config"),
        ({"backend": "sqlite"}, "QueryForge compiles SQL for postgres, mysql"),
    ):
        with pytest.raises(TargetError, match=message):
            projections.resolve(case(config, expectation=expected).model_copy(update=changes))


def test_the_projection_of_an_open_config_is_a_star(tmp_path):
    text = json.dumps({"entity": "Order", "fields": [{"name": "status", "type": "string"}]})
    vocabulary = read_vocabulary(text, path=tmp_path / "c.json")
    assert default_projection(vocabulary, "postgres") == "*"
    assert compile_ast(vocabulary, "postgres", {"version": "1.0", "entity": "Order"}).sql == 'SELECT * FROM "Order"'


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"colour": 1}, 'parse config: json: unknown field "colour"'),
        ({"timezone": "Nowhere/Land"}, "Nowhere/Land"),
        ({"policy": {"requires": [{"when": {"field": "x"}}]}}, "policy.requires[0].when references field"),
    ],
)
def test_the_engine_says_what_is_wrong_with_a_config(tmp_path, changes, problem):
    said = engine_problem(read_vocabulary(json.dumps(CONFIG | changes), path=tmp_path / "c.json"))
    assert said == problem or (said is not None and problem is not None and problem in said)


@pytest.mark.parametrize("backend", ["postgres", "mysql", "mongo"])
@pytest.mark.parametrize(
    "backends",
    [
        {},
        {"sql": {"table": "t_sql"}},
        {"mysql": {"table": "t_my"}, "mongo": {"collection": "c"}},
        {"sql": {"name": "n"}, "mysql": {"table": ""}, "mongo": {"table": "t"}},
        {"postgres": {"table": "t_pg"}},
    ],
)
def test_names_are_those_that_the_engine_writes(tmp_path, backend, backends):
    fields = [
        {"name": "a", "type": "date", "mapping": {"sql": "a_sql"}},
        {"name": "b", "type": "string", "mapping": {"mysql": "b_my", "mongo": "b.m"}},
        {"name": "c", "type": "string", "mapping": {"postgres": "c_pg"}},
        {"name": "d", "type": "string", "returnable": False},
    ]
    text = json.dumps({"entity": "Order", "backends": backends, "fields": fields})
    vocabulary = read_vocabulary(text, path=tmp_path / "c.json")
    compiled = compile_ast(vocabulary, backend, {"version": "1.0", "entity": "Order"})
    if backend == "mongo":
        names = list(vocabulary.mongo_fields())[:3]
        assert compiled.doc == {
            "collection": vocabulary.table_name("mongo"),
            "filter": {},
            "projection": dict.fromkeys(names, 1),
        }
        return
    (table,) = vocabulary.schema(backend).tables
    plain = compiled.sql.replace('"', "").replace("`", "")
    assert plain == f"SELECT {', '.join(column.name for column in table.columns[:3])} FROM {table.name}"
