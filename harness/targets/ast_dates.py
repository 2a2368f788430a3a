"""Resolves the dates of a QueryForge AST at a pinned clock, by the engine's own calendar rules.

Two kinds of value depend on the clock. `relative_date` is an instant: it becomes a literal date. `period` is a span of
whole units, half-open, for which the AST has no literal form: it becomes a period of the far future, a marker, whose
bounds are known, and which are exchanged for the pinned ones in what the engine compiles. So everything but the two
instants is the engine's own work, and its clock never enters a query.

The rules, as the engine 1.2.7 has them: instants shift by calendar units in UTC, and a day that a month does not have
runs over into the next; spans begin at the start of a unit in the config's time zone (UTC unless it names one), weeks
on Monday, and end before the start of the unit after the last.
"""

import calendar
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

_FIXED = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_FIRST_MARKER = 400
"""Years from now to the first marker: no sentence asks for those."""


class DateRangeError(ValueError):
    """A date of the AST lies outside the years 1 to 9999."""


@dataclass(frozen=True)
class Resolved:
    """An AST whose dates no longer depend on the clock.

    Attributes:
        ast: what to compile.
        bounds: the text of each marker's bound -> the bound that it stands for.
    """

    ast: dict[str, Any]
    bounds: Mapping[str, str] = field(default_factory=dict)

    def complete(self, compiled: Any) -> Any:
        """Exchange the markers in what the engine compiled (arguments or a document)."""
        if isinstance(compiled, str):
            return self.bounds.get(compiled, compiled)
        if isinstance(compiled, dict):
            return {key: self.complete(value) for key, value in compiled.items()}
        if isinstance(compiled, list | tuple):
            return [self.complete(value) for value in compiled]
        return compiled


def depends_on_clock(ast: Mapping[str, Any]) -> bool:
    """Whether a value of the AST is relative to now."""
    return any(value.get("kind") in ("relative_date", "period") for value in _values(ast.get("filter")))


def resolve_dates(ast: Mapping[str, Any], *, now: datetime, zone: ZoneInfo, engine_now: datetime) -> Resolved:
    """Resolve every date of an AST.

    Args:
        ast: as the model wrote it and the engine found it valid.
        now: the pinned clock, aware.
        zone: the config's time zone.
        engine_now: what time the engine thinks it is, aware: its year places the markers.

    Raises:
        DateRangeError: a date lies outside the years 1 to 9999.
    """
    copy: dict[str, Any] = json.loads(json.dumps(ast))
    bounds: dict[str, str] = {}
    marker = _FIRST_MARKER
    for value in _values(copy.get("filter")):
        try:
            if value.get("kind") == "relative_date":
                moment = shift(now, str(value.get("unit")), int(value.get("amount", 0)))
                value.clear()
                value.update(kind="date", v=rfc3339(moment))
            elif value.get("kind") == "period":
                pinned = period_bounds(now, str(value.get("unit")), int(value["from"]), int(value["to"]), zone)
                value.update({"unit": "year", "from": marker, "to": marker})
                marked = period_bounds(engine_now, "year", marker, marker, zone)
                bounds.update(zip(map(rfc3339, marked), map(rfc3339, pinned), strict=True))
                marker += 2  # no marker begins where another ends
        except (OverflowError, ValueError) as error:
            raise DateRangeError(f"a date of the AST is out of range: {error}") from error
    return Resolved(copy, bounds)


def shift(now: datetime, unit: str, amount: int) -> datetime:
    """`now` shifted by calendar units, in UTC.

    Raises:
        OverflowError: outside the years 1 to 9999.
        ValueError: no such unit.
    """
    moment = now.astimezone(UTC)
    if unit in _FIXED:
        return moment + amount * _FIXED[unit]
    months = amount * {"month": 1, "year": 12}[unit] if unit in ("month", "year") else _no_unit(unit)
    year, month = _months_on(moment.year, moment.month, months)
    # A day that the month does not have runs over: 31 January and one month is 3 (or 2) March.
    over = max(0, moment.day - calendar.monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=moment.day - over) + timedelta(days=over)


def period_bounds(now: datetime, unit: str, first: int, last: int, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The half-open span from the start of unit `first` to the end of unit `last`, counted from the current one (0).

    Raises:
        OverflowError: outside the years 1 to 9999.
        ValueError: no such unit.
    """
    local = now.astimezone(zone)
    if unit in ("minute", "hour"):
        minute = 0 if unit == "hour" else local.minute
        start = local.replace(minute=minute, second=0, microsecond=0).astimezone(UTC)
        return start + first * _FIXED[unit], start + (last + 1) * _FIXED[unit]
    return _unit_start(local.date(), unit, first, zone), _unit_start(local.date(), unit, last + 1, zone)


def rfc3339(moment: datetime) -> str:
    """The instant as the engine writes it: UTC, `Z`, a fraction only where there is one."""
    text = moment.astimezone(UTC).isoformat().removesuffix("+00:00")
    return (text.rstrip("0") if "." in text else text) + "Z"


def _unit_start(today: date, unit: str, offset: int, zone: ZoneInfo) -> datetime:
    match unit:
        case "day":
            start = today + timedelta(days=offset)
        case "week":
            start = today - timedelta(days=today.weekday()) + timedelta(weeks=offset)
        case "month":
            start = date(*_months_on(today.year, today.month, offset), 1)
        case "year":
            start = date(today.year + offset, 1, 1)
        case _:
            _no_unit(unit)
    return datetime(start.year, start.month, start.day, tzinfo=zone).astimezone(UTC)


def _months_on(year: int, month: int, months: int) -> tuple[int, int]:
    count = year * 12 + month - 1 + months
    if not 12 <= count < 120_000:
        raise OverflowError(f"year {count // 12}")
    return count // 12, count % 12 + 1


def _no_unit(unit: str) -> int:
    raise ValueError(f"{unit!r} is no unit of time")


def _values(node: Any) -> list[dict[str, Any]]:
    """The values of a filter tree's comparisons."""
    found: list[dict[str, Any]] = []
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if isinstance(item.get("value"), dict):
                found.append(item["value"])
            if isinstance(item.get("children"), list):
                stack.extend(item["children"])
    return found
