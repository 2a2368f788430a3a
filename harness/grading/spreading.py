"""Spreads pairs over processes, answers in the order of the input, memory bounded whatever the length of the file."""

import itertools
import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass

from harness.grading.pairs import Decider, failed_line

_CHUNK = 16
_AHEAD = 4
"""Chunks that are under way for each process."""

Numbered = tuple[int, str]


@dataclass(frozen=True)
class Deciding:
    """How each process makes its decider: plain values, for they are sent to it."""

    dialect: str | None = None
    budget_ms: int = 2000
    witness: bool = True
    paranoid: bool = False

    def decider(self) -> Decider:
        """Make one."""
        from harness.grading.witnesses import RunningSearch

        search = RunningSearch(budget_ms=self.budget_ms) if self.witness or self.paranoid else None
        return Decider(dialect=self.dialect, budget_ms=self.budget_ms, witness=search, paranoid=self.paranoid)


class _Process:
    """What a worker process keeps from chunk to chunk."""

    decider: Decider


def _prepare(deciding: Deciding) -> None:
    _Process.decider = deciding.decider()


def _decide(chunk: list[Numbered]) -> list[str]:
    return [_Process.decider.decide(line, number) for number, line in chunk]


def decide_spread(lines: Iterable[str], deciding: Deciding, workers: int) -> Iterator[str]:
    """Answer every line that is not blank, in order, on that many processes.

    A process that a pair kills (out of memory, a crash of a compiled library) costs that pair an error, no other.
    """
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    if workers <= 1:
        decider = deciding.decider()
        yield from (decider.decide(line, number) for number, line in numbered)
        return
    with closing(_Spread(deciding, workers)) as spread:
        for chunk in _chunks(numbered):
            if spread.is_full:
                yield from spread.first()
            spread.submit(chunk)
        while spread.under_way:
            yield from spread.first()


class _Spread:
    """Chunks under way, first in first out."""

    def __init__(self, deciding: Deciding, workers: int) -> None:
        self._deciding = deciding
        self._workers = workers
        self._pool = _pool(deciding, workers)
        self.under_way: deque[tuple[list[Numbered], Future[list[str]]]] = deque()

    @property
    def is_full(self) -> bool:
        return len(self.under_way) >= self._workers * _AHEAD

    def submit(self, chunk: list[Numbered]) -> None:
        self.under_way.append((chunk, self._pool.submit(_decide, chunk)))

    def first(self) -> list[str]:
        """The answers of the chunk that was submitted first."""
        chunk, future = self.under_way.popleft()
        try:
            return future.result()
        except BrokenProcessPool:
            return self._one_by_one(chunk)

    def _one_by_one(self, chunk: list[Numbered]) -> list[str]:
        """A process died, perhaps of this chunk: try its lines each for itself, and begin anew with the rest."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        answers: list[str] = []
        alone = _pool(self._deciding, 1)
        for numbered in chunk:
            try:
                answers += alone.submit(_decide, [numbered]).result()
            except BrokenProcessPool:
                answers.append(failed_line(numbered[1], "the process that compared the two died"))
                alone.shutdown(wait=False)
                alone = _pool(self._deciding, 1)
        alone.shutdown(wait=False)
        self._pool = _pool(self._deciding, self._workers)
        self.under_way = deque((waiting, self._pool.submit(_decide, waiting)) for waiting, _ in self.under_way)
        return answers

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _pool(deciding: Deciding, workers: int) -> ProcessPoolExecutor:
    # A fork would copy threads' locks in whatever state they are.
    context = multiprocessing.get_context("forkserver")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare, initargs=(deciding,))


def _chunks(numbered: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    while chunk := list(itertools.islice(numbered, _CHUNK)):
        yield chunk
