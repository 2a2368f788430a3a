"""Pins the clock that a prompt tells the model: rewrites its "today" lines, each in its own notation."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from canon.clock import utc
from harness.errors import UsageError

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?"
    r"|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_WEEKDAY = r"(?:Mon(?:day)?|Tue(?:s(?:day)?)?|Wed(?:nesday)?|Thu(?:rs(?:day)?)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?"
_ZONE = r"Z|[+-]\d{2}:?\d{2}|\s?(?:UTC|GMT)"

_DATES = re.compile(
    "|".join(
        (
            rf"(?P<iso>\d{{4}}(?P<sep>[-/.])\d{{2}}(?P=sep)\d{{2}})(?:(?P<gap>T|\s|,\s|\sat\s)(?P<time>{_TIME})(?P<zone>{_ZONE})?)?",
            rf"(?P<month>{_MONTH})\.?\s+(?P<day>\d{{1,2}})(?P<th>st|nd|rd|th)?(?P<comma>,?)\s+(?P<year>\d{{4}})",
            rf"(?P<day2>\d{{1,2}})(?P<th2>st|nd|rd|th)?\s+(?:of\s+)?(?P<month2>{_MONTH})\.?,?\s+(?P<year2>\d{{4}})",
            rf"\b(?P<weekday>{_WEEKDAY})\b",
            rf"\b(?P<clock>{_TIME})(?P<clockzone>{_ZONE})?",
        )
    ),
    re.IGNORECASE,
)
_A_DATE = (
    rf"(?:{_WEEKDAY},?\s+)?(?:\d{{4}}(?P<s>[-/.])\d{{2}}(?P=s)\d{{2}}(?:(?:T|\s|,\s|\sat\s){_TIME}(?:{_ZONE})?)?"
    rf"|{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\.?,?\s+\d{{4}})"
    rf"(?:,?\s(?:at\s)?{_TIME}(?:{_ZONE})?)?(?:\s?\(?,?\s?{_WEEKDAY}\)?)?"
)
_LABEL = (
    r"(?:today(?:['’]s)?(?:[ _-]date)?|date today|todays[ _-]date"
    r"|current[ _-](?:utc[ _-])?(?:date(?:[ _-]?(?:and[ _-]|/)?time)?|time(?:stamp)?|day)|now|(?:the )?date|as of)"
)
DEFAULT_PATTERNS: tuple[str, ...] = (
    # `Today (UTC): 2026-08-04`, `Today is Tuesday, August 4, 2026`, `"current_date": "2026-08-04"`,
    # `<current_date>2026…`
    rf"(?im)(?<![\w-]){_LABEL}(?:\s?\([^()\n]{{1,30}}\))?[\"'*_`]{{0,3}}\s?(?::|=|>|\bis(?: now)?:?)[*_]{{0,2}}"
    rf"\s{{0,3}}[\"'`*_]{{0,3}}(?P<date>{_A_DATE})",
    # `Today's date 2026-08-04`, `Current date 2026-08-04`
    rf"(?im)(?<![\w-])(?:today['’]s date|current[ _-](?:utc[ _-])?(?:date|time|datetime))\s(?P<date>{_A_DATE})",
)
"""What is pinned unless the user gives other patterns: a "today" or "current date" label with a date right after it."""


class ClockPins:
    """Rewrites the dates that patterns find.

    Args:
        patterns: regular expressions; what their group `date` spans (the whole match without one) is rewritten to the
            pinned instant, each date, weekday and time of day in it as it was written.

    Raises:
        UsageError: a pattern is no regular expression.
    """

    def __init__(self, patterns: Sequence[str] = DEFAULT_PATTERNS) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def pin_text(self, text: str, now: datetime) -> tuple[str, int]:
        """The text with its dates rewritten, and how many places were."""
        count = 0

        def pinned(found: re.Match[str]) -> str:
            nonlocal count
            count += 1
            group = "date" if "date" in found.re.groupindex else 0
            start, end = found.start(group) - found.start(), found.end(group) - found.start()
            whole = found.group()
            return whole[:start] + restyle(whole[start:end], now) + whole[end:]

        for pattern in self._patterns:
            text = pattern.sub(pinned, text)
        return text, count

    def pin_body(self, body: Mapping[str, Any], now: datetime) -> tuple[dict[str, Any], int]:
        """A chat-completions request with its system, developer and user messages pinned, and how many places were."""
        messages = body.get("messages")
        if not isinstance(messages, list):
            return dict(body), 0
        pinned, total = [], 0
        for message in messages:
            if isinstance(message, dict) and message.get("role") in ("system", "developer", "user"):
                content, count = self._pin_content(message.get("content"), now)
                total += count
                pinned.append({**message, "content": content} if count else message)
            else:
                pinned.append(message)
        return {**body, "messages": pinned}, total

    def _pin_content(self, content: Any, now: datetime) -> tuple[Any, int]:
        if isinstance(content, str):
            return self.pin_text(content, now)
        if not isinstance(content, list):
            return content, 0
        parts, total = [], 0
        for part in content:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                text, count = self.pin_text(part["text"], now)
                parts.append({**part, "text": text})
                total += count
            else:
                parts.append(part)
        return parts, total


def restyle(span: str, now: datetime) -> str:
    """Every date, weekday and time of day in a span rewritten to `now`, in its notation; an ISO date where none is."""
    now = utc(now)
    rewritten, count = _DATES.subn(lambda found: _render(found, now), span)
    return rewritten if count else now.date().isoformat()


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"the clock pattern {pattern!r} is no regular expression: {error}") from error


def _render(found: re.Match[str], now: datetime) -> str:
    part = found.groupdict()
    if part["iso"]:
        local = _in_zone(now, part["zone"])
        date = local.strftime(f"%Y{part['sep']}%m{part['sep']}%d")
        return f"{date}{part['gap']}{_time(part['time'], local)}{part['zone'] or ''}" if part["time"] else date
    if part["month"]:
        day = _day(now.day, part["th"])
        return f"{_name(_MONTHS[now.month - 1], part['month'], 'may')} {day}{part['comma']} {now.year:04d}"
    if part["month2"]:
        day = _day(now.day, part["th2"])
        return f"{day} {_name(_MONTHS[now.month - 1], part['month2'], 'may')} {now.year:04d}"
    if part["weekday"]:
        return _name(_WEEKDAYS[now.weekday()], part["weekday"], "")
    local = _in_zone(now, part["clockzone"])
    return _time(part["clock"], local) + (part["clockzone"] or "")


def _in_zone(now: datetime, zone: str | None) -> datetime:
    offset = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", zone or "")
    if offset is None:
        return now
    away = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    if away >= timedelta(days=1):
        return now
    return now.astimezone(timezone(-away if offset[1] == "-" else away))


def _time(written: str, now: datetime) -> str:
    fraction = written.partition(".")[2]
    text = now.strftime("%H:%M" if written.count(":") == 1 else "%H:%M:%S")
    return f"{text}.{f'{now.microsecond:06d}'.ljust(9, '0')[: len(fraction)]}" if fraction else text


def _day(day: int, ending: str | None) -> str:
    if not ending:
        return str(day)
    if 11 <= day <= 13:
        return f"{day}th"
    return f"{day}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th') }"


def _name(full: str, written: str, ambiguous: str) -> str:
    """A month's or weekday's name, as short and in the letter case as the one it replaces; `May` is long and short."""
    short = len(written) <= 4 and written.lower() not in (ambiguous, "june", "july")
    name = full[:3] if short else full
    return name.upper() if written.isupper() else name.lower() if written.islower() else name
