"""What a query gave back and how two results stand to each other: schemas, rules, budgets, errors, differences."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, RootModel, model_validator

from harness.types.error import Error
from harness.types.frozen import Frozen

ResultCell = JsonValue
"""A value of a result: JSON, with `{"type": …}` for what JSON has no word for."""


class SqlType(Frozen):
    """The type of a column, so that types of different dialects can be compared.

    Two are equal when both have a canonical form and these are the same; else when the raw forms are the same.

    Attributes:
        raw: as the engine or the author wrote it.
        canonical: the dialect-neutral spelling, `None` where it cannot be read.
    """

    raw: str = Field(min_length=1)
    canonical: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"raw": value} if isinstance(value, str) else value

    @classmethod
    def parse(cls, raw: str, dialect: str) -> "SqlType":
        """Read `raw` as a type of `dialect` (a sqlglot dialect); `canonical` stays empty where that fails."""
        from sqlglot import errors, exp

        try:
            canonical = exp.DataType.build(raw, dialect=dialect).sql()
        except (errors.SqlglotError, ValueError):
            return cls(raw=raw)
        return cls(raw=raw, canonical=canonical)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SqlType):
            return NotImplemented
        if self.canonical is not None and other.canonical is not None:
            return self.canonical == other.canonical
        return self.raw == other.raw

    def __hash__(self) -> int:
        # Equal types may differ in either part, so only what all of them share may count.
        return hash(SqlType)


class Column(Frozen):
    """A column of a result. `nullable` is `None` where the engine does not say."""

    name: str
    type: SqlType
    nullable: bool | None = None


class ResultSchema(RootModel[tuple[Column, ...]]):
    """The typed columns of a result in order; a name may occur twice, so columns are found by position only."""

    model_config = ConfigDict(frozen=True)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.root)

    @property
    def types(self) -> tuple[SqlType, ...]:
        """Column types in order."""
        return tuple(column.type for column in self.root)

    def columns(self) -> Iterator[Column]:
        """The columns in order."""
        return iter(self.root)

    def __len__(self) -> int:
        return len(self.root)

    def __getitem__(self, index: int) -> Column:
        return self.root[index]


class UntypedSchema(RootModel[tuple[str, ...]]):
    """The names of a result's columns where the engine reports no types (SQLite); type checks then abstain."""

    model_config = ConfigDict(frozen=True)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return self.root

    def __len__(self) -> int:
        return len(self.root)


class ComparisonConfig(Frozen):
    """When two results count as the same.

    A `match_key` aligns rows on these columns and compares the others one by one; without one, rows are a multiset
    (or a sequence, with `order_matters`).

    Attributes:
        columns: `position` = by place, names ignored; `name` = by name, order ignored.
        order_matters: rows must come in the expected order.
        sort_key: with an order: positions of the columns that the expected query sorts by; rows that are equal in all
            of them are a tie whose order is open. `None` = the order is total.
        types: `strict` = columns whose types both sides know must have the same type as well.
        null_equality: whether NULL equals NULL (`distinct` only in a keyed comparison).
        float_tolerance: absolute tolerance between finite floats.
        match_key: names of the key columns.
    """

    columns: Literal["position", "name"] = "position"
    order_matters: bool = False
    sort_key: tuple[int, ...] | None = None
    types: Literal["ignore", "strict"] = "ignore"
    null_equality: Literal["equal", "distinct"] = "equal"
    float_tolerance: float = Field(default=1e-9, ge=0, allow_inf_nan=False)
    match_key: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _sensible(self) -> "ComparisonConfig":
        if self.null_equality == "distinct" and not self.match_key:
            raise ValueError(
                'null_equality="distinct" needs a match_key: without a key, rows with NULL could never match'
            )
        if self.order_matters and self.match_key:
            raise ValueError("order_matters and match_key exclude each other: a key says which rows belong together")
        return self


class Budget(Frozen):
    """The most that running one query may cost; `None` = no limit of its own."""

    max_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_rows: int | None = Field(default=None, gt=0)
    max_bytes: int | None = Field(default=None, gt=0)


ExecutionErrorKind = Literal["query_failed", "refused", "budget_exceeded", "engine_lost", "duplicate_columns"]


class ExecutionError(Error):
    """A typed failure to run a query; its message never holds SQL text, paths, values or what a driver said.

    Attributes:
        sqlstate: the five characters of SQLSTATE, where the engine gives one.
        condition: the engine's own name of the error, where it has one.
    """

    kind: ExecutionErrorKind
    sqlstate: str | None = None
    condition: str | None = None


class ExecutionResult(Frozen):
    """What running one query gave.

    Attributes:
        rows: one tuple per row, in the engine's order.
        schema_: the columns, `None` where the query failed.
        latency_seconds: how long it took.
        error: why there are no rows, `None` on success.
    """

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    rows: tuple[tuple[ResultCell, ...], ...] = ()
    schema_: ResultSchema | UntypedSchema | None = Field(default=None, alias="schema")
    latency_seconds: float = Field(ge=0)
    error: ExecutionError | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "ExecutionResult":
        if self.error is not None and self.rows:
            raise ValueError("a failed execution has no rows")
        if self.error is None and self.schema_ is None:
            raise ValueError("a successful execution has columns")
        return self


class ColumnTypeMismatch(Frozen):
    """A column whose type in the actual result is another one than expected."""

    column: str
    expected: str
    actual: str


class ColumnValueMismatch(Frozen):
    """How many aligned rows have another value in this column."""

    column: str
    count: Annotated[int, Field(gt=0)]


class ResultDiff(Frozen):
    """How an actual result differs from the expected one: exact counts; rows as bounded samples, tagged and clipped.

    Attributes:
        expected_rows: rows of the expected result.
        actual_rows: rows of the actual result.
        missing_rows: expected rows without a partner.
        extra_rows: actual rows without a partner.
        expected_columns: columns of the expected result.
        actual_columns: columns of the actual result.
        missing_columns: by name: columns that only the expected result has.
        extra_columns: by name: columns that only the actual result has.
        first_difference: in an ordered comparison, the 0-based row at which the two part.
        type_mismatches: columns of another type, where both sides know theirs.
        value_mismatches: keyed comparison: per column, how many aligned rows differ.
        null_keys: keyed comparison: rows whose key holds a NULL, expected and actual.
        duplicate_keys: keyed comparison: rows beyond the first of their key, expected and actual.
        sample_missing: the first few missing rows.
        sample_extra: the first few extra rows.
        sample_changed: keyed comparison: the first few aligned pairs that differ, expected then actual.
    """

    expected_rows: int = Field(ge=0)
    actual_rows: int = Field(ge=0)
    missing_rows: int = Field(default=0, ge=0)
    extra_rows: int = Field(default=0, ge=0)
    expected_columns: int = Field(default=0, ge=0)
    actual_columns: int = Field(default=0, ge=0)
    missing_columns: tuple[str, ...] = ()
    extra_columns: tuple[str, ...] = ()
    first_difference: int | None = None
    type_mismatches: tuple[ColumnTypeMismatch, ...] = ()
    value_mismatches: tuple[ColumnValueMismatch, ...] = ()
    null_keys: tuple[int, int] = (0, 0)
    duplicate_keys: tuple[int, int] = (0, 0)
    sample_missing: tuple[tuple[ResultCell, ...], ...] = ()
    sample_extra: tuple[tuple[ResultCell, ...], ...] = ()
    sample_changed: tuple[tuple[tuple[ResultCell, ...], tuple[ResultCell, ...]], ...] = ()
