"""Scorers: what each decides, what it leaves open, and what it rests on."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness import (
    Answer,
    Case,
    Expectation,
    ExpectationSuite,
    ExpectationSuiteScorer,
    ExpectRefusal,
    ExpectRows,
    ExpectSql,
    FirstDecisive,
    LadderScorer,
    NotNull,
    Refusal,
    ResultSetScorer,
    RowCount,
    Scorer,
    SemanticScorer,
    SqlAnswer,
)

NOW = datetime(2026, 8, 4, tzinfo=UTC)
ALL = ExpectSql(text="SELECT id FROM t")
SUITE = ExpectationSuite(expectations=(RowCount(count=2), NotNull(column="id")))
SOME, BIG = SqlAnswer(text="SELECT t.id FROM t"), SqlAnswer(text="SELECT id FROM t WHERE id > 1")
BROKEN = SqlAnswer(text="SELECT nothing FROM t")
NO = Refusal(message="cannot")

ROWS: list[tuple[Scorer, Expectation, Answer, str, str | None]] = [
    (LadderScorer(), ALL, SOME, "pass", "canonical"),
    (LadderScorer(), ALL, BIG, "fail", "refuted"),
    (LadderScorer(), ALL, NO, "fail", "none"),
    (LadderScorer(), ExpectRefusal(), NO, "pass", "refused"),
    (LadderScorer(), SUITE, BIG, "fail", "observed"),
    (SemanticScorer(), ALL, SqlAnswer(text=ALL.text), "pass", "identical"),
    (SemanticScorer(), ALL, SOME, "pass", "canonical"),
    (SemanticScorer(), ALL, BIG, "inconclusive", None),
    (SemanticScorer(), ALL, NO, "inconclusive", None),
    (SemanticScorer(), SUITE, BIG, "inconclusive", None),
    (ResultSetScorer(), ALL, SOME, "pass", "observed"),
    (ResultSetScorer(), ALL, BIG, "fail", "observed"),
    (ResultSetScorer(), ALL, BROKEN, "fail", "observed"),
    (ResultSetScorer(), ALL, NO, "fail", "none"),
    (ResultSetScorer(), ExpectRows(rows=((1,), (2,))), SOME, "pass", "observed"),
    (ResultSetScorer(), ExpectRows(rows=((1,), (2,))), BIG, "fail", "observed"),
    (ResultSetScorer(), SUITE, SOME, "inconclusive", None),
    (ExpectationSuiteScorer(), SUITE, SOME, "pass", "observed"),
    (ExpectationSuiteScorer(), SUITE, BIG, "fail", "observed"),
    (ExpectationSuiteScorer(), ALL, BIG, "inconclusive", None),
    (ExpectationSuiteScorer(SUITE), ALL, BIG, "fail", "observed"),
    (FirstDecisive([SemanticScorer(), ResultSetScorer()]), ALL, SOME, "pass", "canonical"),
    (FirstDecisive([SemanticScorer(), ResultSetScorer()]), ALL, BIG, "fail", "observed"),
    (FirstDecisive([SemanticScorer(), SemanticScorer()]), ALL, BIG, "inconclusive", None),
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.sql"
    path.write_text("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2);")
    return str(path)


@pytest.mark.parametrize(("scorer", "expected", "answer", "verdict", "basis"), ROWS)
def test_what_a_scorer_says(
    data: str, scorer: Scorer, expected: Expectation, answer: Answer, verdict: str, basis: str | None
) -> None:
    case = Case(id="a", nl="x", backend="sqlite", expectation=expected, fixture=data)
    found = asyncio.run(scorer.score(case, answer, now=NOW))
    assert (found.verdict, found.basis) == (verdict, basis)
    assert found.scorer == scorer.name
    assert (found.detail == ()) == (verdict == "pass")


def test_the_trail_holds_what_each_said(data: str) -> None:
    case = Case(id="a", nl="x", backend="sqlite", expectation=ALL, fixture=data)
    both = FirstDecisive([SemanticScorer(), ResultSetScorer(), LadderScorer()])
    found = asyncio.run(both.score(case, BIG, now=NOW))
    assert [(each.scorer, each.verdict) for each in found.trail] == [
        ("semantic", "inconclusive"),
        ("result set", "fail"),
    ]


def test_without_data_nothing_is_said_of_results() -> None:
    case = Case(id="a", nl="x", backend="sqlite", expectation=ALL)
    found = asyncio.run(ResultSetScorer().score(case, BIG, now=NOW))
    assert (found.verdict, found.detail) == ("inconclusive", ("the case has no data to run on: give it a fixture",))


def test_a_combination_of_nothing_is_none() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FirstDecisive([])
