"""Results against expected rows and suites, and golden files that expect them, run in the sandbox."""

from pathlib import Path
from typing import Any

import pytest

import harness
from harness import (
    Column,
    ColumnType,
    ExecutionResult,
    ExpectationSuite,
    ExpectRows,
    ExpectTypedRows,
    GoldenError,
    HasColumns,
    NotNull,
    ResultRules,
    ResultSchema,
    RowCount,
    SqlType,
    Unique,
    UntypedSchema,
)
from harness.grading.result_checks import unmet

Cells = tuple[tuple[Any, ...], ...]
DAY = {"type": "date", "value": "2026-01-01"}
PRICE = {"type": "decimal", "value": "1.50"}


def result(rows: Cells, names: tuple[str, ...] = ("a", "b"), types: tuple[str, ...] | None = None) -> ExecutionResult:
    schema: ResultSchema | UntypedSchema = UntypedSchema(names)
    if types is not None:
        columns = zip(names, types, strict=True)
        schema = ResultSchema(tuple(Column(name=name, type=SqlType.parse(kind, "duckdb")) for name, kind in columns))
    return ExecutionResult(rows=rows, schema_=schema, latency_seconds=0.0)


ROWS: dict[str, tuple[Cells, Cells, bool]] = {
    "the same": (((1, "x"), (2, None)), ((2, None), (1, "x")), True),
    "a number for a text": (((1, "1"),), ((1, 1),), False),
    "a NULL for a text": (((1, ""),), ((1, None),), False),
    "one row too many": (((1, "x"),), ((1, "x"), (1, "x")), False),
    "a date as text": (((1, "2026-01-01"),), ((1, DAY),), True),
    "another date": (((1, "2026-01-02"),), ((1, DAY),), False),
    "a date where text is stored": (((1, "2026-01-01"),), ((1, "2026-01-01"),), True),
    "a decimal as a number": (((1, 1.5),), ((1, PRICE),), True),
    "another decimal": (((1, 1.51),), ((1, PRICE),), False),
    "a decimal as text": (((1, "1.5"),), ((1, PRICE),), True),
    "a text that is no decimal": (((1, "x"),), ((1, PRICE),), False),
    "a large integer": (((1, 2**53 + 1),), ((1, 2**53),), False),
    "a float within tolerance": (((1, 0.1 + 0.2),), ((1, 0.3),), True),
    "no rows": ((), (), True),
    "none where some are": ((), ((1, 2),), False),
    "another width": (((1,),), ((1, 2),), False),
}


@pytest.mark.parametrize(("expected", "actual", "met"), ROWS.values(), ids=ROWS.keys())
def test_rows(expected: Cells, actual: Cells, met: bool) -> None:
    found = unmet(ExpectRows(rows=expected), result(actual), ResultRules())
    assert (found is None) is met
    if found is not None:
        assert found.diff is not None


def test_named_rows_are_compared_by_name_where_the_result_has_the_names() -> None:
    expected = ExpectRows(rows=((1, 2),), columns=("a", "b"))
    assert unmet(expected, result(((2, 1),), ("b", "a")), ResultRules()) is None
    assert unmet(expected, result(((1, 2),), ("x", "y")), ResultRules()) is None
    assert unmet(expected, result(((1, 2),), ("b", "a")), ResultRules()) is not None


def test_types_are_compared_where_the_engine_tells_them() -> None:
    schema = ResultSchema(tuple(Column(name=name, type=SqlType.parse("BIGINT", "duckdb")) for name in "ab"))
    expected = ExpectTypedRows(rows=((1, 2),), schema_=schema)
    assert unmet(expected, result(((1, 2),), types=("BIGINT", "INT8")), ResultRules()) is None
    assert unmet(expected, result(((1, 2),)), ResultRules()) is None  # no types, nothing to compare
    found = unmet(expected, result(((1, 2),), types=("BIGINT", "INTEGER")), ResultRules())
    assert found is not None
    assert found.lines == ("b should be BIGINT and is INTEGER",)


def test_order_and_key_count_where_the_golden_says_so() -> None:
    expected = ExpectRows(rows=((1, "x"), (2, "y")), columns=("a", "b"))
    swapped = result(((2, "y"), (1, "x")))
    assert unmet(expected, swapped, ResultRules()) is None
    assert unmet(expected, swapped, ResultRules(order_matters=True)) is not None
    keyed = unmet(expected, result(((1, "x"), (2, "z"))), ResultRules(match_key=("a",)))
    assert keyed is not None
    assert keyed.lines == ("2 rows expected, 2 returned", "b differs in 1 rows", 'expected [2, "y"], got [2, "z"]')
    missing = unmet(expected, result(((1, "x"),)), ResultRules(match_key=("nothing",)))
    assert missing is not None
    assert missing.lines == ("no column nothing in the result to match rows by",)


THREE = result(((1, "x"), (2, None), (2, "x")), types=("BIGINT", "VARCHAR"))
CHECKS = {
    "count": (RowCount(count=3), None),
    "another count": (RowCount(count=2), "2 rows expected, 3 returned"),
    "columns": (HasColumns(columns=("b",)), None),
    "a column that is not there": (HasColumns(columns=("b", "c")), "no column c; there are a, b"),
    "type": (ColumnType(column="a", type=SqlType.parse("INT8", "duckdb")), None),
    "another type": (ColumnType(column="a", type=SqlType.parse("TEXT", "duckdb")), "a should be TEXT and is BIGINT"),
    "not null": (NotNull(column="a"), None),
    "null": (NotNull(column="b"), "b has NULL in 1 of 3 rows"),
    "null in nothing": (NotNull(column="c"), "no column c; there are a, b"),
    "unique": (Unique(column="b"), "b has a value that was there before in 1 of 3 rows"),
    "twice": (Unique(column="a"), "a has a value that was there before in 1 of 3 rows"),
}


@pytest.mark.parametrize(("check", "said"), CHECKS.values(), ids=CHECKS.keys())
def test_checks(check: Any, said: str | None) -> None:
    found = unmet(ExpectationSuite(expectations=(check,)), THREE, ResultRules())
    assert (None if found is None else found.lines) == (None if said is None else (said,))


FIXTURE = """CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL);
"""


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    (tmp_path / "data.sql").write_text(FIXTURE)
    path = tmp_path / "golden.csv"
    path.write_text(
        "id,nl,backend,expect_rows,expect_suite\n"
        'rows,all,sqlite,"[[1,""a""],[2,""b""],[3,null]]",\n'
        'wrong,some,sqlite,"[[1,""a""],[2,""b""]]",\n'
        'suite,all,sqlite,,"[{""kind"":""row_count"",""count"":3},{""kind"":""unique"",""column"":""id""}]"\n'
        'types,all,sqlite,,"[{""kind"":""column_type"",""column"":""id"",""type"":""INTEGER""}]"\n'
        'broken,broken,sqlite,"[[1]]",\n'
        'refused,declined,sqlite,"[[1]]",\n'
    )
    return path


def answer(request: dict[str, Any]) -> dict[str, Any]:
    if request["nl"] == "declined":
        return {"unsupported": "cannot"}
    return {"sql": "SELECT nothing FROM t" if request["nl"] == "broken" else "SELECT id, name FROM t"}


def test_golden_files_are_judged_by_execution(golden: Path) -> None:
    run = harness.run(golden, target=answer, fixture=golden.parent / "data.sql")
    judged = {case.id: (result.grade, result.worst.judgement) for case, result in run.results()}
    grades = {name: grade for name, (grade, _) in judged.items()}
    assert grades == {
        "rows": "EQUIVALENT",
        "wrong": "FAIL",
        "suite": "EQUIVALENT",
        "types": "FAIL",
        "broken": "FAIL",
        "refused": "ERROR",
    }
    assert (run.summary.bases["observed"], run.summary.bases["undecided"]) == (4, 1)
    text = run.text()
    assert "not expected: [3, null]" in text
    assert "the engine does not say of which type id is" in text
    assert "the answer cannot be run" in text


@pytest.mark.parametrize("suffix", [".html", ".md", ".xml", ".csv", ".jsonl"])
def test_every_report_shows_the_difference(golden: Path, tmp_path: Path, suffix: str) -> None:
    run = harness.run(golden, target=answer, fixture=golden.parent / "data.sql", ids=("wrong",))
    path = tmp_path / f"report{suffix}"
    run.write(path)
    assert "not expected" in path.read_text(encoding="utf-8")


def test_without_data_a_case_that_expects_a_result_is_an_error(golden: Path) -> None:
    with pytest.raises(GoldenError, match=r"golden.csv:2: expect_rows: case rows expects a result.*--exec"):
        harness.run(golden, target=answer)


def test_grading_one_answer_on_rows(golden: Path) -> None:
    data = golden.parent / "data.sql"
    expected = ExpectRows(rows=((3,),))
    passed = harness.grade(expected, "SELECT COUNT(*) FROM t", backend="sqlite", fixture=data)
    failed = harness.grade(expected, "SELECT COUNT(name) FROM t", backend="sqlite", fixture=data)
    assert (passed.grade, passed.basis, failed.grade, failed.basis) == ("EQUIVALENT", "observed", "FAIL", "observed")
    assert failed.lines == ("1 rows expected, 1 returned", "missing: [3]", "not expected: [2]")
    unseen = harness.grade(expected, "SELECT COUNT(*) FROM t", backend="sqlite")
    assert (unseen.grade, unseen.basis) == ("FAIL", "undecided")


def test_a_fixture_may_be_named_by_a_variable(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = harness.EvalCase(
        id="a",
        input="how many",
        expected=ExpectationSuite(expectations=(RowCount(count=1),)),
        platform=harness.PlatformRef(dialect="sqlite", env="SHOP_DATA"),
    )
    monkeypatch.delenv("SHOP_DATA", raising=False)
    with pytest.raises(harness.UsageError, match="variable SHOP_DATA, which is not set"):
        harness.assert_eval(case, "SELECT COUNT(*) FROM t")
    monkeypatch.setenv("SHOP_DATA", str(golden.parent / "data.sql"))
    scorers = [harness.LadderScorer(), harness.ExpectationSuiteScorer()]
    (attempt,) = harness.assert_eval(case, "SELECT COUNT(*) FROM t", scorers)
    assert [(score.verdict, score.basis) for score in attempt.scores] == [("pass", "observed")] * 2
