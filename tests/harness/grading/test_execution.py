"""What an execution may do to a grade, in each mode, and what it may never do."""

import pytest

from canon.verdict import Canonical, Difference, Proved, Refuted, RowWitness, Table, Undecided
from harness.grading.execution import ExecutionMode, settle
from harness.types.outcomes import (
    Equivalent,
    Exact,
    Execution,
    ExecutionOutcome,
    Failed,
    Judgement,
    NoAnswer,
    Observed,
    Refused,
)

EMPTY = Table(name="t", columns=("a",), rows=())
LIMIT = Difference(kind="limit", where="LIMIT", expected="5", actual="6")
EXACT, CANONICAL, PROVED = (
    Exact(),
    Equivalent(evidence=Canonical(absorbed=())),
    Equivalent(evidence=Proved(absorbed=())),
)
UNDECIDED = Failed(evidence=Undecided(differences=(LIMIT,)))
VACUOUS = Failed(evidence=Undecided(differences=(Difference(kind="vacuous", where="WHERE"),)))
REFUTED = Failed(evidence=Refuted(differences=(), witness=RowWitness(tables=(), expected=EMPTY, actual=EMPTY)))
ANSWERED_INSTEAD = Failed(evidence=None)
ERROR = NoAnswer(reason="empty", message="")


def settled(judgement: Judgement, outcome: ExecutionOutcome, mode: ExecutionMode) -> tuple[Judgement, Execution | None]:
    return settle(judgement, Execution(outcome=outcome, engine="sqlite 3"), mode)


@pytest.mark.parametrize("mode", ["annotate", "require", "promote"])
@pytest.mark.parametrize("judgement", [EXACT, CANONICAL, UNDECIDED, REFUTED, Refused(), ERROR])
def test_without_an_execution_nothing_changes(judgement: Judgement, mode: ExecutionMode) -> None:
    assert settle(judgement, None, mode) == (judgement, None)


@pytest.mark.parametrize("outcome", ["match", "mismatch", "generated_error", "timeout"])
@pytest.mark.parametrize("judgement", [EXACT, CANONICAL, UNDECIDED, REFUTED])
def test_annotate_never_changes_a_grade(judgement: Judgement, outcome: ExecutionOutcome) -> None:
    assert settled(judgement, outcome, "annotate")[0] == judgement


@pytest.mark.parametrize(
    ("judgement", "outcome", "grade"),
    [
        (EXACT, "match", "EXACT"),
        (CANONICAL, "match", "EQUIVALENT"),
        (EXACT, "mismatch", "FAIL"),
        (CANONICAL, "reference_error", "FAIL"),
        (PROVED, "timeout", "FAIL"),
        (UNDECIDED, "match", "FAIL"),
        (REFUTED, "match", "FAIL"),
    ],
)
def test_require_also_demands_a_match(judgement: Judgement, outcome: ExecutionOutcome, grade: str) -> None:
    assert settled(judgement, outcome, "require")[0].grade == grade


def test_require_says_what_was_missing() -> None:
    judgement, _ = settle(EXACT, Execution(outcome="timeout", engine="e", detail="2 s"), "require")
    assert isinstance(judgement, Failed)
    assert judgement.message == (
        "the query means the same, but a match on execution was required and it came to timeout: 2 s"
    )


@pytest.mark.parametrize(
    ("judgement", "outcome", "raised"),
    [
        (UNDECIDED, "match", True),
        (UNDECIDED, "mismatch", False),
        (UNDECIDED, "generated_error", False),
        (REFUTED, "match", False),
        (VACUOUS, "match", False),
        (ANSWERED_INSTEAD, "match", False),
    ],
)
def test_promote_raises_an_undecided_fail_and_nothing_else(
    judgement: Judgement, outcome: ExecutionOutcome, raised: bool
) -> None:
    settled_judgement, _ = settled(judgement, outcome, "promote")
    expected = Equivalent(evidence=Observed(differences=(LIMIT,))) if raised else judgement
    assert settled_judgement == expected


@pytest.mark.parametrize("mode", ["annotate", "require", "promote"])
@pytest.mark.parametrize(
    ("judgement", "outcome", "contradicts"),
    [
        (EXACT, "mismatch", True),
        (CANONICAL, "mismatch", True),
        (PROVED, "mismatch", True),
        (PROVED, "match", False),
        (EXACT, "generated_error", False),
        (UNDECIDED, "mismatch", False),
        (REFUTED, "match", False),
    ],
)
def test_same_meaning_and_other_results_is_a_contradiction(
    judgement: Judgement, outcome: ExecutionOutcome, contradicts: bool, mode: ExecutionMode
) -> None:
    _, execution = settled(judgement, outcome, mode)
    assert execution is not None
    assert execution.contradiction is contradicts


def test_results_in_another_order_of_columns_contradict_nothing() -> None:
    execution = Execution(outcome="mismatch", engine="e", detail="4 missing")
    judgement, marked = settle(CANONICAL, execution, "annotate", permuted=True)
    assert judgement == CANONICAL
    assert marked == Execution(outcome="mismatch", engine="e", detail="4 missing; the columns come in another order")
