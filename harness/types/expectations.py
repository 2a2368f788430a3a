"""What a result should be: rows, typed rows, what a gold query returns, a suite of checks; and how a check came out."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, model_validator

from harness.types.frozen import Frozen
from harness.types.results import ResultCell, ResultSchema, SqlType

MAX_EXPECTED_ROWS = 10_000
"""Rows that an expectation may list: as many as a query that is checked may return."""

ColumnName = Annotated[str, Field(min_length=1)]
ExpectedRow = tuple[ResultCell, ...]


class ExpectRows(Frozen):
    """The answer should return these rows; types are not compared.

    JSON has no word for dates, decimals and blobs: text stands for what the column of the result holds, and a number
    for the number that it is.

    Attributes:
        rows: the rows, one cell per column.
        columns: names, where the author gave them; a result that has just these names is compared by them.
    """

    kind: Literal["rows"] = "rows"
    rows: tuple[ExpectedRow, ...] = Field(max_length=MAX_EXPECTED_ROWS)
    columns: tuple[ColumnName, ...] | None = None

    @model_validator(mode="after")
    def _rectangular(self) -> "ExpectRows":
        widths = {len(row) for row in self.rows}
        if self.columns is not None:
            widths.add(len(self.columns))
        if len(widths) > 1 or 0 in widths:
            raise ValueError("every expected row has one cell per column, and there is at least one column")
        return self


class ExpectTypedRows(Frozen):
    """The answer should return these rows in columns of these types.

    An engine that reports no types (SQLite) has none compared.

    Attributes:
        rows: the rows, one cell per column.
        schema_: the columns, `schema` in JSON.
    """

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    kind: Literal["typed_rows"] = "typed_rows"
    rows: tuple[ExpectedRow, ...] = Field(max_length=MAX_EXPECTED_ROWS)
    schema_: ResultSchema = Field(alias="schema")

    @model_validator(mode="after")
    def _fits_its_schema(self) -> "ExpectTypedRows":
        if len(self.schema_) == 0:
            raise ValueError("a schema has at least one column")
        for row in self.rows:
            if len(row) != len(self.schema_):
                raise ValueError(f"the schema has {len(self.schema_)} columns, and a row has {len(row)} cells")
            for column, cell in zip(self.schema_.columns(), row, strict=True):
                if cell is None and column.nullable is False:
                    raise ValueError(f"{column.name} is declared without NULL, and a row has one there")
        return self


class GoldQuery(Frozen):
    """What this query means, and what it returns when it is run, is the expected answer.

    Attributes:
        text: SQL, or for MongoDB a filter, envelope or pipeline.
        args: the values bound to its parameters; `None` = it is not asserted to be parameterised.
    """

    kind: Literal["query"] = "query"
    text: str = Field(min_length=1)
    args: tuple[JsonValue, ...] | None = None


class RowCount(Frozen):
    """The result has exactly so many rows."""

    kind: Literal["row_count"] = "row_count"
    count: int = Field(ge=0)


class HasColumns(Frozen):
    """The result has at least these columns."""

    kind: Literal["has_columns"] = "has_columns"
    columns: tuple[ColumnName, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _each_once(self) -> "HasColumns":
        if len(set(self.columns)) != len(self.columns):
            raise ValueError("has_columns names a column twice")
        return self


class ColumnType(Frozen):
    """A column has this type; an engine that reports no types leaves it undecided."""

    kind: Literal["column_type"] = "column_type"
    column: ColumnName
    type: SqlType


class NotNull(Frozen):
    """A column holds no NULL."""

    kind: Literal["not_null"] = "not_null"
    column: ColumnName


class Unique(Frozen):
    """The values of a column are distinct; NULLs are no values and may repeat, as in a UNIQUE constraint."""

    kind: Literal["unique"] = "unique"
    column: ColumnName


ResultExpectation = Annotated[RowCount | HasColumns | ColumnType | NotNull | Unique, Field(discriminator="kind")]
"""One check of a result."""


class ExpectationSuite(Frozen):
    """The result meets every one of these checks."""

    kind: Literal["suite"] = "suite"
    expectations: tuple[ResultExpectation, ...] = Field(min_length=1)


ResultExpected = ExpectRows | ExpectTypedRows | ExpectationSuite
"""Expectations about a result alone: only running the answer can show whether they are met."""

Verdict = Literal["pass", "fail", "inconclusive"]
MAX_SAMPLE = 5
"""Offending rows that a check shows; `count` is exact."""


class ExpectationResult(Frozen):
    """How one check of a suite came out.

    Attributes:
        kind: which check.
        verdict: `inconclusive` where the engine does not say what the check asks (types in SQLite).
        column: the column it is about, where it is about one.
        expected: what was asked: a row count, a type.
        actual: what was found.
        count: how many values offend.
        sample_rows: the first few rows that offend.
        detail: what is wrong, for a person; `None` where the check holds.
    """

    kind: Literal["row_count", "has_columns", "column_type", "not_null", "unique"]
    verdict: Verdict
    column: str | None = None
    expected: JsonValue = None
    actual: JsonValue = None
    count: int | None = Field(default=None, ge=0)
    sample_rows: tuple[tuple[ResultCell, ...], ...] = Field(default=(), max_length=MAX_SAMPLE)
    detail: str | None = None

    @model_validator(mode="after")
    def _says_what_it_found(self) -> "ExpectationResult":
        if (self.verdict == "pass") != (self.detail is None):
            raise ValueError("a check that holds says nothing, one that does not says why")
        if self.verdict != "fail" and (self.sample_rows or self.count):
            raise ValueError("only a check that failed has offending rows")
        if self.count is not None and len(self.sample_rows) > self.count:
            raise ValueError("there are more sample rows than offending ones")
        return self
