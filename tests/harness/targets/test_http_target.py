"""The `http` target against a real service on loopback: the contract, what goes wrong, the account of model calls."""

import asyncio
import inspect
import json
from datetime import UTC, datetime

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from harness.endpoint.client import ModelClient
from harness.endpoint.gateway import Gateway
from harness.endpoint.loopback import LoopbackServer
from harness.endpoint.scripted import SCENARIOS, ScriptedServer
from harness.endpoint.settings import EndpointSettings
from harness.errors import TargetError
from harness.targets.contract import read_contract
from harness.targets.http import HttpTarget
from harness.types.answers import MongoAnswer, NoQuery, Refusal, SqlAnswer, Usage
from harness.types.cases import Case, ExpectSql

NOW = datetime(2026, 8, 4, tzinfo=UTC)
CASE = Case(
    id="S1", nl="open orders", backend="mysql", expectation=ExpectSql(text="SELECT 1"), scope={"tenant": "acme"}
)


class Service:
    """A user's service that answers from a list, the last answer again and again."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.requests: list[dict] = []

    async def __call__(self, scope, receive, send) -> None:
        request = Request(scope, receive)
        self.requests.append(await request.json())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if inspect.iscoroutinefunction(answer):
            answer = await answer(self.requests[-1])
        response = answer if isinstance(answer, Response) else PlainTextResponse(json.dumps(answer))
        await response(scope, receive, send)


def ask(service, *, gateway=None, path="/query", **options):
    async def run():
        async with LoopbackServer(service) as server:
            target = HttpTarget(server.origin + path, first_wait_s=0.001, gateway=gateway, **options)
            try:
                return await target.answer(CASE, now=NOW, repeat=2)
            finally:
                await target.aclose()

    return asyncio.run(run())


def test_request_says_what_the_contract_says():
    service = Service({"sql": "SELECT 1"})
    assert ask(service).answer == SqlAnswer(text="SELECT 1")
    assert service.requests == [
        {
            "nl": "open orders",
            "now": "2026-08-04T00:00:00Z",
            "backend": "mysql",
            "scope": {"tenant": "acme"},
            "case_id": "S1",
            "repeat": 2,
            "config": None,
            "base_url": None,
        }
    ]


ANSWERS = [
    ({"sql": "SELECT ?", "args": [1, None, "x"]}, SqlAnswer(text="SELECT ?", args=(1, None, "x"))),
    ({"sql": "SELECT :a", "args": {"a": 1}}, SqlAnswer(text="SELECT :a", args={"a": 1})),
    ({"mongo": {"a": {"$gt": 1}}}, MongoAnswer(text='{"a":{"$gt":1}}')),
    ({"mongo": "db.o.find({})"}, MongoAnswer(text="db.o.find({})")),
    ({"mongo": []}, MongoAnswer(text="[]")),
    ({"unsupported": "no such field", "sql": None}, Refusal(message="no such field")),
    ({"unsupported": True}, Refusal(message="true")),
    ({"error": "boom"}, NoQuery(reason="target_crashed", message="boom")),
    ({"error": "cut", "reason": "truncated"}, NoQuery(reason="truncated", message="cut")),
    ({"error": "cut", "reason": ["x"]}, NoQuery(reason="target_crashed", message="cut")),
    ({"sql": ""}, NoQuery(reason="empty", message="`sql` is empty")),
    ({"sql": 5}, NoQuery(reason="unparseable", message="`sql` is a int; it should be text")),
    (
        {"sql": "x", "args": 5},
        NoQuery(reason="unparseable", message="`args` should be a list, or an object of named values"),
    ),
    ({"mongo": 5}, NoQuery(reason="unparseable", message="`mongo` is a int; it should be an object, a list or text")),
    (
        {"sql": "x", "mongo": {}},
        NoQuery(
            reason="unparseable",
            message="the answer should have exactly one of sql, mongo, unsupported, error; it has sql and mongo",
        ),
    ),
    (
        {},
        NoQuery(
            reason="unparseable",
            message="the answer should have exactly one of sql, mongo, unsupported, error; it has none of them",
        ),
    ),
    ([1], NoQuery(reason="unparseable", message="the answer is a JSON list; it should be an object")),
]  # fmt: skip


@pytest.mark.parametrize(("document", "answer"), ANSWERS)
def test_answer_is_read_by_the_contract(document, answer):
    assert read_contract(json.dumps(document)).answer == answer


@pytest.mark.parametrize(
    "text", ["", " ", "{", "[" * 50_000, '{"sql": "\\ud800"}', "null", '{"sql":' + "[" * 900 + "]" * 900 + "}"]
)
def test_no_text_makes_the_contract_raise(text):
    contracted = read_contract(text)
    contracted.answer.model_dump_json().encode()


def test_what_the_service_knows_is_kept():
    reply = ask(
        Service({"sql": "SELECT 1", "raw": "```SELECT 1```", "usage": {"prompt_tokens": 7}, "notices": ["n", 5]})
    )
    assert (reply.raw, reply.notices, reply.calls[0].usage) == ("```SELECT 1```", ("n",), Usage(prompt=7))


FAILURES = [
    ("not ready once", [PlainTextResponse("busy", 503), {"sql": "SELECT 1"}], "sql", 2),
    ("never ready", [PlainTextResponse("busy", 503)], "transport", 3),
    ("crashed", [PlainTextResponse("Traceback", 500)], "target_crashed", 1),
    ("unknown path", [PlainTextResponse("no", 404)], "target_crashed", 1),
    ("no json", [PlainTextResponse("hello")], "unparseable", 1),
    ("no body", [PlainTextResponse("")], "empty", 1),
]


@pytest.mark.parametrize(
    ("answers", "outcome", "requests"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
def test_failure_is_told_from_failure(answers, outcome, requests):
    service = Service(*answers)
    reply = ask(service)
    got = reply.answer.reason if isinstance(reply.answer, NoQuery) else reply.answer.kind
    assert (got, len(service.requests), reply.calls[0].tries) == (outcome, requests, requests)


def test_service_that_hangs_is_given_up():
    async def hang(request):
        await asyncio.Event().wait()

    reply = ask(Service(hang), timeout_s=0.1)
    assert reply.answer == NoQuery(reason="target_crashed", message="the service did not answer within 0.1 s")


def test_service_that_is_not_there_is_a_transport_failure():
    async def run():
        target = HttpTarget("http://user:canary-pw@127.0.0.1:9/q?key=canary-key", retries=1, first_wait_s=0.001)
        reply = await target.answer(CASE, now=NOW, repeat=0)
        await target.aclose()
        return reply, target.facts(CASE), repr(target)

    reply, facts, shown = asyncio.run(run())
    assert (reply.answer.reason, reply.calls[0].tries) == ("transport", 2)
    assert facts == {"url": "http://127.0.0.1:9/q"}
    assert "canary" not in f"{reply} {facts} {shown}"


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://h/", "http://[::1"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(TargetError, match="should look like http"):
        HttpTarget(url)


@pytest.mark.parametrize(
    ("scenario", "answer", "tries"),
    [
        ("plain", SqlAnswer(text="SELECT 1"), [1, 1]),
        ("status-503", SqlAnswer(text="SELECT 1"), [2, 1]),
        ("quota", NoQuery(reason="transport", message="HTTP 429: You exceeded your current quota"), [1, 1]),
    ],
)
def test_model_calls_behind_the_gateway_are_accounted_to_the_case(scenario, answer, tries):
    async def two_calls(request):
        async with httpx.AsyncClient() as http:
            for _ in range(2):
                got = await http.post(f"{request['base_url']}/chat/completions", json={"messages": []})
        if got.status_code != 200:
            return {"error": "the model did not answer"}
        return {"sql": got.json()["choices"][0]["message"]["content"]}

    async def run(url):
        client = ModelClient(EndpointSettings.of(url, "m", first_wait=0.001))
        async with Gateway(client) as gateway, LoopbackServer(Service(two_calls)) as server:
            target = HttpTarget(f"{server.origin}/q", gateway=gateway)
            reply = await target.answer(CASE, now=NOW, repeat=0)
            await target.aclose()
        await client.aclose()
        return reply

    with ScriptedServer(scenarios=SCENARIOS.values()) as model:
        reply = asyncio.run(run(model.scenario_url(scenario)))
    assert reply.answer == answer
    assert [call.tries for call in reply.calls] == tries
    assert len(reply.notices) == 1
