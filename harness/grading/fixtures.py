"""The sandbox as grading asks for it: set up when the first case with a fixture comes, and not before."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from harness.errors import MissingExtraError, SandboxError
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
        collection: what a case's config calls the collection of its documents.
        any_order: results whose columns come in another order under the same names are the same.
        unavailable: is told, once each, why cases are not executed that cannot be here (an extra that is not installed,
            a platform without the sandbox); `None` = that is an error.
    """

    def __init__(
        self,
        fixture: str | None,
        folder: Path,
        *,
        collection: Callable[[Case], str | None] | None = None,
        any_order: bool = False,
        unavailable: Callable[[str], None] | None = None,
    ) -> None:
        self._fixture = fixture
        self._folder = folder
        self._collection = collection
        self._any_order = any_order
        self._unavailable = unavailable
        self._told: set[str] = set()
        self._executor: Executor | None = None

    async def execute(self, case: Case, answer: SqlAnswer | MongoAnswer, *, now: datetime) -> Execution | None:
        """Return how the results stand to each other; `None` where the case has no fixture.

        Raises:
            SandboxError: the fixture cannot be loaded, or the sandbox is broken.
            UsageError: no engine runs the case's dialect on its fixture.
        """
        executor = self._for(case)
        if executor is None:
            return None
        try:
            return await executor.execute(case, answer, now=now)
        except (MissingExtraError, SandboxError) as error:
            if self._unavailable is None:
                raise
            if str(error) not in self._told:
                self._told.add(str(error))
                self._unavailable(f"not executed: {' '.join(str(error).split())}")
            return None

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

            self._executor = FixtureExecutor(
                self._fixture, folder=self._folder, collection=self._collection, any_order=self._any_order
            )
        return self._executor

    async def aclose(self) -> None:
        """Give back processes and connections. Idempotent."""
        if self._executor is not None:
            await self._executor.aclose()
