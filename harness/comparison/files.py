"""Reads results files, CSV or JSONL, as sides of a comparison: ours, and any table that has an id and a grade."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

from pydantic import JsonValue, ValidationError

from harness.comparison.sides import CaseSide, Side, case_side
from harness.errors import InputError, UsageError
from harness.types.cases import Case
from harness.types.outcomes import PASSES, CaseResult, Grade
from harness.types.problems import FileProblem

_GRADES: frozenset[str] = frozenset(get_args(Grade))
_FORMULA = ("'=", "'+", "'-", "'@", "'\t", "'\r", "'\n")
"""How a cell starts that was made harmless for a spreadsheet."""


def read_results(path: Path) -> Side:
    """Read a results file.

    A JSONL of ours carries every attempt in full. A CSV needs the columns `id` and `grade`; what else it has of
    `nl expected actual differences tags passes repeats latency_ms prompt_tokens completion_tokens case_digest` is used.

    Raises:
        UsageError: the file cannot be opened, or is neither CSV nor JSONL by its name.
        InputError: it holds what is no result; every problem is named with its line.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            (FileProblem(path=path, line=None, column=None, message=f"not UTF-8: {error.reason}"),)
        ) from error
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{path}: not a run folder, and not a results file by its name (.csv or .jsonl)")
    rows = _from_csv(path, text) if suffix == ".csv" else _from_jsonl(path, text)
    cases: list[CaseSide] = []
    problems: list[FileProblem] = []
    for row in rows:
        if isinstance(row, FileProblem):
            problems.append(row)
        else:
            cases.append(row)
    if not cases and not problems:
        problems.append(FileProblem(path=path, line=None, column=None, message="no results in it"))
    if problems:
        raise InputError(tuple(problems))
    return Side(label=path.stem, source=str(path), cases=tuple(cases))


def _from_csv(path: Path, text: str) -> Iterator[CaseSide | FileProblem]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip().lower() for name in next(reader, [])]
    missing = [name for name in ("id", "grade") if name not in header]
    if missing:
        message = f"the header has no column {' and no column '.join(missing)}; it has {', '.join(header) or 'nothing'}"
        yield FileProblem(path=path, line=1, column=None, message=message)
        return
    start = reader.line_num + 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                values = {name: _plain(cell) for name, cell in zip(header, cells, strict=False)}
                yield _case_of_row(path, start, values, too_many=len(cells) > len(header))
            start = reader.line_num + 1
    except csv.Error as error:
        yield FileProblem(path=path, line=start, column=None, message=f"not CSV: {error}")


def _case_of_row(path: Path, line: int, values: dict[str, str], *, too_many: bool) -> CaseSide | FileProblem:
    def problem(column: str | None, message: str) -> FileProblem:
        return FileProblem(path=path, line=line, column=column, message=message)

    if too_many:
        return problem(None, "more cells than the header has columns")
    identity, grade = values.get("id", "").strip(), values.get("grade", "").strip().upper()
    if not identity:
        return problem("id", "empty")
    if grade not in _GRADES:
        return problem("grade", f"{grade or 'empty'}: a grade is one of {', '.join(get_args(Grade))}")
    try:
        attempts = int(values.get("repeats") or 1)
        passes = int(values["passes"]) if values.get("passes") else attempts * (grade in PASSES)
        latency = float(values["latency_ms"]) if values.get("latency_ms") else None
        prompt, completion = (
            int(values[name]) if values.get(name) else None for name in ("prompt_tokens", "completion_tokens")
        )
    except ValueError as error:
        return problem(None, f"a count is no number: {error}")
    if attempts < 1 or not 0 <= passes <= attempts or (passes == attempts) != (grade in PASSES):
        return problem("passes", f"{passes} of {attempts} attempts passed does not go with the grade {grade}")
    return CaseSide(
        id=identity,
        digest=values.get("case_digest") or None,
        nl=values.get("nl"),
        expected=values.get("expected"),
        tags=tuple(tag.strip() for tag in values.get("tags", "").split(";") if tag.strip()),
        group=values.get("group") or None,
        grade=cast(Grade, grade),
        passes=passes,
        attempts=attempts,
        actual=values.get("actual", ""),
        lines=tuple(line for line in (values.get("differences") or values.get("reason") or "").split("; ") if line),
        latencies=() if latency is None else (latency,),
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


def _from_jsonl(path: Path, text: str) -> Iterator[CaseSide | FileProblem]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            document: JsonValue = json.loads(line)
        except ValueError as error:
            yield FileProblem(path=path, line=number, column=None, message=f"not JSON: {error}")
            continue
        if not isinstance(document, dict):
            yield FileProblem(path=path, line=number, column=None, message="not a JSON object")
        elif "case" in document and "outcomes" in document:
            yield _case_of_document(path, number, document)
        else:
            yield _case_of_row(path, number, _flat(document), too_many=False)


def _case_of_document(path: Path, line: int, document: dict[str, JsonValue]) -> CaseSide | FileProblem:
    """A line of our own results: the case and every attempt in full."""
    try:
        case = Case.model_validate_json(json.dumps(document["case"]))
        result = CaseResult.model_validate_json(json.dumps({"outcomes": document["outcomes"]}))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return FileProblem(path=path, line=line, column=place, message=first["msg"])
    return case_side(case, result)


def _flat(document: dict[str, JsonValue]) -> dict[str, str]:
    """A JSON object as the cells of a row."""

    def cell(value: JsonValue) -> str:
        match value:
            case None:
                return ""
            case str():
                return value
            case list():
                return ";".join(cell(item) for item in value)
            case {"message": str(message)}:
                return message
            case _:
                return json.dumps(value)

    return {name.lower(): cell(value) for name, value in document.items()}


def _plain(cell: str) -> str:
    """A cell without the apostrophe that kept a spreadsheet from running it."""
    return cell[1:] if cell.startswith(_FORMULA) else cell
