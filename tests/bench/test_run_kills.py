"""kill -9 at twenty random instants of a run of 200 calls, each resumed."""

import random
import sys
from pathlib import Path

from harness.endpoint.scripted.server import ScriptedServer
from tests.e2e.commands import People, rung
from tests.e2e.test_interruption import CASES, PARALLEL, REPEAT, flags, judged, kill_and_resume

SEED = 4


def test_twenty_kills(tmp_path: Path) -> None:
    people = People(tmp_path / "people", CASES).write()
    with ScriptedServer(people.script()) as server:
        rung(tmp_path, "run", *flags(people, server.base_url), "--name", "whole", "--out", "whole.jsonl")
    undisturbed = judged(tmp_path, "whole.jsonl")
    assert len(undisturbed) == CASES * REPEAT
    worst = 0
    for at in random.Random(SEED).sample(range(1, CASES * REPEAT), 20):
        folder = tmp_path / str(at)
        folder.mkdir()
        counted, _ = kill_and_resume(folder, people, at)
        assert judged(folder, "r.jsonl") == undisturbed, f"killed after {at} requests"
        worst = max(worst, sum(counted.values()) - len(counted))
        assert sum(counted.values()) - len(counted) <= PARALLEL, f"killed after {at} requests"
    sys.stdout.write(f"\n20 kills, at most {worst} calls made again, {PARALLEL} in flight at a time\n")
