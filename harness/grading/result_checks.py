"""Holds the result of an answer against what a golden expects of a result: rows, typed rows, a suite of checks."""

import base64
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any, Literal
from uuid import UUID

from harness.sandbox.agreement import exact
from harness.types.cases import ResultRules
from harness.types.expectations import (
    MAX_SAMPLE,
    ColumnType,
    ExpectationResult,
    ExpectationSuite,
    ExpectRows,
    ExpectTypedRows,
    HasColumns,
    NotNull,
    ResultExpectation,
    RowCount,
    Unique,
)
from harness.types.outcomes import Unmet
from harness.types.results import (
    ColumnTypeMismatch,
    ComparisonConfig,
    ExecutionResult,
    ResultCell,
    ResultDiff,
    ResultSchema,
)

_SHOWN = 3


def unmet(
    expected: ExpectRows | ExpectTypedRows | ExpectationSuite, result: ExecutionResult, rules: ResultRules
) -> Unmet | None:
    """What of an expectation a result does not meet; `None` where it meets all of it.

    Args:
        expected: what is expected.
        result: a successful execution of the answer.
        rules: how rows are compared.
    """
    if isinstance(expected, ExpectationSuite):
        results = suite_of(expected, result)
        lines = tuple(each.detail or "" for each in results if each.verdict == "fail")
        return Unmet(lines=lines, expectations=results) if lines else None
    diff = compare_rows(expected, result, rules)
    return None if diff is None else Unmet(lines=diff_lines(diff), diff=diff)


def suite_of(expected: ExpectationSuite, result: ExecutionResult) -> tuple[ExpectationResult, ...]:
    """How each check of a suite comes out on a result."""
    return tuple(check(each, result) for each in expected.expectations)


def compare_rows(
    expected: ExpectRows | ExpectTypedRows, result: ExecutionResult, rules: ResultRules
) -> ResultDiff | None:
    """How the rows of a result differ from expected ones; `None` where they do not."""
    from harness.sandbox.comparison import compare_results

    assert result.schema_ is not None
    found = result.schema_.names
    names = expected.columns if isinstance(expected, ExpectRows) else expected.schema_.names
    width = len(names) if names is not None else len(expected.rows[0]) if expected.rows else len(found)
    if names is None:
        names = found if width == len(found) else tuple(str(place + 1) for place in range(width))
    actual = [[untagged(cell) for cell in row] for row in result.rows]
    if names != found and len(set(names)) == len(names) and sorted(names) == sorted(found):
        order = [found.index(name) for name in names]
        actual, found = [[row[place] for place in order] for row in actual], names
    kinds = [{type(row[place]) for row in actual} for place in range(width)] if width == len(found) else [set()] * width
    wanted = [[_read_as(cell, kind) for cell, kind in zip(row, kinds, strict=True)] for row in expected.rows]
    config = ComparisonConfig(
        order_matters=rules.order_matters, float_tolerance=rules.float_tolerance, match_key=rules.match_key
    )
    try:
        diff = compare_results(wanted, actual, config, expected_columns=names, actual_columns=found)
    except ValueError as error:  # the rules name columns that the result does not have
        return ResultDiff(
            expected_rows=len(wanted),
            actual_rows=len(actual),
            expected_columns=width,
            actual_columns=len(found),
            missing_columns=tuple(key for key in rules.match_key if key not in found) or (str(error),),
        )
    mismatches = _type_mismatches(expected, result) if diff is None else ()
    if mismatches:
        return ResultDiff(
            expected_rows=len(wanted),
            actual_rows=len(actual),
            expected_columns=width,
            actual_columns=len(found),
            type_mismatches=mismatches,
        )
    return diff


def _type_mismatches(expected: ExpectRows | ExpectTypedRows, result: ExecutionResult) -> tuple[ColumnTypeMismatch, ...]:
    """Columns of another type; nothing where either side knows no types, or does not know the type itself."""
    actual = result.schema_
    if not isinstance(expected, ExpectTypedRows) or not isinstance(actual, ResultSchema):
        return ()
    by_name = {column.name: column for column in actual.columns()}
    named = len(by_name) == len(actual) and set(by_name) == set(expected.schema_.names)
    pairs = [
        (want, by_name[want.name] if named else actual[place]) for place, want in enumerate(expected.schema_.columns())
    ]
    return tuple(
        ColumnTypeMismatch(column=want.name, expected=want.type.raw, actual=got.type.raw)
        for want, got in pairs
        if got.type.raw != "unknown" and want.type != got.type
    )


def untagged(cell: ResultCell) -> Any:
    """A cell of a result as the Python value that it stands for."""
    if not isinstance(cell, dict):
        return cell
    kind, value = cell.get("type"), cell.get("value")
    if "base64" in cell:
        raw = base64.b64decode(str(cell["base64"]))
        return raw if kind == "blob" else raw.decode("utf-8", "surrogateescape")
    match kind:
        case "float":
            return float(str(value))
        case "array" if isinstance(value, list):
            return [untagged(item) for item in value]
        case "object" if isinstance(value, dict):
            return {key: untagged(item) for key, item in value.items()}
        case str() if kind in _READERS:
            return _READERS[kind](str(value))
        case _:
            return ("tagged", kind, str(value))


_READERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "decimal": Decimal,
        "date": date.fromisoformat,
        "time": time.fromisoformat,
        "timestamp": datetime.fromisoformat,
        "timestamptz": datetime.fromisoformat,
        "uuid": UUID,
    }
)


def _read_as(cell: ResultCell, kinds: set[type]) -> Any:
    """An expected cell: text stands for a date, a decimal or a UUID where the column of the result holds such."""
    if isinstance(cell, dict):
        return untagged(cell)
    if isinstance(cell, float) and Decimal in kinds:
        return Decimal(repr(cell))
    if isinstance(cell, list):
        return [_read_as(item, set()) for item in cell]
    if not isinstance(cell, str) or str in kinds:
        return cell
    for kind, read in ((datetime, datetime.fromisoformat), (date, date.fromisoformat), (time, time.fromisoformat)):
        if kind in kinds:
            return _tried(read, cell)
    if UUID in kinds:
        return _tried(UUID, cell)
    return _tried(Decimal, cell) if Decimal in kinds else cell


def _tried(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except (ValueError, InvalidOperation):
        return text


def diff_lines(diff: ResultDiff) -> tuple[str, ...]:
    """A difference of rows as lines for a person; rows as samples."""
    if diff.missing_columns:
        return (f"no column {', '.join(diff.missing_columns)} in the result to match rows by",)
    if diff.expected_columns != diff.actual_columns:
        return (f"{diff.expected_columns} columns expected, {diff.actual_columns} returned",)
    lines = [f"{one.column} should be {one.expected} and is {one.actual}" for one in diff.type_mismatches]
    if lines:
        return tuple(lines)
    lines.append(f"{diff.expected_rows} rows expected, {diff.actual_rows} returned")
    lines += [f"missing: {_row(row)}" for row in diff.sample_missing[:_SHOWN]]
    lines += [f"not expected: {_row(row)}" for row in diff.sample_extra[:_SHOWN]]
    lines += [f"{one.column} differs in {one.count} rows" for one in diff.value_mismatches]
    lines += [f"expected {_row(one)}, got {_row(other)}" for one, other in diff.sample_changed[:_SHOWN]]
    if diff.first_difference is not None:
        lines.append(f"the first difference is in row {diff.first_difference + 1}")
    return tuple(lines)


def _row(row: Sequence[ResultCell]) -> str:
    return json.dumps(list(row), ensure_ascii=False, default=str)


def check(expectation: ResultExpectation, result: ExecutionResult) -> ExpectationResult:
    """Hold one check against a result."""
    match expectation:
        case RowCount(count=count):
            held = count == len(result.rows)
            said = None if held else f"{count} rows expected, {len(result.rows)} returned"
            return ExpectationResult(
                kind="row_count",
                verdict="pass" if held else "fail",
                expected=count,
                actual=len(result.rows),
                detail=said,
            )
        case HasColumns(columns=columns):
            names = _names(result)
            lacking = [name for name in columns if name not in names]
            said = f"no column {', '.join(lacking)}; there are {', '.join(names)}" if lacking else None
            return ExpectationResult(
                kind="has_columns",
                verdict="fail" if lacking else "pass",
                expected=list(columns),
                actual=list(names),
                detail=said,
            )
        case ColumnType():
            return _check_type(expectation, result)
        case NotNull(column=column):
            return _check_values("not_null", column, result, _nulls)
        case Unique(column=column):
            return _check_values("unique", column, result, _doubles)


def _names(result: ExecutionResult) -> tuple[str, ...]:
    return result.schema_.names if result.schema_ is not None else ()


def _place(column: str, result: ExecutionResult) -> int | str:
    """Where a column stands, or what keeps one from saying so."""
    names = _names(result)
    if names.count(column) == 1:
        return names.index(column)
    return f"no column {column}; there are {', '.join(names)}" if column not in names else f"two columns {column}"


def _check_type(expectation: ColumnType, result: ExecutionResult) -> ExpectationResult:
    column, wanted = expectation.column, expectation.type
    place = _place(column, result)
    facts: dict[str, Any] = {"kind": "column_type", "column": column, "expected": wanted.raw}
    if isinstance(place, str):
        return ExpectationResult(verdict="fail", detail=place, **facts)
    schema = result.schema_
    if not isinstance(schema, ResultSchema) or schema[place].type.raw == "unknown":
        said = f"the engine does not say of which type {column} is"
        return ExpectationResult(verdict="inconclusive", detail=said, **facts)
    actual = schema[place].type
    if actual == wanted:
        return ExpectationResult(verdict="pass", actual=actual.raw, **facts)
    return ExpectationResult(
        verdict="fail", actual=actual.raw, detail=f"{column} should be {wanted.raw} and is {actual.raw}", **facts
    )


def _check_values(
    kind: Literal["not_null", "unique"],
    column: str,
    result: ExecutionResult,
    offending: Callable[[list[ResultCell]], list[int]],
) -> ExpectationResult:
    place = _place(column, result)
    if isinstance(place, str):
        return ExpectationResult(kind=kind, verdict="fail", column=column, detail=place)
    rows = offending([row[place] for row in result.rows])
    if not rows:
        return ExpectationResult(kind=kind, verdict="pass", column=column, count=0)
    what = "NULL" if kind == "not_null" else "a value that was there before"
    return ExpectationResult(
        kind=kind,
        verdict="fail",
        column=column,
        count=len(rows),
        sample_rows=tuple(result.rows[row] for row in rows[:MAX_SAMPLE]),
        detail=f"{column} has {what} in {len(rows)} of {len(result.rows)} rows",
    )


def _nulls(cells: list[ResultCell]) -> list[int]:
    return [row for row, cell in enumerate(cells) if cell is None]


def _doubles(cells: list[ResultCell]) -> list[int]:
    seen: set[Hashable] = set()
    found = []
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        key = exact(untagged(cell))
        if key in seen:
            found.append(row)
        seen.add(key)
    return found
