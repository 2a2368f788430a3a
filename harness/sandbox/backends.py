"""What the sandbox asks of an engine, whatever it is: describe the fixture, run one query, compare two."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from harness.errors import SandboxError, UsageError
from harness.sandbox.fixtures import Fixture
from harness.sandbox.policy import Policy
from harness.sandbox.result import Validation
from harness.sandbox.slots import Slot
from harness.sandbox.work import Failure
from harness.types.results import ComparisonConfig


class UnreachableError(SandboxError):
    """A database server that cannot be reached, or that went away."""


@dataclass(frozen=True)
class Job:
    """The conditions of one case.

    Attributes:
        policy: the limits.
        deadline: `time.monotonic()` by which all of it must be over.
        dialect: in which the queries are written.
        now: the instant that clock functions are replaced by, `None` = they stay.
    """

    policy: Policy
    deadline: float
    dialect: str
    now: datetime | None


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Attributes:
        failure: why there is no complete result, `None` on success.
        columns: `name` and `type` of each column.
        rows: the rows as JSON text.
        pair: the report of a comparison.
        snapshot: hash of the fixture's bytes.
        schema: hash of the fixture's schema.
        validation: what reading the query found.
        layers: the walls that stood.
        warnings: walls that this system does not have.
    """

    failure: Failure | None = None
    columns: list[dict[str, str]] = field(default_factory=list)
    rows: str = ""
    pair: dict[str, Any] | None = None
    snapshot: str | None = None
    schema: str | None = None
    validation: Validation | None = None
    layers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Backend(Protocol):
    """An engine with a fixture."""

    @property
    def dialect(self) -> str:
        """The engine's own dialect."""
        ...

    @property
    def engine(self) -> str:
        """Engine and version, "" until it has run."""
        ...

    def check(self, slot: Slot) -> None:
        """Start the engine on the fixture, to see that it can.

        Raises:
            harness.errors.SandboxError: it cannot, or the database is refused.
        """
        ...

    def execute(self, slot: Slot, query: str, job: Job) -> Outcome:
        """Validate and run one query."""
        ...

    def compare(
        self, slot: Slot, queries: tuple[str, str], rules: ComparisonConfig, job: Job, *, show_diff: bool
    ) -> Outcome:
        """Validate, run and compare the reference and the generated query."""
        ...

    def close(self) -> None:
        """Give back what it holds beyond the slots."""
        ...


def backend_for(fixture: Fixture) -> Backend:
    """The backend that runs on a fixture."""
    match fixture.kind:
        case "sqlite" | "duckdb":
            from harness.sandbox.filebackend import FileBackend

            return FileBackend(fixture)
        case "postgres":
            from harness.sandbox.postgresbackend import PostgresBackend

            return PostgresBackend(fixture)
        case "mongo":
            from harness.sandbox.mongobackend import MongoBackend

            return MongoBackend(fixture)
    raise UsageError(f"no engine runs fixtures of the kind {fixture.kind}")
