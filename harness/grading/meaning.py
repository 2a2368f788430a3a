"""A digest of what an answer means, so that repeats can be counted by distinct answers."""

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from canon.errors import ReadError
from canon.schema import Schema
from canon.verdict import Canonical
from harness.types.answers import Answer, MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Case
from harness.types.outcomes import Equivalent, Exact, Judgement

if TYPE_CHECKING:
    from canon.mongo.fields import Field as MongoField

_SPACE = re.compile(r"\s+")


def meaning_of(
    case: Case,
    answer: Answer,
    judgement: Judgement,
    *,
    now: datetime,
    schema: Schema | None = None,
    fields: "Mapping[str, MongoField | str] | None" = None,
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
            return _digest(_form(case, answer, now, schema, fields))


def _form(
    case: Case,
    answer: SqlAnswer | MongoAnswer,
    now: datetime,
    schema: Schema | None,
    fields: "Mapping[str, MongoField | str] | None",
) -> str:
    try:
        if isinstance(answer, SqlAnswer):
            from canon.sql import read_sql

            return read_sql(answer.text, dialect=case.backend, schema=schema, args=answer.args, now=now).fingerprint()
        from canon.mongo import read_mongo

        return read_mongo(answer.text, fields=fields, now=now).fingerprint()
    except ReadError:
        return "unread:" + _SPACE.sub(" ", answer.text.strip())


def _digest(form: str) -> str:
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()[:16]
