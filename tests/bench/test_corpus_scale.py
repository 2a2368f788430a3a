"""Memory of a golden file and of recorded answers as the rows grow tenfold; prints what it took."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, json, resource, sys, time
from datetime import UTC, datetime
from pathlib import Path
from harness.corpus.golden_csv import open_corpus
from harness.targets.recorded import RecordedTarget

async def ask_all(corpus, target):
    now = datetime(2026, 8, 4, tzinfo=UTC)
    answered = 0
    for case in corpus.cases():
        reply = await target.answer(case, now=now, repeat=0)
        answered += reply.answer.kind == "sql"
    await target.aclose()
    return answered

golden, answers = map(Path, sys.argv[1:])
started = time.monotonic()
corpus = open_corpus(golden)
checked = time.monotonic()
target = RecordedTarget(answers)
indexed = time.monotonic()
answered = asyncio.run(ask_all(corpus, target))
done = time.monotonic()
print(json.dumps({
    "rows": corpus.count, "answered": answered, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "check_s": checked - started, "index_s": indexed - checked, "ask_s": done - indexed,
}))
"""


def show(line: object) -> None:
    sys.stdout.write(f"\n{line}")


def measure(folder: Path, rows: int) -> dict[str, float]:
    golden, answers = folder / f"golden-{rows}.csv", folder / f"answers-{rows}.jsonl"
    with golden.open("w") as stream:
        stream.write("id,nl,tags,expect_sql,now\n")
        for number in range(rows):
            sql = f"SELECT id, total FROM orders WHERE amount > {number} AND status IN ('A', 'B') LIMIT 50"
            stream.write(f'case-{number},orders over {number} last week,a;b,"{sql}",2026-08-04\n')
    with answers.open("w") as stream:
        for number in range(rows):
            sql = f"SELECT total, id FROM orders WHERE status IN ('B', 'A') AND {number} < amount LIMIT 50"
            stream.write(json.dumps({"id": f"case-{number}", "sql": sql}) + "\n")
    command = [sys.executable, "-c", PROGRAM, str(golden), str(answers)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    measured: dict[str, float] = json.loads(ran.stdout)
    return measured


def test_memory_does_not_grow_with_the_rows(tmp_path):
    small, large = measure(tmp_path, 10_000), measure(tmp_path, 100_000)
    for measured in (small, large):
        assert measured["answered"] == measured["rows"]
        show({key: round(value, 2) for key, value in measured.items()})
    growth = large["peak_mb"] - small["peak_mb"]
    show(f"growth {growth:.1f} MB; rows checked a second {large['rows'] / large['check_s']:,.0f}")
    assert growth < 50
