"""Carries a run out: poses the questions, keeps what an earlier start has finished, makes the rest, counts it all."""

import asyncio
import hashlib
import itertools
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from harness.errors import JournalError
from harness.grading.grader import Grader
from harness.runs.attempts import Attempt, Question, pose
from harness.runs.folder import Finished, Places, RunFolder, StoredRun
from harness.runs.journal import Entry, Journal, entry_at, read_journal
from harness.runs.runner import Runner, Unwatched, Watcher
from harness.targets.target import Target
from harness.types.answers import NoQuery, NoQueryReason
from harness.types.cases import Case
from harness.types.outcomes import Outcome
from harness.types.run import RunFacts, Warned

_LOOKED_AT = 200
_ON_THE_WAY: frozenset[NoQueryReason] = frozenset({"transport", "target_crashed"})
"""Reasons for which there was no answer to grade, as against an answer without a query in it."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run, and how.

    Attributes:
        folder: where the run is kept.
        facts: what is written of it.
        cases: what to ask, `<default>` projections resolved.
        graded: what the grading depends on beside the case, as text: a change of it grades kept replies anew.
        parallel: attempts in flight at a time.
        paid: whether an attempt costs something.
        resume: go on with what the folder holds.
        retry_errors: with `resume`, make attempts again that failed on their way: in transport, or by a crash.
        told: warnings that were known before.
    """

    folder: RunFolder
    facts: RunFacts
    cases: Iterable[Case]
    graded: str
    parallel: int = 4
    paid: bool = True
    resume: bool = False
    retry_errors: bool = False
    told: tuple[Warned, ...] = ()
    stop: asyncio.Event = field(default_factory=asyncio.Event)


async def carry_out(plan: Plan, target: Target, grader: Grader, watcher: Watcher | None = None) -> StoredRun:
    """Run a plan and count it.

    Returns:
        The run, its summary written to its folder.

    Raises:
        JournalError: the folder holds a run and `resume` is not set, or its journal cannot be used.
        RungError: the target cannot go on; what was finished is kept.
    """
    folder, facts = plan.folder, plan.facts
    if folder.exists() and not plan.resume:
        raise JournalError(f"{folder.path} holds a run already: --resume goes on with it, --name begins another")
    folder.path.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder.journal)
    try:
        folder.summary.unlink(missing_ok=True)
        count = folder.write_questions(
            pose(case, target=target.name, facts=target.facts(case), run_now=facts.now) for case in plan.cases
        )
        # Last, for it is what makes the folder a run: a golden that fails half-way leaves none.
        folder.write_facts(facts)
        graded = hashlib.sha256(plan.graded.encode()).hexdigest()[:16]
        resumption = _Resumption(folder, facts.repeat, count, graded, plan.retry_errors)
        await grader.prepare(_one_of_each_backend(folder))
        await resumption.grade_anew(grader, journal)
        runner = Runner(
            target=target,
            grader=grader,
            journal=journal,
            finished=resumption.finished,
            graded=graded,
            parallel=plan.parallel,
            stop=plan.stop,
            paid=plan.paid,
            watcher=watcher or Unwatched(),
        )
        runner.watcher.began(count * facts.repeat, len(resumption.finished))
        try:
            whole = await runner.make(_open_attempts(folder, resumption.finished, facts.repeat))
        finally:
            runner.watcher.ended()
    finally:
        await journal.aclose()
    run = StoredRun(folder, facts, resumption.finished)
    told = plan.told if runner.spent is None else (*plan.told, Warned(kind="other", message=runner.spent))
    run.count(interrupted=not whole, told=told)
    return run


def asks_again(outcome: Outcome) -> bool:
    """Whether an attempt failed on its way: nobody has answered it. What the system said, however bad, stands."""
    answer = outcome.reply.answer
    return isinstance(answer, NoQuery) and answer.reason in _ON_THE_WAY


def _one_of_each_backend(folder: RunFolder) -> list[Case]:
    """A case of each backend among the first, for the grader to load what it needs."""
    first: dict[str, Case] = {}
    for question in itertools.islice(folder.questions(), _LOOKED_AT):
        first.setdefault(question.case.backend, question.case)
    return list(first.values())


def _open_attempts(folder: RunFolder, finished: Finished, repeat: int) -> Iterator[Attempt]:
    """The attempts that are still to be made, all repeats of a case before the next case."""
    for place, question in enumerate(folder.questions()):
        for number in range(repeat):
            if not finished.has(place, number):
                yield Attempt(place, question, number)


class _Resumption:
    """What an earlier start has finished, and which of it was graded by other rules or against another golden."""

    def __init__(self, folder: RunFolder, repeat: int, count: int, graded: str, retry_errors: bool) -> None:
        self.finished = Finished(count, repeat)
        self._folder = folder
        self._graded = graded
        self._repeat = repeat
        self._stale = array("b", bytes(count * repeat))
        self._any_stale = False
        if folder.journal.stat().st_size:
            self._take(repeat, retry_errors)

    def _take(self, repeat: int, retry_errors: bool) -> None:
        places = Places(self._folder.questions())
        for offset, entry in read_journal(self._folder.journal):
            outcome = entry.outcome
            place = places.find(entry)
            if place is None or outcome.repeat >= repeat:
                continue
            again = retry_errors and asks_again(outcome)
            self.finished.mark(place, outcome.repeat, None if again else offset)
            stale = entry.graded != self._graded or outcome.case_digest != places.case_digest(place)
            self._stale[place * repeat + outcome.repeat] = stale and not again
            self._any_stale = self._any_stale or stale

    async def grade_anew(self, grader: Grader, journal: Journal) -> None:
        """Grade kept replies again where golden or rules have changed: the reply was paid for and still answers."""
        if not self._any_stale:
            return
        with self._folder.journal.open("rb") as file:
            for place, question in enumerate(self._folder.questions()):
                for repeat in range(self._repeat):
                    offset = self.finished.at(place, repeat)
                    if offset is not None and self._stale[place * self._repeat + repeat]:
                        outcome = await _graded_anew(entry_at(file, offset).outcome, question, grader)
                        entry = Entry(graded=self._graded, outcome=outcome)
                        self.finished.mark(place, repeat, await journal.append(entry, durable=False))


async def _graded_anew(outcome: Outcome, question: Question, grader: Grader) -> Outcome:
    graded = await grader.grade(question.case, outcome.reply, now=outcome.now)
    return outcome.model_copy(
        update={
            "case_digest": question.case.digest,
            "judgement": graded.judgement,
            "meaning": graded.meaning,
            "execution": graded.execution,
            "finished_at": datetime.now(UTC),
        }
    )
