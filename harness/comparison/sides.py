"""A run as a comparison sees it: its cases, each with one grade, one answer and a few measurements."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from canon.verdict import Witness
from harness.types.cases import Case
from harness.types.outcomes import CaseResult, Failed, Grade, Judgement
from harness.types.run import RunFacts
from harness.types.texts import answer_text, expected_text, failure_lines


@dataclass(frozen=True, slots=True)
class CaseSide:
    """One case of one run.

    Attributes:
        id: the case.
        digest: digest of the case when it ran, `None` where the source has none.
        nl: the sentence, `None` where the source has none.
        expected: the golden, `None` where the source has none.
        tags: labels.
        group: cluster of paraphrases.
        grade: of the attempt that decides the case.
        passes: attempts that passed.
        attempts: attempts made.
        actual: the answer of the attempt that decides the case.
        lines: what is wrong with it, one line each.
        latencies: milliseconds per model call.
        prompt_tokens: over all calls, `None` = not reported.
        completion_tokens: over all calls, `None` = not reported.
        witness: rows on which the answer is wrong, where the source has them.
    """

    id: str
    grade: Grade
    passes: int
    attempts: int
    digest: str | None = None
    nl: str | None = None
    expected: str | None = None
    tags: tuple[str, ...] = ()
    group: str | None = None
    actual: str = ""
    lines: tuple[str, ...] = ()
    latencies: tuple[float, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    witness: Witness | None = None

    @property
    def passed(self) -> bool:
        """Whether every attempt passed."""
        return self.passes == self.attempts

    @property
    def share(self) -> float:
        """Share of the attempts that passed."""
        return self.passes / self.attempts


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a comparison.

    Attributes:
        label: what reports call it, unique within a comparison.
        source: the folder or file as the user named it.
        cases: in the golden's order.
        model: the model's name, where it is known.
        facts: the run's facts, where the source has them.
    """

    label: str
    source: str
    cases: tuple[CaseSide, ...]
    model: str | None = None
    facts: RunFacts | None = None


def side_of_run(source: str, facts: RunFacts, results: Iterable[tuple[Case, CaseResult]]) -> Side:
    """The side that a run makes."""
    cases = tuple(case_side(case, result) for case, result in results)
    return Side(label=facts.model or facts.name, source=source, cases=cases, model=facts.model, facts=facts)


def case_side(case: Case, result: CaseResult) -> CaseSide:
    """A case of a run with its attempts."""
    worst = result.worst
    calls = [call for outcome in result.outcomes for call in outcome.reply.calls]
    digests = {outcome.case_digest for outcome in result.outcomes}
    return CaseSide(
        id=case.id,
        digest=digests.pop() if len(digests) == 1 else case.digest,
        nl=case.nl,
        expected=expected_text(case.expectation),
        tags=case.tags,
        group=case.group,
        grade=worst.grade,
        passes=sum(outcome.passed for outcome in result.outcomes),
        attempts=len(result.outcomes),
        actual=answer_text(worst.reply.answer),
        lines=(*failure_lines(worst.judgement), *_reading(worst.judgement)),
        latencies=tuple(call.latency_ms for call in calls),
        prompt_tokens=_total(call.usage.prompt for call in calls),
        completion_tokens=_total(call.usage.completion for call in calls),
        witness=_witness(worst.judgement),
    )


def _reading(judgement: Judgement) -> tuple[str, ...]:
    """What the witness of a failure shows, in words, where it says so."""
    witness = _witness(judgement)
    return (witness.reading,) if witness is not None and witness.reading else ()


def _witness(judgement: Judgement) -> Witness | None:
    if isinstance(judgement, Failed) and judgement.evidence is not None and judgement.evidence.basis == "refuted":
        return judgement.evidence.witness
    return None


def with_unique_labels(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Name each side by its model, else by its run, else by its source: the first that tells all sides apart."""
    candidates = (
        [side.label for side in sides],
        [side.facts.name if side.facts else side.label for side in sides],
        [side.source for side in sides],
    )
    labels = next((names for names in candidates if len(set(names)) == len(names)), None)
    if labels is None:
        labels = [f"{side.source} ({number})" for number, side in enumerate(sides, start=1)]
    return tuple(replace(side, label=label) for side, label in zip(sides, labels, strict=True))


def _total(reported: Iterable[int | None]) -> int | None:
    known = [count for count in reported if count is not None]
    return sum(known) if known else None
