"""Compares two results that are in hand: pure, streaming, on every platform.

The rules stand in `harness.types.results.ComparisonConfig`; what agrees with what says `harness.sandbox.agreement`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from harness.sandbox.difference import Rules, difference
from harness.types.results import (
    ColumnTypeMismatch,
    ColumnValueMismatch,
    ComparisonConfig,
    ExecutionResult,
    ResultDiff,
    ResultSchema,
    UntypedSchema,
)

Rows = Iterable[Sequence[Any]]


def compare_results(
    expected: ExecutionResult | Rows,
    actual: ExecutionResult | Rows,
    rules: ComparisonConfig | None = None,
    *,
    expected_columns: Sequence[str] | None = None,
    actual_columns: Sequence[str] | None = None,
    deadline: float | None = None,
) -> ResultDiff | None:
    """How the actual result differs from the expected one.

    Rows may be any iterables of sequences; they are read once and not kept where they need not be. Without column names
    the width of the first row counts, and columns are called `1`, `2`, …

    Args:
        expected: the expected result, or its rows.
        actual: the result to check, or its rows.
        rules: when the two count as the same; `None` = the defaults.
        expected_columns: names of the expected columns, where only rows are given.
        actual_columns: names of the actual columns, where only rows are given.
        deadline: `time.monotonic()` at which to give up.

    Returns:
        `None` when they are the same.

    Raises:
        ValueError: a result that failed is compared, or the rules name columns that the results do not have.
        harness.sandbox.matching.DeadlineError: not finished in time.
    """
    rules = rules or ComparisonConfig()
    names, rows, schema = _open(expected, expected_columns)
    other_names, other_rows, other_schema = _open(actual, actual_columns)
    if rules.match_key and len(names) != len(other_names):
        return ResultDiff(
            expected_rows=sum(1 for _ in rows),
            actual_rows=sum(1 for _ in other_rows),
            expected_columns=len(names),
            actual_columns=len(other_names),
        )
    found = difference(
        names, _as_tuples(rows), other_names, _as_tuples(other_rows), plain_rules(rules), deadline=deadline
    )
    mismatches = _type_mismatches(schema, other_schema)
    if found is None:
        if not mismatches or rules.types == "ignore":
            return None
        return ResultDiff(
            expected_rows=_count(expected),
            actual_rows=_count(actual),
            expected_columns=len(names),
            actual_columns=len(other_names),
            type_mismatches=mismatches,
        )
    return result_diff(found).model_copy(update={"type_mismatches": mismatches})


def plain_rules(rules: ComparisonConfig, *, sort_key: tuple[int, ...] | None = None, hidden: int = 0) -> Rules:
    """The rules as they go inside the walls.

    Args:
        rules: as the caller gave them.
        sort_key: positions of the sort keys, where the reference query told them.
        hidden: trailing columns that only carry sort keys.
    """
    return Rules(
        by_name=rules.columns == "name",
        order_matters=rules.order_matters,
        sort_key=rules.sort_key if sort_key is None else sort_key,
        hidden=hidden,
        nulls_equal=rules.null_equality == "equal",
        float_tolerance=float(rules.float_tolerance),
        match_key=rules.match_key,
    )


def result_diff(found: dict[str, Any]) -> ResultDiff:
    """A difference as it comes from inside the walls, as its type."""
    facts: dict[str, Any] = dict(found)
    for name in ("sample_missing", "sample_extra"):
        facts[name] = tuple(tuple(row) for row in found.get(name, ()))
    for name in ("null_keys", "duplicate_keys"):
        if name in found:
            facts[name] = (found[name][0], found[name][1])
    for name in ("missing_columns", "extra_columns"):
        facts[name] = tuple(found.get(name, ()))
    facts["sample_changed"] = tuple((tuple(one), tuple(other)) for one, other in found.get("sample_changed", ()))
    facts["value_mismatches"] = tuple(ColumnValueMismatch(**entry) for entry in found.get("value_mismatches", ()))
    return ResultDiff(**facts)


def _open(
    result: ExecutionResult | Rows, columns: Sequence[str] | None
) -> tuple[Sequence[str], Rows, ResultSchema | None]:
    if isinstance(result, ExecutionResult):
        if result.error is not None or result.schema_ is None:
            raise ValueError("a failed execution has no result to compare")
        schema = result.schema_ if isinstance(result.schema_, ResultSchema) else None
        return result.schema_.names, result.rows, schema
    if columns is not None:
        return columns, result, None
    if isinstance(result, Sequence):
        first = result[0] if result else ()
        return tuple(str(place + 1) for place in range(len(first))), result, None
    rows = iter(result)
    for row in rows:
        return tuple(str(place + 1) for place in range(len(row))), _again(row, rows), None
    return (), (), None


def _as_tuples(rows: Rows) -> Iterable[tuple[Any, ...]]:
    """Rows as the comparison takes them; it makes tuples of other sequences as it reads."""
    return cast("Iterable[tuple[Any, ...]]", rows)


def _again(first: Sequence[Any], rest: Iterable[Sequence[Any]]) -> Rows:
    yield first
    yield from rest


def _count(result: ExecutionResult | Rows) -> int:
    return len(result.rows) if isinstance(result, ExecutionResult) else 0


def _type_mismatches(
    one: ResultSchema | UntypedSchema | None, other: ResultSchema | UntypedSchema | None
) -> tuple[ColumnTypeMismatch, ...]:
    """Columns of another type, where both sides know theirs; else nothing is said."""
    if not isinstance(one, ResultSchema) or not isinstance(other, ResultSchema):
        return ()
    return tuple(
        ColumnTypeMismatch(column=left.name, expected=left.type.raw, actual=right.type.raw)
        for left, right in zip(one.columns(), other.columns(), strict=False)
        if left.type != right.type
    )
