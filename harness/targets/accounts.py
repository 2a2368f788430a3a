"""Brings what the gateway saw of an attempt together with what the program under test said of it."""

from harness.endpoint.gateway import Ledger
from harness.types.answers import NoQuery, Reply


def with_account(reply: Reply, ledger: Ledger) -> Reply:
    """The reply with the model calls that the gateway saw; where one failed and no query came, that is why."""
    answer = reply.answer
    if isinstance(answer, NoQuery) and (failure := ledger.last_failure) is not None:
        answer = NoQuery(reason=failure.reason, message=failure.message)
    notices = tuple(dict.fromkeys((*reply.notices, *ledger.notices)))
    return reply.model_copy(update={"answer": answer, "calls": tuple(ledger.calls) or reply.calls, "notices": notices})
