"""A user's own test suite, as strict type checkers see it."""

from datetime import UTC, datetime
from pathlib import Path

import harness
from canon import Rules, compare_mongo, compare_sql
from harness import Case, FirstDecisive, LadderScorer, ResultSetScorer, SemanticScorer, assert_eval, eval_case

GOLDEN = "id,nl,expect_sql\nA,cancelled orders,SELECT id FROM orders WHERE status = 'CANCELLED'\n"


def my_system(request: dict[str, harness.Json]) -> str:
    assert request["nl"] == "cancelled orders"
    return "SELECT id FROM orders WHERE 'CANCELLED' = status"


async def my_async_system(request: dict[str, harness.Json]) -> dict[str, harness.Json]:
    return {"sql": my_system(request)}


@eval_case("cancelled orders", expect_sql="SELECT id FROM orders WHERE status = 'CANCELLED'", tags=("enum",))
def test_one_sentence(case: Case) -> None:
    scorers = [LadderScorer(), FirstDecisive([SemanticScorer(), ResultSetScorer()])]
    attempts = assert_eval(case, my_system, scorers, now=datetime(2026, 8, 4, tzinfo=UTC))
    assert [score.basis for score in attempts[0].scores] == ["canonical", "canonical"]


def test_a_golden_file(tmp_path: Path) -> None:
    golden = tmp_path / "golden.csv"
    golden.write_text(GOLDEN, encoding="utf-8")
    for target in (my_system, my_async_system):
        run = harness.run(golden, target=target, repeat=2)
        assert run.passed, run.text()
        assert [(case.id, result.grade) for case, result in run.results()] == [("A", "EQUIVALENT")]


def test_one_answer() -> None:
    graded = harness.grade("SELECT id FROM t WHERE a > 3", "SELECT id FROM t WHERE a >= 3")
    assert (graded.grade, graded.basis) == ("FAIL", "refuted")
    assert [difference.kind for difference in graded.differences] == ["bound_inclusivity"]


def test_two_queries() -> None:
    assert compare_sql("SELECT a FROM t", "SELECT t.a FROM t", rules=Rules(columns="ordered")).relation == "equivalent"
    assert compare_mongo('{"a": 1}', '{"a": {"$eq": 1}}').relation == "equivalent"
