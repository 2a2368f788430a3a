"""Reads response bodies: completions and errors in all the shapes that endpoints give them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.endpoint.durations import parse_duration
from harness.endpoint.texts import one_line, page_text, unicode_text
from harness.types.answers import Usage

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """An error as its body says it.

    Attributes:
        message: for a person, one line.
        names: every `type`, `code` and `status` word in it, lower case.
        param: the parameter it is about, where it says so.
        status: an HTTP status written in the body.
        retry_after: seconds that the body asks to wait.
        text: all text of the body, lower case, for looking up names of parameters.
    """

    message: str
    names: frozenset[str] = frozenset()
    param: str | None = None
    status: int | None = None
    retry_after: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """What a completion says, before it is judged."""

    content: str
    refusal: str | None
    tool_arguments: str | None
    reasoning: str | None
    finish: str | None
    usage: Usage
    model: str | None
    choices: int = 1
    blocked: str | None = None
    error: ErrorBody | None = None


@dataclass(slots=True)
class _Parts:
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def read_json(raw: bytes) -> Any:
    """The JSON of a body; blank lines before it (keep-alive), a BOM and broken bytes are borne.

    Raises:
        ValueError: it is no JSON.
    """
    text = raw.decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_completion(payload: Any) -> Said | None:
    """Read a `chat.completion` object; `None` where it is none."""
    if not isinstance(payload, dict) or not isinstance(payload.get("choices"), list):
        return None
    choices = [choice for choice in payload["choices"] if isinstance(choice, dict)]
    usage = read_usage(payload.get("usage"))
    model = _text(payload.get("model"))
    if not choices:
        blocked = _blocked(payload)
        return Said("", None, None, None, None, usage, model, choices=0, blocked=blocked)
    first = choices[0]
    message = first.get("message")
    message = message if isinstance(message, dict) else {}
    parts = _Parts()
    _gather(message["content"] if "content" in message else first.get("text"), parts)
    if refusal := _text(message.get("refusal")):
        parts.refusals.append(refusal)
    thoughts = [text for key in ("reasoning_content", "reasoning") if (text := _text(message.get(key)))][:1]
    return Said(
        content="".join(parts.texts),
        refusal="\n".join(parts.refusals) or None,
        tool_arguments=_tool_arguments(message),
        reasoning="\n".join(thoughts + parts.thoughts) or None,
        finish=_text(first.get("finish_reason")) or None,
        usage=usage,
        model=model,
        error=read_error(first) if first.get("error") else None,
    )


def read_usage(usage: Any) -> Usage:
    """Token counts as they came; what is no count is not reported."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        prompt=_count(usage, "prompt_tokens", "input_tokens"),
        completion=_count(usage, "completion_tokens", "output_tokens"),
        total=_count(usage, "total_tokens"),
    )


def read_error(payload: Any) -> ErrorBody | None:
    """Read an error in any of its shapes; `None` where the JSON says of no error.

    `{"error": {…}}`, `{"error": "…"}`, `[{"error": {…}}]`, `{"errors": […]}`, `{"message": …}`, `{"fault": {…}}`,
    `{"detail": "…"}`, `{"detail": [{"loc", "msg"}]}`, and the flat `{"object": "error", "message": …}`, whose message
    may be an object.
    """
    if isinstance(payload, list):
        return next((found for item in payload[:20] if (found := read_error(item)) is not None), None)
    if not isinstance(payload, dict):
        return None
    subject = _subject(payload)
    if subject is None:
        return None
    words = [word for source in _sources(payload, subject) for word in _words(source)]
    return ErrorBody(
        message=one_line(unicode_text(_message(subject))) or "an error without a message",
        names=frozenset(words),
        param=next((param for source in _sources(payload, subject) if (param := _text(source.get("param")))), None),
        status=next((code for source in _sources(payload, subject) if (code := _status(source)) is not None), None),
        retry_after=_retry_delay(subject),
        text=_compact(payload).lower(),
    )


def text_error(raw: bytes) -> ErrorBody:
    """An error body that is no JSON: an HTML page, plain text, nothing."""
    text = raw[:100_000].decode("utf-8", "replace").strip()
    message = page_text(text) if text.startswith("<") else one_line(text)
    return ErrorBody(message=message or "no body", text=text[:5_000].lower())


def _subject(payload: Json) -> Any:
    """What the error says, wherever it stands."""
    if payload.get("error"):
        error = payload["error"]
        # `{"error": true, "message": "…"}` and `{"error": "Bad Request", "message": "…"}`
        if not isinstance(error, dict | list) and payload.get("message"):
            return payload["message"] if error is True else f"{error}: {_message(payload['message'])}"
        return error[0] if isinstance(error, list) else error
    if payload.get("errors"):
        errors = payload["errors"]
        return errors[0] if isinstance(errors, list) else errors
    if payload.get("fault"):
        return payload["fault"]
    if payload.get("choices"):
        return None
    for key in ("message", "detail", "msg", "error_message", "error_description", "title"):
        if payload.get(key):
            return payload[key]
    return payload if payload.get("object") == "error" else None


def _sources(payload: Json, subject: Any) -> list[Json]:
    candidates: list[Any] = [subject, payload]
    for outer in (subject, payload.get("message")):
        if isinstance(outer, dict):
            candidates += [outer, outer.get("innererror"), outer.get("metadata"), outer.get("error")]
    return [source for source in candidates if isinstance(source, dict)]


def _words(source: Json) -> list[str]:
    values = [source.get(key) for key in ("type", "code", "status", "reason", "error_type")]
    inner = source.get("innererror")
    if isinstance(inner, dict):
        values.append(inner.get("code"))
    return [value.lower() for value in values if isinstance(value, str) and len(value) < 100]


def _status(source: Json) -> int | None:
    for key in ("code", "status", "status_code", "statusCode"):
        value = source.get(key)
        if isinstance(value, str) and re.fullmatch(r"[1-5][0-9]{2}", value, re.ASCII):
            value = int(value)
        if type(value) is int and 400 <= value <= 599:
            return value
    return None


def _message(subject: Any) -> str:
    if isinstance(subject, str):
        return subject
    if isinstance(subject, list):
        return "; ".join(_message(item) for item in subject[:5])
    if not isinstance(subject, dict):
        return "" if subject is None else str(subject)
    place = subject.get("loc")
    prefix = ".".join(str(part) for part in place) + ": " if isinstance(place, list) and place else ""
    for key in ("message", "msg", "detail", "error", "faultstring", "description", "error_description"):
        if subject.get(key):
            text = _message(subject[key])
            metadata = subject.get("metadata")
            raw = _text(metadata.get("raw")) if isinstance(metadata, dict) else None
            return f"{prefix}{text}: {raw}" if raw else f"{prefix}{text}"
    return prefix + _compact(subject)


def _retry_delay(subject: Any) -> float | None:
    details = subject.get("details") if isinstance(subject, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (seconds := parse_duration(delay)) is not None:
            return seconds
    return None


def _gather(content: Any, parts: _Parts) -> None:
    """Take the text, the thinking and the refusals out of content: a string, or parts of several kinds."""
    if isinstance(content, str):
        parts.texts.append(unicode_text(content))
    elif isinstance(content, list):
        for part in content:
            _gather_part(part, parts)
    elif isinstance(content, dict):
        _gather_part(content, parts)


def _gather_part(part: Any, parts: _Parts) -> None:
    if isinstance(part, str):
        parts.texts.append(unicode_text(part))
    if not isinstance(part, dict):
        return
    kind = part.get("type")
    if kind in ("thinking", "reasoning"):
        inner = _Parts()
        _gather(part.get("thinking") or part.get("text") or part.get("reasoning"), inner)
        parts.thoughts.append("".join(inner.texts))
    elif kind == "refusal":
        parts.refusals.append(_text(part.get("refusal")) or "")
    elif (text := _text(part.get("text"))) is not None:
        parts.texts.append(text)
    elif isinstance(part.get("text"), dict):
        parts.texts.append(_text(part["text"].get("value")) or "")


def _tool_arguments(message: Json) -> str | None:
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions.append(message.get("function_call"))
    for function in functions:
        if isinstance(function, dict) and (arguments := function.get("arguments")) is not None:
            return unicode_text(arguments) if isinstance(arguments, str) else _compact(arguments)
    return None


def _blocked(payload: Json) -> str | None:
    """Why there are no choices, where a filter says that it was the reason."""
    feedback = payload.get("promptFeedback") or payload.get("prompt_feedback")
    if isinstance(feedback, dict) and (reason := _text(feedback.get("blockReason") or feedback.get("block_reason"))):
        return reason
    for result in payload.get("prompt_filter_results") or ():
        filters = result.get("content_filter_results") if isinstance(result, dict) else None
        for name, found in filters.items() if isinstance(filters, dict) else ():
            if isinstance(found, dict) and found.get("filtered"):
                return str(name)
    return None


def _count(usage: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = usage.get(key)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is int and 0 <= value < 2**63:
            return value
    return None


def _text(value: Any) -> str | None:
    return unicode_text(value) if isinstance(value, str) else None


def _compact(value: Any) -> str:
    try:
        return unicode_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except RecursionError:
        return "(nested too deeply)"
