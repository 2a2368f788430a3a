"""The work of one case next to an engine: run a query, or run two and compare them, and write one bounded report.

Standard library alone: it runs inside the walls. Every way in which a query can fail is a `Failure` with a fixed code;
no message of a driver, no SQL and no value is part of a report, except the rows that were asked for.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from harness.sandbox.agreement import Row
from harness.sandbox.difference import Rules, difference
from harness.sandbox.matching import DeadlineError
from harness.sandbox.values import encode, tagged, weigh

MAX_REPORT = 128 * 1024
"""Bytes of the report of a comparison."""


class Failure(Exception):
    """A query that could not be run to its end.

    Attributes:
        status: the status of the result.
        code: what happened, from a closed list.
        layer: which wall stopped it.
        sqlstate: SQLSTATE, where the engine gave one.
        condition: the engine's own name of the error, where it has one.
    """

    def __init__(
        self, status: str, code: str, layer: str, *, sqlstate: str | None = None, condition: str | None = None
    ) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.layer = layer
        self.sqlstate = sqlstate
        self.condition = condition

    def report(self) -> dict[str, Any]:
        """As the report of a case."""
        return {
            "status": self.status,
            "code": self.code,
            "layer": self.layer,
            "sqlstate": self.sqlstate,
            "condition": self.condition,
        }


@dataclass(frozen=True)
class QueryLimits:
    """What one query may give and take.

    Attributes:
        seconds: until it is interrupted.
        max_rows: rows it may return.
        max_value_bytes: bytes of one value.
        max_result_bytes: bytes of the whole result.
    """

    seconds: float
    max_rows: int
    max_value_bytes: int
    max_result_bytes: int


class Reader(Protocol):
    """An engine with a fixture open, inside its walls."""

    def rows(self, query: str, seconds: float) -> tuple[list[dict[str, str]], Iterator[Row]]:
        """Start a query: its columns (`name`, `type`; the type "" where it has none) and its rows as they come."""
        ...

    def failure(self, error: Exception) -> Failure | None:
        """What an exception of the engine means; `None` = it is none of the engine's."""
        ...


def execute(reader: Reader, query: str, limits: QueryLimits) -> dict[str, Any]:
    """Run one query and report its rows, encoded.

    A row or byte beyond the limit makes the report `truncated`, with the rows that fit; a value beyond its limit, or
    any failure, leaves no rows.
    """
    try:
        columns, rows = reader.rows(query, limits.seconds)
        encoded: list[str] = []
        size = len(encode(columns)) + 4
        for row in rows:
            _weigh_row(row, limits)
            text = encode([tagged(value) for value in row])
            size += len(text) + 1
            if len(encoded) >= limits.max_rows or size > limits.max_result_bytes:
                code = "row_limit" if len(encoded) >= limits.max_rows else "byte_limit"
                return _result(columns, encoded, "truncated", code)
            encoded.append(text)
    except Exception as error:
        return _failure(reader, error).report()
    return _result(columns, encoded, "success", None)


def _result(columns: list[dict[str, str]], encoded: list[str], status: str, code: str | None) -> dict[str, Any]:
    return {
        "status": status,
        "code": code,
        "layer": "limits" if code else None,
        "columns": columns,
        "rows": "[" + ",".join(encoded) + "]",
    }


def _weigh_row(row: Row, limits: QueryLimits) -> int:
    total = 0
    for value in row:
        size = weigh(value)
        if size > limits.max_value_bytes:
            raise Failure("resource_limit", "value_too_large", "limits")
        total += size
    return total


def _failure(reader: Reader, error: Exception) -> Failure:
    if isinstance(error, Failure):
        return error
    if isinstance(error, MemoryError):
        return Failure("resource_limit", "memory_limit", "kernel")
    if isinstance(error, DeadlineError):
        return Failure("timeout", "comparison_timeout", "deadline")
    known = reader.failure(error)
    return known if known is not None else Failure("execution_error", "engine_failed", "engine")


@dataclass(frozen=True)
class Pair:
    """Two queries to compare.

    Attributes:
        reference: the expected query.
        generated: the query to check.
        rules: when their results count as the same.
        show_diff: whether rows may be part of the report.
    """

    reference: str
    generated: str
    rules: Rules
    show_diff: bool = False


def compare(
    reader: Reader, pair: Pair, limits: QueryLimits, reached: Callable[[str], None] = lambda _stage: None
) -> dict[str, Any]:
    """Run the two queries of a pair on the same fixture and report how their results stand to each other.

    Args:
        reader: the engine.
        pair: the two queries and the rules.
        limits: of each query; comparing may take as long as one query.
        reached: told `R` when the reference has run and `G` when the generated query has, for whoever holds the clock.
    """
    try:
        names, expected = _fetch(reader, pair.reference, limits)
        reached("R")
    except Exception as error:
        return {"outcome": "reference_error", **_failure(reader, error).report()}
    try:
        actual_names, actual = _fetch(reader, pair.generated, limits)
        reached("G")
        found = difference(
            names, expected, actual_names, actual, pair.rules, deadline=time.monotonic() + limits.seconds
        )
    except ValueError as error:
        # A key or a name that the results cannot be matched by: the case's rules are at fault.
        known = reader.failure(error)
        if known is not None:
            return {"outcome": outcome_of(known), **known.report()}
        return {"outcome": "reference_error", **Failure("execution_error", "rules_do_not_fit", "comparison").report()}
    except Exception as error:
        failure = _failure(reader, error)
        return {"outcome": outcome_of(failure), **failure.report()}
    if found is None:
        return {"outcome": "match", "rows": [len(expected), len(actual)]}
    return _mismatch(found, show_diff=pair.show_diff)


def _mismatch(found: dict[str, Any], *, show_diff: bool) -> dict[str, Any]:
    samples = ("sample_missing", "sample_extra", "sample_changed")
    bare = {name: value for name, value in found.items() if name not in samples}
    report = {"outcome": "mismatch", "diff": found if show_diff else bare, "diff_truncated": False}
    if len(encode(report)) > MAX_REPORT:
        report = {"outcome": "mismatch", "diff": bare, "diff_truncated": True}
    return report


def outcome_of(failure: Failure) -> str:
    """The outcome of a case whose generated query failed like this."""
    if failure.status == "timeout":
        return "timeout"
    if failure.status == "validation_rejected":
        # A text that is no SQL, or names a table that is not there, is wrong; the rest is not allowed.
        return "generated_error" if failure.code in ("unparseable", "unknown_table") else "refused"
    if failure.code == "row_limit":
        return "too_many_rows"
    if failure.code in ("value_too_large", "byte_limit"):
        return "too_many_bytes"
    return "resource_limit" if failure.status == "resource_limit" else "generated_error"


def _fetch(reader: Reader, query: str, limits: QueryLimits) -> tuple[list[str], list[Row]]:
    columns, rows = reader.rows(query, limits.seconds)
    kept: list[Row] = []
    size = 0
    for row in rows:
        if len(kept) >= limits.max_rows:
            raise Failure("truncated", "row_limit", "limits")
        size += _weigh_row(row, limits)
        if size > limits.max_result_bytes:
            raise Failure("truncated", "byte_limit", "limits")
        kept.append(row)
    return [column["name"] for column in columns], kept
