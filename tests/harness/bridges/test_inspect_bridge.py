"""The Inspect scorer, in a real task whose solver answers by itself (the mock model would download a tokenizer)."""

from pathlib import Path

import pytest

pytest.importorskip(
    "inspect_ai", reason="inspect-ai is not installed: its dependencies exclude those of mongo-embedded"
)

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from harness.bridges.inspect_scorer import query_grade

ANSWERS = {
    "cancelled": "```sql\nSELECT id FROM t WHERE 'x' = s\n```",
    "big": "SELECT id FROM t WHERE a >= 3",
    "either": "SELECT id FROM t WHERE a >= 3",
}


@solver
def answering() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("none", ANSWERS[state.input_text])
        return state

    return solve


def test_completions_are_graded_in_a_task(tmp_path: Path) -> None:
    samples = [
        Sample(input="cancelled", target="SELECT id FROM t WHERE s = 'x'"),
        Sample(input="big", target="SELECT id FROM t WHERE a > 3"),
        Sample(input="either", target=["SELECT id FROM t WHERE a > 3", "SELECT id FROM t WHERE a >= 3"]),
    ]
    task = Task(dataset=MemoryDataset(samples), solver=answering(), scorer=query_grade())
    (log,) = evaluate(task, model="none/none", log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "success"
    assert log.samples is not None
    scores = [sample.scores["query_grade"] for sample in log.samples if sample.scores is not None]
    assert [score.value for score in scores] == ["C", "I", "C"]
    assert [score.metadata["grade"] for score in scores if score.metadata] == ["EQUIVALENT", "FAIL", "EQUIVALENT"]
    assert "bound inclusive" in (scores[1].explanation or "")
