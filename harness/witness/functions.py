"""Functions of MySQL that SQLite lacks or gives another meaning, over dates and moments held as text."""

import calendar
import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import wraps

Cell = str | int | float | None
_MOMENT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2}))?)?")
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
MAX_TEXT = 10_000


def _moment(value: object) -> datetime | None:
    found = _MOMENT.match(str(value))
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups())
    try:
        return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - a calendar date and wall time, no instant
    except ValueError:
        return None


def _written(moment: datetime, like: object) -> str:
    dated = len(str(like)) <= 10 and (moment.hour, moment.minute, moment.second) == (0, 0, 0)
    return moment.strftime("%Y-%m-%d" if dated else "%Y-%m-%d %H:%M:%S")


def _null_in_null_out(function: Callable[..., Cell]) -> Callable[..., Cell]:
    @wraps(function)
    def guarded(*arguments: Cell) -> Cell:
        return None if None in arguments else function(*arguments)

    return guarded


def days_between(later: Cell, earlier: Cell) -> Cell:
    """DATEDIFF: days between the date parts."""
    one, other = _moment(later), _moment(earlier)
    return None if one is None or other is None else (one.date() - other.date()).days


def moved(value: Cell, amount: Cell, unit: Cell) -> Cell:
    """DATE_ADD: a date stays a date unless the unit is finer than a day; a month's end is kept within the month."""
    moment, name = _moment(value), str(unit).upper().rstrip("S")
    try:
        number = int(float(str(amount)))
    except ValueError:
        return None
    if moment is None:
        return None
    try:
        if name in _MONTHS:
            index = moment.year * 12 + moment.month - 1 + number * _MONTHS[name]
            year, month = divmod(index, 12)
            day = min(moment.day, calendar.monthrange(year, month + 1)[1])
            return _written(moment.replace(year=year, month=month + 1, day=day), value)
        shifted = moment + timedelta(seconds=number * _SECONDS[name])
    except (OverflowError, ValueError, KeyError):
        return None
    return _written(shifted, value if _SECONDS[name] >= 86400 else "a moment, not a date")


def part_of(unit: Cell, value: Cell) -> Cell:
    """One field of a date or moment."""
    moment = _moment(value)
    if moment is None:
        return None
    first = moment.replace(month=1, day=1)
    fields: dict[str, int] = {
        "YEAR": moment.year,
        "QUARTER": (moment.month + 2) // 3,
        "MONTH": moment.month,
        "DAY": moment.day,
        "DAYOFMONTH": moment.day,
        "HOUR": moment.hour,
        "MINUTE": moment.minute,
        "SECOND": moment.second,
        "DAYOFWEEK": (moment.weekday() + 1) % 7 + 1,
        "WEEKDAY": moment.weekday(),
        "DAYOFYEAR": moment.timetuple().tm_yday,
        # Mode 0: weeks start on Sunday, week 1 is the first with a Sunday in this year.
        "WEEK": int(moment.strftime("%U")) if first else 0,
        "TO_DAYS": moment.toordinal() + 365,
        "YEAR_MONTH": moment.year * 100 + moment.month,
        "NUMBER": moment.year * 10000 + moment.month * 100 + moment.day,
    }
    return fields.get(str(unit).upper())


def formatted(value: Cell, pattern: Cell) -> Cell:
    """DATE_FORMAT, the pattern being in strftime's letters."""
    moment = _moment(value)
    return None if moment is None else moment.strftime(str(pattern))


def elapsed(unit: Cell, earlier: Cell, later: Cell) -> Cell:
    """TIMESTAMPDIFF: whole units, towards zero."""
    start, end, name = _moment(earlier), _moment(later), str(unit).upper()
    if start is None or end is None:
        return None
    if name in _MONTHS:
        sign = 1 if end >= start else -1
        low, high = (start, end) if sign > 0 else (end, start)
        months = (high.year - low.year) * 12 + high.month - low.month
        if (high.day, high.time()) < (low.day, low.time()):
            months -= 1
        return sign * (months // _MONTHS[name])
    seconds = int((end - start).total_seconds())
    size = _SECONDS.get(name)
    return None if size is None else int(math.copysign(abs(seconds) // size, seconds))


def date_of(value: Cell) -> Cell:
    """DATE: the date part."""
    moment = _moment(value)
    return None if moment is None else moment.strftime("%Y-%m-%d")


def last_day(value: Cell) -> Cell:
    """LAST_DAY: the last date of the month."""
    moment = _moment(value)
    if moment is None:
        return None
    return moment.replace(day=calendar.monthrange(moment.year, moment.month)[1]).strftime("%Y-%m-%d")


def number_of(value: Cell) -> int | float:
    """A text as a number: its longest numeric prefix, else 0."""
    if isinstance(value, int | float):
        return value
    found = re.match(r"\s*[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?|\s*[-+]?\d+", str(value))
    if found is None:
        return 0
    text = found.group()
    return int(text) if re.fullmatch(r"\s*[-+]?\d+", text) else float(text)


def rounded(value: Cell, digits: Cell = 0) -> Cell:
    """ROUND and CAST … AS DECIMAL: half away from zero, on the decimal digits."""
    try:
        exact = Decimal(repr(number_of(value))).quantize(Decimal(1).scaleb(-int(number_of(digits))), ROUND_HALF_UP)
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return int(exact) if number_of(digits) <= 0 else float(exact)


def truncated(value: Cell, digits: Cell = 0) -> Cell:
    """TRUNCATE: cut towards zero."""
    scale: float = 10.0 ** max(-12, min(12, int(number_of(digits))))
    return math.trunc(number_of(value) * scale) / scale


def quotient(left: Cell, right: Cell) -> Cell:
    """DIV: the whole part of a quotient."""
    divisor = number_of(right)
    return None if divisor == 0 else math.trunc(number_of(left) / divisor)


def remainder(left: Cell, right: Cell) -> Cell:
    """MOD: the sign of the dividend."""
    divisor = number_of(right)
    if divisor == 0:
        return None
    found = math.fmod(number_of(left), divisor)
    return int(found) if isinstance(left, int) and isinstance(right, int) else found


def left_of(text: Cell, length: Cell) -> Cell:
    """LEFT."""
    return str(text)[: max(0, int(number_of(length)))]


def right_of(text: Cell, length: Cell) -> Cell:
    """RIGHT."""
    size = max(0, int(number_of(length)))
    return str(text)[-size:] if size else ""


def until(text: Cell, delimiter: Cell, count: Cell) -> Cell:
    """SUBSTRING_INDEX."""
    parts, number = str(text).split(str(delimiter)) if delimiter else [str(text)], int(number_of(count))
    if number == 0:
        return ""
    return str(delimiter).join(parts[:number] if number > 0 else parts[number:])


def padded(text: Cell, length: Cell, fill: Cell, side: Cell) -> Cell:
    """LPAD and RPAD."""
    size, written = int(number_of(length)), str(text)
    if not 0 <= size <= MAX_TEXT:
        return None
    missing = (str(fill) * size)[: max(0, size - len(written))]
    return (
        (missing + written if side == "left" else written + missing)[:size]
        if side == "right" or missing
        else written[:size]
    )


def power(base: Cell, exponent: Cell) -> Cell:
    """POWER; NULL where there is no real result."""
    try:
        found: float | complex = float(number_of(base)) ** float(number_of(exponent))
    except (OverflowError, ZeroDivisionError):
        return None
    return None if isinstance(found, complex) else float(found)


def root(value: Cell) -> Cell:
    """SQRT."""
    number = number_of(value)
    return None if number < 0 else math.sqrt(number)


def field_number(wanted: Cell, *choices: Cell) -> Cell:
    """FIELD: the position of a value in a list, 0 where it is not."""
    return next((i for i, choice in enumerate(choices, 1) if str(choice).lower() == str(wanted).lower()), 0)


def found_by(pattern: Cell, text: Cell) -> Cell:
    """REGEXP, without regard to case; a pattern that backtracks without bound is left to the caller's deadline."""
    try:
        return int(re.search(str(pattern)[:200], str(text)[:200], re.IGNORECASE) is not None)
    except (re.error, RecursionError):
        return None


FUNCTIONS: dict[str, tuple[int, Callable[..., Cell]]] = {
    "RUNG_DATEDIFF": (2, _null_in_null_out(days_between)),
    "RUNG_MOVED": (3, _null_in_null_out(moved)),
    "RUNG_PART": (2, _null_in_null_out(part_of)),
    "RUNG_FORMATTED": (2, _null_in_null_out(formatted)),
    "RUNG_ELAPSED": (3, _null_in_null_out(elapsed)),
    "RUNG_DATE": (1, _null_in_null_out(date_of)),
    "RUNG_LASTDAY": (1, _null_in_null_out(last_day)),
    "RUNG_ROUND": (2, _null_in_null_out(rounded)),
    "RUNG_TRUNCATE": (2, _null_in_null_out(truncated)),
    "RUNG_DIV": (2, _null_in_null_out(quotient)),
    "RUNG_MOD": (2, _null_in_null_out(remainder)),
    "RUNG_LEFT": (2, _null_in_null_out(left_of)),
    "RUNG_RIGHT": (2, _null_in_null_out(right_of)),
    "RUNG_UNTIL": (3, _null_in_null_out(until)),
    "RUNG_PAD": (4, _null_in_null_out(padded)),
    "RUNG_POWER": (2, _null_in_null_out(power)),
    "RUNG_SQRT": (1, _null_in_null_out(root)),
    "RUNG_FLOOR": (1, _null_in_null_out(lambda value: math.floor(number_of(value)))),
    "RUNG_CEIL": (1, _null_in_null_out(lambda value: math.ceil(number_of(value)))),
    "RUNG_SIGN": (1, _null_in_null_out(lambda value: (number_of(value) > 0) - (number_of(value) < 0))),
    "RUNG_REVERSE": (1, _null_in_null_out(lambda text: str(text)[::-1])),
    "RUNG_FIELD": (-1, _null_in_null_out(field_number)),
    "REGEXP": (2, _null_in_null_out(found_by)),
}
"""By the name under which SQLite calls them, with the number of arguments (-1 = any)."""


class JoinedTexts:
    """GROUP_CONCAT with DISTINCT and ORDER BY: value, separator, distinct, then pairs of sort key and direction."""

    def __init__(self) -> None:
        self.rows: list[tuple[Cell, ...]] = []
        self.separator = ","
        self.distinct = False

    def step(self, value: Cell, separator: Cell, distinct: Cell, *keys: Cell) -> None:
        """Take one row of the group."""
        self.separator, self.distinct = str(separator), bool(distinct)
        if value is not None:
            self.rows.append((value, *keys))

    def finalize(self) -> str | None:
        """Join what was taken."""
        rows = self.rows
        for index in range((len(rows[0]) - 1) // 2 - 1, -1, -1) if rows else ():
            place = 1 + 2 * index
            rows = sorted(rows, key=lambda row, p=place: _rank(row[p]), reverse=bool(rows[0][place + 1]))  # type: ignore[misc]
        values = [str(row[0]) for row in rows]
        if self.distinct:
            values = list({value.lower(): value for value in reversed(values)}.values())[::-1] if values else []
        return self.separator.join(values) if values else None


def _rank(value: Cell) -> tuple[int, float, str]:
    if value is None:
        return (0, 0.0, "")
    return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, value.lower())
