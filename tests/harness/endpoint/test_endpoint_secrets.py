"""A canary key is in nothing that the endpoint's room writes: logs, messages, tapes, reprs, dumps, ledgers."""

import asyncio
import io

import httpx
import pytest

from harness.endpoint.chat import Message, Origin
from harness.endpoint.client import ModelClient
from harness.endpoint.gateway import Gateway
from harness.endpoint.logs import LOGGER, configure_logging, log_event
from harness.endpoint.redaction import MASK, Redactor
from harness.endpoint.scripted import Scenario, ScriptedResponse, ScriptedServer
from harness.endpoint.settings import EndpointSettings, read_api_key, refuse_key_argument
from harness.endpoint.tape import RecordingClient, Tape
from harness.errors import UsageError

KEY = "canary-4f1d9c77a0b2"
PASSWORD = "canary-pass-19"
QUERY_KEY = "canary-query-88"
CANARY = "canary"

ECHOES = [
    ScriptedResponse(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    ScriptedResponse(status=503, body={"error": {"message": f"header was Authorization: Bearer {KEY}"}}),
    ScriptedResponse(status=500, body=f"<html><title>{KEY} at http://me:{PASSWORD}@h/?key={QUERY_KEY}</title></html>"),
    ScriptedResponse(status=308, body="", headers={"location": f"http://me:{PASSWORD}@h/v1?key={QUERY_KEY}"}),
    ScriptedResponse(body={"error": KEY}),
    ScriptedResponse(content=f"SELECT '{KEY}'", refusal=f"{KEY}", reasoning=f"{KEY}", model=f"m-{KEY}"),
    ScriptedResponse(content=f"SELECT '{KEY}'", finish_reason="length"),
    ScriptedResponse(content=None, tool_arguments=f'{{"sql": "{KEY}"}}'),
]


@pytest.fixture
def stream():
    text = io.StringIO()
    yield text
    for handler in [*LOGGER.handlers]:
        LOGGER.removeHandler(handler)


@pytest.mark.parametrize("echo", ECHOES, ids=range(len(ECHOES)))
def test_echoed_key_reaches_nothing(echo, stream, tmp_path):
    async def run(url):
        url = url.replace("http://", f"http://me:{PASSWORD}@") + f"?key={QUERY_KEY}"
        settings = EndpointSettings.of(url, "m", api_key=KEY, retries=1, first_wait=0.001)
        configure_logging("debug", settings.redactor(), stream)
        client = ModelClient(settings)
        recording = RecordingClient(client, Tape(tmp_path / "tape", "record"), settings.redactor())
        async with Gateway(recording) as gateway, httpx.AsyncClient() as http:
            chat = await client.complete((Message(role="user", content="how many?"),), Origin(case_id="a"))
            with gateway.case("b") as ledger:
                await http.post(f"{ledger.base_url}/chat/completions", json={"messages": []})
        await recording.aclose()
        return [chat, settings, client, recording.settings.facts(), settings.model_dump(), settings.model_dump_json(),
                ledger.chats, ledger.failures, ledger.notices]  # fmt: skip

    with ScriptedServer() as server:
        shown = asyncio.run(run(server.scenario_url(Scenario("echo", "", (echo,)))))
        assert server.received[0].headers["authorization"] == f"Bearer {KEY}"
    texts = [repr(each) for each in shown] + [str(each) for each in shown]
    texts += [stream.getvalue(), (tmp_path / "tape").read_text()]
    assert [text for text in texts if CANARY in text] == []


def test_log_lines_name_case_and_attempt_and_hold_no_prompt(stream):
    configure_logging("info", Redactor([KEY]), stream)
    log_event("warning", "trying again", Origin(case_id="S 1", repeat=2, call=1), tries=3, message=f'said "{KEY}"\n')
    log_event("debug", "not shown", None, prompt="SELECT")
    line = stream.getvalue()
    assert line.endswith(
        f'level=warning event="trying again" case="S 1" repeat=2 call=1 tries=3 message="said \\"{MASK}\\"\\n"\n'
    )
    assert "not shown" not in line


def test_log_level_is_one_of_four():
    with pytest.raises(UsageError, match="choose one of debug, info, warning, error"):
        configure_logging("loud", Redactor())


def test_key_comes_from_the_environment_alone():
    environ = {"MINE": " k1 ", "CONFIG": "k2", "RUNG_API_KEY": "k3", "OPENAI_API_KEY": "k4"}
    assert read_api_key("MINE", "CONFIG", environ).get_secret_value() == "k1"
    assert read_api_key(None, "CONFIG", environ).get_secret_value() == "k2"
    assert read_api_key(None, "ABSENT", environ).get_secret_value() == "k3"
    assert read_api_key(None, None, {"OPENAI_API_KEY": "k4"}).get_secret_value() == "k4"
    assert read_api_key(None, None, {}) is None
    with pytest.raises(UsageError, match="the environment variable MINE is not set"):
        read_api_key("MINE", None, {})


@pytest.mark.parametrize("value", ["sk-abc-123", "sk_live_1", "a b", ""])
def test_key_in_place_of_its_variables_name_is_refused(value):
    with pytest.raises(UsageError, match="wants the name of an environment variable") as caught:
        read_api_key(value, None, {})
    assert not value or value not in str(caught.value)


def test_key_on_the_command_line_is_refused_with_the_reason():
    with pytest.raises(
        UsageError, match="--api-key is refused: a key on the command line is readable by every process"
    ):
        refuse_key_argument("sk-abc")
    assert refuse_key_argument(None) is None


@pytest.mark.parametrize(
    ("url", "base_url", "local"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1", False),
        ("https://api.example.com/v1/", "https://api.example.com/v1", False),
        ("https://api.example.com/v1/chat/completions", "https://api.example.com/v1", False),
        ("http://me:secret@127.0.0.1:8000/v1?key=1", "http://127.0.0.1:8000/v1", True),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1", True),
        ("http://localhost/v1", "http://localhost/v1", True),
        (" https://h/openai?api-version=1 ", "https://h/openai", False),
    ],
)
def test_url_is_taken_apart(url, base_url, local):
    settings = EndpointSettings.of(url, "m")
    assert (settings.base_url, settings.is_local) == (base_url, local)


@pytest.mark.parametrize(
    "url", ["", "api.example.com/v1", "ftp://h/v1", "http://", "http://h:99999/v1", "http://[::1/v1"]
)
def test_what_is_no_url_is_refused(url):
    with pytest.raises(UsageError, match="the endpoint"):
        EndpointSettings.of(url, "m")


def test_origin_is_told_to_this_machine_only():
    seen = []

    def respond(request):
        seen.append("x-rung-origin" in request.headers)
        return httpx.Response(200, json={"choices": [{"message": {"content": "x"}}]})

    async def run(url):
        client = ModelClient(EndpointSettings.of(url, "m"), transport=httpx.MockTransport(respond))
        await client.complete((Message(role="user", content="x"),), Origin(case_id="a"))
        await client.aclose()

    asyncio.run(run("http://127.0.0.1:1/v1"))
    asyncio.run(run("https://api.example.com/v1"))
    assert seen == [True, False]
