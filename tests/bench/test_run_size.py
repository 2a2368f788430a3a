"""100,000 cases: graded at a steady rate, in memory that does not grow with them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.e2e.commands import ROOT, environment


def corpus(folder: Path, cases: int) -> None:
    """A golden file and its predictions, every tenth of them wrong."""
    folder.mkdir()
    (folder / "schema.sql").write_text(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER);\n"
    )
    with (folder / "golden.csv").open("w") as golden, (folder / "answers.jsonl").open("w") as answers:
        golden.write("id,nl,backend,tags,expect_sql\n")
        for n in range(cases):
            golden.write(f"p{n},people older than {n},sqlite,t{n % 7},SELECT name FROM people WHERE age > {n}\n")
            shift = n if n % 10 else n + 1
            answers.write(json.dumps({"id": f"p{n}", "sql": f"SELECT name FROM people WHERE {shift} < age"}) + "\n")


def graded(folder: Path) -> tuple[float, float]:
    """Grade it: seconds, and peak memory in MB."""
    command = [sys.executable, "-m", "harness", "grade", "answers.jsonl", "-in", "golden.csv", "-config", "schema.sql"]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--json", "--quiet"], cwd=folder, env=environment(PYTHONPATH=str(ROOT)), stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def test_memory_and_rate(tmp_path: Path) -> None:
    corpus(tmp_path / "small", 10_000)
    corpus(tmp_path / "large", 100_000)
    _, small = graded(tmp_path / "small")
    seconds, large = graded(tmp_path / "large")
    rate = 100_000 / seconds
    sys.stdout.write(f"\n{rate:.0f} cases/s; peak {small:.0f} MB at 10,000 cases, {large:.0f} MB at 100,000\n")
    assert large - small < 50
    assert rate >= 300
