"""The constructors of BSON values that query texts call, and the arithmetic of their dates."""

import calendar
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.errors import InvalidId

from canon.mongo.extended import read_iso
from canon.mongo.values import EPOCH, milliseconds

Arguments = tuple[object, ...]
Named = dict[str, object]


@dataclass(slots=True)
class Instant:
    """A date under construction; JavaScript's setters change it in place. Local time is taken as UTC."""

    moment: datetime


def finished(value: object) -> object:
    """The BSON value of a constructed one."""
    return value.moment if isinstance(value, Instant) else value


def _instant(value: object) -> datetime:
    if isinstance(value, Instant):
        return value.moment
    if isinstance(value, datetime):
        return value
    if isinstance(value, bool):
        raise TypeError("a boolean is no date")
    if isinstance(value, int | float):
        return EPOCH + timedelta(milliseconds=math.floor(value))
    if isinstance(value, str):
        found = read_iso(value) or _loose(value)
        if found is None:
            raise ValueError(f"{value!r} is no ISO 8601 date")
        return found
    raise TypeError(f"{type(value).__name__} is no date")


def _loose(text: str) -> datetime | None:
    """Read `2024`, `2024-03`, `20240301`, `2024-3-1` and `March 1, 2024`, which date constructors also take."""
    for shape in ("%Y-%m-%d", "%Y-%m", "%Y%m%d", "%Y/%m/%d", "%Y", "%B %d, %Y", "%b %d, %Y"):
        try:
            return datetime.strptime(text.strip(), shape).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def _shifted(year: int, month: int, *rest: int) -> datetime:
    """A date from JavaScript's parts: months from 0, every part free to overflow into the next."""
    year, month = year + month // 12, month % 12
    day, hour, minute, second, milli = (*rest, *(1, 0, 0, 0, 0)[len(rest) :])
    start = datetime(year, month + 1, 1, tzinfo=UTC)
    return start + timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second, milliseconds=milli)


def _integers(args: Arguments) -> list[int]:
    whole = []
    for arg in args:
        if isinstance(arg, bool) or not isinstance(arg, int | float):
            raise TypeError(f"{arg!r} is no number")
        whole.append(int(arg))
    return whole


def _date(now: datetime, args: Arguments, named: Named) -> object:
    if not args:
        return Instant(now)
    if len(args) == 1:
        return Instant(_instant(args[0]))
    return Instant(_shifted(*_integers(args)))


def _now_number(now: datetime, args: Arguments, named: Named) -> object:
    return milliseconds(now)


def _utc_parts(now: datetime, args: Arguments, named: Named) -> object:
    return milliseconds(_shifted(*_integers(args)))


def _parsed(now: datetime, args: Arguments, named: Named) -> object:
    return milliseconds(_instant(args[0]))


def _python_datetime(now: datetime, args: Arguments, named: Named) -> object:
    parts = _integers(tuple(arg for arg in args if arg is not None))
    parts += [0 if place > 2 else 1 for place in range(len(parts), 3)]
    for name, place in (("hour", 3), ("minute", 4), ("second", 5), ("microsecond", 6)):
        if name in named:
            parts += [0] * (place + 1 - len(parts))
            parts[place] = _integers((named[name],))[0]
    year, month, day, *rest = parts
    return Instant(datetime(year, month, day, *rest, tzinfo=UTC))  # type: ignore[misc,arg-type]


def _python_now(now: datetime, args: Arguments, named: Named) -> object:
    return Instant(now)


def _timedelta(now: datetime, args: Arguments, named: Named) -> object:
    parts: dict[str, float] = {}
    for key, value in named.items():
        if not isinstance(value, int | float) or key not in ("days", "hours", "minutes", "seconds", "weeks"):
            raise TypeError(f"timedelta has no {key}={value!r}")
        parts[key] = value
    return timedelta(*_integers(args), **parts)


def _object_id(now: datetime, args: Arguments, named: Named) -> object:
    if not args:
        raise ValueError("an ObjectId without its 24 hexadecimal digits is a new one on every run")
    try:
        return ObjectId(str(args[0]))
    except InvalidId as error:
        raise ValueError(str(error)) from None


def _integer(now: datetime, args: Arguments, named: Named) -> object:
    value = args[0] if args else 0
    if isinstance(value, str):
        return int(value)
    return _integers((value,))[0]


def _long(now: datetime, args: Arguments, named: Named) -> object:
    return Int64(int(str(_integer(now, args, named))))


def _decimal(now: datetime, args: Arguments, named: Named) -> object:
    return Decimal128(str(args[0]))


def _double(now: datetime, args: Arguments, named: Named) -> object:
    return float(str(args[0]))


def _regex(now: datetime, args: Arguments, named: Named) -> object:
    if isinstance(args[0], Regex):
        return args[0]
    flags = str(args[1]) if len(args) > 1 and args[1] is not None else str(named.get("flags", ""))
    unknown = set(flags) - set("imsxuglyd")
    if unknown:
        raise ValueError(f"unknown flag {''.join(sorted(unknown))!r}")
    # js-bson writes the flag g as s, and drops u, y and d.
    bits = {"i": re.I, "m": re.M, "s": re.S, "g": re.S, "x": re.X, "l": re.L}
    total = 0
    for flag in flags:
        total |= int(bits.get(flag, 0))
    return Regex(str(args[0]).replace("\\/", "/"), total)


def _timestamp(now: datetime, args: Arguments, named: Named) -> object:
    if args and isinstance(args[0], dict):
        return Timestamp(int(str(args[0].get("t", 0))), int(str(args[0].get("i", 0))))
    seconds, count = ([*_integers(args), 0, 0])[:2]
    return Timestamp(seconds, count)


def _uuid(now: datetime, args: Arguments, named: Named) -> object:
    if not args:
        raise ValueError("a UUID without its digits is a new one on every run")
    return Binary.from_uuid(UUID(str(args[0])))


def _binary(now: datetime, args: Arguments, named: Named) -> object:
    import base64
    import binascii

    try:
        return Binary(base64.b64decode(str(args[1]), validate=True), _integers((args[0],))[0])
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _min_key(now: datetime, args: Arguments, named: Named) -> object:
    return MinKey()


def _max_key(now: datetime, args: Arguments, named: Named) -> object:
    return MaxKey()


def _text(now: datetime, args: Arguments, named: Named) -> object:
    return str(finished(args[0]))


def _rounded(of: Callable[[float], int]) -> "Constructor":
    def build(now: datetime, args: Arguments, named: Named) -> object:
        value = args[0]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{value!r} is no number")
        return of(value)

    return build


Constructor = Callable[[datetime, Arguments, Named], object]

CONSTRUCTORS: dict[str, Constructor] = {
    "Date": _date,
    "ISODate": _date,
    "Date.now": _now_number,
    "Date.UTC": _utc_parts,
    "Date.parse": _parsed,
    "datetime": _python_datetime,
    "now": _python_now,
    "utcnow": _python_now,
    "today": _python_now,
    "fromisoformat": _date,
    "timedelta": _timedelta,
    "ObjectId": _object_id,
    "ObjectID": _object_id,
    "NumberInt": _integer,
    "Int32": _integer,
    "int": _integer,
    "NumberLong": _long,
    "Int64": _long,
    "Long": _long,
    "NumberDecimal": _decimal,
    "Decimal128": _decimal,
    "Double": _double,
    "Number": _double,
    "RegExp": _regex,
    "Regex": _regex,
    "compile": _regex,
    "BSONRegExp": _regex,
    "Timestamp": _timestamp,
    "UUID": _uuid,
    "BinData": _binary,
    "MinKey": _min_key,
    "MaxKey": _max_key,
    "String": _text,
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "round": _rounded(lambda value: math.floor(value + 0.5)),
}
"""What query texts construct values with, by name; `now` is the pinned instant."""


def _operand(value: object) -> int | float:
    if isinstance(value, Instant):
        return milliseconds(value.moment)
    if isinstance(value, datetime):
        return milliseconds(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{type(value).__name__} is no number")
    return value


def arithmetic(mark: str, left: object, right: object) -> object:
    """Compute `left mark right` on numbers, dates and time spans, and join two strings.

    Raises:
        TypeError: the operands are none of these.
        ArithmeticError: the result is none (division by zero, a date out of range).
    """
    if isinstance(left, timedelta) or isinstance(right, timedelta):
        return _span(mark, left, right)
    if mark == "+" and isinstance(left, str) and isinstance(right, str):
        return left + right
    one, two = _operand(left), _operand(right)
    match mark:
        case "+":
            if isinstance(left, Instant) or isinstance(right, Instant):
                raise TypeError("a date plus a number is text in JavaScript; write new Date(date.getTime() + …)")
            return one + two
        case "-":
            return one - two
        case "*":
            return one * two
        case "/":
            quotient = one / two
            return int(quotient) if quotient == int(quotient) else quotient
        case "%":
            return math.fmod(one, two) if isinstance(one, float) or isinstance(two, float) else _remainder(one, two)
        case _:
            if abs(two) > 64:
                raise ValueError("the exponent is too large")
            return int(one**two) if isinstance(one, int) and isinstance(two, int) and two >= 0 else float(one**two)


def _remainder(one: int, two: int) -> int:
    return abs(one) % abs(two) * (-1 if one < 0 else 1)


def _span(mark: str, left: object, right: object) -> object:
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left + right if mark == "+" else left - right
    if isinstance(right, timedelta) and isinstance(left, Instant) and mark in "+-":
        return Instant(left.moment + right if mark == "+" else left.moment - right)
    if mark == "*":
        span, factor = (left, right) if isinstance(left, timedelta) else (right, left)
        if isinstance(span, timedelta) and isinstance(factor, int | float):
            return span * factor
    raise TypeError("time spans are added to dates, and to each other")


def _set(part: str) -> Callable[[Instant, Arguments], object]:
    """A setter: the parts given, from `part` on, replace those of the date, overflow carried."""
    order = ("FullYear", "Month", "Date", "Hours", "Minutes", "Seconds", "Milliseconds")
    start = order.index(part)

    def setter(date: Instant, args: Arguments) -> object:
        was = date.moment
        parts = [was.year, was.month - 1, was.day, was.hour, was.minute, was.second, was.microsecond // 1000]
        for offset, value in enumerate(_integers(args)):
            parts[start + offset] = value
        date.moment = _shifted(*parts)
        return milliseconds(date.moment)

    return setter


def _get(part: Callable[[datetime], int]) -> Callable[[Instant, Arguments], object]:
    def getter(date: Instant, args: Arguments) -> object:
        return part(date.moment)

    return getter


def _iso(date: Instant, args: Arguments) -> object:
    return date.moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"


def _replaced(date: Instant, args: Arguments) -> object:
    return Instant(date.moment)


def _date_methods() -> dict[str, Callable[[Instant, Arguments], object]]:
    getters: dict[str, Callable[[datetime], int]] = {
        "FullYear": lambda moment: moment.year,
        "Month": lambda moment: moment.month - 1,
        "Date": lambda moment: moment.day,
        "Day": lambda moment: (calendar.weekday(moment.year, moment.month, moment.day) + 1) % 7,
        "Hours": lambda moment: moment.hour,
        "Minutes": lambda moment: moment.minute,
        "Seconds": lambda moment: moment.second,
        "Milliseconds": lambda moment: moment.microsecond // 1000,
    }
    methods: dict[str, Callable[[Instant, Arguments], object]] = {
        "getTime": _get(milliseconds),
        "valueOf": _get(milliseconds),
        "toISOString": _iso,
        "toJSON": _iso,
        "isoformat": _iso,
    }
    for part, getter in getters.items():
        for utc in ("", "UTC"):
            methods[f"get{utc}{part}"] = _get(getter)
            if part != "Day":
                methods[f"set{utc}{part}"] = _set(part)
    methods["setTime"] = _set_time
    return methods


def _set_time(date: Instant, args: Arguments) -> object:
    date.moment = _instant(args[0])
    return milliseconds(date.moment)


DATE_METHODS: dict[str, Callable[[Instant, Arguments], object]] = _date_methods()
"""The getters and setters of a date, by name."""
