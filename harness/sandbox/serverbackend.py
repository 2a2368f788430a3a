"""What PostgreSQL and MongoDB have in common: a connected worker process per slot, asked with a deadline."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.sandbox.backends import Job
from harness.sandbox.comparison import plain_rules
from harness.sandbox.policy import Policy
from harness.sandbox.processes import LostError, Process
from harness.sandbox.slots import Slot
from harness.sandbox.work import Failure
from harness.types.results import ComparisonConfig

ASSUMED_LAYERS = ("rlimits", "no_new_privs", "not_dumpable", "kill")


def failure_of(answer: dict[str, Any]) -> Failure | None:
    """The failure that a worker reported."""
    if answer.get("code") is None:
        return None
    return Failure(
        answer.get("status", "execution_error"),
        answer["code"],
        answer["layer"],
        sqlstate=answer.get("sqlstate"),
        condition=answer.get("condition"),
    )


def limits_of(policy: Policy, seconds: float) -> dict[str, Any]:
    """The limits of a request.

    Raises:
        Failure: there is no time left.
    """
    if seconds <= 0:
        raise Failure("timeout", "deadline", "deadline")
    return {
        "seconds": seconds,
        "max_rows": policy.max_rows,
        "value_bytes": policy.max_value_bytes,
        "result_bytes": policy.max_result_bytes,
    }


def pair_request(
    texts: tuple[Any, Any], rules: ComparisonConfig, *, sort_key: tuple[int, ...] | None, hidden: int, show_diff: bool
) -> dict[str, Any]:
    """The request to compare two queries."""
    plain = plain_rules(rules, sort_key=sort_key, hidden=hidden)
    return {
        "op": "compare",
        "reference": texts[0],
        "generated": texts[1],
        "rules": plain.plain(),
        "show_diff": show_diff,
    }


def ask(slot: Slot, key: str, start: Callable[[], Process], request: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Ask the worker of a slot; a worker that died since it was last used is started anew first.

    Raises:
        Failure: it ended over the request, or had to be killed.
    """
    process = slot.worker(key, start)
    try:
        answer = process.ask(request, seconds)
    except LostError as lost:
        slot.drop_worker(key)
        if lost.timed_out:
            raise Failure("timeout", "worker_killed", "kill") from lost
        raise Failure("resource_limit", "worker_terminated", "kernel") from lost
    if answer.get("code") == "engine_lost":
        slot.drop_worker(key)  # the next case connects anew
    return answer


def time_left(job: Job) -> float:
    """Seconds that a query still has."""
    return min(job.deadline - time.monotonic(), job.policy.deadline_seconds)


def after_setup(job: Job, setup: Callable[[], None]) -> Job:
    """Connect or start what is needed; the time that takes is not the query's."""
    started = time.monotonic()
    setup()
    return replace(job, deadline=job.deadline + time.monotonic() - started)
