"""MongoDB: queries are read and run by a worker that is connected as a user that can only read."""

import importlib
import threading
from collections.abc import Callable
from typing import Any

from harness.errors import SandboxError, UsageError
from harness.sandbox.backends import Job, Outcome, UnreachableError
from harness.sandbox.fixtures import Fixture
from harness.sandbox.processes import Process
from harness.sandbox.result import Validation
from harness.sandbox.serverbackend import (
    ASSUMED_LAYERS,
    after_setup,
    ask,
    failure_of,
    limits_of,
    pair_request,
    time_left,
)
from harness.sandbox.slots import Slot
from harness.sandbox.work import Failure, outcome_of
from harness.types.results import ComparisonConfig

_CONNECT_SECONDS = 30.0


class MongoBackend:
    """Runs cases on a server.

    Args:
        fixture: of the kind `mongo`.
    """

    dialect = "mongo"

    def __init__(self, fixture: Fixture) -> None:
        self._fixture = fixture
        self._url = fixture.url
        self._engine = ""
        self._lock = threading.Lock()
        self._generation = 0
        self._renewal: threading.Thread | None = None

    @property
    def engine(self) -> str:
        """Engine and version."""
        return self._engine

    @property
    def _key(self) -> str:
        """Workers of a server that was renewed are not used again."""
        return f"{self._fixture.key}#{self._generation}"

    def close(self) -> None:
        """Give the fixture back."""
        self._await_renewal()
        self._fixture.close()

    def check(self, slot: Slot) -> None:
        """Connect, and look at what the user may do."""
        self._await_renewal()
        slot.worker(self._key, self._start)

    def execute(self, slot: Slot, query: str, job: Job) -> Outcome:
        """Validate and run one query."""
        try:
            job = after_setup(job, lambda: self.check(slot))
            seconds = time_left(job)
            request = {"op": "run", "query": query, **self._conditions(job), **limits_of(job.policy, seconds)}
            answer = self._ask(slot, request, seconds + job.policy.grace_seconds)
        except Failure as failure:
            return Outcome(failure)
        validation = answer.pop("validation", None)
        return Outcome(
            failure_of(answer),
            columns=answer.get("columns", []),
            rows=answer.get("rows", ""),
            validation=None if validation is None else _validation(validation),
            layers=ASSUMED_LAYERS,
        )

    def compare(
        self, slot: Slot, queries: tuple[str, str], rules: ComparisonConfig, job: Job, *, show_diff: bool
    ) -> Outcome:
        """Run and compare two queries."""
        if rules.match_key or rules.columns == "name":
            raise UsageError("documents are compared as a whole: match_key and columns by name are for tables")
        self.check(slot)
        seconds = job.policy.deadline_seconds
        request = pair_request(queries, rules, sort_key=None, hidden=0, show_diff=show_diff)
        try:
            limits = self._conditions(job) | limits_of(job.policy, seconds)
            answer = self._ask(slot, request | limits, 3 * seconds + job.policy.grace_seconds)
        except Failure as failure:
            return Outcome(failure, pair={"outcome": outcome_of(failure)})
        return Outcome(failure_of(answer), pair=answer, layers=ASSUMED_LAYERS)

    @staticmethod
    def _conditions(job: Job) -> dict[str, Any]:
        now = None if job.now is None else job.now.isoformat()
        return {"now": now, "max_characters": job.policy.max_sql_characters}

    def _ask(self, slot: Slot, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        generation = self._generation
        try:
            return ask(slot, self._key, self._start, request, seconds)
        except Failure:
            self._renew(generation)
            raise

    def _renew(self, generation: int) -> None:
        """An embedded server that is held up by a query never comes back: make it anew, while nobody waits for it."""
        with self._lock:
            if self._fixture.renew is None or generation != self._generation:
                return
            self._generation += 1
            self._renewal = threading.Thread(target=self._renew_now, args=(self._fixture.renew,), name="renew-mongo")
            self._renewal.start()

    def _renew_now(self, renew: Callable[[], str]) -> None:
        self._url = renew()

    def _await_renewal(self) -> None:
        with self._lock:
            renewal = self._renewal
        if renewal is not None:
            renewal.join()

    def _start(self) -> Process:
        names = ("pymongo", "bson", "dns", "pydantic", "pydantic_core", "annotated_types", "typing_extensions")
        packages = [importlib.import_module(name) for name in (*names, "typing_inspection", "sqlglot")]
        process = Process("harness.sandbox.engines.mongo", [], packages, keep_environment=("HOME",))
        request = {
            "op": "connect",
            "url": self._url,
            "database": self._fixture.database,
            "look": self._fixture.renew is None,
        }
        answer = process.ask(request, _CONNECT_SECONDS)
        if "error" in answer:
            process.kill()
            if answer["error"] == "unreachable":
                raise UnreachableError(answer["message"])
            raise SandboxError(answer["message"])
        self._engine = answer["version"]
        return process


def _validation(found: dict[str, Any]) -> Validation:
    return Validation(
        accepted=found["accepted"],
        code=found.get("code", ""),
        dialect="mongo",
        sql_sha256=found["sql_sha256"],
        tables=tuple(found.get("tables", ())),
        deterministic=found.get("deterministic", True),
    )
