"""Results as tables: CSV for a spreadsheet, JSONL for a program. One row a case."""

import csv
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO, cast

from pydantic import JsonValue

from harness.report import words
from harness.report.replacing import replacing
from harness.report.reporter import RunView
from harness.types.cases import Case
from harness.types.outcomes import CaseResult, Failed, NoAnswer, Unmet, basis_of

COLUMNS = (
    "id",
    "nl",
    "grade",
    "basis",
    "expected",
    "actual",
    "raw",
    "reason",
    "differences",
    "tags",
    "passes",
    "repeats",
    "distinct_answers",
    "latency_ms",
    "prompt_tokens",
    "completion_tokens",
    "repairs",
    "retries",
    "exec",
    "now",
    "case_digest",
)
"""The columns of a results CSV. Numbers of calls, tokens and retries are sums over the repeats, latency their mean."""

LONGEST_CELL = 32_000
"""Characters of a CSV cell; a spreadsheet takes 32,767 and breaks the row past that. The JSONL has all."""
_FORMULA = re.compile(r"\A[=+\-@\t\r\n]")
_BOM = "\ufeff"


class CsvReporter:
    """A results CSV that opens in a spreadsheet without surprises."""

    def write(self, run: RunView, path: Path) -> None:
        """Write one row per case.

        A byte order mark is written only where there is text beyond ASCII, which spreadsheets misread without one.
        """
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", newline="") as body,
            replacing(path, newline="") as file,
        ):
            writer = csv.writer(body)
            writer.writerow(COLUMNS)
            ascii_only = True
            for case, result in run.results():
                cells = [_cell(value) for value in row(case, result).values()]
                ascii_only = ascii_only and all(cell.isascii() for cell in cells)
                writer.writerow(cells)
            body.seek(0)
            file.write("" if ascii_only else _BOM)
            shutil.copyfileobj(cast(TextIO, body), file)


class JsonLinesReporter:
    """One JSON object a case: the row of the CSV with lists as lists, the case, and every attempt in full."""

    def write(self, run: RunView, path: Path) -> None:
        """Write one line per case."""
        with replacing(path) as file:
            for line in json_lines(run):
                file.write(line)


def json_lines(run: RunView) -> Iterator[str]:
    """The lines of the results JSONL."""
    for case, result in run.results():
        document: dict[str, JsonValue] = dict(row(case, result))
        document["format"] = "rung.result/1"
        document["tags"] = list(case.tags)
        document["differences"] = [
            {**difference.model_dump(mode="json"), "message": difference.message}
            for difference in words.differences_of(result.worst.judgement)
        ]
        document["case"] = case.model_dump(mode="json")
        document["outcomes"] = [outcome.model_dump(mode="json") for outcome in result.outcomes]
        yield json.dumps(document, ensure_ascii=False) + "\n"


def row(case: Case, result: CaseResult) -> dict[str, str | int | float | None]:
    """A case as one row; what is said of the answer is said of the attempt that decides the case."""
    worst = result.worst
    replies = [outcome.reply for outcome in result.outcomes]
    calls = [call for reply in replies for call in reply.calls]
    values = (
        case.id,
        case.nl,
        result.grade,
        basis_of(worst.judgement),
        words.expected_text(case.expectation),
        words.answer_text(worst.reply.answer),
        worst.reply.raw,
        _reason(worst.judgement),
        "; ".join(difference.message for difference in words.differences_of(worst.judgement)),
        ";".join(case.tags),
        sum(outcome.passed for outcome in result.outcomes),
        len(result.outcomes),
        result.distinct_answers,
        round(sum(call.latency_ms for call in calls) / len(calls), 1) if calls else None,
        _total([call.usage.prompt for call in calls]),
        _total([call.usage.completion for call in calls]),
        sum(reply.repairs for reply in replies),
        sum(reply.retries for reply in replies),
        worst.execution.outcome if worst.execution is not None else None,
        worst.now.isoformat().replace("+00:00", "Z"),
        worst.case_digest,
    )
    return dict(zip(COLUMNS, values, strict=True))


def _reason(judgement: object) -> str | None:
    match judgement:
        case NoAnswer(reason=reason, message=message):
            return f"{reason}: {message}" if message else reason
        case Failed(message=message, evidence=evidence):
            if isinstance(evidence, Unmet):
                return "; ".join(evidence.lines)
            problem = evidence.problem if evidence is not None and evidence.basis == "undecided" else None
            return message or (problem.message if problem is not None else None)
        case _:
            return None


def _total(reported: list[int | None]) -> int | None:
    known = [count for count in reported if count is not None]
    return sum(known) if known else None


def _cell(value: str | float | None) -> str:
    """A cell's text: a formula made harmless, control characters that no spreadsheet can hold left out."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = _UNPRINTABLE.sub("\ufffd", value)
    if len(text) > LONGEST_CELL:
        text = f"{text[:LONGEST_CELL]}... [{len(text)} characters in all]"
    return f"'{text}" if _FORMULA.match(text) else text


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
