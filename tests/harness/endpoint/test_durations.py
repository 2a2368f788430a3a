"""How long an endpoint asks to wait, in every spelling."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.endpoint.durations import parse_duration, requested_wait

NOW = datetime(2026, 8, 4, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1", 1.0),
        (" 1.5 ", 1.5),
        ("0", 0.0),
        ("120ms", 0.12),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        ("2d", 172800.0),
        ("7s", 7.0),
        ("Tue, 04 Aug 2026 12:00:30 GMT", 30.0),
        ("Tue, 04 Aug 2026 11:00:00 GMT", 0.0),
        ("2026-08-04T12:00:05Z", 5.0),
        (str(int(NOW.timestamp()) + 9), 9.0),
        (str((int(NOW.timestamp()) + 9) * 1000), 9.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("²", None),
        ("٣", None),
        ("5 apples", None),
        ("9" * 500, None),
    ],
)
def test_duration(text, seconds):
    assert parse_duration(text, NOW) == (pytest.approx(seconds) if seconds is not None else None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "3", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "3", "x-ratelimit-reset-requests": "9s"}, 3.0),
        ({"retry-after": "soon", "x-ratelimit-reset-requests": "9s"}, 9.0),
        ({"x-ratelimit-reset": "9"}, 9.0),
        ({"x-ratelimit-reset-requests": "120ms", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        (
            {
                "x-ratelimit-reset-requests": "120ms",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "149000",
            },
            0.12,
        ),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-08-04T12:00:05Z",
                "date": "Tue, 04 Aug 2026 12:00:00 GMT",
            },
            5.0,
        ),
        ({"retry-after": "Tue, 04 Aug 2026 12:00:30 GMT", "date": "Tue, 04 Aug 2026 12:00:10 GMT"}, 20.0),
    ],
)
def test_wait_that_headers_ask_for(headers, seconds):
    assert requested_wait(headers, NOW) == (pytest.approx(seconds) if seconds is not None else None)


@given(st.text(max_size=60))
def test_no_text_raises_and_every_wait_is_one(text):
    wait = parse_duration(text, NOW)
    assert wait is None or 0 <= wait < 1e18
