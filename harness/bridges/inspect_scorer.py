"""An Inspect scorer: the model's completion is read as a query and graded against the sample's target.

@task
def queries() -> Task:
    return Task(dataset=csv_dataset("samples.csv"), solver=generate(), scorer=query_grade(backend="postgres"))
"""

from datetime import datetime
from typing import Literal

from harness.api import agrade
from harness.endpoint.chat import Completed
from harness.errors import MissingExtraError
from harness.targets.replies import read_reply

try:
    from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, scorer, stderr
    from inspect_ai.solver import TaskState
except ModuleNotFoundError as error:
    raise MissingExtraError("inspect-ai", "inspect", "harness.bridges.inspect_scorer") from error


@scorer(metrics=[accuracy(), stderr()])
def query_grade(
    backend: str = "postgres",
    schema: str | None = None,
    now: datetime | None = None,
    columns: Literal["any", "ordered"] = "any",
    fixture: str | None = None,
) -> Scorer:
    """Grade completions on the ladder.

    Args:
        backend: `mongo` or a SQL dialect.
        schema: the tables, as DDL.
        now: the instant that clock functions fold to, aware.
        columns: whether the order of columns counts.
        fixture: data to run queries on.
    """

    async def score(state: TaskState, target: Target) -> Score:
        # Of several targets the first is the golden, the others are right as well.
        golden, *accept = list(target)
        read = read_reply(Completed(content=state.output.completion, latency_ms=0.0, tries=1), backend)
        graded = await agrade(
            golden,
            read.answer,
            backend=backend,
            schema=schema,
            accept=tuple(accept),
            now=now,
            columns=columns,
            fixture=fixture,
        )
        return Score(
            value=CORRECT if graded.passed else INCORRECT,
            answer=getattr(read.answer, "text", None),
            explanation="\n".join(graded.lines) or f"{graded.grade}: {graded.basis}",
            metadata={"grade": graded.grade, "basis": graded.basis},
        )

    return score
