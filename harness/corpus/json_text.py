"""Strict JSON: no duplicate keys, no NaN; an error says line and column."""

import json

from pydantic import JsonValue


class JsonTextError(ValueError):
    """A text is not the JSON it should be; `line` is counted from 1 within the text."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def parse_json(text: str) -> JsonValue:
    """Read one JSON value.

    Raises:
        JsonTextError: the text is no JSON, or an object in it has the same key twice.
    """
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}" if error.lineno > 1 else f"character {error.colno}"
        said = error.msg[0].lower() + error.msg[1:]
        raise JsonTextError(f"not JSON: {said} at {place}{_hint(text, error)}", error.lineno) from error
    except RecursionError as error:
        raise JsonTextError("nested too deeply") from error
    except ValueError as error:
        if isinstance(error, JsonTextError):
            raise
        raise JsonTextError(f"not JSON: {error}") from error
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise JsonTextError(f"the key {twice!r} is written twice in one object")
    return value


def _no_constant(name: str) -> JsonValue:
    raise JsonTextError(f"{name} is no JSON value")


def _hint(text: str, error: json.JSONDecodeError) -> str:
    if any(mark in text for mark in "“”‘’"):
        return '; it has typographic quotes (“ ”), JSON wants straight ones (")'
    if error.pos < len(text) and text[error.pos] == "'":
        return "; JSON strings take double quotes"
    if text[max(0, error.pos - 1) : error.pos] == "," or (error.pos < len(text) and text[error.pos] in "]}"):
        return "; is there a comma too many?"
    return ""
