"""Spreads pairs over the machines of a Ray cluster, answers in the order of the input, memory bounded."""

import itertools
from collections import deque
from collections.abc import Iterable, Iterator

from harness.errors import MissingExtraError, RungError
from harness.grading.spreading import Deciding, Numbered

_CHUNK = 256
"""Lines of one task: a task costs about a millisecond to send, a pair about as much to decide."""
_AHEAD = 4
"""Tasks that are under way for each processor of the cluster."""


def decide_on_cluster(lines: Iterable[str], deciding: Deciding, address: str) -> Iterator[str]:
    """Answer every line that is not blank, in order, on a Ray cluster.

    Args:
        lines: one pair each, as JSON.
        deciding: how each task makes its decider.
        address: `local` starts one on this machine for the time of the call; else what `ray.init` takes
            (`auto`, `ray://host:10001`).

    Raises:
        MissingExtraError: Ray is not installed.
        RungError: the cluster cannot be reached.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray", "spreading pairs over machines") from error
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=False if address == "local" else None)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise RungError(f"no Ray cluster at {address}: {type(error).__name__}") from error
    try:
        task = ray.remote(_decide)
        most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
        under_way: deque[object] = deque()
        while chunk := list(itertools.islice(numbered, _CHUNK)):
            if len(under_way) >= most:
                yield from ray.get(under_way.popleft())
            under_way.append(task.remote(chunk, deciding))
        while under_way:
            yield from ray.get(under_way.popleft())
    finally:
        ray.shutdown()


def _decide(chunk: list[Numbered], deciding: Deciding) -> list[str]:
    """One task, on whatever machine it lands."""
    decider = deciding.decider()
    return [decider.decide(line, number) for number, line in chunk]
