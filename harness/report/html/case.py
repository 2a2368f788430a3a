"""One case as the HTML report shows it: everything computed, nothing escaped yet."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import JsonValue

from canon.verdict import Cell, DocumentWitness, RowWitness, Table, Witness
from harness.report import words
from harness.report.html.text import anchor
from harness.report.marking import Segment, mark
from harness.types.cases import Case
from harness.types.outcomes import CaseResult, Equivalent, Failed, Grade, Outcome, basis_of

ROWS = 20
"""Rows of a witness table that are shown; witnesses are shrunk to a handful."""


class WitnessRow(NamedTuple):
    """A row of a witness table, and whether the other result lacks it."""

    cells: tuple[str, ...]
    differs: bool


class WitnessTable(NamedTuple):
    """A table or a set of documents of a witness."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[WitnessRow, ...]
    more: int
    side: str


class WitnessView(NamedTuple):
    """A witness: what the data is, what each query gives on it, and what that shows."""

    data: tuple[WitnessTable, ...]
    results: tuple[WitnessTable, WitnessTable]
    reading: str
    confirmed: str


class AttemptView(NamedTuple):
    """The attempts of a case that gave one answer."""

    numbers: str
    grade: Grade
    latency: str
    answer: str


class CaseView(NamedTuple):
    """What the template prints of one case."""

    anchor: str
    id: str
    nl: str
    grade: Grade
    basis: str
    tags: tuple[str, ...]
    kinds: str
    latency: float
    passed: int
    attempts: tuple[AttemptView, ...]
    grades: tuple[Grade, ...]
    flag: str
    facts: str
    why: str
    lines: tuple[str, ...]
    absorbed: tuple[str, ...]
    assumptions: tuple[str, ...]
    expected: tuple[Segment, ...]
    actual: tuple[Segment, ...]
    accepted: tuple[str, ...]
    witness: WitnessView | None
    execution: str
    contradiction: bool
    raw: str
    cut: str
    lean: bool


def view_case(case: Case, result: CaseResult, limit: int, *, clock: datetime, lean: bool = False) -> CaseView:
    """Prepare a case.

    Args:
        case: the case.
        result: its attempts.
        limit: characters that each long text may take.
        clock: the run's clock; a case with another one says so.
        lean: leave out the witness, the attempts and the raw reply.
    """
    worst = result.worst
    judgement = worst.judgement
    expected, actual = _sides(case, worst, limit)
    calls = [call.latency_ms for call in worst.reply.calls]
    raw = worst.reply.raw
    return CaseView(
        anchor=anchor(case.id),
        id=words.clip(case.id, 200),
        nl=words.clip(case.nl, max(120, limit // 4)),
        grade=worst.grade,
        basis=basis_of(judgement),
        tags=tuple(words.clip(tag, 80) for tag in case.tags[:20]),
        kinds=" ".join(words.kinds_of(judgement)),
        latency=round(sum(calls)),
        passed=sum(outcome.passed for outcome in result.outcomes),
        attempts=_attempts(result.outcomes, limit) if len(result.outcomes) > 1 and not lean else (),
        grades=tuple(outcome.grade for outcome in result.outcomes),
        flag="flaky" if result.flaky else "steady" if result.steady else "",
        facts=_facts(case, worst, limit, clock),
        why="" if lean else words.why(judgement),
        lines=tuple(words.clip(line, limit) for line in words.failure_lines(judgement)[: 1 if lean else 12]),
        absorbed=tuple(words.identity(words.clip(name, 80)) for name in words.absorbed_of(judgement)[:40]),
        assumptions=_assumptions(worst, limit),
        expected=expected,
        actual=actual,
        accepted=tuple(words.clip(text, limit) for text in case.accept[:8]),
        witness=None if lean else _witness(worst, limit),
        execution=_execution(worst, limit),
        contradiction=worst.execution is not None and worst.execution.contradiction,
        raw="" if lean or raw.strip() == words.answer_text(worst.reply.answer).strip() else words.clip(raw, limit),
        cut="" if lean else words.clip(worst.reply.cut, limit),
        lean=lean,
    )


def text_lengths(case: Case, result: CaseResult) -> list[int]:
    """How long the texts of a case are that may have to be clipped."""
    texts = [words.expected_text(case.expectation), *case.accept, *words.failure_lines(result.worst.judgement)]
    for outcome in result.outcomes:
        texts.append(words.answer_text(outcome.reply.answer))
    worst = result.worst.reply
    texts += [worst.raw, worst.cut]
    return [len(text) for text in texts]


def _sides(case: Case, worst: Outcome, limit: int) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    expected, more = words.clipped(words.expected_text(case.expectation), limit)
    if worst.grade == "EXACT":
        return (Segment(expected + more, False),), ()
    actual, rest = words.clipped(words.answer_text(worst.reply.answer), limit)
    if worst.reply.answer.kind in ("sql", "mongo") and case.expectation.kind in ("sql", "mongo"):
        left, right = mark(expected, actual)
        return (*left, Segment(more, False)), (*right, Segment(rest, False))
    return (Segment(expected + more, False),), (Segment(actual + rest, False),)


def _facts(case: Case, worst: Outcome, limit: int, clock: datetime) -> str:
    """The conditions and measurements of a case in one line."""
    reply = worst.reply
    usage = [call.usage for call in reply.calls]
    prompt, completion = [u.prompt for u in usage if u.prompt], [u.completion for u in usage if u.completion]
    parts = [
        case.backend,
        f"clock {worst.now:%Y-%m-%d %H:%M} UTC" if worst.now != clock else "",
        f"group {words.clip(case.group, 60)}" if case.group else "",
        f"scope {words.clip(json.dumps(case.scope, ensure_ascii=False), max(60, limit // 4))}" if case.scope else "",
        f"weight {case.weight:g}" if case.weight != 1 else "",
        f"{sum(prompt):,} + {sum(completion):,} tokens" if prompt or completion else "",
        words.count(reply.repairs, "repair") if reply.repairs else "",
        words.count(reply.retries, "retry", "retries") if reply.retries else "",
    ]
    return " · ".join(part for part in parts if part)


def _attempts(outcomes: Sequence[Outcome], limit: int) -> tuple[AttemptView, ...]:
    """One row an answer, in order of first appearance, with the attempts that gave it."""
    alike: dict[tuple[Grade, str], list[Outcome]] = {}
    for outcome in outcomes:
        alike.setdefault((outcome.grade, words.answer_text(outcome.reply.answer)), []).append(outcome)
    return tuple(
        AttemptView(
            numbers=", ".join(str(outcome.repeat + 1) for outcome in group),
            grade=grade,
            latency=_latencies([sum(call.latency_ms for call in outcome.reply.calls) for outcome in group]),
            answer=words.clip(answer, limit),
        )
        for (grade, answer), group in alike.items()
    )


def _latencies(values: Sequence[float]) -> str:
    """One latency, or the least and the largest."""
    low, high = words.milliseconds(min(values)), words.milliseconds(max(values))
    if max(values) == 0:
        return ""
    return low if low == high else f"{low} to {high}"


def _assumptions(worst: Outcome, limit: int) -> tuple[str, ...]:
    judgement = worst.judgement
    if isinstance(judgement, Equivalent) and judgement.evidence.basis == "proved":
        return tuple(words.clip(each, limit) for each in judgement.evidence.assumptions[:12])
    return ()


def _execution(worst: Outcome, limit: int) -> str:
    if worst.execution is None:
        return ""
    outcome = worst.execution.outcome.replace("_", " ")
    detail = f" – {worst.execution.detail}" if worst.execution.detail else ""
    return words.clip(f"{outcome} on {worst.execution.engine}{detail}", max(120, limit))


def _witness(worst: Outcome, limit: int) -> WitnessView | None:
    judgement = worst.judgement
    if not isinstance(judgement, Failed) or judgement.evidence is None or judgement.evidence.basis != "refuted":
        return None
    return view_witness(judgement.evidence.witness, limit)


def view_witness(witness: Witness, limit: int) -> WitnessView:
    """A witness as tables of text."""
    size = max(40, min(400, limit))
    reading = words.clip(witness.reading or "", max(200, limit))
    confirmed = ", ".join(engine for engine in witness.confirmed_on if engine != "regions")
    if isinstance(witness, RowWitness):
        data = tuple(_table(table, table.name, "data", Counter(), size) for table in witness.tables[:8])
        expected_rows, actual_rows = _keys(witness.expected), _keys(witness.actual)
        results = (
            _table(witness.expected, "the expected query gives", "expected", expected_rows - actual_rows, size),
            _table(witness.actual, "the answer gives", "actual", actual_rows - expected_rows, size),
        )
        if not reading and expected_rows == actual_rows and witness.expected.rows != witness.actual.rows:
            reading = "Both give the same rows, in another order."
        return WitnessView(data, results, reading, words.clip(confirmed, 200))
    return WitnessView(*_documents(witness, size), reading, words.clip(confirmed, 200))


def _documents(
    witness: DocumentWitness, size: int
) -> tuple[tuple[WitnessTable, ...], tuple[WitnessTable, WitnessTable]]:
    def listing(title: str, documents: Sequence[JsonValue], side: str, lacking: Counter[str]) -> WitnessTable:
        rows = tuple(
            WitnessRow(
                (words.clip(json.dumps(document, ensure_ascii=False), size * 2),), _take(lacking, json.dumps(document))
            )
            for document in documents[:ROWS]
        )
        return WitnessTable(words.clip(title, 80), (), rows, max(0, len(documents) - ROWS), side)

    expected = Counter(json.dumps(document) for document in witness.expected)
    actual = Counter(json.dumps(document) for document in witness.actual)
    data = tuple(
        listing(name or "documents", documents, "data", Counter())
        for name, documents in list(witness.collections.items())[:8]
    )
    return data, (
        listing("the expected query gives", witness.expected, "expected", expected - actual),
        listing("the answer gives", witness.actual, "actual", actual - expected),
    )


def _table(table: Table, title: str, side: str, lacking: Counter[str], size: int) -> WitnessTable:
    rows = tuple(
        WitnessRow(tuple(words.clip(cell_text(cell), size) for cell in row), _take(lacking, json.dumps(row)))
        for row in table.rows[:ROWS]
    )
    columns = tuple(words.clip(column, size) for column in table.columns)
    return WitnessTable(words.clip(title, 80), columns, rows, max(0, len(table.rows) - ROWS), side)


def _keys(table: Table) -> Counter[str]:
    return Counter(json.dumps(row) for row in table.rows)


def _take(lacking: Counter[str], key: str) -> bool:
    """Whether one more row of this kind is lacking on the other side; takes it off the count."""
    if lacking[key] <= 0:
        return False
    lacking[key] -= 1
    return True


def cell_text(cell: Cell) -> str:
    """A value as a person writes it: text in quotes, NULL in capitals, typed values without their wrapping."""
    match cell:
        case None:
            return "NULL"
        case bool():
            return str(cell).lower()
        case str():
            return f"'{cell}'"
        case {"type": str(kind), "value": value, **rest} if not rest:
            return f"{kind} {value}"
        case _:
            return json.dumps(cell, ensure_ascii=False)
