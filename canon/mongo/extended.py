"""Extended JSON v2, canonical and relaxed: `{"$oid": …}` and its kin become BSON values while a text is read."""

import re
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

from bson import Binary, Regex
from bson.errors import BSONError
from bson.json_util import JSONOptions, object_hook

from canon.errors import ReadError
from canon.mongo.values import Document

WRAPPERS = frozenset(
    {
        "$oid",
        "$date",
        "$numberInt",
        "$numberLong",
        "$numberDouble",
        "$numberDecimal",
        "$binary",
        "$uuid",
        "$timestamp",
        "$regularExpression",
        "$minKey",
        "$maxKey",
        "$undefined",
        "$symbol",
        "$dbPointer",
    }
)
"""Keys whose object is one value and no document. `$regex` is not among them: in a query it is an operator."""

_OPTIONS: JSONOptions = JSONOptions(tz_aware=True, tzinfo=UTC)

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d\d:?\d\d|[+-]\d\d)?)?",
    re.ASCII,
)


def read_iso(text: str) -> datetime | None:
    """Read a date or an instant in ISO 8601 as UTC, to the millisecond; `None` where the text is neither."""
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int(((fraction or "") + "000")[:3]) * 1000,
            _zone(zone),
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _zone(zone: str | None) -> timezone:
    if zone is None or zone == "Z":
        return UTC
    digits = zone[1:].replace(":", "").ljust(4, "0")
    shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-shift if zone[0] == "-" else shift)


def from_pairs(pairs: list[tuple[str, object]]) -> object:
    """Build a document from its members, or the one value that an Extended JSON wrapper stands for.

    Raises:
        ReadError: a wrapper is malformed.
    """
    if not pairs or pairs[0][0][:1] != "$" or pairs[0][0] not in WRAPPERS or len(pairs) > 2:
        return dict(pairs)
    document: Document = dict(pairs)
    key = pairs[0][0]
    if key == "$date" and isinstance(document["$date"], str):
        moment = read_iso(document["$date"])
        if moment is None:
            raise ReadError("unparseable", f"$date: {document['$date']!r} is no ISO 8601 date")
        return moment
    if key == "$undefined":
        return None
    try:
        value: object = object_hook(document, _OPTIONS)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, BSONError) as error:
        raise ReadError("unparseable", f"malformed {key} in Extended JSON: {error}") from None
    if isinstance(value, UUID):
        return Binary.from_uuid(value)
    if isinstance(value, re.Pattern):
        return Regex.from_native(value)
    return value
