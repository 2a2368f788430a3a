"""Grades replies: the ladder on what is known of the data, the meaning, and the execution where one is asked for."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from canon.rules import Rules
from harness.grading.execution import ExecutionMode, of_result, settle
from harness.grading.ladder import judge
from harness.grading.meaning import meaning_of
from harness.grading.seams import Executor, Knowledge, NothingKnown, WitnessSearch
from harness.types.answers import Answer, MongoAnswer, Reply, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.expectations import ExpectationSuite, ExpectRows, ExpectTypedRows
from harness.types.outcomes import PASSES, Execution, Failed, Judgement

_AT_ONCE = 4_000
"""Characters of golden, alternatives and answer together up to which a pair is compared in the event loop."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.grading.identities import Identity


class Graded(NamedTuple):
    """A reply in its place."""

    judgement: Judgement
    meaning: str
    execution: Execution | None


class Grader:
    """Grades replies.

    canon takes about a millisecond for a pair of ordinary size, less than handing it to a thread and back costs where
    both want the interpreter: that is done at once, in the event loop. What may take long (large texts, the search for
    a witness) goes to a thread, for it would delay the next call and lengthen the latency that is measured of others.
    """

    def __init__(
        self,
        *,
        rules: Rules | None = None,
        knowledge: Knowledge | None = None,
        witness: WitnessSearch | None = None,
        executor: Executor | None = None,
        mode: ExecutionMode = "annotate",
        identities: "Sequence[Identity]" = (),
    ) -> None:
        self._rules = rules or Rules()
        self._knowledge = knowledge or NothingKnown()
        self._witness = witness
        self._executor = executor
        self._mode: ExecutionMode = mode
        self._identities = tuple(identities)
        self._thread: ThreadPoolExecutor | None = None

    def judge(self, case: Case, answer: Answer, *, now: datetime, search: bool = True) -> tuple[Judgement, str]:
        """Place an answer on the ladder and say what it means, without running it.

        Args:
            case: the case.
            answer: what was read from the reply.
            now: the pinned clock.
            search: look for a witness where canon cannot decide.
        """
        schema, fields = self._knowledge.schema(case), self._knowledge.fields(case)
        witness = self._witness if search else None
        judgement = judge(
            case,
            answer,
            now=now,
            schema=schema,
            fields=fields,
            rules=self._rules,
            witness=witness,
            identities=self._identities if search else (),
        )
        return judgement, meaning_of(case, answer, judgement, now=now, schema=schema)

    async def prepare(self, cases: Iterable[Case]) -> None:
        """Load what grading these cases takes, before the first call: loading holds up every other thread.

        Each golden is compared with itself under a comment, so that canon is asked in earnest.
        """
        if self._witness is not None:
            import_module("harness.witness.search")
        loop = asyncio.get_running_loop()
        for case in cases:
            match case.expectation:
                case ExpectSql(text=text, args=args):
                    answer: Answer = SqlAnswer(text=f"{text}\n-- ", args=args or ())
                case ExpectMongo(text=text):
                    answer = MongoAnswer(text=f"{text} ")
                case _:
                    continue
            now = case.now or datetime.now(UTC)
            await loop.run_in_executor(self._grading(), partial(self.judge, case, answer, now=now))

    def _grading(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grading")
        return self._thread

    async def grade(self, case: Case, reply: Reply, *, now: datetime) -> Graded:
        """Place a reply on the ladder; run golden and answer where the run has an executor and the case a query."""
        judgement, meaning = await self._judged(case, reply.answer, now)
        if isinstance(case.expectation, ExpectRows | ExpectTypedRows | ExpectationSuite):
            return await self._observed(case, reply.answer, Graded(judgement, meaning, None), now)
        execution: Execution | None = None
        runnable = isinstance(reply.answer, SqlAnswer | MongoAnswer) and judgement.grade != "ERROR"
        if self._executor is not None and runnable and not isinstance(case.expectation, ExpectRefusal):
            assert isinstance(reply.answer, SqlAnswer | MongoAnswer)
            execution = await self._executor.execute(case, reply.answer, now=now)
        permuted = execution is not None and execution.outcome == "mismatch" and self._is_permuted(case, reply, now)
        judgement, execution = settle(judgement, execution, self._mode, permuted=permuted)
        return Graded(judgement, meaning, execution)

    async def _observed(self, case: Case, answer: Answer, unseen: Graded, now: datetime) -> Graded:
        """Grade by what the answer returns on the case's data; what was not run stays as it was judged."""
        assert isinstance(case.expectation, ExpectRows | ExpectTypedRows | ExpectationSuite)
        if self._executor is None or not isinstance(answer, SqlAnswer | MongoAnswer):
            return unseen
        observation = await self._executor.observe(case, answer, now=now)
        if observation is None:
            return unseen
        judgement, execution = of_result(case.expectation, observation, case.result_rules)
        return Graded(judgement, unseen.meaning, execution)

    async def _judged(self, case: Case, answer: Answer, now: datetime) -> tuple[Judgement, str]:
        loop = asyncio.get_running_loop()
        if _size(case, answer) > _AT_ONCE:
            return await loop.run_in_executor(self._grading(), partial(self.judge, case, answer, now=now))
        judged = self.judge(case, answer, now=now, search=False)
        if (self._witness is None and not self._identities) or not _is_open(judged[0]):
            return judged
        return await loop.run_in_executor(self._grading(), partial(self.judge, case, answer, now=now))

    def _is_permuted(self, case: Case, reply: Reply, now: datetime) -> bool:
        """Whether an answer that passes would not, were the order of columns to count."""
        if self._rules.columns == "ordered":
            return False
        rules = self._rules.model_copy(update={"columns": "ordered"})
        schema, fields = self._knowledge.schema(case), self._knowledge.fields(case)
        strictly = judge(case, reply.answer, now=now, schema=schema, fields=fields, rules=rules)
        return strictly.grade not in PASSES

    async def aclose(self) -> None:
        """Give back the thread and the executor. Idempotent."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None
        if self._executor is not None:
            await self._executor.aclose()


def _size(case: Case, answer: Answer) -> int:
    """Characters that a comparison reads."""
    texts = [getattr(case.expectation, "text", ""), getattr(answer, "text", ""), *case.accept]
    return sum(map(len, texts))


def _is_open(judgement: Judgement) -> bool:
    """Whether a witness could change it."""
    return isinstance(judgement, Failed) and judgement.evidence is not None and judgement.evidence.basis == "undecided"
