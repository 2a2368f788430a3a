"""When two database values agree, and a key under which equal values meet.

Standard library alone: it runs inside the walls. NULL equals only NULL; text is exact; integers and decimals are exact
numbers and never pass through a float; a pair with a finite float in it may differ by the tolerance; NaN equals NaN and
an infinity itself; a number is no text and no boolean.
"""

import math
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

Row = tuple[Any, ...]

PLAIN = frozenset({int, str, type(None), bytes})
"""Types whose values agree just when Python finds them equal."""

_NAN = ("nan",)
_TRUE = ("boolean", True)
_FALSE = ("boolean", False)


def exact(value: Any) -> Hashable:
    """A value as a key: equal keys = the same value. Numbers of different types but one value share a key."""
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value  # type: ignore[no-any-return]
    if kind is float:
        return _NAN if math.isnan(value) else value
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is Decimal:
        return _NAN if value.is_nan() else value
    if isinstance(value, (list, tuple)):
        return ("array", *map(exact, value))
    if isinstance(value, dict):
        return ("object", *((key, exact(item)) for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))))
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    return value  # type: ignore[no-any-return]


def row_key(row: Row) -> Row:
    """A row as a key; the row itself where each of its values is one."""
    for value in row:
        if type(value) not in PLAIN and not (type(value) is float and not math.isnan(value)):
            return tuple(map(exact, row))
    return row


def agree(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two values agree."""
    first, second = type(one), type(other)
    if first is float or second is float:
        return _floats_agree(one, other, tolerance)
    if first in PLAIN and second in PLAIN:
        return bool(one == other)
    if first in (list, tuple) and second in (list, tuple):
        return len(one) == len(other) and all(agree(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if first is dict and second is dict:
        return one.keys() == other.keys() and all(agree(item, other[key], tolerance) for key, item in one.items())
    return exact(one) == exact(other)


def _floats_agree(one: Any, other: Any, tolerance: float) -> bool:
    """At least one is a float."""
    if not (is_number(one) and is_number(other)):
        return False
    if is_nan(one) or is_nan(other):
        return is_nan(one) and is_nan(other)
    if one == other:
        return True
    if not is_finite(one) or not is_finite(other):
        return False
    if type(one) is float and type(other) is float:
        return bool(abs(one - other) <= tolerance)
    return abs(Fraction(one) - Fraction(other)) <= Fraction(tolerance)


def is_number(value: Any) -> bool:
    """Whether it is an integer, a float or a decimal."""
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def rows_agree(one: Row, other: Row, tolerance: float) -> bool:
    """Whether two rows agree value by value."""
    return len(one) == len(other) and all(agree(a, b, tolerance) for a, b in zip(one, other, strict=True))


def is_nan(value: Any) -> bool:
    """Whether a number is no number."""
    return type(value) is not int and (math.isnan(value) if type(value) is float else value.is_nan())


def is_finite(value: Any) -> bool:
    """Whether a number is finite (an integer of any size is)."""
    return type(value) is int or (math.isfinite(value) if type(value) is float else value.is_finite())


def holds_float(value: Any) -> bool:
    """Whether an array or object has a float in it, at any depth."""
    if isinstance(value, dict):
        return any(holds_float(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds_float(item) for item in value)
    return type(value) is float


def near(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two finite numbers are within the tolerance, whatever their types (exact ones may yet disagree)."""
    if type(one) is float and type(other) is float:
        return abs(one - other) <= tolerance
    return abs(Fraction(one) - Fraction(other)) <= Fraction(tolerance)
