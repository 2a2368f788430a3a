"""Expectations, answers and judgements as the text that people read."""

import json

from pydantic import JsonValue

from canon.verdict import Difference
from harness.types.answers import Answer, MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Expectation, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.expectations import (
    ColumnType,
    ExpectationSuite,
    ExpectRows,
    ExpectTypedRows,
    HasColumns,
    NotNull,
    ResultExpectation,
    RowCount,
    Unique,
)
from harness.types.outcomes import Failed, Judgement, NoAnswer, Unmet

_ROWS_SHOWN = 20


def expected_text(expectation: Expectation) -> str:
    """What the golden asks for, as text."""
    match expectation:
        case ExpectSql(text=text, args=None) | ExpectMongo(text=text):
            return text
        case ExpectSql(text=text, args=args):
            return f"{text}  -- args: {list(args or ())}"
        case ExpectRefusal():
            return "(a refusal: this cannot be expressed)"
        case ExpectRows(rows=rows, columns=columns):
            return _rows_text(rows, columns)
        case ExpectTypedRows(rows=rows, schema_=schema):
            return _rows_text(rows, tuple(f"{column.name} {column.type.raw}" for column in schema.columns()))
        case ExpectationSuite(expectations=checks):
            return "(a result with) " + "; ".join(check_text(check) for check in checks)


def _rows_text(rows: tuple[tuple[JsonValue, ...], ...], columns: tuple[str, ...] | None) -> str:
    head = f"(the rows) {', '.join(columns)}" if columns else "(the rows)"
    shown = [json.dumps(row, ensure_ascii=False) for row in rows[:_ROWS_SHOWN]]
    more = [f"… {len(rows):,} rows in all"] if len(rows) > _ROWS_SHOWN else []
    return "\n".join([head, *(shown or ["(no rows)"]), *more])


def check_text(check: ResultExpectation) -> str:
    """A check of a result, as text."""
    match check:
        case RowCount(count=count):
            return f"{count} {'row' if count == 1 else 'rows'}"
        case HasColumns(columns=columns):
            return f"columns {', '.join(columns)}"
        case ColumnType(column=column, type=kind):
            return f"{column} of type {kind.raw}"
        case NotNull(column=column):
            return f"no NULL in {column}"
        case Unique(column=column):
            return f"no value twice in {column}"


def answer_text(answer: Answer) -> str:
    """What came back, as text."""
    match answer:
        case SqlAnswer(text=text, args=args):
            return f"{text}  -- args: {list(args) if isinstance(args, tuple) else args}" if args else text
        case MongoAnswer(text=text):
            return text
        case Refusal(message=message):
            return f"(refused) {message}".strip()
        case NoQuery(message=message, reason=reason):
            return f"({reason.replace('_', ' ')}) {message}".strip()


def differences_of(judgement: Judgement) -> tuple[Difference, ...]:
    """The differences behind a failure, none for anything else."""
    if isinstance(judgement, Failed) and judgement.evidence is not None:
        return judgement.evidence.differences
    return ()


def failure_lines(judgement: Judgement) -> tuple[str, ...]:
    """What went wrong, one line each; none for a pass."""
    match judgement:
        case NoAnswer(message=message, reason=reason):
            return (message or reason.replace("_", " "),)
        case Failed(evidence=None, message=message):
            return (message or "answered where it should have declined",)
        case Failed(evidence=Unmet(lines=lines)):
            return lines
        case Failed(evidence=evidence, message=message):
            said = [difference.message for difference in differences_of(judgement)]
            if evidence is not None and evidence.basis == "undecided" and evidence.problem is not None:
                said.append(evidence.problem.message)
            return tuple(said) or (message or "not shown to be the same, nor to differ",)
        case _:
            return ()
