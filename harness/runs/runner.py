"""Makes the attempts of a run: so many at a time, each journalled before its worker pays for the next."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from harness.endpoint.budget import BudgetReached
from harness.errors import RungError
from harness.grading.grader import Graded, Grader
from harness.runs.attempts import Attempt
from harness.runs.folder import Finished
from harness.runs.journal import Entry, Journal
from harness.targets.target import Target
from harness.types.answers import NoQuery, Reply
from harness.types.outcomes import Outcome

GRACE_SECONDS = 0.5
"""How long calls in flight may take to end by themselves once a stop is asked for."""


class Watcher(Protocol):
    """Is told of what a run does: a progress bar, a log."""

    def began(self, total: int, done: int) -> None:
        """The run begins; `done` of its `total` attempts were finished before."""
        ...

    def finished(self, outcome: Outcome) -> None:
        """An attempt is finished and on the disk."""
        ...

    def ended(self) -> None:
        """No more attempts are made."""
        ...


class Unwatched:
    """Tells nobody."""

    def began(self, total: int, done: int) -> None:
        """Say nothing."""

    def finished(self, outcome: Outcome) -> None:
        """Say nothing."""

    def ended(self) -> None:
        """Say nothing."""


@dataclass(kw_only=True)
class Runner:
    """Makes attempts.

    Attributes:
        target: what is asked.
        grader: grades what comes back.
        journal: keeps it.
        finished: is told where.
        graded: digest of the rules of grading, kept with each entry.
        parallel: attempts in flight at a time.
        paid: whether an attempt costs something, so that it must be on the disk before the next is made.
        watcher: is told of each finished attempt.
        stop: set from outside to end the run early.
        spent: what budget was reached, where one was; nothing more is asked then, and what is in flight is finished.
    """

    target: Target
    grader: Grader
    journal: Journal
    finished: Finished
    graded: str
    parallel: int
    stop: asyncio.Event
    paid: bool = True
    watcher: Watcher = field(default_factory=Unwatched)
    spent: str | None = field(default=None, init=False)

    async def make(self, attempts: Iterator[Attempt]) -> bool:
        """Make attempts until there are none left or a stop is asked for.

        Returns:
            Whether all were made.

        Raises:
            RungError: target or journal cannot go on. What was finished before is kept.
        """
        workers = [asyncio.create_task(self._work(attempts)) for _ in range(self.parallel)]
        stopping = asyncio.create_task(self.stop.wait())
        working = asyncio.gather(*workers)
        try:
            either: list[asyncio.Future[Any]] = [working, stopping]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await asyncio.wait({working}, timeout=GRACE_SECONDS)
        finally:
            stopping.cancel()
            await _end(workers)
        with contextlib.suppress(asyncio.CancelledError):
            await working
        return self.spent is None and not self.stop.is_set()

    async def _work(self, attempts: Iterator[Attempt]) -> None:
        for attempt in attempts:
            if self.stop.is_set() or self.spent is not None:
                return
            try:
                reply = await self._ask(attempt)
            except BudgetReached as reached:
                self.spent = str(reached)
                return
            await self._keep(attempt, reply)
            if not self.paid:
                # A target that never waits would keep the loop from its signals and its clock.
                await asyncio.sleep(0)

    async def _keep(self, attempt: Attempt, reply: Reply) -> None:
        """Grade a reply and bring it to the disk."""
        question = attempt.question
        try:
            graded = await self.grader.grade(question.case, reply, now=question.now)
        except RungError:
            # The fixture is broken, not the reply: it is kept without a mark, so that a resume grades it.
            judgement, meaning = self.grader.judge(question.case, reply.answer, now=question.now)
            await self._write(attempt, reply, Graded(judgement, meaning, None), mark="")
            raise
        await self._write(attempt, reply, graded, mark=self.graded)

    async def _write(self, attempt: Attempt, reply: Reply, graded: Graded, *, mark: str) -> None:
        question = attempt.question
        outcome = Outcome(
            case_id=question.case.id,
            case_digest=question.case.digest,
            repeat=attempt.repeat,
            key=attempt.key,
            now=question.now,
            reply=reply,
            judgement=graded.judgement,
            meaning=graded.meaning,
            execution=graded.execution,
            finished_at=datetime.now(UTC),
        )
        offset = await self.journal.append(Entry(graded=mark, outcome=outcome), durable=self.paid)
        self.finished.mark(attempt.place, attempt.repeat, offset)
        self.watcher.finished(outcome)

    async def _ask(self, attempt: Attempt) -> Reply:
        question = attempt.question
        try:
            return await self.target.answer(question.case, now=question.now, repeat=attempt.repeat)
        except RungError:
            raise
        except Exception as error:
            # A target of the user's own may raise what it likes; one bad case must not end the run.
            said = f"the target raised {type(error).__name__}: {error}"
            return Reply(answer=NoQuery(reason="target_crashed", message=said))


async def _end(workers: list[asyncio.Task[None]]) -> None:
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
