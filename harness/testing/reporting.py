"""What a test run evaluated, as a small table and as the reports of a run."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from harness.api import blocking
from harness.grading.meaning import meaning_of
from harness.report.formats import reporter_for
from harness.runs.summary import summarise
from harness.testing.asserting import Evaluated
from harness.testing.scorers import judged
from harness.types.answers import Reply
from harness.types.cases import Case
from harness.types.outcomes import CaseResult, Outcome
from harness.types.run import RunFacts, Summary


def summary_lines(evaluated: Sequence[Evaluated]) -> list[str]:
    """How many cases passed, and per tag; in plain text."""
    passed = {name: all(each.passed for each in group) for name, group in _by_case(evaluated).items()}
    tags: Counter[str] = Counter()
    tags_passed: Counter[str] = Counter()
    for name, group in _by_case(evaluated).items():
        tags.update(group[0].case.tags)
        tags_passed.update(tag for tag in group[0].case.tags if passed[name])
    bases = Counter(score.basis or score.verdict for each in evaluated for score in each.scores)
    width = max((len(tag) for tag in tags), default=0)
    lines = [f"{sum(passed.values())} of {len(passed)} cases passed, {len(evaluated)} attempts"]
    lines.append("resting on: " + ", ".join(f"{basis} {count}" for basis, count in bases.most_common()))
    lines += [f"  {tag:<{width}}  {tags_passed[tag]}/{tags[tag]}" for tag in sorted(tags)]
    return lines


def _by_case(evaluated: Sequence[Evaluated]) -> dict[str, list[Evaluated]]:
    groups: dict[str, list[Evaluated]] = {}
    for each in evaluated:
        groups.setdefault(f"{each.case.id}:{each.case.digest}", []).append(each)
    return groups


def write_report(evaluated: Sequence[Evaluated], path: Path) -> None:
    """Write the report of a test run; each answer is graded on the ladder for it.

    Raises:
        UsageError: no report has this extension.
    """
    reporter_for(path).write(TestedRun(evaluated), path)


class TestedRun:
    """What a test run evaluated, as a run that reports can read."""

    __test__ = False  # of pytest: this is no test

    def __init__(self, evaluated: Sequence[Evaluated]) -> None:
        now = datetime.now(UTC)
        self._groups = _by_case(evaluated)
        self._results = [
            (
                group[0].case,
                CaseResult(outcomes=tuple(_outcome(each, number, now) for number, each in enumerate(group))),
            )
            for group in self._groups.values()
        ]
        repeat = max((len(group) for group in self._groups.values()), default=1)
        self.facts = RunFacts(
            name="tests",
            started_at=now,
            now=now,
            golden="tests",
            golden_digest="",
            target="tests",
            repeat=repeat,
            versions={"rung": version("rung")},
        )

    @property
    def summary(self) -> Summary:
        """The counts."""
        return summarise(_Counted(self), interrupted=False)

    def results(self) -> Iterator[tuple[Case, CaseResult]]:
        """Every case with its outcomes."""
        return iter(self._results)

    def cases(self) -> Iterator[Case]:
        """Every case."""
        return (case for case, _ in self._results)


class _Counted:
    """The run as it is counted: every case has all the repeats that were asked of it."""

    def __init__(self, run: TestedRun) -> None:
        self.facts = run.facts.model_copy(update={"repeat": 1})
        self.cases = run.cases
        self.results = run.results


def _outcome(each: Evaluated, repeat: int, now: datetime) -> Outcome:
    at = each.case.now or now
    judgement = blocking(lambda: judged(each.case, each.answer, now=at))
    return Outcome(
        case_id=each.case.id,
        case_digest=each.case.digest,
        repeat=repeat,
        key=hashlib.sha256(f"{each.case.digest}:{repeat}".encode()).hexdigest()[:32],
        now=at,
        reply=Reply(answer=each.answer),
        judgement=judgement,
        meaning=meaning_of(each.case, each.answer, judgement, now=at),
        finished_at=now,
    )
