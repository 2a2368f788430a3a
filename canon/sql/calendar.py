"""Folds clock calls and interval arithmetic on them to literals, by the dialects' own calendar rules."""

import calendar
import re
from datetime import UTC, datetime, timedelta

from sqlglot import exp

from canon.sql.algebra import Expr, lit
from canon.sql.literals import instant

UNITS = {
    "microsecond": ("microseconds", 1),
    "millisecond": ("microseconds", 1000),
    "second": ("seconds", 1),
    "minute": ("seconds", 60),
    "hour": ("seconds", 3600),
    "day": ("days", 1),
    "week": ("days", 7),
    "month": ("months", 1),
    "quarter": ("months", 3),
    "year": ("months", 12),
}

_AMOUNT = re.compile(r"\s*([+-]?\d+)\s*([a-z]+?)s?\s*$", re.IGNORECASE)
_MODIFIER = re.compile(r"([+-]?\d+)\s+(second|minute|hour|day|month|year)s?$", re.IGNORECASE)

CLOCK_FUNCTIONS = {
    "now",
    "getdate",
    "getutcdate",
    "sysdate",
    "sysdatetime",
    "sysutcdatetime",
    "utc_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "clock_timestamp",
    "curdate",
    "today",
    "systimestamp",
    "utc_date",
    "localtimestamp",
    "localtime",
    "unix_timestamp",
    "curtime",
    "current_time",
}

CLOCK_DAYS = {"curdate", "today", "utc_date"}

CLOCK_NODES: tuple[type[exp.Expr], ...] = (
    exp.CurrentDate,
    exp.CurrentTimestamp,
    exp.CurrentDatetime,
    exp.CurrentTime,
    exp.Localtimestamp,
    exp.Localtime,
    exp.UtcTimestamp,
    exp.UtcDate,
)


def text_of(moment: datetime, *, day: bool = False) -> Expr:
    """An instant as the literal that clock calls and quoted dates meet in."""
    whole = moment.replace(microsecond=0) if not moment.microsecond else moment
    if day:
        whole = whole.replace(hour=0, minute=0, second=0, microsecond=0)
    text = instant(whole.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"))
    if text is None:
        raise ValueError(f"{moment.isoformat()} is outside the years that SQL knows")
    fraction = f".{whole.microsecond:06d}".rstrip("0") if whole.microsecond else ""
    return lit("ts", text + fraction)


def moment_of(literal: Expr) -> datetime | None:
    """The instant of a `ts` literal, or of a text literal that reads as one."""
    if literal.op != "lit":
        return None
    kind, text = literal.value
    canonical = text if kind == "ts" else instant(text) if kind == "str" else None
    if canonical is None:
        return None
    head, _, fraction = canonical.partition(".")
    try:
        moment = datetime.strptime(head, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return moment.replace(microsecond=int(fraction[:6].ljust(6, "0"))) if fraction else moment


def interval_parts(amount: str, unit: str) -> tuple[int, str] | None:
    """An interval as (number, unit), units in the singular; `None` where it is not one whole number of one unit."""
    match = _AMOUNT.match(amount)
    if match:
        amount, unit = match.group(1), match.group(2)
    unit = unit.lower().removesuffix("s")
    try:
        number = int(amount)
    except ValueError:
        return None
    return (number, unit) if unit in UNITS else None


def shift(moment: datetime, number: int, unit: str, *, overflow: bool = False) -> datetime | None:
    """Move an instant by a number of units.

    Args:
        moment: where to start.
        number: how many units, negative for earlier.
        unit: a unit of `UNITS`.
        overflow: a day that the month lacks runs into the next month (SQLite) instead of stopping at its end.
    """
    kind, factor = UNITS[unit]
    try:
        if kind != "months":
            return moment + timedelta(**{kind: number * factor})
        months = moment.year * 12 + moment.month - 1 + number * factor
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        if moment.day <= last:
            return moment.replace(year=year, month=month + 1)
        if overflow:
            return moment.replace(year=year, month=month + 1, day=1) + timedelta(days=moment.day - 1)
        return moment.replace(year=year, month=month + 1, day=last)
    except (OverflowError, ValueError):
        return None


def truncate(moment: datetime, unit: str) -> datetime | None:
    """The start of the unit that an instant is in; weeks start on Monday (ISO 8601)."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit.lower():
        case "year":
            return midnight.replace(month=1, day=1)
        case "quarter":
            return midnight.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return midnight.replace(day=1)
        case "week":
            return midnight - timedelta(days=midnight.weekday())
        case "day":
            return midnight
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "minute":
            return moment.replace(second=0, microsecond=0)
        case "second":
            return moment.replace(microsecond=0)
    return None


def sqlite_moment(name: str, arguments: list[str], now: datetime) -> Expr | None:
    """What SQLite's `date('now', …)`, `datetime('now', …)` and their like give at the pinned instant.

    Times are read in UTC: `'utc'` and `'localtime'` are refused, as they depend on the machine.
    """
    moment: datetime | None = moment_of(lit("str", arguments[0])) if arguments[0] != "now" else now
    for modifier in arguments[1:]:
        if moment is None:
            return None
        moment = _modified(moment, modifier.strip().lower())
    if moment is None:
        return None
    formats = {"date": "%Y-%m-%d", "datetime": "%Y-%m-%d %H:%M:%S", "time": "%H:%M:%S"}
    return lit("str", moment.strftime(formats[name])) if name in formats else None


def _modified(moment: datetime, modifier: str) -> datetime | None:
    if modifier.startswith("start of "):
        unit = modifier.removeprefix("start of ").strip()
        return truncate(moment, unit) if unit in {"day", "month", "year"} else None
    if modifier.startswith("weekday ") and modifier[8:].strip().isdigit():
        target = int(modifier[8:])
        return moment + timedelta(days=(target - (moment.weekday() + 1)) % 7) if target < 7 else None
    match = _MODIFIER.match(modifier)
    return shift(moment, int(match.group(1)), match.group(2).lower(), overflow=True) if match else None


STRFTIME = {
    "%Y": "%Y",
    "%m": "%m",
    "%d": "%d",
    "%H": "%H",
    "%M": "%M",
    "%S": "%S",
    "%Y-%m": "%Y-%m",
    "%Y-%m-%d": "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S": "%Y-%m-%d %H:%M:%S",
}
