"""The gate on a clock of its own: even starts, pauses for everybody, slower after repeated 429."""

import asyncio
import itertools

import pytest

from harness.endpoint.gate import Gate
from harness.errors import UsageError


class Clock:
    """Time that passes only while somebody sleeps; every sleep wakes `late` seconds late."""

    def __init__(self, late: float = 0.0) -> None:
        self.now = 100.0
        self.late = late

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds + self.late
        await asyncio.sleep(0)


def starts(gate: Gate, count: int) -> list[float]:
    async def all_at_once():
        return await asyncio.gather(*(gate.start() for _ in range(count)))

    return asyncio.run(all_at_once())


def gaps(times: list[float]) -> list[float]:
    return [round(later - earlier, 6) for earlier, later in itertools.pairwise(times)]


def test_starts_are_evenly_spaced_however_many_wait():
    clock = Clock()
    assert gaps(starts(Gate(600, clock=clock, sleep=clock.sleep), 100)) == [0.1] * 99


def test_late_timers_neither_bunch_starts_nor_add_up():
    clock = Clock(late=0.0004)
    times = starts(Gate(600, clock=clock, sleep=clock.sleep), 100)
    assert min(gaps(times)) >= 0.099
    assert times[-1] - times[0] == pytest.approx(9.9, rel=0.02)


def test_idle_time_is_not_saved_up_for_a_burst():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    starts(gate, 1)
    clock.now += 60
    assert gaps(starts(gate, 4)) == [0.1] * 3


def test_no_rate_lets_everything_start_at_once():
    clock = Clock()
    assert gaps(starts(Gate(clock=clock, sleep=clock.sleep), 50)) == [0.0] * 49


def test_a_pause_holds_everybody_back():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    first = starts(gate, 1)[0]
    gate.too_many(first, 5.0)
    times = starts(gate, 3)
    assert [round(at - first, 6) for at in times] == [5.0, 5.1, 5.2]


def test_a_pause_that_comes_while_it_sleeps_is_heeded():
    clock = Clock()
    gate: Gate
    paused = []

    async def sleep(seconds: float) -> None:
        if not paused:
            paused.append(True)
            gate.too_many(100.0, 3.0)
        await clock.sleep(seconds)

    gate = Gate(600, clock=clock, sleep=sleep)
    times = starts(gate, 2)
    assert times[1] >= 103.0


def test_calls_in_flight_at_a_pause_do_not_slow_the_pace():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    for at in starts(gate, 5):
        gate.too_many(at, 1.0)
    assert gate.interval == pytest.approx(0.1)
    assert gate.notices == ()


def test_repeated_429_widens_the_spacing_and_says_so():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    for _ in range(3):
        gate.too_many(starts(gate, 1)[0], 0.5)
    assert gate.interval == pytest.approx(0.225)
    assert gate.notices == ("repeated 429: slowed down to 267 calls a minute",)
    assert gaps(starts(gate, 3)) == [0.225, 0.225]


def test_it_is_never_more_than_eight_times_slower():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    for _ in range(50):
        gate.too_many(starts(gate, 1)[0], 0.5)
    assert gate.interval == pytest.approx(0.8)


def test_an_occasional_429_costs_no_pace():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    for number in range(2000):
        started = starts(gate, 1)[0]
        if number % 8 == 0:
            gate.too_many(started, 0.01)
        else:
            gate.good(None)
    assert gate.interval == pytest.approx(0.1)


def test_good_calls_ease_the_pace_back_to_the_rate_and_no_further():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    for _ in range(3):
        gate.too_many(starts(gate, 1)[0], 0.5)
    for _ in range(400):
        gate.good(None)
    assert gate.interval == pytest.approx(0.1)


def test_an_unpaced_run_is_paced_after_repeated_429():
    clock = Clock()
    gate = Gate(clock=clock, sleep=clock.sleep)
    for _ in range(2):
        gate.too_many(starts(gate, 1)[0], 0.5)
    assert gate.interval >= 0.05
    assert min(gaps(starts(gate, 5))) >= 0.05


def test_a_busy_endpoint_that_names_a_time_does_not_slow_the_pace():
    clock = Clock()
    gate = Gate(600, clock=clock, sleep=clock.sleep)
    for _ in range(3):
        gate.too_many(starts(gate, 1)[0], 0.5, repeated=False)
    assert gate.interval == pytest.approx(0.1)


def test_tokens_of_the_last_minute_hold_starts_back():
    clock = Clock()
    gate = Gate(tpm=1000, clock=clock, sleep=clock.sleep)
    gate.good(600)
    clock.now += 10
    gate.good(600)
    assert starts(gate, 1) == [160.0]


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan")])
def test_a_rate_is_above_zero(rate):
    with pytest.raises(UsageError, match=r"--rpm .* is no rate"):
        Gate(rate)
    with pytest.raises(UsageError, match=r"--tpm .* is no rate"):
        Gate(tpm=rate)


def test_a_cancelled_waiter_gives_its_turn_to_the_next():
    async def cancelled():
        gate = Gate(60_000)
        await gate.start()
        waiting = [asyncio.create_task(gate.start()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    results = asyncio.run(cancelled())
    assert [isinstance(result, float) for result in results] == [False, True, True]
