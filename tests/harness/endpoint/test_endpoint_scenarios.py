"""Every habit of an endpoint: what it comes to, why, and how many HTTP calls it took."""

import asyncio
import time

import pytest

from harness.endpoint.chat import Completed, Message, Origin, Unanswered
from harness.endpoint.client import ModelClient
from harness.endpoint.scripted import SCENARIOS, ScriptedServer
from harness.endpoint.settings import EndpointSettings
from harness.types.answers import Usage

MESSAGES = (Message(role="user", content="how many?"),)
RETRIES = 2
GIVEN_UP = RETRIES + 1

# scenario -> outcome ("completed" or the reason), HTTP calls, and what else must hold
TABLE = {
    **{f"status-{code}": ("completed", 2) for code in (408, 409, 425, 429, 500, 502, 503, 504, 529)},
    **{f"status-{code}": ("transport", 1) for code in (400, 401, 402, 403, 404, 405, 413, 422)},
    **{f"error-{name}": ("transport", 1) for name in ("object", "array", "flat", "string", "detail", "html", "200")},
    "error-flat-object": ("transport", 1),
    "error-200-upstream": ("completed", 2),
    "error-200-untold": ("completed", 2),
    "html-200": ("completed", 2),
    "body-none": ("completed", 2),
    "json-other": ("transport", 1),
    "redirect": ("transport", 1),
    "retry-after-seconds": ("completed", 2),
    "retry-after-date": ("completed", 2),
    "retry-after-ms": ("completed", 2),
    "reset-ms": ("completed", 2),
    "reset-compound": ("completed", 2),
    "retry-after-nonsense": ("completed", 2),
    "retry-delay": ("completed", 2),
    "retry-after-hours": ("transport", 1),
    "quota": ("transport", 1),
    "loading": ("completed", 2),
    "hang": ("transport", GIVEN_UP),
    "hang-after-headers": ("transport", GIVEN_UP),
    "hang-in-body": ("transport", GIVEN_UP),
    "closed": ("completed", 2),
    "reset": ("completed", 2),
    "closed-in-body": ("completed", 2),
    "no-http": ("completed", 2),
    "closed-idle": ("completed", 1),
    "gzip-broken": ("completed", 2),
    "gzip": ("completed", 1),
    "blank-lines": ("completed", 1),
    "bom": ("completed", 1),
    "lone-surrogate": ("completed", 1),
    "nested-deep": ("transport", GIVEN_UP),
    "max-completion-tokens": ("completed", 2),
    "no-temperature": ("completed", 2),
    "random-seed": ("completed", 2),
    "no-seed": ("completed", 2),
    "streams-only": ("completed", 2),
    "max-tokens-too-large": ("transport", 1),
    "plain": ("completed", 1),
    "content-null": ("empty", 1),
    "content-empty": ("empty", 1),
    "content-parts": ("completed", 1),
    "content-thinking-part": ("completed", 1),
    "refusal": ("completed", 1),
    "reasoning": ("completed", 1),
    "reasoning-only": ("empty", 1),
    "think-inline": ("completed", 1),
    "tool-call": ("completed", 1),
    "no-choices": ("empty", 1),
    "prompt-filtered": ("content_filter", 1),
    "truncated": ("truncated", 1),
    "filtered": ("content_filter", 1),
    "filtered-400": ("content_filter", 1),
    "finish-error": ("completed", 2),
    "choice-error": ("completed", 2),
    "usage-missing": ("completed", 1),
    "usage-zero": ("completed", 1),
    "usage-thinking": ("completed", 1),
    "usage-nonsense": ("completed", 1),
    "events-unasked": ("completed", 1),
    "events-cut": ("completed", 2),
    "events-error": ("completed", 2),
}

FIELDS = {
    "content-parts": {"content": "SELECT 1"},
    "content-thinking-part": {"content": "SELECT 1", "reasoning": "hm"},
    "refusal": {"content": "", "refusal": "I can't help with that."},
    "reasoning": {"content": "SELECT 1", "reasoning": "hm"},
    "think-inline": {"content": "<think>SELECT 2</think>SELECT 1"},
    "tool-call": {"content": "", "tool_arguments": '{"sql": "SELECT 1"}', "finish": "tool_calls"},
    "lone-surrogate": {"content": "SELECT '\N{REPLACEMENT CHARACTER}'"},
    "gzip": {"content": "SELECT 1"},
    "events-unasked": {"content": "SELECT 1"},
    "usage-missing": {"usage": Usage()},
    "usage-zero": {"usage": Usage(prompt=0, completion=0, total=0)},
    "usage-thinking": {"usage": Usage(prompt=10, completion=5, total=40)},
    "usage-nonsense": {"usage": Usage()},
    "no-temperature": {"notices": ("temperature is not accepted by the model: it is left out",)},
    "max-completion-tokens": {
        "notices": ("max_tokens is not accepted by the model: max_completion_tokens is sent in its place",)
    },
    "random-seed": {"notices": ("seed is not accepted by the endpoint: random_seed is sent in its place",)},
    "no-seed": {"notices": ("seed is not accepted by the model: it is left out",)},
    "streams-only": {
        "content": "SELECT 1",
        "notices": ("the model answers streams only: replies are read from a stream",),
    },
    "truncated": {"partial": "SELECT 1", "finish": "length"},
    "filtered": {"partial": "SEL"},
    "quota": {"message": "HTTP 429: You exceeded your current quota", "status": 429},
    "error-flat-object": {"message": "HTTP 422: body.model: bad model"},
    "error-html": {"message": "HTTP 404: bad model"},
    "error-string": {"message": "HTTP 400: bad model"},
    "error-detail": {"message": "HTTP 400: bad model"},
    "error-array": {"message": "HTTP 400: bad model"},
    "error-flat": {"message": "HTTP 400: bad model"},
    "redirect": {"message": "HTTP 308: the endpoint has moved to https://elsewhere.example/v1; set --base-url to it"},
}


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(scenarios=SCENARIOS.values()) as running:
        yield running


def settings_for(server, name, **options):
    fast = {"timeout": 0.1 if "hang" in name else 20.0, "retries": RETRIES, "first_wait": 0.002}
    return EndpointSettings.of(server.scenario_url(name), "m", seed=7, max_tokens=50, **{**fast, **options})


async def ask(settings, case_id="case"):
    client = ModelClient(settings)
    try:
        return await client.complete(MESSAGES, Origin(case_id=case_id))
    finally:
        await client.aclose()


def test_every_scenario_has_its_row():
    assert set(TABLE) == set(SCENARIOS)


@pytest.mark.parametrize("name", TABLE)
def test_scenario_ends_as_the_table_says(server, name):
    expected, calls = TABLE[name]
    before = server.count
    # The parameters that refuse seed and max_tokens are only met where they are sent.
    chat = asyncio.run(ask(settings_for(server, name)))
    outcome = chat.kind if isinstance(chat, Completed) else chat.reason
    assert (outcome, server.count - before, chat.tries) == (expected, calls, calls)
    for field, value in FIELDS.get(name, {}).items():
        assert getattr(chat, field) == value


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row[1] == 2 and not SCENARIOS[name].refuses])
def test_no_retries_means_none(server, name):
    before = server.count
    chat = asyncio.run(ask(settings_for(server, name, retries=0)))
    if name == "streams-only":
        assert (chat.kind, server.count - before) == ("completed", 2)
    else:
        assert isinstance(chat, Unanswered)
        assert (chat.reason, server.count - before) == ("transport", 1)


def test_an_adaptation_is_made_once_and_remembered(server):
    async def three():
        client = ModelClient(settings_for(server, "no-temperature"))
        chats = [await client.complete(MESSAGES, Origin(case_id=f"c{number}")) for number in range(3)]
        await client.aclose()
        return chats, client.notices

    chats, notices = asyncio.run(three())
    assert [chat.tries for chat in chats] == [2, 1, 1]
    assert notices == ("temperature is not accepted by the model: it is left out",)
    assert "temperature" not in server.received[-1].body


def test_calls_in_parallel_adapt_together(server):
    async def many():
        client = ModelClient(settings_for(server, "random-seed"))
        calls = [client.complete(MESSAGES, Origin(case_id=f"p{number}")) for number in range(8)]
        chats = await asyncio.gather(*calls)
        await client.aclose()
        return chats

    chats = asyncio.run(many())
    assert [chat.kind for chat in chats] == ["completed"] * 8
    assert server.received[-1].body["random_seed"] == 7


def test_a_connection_closed_while_idle_costs_no_retry(server):
    async def several():
        client = ModelClient(settings_for(server, "closed-idle", retries=0))
        chats = [await client.complete(MESSAGES, Origin(case_id=f"i{number}")) for number in range(20)]
        await client.aclose()
        return chats

    chats = asyncio.run(several())
    assert [(chat.kind, chat.tries) for chat in chats] == [("completed", 1)] * 20


@pytest.mark.parametrize("name", ["hang", "hang-after-headers", "hang-in-body", "status-429", "plain", "quota"])
def test_interrupt_is_answered_within_a_second(server, name):
    async def interrupted():
        before = server.count
        client = ModelClient(settings_for(server, name, timeout=600.0, first_wait=60.0))
        calls = [asyncio.create_task(client.complete(MESSAGES, Origin(case_id=f"x{n}"))) for n in range(16)]
        while server.count == before:  # noqa: ASYNC110  the server counts in another thread
            await asyncio.sleep(0)
        started = time.monotonic()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await client.aclose()
        return time.monotonic() - started

    assert asyncio.run(interrupted()) < 1.0


def test_request_holds_nothing_that_was_not_asked_for(server):
    asyncio.run(ask(EndpointSettings.of(server.scenario_url("plain"), "m")))
    assert server.received[-1].body == {
        "model": "m",
        "messages": [{"role": "user", "content": "how many?"}],
        "temperature": 0.0,
    }


def test_unreachable_endpoint_is_a_transport_failure():
    settings = EndpointSettings.of("http://127.0.0.1:9/v1", "m", retries=1, first_wait=0.001)
    chat = asyncio.run(ask(settings))
    assert (chat.reason, chat.tries, chat.status) == ("transport", 2, None)
    assert chat.message.startswith("no connection")
