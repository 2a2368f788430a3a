"""Running, resuming, regrading, stopping: what is asked, what is never asked twice, what is kept."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.endpoint.budget import BudgetReached
from harness.errors import JournalError, SandboxError, TargetError
from harness.grading.grader import Grader
from harness.runs.carrying_out import Plan, carry_out
from harness.runs.folder import RunFolder, StoredRun, open_run
from harness.types.answers import Answer, Call, NoQuery, Refusal, Reply, SqlAnswer, Usage
from harness.types.cases import Case, ExpectRefusal, ExpectSql
from harness.types.outcomes import Grade
from harness.types.run import RunFacts

NOW = datetime(2026, 8, 4, tzinfo=UTC)
Answering = Callable[[Case, int], Answer]


class CountingTarget:
    """Answers by a function and counts how often each attempt was asked."""

    name = "counting"

    def __init__(self, answering: Answering, facts: Mapping[str, JsonValue] | None = None, wait: float = 0.0) -> None:
        self.answering = answering
        self.asked: Counter[tuple[str, int]] = Counter()
        self.in_flight = self.most_in_flight = 0
        self._facts = dict(facts or {"model": "m"})
        self._wait = wait

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        return self._facts

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        self.asked[case.id, repeat] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self._wait)
            answer = self.answering(case, repeat)
        finally:
            self.in_flight -= 1
        return Reply(answer=answer, raw="raw", calls=(Call(latency_ms=5.0, tries=1, usage=Usage(prompt=2)),))

    async def aclose(self) -> None:
        """Nothing is held."""


def case(number: int, text: str = "SELECT 1", **changes: object) -> Case:
    made = Case(id=f"c{number}", nl=f"sentence {number}", backend="sqlite", expectation=ExpectSql(text=text))
    return made.model_copy(update=changes)


def right(asked: Case, repeat: int) -> Answer:
    del repeat
    assert isinstance(asked.expectation, ExpectSql)
    return SqlAnswer(text=asked.expectation.text + ";")


def broken(asked: Case, repeat: int) -> Answer:
    del asked, repeat
    return NoQuery(reason="transport", message="503")


def facts(repeat: int = 1) -> RunFacts:
    return RunFacts(
        name="r", started_at=NOW, now=NOW, golden="g.csv", golden_digest="0", target="counting", repeat=repeat
    )


def plan(folder: Path, cases: list[Case], *, repeat: int = 1, **changes: object) -> Plan:
    settings: dict[str, object] = {
        "folder": RunFolder(folder), "facts": facts(repeat), "cases": cases, "graded": "rules 1", "parallel": 3
    } | changes  # fmt: skip
    return Plan(**settings)


def run(made: Plan, target: CountingTarget) -> StoredRun:
    async def inside() -> StoredRun:
        grader = Grader()
        try:
            return await carry_out(made, target, grader)
        finally:
            await grader.aclose()

    return asyncio.run(inside())


def grades(stored: StoredRun) -> dict[str, list[Grade]]:
    return {asked.id: [outcome.grade for outcome in result.outcomes] for asked, result in stored.results()}


def test_every_attempt_is_made_once_and_results_keep_the_golden_order(tmp_path: Path) -> None:
    cases = [case(number) for number in (5, 1, 9, 3)]
    target = CountingTarget(right)
    stored = run(plan(tmp_path / "r", cases, repeat=3), target)
    assert target.asked == Counter({(each.id, repeat): 1 for each in cases for repeat in range(3)})
    assert [asked.id for asked, _ in stored.results()] == ["c5", "c1", "c9", "c3"]
    assert grades(stored) == {each.id: ["EXACT"] * 3 for each in cases}
    assert stored.summary.grades == {"EXACT": 4, "EQUIVALENT": 0, "REFUSED": 0, "FAIL": 0, "ERROR": 0}
    assert (stored.summary.attempts, stored.summary.calls, stored.summary.prompt_tokens) == (12, 12, 24)


def test_parallel_is_the_most_in_flight(tmp_path: Path) -> None:
    target = CountingTarget(right, wait=0.01)
    run(plan(tmp_path / "r", [case(number) for number in range(9)], parallel=3), target)
    assert target.most_in_flight == 3


def test_a_run_reads_back_as_it_was(tmp_path: Path) -> None:
    stored = run(plan(tmp_path / "r", [case(1), case(2)], repeat=2), CountingTarget(right))
    again = open_run(tmp_path / "r")
    assert list(again.results()) == list(stored.results())
    assert again.summary == stored.summary
    assert again.facts == stored.facts


def test_a_run_is_not_begun_over_another(tmp_path: Path) -> None:
    run(plan(tmp_path / "r", [case(1)]), CountingTarget(right))
    with pytest.raises(JournalError, match="holds a run already: --resume goes on with it"):
        run(plan(tmp_path / "r", [case(1)]), CountingTarget(right))


def test_a_resume_asks_nothing_that_is_finished(tmp_path: Path) -> None:
    cases = [case(number) for number in range(4)]
    run(plan(tmp_path / "r", cases), CountingTarget(right))
    again = CountingTarget(right)
    stored = run(plan(tmp_path / "r", cases, resume=True), again)
    assert again.asked == Counter()
    assert stored.summary.passed == 4


def test_a_resume_fills_up_missing_repeats(tmp_path: Path) -> None:
    run(plan(tmp_path / "r", [case(1), case(2)], repeat=1), CountingTarget(right))
    again = CountingTarget(right)
    stored = run(plan(tmp_path / "r", [case(1), case(2)], repeat=3, resume=True), again)
    assert again.asked == Counter({("c1", 1): 1, ("c1", 2): 1, ("c2", 1): 1, ("c2", 2): 1})
    assert grades(stored) == {"c1": ["EXACT"] * 3, "c2": ["EXACT"] * 3}


@pytest.mark.parametrize(
    "change",
    [
        {"nl": "another sentence"},
        {"scope": {"tenant": 7}},
        {"now": datetime(2026, 1, 1, tzinfo=UTC)},
        {"backend": "postgres"},
    ],
)
def test_a_changed_question_is_asked_anew(tmp_path: Path, change: dict[str, object]) -> None:
    run(plan(tmp_path / "r", [case(1), case(2)]), CountingTarget(right))
    again = CountingTarget(right)
    run(plan(tmp_path / "r", [case(1), case(2, **change)], resume=True), again)
    assert again.asked == Counter({("c2", 0): 1})


def test_another_model_is_asked_everything(tmp_path: Path) -> None:
    run(plan(tmp_path / "r", [case(1), case(2)]), CountingTarget(right, {"model": "a"}))
    again = CountingTarget(lambda asked, repeat: Refusal(message="no"), {"model": "b"})
    stored = run(plan(tmp_path / "r", [case(1), case(2)], resume=True), again)
    assert sum(again.asked.values()) == 2
    assert grades(stored) == {"c1": ["ERROR"], "c2": ["ERROR"]}
    assert grades(open_run(tmp_path / "r")) == grades(stored)


def test_answers_of_another_model_are_not_shown_where_the_new_one_did_not_get_to(tmp_path: Path) -> None:
    run(plan(tmp_path / "r", [case(1), case(2)]), CountingTarget(right, {"model": "a"}))

    def once(asked: Case, repeat: int) -> Answer:
        if asked.id == "c2":
            raise BudgetReached("cost", "--max-cost 1 is reached")
        return right(asked, repeat)

    stored = run(
        plan(tmp_path / "r", [case(1), case(2)], resume=True, parallel=1), CountingTarget(once, {"model": "b"})
    )
    assert grades(stored) == {"c1": ["EXACT"]}
    assert grades(open_run(tmp_path / "r")) == {"c1": ["EXACT"]}


def test_a_corrected_golden_is_graded_anew_and_not_asked_anew(tmp_path: Path) -> None:
    answered = CountingTarget(lambda asked, repeat: SqlAnswer(text="SELECT 2"))
    wrong = run(plan(tmp_path / "r", [case(1, expectation=ExpectRefusal())]), answered)
    assert grades(wrong) == {"c1": ["FAIL"]}
    again = CountingTarget(right)
    corrected = run(plan(tmp_path / "r", [case(1, "SELECT 2")], resume=True), again)
    assert again.asked == Counter()
    assert grades(corrected) == {"c1": ["EXACT"]}
    assert grades(open_run(tmp_path / "r")) == {"c1": ["EXACT"]}


def test_retry_errors_asks_again_only_what_ended_in_error(tmp_path: Path) -> None:
    def flaky(asked: Case, repeat: int) -> Answer:
        return broken(asked, repeat) if asked.id == "c2" else right(asked, repeat)

    run(plan(tmp_path / "r", [case(1), case(2)]), CountingTarget(flaky))
    kept = CountingTarget(right)
    assert grades(run(plan(tmp_path / "r", [case(1), case(2)], resume=True), kept))["c2"] == ["ERROR"]
    assert kept.asked == Counter()
    again = CountingTarget(right)
    stored = run(plan(tmp_path / "r", [case(1), case(2)], resume=True, retry_errors=True), again)
    assert again.asked == Counter({("c2", 0): 1})
    assert grades(stored) == {"c1": ["EXACT"], "c2": ["EXACT"]}


@pytest.mark.parametrize(
    ("answer", "asked_again"),
    [
        (NoQuery(reason="transport", message="503"), True),
        (NoQuery(reason="target_crashed", message="exit 1"), True),
        (NoQuery(reason="unparseable", message="words"), False),
        (NoQuery(reason="truncated", message="cut"), False),
        (NoQuery(reason="empty", message="nothing"), False),
        (NoQuery(reason="content_filter", message="blocked"), False),
        (Refusal(message="no such field"), False),
    ],
)
def test_retry_errors_never_asks_again_what_was_answered(tmp_path: Path, answer: Answer, asked_again: bool) -> None:
    first = run(plan(tmp_path / "r", [case(1)]), CountingTarget(lambda asked, repeat: answer))
    assert grades(first) == {"c1": ["ERROR"]}
    again = CountingTarget(right)
    run(plan(tmp_path / "r", [case(1)], resume=True, retry_errors=True), again)
    assert again.asked == Counter({("c1", 0): 1} if asked_again else {})


def test_a_budget_ends_the_run_without_an_outcome_for_the_refused_call(tmp_path: Path) -> None:
    def until_three(asked: Case, repeat: int) -> Answer:
        if asked.id == "c3":
            raise BudgetReached("cost", "--max-cost 1 is reached: 1.02 spent")
        return right(asked, repeat)

    cases = [case(number) for number in range(6)]
    stored = run(plan(tmp_path / "r", cases, parallel=1), CountingTarget(until_three))
    assert list(grades(stored)) == ["c0", "c1", "c2"]
    assert stored.summary.interrupted
    assert [warned.message for warned in stored.summary.warnings] == ["--max-cost 1 is reached: 1.02 spent"]
    assert (stored.summary.cases, stored.summary.finished) == (6, 3)


def test_a_target_that_raises_is_an_error_of_its_case_alone(tmp_path: Path) -> None:
    def crashing(asked: Case, repeat: int) -> Answer:
        if asked.id == "c1":
            raise ZeroDivisionError("division by zero")
        return right(asked, repeat)

    stored = run(plan(tmp_path / "r", [case(1), case(2)]), CountingTarget(crashing))
    assert grades(stored) == {"c1": ["ERROR"], "c2": ["EXACT"]}
    worst = next(stored.results())[1].worst
    assert worst.judgement.message == "the target raised ZeroDivisionError: division by zero"


def test_a_target_that_cannot_go_on_ends_the_run_and_keeps_what_is_finished(tmp_path: Path) -> None:
    def missing(asked: Case, repeat: int) -> Answer:
        if asked.id == "c2":
            raise TargetError("program not found")
        return right(asked, repeat)

    with pytest.raises(TargetError, match="program not found"):
        run(plan(tmp_path / "r", [case(1), case(2), case(3)], parallel=1), CountingTarget(missing))
    assert grades(open_run(tmp_path / "r")) == {"c1": ["EXACT"]}


class BrokenFixture:
    """An executor whose fixture cannot be loaded."""

    async def execute(self, asked: Case, answer: object, *, now: datetime) -> None:
        raise SandboxError("no such fixture")

    async def aclose(self) -> None:
        """Nothing is held."""


def test_a_broken_fixture_ends_the_run_and_loses_no_reply(tmp_path: Path) -> None:
    target = CountingTarget(right)
    grader = Grader(executor=BrokenFixture())
    with pytest.raises(SandboxError, match="no such fixture"):
        asyncio.run(carry_out(plan(tmp_path / "r", [case(1), case(2)], parallel=1), target, grader))
    again = CountingTarget(right)
    stored = run(plan(tmp_path / "r", [case(1), case(2)], resume=True), again)
    assert (target.asked, again.asked) == (Counter({("c1", 0): 1}), Counter({("c2", 0): 1}))
    assert grades(stored) == {"c1": ["EXACT"], "c2": ["EXACT"]}


def test_a_stop_ends_calls_in_flight_and_keeps_the_rest(tmp_path: Path) -> None:
    stop = asyncio.Event()
    target = CountingTarget(right)

    async def answer(asked: Case, *, now: datetime, repeat: int) -> Reply:
        target.asked[asked.id, repeat] += 1
        if asked.id == "c2":
            stop.set()
            await asyncio.Event().wait()
        return Reply(answer=right(asked, repeat))

    target.answer = answer  # type: ignore[method-assign]
    stored = run(plan(tmp_path / "r", [case(1), case(2), case(3)], parallel=1, stop=stop), target)
    assert grades(stored) == {"c1": ["EXACT"]}
    assert stored.summary.interrupted
    again = CountingTarget(right)
    run(plan(tmp_path / "r", [case(1), case(2), case(3)], resume=True), again)
    assert again.asked == Counter({("c2", 0): 1, ("c3", 0): 1})


def test_a_golden_that_fails_half_way_leaves_no_run(tmp_path: Path) -> None:
    def failing():
        yield case(1)
        raise TargetError("golden changed")

    with pytest.raises(TargetError):
        run(plan(tmp_path / "r", failing()), CountingTarget(right))
    assert not RunFolder(tmp_path / "r").exists()
