"""How a scorer judged an answer, and what a solver gave; what was not decided carries no evidence."""

from typing import Literal

from pydantic import Field, model_validator

from canon.verdict import Difference, Witness
from harness.types.error import Error
from harness.types.expectations import ExpectationResult, Verdict
from harness.types.frozen import Frozen
from harness.types.outcomes import Basis
from harness.types.results import ResultDiff

_PASS_BASES: frozenset[Basis] = frozenset({"identical", "canonical", "proved", "observed", "refused"})
_FAIL_BASES: frozenset[Basis] = frozenset({"refuted", "observed", "undecided", "none"})


class SemanticVerdict(Frozen):
    """What deciding by meaning alone says of two queries. It joins, or it abstains; it never refutes and has no diff.

    Attributes:
        verdict: `equivalent` or `inconclusive`.
        basis: what the equivalence rests on; absent where there is none.
        absorbed: the identities that were used.
        assumptions: what a proof takes for granted (declared domains, keys).
        detail: one line for a person.
    """

    verdict: Literal["equivalent", "inconclusive"]
    basis: Literal["identical", "canonical", "proved"] | None = None
    absorbed: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    detail: str = ""

    @model_validator(mode="after")
    def _rests_on_something(self) -> "SemanticVerdict":
        if (self.verdict == "equivalent") != (self.basis is not None):
            raise ValueError("an equivalence rests on a basis, and what was not decided rests on none")
        if self.assumptions and self.basis != "proved":
            raise ValueError("only a proof has assumptions")
        return self


class ScoreResult(Frozen):
    """What a scorer says of an answer.

    Attributes:
        scorer: its name.
        verdict: whether the answer is right; `inconclusive` = this scorer cannot tell.
        score: 0 to 1; absent where it cannot tell.
        basis: what the verdict rests on; absent where it cannot tell.
        detail: what a person should read, one thing a line.
        differences: what is wrong, in field terms.
        diff: how the results differ.
        witness: the smallest rows on which the two differ.
        expectations: the checks of a suite.
        trail: of a combination: what each scorer that was asked said, in order.
    """

    scorer: str = Field(min_length=1)
    verdict: Verdict
    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)
    basis: Basis | None = None
    detail: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    diff: ResultDiff | None = None
    witness: Witness | None = None
    expectations: tuple[ExpectationResult, ...] = ()
    trail: tuple["ScoreResult", ...] = ()

    @model_validator(mode="after")
    def _carries_its_evidence(self) -> "ScoreResult":
        if self.verdict == "inconclusive":
            if any(part is not None for part in (self.score, self.basis, self.diff, self.witness)):
                raise ValueError("an inconclusive result carries no score, basis, diff or witness")
            return self
        if self.score is None or self.basis is None:
            raise ValueError("a decided result carries a score and a basis")
        if self.basis not in (_PASS_BASES if self.verdict == "pass" else _FAIL_BASES):
            raise ValueError(f"a {self.verdict} cannot rest on {self.basis}")
        if self.verdict == "pass" and (self.diff is not None or self.witness is not None):
            raise ValueError("an answer that passes has no diff and no witness")
        if self.verdict == "pass" and any(result.verdict == "fail" for result in self.expectations):
            raise ValueError("an answer that passes fails no check")
        return self


class SolverError(Error):
    """Why a solver gave no query.

    Attributes:
        provider: who was asked, where that is known.
    """

    kind: Literal["transport", "refused", "unusable", "crashed"]
    provider: str | None = None


class SolverOutput(Frozen):
    """What a solver gave: the query, or why there is none; never both, never neither."""

    output: str | None = Field(default=None, min_length=1)
    error: SolverError | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "SolverOutput":
        if (self.output is None) == (self.error is None):
            raise ValueError("a solver's output is either the query or an error")
        return self
