"""Values of a column for which a function, pattern or cast of it gives a wanted result."""

import re
from datetime import datetime

from sqlglot import exp

from harness.witness.conditions import Operator
from harness.witness.database import Value

_PARTS = {"YEAR": 0, "MONTH": 1, "DAY": 2, "DAYOFMONTH": 2}
MAX_TEXT = 64


def matching(pattern: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts that a LIKE pattern matches, and texts that it just does not."""
    bare = pattern.replace("%", "").replace("_", "q")[:MAX_TEXT]
    filled = pattern.replace("%", "x").replace("_", "q")[:MAX_TEXT]
    good = tuple(dict.fromkeys((bare, filled, bare.swapcase())))
    bad = tuple(dict.fromkeys((f"x{filled}", f"{filled}x", bare[1:], bare[:-1], f"y{bare}y")))
    return good, bad


def length_words(length: Value) -> list[Value]:
    """Texts of about that length."""
    if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length <= MAX_TEXT:
        return []
    return ["w" * size for size in (length, length + 1, max(0, length - 1))]


def holding(side: exp.Expr, operator: Operator, value: Value) -> tuple[Value, ...]:
    """Values for the one column in `side` so that `side operator value` holds; empty where that is not known."""
    wanted = _beyond(operator, value)
    found = [made for target in wanted for made in _inverse(side, target)]
    return tuple(dict.fromkeys(found))


def _beyond(operator: Operator, value: Value) -> list[Value]:
    step: Value = value
    if isinstance(value, int | float) and not isinstance(value, bool):
        step = {">": value + 1, "<": value - 1, "<>": value + 1}.get(operator, value)
    elif isinstance(value, str) and re.fullmatch(r"\d{1,4}", value):
        moved = int(value) + {">": 1, "<": -1, "<>": 1}.get(operator, 0)
        step = str(max(0, moved)).zfill(len(value))
    elif operator == "<>":
        return ["z"]
    return [step]


def _inverse(side: exp.Expr, target: Value) -> list[Value]:
    match side:
        case exp.Column():
            return [target]
        case exp.Paren() | exp.Cast() | exp.TryCast() | exp.Collate() | exp.Coalesce():
            return _inverse(side.this, target)
        case exp.TsOrDsToTimestamp() | exp.TsOrDsToDate() | exp.Date() | exp.TimestampTrunc() | exp.DateTrunc():
            return _inverse(side.this, target)
        case exp.TimeToStr():
            return _spread(side.this, _by_format(side.args.get("format"), target))
        case exp.Year() | exp.Month() | exp.Day() | exp.DayOfMonth():
            return _spread(side.this, _by_part(type(side).__name__.upper(), target))
        case exp.Extract():
            return _spread(side.expression, _by_part(str(side.name or side.this).upper(), target))
        case exp.Substring():
            return _spread(side.this, _by_slice(_number(side.args.get("start")), target))
        case exp.Left():
            return _spread(side.this, _by_slice(1, target))
        case exp.Right():
            return _spread(side.this, [target, f"x{target!s}"])
        case exp.Upper() | exp.Lower() | exp.Trim():
            text = str(target)
            return _spread(side.this, [text, text.swapcase()])
        case exp.Length():
            return _spread(side.this, length_words(target))
        case exp.StrPosition():
            found = side.args.get("substr")
            return _spread(side.this, [f"a{found.name}b"]) if isinstance(found, exp.Literal) else []
        case exp.Abs():
            return _spread(side.this, [target, -target] if isinstance(target, int | float) else [])
        case exp.Round():
            return _spread(side.this, [target, target + 0.4] if isinstance(target, int | float) else [])
        case exp.Sum() | exp.Avg() | exp.Max() | exp.Min():
            return _inverse(side.this, target)
    return []


def _spread(inner: exp.Expr, targets: list[Value]) -> list[Value]:
    return [value for target in targets for value in _inverse(inner, target)]


def _number(node: object) -> int:
    return int(node.this) if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit() else 1


def _by_format(pattern: object, target: Value) -> list[Value]:
    if not isinstance(pattern, exp.Literal):
        return []
    try:
        moment = datetime.strptime(f"2012 {target!s}", f"%Y {pattern.this}")  # noqa: DTZ007 - a calendar date, no instant
    except (ValueError, re.error):
        try:
            moment = datetime.strptime(str(target), str(pattern.this))  # noqa: DTZ007 - as above
        except (ValueError, re.error):
            return []
    if moment.year == 1900:
        moment = moment.replace(year=2012)
    return [moment.strftime("%Y-%m-%d")]


def _by_part(part: str, target: Value) -> list[Value]:
    index = _PARTS.get(part)
    if index is None or not str(target).strip().lstrip("-").isdigit():
        return []
    fields = [2012, 6, 15]
    fields[index] = int(str(target))
    try:
        return [datetime(fields[0], fields[1], fields[2]).strftime("%Y-%m-%d")]  # noqa: DTZ001 - a date, no instant
    except ValueError:
        return []


def _by_slice(start: int, target: Value) -> list[Value]:
    written = target.decode("utf-8", "replace") if isinstance(target, bytes) else str(target)
    text = "0" * (min(start, MAX_TEXT) - 1) + written
    dated = {4: f"{text}-06-15", 7: f"{text}-15"}.get(len(text))
    shaped = re.fullmatch(r"\d{4}(-\d{2})?", text) is not None
    return [text, f"{text}x", *([dated] if shaped and dated else [])]
