"""Reads how long an endpoint asks to wait: `Retry-After`, `retry-after-ms` and reset headers, in every spelling."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_PIECE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*(ms|us|µs|ns|s|m|h|d)", re.ASCII | re.IGNORECASE)
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RESET = re.compile(
    r"(?:x-ratelimit-reset|ratelimit-reset|anthropic-ratelimit-(?P<before>[a-z-]+)-reset)(?:-(?P<after>[a-z-]+))?"
)
# A bare number above this is an instant since 1970, not a wait of thirty years.
_EPOCH_FROM = 1_000_000_000


def parse_duration(text: str, now: datetime | None = None) -> float | None:
    """Seconds, from `1.5`, `120ms`, `6m0s`, `1h2m3s`, an instant since 1970 in s or ms, or a date; `None` if none.

    Args:
        text: as in the header.
        now: aware; what instants and dates are told from. The wall clock if not given.
    """
    text = text.strip()
    if len(text) > 100:
        return None
    if _NUMBER.fullmatch(text):
        return _plain(float(text), now)
    pieces = _PIECE.findall(text)
    if pieces and not _PIECE.sub("", text).strip():
        return math.fsum(float(number) * _UNITS[unit.lower()] for number, unit in pieces)
    instant = _instant(text)
    return _until(instant, now) if instant is not None else None


def requested_wait(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that the response's headers ask to wait; `None` where they do not, or say nonsense.

    `retry-after-ms`, then `Retry-After`, then the reset headers of those limits of which nothing remains (of all, where
    none says what remains; the longest).

    Args:
        headers: lower-case names.
        now: aware; the response's own `Date` header wins over it.
    """
    now = _instant(headers.get("date", "")) or now
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    if (wait := parse_duration(headers.get("retry-after", ""), now)) is not None:
        return wait
    resets: list[tuple[bool, bool, float]] = []
    for name, value in headers.items():
        found = _RESET.fullmatch(name)
        wait = parse_duration(value, now) if found else None
        if found and wait is not None:
            remaining = headers.get(_remaining(name), "").strip()
            resets.append((remaining in ("0", "0.0"), remaining == "", wait))
    exhausted = [wait for none_left, _, wait in resets if none_left]
    unknown = [wait for _, untold, wait in resets if untold]
    return max(exhausted or unknown, default=None)


def _remaining(name: str) -> str:
    head, _, tail = name.rpartition("reset")
    return f"{head}remaining{tail}"


def _plain(number: float, now: datetime | None) -> float:
    if number >= _EPOCH_FROM * 1000:
        number /= 1000
    if number < _EPOCH_FROM:
        return number
    return max(0.0, number - (now or datetime.now(UTC)).timestamp())


def _until(instant: datetime, now: datetime | None) -> float:
    return max(0.0, (instant - (now or datetime.now(UTC))).total_seconds())


def _instant(text: str) -> datetime | None:
    try:
        instant = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        try:
            instant = datetime.fromisoformat(text.strip())
        except (ValueError, OverflowError):
            return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
