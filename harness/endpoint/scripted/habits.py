"""What real OpenAI-compatible endpoints do, one scenario a habit: for tests, and for `rung gateway --scripted`."""

import gzip
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from harness.endpoint.completions import as_events, completion
from harness.endpoint.scripted.scenarios import CloseIdle, Events, Hang, Scenario, Step, Wire
from harness.endpoint.scripted.script import ScriptedResponse

QUERY = "SELECT 1"
"""What every scenario answers in the end, where it answers."""


def _good(**fields: Any) -> ScriptedResponse:
    return ScriptedResponse(**{"content": QUERY, **fields})


def _body(status: int, body: JsonValue, **headers: str) -> ScriptedResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ScriptedResponse(status=status, body=body, headers=named)


def _error(message: str, kind: str | None = None, code: JsonValue = None, param: str | None = None) -> JsonValue:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _choice(choice: JsonValue, **beside: JsonValue) -> ScriptedResponse:
    return ScriptedResponse(body={"object": "chat.completion", "model": "m", "choices": [choice], **beside})


def _wire(payload: bytes, headers: str = "Content-Type: application/json", status: str = "200 OK") -> Wire:
    return Wire(f"HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {len(payload)}\r\n\r\n".encode() + payload)


_COMPLETION = json.dumps(completion("m", QUERY)).encode()
_LIMIT = _error("slow down", "requests", "rate_limit_exceeded")
_QUOTA = _error("You exceeded your current quota", "insufficient_quota", "insufficient_quota")
_EXTRA: JsonValue = {
    "detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
}
_GEMINI: JsonValue = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.02s"}],
        }
    }
]


def _then_good(name: str, says: str, *steps: Step) -> Scenario:
    return Scenario(name, says, (*steps, _good()))


def _always(name: str, says: str, step: Step) -> Scenario:
    return Scenario(name, says, (step,))


_STATUSES = tuple(
    [_then_good(f"status-{code}", f"HTTP {code} once, then a reply", _body(code, _error("try again")))
     for code in (408, 409, 425, 429, 500, 502, 503, 504, 529)]
    + [_always(f"status-{code}", f"HTTP {code} every time", _body(code, _error("no")))
       for code in (400, 401, 402, 403, 404, 405, 413, 422)]
)  # fmt: skip

_ERROR_BODIES = (
    _always("error-object", "the usual error object", _body(400, _error("bad model", "invalid_request_error"))),
    _always("error-array", "an array around the error (Gemini)", _body(400, [_error("bad model")])),
    _always("error-flat", "a flat error (vLLM)", _body(400, {"object": "error", "message": "bad model", "code": 400})),
    _always(
        "error-flat-object",
        "a flat error whose message is an object (Mistral)",
        _body(422, {"object": "error", "message": {"detail": [{"loc": ["body", "model"], "msg": "bad model"}]}}),
    ),
    _always("error-string", "the error is a string (LM Studio)", _body(400, {"error": "bad model"})),
    _always("error-detail", "a detail (FastAPI)", _body(400, {"detail": "bad model"})),
    _always("error-html", "an HTML page", _body(404, "<html><head><title>bad model</title></head></html>")),
    _always("error-200", "HTTP 200 with an error that no retry mends", _body(200, _error("bad model", code=400))),
    _then_good(
        "error-200-upstream", "HTTP 200 with an error of the provider", _body(200, _error("provider", code=502))
    ),
    _then_good("error-200-untold", "HTTP 200 with an error of no kind", _body(200, {"error": "provider failed"})),
    _then_good("html-200", "HTTP 200 with a proxy's page", _body(200, "<html><title>Checking…</title></html>")),
    _then_good("body-none", "HTTP 200 without a body", _body(200, "")),
    _always("json-other", "HTTP 200 with JSON of another kind", _body(200, {"hello": "world"})),
    _always("redirect", "the endpoint has moved", _body(308, "", location="https://elsewhere.example/v1")),
)

_WAITS = (
    _then_good("retry-after-seconds", "Retry-After in seconds", _body(429, _LIMIT, retry_after="0.02")),
    _then_good(
        "retry-after-date",
        "Retry-After as a date that is past",
        _body(429, _LIMIT, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    ),
    _then_good("retry-after-ms", "retry-after-ms", _body(429, _LIMIT, retry_after_ms="20")),
    _then_good("reset-ms", "a reset header in ms", _body(429, _LIMIT, x_ratelimit_reset_requests="20ms")),
    _then_good("reset-compound", "a reset header `0m0.02s`", _body(429, _LIMIT, x_ratelimit_reset_tokens="0m0.02s")),
    _then_good("retry-after-nonsense", "Retry-After says nonsense", _body(429, _LIMIT, retry_after="soon")),
    _then_good("retry-delay", "the wait is in the body (Gemini)", _body(429, _GEMINI)),
    _always("retry-after-hours", "Retry-After asks for hours", _body(429, _LIMIT, retry_after="86400")),
    _always("quota", "429 that waiting does not mend", _body(429, _QUOTA, retry_after="1")),
    _then_good(
        "loading", "503 while it loads (llama.cpp)", _body(503, _error("Loading model", "unavailable_error", 503))
    ),
)

_WIRE = (
    _always("hang", "nothing ever comes", Hang()),
    _always("hang-after-headers", "headers, then nothing", Hang("headers")),
    _always("hang-in-body", "half a body, then nothing", Hang("chunk")),
    _then_good("closed", "the connection is closed without a reply", Wire()),
    _then_good("reset", "the connection is reset", Wire(b"", "rst")),
    _then_good("closed-in-body", "the body ends early", Wire(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")),
    _then_good("no-http", "something that is not HTTP", Wire(b"hello\r\n\r\n")),
    Scenario("closed-idle", "the connection is closed after each reply, unannounced", (CloseIdle(_good()),)),
    _then_good("gzip-broken", "a broken encoding", _wire(b"no gzip", "Content-Encoding: gzip")),
    _always("gzip", "a compressed reply", _wire(gzip.compress(_COMPLETION), "Content-Encoding: gzip")),
    _always("blank-lines", "blank lines before the body (DeepSeek)", _wire(b"\n\n\r\n \n" + _COMPLETION)),
    _always("bom", "a byte order mark before the body", _wire(b"\xef\xbb\xbf" + _COMPLETION)),
    _always("lone-surrogate", "half a character", _wire(_COMPLETION.replace(b'"SELECT 1"', b"\"SELECT '\\ud83d'\""))),
    _always("nested-deep", "JSON that is nested too deeply", _body(200, '{"choices":' + "[" * 20_000)),
)

_PARAMETERS = (
    Scenario(
        "max-completion-tokens",
        "wants max_completion_tokens",
        (_good(),),
        refuses={
            "max_tokens": _error(
                "Unsupported parameter: 'max_tokens' is not supported with this model."
                " Use 'max_completion_tokens' instead.",
                "invalid_request_error",
                "unsupported_parameter",
                "max_tokens",
            )
        },
    ),
    Scenario(
        "no-temperature",
        "takes no temperature",
        (_good(),),
        refuses={
            "temperature": _error(
                "Unsupported value: 'temperature' does not support 0 with this model."
                " Only the default (1) value is supported.",
                "invalid_request_error",
                "unsupported_value",
                "temperature",
            )
        },
    ),
    Scenario("random-seed", "wants random_seed (Mistral)", (_good(),), refuses={"seed": _EXTRA}, refuse_status=422),
    Scenario(
        "no-seed",
        "takes no seed (Gemini)",
        (_good(),),
        refuses={"seed": [_error('Invalid JSON payload received. Unknown name "seed": Cannot find field.')]},
    ),
    Scenario("streams-only", "answers streams only", (_good(),), streams_only=True),
    _always(
        "max-tokens-too-large", "a value is wrong, not the parameter", _body(400, _error("max_tokens is too large"))
    ),
)

_CONTENT = (
    _always("plain", "a plain reply", _good()),
    _always("content-null", "content null", _good(content=None)),
    _always("content-empty", "content empty", _good(content="")),
    _always("content-parts", "content in parts", _good(content=[{"type": "text", "text": "SELECT "}, {"text": "1"}])),
    _always(
        "content-thinking-part",
        "thinking as a part (Mistral)",
        _good(
            content=[
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": QUERY},
            ]
        ),
    ),
    _always("refusal", "the refusal field", _good(content=None, refusal="I can't help with that.")),
    _always("reasoning", "reasoning beside the content", _good(reasoning="hm")),
    _always("reasoning-only", "reasoning and no content", _good(content=None, reasoning="hm")),
    _always("think-inline", "thinking inline", _good(content=f"<think>SELECT 2</think>{QUERY}")),
    _always(
        "tool-call",
        "a tool call",
        _good(content=None, tool_arguments='{"sql": "SELECT 1"}', finish_reason="tool_calls"),
    ),
    _always("no-choices", "no choices", _body(200, {"choices": [], "model": "m"})),
    _always(
        "prompt-filtered",
        "no choices, for the prompt was filtered",
        _body(
            200, {"choices": [], "prompt_filter_results": [{"content_filter_results": {"hate": {"filtered": True}}}]}
        ),
    ),
    _always("truncated", "cut off at the token limit", _good(finish_reason="length")),
    _always("filtered", "cut off by a filter", _good(content="SEL", finish_reason="content_filter")),
    _always("filtered-400", "refused by a filter (Azure)", _body(400, _error("filtered", code="content_filter"))),
    _then_good("finish-error", "broken off by the provider", _good(content="SEL", finish_reason="error")),
    _then_good(
        "choice-error",
        "the error is in the choice (OpenRouter)",
        _choice(
            {"message": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "overloaded"}}
        ),
    ),
    _always("usage-missing", "no usage", _good()),
    _always(
        "usage-zero", "usage all zero", _good(usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
    ),
    _always(
        "usage-thinking",
        "a total above the sum",
        _good(usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}),
    ),
    _always("usage-nonsense", "usage that counts nothing", _good(usage={"prompt_tokens": "many", "total_tokens": -1})),
    _always("events-unasked", "a stream that nobody asked for", Events(as_events(completion("m", QUERY)).decode())),
    _then_good(
        "events-cut",
        "a stream that breaks off",
        Events('data: {"choices":[{"index":0,"delta":{"content":"SEL"}}]}\n\n'),
    ),
    _then_good(
        "events-error", "a stream that is an error", Events('data: {"error":{"message":"overloaded","code":503}}\n\n')
    ),
)

SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {scenario.name: scenario for scenario in (*_STATUSES, *_ERROR_BODIES, *_WAITS, *_WIRE, *_PARAMETERS, *_CONTENT)}
)
"""Every scenario by name."""
