"""Database values as JSON: what JSON has no word for is tagged with its type, and every size is counted.

Standard library alone: it runs inside the walls.
"""

import base64
import datetime as dt
import decimal
import json
import math
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

_CLIP = 200


def tagged(value: Any) -> Any:
    """One value as JSON.

    Blobs become `{"type": "blob", "base64": …}`, non-finite floats `{"type": "float", "value": "inf"}`, decimals,
    dates, times, intervals, UUIDs and nested values `{"type": …, "value": …}`; text that is no UTF-8 becomes
    `{"type": "text", "base64": …}`. `None`, booleans, integers, finite floats and text stay what they are.
    """
    kind = type(value)
    if value is None or kind is int or kind is bool:
        return value
    if kind is str:
        return value if value.isascii() or _encodable(value) else _broken_text(value)
    if kind is float:
        return value if math.isfinite(value) else {"type": "float", "value": str(value)}
    return _tagged_other(value)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _broken_text(text: str) -> dict[str, str]:
    return {"type": "text", "base64": base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()}


def _tagged_other(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"type": "blob", "base64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, decimal.Decimal):
        return {"type": "decimal", "value": str(value)}
    if isinstance(value, dt.datetime):
        return {"type": "timestamptz" if value.tzinfo else "timestamp", "value": value.isoformat()}
    if isinstance(value, (dt.date, dt.time)):
        return {"type": type(value).__name__, "value": value.isoformat()}
    if isinstance(value, dt.timedelta):
        return {"type": "interval", "value": str(value)}
    if isinstance(value, uuid.UUID):
        return {"type": "uuid", "value": str(value)}
    if isinstance(value, dict):
        return {"type": "object", "value": {str(key): tagged(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"type": "array", "value": [tagged(item) for item in value]}
    return {"type": type(value).__name__.lower(), "value": str(value)}


def encode(data: Any) -> str:
    """Compact ASCII JSON."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True)


def weigh(value: Any) -> int:
    """About how many bytes a value holds, without building its JSON."""
    if value is None or isinstance(value, bool):
        return 4
    if isinstance(value, (int, float)):
        return 8 if isinstance(value, float) else max(8, value.bit_length() // 8)
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, (list, tuple)):
        return 8 + sum(weigh(item) for item in value)
    if isinstance(value, dict):
        return 8 + sum(weigh(key) + weigh(item) for key, item in value.items())
    return len(str(value))


def clipped(value: Any) -> Any:
    """A tagged value, cut to a bounded preview."""
    shown = tagged(value)
    if isinstance(shown, str):
        return shown if len(shown) <= _CLIP else shown[:_CLIP] + "…"
    if isinstance(shown, int) and not isinstance(shown, bool) and shown.bit_length() > 4 * _CLIP:
        return {"type": "integer", "value": "…"}
    if isinstance(shown, dict):
        text = encode(shown)
        if len(text) > 2 * _CLIP:
            return {"type": shown["type"], "value": text[:_CLIP] + "…"}
    return shown


def preview(rows: Iterable[Sequence[Any]], columns: int = 20) -> list[list[Any]]:
    """Rows for a person to look at: at most `columns` columns, values clipped and tagged."""
    return [[clipped(value) for value in row[:columns]] for row in rows]
