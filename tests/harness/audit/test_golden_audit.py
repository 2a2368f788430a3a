"""The audit of a golden file: each check finds what it is for, and is silent where there is nothing."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.audit.auditing import Auditor, resolved
from harness.audit.findings import Audit, Finding
from harness.corpus.golden_csv import open_corpus

DDL = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);
CREATE TABLE purchase (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), total REAL NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('new', 'paid', 'void'))
);
"""
ROWS = """
INSERT INTO customer VALUES (1, 'Ana', 'PT'), (2, 'Rui', 'PT'), (3, 'Ana', NULL);
INSERT INTO purchase VALUES (1, 1, 10, 'new'), (2, 1, 20, 'paid'), (3, 2, 20, 'void'), (4, 3, 5, 'paid');
"""


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    path = tmp_path / "fixture.sql"
    path.write_text(DDL + ROWS)
    return path


def audit(
    tmp_path: Path, rows: list[str], *, exec_: Path | None = None, header: str = "id,nl,expect_sql", **options: object
) -> Audit:
    golden = tmp_path / "golden.csv"
    golden.write_text("\n".join([header, *rows]) + "\n")
    auditor = Auditor(fixtures=(str(exec_),) if exec_ else (), **options)  # type: ignore[arg-type]
    return auditor.audit("golden.csv", resolved(open_corpus(golden, backend="sqlite").cases()))


def one(found: Audit, check: str) -> Finding:
    matching = [finding for finding in found.findings if finding.check == check]
    assert len(matching) == 1, found.findings
    return matching[0]


@pytest.mark.parametrize(
    ("row", "check", "severity", "words"),
    [
        ("A,what,SELECT nam FROM customer", "runs", "error", "cannot be run on the fixture"),
        ("A,what,SELECT name FROM customer WHERE id > 99", "returns_rows", "warning", "returns no rows"),
        ("A,what,SELECT name FROM customer LIMIT 2", "deterministic", "warning", "without ORDER BY"),
        ("A,what,SELECT id FROM purchase ORDER BY total DESC LIMIT 1", "deterministic", "warning", "tie at the LIMIT"),
        ("A,what,SELECT abs(random()) FROM customer", "deterministic", "error", "another value each time"),
        ('A,what,"SELECT name, country FROM customer GROUP BY name"', "deterministic", "warning", "stored"),
        ("A,what,SELECT id FROM purchase WHERE state = 'payed'", "domain", "error", "'payed' is no value of state"),
        ("A,what is the country of each,SELECT name FROM customer", "named_column", "note", "does not use country"),
        ("A,who came today,SELECT name FROM customer", "pinned", "warning", "no clock is pinned"),
        ("A,what,SELECT name FROM customer WHERE date('now') > '2020-01-01'", "pinned", "error", "reads the clock"),
    ],
)
def test_finds_what_is_wrong_with_a_golden(
    tmp_path: Path, fixture: Path, row: str, check: str, severity: str, words: str
) -> None:
    finding = one(audit(tmp_path, [row], exec_=fixture, adequacy=False), check)
    assert (finding.line, finding.case_id, finding.severity) == (2, "A", severity)
    assert words in finding.message


def test_a_clean_file_has_no_findings(tmp_path: Path, fixture: Path) -> None:
    rows = [
        "A,what do the paid ones cost,SELECT total FROM purchase WHERE state = 'paid'",
        "B,who,SELECT DISTINCT name FROM customer",
    ]
    found = audit(tmp_path, rows, exec_=fixture, adequacy=False)
    assert (found.findings, found.cases, found.executed, found.failed) == ((), 2, 2, False)


def test_without_a_fixture_the_texts_are_still_looked_at(tmp_path: Path) -> None:
    found = audit(tmp_path, ["A,what,SELECT random()"])
    assert [finding.check for finding in found.findings] == ["deterministic"]
    assert (found.executed, found.adequacy) == (0, None)


def test_doubles_and_contradictions(tmp_path: Path) -> None:
    rows = [
        "A,Names please,SELECT name FROM customer WHERE id > 3",
        "B,who is it,SELECT c.name FROM customer AS c WHERE 3 < c.id",
        "C,names  please.,SELECT name FROM customer WHERE id > 4",
    ]
    found = audit(tmp_path, rows)
    twin, clash = one(found, "same_meaning"), one(found, "contradiction")
    assert (twin.line, twin.severity) == (3, "note")
    assert "A (line 2)" in twin.message
    assert (clash.line, clash.severity) == (4, "error")
    assert "A (line 2)" in clash.message


def test_alternatives_that_say_nothing_new_or_something_else(tmp_path: Path, fixture: Path) -> None:
    accept = '"[""SELECT c.name FROM customer c WHERE c.id < 3"", ""SELECT name FROM customer WHERE id = 3""]"'
    found = audit(
        tmp_path,
        [f"A,who,SELECT name FROM customer WHERE id < 3,{accept}"],
        exec_=fixture,
        header="id,nl,expect_sql,accept",
        adequacy=False,
    )
    first, second = [finding for finding in found.findings if finding.check == "accept"]
    assert (first.severity, second.severity) == ("warning", "note")
    assert "alternative 1" in first.message
    assert "alternative 2" in second.message


def test_a_refusal_that_the_vocabulary_could_express(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        '{"entity": "Order", "fields": [{"name": "status", "type": "enum", "values": ["PAID"]}, '
        '{"name": "amount", "type": "number", "synonyms": ["price"]}]}'
    )
    golden = tmp_path / "golden.csv"
    golden.write_text(
        "id,nl,config,expect_error\nA,paid orders with a price above 5,config.json,unsupported\n"
        "B,orders that Falcon carried,config.json,unsupported\nC,average price,config.json,unsupported\n"
    )
    found = Auditor().audit("golden.csv", open_corpus(golden).cases())
    assert [(finding.case_id, finding.check) for finding in found.findings] == [("A", "refusal")]
    assert "paid, price" in found.findings[0].message


def test_the_clock_may_be_pinned_for_the_whole_file(tmp_path: Path, fixture: Path) -> None:
    row = ["A,who came today,SELECT name FROM customer WHERE date('now') > '2020-01-01' ORDER BY id"]
    found = audit(tmp_path, row, exec_=fixture, adequacy=False, now=datetime(2026, 1, 1, tzinfo=UTC))
    assert found.findings == ()


def test_a_sqlite_database_is_a_fixture_too(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.executescript(DDL + ROWS)
    connection.close()
    found = audit(tmp_path, ["A,who,SELECT name FROM customer WHERE id > 99"], exec_=path, adequacy=False)
    assert one(found, "returns_rows").line == 2


def test_documents_are_run_and_mutated(tmp_path: Path) -> None:
    fixture = tmp_path / "fixture.jsonl"
    fixture.write_text(
        '{"_id": 1, "a": 4, "t": ["x"]}\n{"_id": 2, "a": 5, "t": ["x", "y"]}\n{"_id": 3, "a": 6, "t": []}\n'
    )
    golden = tmp_path / "golden.csv"
    golden.write_text(
        'id,nl,backend,expect_mongo\nA,what,mongo,"{""a"":{""$gt"":4},""t"":""x""}"\nB,none,mongo,"{""a"":{""$gt"":9}}"\n'
    )
    found = Auditor(fixtures=(str(fixture),)).audit("golden.csv", open_corpus(golden).cases())
    assert one(found, "returns_rows").case_id == "B"
    assert found.adequacy is not None
    first = found.adequacy.cases[0]
    assert (first.case_id, first.killed) == ("A", 5)
