"""Ctrl-C: once ends the run and keeps what is finished, twice ends the process."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.runs.status import INTERRUPTED


@contextmanager
def stopping_on_signals(stop: asyncio.Event, say: Callable[[str], None]) -> Iterator[None]:
    """Set `stop` on the first SIGINT or SIGTERM inside the block; on the second end the process at once.

    Args:
        stop: ends the run when it is set.
        say: tells the user what happens.
    """
    loop = asyncio.get_running_loop()

    def caught() -> None:
        if stop.is_set():
            # The journal is whole up to its last line: that is what it is for.
            os._exit(INTERRUPTED)
        stop.set()
        say("stopping: what is finished is kept and reported; once more ends at once")

    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, caught)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
