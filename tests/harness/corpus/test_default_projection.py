"""The placeholder `<default>` is the projection of a statement, and nothing else."""

import pytest

from harness.corpus.default_projection import uses_default, with_projection


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT <default> FROM t", "SELECT a, b FROM t"),
        ("select\n  < Default > from t", "select\n  a, b from t"),
        ("SELECT DISTINCT <default> FROM t", "SELECT DISTINCT a, b FROM t"),
        ("SELECT a FROM t WHERE b = '<default>'", None),
        ("SELECT '<default>' FROM t", None),
        ("SELECT defaults FROM t", None),
    ],
)
def test_only_the_projection_is_replaced(text, expected):
    assert uses_default(text) == (expected is not None)
    assert with_projection(text, "a, b") == (expected or text)


def test_a_projection_is_put_in_as_it_is():
    assert with_projection("SELECT <default> FROM t", r"\1, a") == r"SELECT \1, a FROM t"
