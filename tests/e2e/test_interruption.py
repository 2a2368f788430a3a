"""Ctrl-C and kill -9: what is finished is kept, what was in flight and nothing else is asked again."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from harness.endpoint.origins import HEADER
from harness.endpoint.scripted.server import ScriptedServer
from tests.e2e.commands import Done, People, end, interrupt, rung, start, until

PARALLEL = 4
REPEAT = 5
CASES = 40


def asked(server: ScriptedServer) -> Counter[str]:
    """How often each attempt was asked, by case and repeat."""
    return Counter(got.headers[HEADER].split(";", 1)[1] for got in server.received)


def judged(folder: Path, name: str) -> dict[tuple[str, int], tuple[str, str]]:
    """Grade and meaning of each attempt, as the results file has them."""
    lines = [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
    return {
        (outcome["case_id"], outcome["repeat"]): (outcome["judgement"]["grade"], outcome["meaning"])
        for line in lines
        for outcome in line["outcomes"]
    }


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    return People(tmp_path_factory.mktemp("people"), CASES).write()


@pytest.fixture(scope="module")
def undisturbed(people: People) -> dict[tuple[str, int], tuple[str, str]]:
    with ScriptedServer(people.script()) as server:
        done = rung(people.folder, "run", *flags(people, server.base_url), "--name", "whole", "--out", "whole.jsonl")
    assert done.status == 1, done.err
    return judged(people.folder, "whole.jsonl")


def flags(people: People, base_url: str) -> list[object]:
    return [*people.flags(base_url), "--repeat", REPEAT, "--parallel", PARALLEL]


def kill_and_resume(folder: Path, people: People, at: int) -> tuple[Counter[str], Done]:
    """Kill a run when the server has got `at` requests, go on with it, and count what was asked."""
    with ScriptedServer(people.script(), latency_ms=2) as server:
        command = ["run", *flags(people, server.base_url), "--name", "r"]
        process = start(folder, *command)
        until(lambda: server.count >= at or process.poll() is not None)
        process.kill()
        end(process)
        done = rung(folder, *command, "--resume", "--out", "r.jsonl")
        return asked(server), done


@pytest.mark.parametrize("at", random.Random(20260804).sample(range(1, CASES * REPEAT), 4))
def test_a_killed_run_goes_on_and_asks_only_what_was_in_flight_again(
    tmp_path: Path, people: People, undisturbed: dict[tuple[str, int], tuple[str, str]], at: int
) -> None:
    counted, done = kill_and_resume(tmp_path, people, at)
    assert done.status == 1, done.err
    assert judged(tmp_path, "r.jsonl") == undisturbed
    assert len(counted) == CASES * REPEAT
    again = {attempt: number for attempt, number in counted.items() if number > 1}
    assert sum(again.values()) - len(again) <= PARALLEL


def test_ctrl_c_reports_what_is_finished_and_a_resume_completes_it(
    tmp_path: Path, people: People, undisturbed: dict[tuple[str, int], tuple[str, str]]
) -> None:
    with ScriptedServer(people.script(), latency_ms=30) as server:
        command = ["run", *flags(people, server.base_url), "--name", "r"]
        process = start(tmp_path, *command, "--json", "--out", "part.jsonl")
        until(lambda: server.count >= 60)
        interrupt(process)
        stopped = end(process)
        assert stopped.status == 130
        assert "stopping: what is finished is kept" in stopped.err
        part = judged(tmp_path, "part.jsonl")
        assert stopped.document["interrupted"] is True
        assert stopped.document["attempts"] == len(part) >= 50
        assert {key: undisturbed[key] for key in part} == part
        before = server.count
        done = rung(tmp_path, *command, "--resume", "--out", "r.jsonl")
        assert done.status == 1, done.err
        assert server.count - before == CASES * REPEAT - len(part)
    assert judged(tmp_path, "r.jsonl") == undisturbed


def test_ctrl_c_does_not_wait_for_a_call_that_hangs(tmp_path: Path) -> None:
    import time

    people = People(tmp_path / "people", 8).write()
    with ScriptedServer(people.script(), latency_ms=60_000) as server:
        process = start(tmp_path, "run", *people.flags(server.base_url))
        until(lambda: server.count >= 4)
        began = time.monotonic()
        interrupt(process)
        stopped = end(process)
        assert time.monotonic() - began < 5
    assert stopped.status == 130
    assert "0 of 0 cases passed" in stopped.out


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    people = People(tmp_path / "people", 8).write()
    with ScriptedServer(people.script(), latency_ms=60_000) as server:
        process = start(tmp_path, "run", *people.flags(server.base_url))
        until(lambda: server.count >= 4)
        interrupt(process)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("stopping: ")
        interrupt(process)
        stopped = end(process)
    assert stopped.status == 130
    assert stopped.out == ""


def test_a_resume_without_flags_goes_on_as_the_run_was_started(tmp_path: Path) -> None:
    people = People(tmp_path / "people", 12).write()
    with ScriptedServer(people.script(), latency_ms=20) as server:
        process = start(tmp_path, "run", *people.flags(server.base_url), "--repeat", 2)
        until(lambda: server.count >= 8)
        interrupt(process)
        end(process)
        done = rung(tmp_path, "run", "--resume", "--json")
        assert (done.document["attempts"], done.document["interrupted"]) == (24, False)
        assert set(asked(server)) == {f"p{n};{repeat}" for n in range(12) for repeat in range(2)}


def test_two_processes_cannot_write_one_run(tmp_path: Path) -> None:
    people = People(tmp_path / "people", 8).write()
    with ScriptedServer(people.script(), latency_ms=60_000) as server:
        command = ["run", *people.flags(server.base_url), "--name", "r", "--resume"]
        process = start(tmp_path, *command)
        until(lambda: server.count >= 4)
        second = rung(tmp_path, *command)
        process.kill()
        end(process)
    assert second.status == 2
    assert "another rung is writing this run" in second.err
