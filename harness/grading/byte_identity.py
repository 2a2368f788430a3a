"""The top rung: the answer is, byte for byte, the golden."""

import json

from harness.types.answers import MongoAnswer, SqlAnswer
from harness.types.cases import ExpectMongo, ExpectSql


def trimmed(text: str) -> str:
    """A query without outer white space and without one trailing `;`."""
    return text.strip().removesuffix(";").rstrip()


def identical_sql(expected: ExpectSql, answer: SqlAnswer) -> bool:
    """Whether text and bound values are the same, to the byte.

    A parameterised answer is identical only to a golden that asserts the parameterised form: text alone would pass
    `amount > $1` with any value.
    """
    if trimmed(expected.text) != trimmed(answer.text):
        return False
    bound = answer.args if isinstance(answer.args, dict) else list(answer.args)
    asserted = list(expected.args or ())
    return json.dumps(bound) == json.dumps(asserted) if bound or asserted else True


def identical_mongo(expected: ExpectMongo, answer: MongoAnswer) -> bool:
    """Whether the text is the same, or each envelope key that the golden writes has the same JSON text."""
    if trimmed(expected.text) == trimmed(answer.text):
        return True
    from canon.mongo import exact

    return exact(expected.text, answer.text)
