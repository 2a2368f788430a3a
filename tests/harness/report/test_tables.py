"""Results as CSV and JSONL: one row a case, safe in a spreadsheet, nothing lost in the JSONL."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.report.formats import REPORTERS, reporter_for, write_reports
from harness.report.reporter import RunView
from harness.report.tables import COLUMNS, LONGEST_CELL, CsvReporter, JsonLinesReporter
from harness.types.answers import Reply, SqlAnswer
from harness.types.cases import Case
from harness.types.outcomes import Outcome
from tests import synthetic_runs as made


def rows(run: RunView, path: Path) -> list[dict[str, str]]:
    CsvReporter().write(run, path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def one(text: str, raw: str | None = None, nl: str = "a sentence") -> RunView:
    case = made.sql_case(1, nl, "SELECT 1", "simple", "enum")
    reply, judgement, meaning = made.undecided(text)
    answered = (reply.model_copy(update={"raw": text if raw is None else raw}), judgement, meaning)
    return made.memory_run([(case, made.result(case, answered))])


def test_one_row_a_case_in_the_order_of_the_run(tmp_path: Path) -> None:
    run = made.sample_run()
    found = rows(run, tmp_path / "r.csv")
    assert [row["id"] for row in found] == [case.id for case, _ in run.results()]
    assert tuple(found[0]) == COLUMNS


def test_a_row_says_what_the_deciding_attempt_was(tmp_path: Path) -> None:
    run = made.sample_run(repeats=3)
    row = next(row for row in rows(run, tmp_path / "r.csv") if row["id"] == "S21")
    assert {
        name: row[name] for name in ("grade", "basis", "passes", "repeats", "distinct_answers", "tags", "actual")
    } == {
        "grade": "FAIL",
        "basis": "refuted",
        "passes": "2",
        "repeats": "3",
        "distinct_answers": "2",
        "tags": "boundary;numeric",
        "actual": "SELECT * FROM orders WHERE amount > 500 LIMIT 50",
    }
    assert row["differences"].startswith("bound inclusive instead of exclusive")
    assert row["prompt_tokens"] == str(3 * 812)


def test_an_error_gives_its_reason(tmp_path: Path) -> None:
    row = next(row for row in rows(made.sample_run(), tmp_path / "r.csv") if row["id"] == "S25")
    assert (row["grade"], row["reason"]) == ("ERROR", "transport: 503 Service Unavailable after 3 tries")
    assert row["retries"] == "2"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_cell_that_a_spreadsheet_would_compute_is_neutralised(tmp_path: Path, start: str) -> None:
    run = one(f"{start}cmd|' /C calc'!A0", nl=f"{start}1+1")
    (row,) = rows(run, tmp_path / "r.csv")
    for name in ("nl", "actual", "raw"):
        assert row[name].startswith("'" + start)


@pytest.mark.parametrize(
    ("raw", "cell"),
    [
        ("SELECT -1", "SELECT -1"),
        ('say "x", y\nz', 'say "x", y\nz'),
        ("nul \x00 esc \x1b[31m", "nul \ufffd esc \ufffd[31m"),
        ("half \ud83d", "half \ufffd"),
        ("x" * (LONGEST_CELL + 5), "x" * LONGEST_CELL + f"... [{LONGEST_CELL + 5} characters in all]"),
    ],
)
def test_cells_hold_any_text(tmp_path: Path, raw: str, cell: str) -> None:
    (row,) = rows(one("SELECT 2", raw=raw), tmp_path / "r.csv")
    assert row["raw"] == cell


@pytest.mark.parametrize(("nl", "marked"), [("plain", False), ("Zürich", True)])
def test_a_byte_order_mark_is_written_only_where_a_spreadsheet_needs_it(tmp_path: Path, nl: str, marked: bool) -> None:
    path = tmp_path / "r.csv"
    CsvReporter().write(one("SELECT 2", nl=nl), path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf") is marked


def test_jsonl_holds_the_case_and_every_attempt(tmp_path: Path) -> None:
    run = made.sample_run(repeats=2)
    path = tmp_path / "r.jsonl"
    JsonLinesReporter().write(run, path)
    documents = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    pairs = list(run.results())
    assert [Case.model_validate_json(json.dumps(each["case"])) for each in documents] == [case for case, _ in pairs]
    assert [
        tuple(Outcome.model_validate_json(json.dumps(outcome)) for outcome in each["outcomes"]) for each in documents
    ] == [result.outcomes for _, result in pairs]
    assert {each["format"] for each in documents} == {"rung.result/1"}


def test_jsonl_lines_are_lines_whatever_a_model_wrote(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    JsonLinesReporter().write(one("SELECT '\u2028\n\x85'"), path)
    with path.open(encoding="utf-8", newline="\n") as file:
        assert [json.loads(line)["actual"] for line in file] == ["SELECT '\u2028\n\x85'"]


def test_a_report_is_chosen_by_extension_whatever_its_case(tmp_path: Path) -> None:
    assert isinstance(reporter_for(Path("R.CSV")), CsvReporter)
    write_reports(made.sample_run(), (tmp_path / "a.csv", tmp_path / "b.jsonl"))
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.jsonl"}


@pytest.mark.parametrize("name", ["r", "r.xlsx", "csv"])
def test_an_unknown_extension_says_which_there_are(name: str) -> None:
    with pytest.raises(UsageError, match=rf"--out {name}: no report has this extension; use one of .*\.csv"):
        reporter_for(Path(name))


@pytest.mark.parametrize("extension", REPORTERS)
def test_every_reporter_writes_a_run(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"r{extension}"
    reporter_for(path).write(made.sample_run(), path)
    assert path.stat().st_size > 0


def test_a_case_without_calls_has_no_latency(tmp_path: Path) -> None:
    case = made.sql_case(1, "a sentence", "SELECT 1")
    _, judgement, meaning = made.exact(case)
    result = made.result(case, (Reply(answer=SqlAnswer(text="SELECT 1")), judgement, meaning))
    (row,) = rows(made.memory_run([(case, result)]), tmp_path / "r.csv")
    assert (row["latency_ms"], row["prompt_tokens"]) == ("", "")
    assert datetime.fromisoformat(row["now"]) == datetime(2026, 8, 4, tzinfo=UTC)
