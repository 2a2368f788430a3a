"""Cases whose sentence asks for what cannot be expressed: the system should decline."""

from harness.types.answers import MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.outcomes import Failed, NoAnswer, Refused

_A_QUERY_CAME = "the sentence cannot be expressed and should have been refused, but a query came back"


def judge_refusal_case(answer: SqlAnswer | MongoAnswer | Refusal | NoQuery) -> Refused | Failed | NoAnswer:
    """Place an answer to a sentence that should be refused: only a refusal passes; a broken reply is none."""
    match answer:
        case Refusal(by=by):
            return Refused(by=by)
        case NoQuery(reason=reason, message=message):
            return NoAnswer(reason=reason, message=message)
        case _:
            return Failed(evidence=None, message=_A_QUERY_CAME)


def unexpected(refusal: Refusal) -> NoAnswer:
    """Place a refusal of a sentence that can be expressed."""
    return NoAnswer(reason="unexpected_refusal", message=refusal.message or "the system refused without a reason")
