"""How near a run comes to what its endpoint allows: against a bare httpx loop, against latency, against a rate."""

import asyncio
import itertools
import sys
import time
from pathlib import Path

import httpx
import pytest

from harness.endpoint.gate import Gate
from harness.endpoint.scripted.server import ScriptedServer
from harness.runs.options import RunOptions
from harness.runs.session import Session
from tests.bench.serving import people_served
from tests.e2e.commands import People, end, interrupt, start, until

PARALLEL = 16


def options(people: People, base_url: str, **more: object) -> RunOptions:
    asked = {
        "golden": people.golden,
        "config": people.ddl,
        "target": "prompt",
        "model": "scripted",
        "base_url": base_url,
        "parallel": PARALLEL,
        "runs": people.folder / "runs",
    }
    return RunOptions.model_validate({**asked, **more})


def seconds_of_run(people: People, base_url: str, **more: object) -> float:
    async def make() -> float:
        started = time.perf_counter()
        run = await Session(options=options(people, base_url, **more)).run()
        assert run.summary.attempts == people.cases
        return time.perf_counter() - started

    return asyncio.run(make())


def seconds_of_loop(people: People, base_url: str) -> float:
    """The same requests by httpx alone: no gate, no grading, no journal."""

    async def make() -> float:
        numbers = iter(range(people.cases))
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(trust_env=False, limits=limits, timeout=30) as client:

            async def work() -> None:
                for number in numbers:
                    message = {"role": "user", "content": f"people older than {number} years"}
                    body = {"model": "scripted", "messages": [message], "temperature": 0}
                    reply = await client.post(f"{base_url}/chat/completions", json=body)
                    assert reply.json()["choices"]

            started = time.perf_counter()
            await asyncio.gather(*(work() for _ in range(PARALLEL)))
            return time.perf_counter() - started

    return asyncio.run(make())


def test_requests_per_second_beside_a_bare_loop(tmp_path: Path) -> None:
    people = People(tmp_path, 1500).write()
    with people_served(people, 0) as base_url:
        seconds_of_loop(people, base_url)
        pairs = [(seconds_of_loop(people, base_url), seconds_of_run(people, base_url)) for _ in range(5)]
    ratios = sorted(loop / run for loop, run in pairs)
    loop, run = pairs[-1]
    sys.stdout.write(f"\nbare loop {people.cases / loop:.0f}/s, run {people.cases / run:.0f}/s, ratios {ratios}\n")
    assert ratios[2] >= 0.60


def test_latency_is_hidden_by_parallel_calls(tmp_path: Path) -> None:
    warm, people = People(tmp_path / "warm", PARALLEL).write(), People(tmp_path / "people", 256).write()
    with people_served(people, 900) as base_url:
        # The parser and the engine are loaded with the first answers; that is no part of the calls.
        seconds_of_run(warm, base_url)
        took = seconds_of_run(people, base_url)
    ideal = 256 / PARALLEL * 0.9
    sys.stdout.write(
        f"\n256 calls of 900 ms, {PARALLEL} at a time: {took:.2f} s, ideal {ideal:.2f} s, ratio {took / ideal:.3f}\n"
    )
    assert took <= 1.05 * ideal


@pytest.mark.parametrize("rpm", [600])
def test_a_rate_is_kept_evenly(tmp_path: Path, rpm: int, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go: list[float] = []
    wait = Gate.start

    async def start(gate: Gate) -> float:
        let_go.append(await wait(gate))
        return let_go[-1]

    monkeypatch.setattr(Gate, "start", start)
    people = People(tmp_path, 100).write()
    with ScriptedServer(people.script()) as server:
        seconds_of_run(people, server.base_url, rpm=rpm)
        starts = [got.at for got in server.received]
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    ideal = 99 * 60 / rpm
    sys.stdout.write(
        f"\nsmallest gap {min(gaps) * 1000:.1f} ms, total {starts[-1] - starts[0]:.3f} s, ideal {ideal:.3f} s\n"
    )
    assert abs(starts[-1] - starts[0] - ideal) <= 0.02 * ideal
    assert len(let_go) == people.cases
    assert min(later - earlier for earlier, later in itertools.pairwise(let_go)) >= 0.099


def test_ctrl_c_answers_within_a_second_while_every_call_hangs(tmp_path: Path) -> None:
    people = People(tmp_path / "people", 8).write()
    with ScriptedServer(people.script(), latency_ms=60_000) as server:
        process = start(tmp_path, "run", *people.flags(server.base_url))
        until(lambda: server.count >= 4)
        began = time.monotonic()
        interrupt(process)
        stopped = end(process)
        took = time.monotonic() - began
    sys.stdout.write(f"\ninterrupt to exit {took:.2f} s\n")
    assert stopped.status == 130
    assert took <= 1.0
