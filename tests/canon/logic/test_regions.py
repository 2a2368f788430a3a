"""The region decision: agreement over the product, the smallest disagreement, constants, bounds."""

from canon.logic.regions import Agreement, Axis, Disagreement, TooLarge, decide, rows, size

NUMBERS = Axis("n", (0, 1, 2, None))
FLAGS = Axis("f", (False, True))


def test_rows_come_with_fewest_axes_away_from_the_plainest_value_first():
    assert list(rows([Axis("a", (0, 1)), Axis("b", ("x", "y", "z"))])) == [
        (0, "x"),
        (1, "x"),
        (0, "y"),
        (0, "z"),
        (1, "y"),
        (1, "z"),
    ]


def test_every_row_of_the_product_comes_once():
    axes = [NUMBERS, FLAGS, NUMBERS]
    listed = list(rows(axes))
    assert len(listed) == size(axes) == len(set(listed)) == 32


def test_agreement_counts_rows_and_is_not_constant_where_answers_vary():
    outcome = decide([NUMBERS, FLAGS], lambda row: row[0] == 1, lambda row: row[0] == 1)
    assert outcome == Agreement(rows=8, constant=False, value=None)


def test_agreement_on_one_answer_is_constant():
    outcome = decide([NUMBERS], lambda _: False, lambda _: False)
    assert outcome == Agreement(rows=4, constant=True, value=False)


def test_no_axis_is_one_empty_row():
    assert decide([], lambda _: True, lambda _: True) == Agreement(rows=1, constant=True, value=True)


def test_the_first_disagreement_is_the_smallest_one():
    outcome = decide([NUMBERS, FLAGS], lambda row: row[1], lambda row: row[1] and row[0] != 2)
    assert outcome == Disagreement((2, True), True, False)


def test_a_product_past_the_limit_decides_nothing():
    assert decide([NUMBERS, NUMBERS], lambda _: 1, lambda _: 2, limit=15) == TooLarge(16)


def test_a_deadline_in_the_past_decides_nothing():
    assert decide([NUMBERS], lambda _: 1, lambda _: 1, deadline=0.0) == TooLarge(4)
