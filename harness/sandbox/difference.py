"""Applies the rules of a comparison to two results and says how they differ, in plain data.

Standard library alone: it runs inside the walls, so that what leaves them is bounded whatever the results are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.sandbox.agreement import Row
from harness.sandbox.matching import KeyedVerdict, Verdict, compare_keyed, compare_ordered, compare_unordered
from harness.sandbox.values import preview

_NAMES_SHOWN = 20
Rows = Iterable[Row]


@dataclass(frozen=True)
class Rules:
    """When two results count as the same; see `harness.types.results.ComparisonConfig`.

    Attributes:
        by_name: columns are matched by name instead of by place.
        order_matters: rows are a sequence.
        sort_key: positions in an expected row by which it is sorted, `None` = the order is total.
        hidden: trailing columns of the expected rows that only carry sort keys and are not compared.
        nulls_equal: whether NULL equals NULL in a keyed comparison.
        float_tolerance: absolute tolerance between finite floats.
        match_key: names of the key columns.
    """

    by_name: bool = False
    order_matters: bool = False
    sort_key: tuple[int, ...] | None = None
    hidden: int = 0
    nulls_equal: bool = True
    float_tolerance: float = 1e-9
    match_key: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    @classmethod
    def read(cls, data: dict[str, Any]) -> "Rules":
        """From JSON data."""
        sort_key = data["sort_key"]
        return cls(
            **{
                **data,
                "sort_key": None if sort_key is None else tuple(sort_key),
                "match_key": tuple(data["match_key"]),
            }
        )


def difference(
    expected_names: Sequence[str],
    expected: Rows,
    actual_names: Sequence[str],
    actual: Rows,
    rules: Rules,
    *,
    deadline: float | None = None,
) -> dict[str, Any] | None:
    """How the actual result differs from the expected one.

    Returns:
        `None` when they are the same, else the fields of `harness.types.results.ResultDiff`.

    Raises:
        matching.DeadlineError: not finished in time.
        ValueError: a key column is not in both results, or a name by which columns are matched occurs twice.
    """
    width = len(expected_names) - rules.hidden
    names = list(expected_names[:width])
    facts: dict[str, Any] = {"expected_columns": width, "actual_columns": len(actual_names)}
    found = actual
    if rules.by_name:
        missing, extra = _unmatched(names, list(actual_names))
        if missing or extra:
            return facts | _count(expected, actual) | {"missing_columns": missing, "extra_columns": extra}
        places = [list(actual_names).index(name) for name in names]
        if places != sorted(places):
            found = [tuple(row[place] for place in places) for row in actual]
    elif width != len(actual_names):
        return facts | _count(expected, actual)
    if rules.match_key:
        key = _key_positions(rules.match_key, names, names if rules.by_name else list(actual_names))
        verdict: Verdict = compare_keyed(
            _visible(expected, width, rules),
            found,
            key,
            rules.float_tolerance,
            null_equals_null=rules.nulls_equal,
            deadline=deadline,
        )
    elif rules.order_matters:
        verdict = _compare_in_order(expected, found, width, rules, deadline)
    else:
        left = _visible(expected, width, rules)
        verdict = compare_unordered(left, found, rules.float_tolerance, deadline=deadline)
    return None if verdict.equal else facts | _describe(verdict, names)


def _visible(rows: Rows, width: int, rules: Rules) -> Rows:
    return [row[:width] for row in rows] if rules.hidden else rows


def _compare_in_order(expected: Rows, actual: Rows, width: int, rules: Rules, deadline: float | None) -> Verdict:
    positions = rules.sort_key
    return compare_ordered(
        expected,
        actual,
        rules.float_tolerance,
        sort_key=None if positions is None else (lambda row: tuple(row[position] for position in positions)),
        visible=width if rules.hidden else None,
        deadline=deadline,
    )


def _unmatched(names: list[str], actual_names: list[str]) -> tuple[list[str], list[str]]:
    for side in (names, actual_names):
        if len(set(side)) != len(side):
            raise ValueError("columns cannot be matched by name: a name occurs twice")
    missing = [name[:80] for name in names if name not in actual_names]
    extra = [name[:80] for name in actual_names if name not in names]
    return missing[:_NAMES_SHOWN], extra[:_NAMES_SHOWN]


def _key_positions(key: Sequence[str], names: list[str], actual_names: list[str]) -> list[int]:
    positions = []
    for name in key:
        if names.count(name) != 1 or actual_names.count(name) != 1 or names.index(name) != actual_names.index(name):
            raise ValueError("a match_key column must stand once, and at the same place, in both results")
        positions.append(names.index(name))
    return positions


def _count(expected: Rows, actual: Rows) -> dict[str, Any]:
    return {"expected_rows": sum(1 for _ in expected), "actual_rows": sum(1 for _ in actual)}


def _describe(verdict: Verdict, names: list[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "expected_rows": verdict.expected_count,
        "actual_rows": verdict.actual_count,
        "missing_rows": verdict.missing_count,
        "extra_rows": verdict.extra_count,
        "first_difference": verdict.first_difference,
        "sample_missing": preview(verdict.missing),
        "sample_extra": preview(verdict.extra),
    }
    if isinstance(verdict, KeyedVerdict):
        facts["value_mismatches"] = [
            {"column": names[position][:80], "count": count}
            for position, count in sorted(verdict.column_counts.items())[:_NAMES_SHOWN]
        ]
        facts["null_keys"] = verdict.null_keys
        facts["duplicate_keys"] = verdict.duplicate_keys
        facts["sample_changed"] = [preview(pair) for pair in verdict.changed]
    return facts
