"""The public types: what cannot be true cannot be built, what can be built survives JSON."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import harness
from canon.verdict import RowWitness, Table
from harness import (
    Budget,
    Column,
    ColumnType,
    ComparisonConfig,
    EvalCase,
    ExecutionError,
    ExecutionResult,
    ExpectationResult,
    ExpectationSuite,
    ExpectRefusal,
    ExpectRows,
    ExpectTypedRows,
    GoldQuery,
    HasColumns,
    PlatformRef,
    ResultDiff,
    ResultSchema,
    RowCount,
    ScoreResult,
    SemanticVerdict,
    SolverError,
    SolverOutput,
    SqlType,
    UntypedSchema,
)

ID = Column(name="id", type=SqlType(raw="INTEGER"), nullable=False)
SCHEMA = ResultSchema((ID,))
DIFF = ResultDiff(expected_rows=1, actual_rows=2)
EMPTY = Table(name="", columns=("id",), rows=())
WITNESS = RowWitness(tables=(), expected=EMPTY, actual=EMPTY)
SQLITE = PlatformRef(dialect="sqlite", fixture="shop.db")
ERROR = SolverError(kind="transport", message="no route", provider="openai")
FAILED = ExpectationResult(kind="row_count", verdict="fail", detail="3 rows")

IMPOSSIBLE: dict[str, tuple[type[BaseModel], dict[str, Any], str]] = {
    "ragged rows": (ExpectRows, {"rows": ((1,), (1, 2))}, "one cell per column"),
    "rows without columns": (ExpectRows, {"rows": ((),)}, "at least one column"),
    "rows and names of another width": (ExpectRows, {"rows": ((1,),), "columns": ("a", "b")}, "one cell per column"),
    "typed rows beyond their schema": (ExpectTypedRows, {"rows": ((1, 2),), "schema": SCHEMA}, "has 1 columns"),
    "NULL where none is declared": (ExpectTypedRows, {"rows": ((None,),), "schema": SCHEMA}, "without NULL"),
    "a schema of no columns": (ExpectTypedRows, {"rows": (), "schema": ResultSchema(())}, "at least one column"),
    "more rows than are compared": (ExpectRows, {"rows": ((1,),) * 10_001}, "at most 10000"),
    "an empty suite": (ExpectationSuite, {"expectations": ()}, "at least 1"),
    "a negative count": (RowCount, {"count": -1}, "greater than or equal to 0"),
    "a column twice": (HasColumns, {"columns": ("a", "a")}, "twice"),
    "no columns": (HasColumns, {"columns": ()}, "at least 1"),
    "an empty gold query": (GoldQuery, {"text": ""}, "at least 1"),
    "distinct NULLs without a key": (ComparisonConfig, {"null_equality": "distinct"}, "needs a match_key"),
    "order and key": (ComparisonConfig, {"order_matters": True, "match_key": ("id",)}, "exclude each other"),
    "a negative tolerance": (ComparisonConfig, {"float_tolerance": -1.0}, "greater than or equal to 0"),
    "a tolerance that is no number": (ComparisonConfig, {"float_tolerance": float("nan")}, "finite"),
    "a budget of nothing": (Budget, {"max_rows": 0}, "greater than 0"),
    "a platform named twice": (PlatformRef, {"dialect": "sqlite", "fixture": "a.db", "env": "URL"}, "not by both"),
    "a password": (PlatformRef, {"dialect": "postgres", "fixture": "postgresql://u:p@h/d"}, "password"),
    "a variable that is none": (PlatformRef, {"dialect": "postgres", "env": "A B"}, "pattern"),
    "a failed execution with rows": (
        ExecutionResult,
        {
            "rows": ((1,),),
            "latency_seconds": 0.1,
            "error": ExecutionError(kind="refused", message="no"),
        },
        "no rows",
    ),
    "a success without columns": (ExecutionResult, {"latency_seconds": 0.1}, "has columns"),
    "an execution error of no kind": (ExecutionError, {"kind": "odd", "message": "x"}, "Input should be"),
    "a solver with both": (SolverOutput, {"output": "SELECT 1", "error": ERROR}, "either"),
    "a solver with neither": (SolverOutput, {}, "either"),
    "an empty query": (SolverOutput, {"output": ""}, "at least 1"),
    "an undecided score": (ScoreResult, {"scorer": "s", "verdict": "inconclusive", "score": 0.5}, "inconclusive"),
    "an undecided basis": (ScoreResult, {"scorer": "s", "verdict": "inconclusive", "basis": "proved"}, "inconclusive"),
    "an undecided diff": (ScoreResult, {"scorer": "s", "verdict": "inconclusive", "diff": DIFF}, "inconclusive"),
    "a verdict without a score": (ScoreResult, {"scorer": "s", "verdict": "pass", "basis": "proved"}, "a score"),
    "a verdict without a basis": (ScoreResult, {"scorer": "s", "verdict": "fail", "score": 0.0}, "a basis"),
    "a pass on a refutation": (
        ScoreResult,
        {"scorer": "s", "verdict": "pass", "score": 1.0, "basis": "refuted"},
        "cannot rest on",
    ),
    "a fail on a proof": (
        ScoreResult,
        {"scorer": "s", "verdict": "fail", "score": 0.0, "basis": "proved"},
        "cannot rest on",
    ),
    "a pass with a diff": (
        ScoreResult,
        {"scorer": "s", "verdict": "pass", "score": 1.0, "basis": "observed", "diff": DIFF},
        "no diff",
    ),
    "a pass with a witness": (
        ScoreResult,
        {"scorer": "s", "verdict": "pass", "score": 1.0, "basis": "proved", "witness": WITNESS},
        "no diff and no witness",
    ),
    "a pass with a failed check": (
        ScoreResult,
        {"scorer": "s", "verdict": "pass", "score": 1.0, "basis": "observed", "expectations": (FAILED,)},
        "fails no check",
    ),
    "a score above one": (
        ScoreResult,
        {"scorer": "s", "verdict": "pass", "score": 1.5, "basis": "proved"},
        "less than or equal to 1",
    ),
    "a check that fails in silence": (ExpectationResult, {"kind": "unique", "verdict": "fail"}, "says why"),
    "a check that holds and complains": (
        ExpectationResult,
        {"kind": "unique", "verdict": "pass", "detail": "x"},
        "says nothing",
    ),
    "offending rows of a check that holds": (
        ExpectationResult,
        {"kind": "not_null", "verdict": "pass", "sample_rows": ((1,),)},
        "only a check that failed",
    ),
    "an unbounded sample": (
        ExpectationResult,
        {"kind": "not_null", "verdict": "fail", "detail": "x", "count": 9, "sample_rows": ((1,),) * 6},
        "at most 5",
    ),
    "more samples than offenders": (
        ExpectationResult,
        {"kind": "not_null", "verdict": "fail", "detail": "x", "count": 1, "sample_rows": ((1,), (2,))},
        "more sample rows",
    ),
    "an equivalence on nothing": (SemanticVerdict, {"verdict": "equivalent"}, "rests on a basis"),
    "an undecided meaning with a basis": (SemanticVerdict, {"verdict": "inconclusive", "basis": "proved"}, "basis"),
    "a meaning that refutes": (SemanticVerdict, {"verdict": "different"}, "Input should be"),
    "a meaning with a diff": (
        SemanticVerdict,
        {"verdict": "inconclusive", "diff": DIFF},
        "Extra inputs are not permitted",
    ),
    "assumptions of no proof": (
        SemanticVerdict,
        {"verdict": "equivalent", "basis": "canonical", "assumptions": ("x",)},
        "only a proof",
    ),
    "alternatives to rows": (
        EvalCase,
        {
            "id": "a",
            "input": "x",
            "expected": ExpectRows(rows=((1,),)),
            "platform": SQLITE,
            "accept": ("SELECT 1",),
        },
        "gold query only",
    ),
    "a naive clock": (
        EvalCase,
        {"id": "a", "input": "x", "expected": {"kind": "refusal"}, "platform": SQLITE, "now": "2026-01-01T00:00:00"},
        "now",
    ),
    "an expectation of no kind": (
        EvalCase,
        {"id": "a", "input": "x", "expected": {"kind": "vibes"}, "platform": SQLITE},
        "does not match any of the expected tags",
    ),
}


@pytest.mark.parametrize(("kind", "fields", "said"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_cannot_be_true_cannot_be_built(kind: type[BaseModel], fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        kind(**fields)


CASE = EvalCase(
    id="a",
    input="all of them",
    expected=ExpectTypedRows(rows=((1,),), schema_=ResultSchema((Column(name="n", type=SqlType(raw="int8")),))),
    platform=PlatformRef(dialect="postgres"),
)
VALUES: tuple[BaseModel, ...] = (
    CASE,
    EvalCase(id="b", input="x", expected=GoldQuery(text="SELECT 1"), platform=SQLITE, accept=("SELECT 2",)),
    EvalCase(id="c", input="x", expected=ExpectRefusal(), platform=SQLITE),
    ExpectationSuite(expectations=(RowCount(count=1), ColumnType(column="n", type=SqlType(raw="TEXT")))),
    ExecutionResult(rows=((1, None),), schema_=UntypedSchema(("a", "a")), latency_seconds=0.5),
    ExecutionResult(rows=((1,),), schema_=SCHEMA, latency_seconds=0.5),
    ExecutionResult(latency_seconds=0.0, error=ExecutionError(kind="query_failed", message="no", sqlstate="42P01")),
    SolverOutput(error=ERROR),
    ScoreResult(
        scorer="s",
        verdict="fail",
        score=0.0,
        basis="refuted",
        witness=WITNESS,
        trail=(ScoreResult(scorer="t", verdict="inconclusive"),),
    ),
    SemanticVerdict(verdict="equivalent", basis="proved", assumptions=("id is a key",)),
    FAILED,
    DIFF,
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_survive_json_are_frozen_and_have_a_schema(value: BaseModel) -> None:
    kind = type(value)
    assert kind.model_validate_json(value.model_dump_json()) == value
    schema = kind.model_json_schema()
    assert schema.get("title", schema.get("$ref", "").rpartition("/")[2]) == kind.__name__
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, next(iter(kind.model_fields)), None)


def test_types_are_read_in_the_dialect_when_the_case_is_made() -> None:
    expected = CASE.expected
    assert isinstance(expected, ExpectTypedRows)
    assert expected.schema_[0].type.canonical == "BIGINT"
    assert expected.schema_[0].type == SqlType.parse("BIGINT", "duckdb")


def test_types_are_equal_by_their_canonical_form_else_by_their_text() -> None:
    assert SqlType.parse("int8", "postgres") == SqlType.parse("BIGINT", "mysql")
    assert SqlType.parse("int8", "postgres") != SqlType.parse("int4", "postgres")
    assert SqlType(raw="thing") == SqlType(raw="thing")
    assert SqlType.parse("BIGINT", "postgres") == SqlType(raw="BIGINT")
    assert SqlType.model_validate("TEXT") == SqlType(raw="TEXT")


def test_a_cause_stays_in_the_process() -> None:
    error = ExecutionError(kind="query_failed", message="no", cause=RuntimeError("secret"))
    assert isinstance(error.cause, RuntimeError)
    assert "secret" not in error.model_dump_json() + repr(error)
    assert "cause" not in ExecutionError.model_json_schema()["properties"]


def test_a_case_of_a_test_suite_is_a_case_of_a_run() -> None:
    case = EvalCase(
        id="a",
        input="x",
        expected=GoldQuery(text='{"a": 1}'),
        platform=PlatformRef(dialect="mongo", fixture="data"),
        comparison=ComparisonConfig(order_matters=True),
    ).case
    assert (case.nl, case.backend, case.fixture, case.result_rules.order_matters) == ("x", "mongo", "data", True)
    assert case.expectation.kind == "mongo"


def test_schemas_are_positional_and_keep_duplicates() -> None:
    schema = ResultSchema((ID, ID))
    assert (schema.names, len(schema), schema[1]) == (("id", "id"), 2, ID)


def test_the_public_names() -> None:
    assert harness.__all__ == sorted(harness.__all__)
    for name in harness.__all__:
        assert getattr(harness, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = harness.nothing  # type: ignore[attr-defined]
