"""The exit status of a run: what a script or a CI job is told."""

from typing import Protocol

from harness.errors import UsageError
from harness.runs.summary import Countable
from harness.types.outcomes import NoAnswer
from harness.types.run import Summary

PASSED = 0
FAILED = 1
NOTHING_ANSWERED = 3
INTERRUPTED = 130


class Counted(Countable, Protocol):
    """A run with its counts."""

    @property
    def summary(self) -> Summary:
        """The counts."""
        ...


def exit_status(run: Counted, *, fail_under: float | None = None, stopped: bool = False) -> int:
    """0 all passed or the rate reached `fail_under`, 1 not so, 3 nothing could be answered, 130 interrupted.

    Args:
        run: the finished run.
        fail_under: the share of passed cases (weighted, of all asked) that is enough, 0 to 1.
        stopped: somebody stopped the run.
    """
    summary = run.summary
    if stopped:
        return INTERRUPTED
    if summary.attempts and summary.grades["ERROR"] == summary.finished and _unreached(run):
        return NOTHING_ANSWERED
    if fail_under is not None:
        return PASSED if summary.score >= fail_under else FAILED
    return PASSED if summary.passed == summary.cases else FAILED


def _unreached(run: Counted) -> bool:
    """Whether not one attempt got past the transport."""
    return all(
        isinstance(outcome.judgement, NoAnswer) and outcome.judgement.reason == "transport"
        for _, result in run.results()
        for outcome in result.outcomes
    )


def read_rate(text: str) -> float:
    """Read a rate: `0.9`, `90%`, or a number above 1 as per cent.

    Raises:
        UsageError: it is no rate.
    """
    percent = text.strip().endswith("%")
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        raise UsageError(f"--fail-under {text!r}: write a rate such as 0.9 or 90%") from None
    value = value / 100 if percent or value > 1 else value
    if not 0 <= value <= 1:
        raise UsageError(f"--fail-under {text!r}: a rate lies between 0 and 1, or 0% and 100%")
    return value
