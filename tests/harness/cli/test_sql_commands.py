"""`rung sql check` and `rung sql run`: input that is refused, outcomes, reports, exit statuses."""

# ruff: noqa: E501 - a table reads best with one row a line

import json
import os
import sqlite3

import pytest

from harness.cli import main
from harness.sandbox.casefile import MAX_LINE_BYTES, CaseFileError, read_cases
from harness.sandbox.checking import check_cases
from harness.sandbox.policy import Policy
from harness.sandbox.postgresfixture import load_script
from harness.sandbox.sandbox import Sandbox

CASE = {"id": "a", "question": "How many?", "generatedSql": "SELECT 1", "referenceSql": "SELECT 1"}
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("check") / "fixture.db"
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE accounts(id INTEGER PRIMARY KEY, balance REAL);
        CREATE TABLE moves(id INTEGER PRIMARY KEY, account_id INTEGER, amount REAL);
        INSERT INTO accounts VALUES (1, 12.50), (2, 20.00);
        INSERT INTO moves VALUES (1, 1, 10.00), (2, 1, 2.50), (3, 2, 20.00);
    """)
    connection.close()
    return path


def write(path, *cases):
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path


def case(name, generated, reference="SELECT id FROM accounts ORDER BY id", **more):
    return {"id": name, "question": "q", "generatedSql": generated, "referenceSql": reference, **more}


def check(capsys, path, database, *options):
    status = main(["sql", "check", "--cases", str(path), "--db", f"sqlite:///{database}", *options])
    said = capsys.readouterr()
    return status, said.out, said.err


OUTCOMES = [
    (case("sum", "SELECT account_id, SUM(amount) FROM moves GROUP BY account_id", "SELECT id, balance FROM accounts"), "match"),
    (case("order", "SELECT id FROM accounts ORDER BY id", orderMatters=True), "match"),
    (case("reversed", "SELECT id FROM accounts ORDER BY id DESC", orderMatters=True), "mismatch"),
    (case("tie", "SELECT id FROM accounts ORDER BY id DESC", "SELECT id FROM accounts ORDER BY 1 > 0", orderMatters=True), "match"),
    (case("tolerance", "SELECT balance + 0.01 FROM accounts", "SELECT balance FROM accounts", floatTolerance=0.02), "match"),
    (case("near", "SELECT balance + 0.01 FROM accounts", "SELECT balance FROM accounts"), "mismatch"),
    (case("columns", "SELECT id, id FROM accounts WHERE 0", "SELECT id FROM accounts WHERE 0"), "mismatch"),
    (case("no sql", "SELEC"), "generated_error"),
    (case("no column", "SELECT nosuch FROM accounts"), "generated_error"),
    (case("no table", "SELECT 1 FROM nosuch"), "generated_error"),
    (case("reference", "SELECT 1", "SELECT nosuch FROM accounts"), "reference_error"),
    (case("reference writes", "SELECT 1", "DELETE FROM accounts"), "reference_error"),
    (case("reference rows", "SELECT 1", "SELECT a.id FROM moves a, moves b, moves c, moves d"), "reference_error"),
    (case("reference endless", "SELECT 1", ENDLESS), "reference_error"),
    (case("write", "DELETE FROM accounts"), "refused"),
    (case("two", "SELECT 1; SELECT 2"), "refused"),
    (case("function", "SELECT load_extension('x')"), "refused"),
    (case("endless", ENDLESS), "timeout"),
    (case("killed", "SELECT printf('%.*c', 900000000, 'x')"), "timeout"),
    (case("rows", "SELECT a.id FROM moves a, moves b, moves c, moves d"), "too_many_rows"),
    (case("bytes", "SELECT hex(hex(hex(hex(printf('%.*c', 90000, 'x')))))"), "too_many_bytes"),
]  # fmt: skip


def test_every_outcome(tmp_path, database, capsys):
    path = write(tmp_path / "cases.jsonl", *(wanted for wanted, _ in OUTCOMES))
    options = ["--format", "json", "--timeout-ms", "400", "--max-rows", "50", "--parallel", "2", "--min-accuracy", "0"]
    status, out, _ = check(capsys, path, database, *options)
    report = json.loads(out)
    assert [(entry["id"], entry["outcome"]) for entry in report["cases"]] == [(c["id"], o) for c, o in OUTCOMES]
    assert (status, report["status"], report["exitCode"], report["complete"]) == (7, "WEAK_EVIDENCE", 7, True)
    matches = sum(outcome == "match" for _, outcome in OUTCOMES)
    errors = sum(outcome == "reference_error" for _, outcome in OUTCOMES)
    assert report["executionAccuracy"] == matches / (len(OUTCOMES) - errors)
    assert (report["matchCount"], report["referenceErrorCount"], report["caseCount"]) == (
        matches,
        errors,
        len(OUTCOMES),
    )
    assert sum(report["outcomes"].values()) == len(OUTCOMES)
    # Nothing of the queries, the questions, the database or the rows is in it.
    assert not any(word in out for word in ("SELECT", "nosuch", str(database), "balance", '"diff"'))


VERDICTS = [
    ([case("a", "SELECT id FROM accounts")], [], 0, "PASS", 1.0),
    ([case("a", "SELECT id FROM accounts"), case("b", "SELECT 5")], [], 1, "SCORE_BELOW", 0.5),
    ([case("a", "SELECT id FROM accounts"), case("b", "SELECT 5")], ["--min-accuracy", "0.5"], 0, "PASS", 0.5),
    ([case("a", "SELECT id FROM accounts"), case("b", "SELEC")], ["--min-accuracy", "0.5"], 0, "PASS", 0.5),
    ([case("a", "SELECT id FROM accounts"), case("b", "DELETE FROM moves")], ["--min-accuracy", "0"], 7, "WEAK_EVIDENCE", 0.5),
    ([case("a", "SELECT 1", "SELEC")], ["--min-accuracy", "0"], 7, "WEAK_EVIDENCE", None),
]  # fmt: skip


@pytest.mark.parametrize(("cases", "options", "status", "symbol", "accuracy"), VERDICTS)
def test_verdicts(tmp_path, database, capsys, cases, options, status, symbol, accuracy):
    got, out, _ = check(capsys, write(tmp_path / "c.jsonl", *cases), database, "--format", "json", *options)
    report = json.loads(out)
    assert (got, report["status"], report["executionAccuracy"]) == (status, symbol, accuracy)


def test_text_report_with_differences(tmp_path, database, capsys):
    path = write(tmp_path / "c.jsonl", case("b", "SELECT x'00', 5", "SELECT id, 9e999 FROM accounts"))
    status, out, _ = check(capsys, path, database, "--show-diff")
    assert status == 1
    assert out.splitlines() == [
        "SCORE_BELOW: execution accuracy 0.0000 (needed 1.0), 1 cases",
        "  mismatch: 1",
        '"b": mismatch',
        '  missing [1, {"type": "float", "value": "inf"}]',
        '  missing [2, {"type": "float", "value": "inf"}]',
        '  extra [{"type": "blob", "base64": "AA=="}, 5]',
    ]


def test_a_report_keeps_its_size(database, tmp_path):
    wanted = [case(f"case {n}", "SELECT id + 1 FROM accounts") for n in range(40)]
    cases = read_cases(write(tmp_path / "c.jsonl", *wanted))
    with Sandbox(Policy.for_checks(), workers=1) as sandbox:
        full = check_cases(sandbox, f"sqlite:///{database}", cases, show_diff=True).data()
        small = check_cases(sandbox, f"sqlite:///{database}", cases, show_diff=True, max_report_bytes=9000).data()
        tiny = check_cases(sandbox, f"sqlite:///{database}", cases, show_diff=True, max_report_bytes=4500).data()
    assert (full["diffTruncatedCaseCount"], small["complete"]) == (0, True)
    kept = [entry for entry in small["cases"] if "diff" in entry]
    assert 0 < len(kept) < 40
    assert len(kept) + small["diffTruncatedCaseCount"] == 40 == len(small["cases"])
    assert all(entry.get("diffTruncated") for entry in small["cases"] if "diff" not in entry)
    assert len(json.dumps(small)) < 9000 < len(json.dumps(full))
    assert (tiny["status"], tiny["complete"], tiny["executionAccuracy"]) == ("WEAK_EVIDENCE", False, None)


BAD_LINES = [
    ("", "no cases"),
    ("\n \r\n", "no cases"),
    ("nonsense", "no JSON"),
    ("[1]", "no JSON object"),
    (json.dumps({**CASE, "extra": 1}), "unknown field 'extra'"),
    (json.dumps({k: v for k, v in CASE.items() if k != "question"}), "question: is missing"),
    (json.dumps({**CASE, "id": 7}), "id: must be text"),
    (json.dumps({**CASE, "id": " "}), "id: must not be empty"),
    (json.dumps({**CASE, "id": "é" * 129}), "longer than 256 bytes"),
    (json.dumps({**CASE, "generatedSql": "x" * 100_001}), "longer than 100,000 bytes"),
    (json.dumps({**CASE, "orderMatters": 1}), "must be true or false"),
    (json.dumps({**CASE, "floatTolerance": -1}), "finite number"),
    (json.dumps({**CASE, "floatTolerance": True}), "finite number"),
    (json.dumps(CASE)[:-1] + ', "floatTolerance": NaN}', "finite number"),
    (json.dumps(CASE)[:-1] + ', "floatTolerance": 1e999}', "finite number"),
    (json.dumps(CASE)[:-1] + ', "floatTolerance": 1' + "0" * 400 + "}", "finite number"),
    (json.dumps(CASE)[:-1] + ', "id": "b"}', "stands twice"),
    (json.dumps(CASE) + "\n" + json.dumps(CASE), ":2: id: the id stands on line 1"),
    (json.dumps({**CASE, "question": "x" * MAX_LINE_BYTES}), "longer than 1 MiB"),
    ("[" * 100_000, "nested too deeply"),
    (json.dumps({**CASE, "question": "\ud800"}), "lone surrogate"),
]


@pytest.mark.parametrize(("text", "message"), BAD_LINES)
def test_a_bad_case_file_is_refused_as_a_whole(tmp_path, database, capsys, text, message):
    path = tmp_path / "c.jsonl"
    path.write_text(text)
    status, out, err = check(capsys, path, database)
    assert (status, out) == (5, "")
    assert message in err
    assert "Traceback" not in err


def test_unusual_but_good_lines_are_read(tmp_path):
    path = tmp_path / "c.jsonl"
    separators = "a\u2028b\u0085c\x0bd"
    path.write_bytes(b"\n\n" + json.dumps({**CASE, "question": separators}, ensure_ascii=False).encode() + b"\r\n\n")
    (read,) = read_cases(path)
    assert read.question == separators
    assert (read.order_matters, read.float_tolerance) == (False, 1e-9)


def test_pipes_devices_and_big_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(33 * 1024 * 1024)
    write(tmp_path / "many", *({**CASE, "id": str(n)} for n in range(10_001)))
    for name, message in (
        ("pipe", "regular"),
        ("big", "32 MiB"),
        ("many", "10,000"),
        ("no", "cannot be opened"),
        ("", "regular"),
    ):
        with pytest.raises(CaseFileError, match=message):
            read_cases(tmp_path / name)
    with pytest.raises(CaseFileError, match="regular"):
        read_cases(tmp_path.__class__("/dev/zero"))


BAD_OPTIONS = [
    (["--timeout-ms", "0"], "--timeout-ms"),
    (["--timeout-ms", "300001"], "--timeout-ms"),
    (["--timeout-ms", "fast"], "--timeout-ms"),
    (["--max-rows", "100001"], "--max-rows"),
    (["--min-accuracy", "1.5"], "--min-accuracy"),
    (["--min-accuracy", "nan"], "--min-accuracy"),
    (["--format", "xml"], "--format"),
    (["--parallel", "0"], "--parallel"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options(tmp_path, database, capsys, options, message):
    status, out, err = check(capsys, write(tmp_path / "c.jsonl", CASE), database, *options)
    assert (status, out) == (5, "")
    assert message in err


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("sqlite:///nosuch.db", 5),
        ("mysql://x/y", 5),
        ("sqlite://x.db", 5),
        ("postgresql://x@/y?host=/nonexistent", 11),
    ],
)
def test_bad_databases(tmp_path, capsys, url, status):
    path = write(tmp_path / "c.jsonl", CASE)
    assert main(["sql", "check", "--cases", str(path), "--db", url]) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("BAD_ARGS" if status == 5 else "IO_ERROR")


@pytest.mark.parametrize("wrong", [["--bogus"], ["--cases"], ["stray"], ["--show-dif", "x"]])
def test_wrong_flags_of_a_check_are_bad_input(capsys, wrong):
    assert main(["sql", "check", "--db", "sqlite:///x.db", *wrong]) == 5
    assert capsys.readouterr().err.startswith("BAD_ARGS: ")


def test_help_of_a_check_is_no_error(capsys):
    assert main(["sql", "check", "--help"]) == 0
    assert "--min-accuracy" in capsys.readouterr().out


def test_missing_options(capsys):
    assert main(["sql", "check"]) == 5
    assert "--cases" in capsys.readouterr().err


def test_postgres_fixture_and_its_superuser(tmp_path, capsys, embedded_postgres):
    script = "CREATE TABLE t (a numeric(5,2), b timestamptz); INSERT INTO t VALUES (1.10, '2026-01-01'), (2.20, NULL)"
    url = load_script(embedded_postgres, script, "script")
    path = write(
        tmp_path / "c.jsonl",
        case("decimal", "SELECT a * 1.0 FROM t", "SELECT a FROM t", floatTolerance=0),
        case("ties", "SELECT a FROM T ORDER BY a DESC", "SELECT a FROM t ORDER BY 1 DESC, b", orderMatters=True),
        case("off", "SELECT a + 0.0000000001 FROM t", "SELECT a FROM t"),
    )
    status = main(["sql", "check", "--cases", str(path), "--db", url, "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [entry["outcome"] for entry in report["cases"]] == ["match", "match", "mismatch"]
    assert (status, report["engine"].split()[0]) == (1, "postgresql")
    assert main(["sql", "check", "--cases", str(path), "--db", embedded_postgres.url]) == 5
    assert "super" in capsys.readouterr().err


def test_run_prints_a_complete_result(database, capsys, tmp_path):
    query = tmp_path / "q.sql"
    query.write_text("SELECT id, balance FROM accounts ORDER BY id;\n", encoding="utf-8-sig")
    assert main(["sql", "run", "--database", str(database), "--sql-file", str(query)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["status"], result["columns"], result["rows"]) == (
        "success",
        ["id", "balance"],
        [[1, 12.5], [2, 20.0]],
    )


RUNS = [
    (["--sql", "SELECT id FROM moves", "--max-result-rows", "2"], "truncated"),
    (["--sql", "DELETE FROM moves"], "validation_rejected"),
    (["--sql", "SELECT nosuch FROM moves"], "execution_error"),
    (["--sql", ENDLESS, "--timeout-seconds", "0.3"], "timeout"),
]


@pytest.mark.parametrize(("options", "status"), RUNS)
def test_run_ends_with_2_for_anything_but_a_complete_result(database, capsys, options, status):
    assert main(["sql", "run", "--database", str(database), *options]) == 2
    assert json.loads(capsys.readouterr().out)["status"] == status


@pytest.mark.parametrize(
    "options",
    [[], ["--sql", "SELECT 1", "--sql-file", "x"], ["--sql-file", "nosuch.sql"], ["--sql", "SELECT 1", "--timeout-seconds", "0"],
     ["--sql", "SELECT 1", "--max-result-rows", "0"]],
)  # fmt: skip
def test_run_refuses_bad_options(database, capsys, options):
    assert main(["sql", "run", "--database", str(database), *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
