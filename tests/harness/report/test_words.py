"""Numbers and names as people read them."""

import pytest

from harness.report import words


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.96, 0, "96 %"),
        (1.0, 0, "100 %"),
        (0.0, 0, "0 %"),
        (0.999, 0, "99.9 %"),
        (0.9999999, 0, "100.0 %"),
        (0.001, 0, "0.1 %"),
        (0.9375, 1, "93.8 %"),
        (1.0, 1, "100.0 %"),
        (float("nan"), 0, "–"),
    ],
)
def test_percent_never_rounds_to_all_or_nothing_at_its_own_precision(share, digits, text):
    assert words.percent(share, digits) == text


@pytest.mark.parametrize(("value", "text"), [(0.125, "+12.5"), (-0.05, "−5.0"), (0.0, "0.0"), (0.0001, "0.0")])
def test_points(value, text):
    assert words.points(value) == text


@pytest.mark.parametrize(
    ("p", "text"), [(0.0703125, "p = 0.070"), (0.0004, "p < 0.001"), (0.42, "p = 0.42"), (1.0, "p = 1.00")]
)
def test_p_value(p, text):
    assert words.p_value(p) == text


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdefg"), "a, b, c, d, e and 2 more"),
    ],
)
def test_listed(items, text):
    assert words.listed(items) == text


@pytest.mark.parametrize(
    ("text", "limit", "shown"), [("abc", 3, "abc"), ("abcd", 3, "abc… [4 characters in all]"), ("", 3, "")]
)
def test_clip_says_how_much_there_is(text, limit, shown):
    assert words.clip(text, limit) == shown


def test_one_line_of_a_long_text_reads_only_its_beginning():
    assert words.one_line("a\n  b\tc") == "a b c"
    assert words.one_line("x" * 10_000_000, 10) == "xxxxxxxxx…"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (712.4, "712 ms"), (9_999.4, "9999 ms"), (12_345, "12.3 s"), (float("nan"), "–")]
)
def test_milliseconds(value, text):
    assert words.milliseconds(value) == text


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("wrong_value", "wrong value"),
        ("transport", "the endpoint could not be reached"),
        ("answered", "answered where it should have declined"),
        ("something_new", "something new"),
    ],
)
def test_kind_title(kind, title):
    assert words.kind_title(kind) == title
