"""Which failures are tried again, and what each becomes: the table of HTTP statuses and of errors' own words."""

from dataclasses import dataclass, replace
from typing import Literal

from harness.endpoint.bodies import ErrorBody, Said

RETRIED = frozenset({408, 409, 425, 429, 498, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530})
"""Statuses that are tried again: timeouts, conflicts, rate limits, overload, and Cloudflare's own 52x."""

_QUOTA_GONE = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated", "credit_exhausted"}
)
_FILTERED = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "data_inspection_failed",
        "content_filtered",
        "moderation_blocked",
    }
)
_BY_WORD: tuple[tuple[frozenset[str], int], ...] = (
    (_QUOTA_GONE | {"payment_required", "insufficient_credits"}, 402),
    (
        frozenset(
            {
                "rate_limit_exceeded",
                "rate_limit_error",
                "rate_limited",
                "resource_exhausted",
                "too_many_requests",
                "ratelimiterror",
            }
        ),
        429,
    ),
    (
        frozenset(
            {"authentication_error", "unauthenticated", "invalid_api_key", "unauthorized", "authenticationerror"}
        ),
        401,
    ),
    (frozenset({"permission_error", "permission_denied", "forbidden"}), 403),
    (frozenset({"not_found_error", "not_found", "model_not_found", "notfounderror"}), 404),
    (frozenset({"request_too_large"}), 413),
    (
        frozenset(
            {"invalid_request_error", "invalid_argument", "badrequesterror", "bad_request", "context_length_exceeded"}
        ),
        400,
    ),
    (frozenset({"timeout", "deadline_exceeded", "request_timeout"}), 504),
    (
        frozenset({"overloaded_error", "unavailable", "unavailable_error", "engine_overloaded", "server_overloaded"}),
        503,
    ),
    (frozenset({"server_error", "internal_error", "internal", "api_error", "internal_server_error"}), 500),
)
_TRUNCATED = frozenset({"length", "max_tokens", "model_length", "max_output_tokens", "token_limit"})
_FILTER_FINISH = frozenset(
    {
        "content_filter",
        "content-filter",
        "safety",
        "recitation",
        "prohibited_content",
        "blocklist",
        "spii",
        "sensitive",
        "blocked",
    }
)
_ERROR_FINISH = frozenset({"error", "network_error", "insufficient_system_resource", "abort", "cancelled"})

FailureReason = Literal["transport", "empty", "truncated", "content_filter", "unparseable"]


@dataclass(frozen=True, slots=True)
class Failure:
    """One HTTP request came to nothing usable.

    Attributes:
        reason: what it becomes if it is the last word.
        message: one line, not yet redacted.
        again: whether a further try may help.
        status: the HTTP status, or the one that the body claims; `None` where neither came.
        wait: seconds that the endpoint asks to wait.
        partial: text that did come.
    """

    reason: FailureReason
    message: str
    again: bool
    status: int | None = None
    wait: float | None = None
    partial: str = ""


def effective_status(status: int, error: ErrorBody) -> int | None:
    """The status that an error means: HTTP's own, else what a body under HTTP 200 says; `None` = it does not say."""
    if status >= 400:
        return status
    if error.status is not None:
        return error.status
    return next((meant for words, meant in _BY_WORD if words & error.names), None)


def failure_of_error(status: int, error: ErrorBody, wait: float | None) -> Failure:
    """Classify an error body.

    Args:
        status: HTTP's own status.
        error: what the body says.
        wait: seconds that the headers ask to wait.
    """
    meant = effective_status(status, error)
    shown = f"HTTP {status}" if status >= 400 or meant is None else f"HTTP {status} with error {meant}"
    message = f"{shown}: {error.message}"
    if error.names & _FILTERED or (meant == 403 and "flagged_input" in error.text):
        return Failure(reason="content_filter", message=message, again=False, status=meant or status)
    return Failure(
        reason="transport",
        message=message,
        # An error under HTTP 200 that says nothing of its kind is a proxy's whose upstream failed: the next try may do.
        again=meant is None or (meant in RETRIED and not quota_is_gone(meant, error)),
        status=meant or status,
        wait=wait if wait is not None else error.retry_after,
    )


def quota_is_gone(status: int | None, error: ErrorBody) -> bool:
    """Whether a 429 speaks of money that waiting does not bring back.

    Told by the error's type or code. The words "exceeded your current quota" alone do not tell: Gemini says them,
    too, of its limit per minute, beside `RESOURCE_EXHAUSTED`.
    """
    return status == 429 and bool(error.names & _QUOTA_GONE)


def failure_of_said(said: Said) -> Failure | None:
    """What is wrong with a completion; `None` where it is whole."""
    finish = (said.finish or "").lower()
    if said.error is not None:
        return replace(failure_of_error(200, said.error, None), partial=said.content)
    if said.blocked is not None:
        return Failure(
            reason="content_filter", message=f"the prompt was filtered: {said.blocked}", again=False, status=200
        )
    if finish in _FILTER_FINISH:
        message = f"the reply was filtered (finish reason {said.finish})"
        return Failure(reason="content_filter", message=message, again=False, status=200, partial=said.content)
    if finish in _TRUNCATED:
        message = f"the reply was cut off at the token limit (finish reason {said.finish})"
        return Failure(reason="truncated", message=message, again=False, status=200, partial=said.content)
    if finish in _ERROR_FINISH:
        message = f"the endpoint broke off (finish reason {said.finish})"
        return Failure(reason="transport", message=message, again=True, status=200, partial=said.content)
    if said.choices == 0:
        return Failure(reason="empty", message="the completion has no choices", again=False, status=200)
    if not said.content.strip() and said.refusal is None and not (said.tool_arguments or "").strip():
        return Failure(reason="empty", message=_why_empty(said), again=False, status=200)
    return None


def _why_empty(said: Said) -> str:
    if said.reasoning:
        return "the reply has reasoning and no content"
    return "the reply has no content"
