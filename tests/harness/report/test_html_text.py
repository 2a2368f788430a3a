"""Foreign text in HTML is shown and never run."""

import pytest

from harness.report.html.run_page import LONGEST, SHORTEST, longest_that_fits
from harness.report.html.text import anchor, attribute, content, marked
from harness.report.marking import Segment


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b & c > 'd' \"e\"", "a &lt; b &amp; c &gt; 'd' \"e\""),
        ("</script>", "&lt;/script&gt;"),
        ("a\x00b\x1b[31m\x7f", "a␀b␛[31m␡"),
        ("\u202egnp.exe\u2066", "⟨U+202E⟩gnp.exe⟨U+2066⟩"),
        ("line\nnext\ttab", "line\nnext\ttab"),
        ("日本 ü", "日本 ü"),
    ],
)
def test_content(text, shown):
    assert content(text) == shown


def test_attribute_ends_no_quote():
    assert attribute("\"'><b>") == "&#34;&#39;&gt;&lt;b&gt;"


def test_marked_escapes_each_part():
    assert marked([Segment("<a", False), Segment("<b", True)]) == "&lt;a<mark>&lt;b</mark>"


@pytest.mark.parametrize(
    ("identity", "fragment"),
    [("S10", "case-S10"), ('a b"<', "case-a%20b%22%3C"), ("ü/#", "case-%C3%BC%2F%23"), ("java:x", "case-java%3Ax")],
)
def test_anchors_are_safe_in_ids_and_links(identity, fragment):
    assert anchor(identity) == fragment


@pytest.mark.parametrize(
    ("lengths", "room", "limit"),
    [
        ([10, 10], 1_000, LONGEST),
        ([100, 1_000], 600, 500),
        ([1_000, 1_000], 1_000, 500),
        ([1_000_000], 50, SHORTEST),
        ([1_000_000], 1_000_000, LONGEST),
        ([], 100, SHORTEST),
        ([50, 50, 50], -10, SHORTEST),
    ],
)
def test_texts_clipped_to_the_limit_fit_the_room(lengths, room, limit):
    assert longest_that_fits(lengths, room) == limit
