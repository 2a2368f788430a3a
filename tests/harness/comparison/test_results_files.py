"""Results files come back as what was written; what is no result is refused with its line."""

import pytest

from harness.comparison.files import read_results
from harness.comparison.sides import side_of_run
from harness.errors import InputError, UsageError
from harness.report.tables import CsvReporter, JsonLinesReporter
from tests import synthetic_runs as made


def test_jsonl_of_a_run_is_read_back_whole(tmp_path):
    run = made.sample_run(3)
    JsonLinesReporter().write(run, tmp_path / "r.jsonl")
    assert read_results(tmp_path / "r.jsonl").cases == side_of_run("r", run.facts, run.results()).cases


def test_csv_of_a_run_is_read_back_with_its_grades_and_digests(tmp_path):
    run = made.sample_run(3)
    CsvReporter().write(run, tmp_path / "r.csv")
    ours = side_of_run("r", run.facts, run.results()).cases
    theirs = read_results(tmp_path / "r.csv").cases
    fields = ("id", "digest", "nl", "tags", "grade", "passes", "attempts", "prompt_tokens", "completion_tokens")
    assert [[getattr(case, f) for f in fields] for case in theirs] == [
        [getattr(case, f) for f in fields] for case in ours
    ]


def test_cells_that_were_made_harmless_come_back_as_they_were(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("id,grade,actual\n'=1+1,EXACT,'@x\n'quoted',EXACT,'it'\n")
    assert [(case.id, case.actual) for case in read_results(path).cases] == [("=1+1", "@x"), ("'quoted'", "'it'")]


def test_a_plain_table_with_id_and_grade_is_enough(tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(b'\xef\xbb\xbfID, Grade,tags\r\nS1,exact,"a; b"\r\n\r\n"S\n2",FAIL,\r\n')
    one, two = read_results(path).cases
    assert (one.id, one.grade, one.passes, one.tags, one.digest) == ("S1", "EXACT", 1, ("a", "b"), None)
    assert (two.id, two.grade, two.passes) == ("S\n2", "FAIL", 0)


def test_a_plain_jsonl_with_id_and_grade_is_enough(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": 7, "grade": "FAIL", "passes": 2, "repeats": 3, "tags": ["a"], "actual": null}\n\n')
    (case,) = read_results(path).cases
    assert (case.id, case.grade, case.passes, case.attempts, case.tags, case.actual) == ("7", "FAIL", 2, 3, ("a",), "")


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        ("r.csv", "", ["r.csv:1: the header has no column id and no column grade; it has nothing"]),
        ("r.csv", "id,score\n1,2\n", ["r.csv:1: the header has no column grade; it has id, score"]),
        ("r.csv", "id,grade\n", ["r.csv: no results in it"]),
        (
            "r.csv",
            'id,grade\n"a\nb",GOOD\n,EXACT\nc,EXACT,9\n',
            [
                "r.csv:2: grade: GOOD: a grade is one of EXACT, EQUIVALENT, REFUSED, FAIL, ERROR",
                "r.csv:4: id: empty",
                "r.csv:5: more cells than the header has columns",
            ],
        ),
        ("r.csv", "id,grade,passes,repeats\na,EXACT,1,3\n", ["r.csv:2: passes: 1 of 3 attempts passed does not go"]),
        ("r.csv", "id,grade,latency_ms\na,EXACT,fast\n", ["r.csv:2: a count is no number"]),
        (
            "r.jsonl",
            '{"id": "a", "grade": "EXACT"}\n{"id"\n[]\n',
            ["r.jsonl:2: not JSON", "r.jsonl:3: not a JSON object"],
        ),
        ("r.jsonl", '{"case": {"id": "a"}, "outcomes": []}\n', ["r.jsonl:1: nl: Field required"]),
        ("r.csv", b"id,grade\n\xff,EXACT\n", ["r.csv: not UTF-8"]),
    ],
)
def test_every_problem_is_named_with_its_line(tmp_path, monkeypatch, name, text, messages):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        read_results(path.relative_to(tmp_path))
    lines = str(caught.value).splitlines()
    assert len(lines) == len(messages)
    for line, message in zip(lines, messages, strict=True):
        assert line.startswith(message)


@pytest.mark.parametrize(("name", "message"), [("r.txt", "not a run folder"), ("absent.csv", "No such file")])
def test_what_is_no_results_file_is_a_usage_error(tmp_path, name, message):
    (tmp_path / "r.txt").write_text("x")
    with pytest.raises(UsageError, match=message):
        read_results(tmp_path / name)
