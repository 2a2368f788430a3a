"""A Pydantic Evals evaluator: the task's output is the query, the expected output the golden one.

dataset = Dataset(cases=[Case(inputs="cancelled orders", expected_output="SELECT …")], evaluators=[QueryGrade()])
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, cast

from harness.api import agrade
from harness.errors import MissingExtraError, UsageError
from harness.types.answers import Answer, MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Expectation
from harness.types.frozen import Frozen

try:
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
except ModuleNotFoundError as error:
    raise MissingExtraError("pydantic-evals", "pydantic-evals", "harness.bridges.pydantic_evals") from error


@dataclass(repr=False)
class QueryGrade(Evaluator[object, object, object]):
    """Grades the output on the ladder: whether it passes, and its grade as a label.

    Attributes:
        backend: `mongo` or a SQL dialect.
        schema: the tables, as DDL.
        now: the instant that clock functions fold to, aware.
        columns: whether the order of columns counts.
        fixture: data to run queries on; expected rows and suites need it.
    """

    backend: str = "postgres"
    schema: str | None = None
    now: datetime | None = None
    columns: Literal["any", "ordered"] = "any"
    fixture: str | None = None
    evaluation_name: str = field(default="query")

    async def evaluate(self, ctx: EvaluatorContext[object, object, object]) -> dict[str, EvaluationReason]:
        """Grade one output against the case's expected output.

        Raises:
            UsageError: the case expects nothing, or output and expectation are no queries.
        """
        graded = await agrade(
            _expected(ctx.expected_output),
            _answer(ctx.output),
            backend=self.backend,
            schema=self.schema,
            now=self.now,
            columns=self.columns,
            fixture=self.fixture,
        )
        reason = "; ".join(graded.lines) or f"{graded.grade}: {graded.basis}"
        return {
            self.evaluation_name: EvaluationReason(value=graded.passed, reason=reason),
            f"{self.evaluation_name}_grade": EvaluationReason(value=str(graded.grade), reason=graded.basis),
        }


def _expected(value: object) -> str | Expectation:
    if isinstance(value, str):
        return value
    if isinstance(value, Frozen):
        return cast("Expectation", value)
    raise UsageError("the case needs an expected_output: the golden query, or an expectation of harness")


def _answer(value: object) -> str | Answer:
    if isinstance(value, str | SqlAnswer | MongoAnswer | Refusal | NoQuery):
        return value
    raise UsageError(f"the task should return the query as text, or a harness answer, not a {type(value).__name__}")
