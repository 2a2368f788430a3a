"""A digest of what an answer means, so that repeats can be counted by distinct answers."""

import hashlib
import re
from datetime import datetime

from canon.schema import Schema
from canon.verdict import Canonical
from harness.types.answers import Answer, MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Case
from harness.types.outcomes import Equivalent, Exact, Judgement

_SPACE = re.compile(r"\s+")


def meaning_of(
    case: Case,
    answer: Answer,
    judgement: Judgement,
    *,
    now: datetime,
    schema: Schema | None = None,
) -> str:
    """Digest of an answer's canonical form; of the refusal; of the reason why there is none.

    Answers that share the golden's canonical form are not read a second time: they all mean what the golden means.
    A text that canon cannot read stands for itself, white space aside.
    """
    match (judgement, answer):
        case (Exact(), _) | (Equivalent(evidence=Canonical(), accepted=0), _):
            return "golden"
        case (_, Refusal()):
            return "refusal"
        case (_, NoQuery(reason=reason)):
            return f"none:{reason}"
        case (_, SqlAnswer() | MongoAnswer()):
            try:
                return _digest(read_form(case, answer, now=now, schema=schema))
            except Exception:
                # Not readable, or a fault of canon, which the judgement tells of: the text stands for itself.
                return _digest("unread:" + _SPACE.sub(" ", answer.text.strip()))


def read_form(
    case: Case,
    answer: SqlAnswer | MongoAnswer,
    *,
    now: datetime,
    schema: Schema | None = None,
) -> str:
    """A digest of a query's canonical form.

    Raises:
        ReadError: the text is no single readable query.
    """
    if isinstance(answer, SqlAnswer):
        from canon.sql import read_sql

        return read_sql(answer.text, dialect=case.backend, schema=schema, args=answer.args, now=now).fingerprint()
    from canon.mongo import read_mongo

    return read_mongo(answer.text, now=now).fingerprint()


def _digest(form: str) -> str:
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()[:16]
