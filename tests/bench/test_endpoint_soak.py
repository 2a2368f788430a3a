"""20,000 attempts against an endpoint that fails at random: memory flat, nothing leaked, all accounted for."""

import asyncio
import gc
import logging
import os
import random
import time
from pathlib import Path

from harness.endpoint.chat import Message, Origin
from harness.endpoint.client import ModelClient
from harness.endpoint.gate import Gate
from harness.endpoint.scripted import SCENARIOS, Scenario, ScriptedServer
from harness.endpoint.settings import EndpointSettings

ATTEMPTS = 20_000
PARALLEL = 32
SEED = 11
MESSAGES = (Message(role="user", content="how many orders?"),)
# Those that hang come seldom, or the soak would measure their timeout.
SELDOM = ("hang", "hang-after-headers", "hang-in-body")


def _random_habits() -> Scenario:
    chance = random.Random(SEED)
    steps = [step for name, scenario in SCENARIOS.items() if name not in SELDOM for step in scenario.steps]
    steps += [step for name in SELDOM for step in SCENARIOS[name].steps if chance.random() < 0.5]
    chance.shuffle(steps)
    return Scenario("soak", "every habit, at random", tuple(steps))


class _Dice(ScriptedServer):
    """Plays a random step of a scenario for each call, by a seed."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenarios=[scenario])
        self._chance = random.Random(SEED)
        self._sides = len(scenario.steps)

    def _next(self, key: tuple[str, ...]) -> int:
        return self._chance.randrange(self._sides)


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_soak():
    logging.getLogger("rung").setLevel(logging.CRITICAL)
    outcomes: dict[str, int] = {}
    seen: set[str] = set()

    async def run(url: str) -> tuple[float, float, int, int, int]:
        settings = EndpointSettings.of(url, "m", retries=2, first_wait=0.001, timeout=0.2, longest_wait=1.0)
        client = ModelClient(settings, Gate())
        numbers = iter(range(ATTEMPTS))
        early: list[float] = []

        async def worker() -> None:
            for number in numbers:
                chat = await client.complete(MESSAGES, Origin(case_id=str(number)))
                assert 1 <= chat.tries <= 3 + 2
                outcome = chat.kind if chat.kind == "completed" else chat.reason
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
                seen.add(str(number))
                if number == ATTEMPTS // 10:
                    gc.collect()
                    early.append(_resident_mib())

        await asyncio.gather(*(worker() for _ in range(PARALLEL)))
        gc.collect()
        late = _resident_mib()
        await client.aclose()
        await asyncio.sleep(0)
        return early[0], late, len(asyncio.all_tasks()), len(client.notices), 0

    before = _descriptors()
    started = time.monotonic()
    with _Dice(_random_habits()) as server:
        early, late, tasks, _, _ = asyncio.run(run(server.scenario_url("soak")))
        calls = server.count
    took = time.monotonic() - started
    gc.collect()
    print(  # noqa: T201  a bench prints its figures
        f"\n{ATTEMPTS} attempts, {calls} HTTP calls (seed {SEED}) in {took:.0f} s;"
        f" memory {early:.0f} -> {late:.0f} MiB;"
        f" descriptors {before} -> {_descriptors()}; tasks left {tasks - 1}; {outcomes}",
        end="",
    )
    assert len(seen) == sum(outcomes.values()) == ATTEMPTS
    assert late - early < 30
    assert _descriptors() <= before + 2
    assert tasks == 1
    assert took < 600
