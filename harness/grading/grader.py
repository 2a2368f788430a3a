"""Grades replies: the ladder on what is known of the data, the meaning, and the execution where one is asked for."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import NamedTuple

from canon.rules import Rules
from harness.grading.execution import ExecutionMode, settle
from harness.grading.ladder import judge
from harness.grading.meaning import meaning_of
from harness.grading.seams import Executor, Knowledge, NothingKnown, WitnessSearch
from harness.types.answers import Answer, MongoAnswer, Reply, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.outcomes import PASSES, Execution, Judgement


class Graded(NamedTuple):
    """A reply in its place."""

    judgement: Judgement
    meaning: str
    execution: Execution | None


class Grader:
    """Grades replies one after another in a thread of its own.

    canon computes without pause and may take its whole budget on one pair; in the event loop's thread that would delay
    the start of the next call and lengthen the latency that is measured of the others.
    """

    def __init__(
        self,
        *,
        rules: Rules | None = None,
        knowledge: Knowledge | None = None,
        witness: WitnessSearch | None = None,
        executor: Executor | None = None,
        mode: ExecutionMode = "annotate",
    ) -> None:
        self._rules = rules or Rules()
        self._knowledge = knowledge or NothingKnown()
        self._witness = witness
        self._executor = executor
        self._mode: ExecutionMode = mode
        self._thread: ThreadPoolExecutor | None = None

    def judge(self, case: Case, answer: Answer, *, now: datetime) -> tuple[Judgement, str]:
        """Place an answer on the ladder and say what it means, without running it."""
        schema, fields = self._knowledge.schema(case), self._knowledge.fields(case)
        judgement = judge(case, answer, now=now, schema=schema, fields=fields, rules=self._rules, witness=self._witness)
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
                case ExpectRefusal():
                    continue
            now = case.now or datetime.now(UTC)
            await loop.run_in_executor(self._grading(), partial(self.judge, case, answer, now=now))

    def _grading(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grading")
        return self._thread

    async def grade(self, case: Case, reply: Reply, *, now: datetime) -> Graded:
        """Place a reply on the ladder; run golden and answer where the run has an executor and the case a query."""
        loop = asyncio.get_running_loop()
        asked = self._grading()
        judgement, meaning = await loop.run_in_executor(asked, partial(self.judge, case, reply.answer, now=now))
        execution: Execution | None = None
        runnable = isinstance(reply.answer, SqlAnswer | MongoAnswer) and judgement.grade != "ERROR"
        if self._executor is not None and runnable and not isinstance(case.expectation, ExpectRefusal):
            assert isinstance(reply.answer, SqlAnswer | MongoAnswer)
            execution = await self._executor.execute(case, reply.answer, now=now)
        permuted = execution is not None and execution.outcome == "mismatch" and self._is_permuted(case, reply, now)
        judgement, execution = settle(judgement, execution, self._mode, permuted=permuted)
        return Graded(judgement, meaning, execution)

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
