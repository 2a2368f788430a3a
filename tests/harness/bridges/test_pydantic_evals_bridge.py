"""The Pydantic Evals evaluator, in a real dataset."""

from typing import Any

from pydantic_evals import Case, Dataset

from harness.bridges.pydantic_evals import QueryGrade

ANSWERS = {"cancelled": "SELECT id FROM t WHERE 'x' = s", "big": "SELECT id FROM t WHERE a >= 3"}


async def task(question: str) -> str:
    return ANSWERS[question]


def test_outputs_are_graded_in_a_dataset() -> None:
    dataset: Dataset[str, str, Any] = Dataset(
        name="queries",
        cases=[
            Case(name="A", inputs="cancelled", expected_output="SELECT id FROM t WHERE s = 'x'"),
            Case(name="B", inputs="big", expected_output="SELECT id FROM t WHERE a > 3"),
            Case(name="C", inputs="big"),
        ],
        evaluators=[QueryGrade()],
    )
    report = dataset.evaluate_sync(task, progress=False)
    found = {case.name: case for case in report.cases}
    assert {name: found[name].assertions["query"].value for name in "AB"} == {"A": True, "B": False}
    assert {name: found[name].labels["query_grade"].value for name in "AB"} == {"A": "EQUIVALENT", "B": "FAIL"}
    assert "bound inclusive" in (found["B"].assertions["query"].reason or "")
    assert "needs an expected_output" in found["C"].evaluator_failures[0].error_message
