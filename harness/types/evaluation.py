"""A case for one's own test suite: an input, what it should become, and the data to judge it on."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AwareDatetime, Field, model_validator

from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql, ResultRules
from harness.types.cases import Expectation as CaseExpectation
from harness.types.expectations import ColumnType, ExpectationSuite, ExpectRows, ExpectTypedRows, GoldQuery
from harness.types.frozen import Frozen
from harness.types.results import Budget, Column, ComparisonConfig, ResultSchema, SqlType


class PlatformRef(Frozen):
    """Where a case's data is: a reference that can be written to a file, so that it holds no secret.

    Attributes:
        dialect: `mongo` or the name of a SQL dialect.
        fixture: path or URL of the data; without credentials.
        env: the environment variable that holds the URL, where it has credentials.
    """

    dialect: str = Field(min_length=1)
    fixture: str | None = Field(default=None, min_length=1)
    env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")

    @model_validator(mode="after")
    def _holds_no_secret(self) -> "PlatformRef":
        if self.fixture is not None and self.env is not None:
            raise ValueError("data is named by `fixture` or by `env`, not by both")
        if self.fixture is not None and "://" in self.fixture and urlsplit(self.fixture).password is not None:
            raise ValueError("a URL with a password is not written down: name the environment variable in `env`")
        return self


Expected = Annotated[
    ExpectRows | ExpectTypedRows | GoldQuery | ExpectationSuite | ExpectRefusal, Field(discriminator="kind")
]
"""What the outcome of a case should be."""


class EvalCase(Frozen):
    """One case: an input with an expected outcome and the data to judge it on.

    Types in expectations are read in the platform's dialect when the case is made, never when results are compared.

    Attributes:
        id: what reports call it.
        input: the sentence.
        expected: what it should become.
        platform: dialect and data.
        comparison: when two results count as the same.
        budget: what running one query may cost.
        tags: labels.
        accept: further queries that are right.
        now: the pinned instant, aware; `None` = the clock of the run.
    """

    id: str = Field(min_length=1)
    input: str = Field(min_length=1)
    expected: Expected
    platform: PlatformRef
    comparison: ComparisonConfig = ComparisonConfig()
    budget: Budget = Budget()
    tags: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    now: AwareDatetime | None = None

    @model_validator(mode="after")
    def _alternatives_of_a_query(self) -> "EvalCase":
        if self.accept and not isinstance(self.expected, GoldQuery):
            raise ValueError("further acceptable queries go with a gold query only")
        if isinstance(self.expected, ExpectTypedRows | ExpectationSuite):
            # The value is frozen for everybody else; here it is still being made.
            object.__setattr__(self, "expected", in_dialect(self.expected, self.platform.dialect))
        return self

    @property
    def case(self) -> Case:
        """The case as a run asks it."""
        return Case(
            id=self.id,
            nl=self.input,
            backend=self.platform.dialect,
            expectation=self._expectation(),
            tags=self.tags,
            accept=self.accept,
            now=self.now,
            fixture=self.platform.fixture if self.platform.env is None else f"env:{self.platform.env}",
            result_rules=ResultRules(
                order_matters=self.comparison.order_matters,
                float_tolerance=self.comparison.float_tolerance,
                match_key=self.comparison.match_key,
            ),
        )

    def _expectation(self) -> CaseExpectation:
        match self.expected:
            case GoldQuery(text=text) if self.platform.dialect == "mongo":
                return ExpectMongo(text=text)
            case GoldQuery(text=text, args=args):
                return ExpectSql(text=text, args=args)
            case other:
                return other


def in_dialect(expected: ExpectTypedRows | ExpectationSuite, dialect: str) -> ExpectTypedRows | ExpectationSuite:
    """The same expectation, its types read in a dialect."""
    if isinstance(expected, ExpectTypedRows):
        columns = tuple(
            Column(name=column.name, type=_parsed(column.type, dialect), nullable=column.nullable)
            for column in expected.schema_.columns()
        )
        return ExpectTypedRows(rows=expected.rows, schema_=ResultSchema(columns))
    checks = tuple(
        ColumnType(column=check.column, type=_parsed(check.type, dialect)) if isinstance(check, ColumnType) else check
        for check in expected.expectations
    )
    return ExpectationSuite(expectations=checks)


def _parsed(kind: SqlType, dialect: str) -> SqlType:
    return kind if kind.canonical is not None else SqlType.parse(kind.raw, dialect)
