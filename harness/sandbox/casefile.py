"""Reads the case file of `rung sql check`: JSON Lines, bounded in bytes before parsing, refused as a whole."""

import json
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.types.problems import FileProblem

MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
MAX_CASES = 10_000
MAX_ID_BYTES = 256
MAX_SQL_BYTES = 100_000
_TEXTS = ("id", "question", "generatedSql", "referenceSql")
_FIELDS = frozenset({*_TEXTS, "orderMatters", "floatTolerance"})


class CaseFileError(InputError):
    """A case file that cannot be used."""


@dataclass(frozen=True)
class SqlCase:
    """One line: two queries that should answer one question.

    Attributes:
        id: unique in its file.
        question: what both should answer.
        generated: the query to check.
        reference: the expected query.
        order_matters: rows must come in the reference's order.
        float_tolerance: absolute tolerance between finite floats.
    """

    id: str
    question: str
    generated: str
    reference: str
    order_matters: bool = False
    float_tolerance: float = 1e-9


class _Flaw(Exception):
    """What is wrong with a line."""

    def __init__(self, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


def read_cases(path: Path) -> tuple[SqlCase, ...]:
    """Read a case file.

    Raises:
        CaseFileError: with every problem found (at most 50).
    """
    cases: list[SqlCase] = []
    problems: list[FileProblem] = []
    seen: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            case = _case(line)
            if case.id in seen:
                raise _Flaw(f"the id stands on line {seen[case.id]} already", "id")
            if len(cases) >= MAX_CASES:
                raise _Flaw(f"a case file holds at most {MAX_CASES:,} cases")
        except _Flaw as flaw:
            problems.append(FileProblem(path=path, line=number, column=flaw.column, message=str(flaw)))
            if len(problems) >= 50:
                break
            continue
        seen[case.id] = number
        cases.append(case)
    if not cases and not problems:
        problems.append(FileProblem(path=path, line=None, column=None, message="the file holds no cases"))
    if problems:
        raise CaseFileError(tuple(problems))
    return tuple(cases)


def _refuse(path: Path, message: str, line: int | None = None) -> CaseFileError:
    return CaseFileError((FileProblem(path=path, line=line, column=None, message=message),))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers, ended by LF alone."""
    try:
        # Non-blocking, so that opening a pipe nobody writes to does not hang.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as problem:
        raise _refuse(path, f"cannot be opened: {problem.strerror}") from problem
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        raise _refuse(path, "is no regular file; pipes and devices are not read")
    with os.fdopen(descriptor, "rb") as file:
        if facts.st_size > MAX_FILE_BYTES:
            raise _refuse(path, f"is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
        read = 0
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 2):
            number += 1
            read += len(line)
            body = line.removesuffix(b"\n")
            if len(body) > MAX_LINE_BYTES:
                raise _refuse(path, f"the line is longer than {MAX_LINE_BYTES // 1024 // 1024} MiB", number)
            if read > MAX_FILE_BYTES:
                raise _refuse(path, f"is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
            if body.strip(b" \t\r"):
                yield number, body


def _case(line: bytes) -> SqlCase:
    data = _object(line)
    if unknown := sorted(set(data) - _FIELDS):
        known = ", ".join((*_TEXTS, "orderMatters", "floatTolerance"))
        raise _Flaw(f"unknown field {unknown[0][:80]!r}; the fields are {known}")
    texts = {name: _text(data, name) for name in _TEXTS}
    if len(texts["id"].encode()) > MAX_ID_BYTES:
        raise _Flaw(f"longer than {MAX_ID_BYTES} bytes", "id")
    for name in ("generatedSql", "referenceSql"):
        if len(texts[name].encode()) > MAX_SQL_BYTES:
            raise _Flaw(f"longer than {MAX_SQL_BYTES:,} bytes", name)
    order = data.get("orderMatters", False)
    if not isinstance(order, bool):
        raise _Flaw("must be true or false", "orderMatters")
    return SqlCase(
        id=texts["id"],
        question=texts["question"],
        generated=texts["generatedSql"],
        reference=texts["referenceSql"],
        order_matters=order,
        float_tolerance=_tolerance(data),
    )


def _object(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line.decode(), object_pairs_hook=_once)
    except UnicodeDecodeError as problem:
        raise _Flaw("is no UTF-8") from problem
    except RecursionError as problem:
        raise _Flaw("is nested too deeply") from problem
    except ValueError as problem:
        raise _Flaw(f"is no JSON: {str(problem)[:100]}") from problem
    if not isinstance(data, dict):
        raise _Flaw("is no JSON object")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _Flaw("a field stands twice")
    return data


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise _Flaw("is missing" if name not in data else "must be text", name)
    if not value.strip():
        raise _Flaw("must not be empty", name)
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise _Flaw("holds half a character (a lone surrogate)", name) from problem
    return value


def _tolerance(data: dict[str, Any]) -> float:
    value = data.get("floatTolerance", 1e-9)
    try:
        sound = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    except OverflowError:
        sound = False
    if not sound:
        raise _Flaw("must be a finite number, 0 or more", "floatTolerance")
    return float(value)
