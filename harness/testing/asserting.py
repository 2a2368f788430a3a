"""Asks a target and asserts that every scorer passes what it answers; a failure says what is wrong and shows it."""

from collections.abc import Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import cast

from harness.api import Answering, as_target, blocking
from harness.targets.target import Target
from harness.testing.scorers import LadderScorer, Scorer
from harness.types.answers import Answer, MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Case
from harness.types.evaluation import EvalCase
from harness.types.frozen import Frozen
from harness.types.scores import ScoreResult
from harness.types.texts import answer_text, expected_text

RECORDED: ContextVar["list[Evaluated] | None"] = ContextVar("RECORDED", default=None)
"""Where a test run gathers what was evaluated, for its report; `None` = nowhere."""


class Evaluated(Frozen):
    """One answer and what the scorers said of it.

    Attributes:
        case: what was asked.
        answer: what came back.
        scores: one per scorer.
    """

    case: Case
    answer: Answer
    scores: tuple[ScoreResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every scorer passed the answer."""
        return all(score.verdict == "pass" for score in self.scores)


class EvalFailed(AssertionError):
    """An answer that is not right; its text shows the differences and the witness.

    Attributes:
        evaluated: the attempts that were made.
    """

    def __init__(self, evaluated: tuple[Evaluated, ...]) -> None:
        super().__init__(explain(evaluated))
        self.evaluated = evaluated


def evaluate(
    case: Case | EvalCase,
    target: Target | Answering | Answer | str,
    scorers: Sequence[Scorer] | None = None,
    *,
    now: datetime | None = None,
    repeat: int = 1,
) -> tuple[Evaluated, ...]:
    """Ask a target and score what it answers, once per repeat.

    Args:
        case: what to ask.
        target: a function, a `Target`, or an answer that is there already.
        scorers: what judges; the grading ladder unless given.
        now: the clock where the case pins none, aware; `None` = now.
        repeat: how often to ask.
    """
    plain = case.case if isinstance(case, EvalCase) else case
    at = plain.now or now or datetime.now(UTC)
    asked = tuple(scorers) if scorers is not None else (LadderScorer(),)
    made = cast("tuple[Evaluated, ...]", blocking(lambda: _evaluate(plain, target, asked, at, repeat)))
    if (kept := RECORDED.get()) is not None:
        kept.extend(made)
    return made


def assert_eval(
    case: Case | EvalCase,
    target: Target | Answering | Answer | str,
    scorers: Sequence[Scorer] | None = None,
    *,
    now: datetime | None = None,
    repeat: int = 1,
) -> tuple[Evaluated, ...]:
    """`evaluate`, and fail unless every scorer passes every attempt.

    Raises:
        EvalFailed: an answer is not right, or a scorer cannot tell.
    """
    __tracebackhide__ = True
    made = evaluate(case, target, scorers, now=now, repeat=repeat)
    if not all(attempt.passed for attempt in made):
        raise EvalFailed(made)
    return made


async def _evaluate(
    case: Case, target: Target | Answering | Answer | str, scorers: Sequence[Scorer], now: datetime, repeat: int
) -> tuple[Evaluated, ...]:
    made = []
    for number in range(repeat):
        answer = await _answer(case, target, now, number)
        scores = tuple([await scorer.score(case, answer, now=now) for scorer in scorers])
        made.append(Evaluated(case=case, answer=answer, scores=scores))
    return tuple(made)


async def _answer(case: Case, target: Target | Answering | Answer | str, now: datetime, repeat: int) -> Answer:
    if isinstance(target, str):
        return MongoAnswer(text=target) if case.backend == "mongo" else SqlAnswer(text=target)
    if isinstance(target, SqlAnswer | MongoAnswer | Refusal | NoQuery):
        return target
    return (await as_target(target).answer(case, now=now, repeat=repeat)).answer


def explain(evaluated: Sequence[Evaluated]) -> str:
    """What is wrong, for a person: the case, the first answer that failed, why, and the rows that show it."""
    from harness.report.screen import witness_text

    failed = [attempt for attempt in evaluated if not attempt.passed]
    first = failed[0]
    lines = [f"{first.case.id}: {first.case.nl}"]
    if len(evaluated) > 1:
        lines.append(f"failed {len(failed)} of {len(evaluated)} repeats; the first:")
    lines += _part("expected", expected_text(first.case.expectation)) + _part("answer", answer_text(first.answer))
    for score in (score for score in first.scores if score.verdict != "pass"):
        lines.append(f"  {score.scorer}: {score.verdict}" + (f", {score.basis}" if score.basis else ""))
        lines += [f"    {line}" for text in score.detail for line in text.splitlines()]
        lines += [f"    {each.scorer}: {each.verdict}" for each in score.trail]
        if score.witness is not None:
            lines += [f"    {line}" for line in witness_text(score.witness).splitlines()]
    return "\n".join(lines)


def _part(title: str, text: str) -> list[str]:
    first, *rest = text.splitlines() or [""]
    return [f"  {title:<9} {first}", *(f"  {'':<9} {line}" for line in rest)]
