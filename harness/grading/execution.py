"""What running both queries may do to a grade: nothing unless asked; never against a refutation.

==========  ==============================================================================================
mode        effect
==========  ==============================================================================================
annotate    the outcome is shown beside the grade
require     a query passes only if its results match as well
promote     a match turns an undecided FAIL into EQUIVALENT with the basis `observed`
==========  ==============================================================================================

In every mode a pass by text or proof beside a mismatch is a contradiction: one of the two is a bug, or the query is not
deterministic.
"""

from typing import Literal

from canon.verdict import Problem, Undecided
from harness.types.cases import ResultRules
from harness.types.expectations import ExpectationSuite, ExpectRows, ExpectTypedRows
from harness.types.observation import Observation
from harness.types.outcomes import Equivalent, Exact, Execution, Failed, Judgement, Observed, Unmet

ExecutionMode = Literal["annotate", "require", "promote"]


def settle(
    judgement: Judgement, execution: Execution | None, mode: ExecutionMode, *, permuted: bool = False
) -> tuple[Judgement, Execution | None]:
    """Bring a grade and an execution together.

    Args:
        judgement: the grade by text and proof.
        execution: what running both queries showed; `None` where nothing was run.
        mode: what the user asked for.
        permuted: the answer passes only because the order of its columns is overlooked; results are compared by
            position, so that a mismatch contradicts nothing then.

    Returns:
        The grade that stands, and the execution with its contradiction marked.
    """
    if execution is None:
        return judgement, None
    execution = _marked(judgement, execution, permuted)
    match (mode, judgement):
        case ("require", Exact() | Equivalent()) if execution.outcome != "match":
            return _unmet(execution), execution
        case ("promote", Failed(evidence=Undecided() as open_)) if execution.outcome == "match" and _may_rise(open_):
            return Equivalent(evidence=Observed(differences=open_.differences)), execution
        case _:
            return judgement, execution


def _marked(judgement: Judgement, execution: Execution, permuted: bool) -> Execution:
    if not isinstance(judgement, Exact | Equivalent) or execution.outcome != "mismatch":
        return execution.model_copy(update={"contradiction": False})
    if permuted:
        detail = "; ".join(part for part in (execution.detail, "the columns come in another order") if part)
        return execution.model_copy(update={"contradiction": False, "detail": detail})
    return execution.model_copy(update={"contradiction": True})


def _may_rise(undecided: Undecided) -> bool:
    """Whether equal results say anything: of two filters that match nothing they do not."""
    return all(difference.kind != "vacuous" for difference in undecided.differences)


def _unmet(execution: Execution) -> Failed:
    detail = f": {execution.detail}" if execution.detail else ""
    message = f"the query means the same, but a match on execution was required and it came to {execution.outcome}"
    return Failed(evidence=Undecided(), message=message + detail)


def of_result(
    expected: ExpectRows | ExpectTypedRows | ExpectationSuite, observation: Observation, rules: ResultRules
) -> tuple[Judgement, Execution]:
    """Place an answer by its result, where the golden expects a result: execution is the grade then.

    Args:
        expected: what is expected.
        observation: what running the answer gave.
        rules: how rows are compared.
    """
    from harness.grading.result_checks import suite_of, unmet

    if observation.failure is not None:
        assert observation.result.error is not None
        said = observation.result.error.message
        judgement = Failed(evidence=Unmet(lines=(f"the answer cannot be run: {said}",)))
        return judgement, Execution(outcome=observation.failure, engine=observation.engine, detail=said)
    found = unmet(expected, observation.result, rules)
    if found is not None:
        return Failed(evidence=found), Execution(outcome="mismatch", engine=observation.engine)
    if isinstance(expected, ExpectationSuite):
        open_ = [each.detail for each in suite_of(expected, observation.result) if each.verdict == "inconclusive"]
        if open_:
            problem = Problem(kind="unsupported", side=None, message="; ".join(filter(None, open_)))
            execution = Execution(outcome="match", engine=observation.engine, detail=problem.message)
            return Failed(evidence=Undecided(problem=problem)), execution
    return Equivalent(evidence=Observed(differences=())), Execution(outcome="match", engine=observation.engine)
