"""The gateway as an application meets it: pinned, accounted for, recorded, replayed, never in the way."""

import asyncio
import json
from datetime import UTC, datetime

import httpx
import pytest

from harness.endpoint.budget import Budget, BudgetReached, Price
from harness.endpoint.client import ModelClient
from harness.endpoint.gateway import TODAY_ABSENT, Gateway
from harness.endpoint.scripted import SCENARIOS, Scenario, ScriptedResponse, ScriptedServer
from harness.endpoint.settings import EndpointSettings
from harness.endpoint.tape import RecordingClient, ReplayingClient, Tape
from harness.types.answers import Usage

NOW = datetime(2026, 8, 4, tzinfo=UTC)
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
TWO = Scenario("two", "", (ScriptedResponse(content="first", usage=USAGE), ScriptedResponse(content="second")))


def ask(content: str = "Today (UTC): 2026-11-30\nhow many?", **fields) -> dict:
    return {"model": "app", "messages": [{"role": "system", "content": content}], **fields}


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(scenarios=SCENARIOS.values()) as running:
        yield running


def client_for(server, scenario, **options) -> ModelClient:
    options = {"retries": 1, "first_wait": 0.001, **options}
    budget = options.pop("budget", None)
    return ModelClient(EndpointSettings.of(server.scenario_url(scenario), "m", **options), budget=budget)


def through(upstream, use, **options):
    """Run `use(gateway, http)` against a gateway in front of `upstream`."""

    async def run():
        async with Gateway(upstream, **options) as gateway, httpx.AsyncClient() as http:
            try:
                return await use(gateway, http)
            finally:
                await upstream.aclose()

    return asyncio.run(run())


def test_calls_of_a_case_are_pinned_and_accounted_for(server):
    async def use(gateway, http):
        with gateway.case("S 1/ä", 3, NOW) as ledger:
            for _ in range(2):
                got = await http.post(f"{ledger.base_url}/chat/completions", json=ask())
                assert got.status_code == 200
            return ledger

    ledger = through(client_for(server, TWO), use)
    assert ledger.raw_replies == ("first", "second")
    assert [(call.tries, call.usage, call.finish) for call in ledger.calls] == [
        (1, Usage(prompt=3, completion=2, total=5), "stop"),
        (1, Usage(), "stop"),
    ]
    assert (ledger.notices, ledger.failures, ledger.last_failure) == ([], [], None)
    sent = server.received[-1]
    assert sent.body["messages"][0]["content"] == "Today (UTC): 2026-08-04\nhow many?"
    assert sent.headers["x-rung-origin"].endswith(";S%201%2F%C3%A4;3")


def test_absent_today_line_is_noted_once(server):
    async def use(gateway, http):
        with gateway.case("a", 0, NOW) as ledger:
            for _ in range(2):
                await http.post(f"{ledger.base_url}/chat/completions", json=ask("no date here"))
            return ledger.notices

    assert through(client_for(server, "plain"), use) == [TODAY_ABSENT]


def test_application_gets_the_endpoints_own_object(server):
    async def use(gateway, http):
        return (await http.post(f"{gateway.base_url}/chat/completions", json=ask())).json()

    payload = through(client_for(server, "tool-call"), use)
    call = payload["choices"][0]["message"]["tool_calls"][0]
    assert (payload["model"], call["function"]["arguments"]) == ("app", '{"sql": "SELECT 1"}')


def test_stream_is_passed_through(server):
    async def use(gateway, http):
        with gateway.case("a") as ledger:
            got = await http.post(f"{ledger.base_url}/chat/completions", json=ask(stream=True))
            return got, ledger

    got, ledger = through(client_for(server, TWO), use)
    assert got.headers["content-type"].startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in got.text.split("\n") if line]
    text = "".join(c["delta"].get("content") or "" for e in events[:-1] for c in json.loads(e)["choices"])
    assert (text, events[-1]) == ("first", "[DONE]")
    assert ledger.raw_replies == ("first",)


@pytest.mark.parametrize("stream", [False, True])
def test_upstream_that_is_given_up_is_an_error_no_client_retries(server, stream):
    async def use(gateway, http):
        with gateway.case("a") as ledger:
            return await http.post(f"{ledger.base_url}/chat/completions", json=ask(stream=stream)), ledger

    got, ledger = through(client_for(server, "status-401"), use)
    assert got.status_code == 424
    assert got.json()["error"] == {
        "message": "rung gateway: HTTP 401: no",
        "type": "rung_gateway",
        "param": None,
        "code": "transport",
    }
    assert (ledger.last_failure.reason, ledger.last_failure.status) == ("transport", 401)


@pytest.mark.parametrize(("name", "reason"), [("truncated", "truncated"), ("filtered", "content_filter")])
def test_cut_reply_is_passed_on_as_it_came_and_noted(server, name, reason):
    async def use(gateway, http):
        with gateway.case("a") as ledger:
            return await http.post(f"{ledger.base_url}/chat/completions", json=ask()), ledger

    got, ledger = through(client_for(server, name), use)
    assert got.status_code == 200
    assert got.json()["choices"][0]["finish_reason"] in ("length", "content_filter")
    assert [failure.reason for failure in ledger.failures] == [reason]


def test_retries_are_the_gateways(server):
    async def use(gateway, http):
        with gateway.case("retried") as ledger:
            got = await http.post(f"{ledger.base_url}/chat/completions", json=ask())
            return got.status_code, [call.tries for call in ledger.calls]

    assert through(client_for(server, "status-503"), use) == (200, [2])


def test_budget_that_runs_out_stops_the_case(server):
    budget = Budget(max_cost=0.000001, price=Price(prompt=1, completion=1))

    async def use(gateway, http):
        statuses = []
        try:
            with gateway.case("a") as ledger:
                for _ in range(2):
                    got = await http.post(f"{ledger.base_url}/chat/completions", json=ask())
                    statuses.append((got.status_code, got.json().get("error", {}).get("code")))
                # The application may make of the refusal what it likes: the budget has the last word.
                raise RuntimeError("engine failed")
        except BudgetReached as reached:
            return statuses, reached.kind

    statuses, kind = through(client_for(server, TWO, budget=budget), use)
    assert (statuses, kind) == ([(200, None), (424, "budget_reached")], "cost")


def test_application_that_hangs_up_ends_the_call(server):
    async def use(gateway, http):
        with gateway.case("a") as ledger:
            with pytest.raises(httpx.ReadTimeout):
                await http.post(f"{ledger.base_url}/chat/completions", json=ask(), timeout=0.2)
            async with asyncio.timeout(5):
                while not ledger.failures:  # noqa: ASYNC110  the gateway notices on its own
                    await asyncio.sleep(0)
            return ledger.failures[0].message

    message = through(client_for(server, "hang", timeout=60.0), use)
    assert message == "the application hung up before the reply was whole"


@pytest.mark.parametrize(
    ("method", "path", "fields", "status"),
    [
        ("GET", "/v1/models", {}, 200),
        ("GET", "/case/x/v1/models", {}, 200),
        ("GET", "/v1/chat/completions", {}, 405),
        ("POST", "/v1/embeddings", {"json": {}}, 404),
        ("POST", "/", {"json": {}}, 404),
        ("POST", "/case//v1/chat/completions", {"json": {}}, 404),
        ("POST", "/v1/chat/completions", {"content": b"["}, 400),
        ("POST", "/v1/chat/completions", {"content": b"[1]"}, 400),
        ("POST", "/v1/chat/completions", {"content": b"\xff"}, 400),
        ("POST", "/v1/chat/completions", {"json": {"messages": []}}, 200),
        ("POST", "/v1/chat/completions", {"json": ask(), "headers": {"origin": "https://evil.example"}}, 403),
        ("POST", "/v1/chat/completions", {"json": ask(), "headers": {"host": "evil.example"}}, 403),
        ("POST", "/v1/chat/completions", {"json": ask(), "headers": {"origin": "http://localhost:3000"}}, 200),
    ],
)
def test_what_is_served(server, method, path, fields, status):
    async def use(gateway, http):
        return (await http.request(method, gateway.base_url.removesuffix("/v1") + path, **fields)).status_code

    assert through(client_for(server, "plain"), use) == status


def test_one_ledger_an_attempt(server):
    async def use(gateway, http):
        with gateway.case("a"), gateway.case("a", 1), pytest.raises(ValueError, match="open ledger"), gateway.case("a"):
            pass

    through(client_for(server, "plain"), use)


def test_tape_gives_back_what_was_recorded_case_by_case(server, tmp_path):
    path = tmp_path / "tape.jsonl"

    async def use(gateway, http):
        replies = []
        for case_id, repeat in (("a", 0), ("a", 1), ("b", 0)):
            with gateway.case(case_id, repeat, NOW) as ledger:
                for stream in (False, True):
                    await http.post(f"{ledger.base_url}/chat/completions", json=ask(stream=stream))
                replies.append((ledger.raw_replies, [failure.message for failure in ledger.failures]))
        return replies

    client = client_for(server, TWO)
    recorded = through(RecordingClient(client, Tape(path, "record"), client.settings.redactor()), use)
    before = server.count
    replayed = through(ReplayingClient(client.settings, Tape(path, "replay")), use)
    assert recorded == [(("first", "second"), [])] * 3
    assert (replayed, server.count) == (recorded, before)


def test_gateway_in_a_thread_serves_blocking_programs(server):
    upstream = client_for(server, "plain")
    with Gateway(upstream, now=NOW) as gateway, gateway.case("a") as ledger:
        got = httpx.post(f"{ledger.base_url}/chat/completions", json=ask())
        assert got.json()["choices"][0]["message"]["content"] == "SELECT 1"
