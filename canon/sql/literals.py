"""Canonical literals: numbers by value, instants to the second in UTC.

And how a dialect reads a literal beside a column.
"""

import re
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from canon.schema import ColumnType
from canon.sql.algebra import Expr, lit
from canon.sql.dialects import Dialect

_INSTANT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$"
)
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?\s*$")

NUMERIC_TYPES: frozenset[ColumnType] = frozenset({"integer", "real", "decimal"})
INSTANT_TYPES: frozenset[ColumnType] = frozenset({"date", "timestamp", "timestamptz"})
MAX_EXPONENT = 400
MAX_DIGITS = 27
"""The most characters of a number that is read by value: decimal arithmetic is exact up to 28 digits."""


def number(text: str) -> str | None:
    """The canonical text of a number (`500.0`, `5e2` and `500` are one), `None` where the text is no number."""
    if len(text) > MAX_DIGITS:
        return None
    if text.isdigit() and text.isascii() and (text[0] != "0" or text == "0"):
        return text
    if not _NUMBER.match(text):
        return None
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    if not value:
        return "0"
    if abs(value.adjusted()) > MAX_EXPONENT:
        return None
    return format(value.normalize(), "f")


def instant(text: str) -> str | None:
    """The canonical text of an instant, `YYYY-MM-DD HH:MM:SS[.fraction]` in UTC, `None` where the text is none."""
    if len(text) < 10 or text[4] != "-":
        return None
    match = _INSTANT.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
        if offset and offset != "Z":
            digits = offset[1:].replace(":", "")
            zone = f"{offset[0]}{digits[:2]}:{digits[2:] or '00'}"
            moment = datetime.fromisoformat(f"{moment.strftime('%Y-%m-%dT%H:%M:%S')}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    tail = (fraction or "").rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + (tail if tail != "." else "")


def date_text(moment: date) -> str:
    """A day as text, `YYYY-MM-DD`."""
    return moment.isoformat()


def beside(literal: Expr, kind: ColumnType, dialect: Dialect) -> Expr:
    """How the dialect reads a literal that is compared with a value of the given type."""
    form, text = literal.value
    if form in {"int", "dec", "float"}:
        return _number_beside(literal, form, text, kind, dialect)
    if form == "str":
        return _text_beside(literal, text, kind, dialect)
    if form == "bool" and dialect.booleans == "integer" and kind in NUMERIC_TYPES:
        return lit("num", "1" if text == "true" else "0")
    return literal


def _number_beside(literal: Expr, form: str, text: str, kind: ColumnType, dialect: Dialect) -> Expr:
    if kind == "text":
        if dialect.coerces == "affinity" and form == "int":
            return lit("str", str(int(text)))
        return literal
    if kind == "boolean" and dialect.booleans == "integer" and text in {"0", "1"}:
        return lit("bool", "true" if text == "1" else "false")
    canonical = number(text)
    return lit("num", canonical) if canonical is not None else literal


def _text_beside(literal: Expr, text: str, kind: ColumnType, dialect: Dialect) -> Expr:
    if kind in NUMERIC_TYPES and dialect.coerces in {"affinity", "typed", "numeric"}:
        canonical = number(text)
        return lit("num", canonical) if canonical is not None else literal
    if kind in INSTANT_TYPES or kind == "any":
        moment = instant(text)
        if moment is not None:
            return lit("ts", moment)
    if kind == "boolean" and dialect.coerces == "typed" and text.lower() in {"t", "true", "f", "false"}:
        return lit("bool", "true" if text.lower() in {"t", "true"} else "false")
    return literal
