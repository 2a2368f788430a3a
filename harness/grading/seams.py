"""What grading asks of its neighbours: what is known of the data, a search for witnesses, an executor."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from pydantic import Field, JsonValue

from canon.schema import Schema
from canon.verdict import Difference, Witness
from harness.types.answers import MongoAnswer, SqlAnswer
from harness.types.cases import Case
from harness.types.frozen import Frozen
from harness.types.outcomes import Execution

if TYPE_CHECKING:
    from canon.mongo.fields import Field as MongoField

Args = tuple[JsonValue, ...] | dict[str, JsonValue]
"""Values bound to a query's parameters, by position or by name."""


class SqlPair(Frozen):
    """A golden and an answer in SQL that canon could neither join nor tell apart."""

    kind: Literal["sql"] = "sql"
    dialect: str
    expected: str
    actual: str
    expected_args: Args = ()
    actual_args: Args = ()
    schema_: Schema | None = None
    now: datetime
    differences: tuple[Difference, ...] = ()


class MongoPair(Frozen):
    """A golden and an answer for MongoDB that canon could neither join nor tell apart."""

    kind: Literal["mongo"] = "mongo"
    expected: str
    actual: str
    case: Case
    now: datetime
    differences: tuple[Difference, ...] = ()


Pair = Annotated[SqlPair | MongoPair, Field(discriminator="kind")]


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
