"""Whether two results can be the same: bags, ties, permuted columns."""

import pytest

from harness.witness.results import Outcome, may_agree, outcome_of, settled_rows

A, B, C = ("a", 1), ("b", 1), ("c", 2)


def made(
    rows: list[tuple[object, ...]], keys: list[object] | None = None, limit: int | None = None, offset: int = 0
) -> Outcome:
    wrapped = None if keys is None else [(key,) for key in keys]
    return outcome_of(settled_rows(rows), len(rows[0]) if rows else 0, wrapped, limit, offset)


@pytest.mark.parametrize(
    ("one", "other", "ordered", "agree"),
    [
        (made([A, B]), made([B, A]), False, True),
        (made([A, B]), made([A, A]), False, False),
        (made([A, A]), made([A]), False, False),
        (made([]), made([]), False, True),
        (made([A, B], [1, 1]), made([B, A], [1, 2]), True, True),
        (made([A, B], [1, 2]), made([B, A], [1, 2]), True, False),
        (made([A, B, C], [1, 1, 2], limit=1), made([B]), False, True),
        (made([A, B, C], [1, 1, 2], limit=1), made([C]), False, False),
        (made([A, B, C], [1, 1, 2], limit=1, offset=1), made([A]), False, True),
        (made([A, B, C], None, limit=2), made([A, C]), False, True),
        (made([A, B, C], None, limit=2), made([A, A]), False, False),
        (made([A, B, C], [1, 2, 3], limit=0), made([]), False, True),
        (made([(0.1 + 0.2,)]), made([(0.3,)]), False, True),
        (made([(1,)]), made([(1.0,)]), False, True),
        (made([(1,)]), made([("1",)]), False, False),
        (made([(True,)]), made([(1,)]), False, True),
        (made([(2**53 + 1,)]), made([(2**53,)]), False, False),
        (made([(None,)]), made([(0,)]), False, False),
        (made([(float("nan"),)]), made([(float("nan"),)]), False, True),
    ],
)
def test_may_agree(one: Outcome, other: Outcome, ordered: bool, agree: bool) -> None:
    assert may_agree(one, other, ordered=ordered, columns="any") is agree
    assert may_agree(other, one, ordered=ordered, columns="any") is agree


def test_one_permutation_of_the_columns_holds_for_all_rows() -> None:
    one, turned = made([(1, 2), (3, 4)]), made([(2, 1), (4, 3)])
    mixed = made([(2, 1), (3, 4)])
    assert may_agree(one, turned, ordered=False, columns="any")
    assert not may_agree(one, turned, ordered=False, columns="ordered")
    assert not may_agree(one, mixed, ordered=False, columns="any")


def test_many_columns_are_matched_by_what_they_hold() -> None:
    wide = made([tuple(range(12)), tuple(range(12, 24))])
    turned = made([tuple(range(11, -1, -1)), tuple(range(23, 11, -1))])
    assert may_agree(wide, turned, ordered=False, columns="any")
    assert not may_agree(wide, made([tuple(range(12)), tuple(range(13, 25))]), ordered=False, columns="any")
