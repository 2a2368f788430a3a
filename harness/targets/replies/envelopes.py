"""Finds JSON objects in a reply, with the place of every value, so that a query in one comes out as it was written."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder(strict=False)
_BLANKS = re.compile(r"[ \t\r\n]*")
_LINE_START = re.compile(r"^[ \t]*(\{)", re.MULTILINE)
_MOST_TRIES = 50


class Envelope(NamedTuple):
    """A JSON object in a text.

    Attributes:
        members: its values by key, keys as written.
        texts: the text of each value as it stands in the reply.
        start: where it starts.
        end: where it ends.
    """

    members: Mapping[str, Any]
    texts: Mapping[str, str]
    start: int
    end: int


def read_envelope(text: str, start: int = 0) -> Envelope | None:
    """The JSON object that starts at `start` (blanks before it are skipped); `None` where none does."""
    at = _skip(text, start)
    if at >= len(text) or text[at] != "{":
        return None
    begin = at
    members: dict[str, Any] = {}
    texts: dict[str, str] = {}
    at = _skip(text, at + 1)
    try:
        while text[at : at + 1] != "}":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                return None
            value_at = _skip(text, at + 1)
            members[key], at = _DECODER.raw_decode(text, value_at)
            texts[key] = text[value_at:at]
            at = _skip(text, at)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
            elif text[at : at + 1] != "}":
                return None
    except (ValueError, RecursionError):
        return None
    return Envelope(members, texts, begin, at + 1)


def whole_envelope(text: str) -> Envelope | None:
    """The JSON object that is the whole text, blanks aside."""
    envelope = read_envelope(text)
    return envelope if envelope is not None and not text[envelope.end :].strip() else None


def envelopes_in(text: str) -> list[Envelope]:
    """The JSON objects that start at the start of a line, one after the other."""
    found: list[Envelope] = []
    at = 0
    for _ in range(_MOST_TRIES):
        line = _LINE_START.search(text, at)
        if line is None:
            break
        envelope = read_envelope(text, line.start(1))
        if envelope is not None:
            found.append(envelope)
        at = envelope.end if envelope is not None else line.end()
    return found


def _skip(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks is not None else at
