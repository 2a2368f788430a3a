"""How an attempt was judged, and how a case stands over its repeats."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from canon.verdict import Canonical, Difference, Identical, Proved, Refuted, Undecided
from harness.types.answers import NoQueryReason, Reply
from harness.types.expectations import ExpectationResult
from harness.types.frozen import Frozen
from harness.types.results import ResultDiff

Grade = Literal["EXACT", "EQUIVALENT", "REFUSED", "FAIL", "ERROR"]
LADDER: tuple[Grade, ...] = ("EXACT", "EQUIVALENT", "REFUSED", "FAIL", "ERROR")
PASSES: frozenset[Grade] = frozenset({"EXACT", "EQUIVALENT", "REFUSED"})
Basis = Literal["identical", "canonical", "proved", "observed", "refused", "refuted", "undecided", "none"]

ExecutionOutcome = Literal[
    "match",
    "mismatch",
    "generated_error",
    "reference_error",
    "refused",
    "timeout",
    "too_many_rows",
    "too_many_bytes",
    "resource_limit",
]


class Execution(Frozen):
    """Both queries were run on a fixture.

    Attributes:
        outcome: how the results stand to each other.
        engine: engine and version that ran them.
        detail: one line for a person; never SQL text, paths or driver text.
        contradiction: the texts mean the same by canon or proof, and yet the results differ.
    """

    outcome: ExecutionOutcome
    engine: str
    detail: str = ""
    contradiction: bool = False


class Exact(Frozen):
    """Byte-identical to the golden."""

    grade: Literal["EXACT"] = "EXACT"
    evidence: Identical = Identical()


class Observed(Frozen):
    """The results on the fixture were the same, and the user asked that this count."""

    basis: Literal["observed"] = "observed"
    differences: tuple[Difference, ...]


class Equivalent(Frozen):
    """Other text, same meaning. `accepted` = it matched this alternative of the golden (0 = the golden itself)."""

    grade: Literal["EQUIVALENT"] = "EQUIVALENT"
    evidence: Annotated[Canonical | Proved | Observed, Field(discriminator="basis")]
    accepted: int = 0


class Refused(Frozen):
    """A refusal was expected, and the system refused."""

    grade: Literal["REFUSED"] = "REFUSED"
    by: Literal["structure", "words"] = "structure"


class Unmet(Frozen):
    """The answer was run on the fixture, and its result is not what the golden expects of one.

    Attributes:
        lines: what is wrong, for a person, one thing each.
        diff: how the rows differ, where rows were expected and the answer gave some.
        expectations: how each check came out, where a suite was expected.
    """

    basis: Literal["observed"] = "observed"
    lines: tuple[str, ...] = Field(min_length=1)
    diff: ResultDiff | None = None
    expectations: tuple[ExpectationResult, ...] = ()

    @property
    def differences(self) -> tuple[Difference, ...]:
        """None: no query was expected that the answer could be held against."""
        return ()


class Failed(Frozen):
    """A query came back, and it is the wrong one; `evidence` is `None` where a refusal was expected."""

    grade: Literal["FAIL"] = "FAIL"
    evidence: Annotated[Refuted | Undecided | Unmet, Field(discriminator="basis")] | None
    message: str = ""


class NoAnswer(Frozen):
    """No query came back."""

    grade: Literal["ERROR"] = "ERROR"
    reason: NoQueryReason
    message: str


Judgement = Annotated[Exact | Equivalent | Refused | Failed | NoAnswer, Field(discriminator="grade")]


def basis_of(judgement: Judgement) -> Basis:
    """What a judgement rests on, as one word for tables."""
    match judgement:
        case Exact():
            return "identical"
        case Equivalent(evidence=evidence):
            return evidence.basis
        case Refused():
            return "refused"
        case Failed(evidence=evidence):
            return evidence.basis if evidence is not None else "none"
        case NoAnswer():
            return "none"


class Outcome(Frozen):
    """One finished attempt.

    Attributes:
        case_id: the case.
        case_digest: `Case.digest` when it ran.
        repeat: 0-based.
        key: digest of everything that determined the request (case, repeat, target facts, clock).
        now: the clock of the attempt, aware UTC.
        reply: what the target gave back.
        judgement: the grade with its evidence.
        meaning: digest of the answer's canonical form (the refusal, the error reason), to count distinct answers.
        execution: the result of running both queries, where asked for.
        finished_at: wall clock, aware UTC.
    """

    case_id: str
    case_digest: str
    repeat: int = Field(ge=0)
    key: str
    now: datetime
    reply: Reply
    judgement: Judgement
    meaning: str
    execution: Execution | None = None
    finished_at: datetime

    @property
    def grade(self) -> Grade:
        """The rung of the ladder."""
        return self.judgement.grade

    @property
    def passed(self) -> bool:
        """Whether the grade counts as a pass."""
        return self.judgement.grade in PASSES


class CaseResult(Frozen):
    """A case over its repeats. `outcomes` is ordered by repeat and never empty."""

    outcomes: tuple[Outcome, ...]

    @model_validator(mode="after")
    def _one_case(self) -> "CaseResult":
        if not self.outcomes or len({outcome.case_id for outcome in self.outcomes}) != 1:
            raise ValueError("a case result holds at least one outcome, all of one case")
        return self

    @property
    def worst(self) -> Outcome:
        """The attempt that decides the case: the lowest on the ladder, the earliest of equals."""
        return max(self.outcomes, key=lambda outcome: (LADDER.index(outcome.grade), -outcome.repeat))

    @property
    def grade(self) -> Grade:
        """The worst attempt's grade."""
        return self.worst.grade

    @property
    def passed(self) -> bool:
        """Whether every repeat passed."""
        return all(outcome.passed for outcome in self.outcomes)

    @property
    def flaky(self) -> bool:
        """Whether some repeats passed and others failed."""
        return not self.passed and any(outcome.passed for outcome in self.outcomes)

    @property
    def distinct_answers(self) -> int:
        """How many different meanings came back."""
        return len({outcome.meaning for outcome in self.outcomes})

    @property
    def steady(self) -> bool:
        """Every one of two or more repeats gave the same wrong query: a misreading, not noise."""
        wrong = all(outcome.grade == "FAIL" for outcome in self.outcomes)
        return wrong and len(self.outcomes) > 1 and self.distinct_answers == 1
