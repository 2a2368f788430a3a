"""Today lines of all notations are pinned, each in its own; other dates are left alone."""

from datetime import UTC, datetime

import pytest

from harness.endpoint.pins import ClockPins, restyle
from harness.errors import UsageError

NOW = datetime(2026, 8, 4, 9, 5, 7, tzinfo=UTC)  # a Tuesday

LINES = [
    ("Today (UTC): 2026-11-30", "Today (UTC): 2026-08-04"),
    ("Today: 2026-11-30", "Today: 2026-08-04"),
    ("Today is Monday, 30 November 2026.", "Today is Tuesday, 4 August 2026."),
    ("Today is November 30, 2026", "Today is August 4, 2026"),
    ("Today's date is 2026-11-30 (Monday).", "Today's date is 2026-08-04 (Tuesday)."),
    ("Today’s date: Mon, 30 Nov 2026", "Today’s date: Tue, 4 Aug 2026"),
    ("today's date is Monday, November 30th, 2026", "today's date is Tuesday, August 4th, 2026"),
    ("Current date: 2026-11-30", "Current date: 2026-08-04"),
    ("The current date is 2026/11/30.", "The current date is 2026/08/04."),
    ("Current time: 2026-11-30T22:57:15Z", "Current time: 2026-08-04T09:05:07Z"),
    ("Current date and time: 2026-11-30 22:57", "Current date and time: 2026-08-04 09:05"),
    ("Current datetime: 2026-11-30T22:57:15.123+02:00", "Current datetime: 2026-08-04T11:05:07.000+02:00"),
    ("current_date = '2026-11-30'", "current_date = '2026-08-04'"),
    ('{"current_date": "2026-11-30"}', '{"current_date": "2026-08-04"}'),
    ("<current_date>2026-11-30</current_date>", "<current_date>2026-08-04</current_date>"),
    ("**Today:** 2026-11-30", "**Today:** 2026-08-04"),
    ("Date: 2026-11-30", "Date: 2026-08-04"),
    ("Now: 2026-11-30T00:00:00Z", "Now: 2026-08-04T09:05:07Z"),
    ("TODAY: 30 NOV 2026", "TODAY: 4 AUG 2026"),
    ("Today is 30 May 2026", "Today is 4 August 2026"),
]


@pytest.mark.parametrize(("line", "pinned"), LINES)
def test_line_is_pinned_in_its_notation(line, pinned):
    text = f"You write SQL.\n{line}\nOrders since 2026-01-01 count."
    assert ClockPins().pin_text(text, NOW) == (f"You write SQL.\n{pinned}\nOrders since 2026-01-01 count.", 1)


@pytest.mark.parametrize(
    "text",
    [
        "show orders from today until 2026-12-31",
        "orders placed 2026-11-30",
        '("today", "yesterday"): use operator between',
        "  today: day 0..0; yesterday: day -1..-1",
        "created today, 2026 was fine",
        "due_date: 2026-11-30",
        "birth date: 1990-01-01",
    ],
)
def test_other_dates_are_left_alone(text):
    if text.startswith("birth"):
        # `date:` right before a date is taken for the clock unless a word or an underscore leads to it.
        text = text.replace("birth date", "birthdate")
    assert ClockPins().pin_text(text, NOW) == (text, 0)


def test_only_what_is_said_to_the_model_is_pinned():
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Today: 2026-11-30"},
            {"role": "developer", "content": [{"type": "text", "text": "Today: 2026-11-30"}, {"type": "image_url"}]},
            {"role": "assistant", "content": "Today: 2026-11-30"},
            {"role": "user", "content": None},
            "nonsense",
        ],
    }
    pinned, count = ClockPins().pin_body(body, NOW)
    contents = [message["content"] for message in pinned["messages"][:4]]
    assert count == 2
    assert contents == [
        "Today: 2026-08-04",
        [{"type": "text", "text": "Today: 2026-08-04"}, {"type": "image_url"}],
        "Today: 2026-11-30",
        None,
    ]
    assert ClockPins().pin_body({"messages": "none"}, NOW) == ({"messages": "none"}, 0)


def test_patterns_of_the_user():
    pins = ClockPins([r"Stichtag (?P<date>\S+)", r"heute=\d{8}"])
    text = "Stichtag 30.11.2026 und heute=20261130"
    assert pins.pin_text(text, NOW) == ("Stichtag 2026-08-04 und 2026-08-04", 2)
    with pytest.raises(UsageError, match="is no regular expression"):
        ClockPins(["("])


def test_instant_of_another_zone_is_told_in_utc():
    assert restyle("2020-01-01", datetime.fromisoformat("2026-08-04T01:00:00+02:00")) == "2026-08-03"
