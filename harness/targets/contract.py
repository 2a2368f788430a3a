"""The JSON that the `http` and `command` targets exchange with a user's own service or program.

Request, one object:

| key | value |
|---|---|
| `nl` | the sentence |
| `now` | the pinned instant, ISO 8601, UTC (`2026-08-04T00:00:00Z`) |
| `backend` | `mongo` or a SQL dialect (`postgres`, `mysql`, `sqlite`, …) |
| `scope` | filters that the caller imposes, by field; `null` if none |
| `case_id`, `repeat` | which attempt this is, repeat counted from 0 |
| `config` | path of the case's vocabulary config; `null` if none |
| `base_url` | where the gateway takes the model calls of this attempt; `null` without one |

Answer, one object with exactly one of:

| key | value |
|---|---|
| `sql` | the query, as text; `args` beside it holds bound values (a list, or an object for named ones) |
| `mongo` | a filter, envelope or pipeline: an object, a list, or text as for mongosh |
| `unsupported` | the sentence cannot be expressed: the reason as text, or `true` |
| `error` | there is no query: a message; `reason` beside it may name one of the reasons of the grade ERROR |

and, where the service knows them, `raw` (the model's own words), `usage` (`prompt_tokens`, `completion_tokens`,
`total_tokens`) and `notices` (a list of texts). Other keys are ignored.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import JsonValue, TypeAdapter, ValidationError

from canon.clock import utc
from harness.endpoint.texts import unicode_text
from harness.types.answers import Answer, MongoAnswer, NoQuery, NoQueryReason, Refusal, SqlAnswer, Usage
from harness.types.cases import Case

ANSWER_KEYS = ("sql", "mongo", "unsupported", "error")
_REASON: TypeAdapter[NoQueryReason] = TypeAdapter(NoQueryReason)
_ARGS: TypeAdapter[list[JsonValue] | dict[str, JsonValue]] = TypeAdapter(list[JsonValue] | dict[str, JsonValue])


class Contracted(NamedTuple):
    """What a service's or program's answer says.

    Attributes:
        answer: the query, the refusal, or why there is none.
        raw: the model's own words, the whole answer where it did not give them.
        usage: tokens as it reported them.
        notices: what it wants the user to know.
    """

    answer: Answer
    raw: str
    usage: Usage = Usage()
    notices: tuple[str, ...] = ()


def request_document(case: Case, *, now: datetime, repeat: int, base_url: str | None = None) -> dict[str, JsonValue]:
    """The request for one attempt."""
    return {
        "nl": case.nl,
        "now": utc(now).isoformat().replace("+00:00", "Z"),
        "backend": case.backend,
        "scope": case.scope,
        "case_id": case.id,
        "repeat": repeat,
        "config": str(case.config) if case.config is not None else None,
        "base_url": base_url,
    }


def read_contract(text: str) -> Contracted:
    """Read an answer; whatever is wrong with it comes back as `NoQuery`, nothing raises."""
    text = unicode_text(text)
    if not text.strip():
        return Contracted(NoQuery(reason="empty", message="the answer is empty; it should be one JSON object"), text)
    try:
        return _read(text, json.loads(text))
    except ValueError as error:
        return _unusable(text, f"the answer is no JSON: {error}")
    except RecursionError:
        return _unusable(text, "the answer is nested too deeply")


def _read(text: str, document: object) -> Contracted:
    if not isinstance(document, dict):
        return _unusable(text, f"the answer is a JSON {type(document).__name__}; it should be an object")
    given = [key for key in ANSWER_KEYS if document.get(key) is not None]
    if len(given) != 1:
        names = " and ".join(given) if given else "none of them"
        return _unusable(text, f"the answer should have exactly one of {', '.join(ANSWER_KEYS)}; it has {names}")
    raw = document.get("raw")
    notices = document.get("notices")
    return Contracted(
        answer=_answer(given[0], document),
        raw=unicode_text(raw) if isinstance(raw, str) else text,
        usage=_usage(document.get("usage")),
        notices=tuple(unicode_text(note) for note in notices if isinstance(note, str))
        if isinstance(notices, list)
        else (),
    )


def _answer(key: str, document: Mapping[str, Any]) -> Answer:
    value = document[key]
    match key:
        case "sql":
            return _sql(value, document.get("args"))
        case "mongo":
            return _mongo(value)
        case "unsupported":
            if value is False:
                return NoQuery(reason="unparseable", message="`unsupported` is false and there is no query")
            return Refusal(message=unicode_text(value) if isinstance(value, str) else _compact(value))
        case _:
            message = unicode_text(value) if isinstance(value, str) else _compact(value)
            return NoQuery(reason=_reason(document.get("reason")), message=message)


def _reason(value: object) -> NoQueryReason:
    try:
        return _REASON.validate_python(value)
    except ValidationError:
        return "target_crashed"


def _sql(value: object, args: object) -> Answer:
    if not isinstance(value, str):
        return NoQuery(reason="unparseable", message=f"`sql` is a {type(value).__name__}; it should be text")
    if not value.strip():
        return NoQuery(reason="empty", message="`sql` is empty")
    if args is None:
        return SqlAnswer(text=unicode_text(value))
    try:
        bound = _ARGS.validate_python(args)
    except ValidationError:
        return NoQuery(reason="unparseable", message="`args` should be a list, or an object of named values")
    return SqlAnswer(text=unicode_text(value), args=tuple(bound) if isinstance(bound, list) else bound)


def _mongo(value: object) -> Answer:
    if isinstance(value, str):
        if not value.strip():
            return NoQuery(reason="empty", message="`mongo` is empty")
        return MongoAnswer(text=unicode_text(value))
    if isinstance(value, dict | list):
        return MongoAnswer(text=_compact(value))
    message = f"`mongo` is a {type(value).__name__}; it should be an object, a list or text"
    return NoQuery(reason="unparseable", message=message)


def _usage(value: object) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    counts = [count if type(count := value.get(name)) is int and count >= 0 else None for name in names]
    return Usage(prompt=counts[0], completion=counts[1], total=counts[2])


def _unusable(text: str, message: str) -> Contracted:
    return Contracted(NoQuery(reason="unparseable", message=message), text)


def _compact(value: object) -> str:
    return unicode_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
