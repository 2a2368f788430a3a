"""What goes onto a tape, what never does, and what comes back."""

import asyncio
import json

import pytest

from harness.endpoint.chat import Completed, Message, Origin, Unanswered
from harness.endpoint.client import ModelClient
from harness.endpoint.scripted import SCENARIOS, ScriptedServer
from harness.endpoint.settings import EndpointSettings
from harness.endpoint.tape import RecordingClient, ReplayingClient, Tape, tape_key
from harness.errors import InputError, UsageError

MESSAGES = (Message(role="user", content="how many?"),)
ORIGIN = Origin(case_id="a")


def record(path, scenario, **options):
    async def run():
        client = ModelClient(EndpointSettings.of(server.scenario_url(scenario), "m", retries=0, **options))
        recording = RecordingClient(client, Tape(path, "record"), client.settings.redactor())
        chat = await recording.complete(MESSAGES, ORIGIN)
        await recording.aclose()
        return chat

    with ScriptedServer(scenarios=SCENARIOS.values()) as server:
        return asyncio.run(run())


def replay(path, messages=MESSAGES, origin=ORIGIN, **options):
    client = ReplayingClient(EndpointSettings.of("http://elsewhere.example/v1", "m", **options), Tape(path, "replay"))

    async def run():
        chat = await client.complete(messages, origin)
        await client.aclose()
        return chat

    return asyncio.run(run())


def test_good_reply_is_given_back_wherever_the_endpoint_is(tmp_path):
    recorded = record(tmp_path / "t", "reasoning")
    assert isinstance(recorded, Completed)
    assert replay(tmp_path / "t") == recorded


@pytest.mark.parametrize("scenario", ["truncated", "filtered", "content-null", "quota", "no-choices", "status-503"])
def test_bad_reply_is_never_recorded(tmp_path, scenario):
    assert isinstance(record(tmp_path / "t", scenario), Unanswered)
    assert (tmp_path / "t").read_bytes() == b""


@pytest.mark.parametrize(
    "change",
    [
        {"messages": (Message(role="user", content="how few?"),)},
        {"messages": (Message(role="system", content="how many?"),)},
        {"origin": Origin(case_id="b")},
        {"origin": Origin(case_id="a", repeat=1)},
        {"origin": Origin(case_id="a", call=1)},
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 9},
    ],
)
def test_another_question_gets_no_recorded_answer(tmp_path, change):
    record(tmp_path / "t", "plain")
    chat = replay(tmp_path / "t", **change)
    assert isinstance(chat, Unanswered)
    assert (chat.reason, chat.tries) == ("transport", 0)
    assert "has no reply for case" in chat.message
    assert chat.message.endswith("record again with --record")


def test_key_does_not_depend_on_how_the_reply_is_carried_or_on_order():
    body = {"model": "m", "messages": [], "temperature": 0}
    streamed = {
        "temperature": 0,
        "messages": [],
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert tape_key(body, ORIGIN) == tape_key(streamed, ORIGIN)


def test_the_last_of_two_recordings_counts(tmp_path):
    record(tmp_path / "t", "plain")
    record(tmp_path / "t", "think-inline")
    assert replay(tmp_path / "t").content == "<think>SELECT 2</think>SELECT 1"


def test_line_that_a_crash_cut_is_dropped(tmp_path):
    record(tmp_path / "t", "plain")
    whole = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(whole + whole[:40])
    assert replay(tmp_path / "t").content == "SELECT 1"
    Tape(tmp_path / "t", "record").close()
    assert (tmp_path / "t").read_bytes() == whole


def test_what_is_no_tape_is_refused_with_its_line(tmp_path):
    record(tmp_path / "t", "plain")
    with (tmp_path / "t").open("a") as file:
        file.write('{"key": "x"}\n\n')
    with pytest.raises(InputError) as caught:
        Tape(tmp_path / "t", "replay")
    assert [(problem.line, problem.message[:22]) for problem in caught.value.problems] == [
        (2, "no entry of a tape: Fi")
    ]
    with pytest.raises(UsageError, match=r"--replay .*: No such file"):
        Tape(tmp_path / "none", "replay")


def test_tape_holds_neither_headers_nor_the_key(tmp_path, monkeypatch):
    record(tmp_path / "t", "plain", api_key="canary-key-0123456789")
    text = (tmp_path / "t").read_text()
    entry = json.loads(text)
    assert set(entry) == {"format", "key", "case_id", "repeat", "call", "chat", "payload"}
    assert "canary" not in text
    assert "uthorization" not in text
