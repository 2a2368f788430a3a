"""What grading asks of its neighbours: what is known of the data, a search for witnesses, an executor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pydantic import JsonValue

from canon.rules import Rules
from canon.schema import Schema
from canon.verdict import Difference, Witness
from harness.types.answers import MongoAnswer, SqlAnswer
from harness.types.cases import Case
from harness.types.observation import Observation
from harness.types.outcomes import Execution

if TYPE_CHECKING:
    from canon.mongo.fields import Field as MongoField

Args = tuple[JsonValue, ...] | dict[str, JsonValue]
"""Values bound to a query's parameters, by position or by name."""


@dataclass(frozen=True, kw_only=True)
class SqlPair:
    """Two SQL queries that canon could neither join nor tell apart."""

    dialect: str
    expected: str
    actual: str
    expected_args: Args = ()
    actual_args: Args = ()
    schema: Schema | None = None
    now: datetime | None = None
    rules: Rules = field(default_factory=Rules)
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MongoPair:
    """Two MongoDB queries that canon could neither join nor tell apart."""

    expected: str
    actual: str
    fields: "Mapping[str, MongoField | str] | None" = None
    now: datetime | None = None
    rules: Rules = field(default_factory=Rules)
    differences: tuple[Difference, ...] = ()


class WitnessSearch(Protocol):
    """Looks for the smallest data on which two queries give different results."""

    def search(self, pair: SqlPair | MongoPair) -> Witness | None:
        """Return a witness that re-runs and that the schema allows, or `None` where none was found in the budget."""
        ...


class Executor(Protocol):
    """Runs a golden and an answer on the case's fixture and compares what comes back."""

    async def execute(self, case: Case, answer: SqlAnswer | MongoAnswer, *, now: datetime) -> Execution | None:
        """Return how the results stand to each other; `None` where the case has no fixture."""
        ...

    async def observe(self, case: Case, answer: SqlAnswer | MongoAnswer, *, now: datetime) -> Observation | None:
        """Return what the answer alone gives on the case's fixture; `None` where the case has none."""
        ...

    async def aclose(self) -> None:
        """Give back processes and connections. Idempotent."""
        ...


class Knowledge(Protocol):
    """What is known of the data that a case asks about."""

    def schema(self, case: Case) -> Schema | None:
        """The tables, for a SQL case."""
        ...

    def fields(self, case: Case) -> "Mapping[str, MongoField | str] | None":
        """Declared types by path, for a MongoDB case."""
        ...


class NothingKnown:
    """Knowledge of cases that come without a config or a schema."""

    def schema(self, case: Case) -> Schema | None:
        """No table is known."""
        return None

    def fields(self, case: Case) -> "Mapping[str, MongoField | str] | None":
        """No path is known."""
        return None
