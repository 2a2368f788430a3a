"""Lets calls start: evenly spaced, held back for everybody after a 429, slower when 429 comes again."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from harness.endpoint.logs import log_event
from harness.errors import UsageError

# A start may come this share of the interval early, to make up for a timer that woke the one before it late.
_EARLY = 0.008
# Slower by half after each repeated 429, quicker by a tenth after each good call: an endpoint that says 429 to less
# than a fifth of the calls is asked at full pace. It is never asked more than eight times slower than that.
_SLOWER = 1.5
_QUICKER = 0.9
_SLOWEST = 8
_QUICKEST = 0.002
_CALM = 20
_MINUTE = 60.0


class Gate:
    """One gate for everything a run (and its gateway) sends; retries pass it like first tries.

    Starts are spaced by `60 / rpm` seconds on the monotonic clock: there is no bucket that could be saved up and no
    burst. A 429 holds back everybody. When 429 comes again on a call that started after the pause, the spacing grows by
    half; each good call eases it by a tenth, never below what `rpm` asks.

    Args:
        rpm: starts a minute; `None` = as they come.
        tpm: tokens a minute, by the usage that the endpoint reports; a start waits while the last 60 s used them up.
        clock: monotonic seconds.
        sleep: waits that many seconds.

    Raises:
        UsageError: a rate that is not above 0.
    """

    def __init__(
        self,
        rpm: float | None = None,
        tpm: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        for name, rate in (("--rpm", rpm), ("--tpm", tpm)):
            if rate is not None and not 0 < rate < float("inf"):
                raise UsageError(f"{name} {rate:g} is no rate; it has to be above 0 (leave it out for no limit)")
        self._floor = 60.0 / rpm if rpm is not None else 0.0
        self._interval = self._floor
        self._tpm = tpm
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._last: float | None = None
        self._due = clock()
        self._open_at = float("-inf")
        self._paused_at = float("-inf")
        self._starts: deque[float] = deque(maxlen=32)
        self._used: deque[tuple[float, int]] = deque()
        self._used_sum = 0
        self._pauses = 0
        self._calm = 0
        self._refused = 0.0
        self.notices: tuple[str, ...] = ()

    @property
    def interval(self) -> float:
        """Seconds between starts as they are spaced now."""
        return self._interval

    async def start(self) -> float:
        """Wait for the turn; returns the instant of the start on the gate's clock. First come, first served."""
        if self._is_open():
            return self._started(self._clock())
        async with self._turn:
            while (wait := self._earliest() - self._clock()) > 0:
                # A pause or a slowdown may come while it sleeps, so it looks again.
                await self._sleep(wait)
            return self._started(self._clock())

    def too_many(self, started: float, wait: float, *, repeated: bool = True) -> None:
        """A 429 came for the call that started then: hold everybody back for `wait` seconds from now.

        Calls that were already in flight when the gate closed say nothing new about the pace.

        Args:
            started: what `start` returned for that call.
            wait: seconds.
            repeated: whether it may slow the pace down (a 503 that says Retry-After does not).
        """
        now = self._clock()
        self._open_at = max(self._open_at, now + wait)
        self._calm = 0
        if not repeated or started <= self._paused_at:
            return
        self._paused_at = now
        self._pauses += 1
        if self._pauses > 1:
            self._slow_down()

    def good(self, tokens: int | None) -> None:
        """A call came back well, having used that many tokens."""
        if self._tpm is not None and tokens:
            self._used.append((self._clock(), tokens))
            self._used_sum += tokens
        if not self._pauses:
            return
        self._calm += 1
        if self._interval > self._floor:
            eased = self._interval * _QUICKER
            self._interval = eased if eased > max(self._floor, _QUICKEST / 2) else self._floor
        elif self._calm >= _CALM:
            self._pauses = 0

    def _is_open(self) -> bool:
        unpaced = self._interval == 0 and self._tpm is None
        return unpaced and not self._turn.locked() and self._clock() >= self._open_at

    def _earliest(self) -> float:
        earliest = self._open_at
        if self._last is not None and self._interval:
            earliest = max(earliest, self._due, self._last + self._interval * (1 - _EARLY))
        if self._tpm is not None:
            earliest = max(earliest, self._tokens_free_at())
        return earliest

    def _tokens_free_at(self) -> float:
        horizon = self._clock() - _MINUTE
        while self._used and self._used[0][0] <= horizon:
            self._used_sum -= self._used.popleft()[1]
        assert self._tpm is not None
        over = self._used_sum - self._tpm
        if over < 0:
            return float("-inf")
        for at, tokens in self._used:
            over -= tokens
            if over < 0:
                return at + _MINUTE
        return float("-inf")

    def _started(self, now: float) -> float:
        # The schedule goes on from where it was due, so that late timers do not add up; after an idle time it is new
        behind = now - self._due
        self._due = (self._due if behind < self._interval else now) + self._interval
        self._last = now
        self._starts.append(now)
        return now

    def _slow_down(self) -> None:
        if self._interval <= self._floor:
            self._refused = self._interval or self._observed()
        self._interval = min(max(self._interval, self._refused) * _SLOWER, self._refused * _SLOWEST)
        self._due = max(self._due, self._open_at)
        rate = 60.0 / self._interval
        self.notices = (f"repeated 429: slowed down to {rate:.3g} calls a minute",)
        log_event("warning", "slowed down after repeated 429", calls_per_minute=round(rate, 3))

    def _observed(self) -> float:
        if len(self._starts) < 2:
            return _QUICKEST
        return max((self._starts[-1] - self._starts[0]) / (len(self._starts) - 1), _QUICKEST)
