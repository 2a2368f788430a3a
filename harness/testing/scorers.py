"""Scorers: each says of an answer whether it is right, or that it cannot tell, and what that rests on."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from canon.verdict import Canonical, Identical, Proved
from harness.grading.execution import ExecutionMode
from harness.types.answers import Answer, MongoAnswer, Reply, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectSql
from harness.types.expectations import ExpectationSuite, ExpectRows, ExpectTypedRows
from harness.types.outcomes import PASSES, Failed, Judgement, Unmet, basis_of
from harness.types.results import ExecutionResult
from harness.types.scores import ScoreResult, SemanticVerdict
from harness.types.texts import differences_of, failure_lines


class Scorer(Protocol):
    """Says of an answer whether it is right."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def score(self, case: Case, answer: Answer, *, now: datetime) -> ScoreResult:
        """Judge an answer; what cannot be told is `inconclusive`, never an exception.

        Raises:
            RungError: the surroundings are broken (a fixture that cannot be loaded).
        """
        ...


class LadderScorer:
    """The grading ladder, as `rung run` grades: EXACT, EQUIVALENT and REFUSED pass."""

    name = "ladder"

    def __init__(self, *, exec_mode: ExecutionMode = "annotate", witness: bool = True) -> None:
        self._mode: ExecutionMode = exec_mode
        self._witness = witness

    async def score(self, case: Case, answer: Answer, *, now: datetime) -> ScoreResult:
        """Grade an answer."""
        judgement = await judged(case, answer, now=now, mode=self._mode, witness=self._witness)
        return of_judgement(self.name, judgement)


async def judged(
    case: Case, answer: Answer, *, now: datetime, mode: ExecutionMode = "annotate", witness: bool = True
) -> Judgement:
    """The grade of an answer, with what the case's own config and fixture say."""
    from harness.grading.fixtures import ExecutionOnDemand
    from harness.grading.grader import Grader
    from harness.grading.identities import installed
    from harness.grading.knowledge import ConfigKnowledge
    from harness.grading.witnesses import RunningSearch

    grader = Grader(
        knowledge=ConfigKnowledge(),
        witness=RunningSearch() if witness else None,
        executor=ExecutionOnDemand(None, Path()),
        mode=mode,
        identities=installed(),
    )
    try:
        return (await grader.grade(case, Reply(answer=answer), now=case.now or now)).judgement
    finally:
        await grader.aclose()


def of_judgement(scorer: str, judgement: Judgement) -> ScoreResult:
    """A grade as a score."""
    if judgement.grade in PASSES:
        return ScoreResult(scorer=scorer, verdict="pass", score=1.0, basis=basis_of(judgement))
    evidence = judgement.evidence if isinstance(judgement, Failed) else None
    return ScoreResult(
        scorer=scorer,
        verdict="fail",
        score=0.0,
        basis=basis_of(judgement),
        detail=failure_lines(judgement),
        differences=differences_of(judgement),
        diff=evidence.diff if isinstance(evidence, Unmet) else None,
        witness=evidence.witness if evidence is not None and evidence.basis == "refuted" else None,
        expectations=evidence.expectations if isinstance(evidence, Unmet) else (),
    )


class SemanticScorer:
    """Equivalence by meaning alone: passes what is identical, canonical or proved, and never refutes."""

    name = "semantic"

    async def score(self, case: Case, answer: Answer, *, now: datetime) -> ScoreResult:
        """Judge an answer by what it means."""
        verdict = self.verdict(case, answer, now=now)
        if verdict.verdict == "equivalent":
            return ScoreResult(scorer=self.name, verdict="pass", score=1.0, basis=verdict.basis)
        return ScoreResult(scorer=self.name, verdict="inconclusive", detail=(verdict.detail,))

    def verdict(self, case: Case, answer: Answer, *, now: datetime) -> SemanticVerdict:
        """What the meaning of the two says."""
        from harness.grading.comparing import compare
        from harness.grading.knowledge import ConfigKnowledge
        from harness.grading.seams import MongoPair, SqlPair

        known, at = ConfigKnowledge(), case.now or now
        pairs: list[SqlPair | MongoPair] = []
        match case.expectation, answer:
            case ExpectSql(text=text, args=args), SqlAnswer(text=actual, args=bound):
                pairs = [
                    SqlPair(
                        dialect=case.backend,
                        expected=each,
                        actual=actual,
                        expected_args=(args or ()) if place == 0 else (),
                        actual_args=bound,
                        schema=known.schema(case),
                        now=at,
                    )
                    for place, each in enumerate((text, *case.accept))
                ]
            case ExpectMongo(text=text), MongoAnswer(text=actual):
                pairs = [
                    MongoPair(expected=each, actual=actual, fields=known.fields(case), now=at)
                    for each in (text, *case.accept)
                ]
            case _:
                return SemanticVerdict(verdict="inconclusive", detail="there are no two queries to compare")
        for pair in pairs:
            match compare(pair):
                case Identical():
                    return SemanticVerdict(verdict="equivalent", basis="identical")
                case Canonical(absorbed=absorbed):
                    return SemanticVerdict(verdict="equivalent", basis="canonical", absorbed=absorbed)
                case Proved(absorbed=absorbed, assumptions=assumptions):
                    return SemanticVerdict(
                        verdict="equivalent", basis="proved", absorbed=absorbed, assumptions=assumptions
                    )
                case _:
                    continue
        return SemanticVerdict(verdict="inconclusive", detail="not shown to mean the same")


class ResultSetScorer:
    """Runs the answer on the data and compares its rows: with the golden query's, or with expected rows.

    Args:
        fixture: data of cases that name none of their own.
    """

    name = "result set"

    def __init__(self, fixture: str | Path | None = None) -> None:
        self._fixture = None if fixture is None else str(fixture)

    async def score(self, case: Case, answer: Answer, *, now: datetime) -> ScoreResult:
        """Judge an answer by its rows."""
        from harness.grading.result_checks import compare_rows, diff_lines

        expected = case.expectation
        if not isinstance(expected, ExpectRows | ExpectTypedRows | ExpectSql | ExpectMongo):
            return inconclusive(self.name, "the case expects no rows")
        result = await observed(self._fixture, case, answer, now)
        if isinstance(result, ScoreResult):
            return result.model_copy(update={"scorer": self.name})
        if isinstance(expected, ExpectRows | ExpectTypedRows):
            diff = compare_rows(expected, result, case.result_rules)
            if diff is None:
                return ScoreResult(scorer=self.name, verdict="pass", score=1.0, basis="observed")
            return ScoreResult(
                scorer=self.name, verdict="fail", score=0.0, basis="observed", diff=diff, detail=diff_lines(diff)
            )
        return await self._against_query(case, answer, now)

    async def _against_query(self, case: Case, answer: Answer, now: datetime) -> ScoreResult:
        from harness.sandbox.executor import FixtureExecutor

        assert isinstance(answer, SqlAnswer | MongoAnswer)
        executor = FixtureExecutor(self._fixture, folder=Path())
        try:
            execution = await executor.execute(case, answer, now=case.now or now)
        finally:
            await executor.aclose()
        if execution is None or execution.outcome == "reference_error":
            return inconclusive(self.name, execution.detail if execution else "the case has no data to run on")
        if execution.outcome == "match":
            return ScoreResult(scorer=self.name, verdict="pass", score=1.0, basis="observed")
        if execution.outcome in ("mismatch", "generated_error", "refused"):
            said = (f"{execution.outcome.replace('_', ' ')}: {execution.detail}",)
            return ScoreResult(scorer=self.name, verdict="fail", score=0.0, basis="observed", detail=said)
        return inconclusive(self.name, f"{execution.outcome.replace('_', ' ')}: {execution.detail}")


class ExpectationSuiteScorer:
    """Runs the answer on the data and checks its result.

    Args:
        suite: the checks; `None` = the case's own expectation is a suite.
        fixture: data of cases that name none of their own.
    """

    name = "expectation suite"

    def __init__(self, suite: ExpectationSuite | None = None, *, fixture: str | Path | None = None) -> None:
        self._suite = suite
        self._fixture = None if fixture is None else str(fixture)

    async def score(self, case: Case, answer: Answer, *, now: datetime) -> ScoreResult:
        """Judge an answer by the properties of its result."""
        from harness.grading.result_checks import suite_of

        suite = self._suite or case.expectation
        if not isinstance(suite, ExpectationSuite):
            return inconclusive(self.name, "there is no suite of expectations")
        result = await observed(self._fixture, case, answer, now)
        if isinstance(result, ScoreResult):
            return result.model_copy(update={"scorer": self.name})
        checks = suite_of(suite, result)
        held = sum(each.verdict == "pass" for each in checks)
        detail = tuple(each.detail for each in checks if each.detail is not None)
        if any(each.verdict == "fail" for each in checks):
            return ScoreResult(
                scorer=self.name,
                verdict="fail",
                score=held / len(checks),
                basis="observed",
                detail=detail,
                expectations=checks,
            )
        if held < len(checks):
            return ScoreResult(scorer=self.name, verdict="inconclusive", detail=detail, expectations=checks)
        return ScoreResult(scorer=self.name, verdict="pass", score=1.0, basis="observed", expectations=checks)


class FirstDecisive:
    """Asks scorers in turn; the first that can tell decides, and what each said is kept.

    Args:
        scorers: in the order in which they are asked.
    """

    name = "first decisive"

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        if not scorers:
            raise ValueError("a combination needs at least one scorer")
        self._scorers = tuple(scorers)

    async def score(self, case: Case, answer: Answer, *, now: datetime) -> ScoreResult:
        """Judge an answer by the first scorer that can."""
        trail: list[ScoreResult] = []
        for scorer in self._scorers:
            trail.append(await scorer.score(case, answer, now=now))
            if trail[-1].verdict != "inconclusive":
                break
        last = trail[-1]
        detail = (
            last.detail if last.verdict != "inconclusive" else tuple(line for each in trail for line in each.detail)
        )
        return last.model_copy(update={"scorer": self.name, "detail": detail, "trail": tuple(trail)})


def inconclusive(scorer: str, why: str) -> ScoreResult:
    """A scorer that cannot tell."""
    return ScoreResult(scorer=scorer, verdict="inconclusive", detail=(why,))


async def observed(fixture: str | None, case: Case, answer: Answer, now: datetime) -> ExecutionResult | ScoreResult:
    """What an answer returns on the data; a score where that is known without, or cannot be."""
    from harness.sandbox.executor import FixtureExecutor

    if not isinstance(answer, SqlAnswer | MongoAnswer):
        said = (f"no query came back: {answer.message}",)
        return ScoreResult(scorer="execution", verdict="fail", score=0.0, basis="none", detail=said)
    executor = FixtureExecutor(fixture, folder=Path())
    try:
        observation = await executor.observe(case, answer, now=case.now or now)
    finally:
        await executor.aclose()
    if observation is None:
        return inconclusive("execution", "the case has no data to run on: give it a fixture")
    if observation.failure is None:
        return observation.result
    said = (f"the answer cannot be run: {observation.result.error.message if observation.result.error else ''}",)
    if observation.failure in ("generated_error", "refused"):
        return ScoreResult(scorer="execution", verdict="fail", score=0.0, basis="observed", detail=said)
    return ScoreResult(scorer="execution", verdict="inconclusive", detail=said)
