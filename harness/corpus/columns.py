"""The columns of a golden file: what each is called, and how a cell of it is read."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from types import MappingProxyType

from pydantic import JsonValue

from harness.corpus.json_text import JsonTextError, parse_json

COLUMNS = (
    "id",
    "nl",
    "backend",
    "config",
    "tags",
    "expect_sql",
    "expect_mongo",
    "expect_error",
    "expect_rows",
    "expect_suite",
    "expect_args",
    "expect_schema",
    "scope",
    "now",
    "notes",
    "accept",
    "fixture",
    "order_matters",
    "float_tolerance",
    "match_key",
    "weight",
    "group",
)

_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("question", "sentence", "text", "prompt", "utterance", "input", "request"), "nl"),
        **dict.fromkeys(("sql", "gold", "gold_sql", "golden", "golden_sql", "expected", "expected_sql"), "expect_sql"),
        **dict.fromkeys(("query", "answer", "reference_sql", "reference"), "expect_sql"),
        **dict.fromkeys(("mongo", "filter", "expected_mongo"), "expect_mongo"),
        **dict.fromkeys(("error", "refusal", "unsupported", "expected_error"), "expect_error"),
        **dict.fromkeys(("args", "params", "parameters"), "expect_args"),
        **dict.fromkeys(("case", "case_id", "name", "key", "question_id"), "id"),
        **dict.fromkeys(("dialect", "database", "engine"), "backend"),
        **dict.fromkeys(("note", "comment", "comments"), "notes"),
        **dict.fromkeys(("today", "clock", "date"), "now"),
        **dict.fromkeys(("tag", "labels", "category"), "tags"),
    }
)
_TRUE = frozenset({"true", "1", "yes"})
_FALSE = frozenset({"false", "0", "no"})


class CellError(ValueError):
    """A cell does not hold what its column takes; the message is for the person who wrote it."""


def did_you_mean(name: str, known: tuple[str, ...] | frozenset[str]) -> str:
    """`; did you mean …?` where one name is near, else nothing."""
    lowered = {item.lower(): item for item in known}
    guess = lowered.get(name.lower()) or next(
        (lowered[near] for near in get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)), None
    )
    return f"; did you mean `{guess}`?" if guess else ""


def column_hint(name: str) -> str:
    """What an unknown column was likely meant to be."""
    squeezed = name.strip().lower().replace(" ", "_").replace("-", "_")
    if squeezed in _OTHER_NAMES and squeezed not in COLUMNS:
        return f"; did you mean `{_OTHER_NAMES[squeezed]}`?"
    return did_you_mean(squeezed, COLUMNS)


def printable(text: str) -> str:
    """The text with `?` for bytes that are not UTF-8, which are read as lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def not_utf8(cell: str) -> str | None:
    """Say which byte of a cell is not UTF-8, and what the cell would say in the likeliest other encoding."""
    lost = next((mark for mark in cell if "\udc80" <= mark <= "\udcff"), None)
    if lost is None:
        return None
    byte = ord(lost) - 0xDC00
    line = next(part for part in cell.splitlines() if lost in part)
    try:
        guess = line.encode("utf-8", "surrogateescape").decode("cp1252")
    except UnicodeDecodeError:
        return f"byte 0x{byte:02X} is not UTF-8; save the file as UTF-8"
    at = line.index(lost)
    excerpt = guess[max(0, at - 20) : at + 20].strip()
    return (
        f"byte 0x{byte:02X} is not UTF-8 (in Windows-1252 it would read “{excerpt}”); save the file as UTF-8"
        " (in Excel: “CSV UTF-8”)"
    )


def read_list(cell: str) -> tuple[str, ...]:
    """`a;b` as a tuple, each item once."""
    return tuple(dict.fromkeys(item for part in cell.split(";") if (item := part.strip())))


def read_instant(cell: str) -> datetime:
    """ISO 8601; a bare date is midnight, and a time without an offset is taken as UTC."""
    text = cell.strip()
    try:
        moment = datetime.fromisoformat(text)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
    except (ValueError, OverflowError):
        raise CellError(f"{_shown(text)} is no ISO 8601 date; write it as 2026-08-04 or 2026-08-04T09:30:00Z") from None


def read_json(cell: str) -> JsonValue:
    """A JSON value, with a message that says where it breaks."""
    try:
        return parse_json(cell)
    except JsonTextError as error:
        raise CellError(error.message) from None


def read_json_array(cell: str) -> tuple[JsonValue, ...]:
    """A JSON array."""
    value = read_json(cell)
    if not isinstance(value, list):
        raise CellError(f'takes a JSON array, such as ["CANCELLED", 500], not {_shown(cell)}')
    return tuple(value)


def read_scope(cell: str) -> dict[str, JsonValue]:
    """A JSON object of field names to a value or a list of values."""
    value = read_json(cell)
    if not isinstance(value, dict):
        raise CellError(f'takes a JSON object, such as {{"tenantId": "acme"}}, not {_shown(cell)}')
    for name, item in value.items():
        for part in item if isinstance(item, list) else [item]:
            if isinstance(part, dict | list) or part is None:
                raise CellError(f"{name!r} takes a string, number, boolean or a list of those")
    return value


def read_accept(cell: str) -> tuple[str, ...]:
    """A JSON array of queries; a MongoDB query may be written as an object or as text."""
    queries: list[str] = []
    for item in read_json_array(cell):
        if isinstance(item, dict | list):
            queries.append(json.dumps(item, ensure_ascii=False, separators=(",", ":")))
        elif isinstance(item, str) and item.strip():
            queries.append(item)
        else:
            raise CellError(f"takes a JSON array of queries; {json.dumps(item)} is none")
    return tuple(queries)


def read_flag(cell: str) -> bool:
    """`true` or `false`, `yes` or `no`, `1` or `0`."""
    word = cell.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise CellError(f"takes true or false, not {_shown(cell)}")


def read_number(cell: str, *, minimum: float, exclusive: bool) -> float:
    """A finite number above (or from) a minimum."""
    try:
        value = float(cell)
    except ValueError:
        hint = "; write a decimal point, not a comma" if "," in cell else ""
        raise CellError(f"takes a number, not {_shown(cell)}{hint}") from None
    if not math.isfinite(value) or value < minimum or (exclusive and value == minimum):
        bound = "above" if exclusive else "of at least"
        raise CellError(f"takes a number {bound} {minimum:g}, not {_shown(cell)}")
    return value


def _shown(cell: str) -> str:
    """A cell's text in a message: one line, not too long."""
    text = " ".join(cell.split())
    return f"`{text[:60]}…`" if len(text) > 60 else f"`{text}`"
