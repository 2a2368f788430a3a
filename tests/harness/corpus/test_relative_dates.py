"""Words that only a clock gives a meaning to, and their neighbours that need none."""

import pytest

from harness.corpus.relative_dates import relative_words


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("orders of the last 30 days", ("last 30 days",)),
        ("Orders from TODAY", ("today",)),
        ("sales this quarter against last quarter", ("this quarter", "last quarter")),
        ("shipped three weeks ago", ("ago",)),
        ("revenue year to date", ("year to date",)),
        ("customers who signed up in the past few months", ("past few months",)),
        ("meetings next Tuesday", ("next tuesday",)),
        ("today's and tomorrow's, and again today's", ("today", "tomorrow")),
        ("recently closed", ("recently",)),
        ("orders since last  \n week", ("last week",)),
        ("customers by last name", ()),
        ("the last 10 orders", ()),
        ("the next of kin", ()),
        ("orders of March 2024", ()),
        ("what is in this warehouse", ()),
        ("the first day of the sale", ()),
        ("players who lasted long", ()),
        ("antagonists", ()),
    ],
)
def test_relative_words(sentence, words):
    assert relative_words(sentence) == words
