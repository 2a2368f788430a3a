"""No body, no header and no stream makes the client raise: every reply is an answer or a reason."""

import asyncio
import json

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.endpoint.bodies import read_completion, read_error, read_usage
from harness.endpoint.chat import Message, Origin
from harness.endpoint.client import ModelClient
from harness.endpoint.events import Assembly, EventReader, assemble
from harness.endpoint.settings import EndpointSettings

MESSAGES = (Message(role="user", content="x"),)
NAMES = """
    error errors message detail type code param status object choices content refusal reasoning reasoning_content
    tool_calls function arguments finish_reason usage prompt_tokens completion_tokens total_tokens model index delta
    text metadata innererror details retryDelay promptFeedback prompt_filter_results content_filter_results loc msg
    fault
"""
KEYS = st.sampled_from(NAMES.split())
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["stop", "length", "error", "insufficient_quota", "7s", "429", 429, 503, "\ud800", ""]),
)  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
COMPLETION = st.builds(
    lambda message, finish, more: {"choices": [{"message": message, "finish_reason": finish}], **more},
    st.dictionaries(KEYS, JSON, max_size=4),
    JSON,
    st.dictionaries(KEYS, JSON, max_size=2),
)
BODY = st.one_of(
    st.binary(max_size=60),
    st.one_of(JSON, COMPLETION).map(lambda value: json.dumps(value).encode()),
    st.lists(st.one_of(JSON, COMPLETION), max_size=3).map(
        lambda events: b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    ),
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "retry-after",
            "retry-after-ms",
            "x-ratelimit-reset-requests",
            "content-type",
            "date",
            "location",
            "x-ratelimit-reset",
        ]
    ),
    st.one_of(
        st.sampled_from(
            ["text/event-stream", "application/json", "text/html; charset=nonsense", "1e309", "-1", "NaN", "0"]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=20),
    ),
    max_size=3,
)
STATUS = st.sampled_from([200, 200, 200, 201, 204, 301, 308, 400, 401, 404, 422, 429, 500, 503, 529, 599])


async def no_wait(seconds: float) -> None:
    """Let the next try come at once."""


def answer(status: int, headers: dict[str, str], body: bytes):
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]

    async def run():
        transport = httpx.MockTransport(lambda request: httpx.Response(status, headers=encoded, content=body))
        given = {"retries": 1, "first_wait": 0.0, "longest_wait": 0.0, "seed": 1, "max_tokens": 5}
        client = ModelClient(
            EndpointSettings.of("http://127.0.0.1/v1", "m", **given), sleep=no_wait, transport=transport
        )
        try:
            return await client.complete(MESSAGES, Origin(case_id="a"))
        finally:
            await client.aclose()

    return asyncio.run(run())


@settings(max_examples=400, deadline=None)
@given(STATUS, HEADERS, BODY)
def test_no_response_makes_the_client_raise(status, headers, body):
    chat = answer(status, headers, body)
    assert chat.kind in ("completed", "unanswered")
    # What is kept can be written to any UTF-8 file.
    chat.model_dump_json().encode()
    assert 1 <= chat.tries <= 12


@settings(max_examples=300, deadline=None)
@given(st.one_of(JSON, COMPLETION))
def test_no_json_makes_the_readers_raise(payload):
    error = read_error(payload)
    assert error is None or error.message
    said = read_completion(payload)
    assert said is None or isinstance(said.content, str)
    usage = read_usage(payload)
    assert all(count is None or count >= 0 for count in (usage.prompt, usage.completion, usage.total))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"data: ", b"data:", b"\n", b"\r\n", b"\r", b'{"choices":', b"[DONE]", b": x", b"\xff", b"}"])
    ),
    st.data(),
)
def test_events_do_not_depend_on_how_the_bytes_are_cut(pieces, data):
    raw = b"".join(pieces)
    whole = EventReader()
    expected = [*whole.feed(raw), *whole.close()]
    reader, got, at = EventReader(), [], 0
    while at < len(raw):
        step = data.draw(st.integers(1, 7))
        got += reader.feed(raw[at : at + step])
        at += step
    assert [*got, *reader.close()] == expected


def test_stream_is_put_together():
    deltas = [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "h"},
        {"reasoning_content": "m"},
        {"content": "SEL"},
        {"content": "ECT 1"},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}]},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]},
    ]
    chunks = [{"model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 1, "delta": {"content": "other choice"}}]})
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({"choices": [], "usage": {"total_tokens": 9}})
    raw = b": keep-alive\n\n" + b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)
    assembly = assemble(raw + b"data: [DONE]\n\n")
    assert (assembly.whole, assembly.done) == (True, True)
    assert assembly.payload() == {
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "SELECT 1",
                    "reasoning_content": "hm",
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
                        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{"}},
                    ],
                },
                "finish_reason": "stop",
            }
        ],
        "usage": {"total_tokens": 9},
    }


def test_stream_without_end_is_not_whole():
    assembly = Assembly()
    assembly.add('{"choices": [{"index": 0, "delta": {"content": "SEL"}}]}')
    assert assembly.whole is False
