"""The rules of comparison, one row a rule; diffs; keyed comparison; ties; types."""

# ruff: noqa: E501 - a table reads best with one row a line

import datetime as dt
import time
from decimal import Decimal
from uuid import UUID

import pytest
from pydantic import ValidationError

from harness.sandbox.comparison import compare_results
from harness.sandbox.matching import DeadlineError, compare_ordered, compare_unordered
from harness.sandbox.values import clipped, tagged
from harness.types.results import (
    Column,
    ColumnValueMismatch,
    ComparisonConfig,
    ExecutionError,
    ExecutionResult,
    ResultSchema,
    SqlType,
    UntypedSchema,
)

NAN, INF = float("nan"), float("inf")
ORDERED = ComparisonConfig(order_matters=True)
LOOSE = ComparisonConfig(float_tolerance=0.5)

SAME = [
    ([], [], None),
    ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], None),
    ([(1,), (1,), (2,)], [(2,), (1,), (1,)], None),
    ([(None,)], [(None,)], None),
    ([(NAN,)], [(float("nan"),)], None),
    ([(INF,), (-INF,)], [(-INF,), (INF,)], None),
    ([(0.1 + 0.2,)], [(0.3,)], None),
    ([(1,)], [(1.0,)], None),
    ([(Decimal("1.10"),)], [(Decimal("1.1"),)], None),
    ([(2**53 + 1,)], [(2**53 + 1,)], None),
    ([(10**400,)], [(10**400,)], None),
    ([([1, 2.0], {"a": 0.1 + 0.2})], [([1, 2.0], {"a": 0.3})], None),
    ([[1, 2]], [(1, 2)], None),
    # The pairing must move: 1.0 is also on the other side, and yet belongs to 0.6.
    ([(0.6,), (1.0,)], [(1.0,), (1.4,)], LOOSE),
    ([(0,), (1, ), (0.9,)], [(0.4,), (1.2,), (1,)], LOOSE),
    ([(1, 0.6), (1, 1.0), (2, 0.0)], [(1, 1.4), (2, 0.4), (1, 1.0)], LOOSE),
    ([(0.0, 1.0), (0.4, 0.6)], [(0.4, 0.7), (0.0, 0.6)], LOOSE),
    ([(1,), (2,)], [(1,), (2,)], ORDERED),
]  # fmt: skip
DIFFERENT = [
    ([(1,)], [], None),
    ([(1,), (1,)], [(1,)], None),
    ([(1,), (1,), (2,)], [(1,), (2,), (2,)], None),
    ([(1,)], [(1, 2)], None),
    ([(1,)], [("1",)], None),
    ([(1,)], [(True,)], None),
    ([(None,)], [("",)], None),
    ([(None,)], [(0,)], None),
    ([("a",)], [("A",)], None),
    ([("a",)], [(b"a",)], None),
    ([(2**53 + 1,)], [(2**53,)], None),
    ([(2**53 + 1,)], [(float(2**53),)], None),
    ([(Decimal("0.1"),)], [(Decimal("0.10000000000000000001"),)], LOOSE),
    ([(1,)], [(2,)], ComparisonConfig(float_tolerance=5)),
    ([(INF,)], [(1e308,)], ComparisonConfig(float_tolerance=1e300)),
    ([(NAN,)], [(0.0,)], LOOSE),
    ([(NAN,)], [(None,)], None),
    # Each value belongs to its row: the columns agree one by one, the rows do not.
    ([(1, "a"), (2, "b")], [(1, "b"), (2, "a")], None),
    ([(0.0,), (0.0,), (1.0,)], [(0.5,), (1.0,), (1.0,)], LOOSE),
    ([(1,), (2,)], [(2,), (1,)], ORDERED),
    ([(1,), (2,)], [(1,)], ORDERED),
    ([(1,)], [(1,), (2,)], ORDERED),
    ([(dt.date(2026, 1, 1),)], [(dt.datetime(2026, 1, 1),)], None),  # noqa: DTZ001
    ([(UUID(int=1),)], [(str(UUID(int=1)),)], None),
]


@pytest.mark.parametrize(("expected", "actual", "rules"), SAME)
def test_the_same(expected, actual, rules):
    assert compare_results(expected, actual, rules) is None
    assert compare_results(actual, expected, rules) is None
    assert compare_results(iter(expected), iter(actual), rules) is None


@pytest.mark.parametrize(("expected", "actual", "rules"), DIFFERENT)
def test_different(expected, actual, rules):
    for left, right in ((expected, actual), (actual, expected), (iter(expected), iter(actual))):
        assert compare_results(left, right, rules) is not None


def test_column_count_matters_for_empty_results_too():
    diff = compare_results([], [], expected_columns=["a"], actual_columns=["a", "b"])
    assert (diff.expected_columns, diff.actual_columns) == (1, 2)
    assert compare_results([], [], expected_columns=["a"], actual_columns=["z"]) is None


def test_a_diff_counts_exactly_and_shows_five_clipped_rows():
    diff = compare_results([(n, "x" * 1000) for n in range(9)], [(n, b"\x00") for n in range(7)])
    assert (diff.expected_rows, diff.actual_rows, diff.missing_rows, diff.extra_rows) == (9, 7, 9, 7)
    assert len(diff.sample_missing) == len(diff.sample_extra) == 5
    assert diff.sample_missing[0] == (0, "x" * 200 + "…")
    assert diff.sample_extra[0] == (0, {"type": "blob", "base64": "AA=="})
    wide = compare_results([tuple(range(50))], [tuple(range(1, 51))])
    assert len(wide.sample_missing[0]) == 20


def test_an_order_whose_ties_are_open():
    rules = ComparisonConfig(order_matters=True, sort_key=(0,))
    expected = [(1, "a"), (1, "b"), (2, "c"), (2, "d")]
    assert compare_results(expected, [(1, "b"), (1, "a"), (2, "d"), (2, "c")], rules) is None
    diff = compare_results(expected, [(1, "b"), (2, "c"), (1, "a"), (2, "d")], rules)
    assert diff.first_difference == 0
    moved = compare_results(expected, [(1, "a"), (1, "b"), (2, "d"), (2, "x")], rules)
    assert (moved.first_difference, moved.sample_missing, moved.sample_extra) == (2, ((2, "c"),), ((2, "x"),))


def test_ties_by_a_column_that_is_not_returned():
    expected = [("a", 1), ("b", 1), ("c", 2)]
    same = compare_ordered(expected, [("b",), ("a",), ("c",)], 0, sort_key=lambda row: row[-1:], visible=1)
    assert same.equal
    assert not compare_ordered(expected, [("b",), ("c",), ("a",)], 0, sort_key=lambda row: row[-1:], visible=1).equal


def test_by_name():
    rules = ComparisonConfig(columns="name")
    names = {"expected_columns": ["a", "b"], "actual_columns": ["b", "a"]}
    assert compare_results([(1, 2)], [(2, 1)], rules, **names) is None
    diff = compare_results([(1, 2)], [(2, 1)], rules, expected_columns=["a", "b"], actual_columns=["b", "c"])
    assert (diff.missing_columns, diff.extra_columns) == (("a",), ("c",))
    with pytest.raises(ValueError, match="twice"):
        compare_results([(1, 2)], [(2, 1)], rules, expected_columns=["a", "a"], actual_columns=["a", "b"])


def test_keyed():
    rules = ComparisonConfig(match_key=("id",))
    names = {"expected_columns": ["id", "x", "y"], "actual_columns": ["id", "x", "y"]}
    expected = [(1, 1.0, "a"), (2, 2.0, "b"), (3, 3.0, "c"), (None, 0.0, "n"), (5, 5.0, "e"), (5, 5.0, "e")]
    actual = [(3, 3.5, "c"), (1, 1.0 + 1e-12, "a"), (2, 2.5, "z"), (4, 4.0, "d")]
    diff = compare_results(expected, actual, rules, **names)
    assert diff.value_mismatches == (ColumnValueMismatch(column="x", count=2), ColumnValueMismatch(column="y", count=1))
    assert (diff.null_keys, diff.duplicate_keys) == ((1, 0), (1, 0))
    assert (diff.missing_rows, diff.extra_rows) == (3, 1)
    assert diff.sample_changed[0] == ((2, 2.0, "b"), (2, 2.5, "z"))
    nulls = ComparisonConfig(match_key=("id",), null_equality="distinct")
    assert compare_results([(1, None, "a")], [(1, None, "a")], rules, **names) is None
    assert compare_results([(1, None, "a")], [(1, None, "a")], nulls, **names).value_mismatches[0].column == "x"
    with pytest.raises(ValueError, match="match_key"):
        compare_results(expected, actual, ComparisonConfig(match_key=("no",)), **names)


def test_rules_that_contradict_themselves():
    for wrong in ({"null_equality": "distinct"}, {"order_matters": True, "match_key": ("a",)}, {"float_tolerance": -1.0},
                  {"float_tolerance": INF}):  # fmt: skip
        with pytest.raises(ValidationError):
            ComparisonConfig(**wrong)


def result(rows, *types):
    columns = tuple(Column(name=f"c{n}", type=SqlType.parse(kind, "postgres")) for n, kind in enumerate(types))
    return ExecutionResult(rows=rows, schema=ResultSchema(columns), latency_seconds=0.1)


def test_types_count_only_where_asked_for():
    one, other = result(((1,),), "int4"), result(((1,),), "varchar(5)")
    assert compare_results(one, other) is None
    diff = compare_results(one, other, ComparisonConfig(types="strict"))
    assert [(entry.column, entry.expected, entry.actual) for entry in diff.type_mismatches] == [
        ("c0", "int4", "varchar(5)")
    ]
    untyped = ExecutionResult(rows=((1,),), schema=UntypedSchema(("c0",)), latency_seconds=0)
    assert compare_results(one, untyped, ComparisonConfig(types="strict")) is None


def test_the_types_of_results_hold_their_invariants():
    assert SqlType.parse("INT4", "postgres") == SqlType.parse("integer", "duckdb")
    assert SqlType.parse("bigint", "postgres") != SqlType.parse("integer", "postgres")
    assert SqlType.model_validate("BIGINT") == SqlType(raw="BIGINT")
    assert len({SqlType(raw="a"), SqlType(raw="a")}) == 1
    error = ExecutionError(
        kind="query_failed", message="The query failed.", sqlstate="22012", cause=ZeroDivisionError("1/0")
    )
    assert "1/0" not in error.model_dump_json() + repr(error)
    with pytest.raises(ValidationError):
        ExecutionResult(rows=((1,),), latency_seconds=0, error=error)
    with pytest.raises(ValidationError):
        ExecutionResult(latency_seconds=0)
    with pytest.raises(ValueError, match="failed"):
        compare_results(ExecutionResult(latency_seconds=0, error=error), [])


def test_values_are_tagged():
    assert tagged(Decimal("1.0")) == {"type": "decimal", "value": "1.0"}
    assert tagged(float("-inf")) == {"type": "float", "value": "-inf"}
    assert tagged(dt.datetime(2026, 1, 2, tzinfo=dt.UTC)) == {
        "type": "timestamptz",
        "value": "2026-01-02T00:00:00+00:00",
    }
    assert tagged(dt.time(1, 2)) == {"type": "time", "value": "01:02:00"}
    assert tagged(UUID(int=0))["type"] == "uuid"
    assert tagged({"a": [1, Decimal(2)]}) == {
        "type": "object",
        "value": {"a": {"type": "array", "value": [1, {"type": "decimal", "value": "2"}]}},
    }
    assert tagged("\udcff") == {"type": "text", "base64": "/w=="}
    assert clipped(list(range(1000)))["type"] == "array"
    assert clipped(10**5000) == {"type": "integer", "value": "…"}


def test_a_dense_cloud_ends_at_its_deadline():
    import random

    chance = random.Random(7)
    left = [(chance.random(), chance.random()) for _ in range(4000)]
    right = [(chance.random() + 0.3, chance.random()) for _ in range(4000)]
    with pytest.raises(DeadlineError):
        compare_unordered(left, right, 0.4, deadline=time.monotonic() + 0.2)


def test_one_dimension_stays_fast_however_dense():
    left = [(float(n % 10),) for n in range(20_000)]
    verdict = compare_unordered(left, left[1:], 20.0)
    assert (verdict.missing_count, verdict.extra_count) == (1, 0)
