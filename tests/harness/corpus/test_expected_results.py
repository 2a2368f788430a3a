"""`expect_rows`, `expect_schema` and `expect_suite`: what they read, and what is said of what they cannot."""

from pathlib import Path

import pytest

from harness.corpus.golden_csv import open_corpus
from harness.errors import GoldenError
from harness.types.cases import Expectation
from harness.types.expectations import ExpectationSuite, ExpectRows, ExpectTypedRows, RowCount

HEADER = "id;nl;backend;expect_sql;expect_rows;expect_schema;expect_suite;expect_args;accept"


def read(
    folder: Path, rows: str = "", schema: str = "", suite: str = "", sql: str = "", rest: str = ";"
) -> Expectation:
    cells = ['"' + cell.replace('"', '""') + '"' for cell in (sql, rows, schema, suite)]
    golden = folder / "golden.csv"
    golden.write_text(f"{HEADER}\nA;all;duckdb;{';'.join(cells)};{rest}\n", encoding="utf-8")
    return next(open_corpus(golden).cases()).expectation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("id,name,price,day\n1,a,1.50,2026-01-01\n2,\\N,\\N,\\N\n3,,2,2026-01-02\n")
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "name": null}\n\n{"name": "b", "id": 2}\n')
    (tmp_path / "wide.csv").write_text("id\n1,2\n")
    return tmp_path


TYPES = '{"id": "INTEGER", "name": "TEXT", "price": "DECIMAL(8,2)", "day": "DATE"}'
GOOD = {
    "arrays": ({"rows": '[[1, "a"], [2, null]]'}, None, ((1, "a"), (2, None))),
    "objects": ({"rows": '[{"id": 1, "n": "a"}, {"n": "b", "id": 2}]'}, ("id", "n"), ((1, "a"), (2, "b"))),
    "no rows": ({"rows": "[]"}, None, ()),
    "JSON Lines": ({"rows": "rows.jsonl"}, ("id", "name"), ((1, None), (2, "b"))),
    "CSV with a token": (
        {"rows": '{"file": "rows.csv", "null": "\\\\N"}', "schema": TYPES},
        ("id", "name", "price", "day"),
        (
            (1, "a", {"type": "decimal", "value": "1.50"}, {"type": "date", "value": "2026-01-01"}),
            (2, None, None, None),
            (3, "", {"type": "decimal", "value": "2"}, {"type": "date", "value": "2026-01-02"}),
        ),
    ),
    "columns in another order than declared": (
        {"rows": '[{"n": "a", "id": 1}]', "schema": '[{"name": "id", "type": "INT"}, {"name": "n", "type": "TEXT"}]'},
        ("id", "n"),
        ((1, "a"),),
    ),
}


@pytest.mark.parametrize(("cells", "names", "rows"), GOOD.values(), ids=GOOD.keys())
def test_rows_are_read(folder: Path, cells: dict[str, str], names: tuple[str, ...] | None, rows: object) -> None:
    expected = read(folder, **cells)
    assert isinstance(expected, ExpectRows | ExpectTypedRows)
    assert (expected.columns if isinstance(expected, ExpectRows) else expected.schema_.names) == names
    assert expected.rows == rows


def test_a_suite_is_read_with_its_types_in_the_dialect(folder: Path) -> None:
    suite = '[{"kind": "row_count", "count": 3}, {"kind": "column_type", "column": "id", "type": "INT8"}]'
    expected = read(folder, suite=suite)
    assert isinstance(expected, ExpectationSuite)
    assert expected.expectations[0] == RowCount(count=3)
    assert expected.expectations[1].type.canonical == "BIGINT"  # type: ignore[union-attr]


WRONG = {
    "two expectations": ({"rows": "[[1]]", "sql": "SELECT 1"}, "fill exactly one of"),
    "a schema without rows": ({"schema": TYPES, "sql": "SELECT 1"}, "goes with `expect_rows` only"),
    "arguments beside rows": ({"rows": "[[1]]", "rest": "[1];"}, "goes with `expect_sql` only"),
    "alternatives to rows": ({"rows": "[[1]]", "rest": ';"[""SELECT 1""]"'}, "goes with an expected query only"),
    "ragged": ({"rows": "[[1], [1, 2]]"}, "one cell per column"),
    "mixed": ({"rows": '[[1], {"a": 1}]'}, "row 2 is no array or object like the first"),
    "other keys": ({"rows": '[{"a": 1}, {"b": 1}]'}, "row 2 has the keys b, the first has a"),
    "no rows at all": ({"rows": "[1]"}, "row 1 is no array or object"),
    "broken JSON": ({"rows": "[[1,"}, "expect_rows"),
    "a file that is not there": ({"rows": "none.jsonl"}, "none.jsonl cannot be read"),
    "a file of another kind": ({"rows": "golden.csv.txt"}, "cannot be read"),
    "CSV without types": ({"rows": "rows.csv"}, "declare them in `expect_schema`"),
    "CSV without a token": ({"rows": "rows.csv", "schema": TYPES}, "is no DECIMAL(8,2)"),
    "CSV of another width": ({"rows": "wide.csv", "schema": '{"id": "INT"}'}, "row 1 has 2 cells, the header has 1"),
    "CSV with other columns": ({"rows": "wide.csv", "schema": '{"x": "INT"}'}, "has the columns id"),
    "a token for JSON Lines": ({"rows": '{"file": "rows.jsonl", "null": "x"}'}, "NULL is null"),
    "an unknown key": ({"rows": '{"path": "rows.csv"}'}, "takes rows, a path"),
    "a type that is none": ({"rows": "[[1]]", "schema": '{"id": "NOT A TYPE"}'}, "is no type of duckdb"),
    "a schema that is none": ({"rows": "[[1]]", "schema": "3"}, "takes columns"),
    "a schema of another width": ({"rows": "[[1, 2]]", "schema": '{"id": "INT"}'}, "the schema has 1 columns"),
    "an empty suite": ({"suite": "[]"}, "takes a JSON array of checks"),
    "a check that is none": ({"suite": '[{"kind": "row_count", "count": 1}, {"kind": "odd"}]'}, "check 2"),
}


@pytest.mark.parametrize(("cells", "said"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_read_is_named(folder: Path, cells: dict[str, str], said: str) -> None:
    with pytest.raises(GoldenError) as caught:
        read(folder, **cells)
    assert [problem.line for problem in caught.value.problems] == [2]
    assert said in str(caught.value)
