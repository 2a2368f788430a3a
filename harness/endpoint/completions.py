"""Writes `chat.completion` objects and their streamed form, as an endpoint would."""

import json
from typing import Any

Json = dict[str, Any]
_PIECE = 7


def completion(
    model: str,
    content: Any,
    *,
    finish: str | None = "stop",
    refusal: str | None = None,
    reasoning: str | None = None,
    tool_arguments: str | None = None,
    usage: Json | None = None,
) -> Json:
    """A `chat.completion` object with one choice; what is not given is left out."""
    message: Json = {"role": "assistant", "content": content}
    if refusal is not None:
        message["refusal"] = refusal
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if tool_arguments is not None:
        function = {"name": "answer", "arguments": tool_arguments}
        message["tool_calls"] = [{"id": "call_0", "type": "function", "function": function}]
    payload: Json = {
        "id": "chatcmpl-rung",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage is not None:
        payload["usage"] = usage
    return payload


def as_events(payload: Json) -> bytes:
    """A completion as server-sent events, its text in small pieces."""
    head = {"id": payload.get("id"), "object": "chat.completion.chunk", "created": 0, "model": payload.get("model")}
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in _deltas(message)]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}]})
    if payload.get("usage") is not None:
        chunks.append({**head, "choices": [], "usage": payload["usage"]})
    return b"".join(event(chunk) for chunk in chunks) + b"data: [DONE]\n\n"


def event(data: Json) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _deltas(message: Json) -> list[Json]:
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    for key in ("reasoning_content", "reasoning", "refusal"):
        if message.get(key) is not None:
            deltas.append({key: message[key]})
    content = message.get("content")
    if isinstance(content, str):
        deltas += [{"content": content[at : at + _PIECE]} for at in range(0, len(content), _PIECE)]
    elif content is not None:
        deltas.append({"content": content})
    for index, call in enumerate(message.get("tool_calls") or ()):
        deltas.append({"tool_calls": [{**call, "index": index}]})
    return deltas
