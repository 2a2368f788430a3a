"""Execution accuracy of a case file on a fixture: every case run and compared, one bounded report, one verdict."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from harness.sandbox.casefile import SqlCase
from harness.sandbox.result import PairResult
from harness.sandbox.sandbox import Database, Sandbox
from harness.types.results import ComparisonConfig, ResultDiff

MAX_REPORT_BYTES = 16 * 1024 * 1024
_FRAME_BYTES = 4096  # of the report: everything but its cases

Symbol = Literal["PASS", "SCORE_BELOW", "BAD_ARGS", "WEAK_EVIDENCE", "IO_ERROR"]
EXIT_CODES: dict[Symbol, int] = {"PASS": 0, "SCORE_BELOW": 1, "BAD_ARGS": 5, "WEAK_EVIDENCE": 7, "IO_ERROR": 11}

OUTCOMES = (
    "match",
    "mismatch",
    "generated_error",
    "reference_error",
    "refused",
    "timeout",
    "too_many_rows",
    "too_many_bytes",
    "resource_limit",
)
_CONCLUSIVE = frozenset({"match", "mismatch", "generated_error"})


@dataclass
class CheckReport:
    """What became of a case file.

    Attributes:
        symbol: the verdict.
        complete: every case is in it; an incomplete report has no accuracy.
        accuracy: matches over cases with a valid reference, `None` = unavailable.
        min_accuracy: what was asked for.
        counts: cases by outcome.
        cases: per case its id and outcome, and its difference where that was asked for and fits.
        dropped_diffs: differences that did not fit.
        engine: engine and version.
        layers: the walls that stood.
        warnings: walls that this system does not have.
    """

    symbol: Symbol
    complete: bool
    accuracy: float | None
    min_accuracy: float
    counts: dict[str, int]
    cases: list[dict[str, Any]] = field(default_factory=list)
    dropped_diffs: int = 0
    engine: str = ""
    layers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "format": "rung.sql-check/1",
            "status": self.symbol,
            "exitCode": EXIT_CODES[self.symbol],
            "complete": self.complete,
            "executionAccuracy": self.accuracy,
            "minAccuracy": self.min_accuracy,
            "caseCount": sum(self.counts.values()),
            "matchCount": self.counts.get("match", 0),
            "referenceErrorCount": self.counts.get("reference_error", 0),
            "outcomes": {name: self.counts.get(name, 0) for name in OUTCOMES},
            "diffTruncatedCaseCount": self.dropped_diffs,
            "engine": self.engine,
            "layers": list(self.layers),
            "warnings": list(self.warnings),
            "cases": self.cases,
        }


def check_cases(
    sandbox: Sandbox,
    database: Database,
    cases: Iterable[SqlCase],
    *,
    min_accuracy: float = 1.0,
    show_diff: bool = False,
    parallel: int = 1,
    max_report_bytes: int = MAX_REPORT_BYTES,
) -> CheckReport:
    """Run every case and come to a verdict.

    Args:
        sandbox: open, with the policy for checks.
        database: the fixture.
        cases: what to run.
        min_accuracy: the accuracy that passes, 0 to 1.
        show_diff: keep sample rows of mismatches.
        parallel: cases at a time.
        max_report_bytes: the longest report; differences are dropped to keep it, and the verdict is WEAK_EVIDENCE when
            even the outcomes do not fit.

    Raises:
        harness.errors.SandboxError: the database is refused or cannot be reached.
    """
    engine = sandbox.engine(database)
    keeper = _Keeper(max_report_bytes)
    counts: Counter[str] = Counter()
    last: PairResult | None = None

    def run(case: SqlCase) -> PairResult:
        rules = ComparisonConfig(order_matters=case.order_matters, float_tolerance=case.float_tolerance)
        return sandbox.compare(database, case.reference, case.generated, rules, show_diff=show_diff)

    for case, result in _in_order(run, cases, parallel):
        last = result
        counts[result.outcome] += 1
        keeper.keep(case.id, result, show_diff=show_diff)
    accuracy = _accuracy(counts) if keeper.complete else None
    return CheckReport(
        symbol=_verdict(counts, accuracy, min_accuracy, complete=keeper.complete),
        complete=keeper.complete,
        accuracy=accuracy,
        min_accuracy=min_accuracy,
        counts=dict(counts),
        cases=keeper.cases if keeper.complete else [],
        dropped_diffs=keeper.dropped,
        engine=engine,
        layers=last.layers if last is not None else (),
        warnings=last.warnings if last is not None else (),
    )


def _in_order(run: Any, cases: Iterable[SqlCase], parallel: int) -> Iterator[tuple[SqlCase, PairResult]]:
    """Results in the order of the cases, a bounded number ahead."""
    if parallel <= 1:
        for case in cases:
            yield case, run(case)
        return
    source = iter(cases)
    with ThreadPoolExecutor(parallel, thread_name_prefix="sql-check") as pool:
        waiting = [(case, pool.submit(run, case)) for case in islice(source, 2 * parallel)]
        while waiting:
            case, future = waiting.pop(0)
            yield case, future.result()
            waiting.extend((case, pool.submit(run, case)) for case in islice(source, 1))


def _accuracy(counts: Counter[str]) -> float | None:
    valid = sum(counts.values()) - counts["reference_error"]
    return counts["match"] / valid if valid else None


def _verdict(counts: Counter[str], accuracy: float | None, minimum: float, *, complete: bool) -> Symbol:
    if not complete or accuracy is None or any(name not in _CONCLUSIVE for name, count in counts.items() if count):
        return "WEAK_EVIDENCE"
    return "PASS" if accuracy >= minimum else "SCORE_BELOW"


class _Keeper:
    """Keeps the cases of a report within its bytes: outcomes first, differences as they fit."""

    def __init__(self, limit: int) -> None:
        self.cases: list[dict[str, Any]] = []
        self.dropped = 0
        self.complete = True
        self._left = limit - _FRAME_BYTES
        self._with_diff: list[tuple[int, int]] = []

    def keep(self, case_id: str, result: PairResult, *, show_diff: bool) -> None:
        """Add one case."""
        entry: dict[str, Any] = {"id": case_id, "outcome": result.outcome}
        if result.error is not None:
            entry["reason"] = result.error.code
        base = _bytes({**entry, "diffTruncated": True})
        while base > self._left and self._with_diff:
            self._drop_last()
        if base > self._left:
            self.complete = False
            return
        self._left -= base
        self.cases.append(entry)
        if not show_diff or result.diff is None:
            return
        if result.diff_truncated:
            entry["diffTruncated"] = True
            self.dropped += 1
            return
        diff = _diff(result.diff)
        size = _bytes({"diff": diff})
        if size > self._left:
            entry["diffTruncated"] = True
            self.dropped += 1
            return
        entry["diff"] = diff
        self._left -= size
        self._with_diff.append((len(self.cases) - 1, size))

    def _drop_last(self) -> None:
        place, size = self._with_diff.pop()
        del self.cases[place]["diff"]
        self.cases[place]["diffTruncated"] = True
        self._left += size
        self.dropped += 1


def _bytes(data: Any) -> int:
    return len(json.dumps(data, separators=(",", ":"))) + 2


def _diff(diff: ResultDiff) -> dict[str, Any]:
    return {
        "expectedRowCount": diff.expected_rows,
        "actualRowCount": diff.actual_rows,
        "expectedColumnCount": diff.expected_columns,
        "actualColumnCount": diff.actual_columns,
        "missingRowCount": diff.missing_rows,
        "extraRowCount": diff.extra_rows,
        "firstDifference": diff.first_difference,
        "missingRows": [list(row) for row in diff.sample_missing],
        "extraRows": [list(row) for row in diff.sample_extra],
    }
