"""Grading a reply as a whole: what is executed, what it may change, what repeats are told apart by."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from canon.verdict import RowWitness, Table
from harness.grading.execution import ExecutionMode
from harness.grading.grader import Graded, Grader
from harness.types.answers import Answer, NoQuery, Refusal, Reply, SqlAnswer
from harness.types.cases import Case, ExpectRefusal, ExpectSql
from harness.types.outcomes import Execution, ExecutionOutcome

NOW = datetime(2026, 8, 4, tzinfo=UTC)
GOLDEN = "SELECT a, b FROM t WHERE a > 1"


class Executed:
    """An executor that gives one outcome and counts how often it was asked."""

    def __init__(self, outcome: ExecutionOutcome) -> None:
        self.outcome = outcome
        self.count = 0

    async def execute(self, case: Case, answer: object, *, now: datetime) -> Execution:
        self.count += 1
        return Execution(outcome=self.outcome, engine="sqlite 3", detail="1 missing")

    async def aclose(self) -> None:
        """Nothing is held."""


def case(**changes: object) -> Case:
    made = Case(id="c1", nl="s", backend="sqlite", expectation=ExpectSql(text=GOLDEN))
    return made.model_copy(update=changes)


def graded(
    answer: Answer, asked: Case | None = None, executor: Executed | None = None, mode: ExecutionMode = "annotate"
) -> Graded:
    async def inside() -> Graded:
        grader = Grader(executor=executor, mode=mode)
        try:
            return await grader.grade(asked or case(), Reply(answer=answer), now=NOW)
        finally:
            await grader.aclose()

    return asyncio.run(inside())


@pytest.mark.parametrize(
    ("asked", "answer", "times"),
    [
        (case(), SqlAnswer(text=GOLDEN), 1),
        (case(), SqlAnswer(text="SELECT 1"), 1),
        (case(), SqlAnswer(text="DROP TABLE t"), 0),
        (case(), Refusal(message="no"), 0),
        (case(), NoQuery(reason="empty", message=""), 0),
        (case(expectation=ExpectRefusal()), SqlAnswer(text="SELECT 1"), 0),
    ],
)
def test_what_is_executed(asked: Case, answer: Answer, times: int) -> None:
    executor = Executed("match")
    result = graded(answer, asked, executor)
    assert executor.count == times
    assert (result.execution is not None) == bool(times)


@pytest.mark.parametrize(
    ("answer", "contradicts", "detail"),
    [
        ("SELECT a, b FROM t WHERE 1 < a", True, "1 missing"),
        ("SELECT b, a FROM t WHERE 1 < a", False, "1 missing; the columns come in another order"),
        ("SELECT a, b FROM t WHERE a > 2", False, "1 missing"),
    ],
)
def test_a_contradiction_is_no_matter_of_column_order(answer: str, contradicts: bool, detail: str) -> None:
    execution = graded(SqlAnswer(text=answer), executor=Executed("mismatch")).execution
    assert execution is not None
    assert (execution.contradiction, execution.detail) == (contradicts, detail)


def test_the_mode_is_heeded() -> None:
    wrong = SqlAnswer(text="SELECT a, b FROM t WHERE a > 1 AND c LIKE 'x%'")
    assert graded(wrong, executor=Executed("match"), mode="promote").judgement.grade == "EQUIVALENT"
    assert graded(SqlAnswer(text=GOLDEN), executor=Executed("mismatch"), mode="require").judgement.grade == "FAIL"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (SqlAnswer(text=GOLDEN), SqlAnswer(text="SELECT a, b FROM t WHERE 1 < a"), True),
        (SqlAnswer(text="SELECT a FROM t WHERE a > 2"), SqlAnswer(text="SELECT x.a FROM t x WHERE 2 < x.a"), True),
        (SqlAnswer(text="SELECT a FROM t WHERE a > 2"), SqlAnswer(text="SELECT a FROM t WHERE a > 3"), False),
        (SqlAnswer(text="SELEC  a"), SqlAnswer(text="SELEC a "), True),
        (SqlAnswer(text="SELEC a"), SqlAnswer(text="SELEC b"), False),
        (Refusal(message="no such field"), Refusal(message="cannot do that"), True),
        (NoQuery(reason="empty", message="a"), NoQuery(reason="empty", message="b"), True),
        (NoQuery(reason="empty", message="a"), NoQuery(reason="transport", message="a"), False),
    ],
)
def test_repeats_are_told_apart_by_meaning(one: Answer, other: Answer, same: bool) -> None:
    assert (graded(one).meaning == graded(other).meaning) is same


class Found:
    """A search that keeps the threads it ran on."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def search(self, pair: object) -> RowWitness:
        self.threads.append(threading.current_thread().name)
        empty = Table(name="t", columns=("a",), rows=())
        return RowWitness(tables=(empty,), expected=empty, actual=empty)


@pytest.mark.parametrize(
    ("answer", "threads"),
    [
        ("SELECT a, b FROM t WHERE a > 1 AND c LIKE 'x%'", ["grading_0"]),
        ("SELECT a, b FROM t WHERE 1 < a", []),
        ("SELECT a, b FROM t WHERE a > 1 AND c LIKE 'x%' AND d LIKE '" + "y" * 5_000 + "'", ["grading_0"]),
    ],
)
def test_a_witness_is_sought_off_the_event_loop_and_only_where_it_may_decide(answer: str, threads: list[str]) -> None:
    search = Found()

    async def inside() -> str:
        grader = Grader(witness=search)
        try:
            return (await grader.grade(case(), Reply(answer=SqlAnswer(text=answer)), now=NOW)).judgement.grade
        finally:
            await grader.aclose()

    assert asyncio.run(inside()) == ("FAIL" if threads else "EQUIVALENT")
    assert search.threads == threads
