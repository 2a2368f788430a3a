"""Multiset comparison against a naive exact oracle: does any one-to-one pairing of agreeing rows exist?"""

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sandbox.agreement import agree
from harness.sandbox.matching import compare_unordered


def oracle_agree(one, other, tolerance):
    """The rules of comparison, said again in the plainest way."""
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool) and one == other
    if isinstance(one, float) and isinstance(other, float):
        if one != one or other != other:
            return one != one and other != other
        return one == other or (
            abs(one) != float("inf") and abs(other) != float("inf") and abs(one - other) <= tolerance
        )
    numbers = (int, float, Decimal)
    if isinstance(one, numbers) and isinstance(other, numbers):
        if isinstance(one, float) or isinstance(other, float):
            if one != one or other != other or abs(one) == float("inf") or abs(other) == float("inf"):
                return one == other
            return abs(Decimal(one) - Decimal(other)) <= Decimal(tolerance)
        return one == other
    return type(one) is type(other) and one == other


def oracle_largest(expected, actual, tolerance):
    """Size of the largest pairing, by the textbook's augmenting paths over all pairs."""
    owner = {}

    def place(index, seen):
        for other, row in enumerate(actual):
            fits = len(row) == len(expected[index]) and all(
                oracle_agree(a, b, tolerance) for a, b in zip(expected[index], row, strict=True)
            )
            if fits and other not in seen:
                seen.add(other)
                if other not in owner or place(owner[other], seen):
                    owner[other] = index
                    return True
        return False

    return sum(place(index, set()) for index in range(len(expected)))


# Few values, close to each other and of every type, so that ties and chains of near values are the rule.
near_floats = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 2.25, 2.5, float("nan"), float("inf"), -float("inf")])
exact_values = st.sampled_from(
    [0, 1, 2, 2**53 + 1, "1", "a", "A", None, True, False, b"a", Decimal("1.10"), Decimal("2.5")]
)
values = near_floats | exact_values
tolerances = st.sampled_from([0.0, 1e-9, 0.5, 0.6, 1.0, 1.25])


def rows(width):
    return st.lists(st.tuples(*[values] * width), max_size=7)


float_rows = st.lists(st.tuples(near_floats, near_floats), max_size=8)


@given(st.data(), st.integers(1, 3), tolerances)
@settings(max_examples=400, deadline=None)
def test_the_pairing_is_the_largest_there_is(data, width, tolerance):
    expected, actual = data.draw(rows(width)), data.draw(rows(width))
    best = oracle_largest(expected, actual, tolerance)
    for left, right in ((expected, actual), (iter(expected), iter(actual))):
        verdict = compare_unordered(left, right, tolerance)
        assert verdict.equal == (best == len(expected) == len(actual))
        assert (verdict.missing_count, verdict.extra_count) == (len(expected) - best, len(actual) - best)
        assert (verdict.expected_count, verdict.actual_count) == (len(expected), len(actual))


@given(float_rows, float_rows, tolerances)
@settings(max_examples=400, deadline=None)
def test_the_pairing_is_the_largest_in_two_dimensions(expected, actual, tolerance):
    best = oracle_largest(expected, actual, tolerance)
    verdict = compare_unordered(expected, actual, tolerance)
    assert (verdict.missing_count, verdict.extra_count) == (len(expected) - best, len(actual) - best)


@given(st.lists(st.tuples(values, values), max_size=30), st.randoms(use_true_random=False), tolerances)
def test_a_shuffled_result_is_the_same(rows_, random, tolerance):
    other = list(rows_)
    random.shuffle(other)
    assert compare_unordered(rows_, other, tolerance).equal
    if rows_:
        assert not compare_unordered(rows_, other[1:], tolerance).equal


@given(values, values, tolerances)
def test_agreement_is_the_oracle_and_symmetric(one, other, tolerance):
    assert agree(one, other, tolerance) == oracle_agree(one, other, tolerance) == agree(other, one, tolerance)
