"""The sandbox as grading asks for it: set up when the first case with a fixture comes, and not before."""

from datetime import datetime
from pathlib import Path

from harness.grading.seams import Executor
from harness.types.answers import MongoAnswer, SqlAnswer
from harness.types.cases import Case
from harness.types.observation import Observation
from harness.types.outcomes import Execution


class ExecutionOnDemand:
    """Executes the cases that have a fixture; most runs have none, and pay nothing.

    Args:
        fixture: URL or path for cases that name none of their own; `None` = those are not executed.
        folder: where relative paths of fixtures start: the golden file's folder.
    """

    def __init__(self, fixture: str | None, folder: Path) -> None:
        self._fixture = fixture
        self._folder = folder
        self._executor: Executor | None = None

    async def execute(self, case: Case, answer: SqlAnswer | MongoAnswer, *, now: datetime) -> Execution | None:
        """Return how the results stand to each other; `None` where the case has no fixture.

        Raises:
            SandboxError: the fixture cannot be loaded, or the sandbox is broken.
            UsageError: no engine runs the case's dialect on its fixture.
        """
        executor = self._for(case)
        return None if executor is None else await executor.execute(case, answer, now=now)

    async def observe(self, case: Case, answer: SqlAnswer | MongoAnswer, *, now: datetime) -> Observation | None:
        """Return what the answer alone gives; `None` where the case has no fixture.

        Raises:
            SandboxError: the fixture cannot be loaded, or the sandbox is broken.
            UsageError: no engine runs the case's dialect on its fixture.
        """
        executor = self._for(case)
        return None if executor is None else await executor.observe(case, answer, now=now)

    def _for(self, case: Case) -> Executor | None:
        if self._fixture is None and case.fixture is None:
            return None
        if self._executor is None:
            from harness.sandbox.executor import FixtureExecutor

            self._executor = FixtureExecutor(self._fixture, folder=self._folder)
        return self._executor

    async def aclose(self) -> None:
        """Give back processes and connections. Idempotent."""
        if self._executor is not None:
            await self._executor.aclose()
