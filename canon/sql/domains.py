"""One representative for each region into which literals cut a column's domain: the values of the region decision."""

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from canon.schema import ColumnType
from canon.sql.dialects import Dialect
from canon.sql.predicates import fold_text

FRESH = ("other", "another", "yet another", "a fourth")
_FORMAT = "%Y-%m-%d %H:%M:%S"


def numbers(cuts: Iterable[Any], kind: ColumnType, copies: int) -> list[Any]:
    """The cuts, and up to `copies` numbers in each gap, below and above; whole ones for an integer column."""
    points = sorted(set(cuts))
    if kind == "integer":
        points = [int(point) for point in points if point == int(point)] or [int(point) for point in points]
        return _whole(sorted(set(points)), copies)
    if not points:
        return [1 + index for index in range(copies)]
    found: list[Any] = list(points)
    for low, high in itertools.pairwise(points):
        step = (Decimal(high) - Decimal(low)) / (copies + 1)
        found += [_plain(Decimal(low) + step * (index + 1)) for index in range(copies)]
    found += [_plain(Decimal(points[-1]) + 1 + index) for index in range(copies)]
    found += [_plain(Decimal(points[0]) - 1 - index) for index in range(copies)]
    return found


def _plain(value: Decimal) -> int | Decimal:
    return int(value) if value == value.to_integral_value() else value.normalize()


def _whole(points: list[int], copies: int) -> list[int]:
    if not points:
        return [1 + index for index in range(copies)]
    found = list(points)
    for low, high in itertools.pairwise(points):
        found += [low + 1 + index for index in range(min(copies, high - low - 1))]
    found += [points[-1] + 1 + index for index in range(copies)]
    found += [points[0] - 1 - index for index in range(copies)]
    return found


def instants(cuts: Iterable[str], kind: ColumnType, dialect: Dialect, copies: int) -> list[str]:
    """As for numbers, for instants; whole days for a DATE column."""
    points = sorted(set(cuts))
    moments = [_moment(point) for point in points]
    if not moments:
        moments = [datetime(2020, 1, 1, tzinfo=UTC)]
    whole = kind == "date" or not dialect.exact_dates
    found = [*moments]
    for low, high in itertools.pairwise(moments):
        found += _between(low, high, copies, whole=whole)
    found += [_floor(moments[-1], whole=whole) + timedelta(days=1 + index) for index in range(copies)]
    found += [_floor(moments[0], whole=whole) - timedelta(days=1 + index) for index in range(copies)]
    texts = [_text(moment) for moment in found]
    return list(dict.fromkeys(text for text in texts if kind != "date" or text.endswith("00:00:00")))


def _moment(text: str) -> datetime:
    head, _, fraction = text.partition(".")
    moment = datetime.strptime(head, _FORMAT).replace(tzinfo=UTC)
    return moment.replace(microsecond=int(fraction[:6].ljust(6, "0"))) if fraction else moment


def _text(moment: datetime) -> str:
    head = moment.strftime(_FORMAT).rjust(19, "0")
    return f"{head}.{moment.microsecond:06d}".rstrip("0") if moment.microsecond else head


def _floor(moment: datetime, *, whole: bool) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0) if whole else moment


def _between(low: datetime, high: datetime, copies: int, *, whole: bool) -> list[datetime]:
    if whole:
        first = _floor(low, whole=True) + timedelta(days=1)
        days = [first + timedelta(days=index) for index in range(copies)]
        return [day for day in days if day < high]
    step = (high - low) / (copies + 1)
    return [low + step * (index + 1) for index in range(copies)] if step else []


def texts(cuts: Iterable[str], copies: int, *, ordered: bool) -> list[str]:
    """The cuts, and up to `copies` texts that are none of them; where texts are ordered, as many in each gap."""
    points = sorted(set(cuts))
    if not ordered or not points:
        return points + _fresh({fold_text(point) for point in points}, copies)
    found = list(points)
    if points[0] != "":
        found += ["", *_among("", points[0], copies - 1)]
    for low, high in itertools.pairwise(points):
        found += _among(low, high, copies)
    return found + [points[-1] + "z" * (index + 1) for index in range(copies)]


def _fresh(taken: set[str], copies: int) -> list[str]:
    named = (text for text in itertools.chain(FRESH, (f"text {index}" for index in itertools.count(5))))
    return list(itertools.islice((text for text in named if fold_text(text) not in taken), copies))


def _among(low: str, high: str, copies: int) -> list[str]:
    """Up to `copies` texts between two others, readable ones if possible, fewer only where there are no more."""
    for first in "a0 \x01":
        if low + first * copies < high:
            return [low + first * (index + 1) for index in range(copies)]
    return [low + "\x00" * (index + 1) for index in range(copies) if low + "\x00" * (index + 1) < high]
