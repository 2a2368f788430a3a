"""`rung check-goldens`: exit statuses, both forms of output, the gate, the written fixture."""

import json
from pathlib import Path

import pytest

from harness.cli import main

FIXTURE = """
CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT NOT NULL);
INSERT INTO t VALUES (1, 1, 'x'), (2, 5, 'y'), (3, 9, 'y');
"""


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    (tmp_path / "fixture.sql").write_text(FIXTURE)
    path = tmp_path / "golden.csv"
    path.write_text("id,nl,expect_sql\nA,what,SELECT b FROM t WHERE a > 3\n")
    return path


def check(golden: Path, *options: str) -> int:
    fixture = str(golden.with_name("fixture.sql"))
    return main(["check-goldens", str(golden), "--backend", "sqlite", "--exec", fixture, *options])


def test_a_clean_file_exits_with_zero(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(golden) == 0
    said = capsys.readouterr().out
    assert "1 cases, 1 run on a fixture" in said
    assert f"{golden}:2: note: A: the fixture does not show it when" in said


def test_something_to_mend_exits_with_one(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden.write_text("id,nl,expect_sql\nA,what,SELECT b FROM t WHERE a > 30\n")
    assert check(golden, "--no-adequacy") == 1
    assert f"{golden}:2: warning: A: the golden returns no rows" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_exits_with_two(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden.write_text("id,nl,expect_sql\nA,what,SELECT (\n")
    assert check(golden) == 2
    assert "golden.csv:2" in capsys.readouterr().err


def test_a_fixture_that_is_not_there_exits_with_two(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden.with_name("fixture.sql").unlink()
    assert check(golden) == 2
    assert "No such file" in capsys.readouterr().err


def test_one_object_as_json(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(golden, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["format"], found["cases"], found["executed"]) == ("rung.audit/1", 1, 1)
    assert found["adequacy"]["cases"][0]["case_id"] == "A"


def test_the_gate(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(golden, "--min-adequacy", "0.1") == 0
    assert check(golden, "--min-adequacy", "1.0") == 1
    assert "below --min-adequacy 100.0%" in capsys.readouterr().err


def test_the_written_fixture_passes_the_gate(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = golden.with_name("more.sql")
    assert check(golden, "--write-fixture", str(target)) == 0
    assert "0 mutants are still not told apart" in capsys.readouterr().err
    assert (
        main(["check-goldens", str(golden), "--backend", "sqlite", "--exec", str(target), "--min-adequacy", "1"]) == 0
    )


def test_the_gate_needs_a_fixture(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-goldens", str(golden), "--backend", "sqlite", "--min-adequacy", "0.5"]) == 2
    assert "--exec" in capsys.readouterr().err
