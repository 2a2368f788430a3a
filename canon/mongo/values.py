"""BSON values as MongoDB compares them: brackets, the total order, equality across number types, one text each.

The order is that of the manual's page "Comparison/Sort Order": MinKey, missing, null, numbers, strings, objects,
arrays, binary data, ObjectId, booleans, dates, timestamps, regular expressions, MaxKey. Values of different brackets
are never equal; numbers are one bracket and compare by value, exactly, whatever their type.
"""

import json
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

from bson import Binary, Code, Decimal128, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.datetime_ms import DatetimeMS
from bson.dbref import DBRef

Document = dict[str, object]


class Missing(Enum):
    """The absence of a field, which MongoDB keeps apart from null."""

    MISSING = "missing"


MISSING = Missing.MISSING

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

BRACKETS: dict[str, int] = {
    "minkey": -1,
    "missing": 0,
    "null": 5,
    "number": 10,
    "string": 15,
    "object": 20,
    "array": 25,
    "binary": 30,
    "objectid": 35,
    "boolean": 40,
    "date": 45,
    "timestamp": 47,
    "regex": 50,
    "dbref": 55,
    "code": 60,
    "maxkey": 127,
}
"""The brackets by their place in the order."""

_BY_TYPE: dict[type, str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    Decimal128: "number",
    str: "string",
    dict: "object",
    list: "array",
    tuple: "array",
    type(None): "null",
    datetime: "date",
    DatetimeMS: "date",
    ObjectId: "objectid",
    Regex: "regex",
    bytes: "binary",
    Binary: "binary",
    UUID: "binary",
    Timestamp: "timestamp",
    MinKey: "minkey",
    MaxKey: "maxkey",
    Code: "code",
    DBRef: "dbref",
    Missing: "missing",
}


def bracket(value: object) -> str:
    """Name the type bracket of a value (`number`, `string`, `date`, …).

    Raises:
        TypeError: the value is of no BSON type.
    """
    found = _BY_TYPE.get(type(value))
    if found is not None:
        return found
    for kind in type(value).__mro__[1:]:
        found = _BY_TYPE.get(kind)
        if found is not None:
            return found
    raise TypeError(f"{type(value).__name__} is no BSON type")


def milliseconds(moment: datetime | DatetimeMS) -> int:
    """A date as whole milliseconds since 1970, which is all that BSON keeps of it; a naive one is taken as UTC."""
    if isinstance(moment, DatetimeMS):
        return int(moment)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(milliseconds=1)


def number(value: object) -> int | float | Decimal:
    """The Python number behind a BSON number; comparisons between the three kinds are exact."""
    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, int | float):
        return value
    raise TypeError(f"{type(value).__name__} is no number")


def is_nan(value: object) -> bool:
    """Whether a value is a number that is not a number."""
    if isinstance(value, float):
        return math.isnan(value)
    return isinstance(value, Decimal128) and value.to_decimal().is_nan()


def _sign(left: int | float | Decimal | str | bytes, right: int | float | Decimal | str | bytes) -> int:
    return 0 if left == right else (-1 if left < right else 1)  # type: ignore[operator]


def _compare_numbers(left: object, right: object) -> int:
    if is_nan(left) or is_nan(right):
        return int(is_nan(right)) - int(is_nan(left))
    one, two = number(left), number(right)
    if isinstance(one, Decimal) and isinstance(two, float):
        two = Decimal(two)
    elif isinstance(two, Decimal) and isinstance(one, float):
        one = Decimal(one)
    return _sign(one, two)


def _compare_objects(left: Document, right: Document) -> int:
    for (key, value), (other_key, other) in zip(left.items(), right.items(), strict=False):
        by_bracket = BRACKETS[bracket(value)] - BRACKETS[bracket(other)]
        if by_bracket:
            return by_bracket
        by_name = _sign(key.encode("utf-8", "surrogatepass"), other_key.encode("utf-8", "surrogatepass"))
        if by_name:
            return by_name
        by_value = compare(value, other)
        if by_value:
            return by_value
    return _sign(len(left), len(right))


def _compare_arrays(left: list[object], right: list[object]) -> int:
    for value, other in zip(left, right, strict=False):
        found = compare(value, other)
        if found:
            return found
    return _sign(len(left), len(right))


def _binary(value: object) -> tuple[int, int, bytes]:
    if isinstance(value, UUID):
        return 16, 4, value.bytes
    assert isinstance(value, bytes)
    return len(value), value.subtype if isinstance(value, Binary) else 0, bytes(value)


def compare(left: object, right: object) -> int:
    """Compare two values in the BSON order: negative, zero or positive. Missing sorts before null."""
    kind, other_kind = bracket(left), bracket(right)
    if kind != other_kind:
        return BRACKETS[kind] - BRACKETS[other_kind]
    match kind:
        case "number":
            return _compare_numbers(left, right)
        case "string":
            assert isinstance(left, str)
            assert isinstance(right, str)
            return _sign(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))
        case "object":
            assert isinstance(left, dict)
            assert isinstance(right, dict)
            return _compare_objects(left, right)
        case "array":
            assert isinstance(left, list | tuple)
            assert isinstance(right, list | tuple)
            return _compare_arrays(list(left), list(right))
        case "missing" | "null" | "minkey" | "maxkey":
            return 0
        case _:
            return _compare_scalars(kind, left, right)


def _compare_scalars(kind: str, left: object, right: object) -> int:
    one, two = _scalar_key(kind, left), _scalar_key(kind, right)
    return 0 if one == two else (-1 if one < two else 1)


def _scalar_key(kind: str, value: object) -> tuple[int | str | bytes, ...]:
    match kind:
        case "date":
            assert isinstance(value, datetime | DatetimeMS)
            return (milliseconds(value),)
        case "boolean":
            return (int(bool(value)),)
        case "binary":
            return _binary(value)
        case "timestamp":
            assert isinstance(value, Timestamp)
            return value.time, value.inc
        case "objectid":
            assert isinstance(value, ObjectId)
            return (value.binary,)
        case "regex":
            assert isinstance(value, Regex)
            return str(value.pattern), flag_letters(value)
        case _:
            return (str(value),)


def equal(left: object, right: object) -> bool:
    """Whether two values are equal to MongoDB: exact for subdocuments (key order included), by value for numbers."""
    return compare(left, right) == 0


FLAGS = ((2, "i"), (8, "m"), (16, "s"), (32, "u"), (64, "x"), (4, "l"))


def flag_letters(regex: "Regex[str]") -> str:
    """The options of a regular expression as sorted letters (`u` is how BSON always reads a pattern, and not shown)."""
    return "".join(sorted(letter for bit, letter in FLAGS if regex.flags & bit and letter != "u"))


def _number_text(value: object) -> str:
    plain = number(value)
    if isinstance(plain, bool):
        raise TypeError("a boolean is no number")
    if isinstance(plain, int):
        return str(int(plain))
    if is_nan(value):
        return "NaN"
    if plain in (math.inf, -math.inf):
        return "Infinity" if plain > 0 else "-Infinity"
    if isinstance(plain, Decimal):
        return _decimal_text(plain)
    return str(int(plain)) if plain == int(plain) else repr(plain)


def _decimal_text(plain: Decimal) -> str:
    if plain == 0:
        return "0"
    if -40 < plain.adjusted() < 40 and plain == plain.to_integral_value():
        return str(int(plain))
    if -300 < plain.adjusted() < 300 and Decimal(float(plain)) == plain:
        return _number_text(float(plain))
    sign, digits, exponent = plain.normalize().as_tuple()
    return f"{'-' if sign else ''}{''.join(map(str, digits))}e{exponent}m"


def text(value: object) -> str:
    """One text per value: two values have the same text exactly where MongoDB holds them equal."""
    kind = type(value)
    if kind is str:
        return json.dumps(value)
    if kind is int:
        return str(value)
    if kind is dict:
        assert isinstance(value, dict)
        return "{" + ",".join(f"{json.dumps(key)}:{text(item)}" for key, item in value.items()) + "}"
    if kind is list or kind is tuple:
        assert isinstance(value, list | tuple)
        return "[" + ",".join(text(item) for item in value) + "]"
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    return _rare_text(value)


def _rare_text(value: object) -> str:
    name = bracket(value)
    match name:
        case "number":
            return _number_text(value)
        case "date":
            assert isinstance(value, datetime | DatetimeMS)
            return f"Date({date_text(value)})"
        case "regex":
            assert isinstance(value, Regex)
            return f"/{value.pattern}/{flag_letters(value)}"
        case "binary":
            length, subtype, data = _binary(value)
            return f"Binary({subtype},{length},{data.hex()})"
        case "objectid":
            return f"ObjectId({value})"
        case "timestamp":
            assert isinstance(value, Timestamp)
            return f"Timestamp({value.time},{value.inc})"
        case "minkey":
            return "MinKey"
        case "maxkey":
            return "MaxKey"
        case "missing":
            return "missing"
        case "string":
            return json.dumps(str(value))
        case _:
            return f"{name}({value!r})"


def date_text(moment: datetime | DatetimeMS) -> str:
    """A date in ISO 8601, UTC, with milliseconds only where there are some."""
    whole = milliseconds(moment)
    try:
        shown = EPOCH + timedelta(milliseconds=whole)
    except OverflowError:
        return f"{whole} ms"
    return shown.strftime("%Y-%m-%dT%H:%M:%S" if whole % 1000 == 0 else "%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"
