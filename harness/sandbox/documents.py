"""What of two MongoDB queries is run against each other: a golden is compared by the keys that it writes."""

from datetime import datetime

from bson import json_util

from canon.errors import ReadError
from canon.mongo import MongoQuery, read_mongo
from canon.mongo.envelope import envelope_lines


def collection_of(text: str, now: datetime) -> str | None:
    """The collection that a query names; `None` where it names none, or cannot be read."""
    query = _read(text, now)
    return None if query is None else query.collection


def comparable(expected: str, actual: str, now: datetime) -> str:
    """The answer without what the golden leaves open.

    A golden that is a bare filter, or an envelope without a projection, a sort or a limit, says nothing of those: an
    answer that has them is compared without them, on data as in text.

    Args:
        expected: the golden query.
        actual: the answer.
        now: the instant of clock calls in both.
    """
    golden, answer = _read(expected, now), _read(actual, now)
    if golden is None or answer is None or golden.complete or answer.one:
        return actual
    if (golden.operation, answer.operation) != ("find", "find"):
        return actual
    kept = golden.keys | {"collection", "filter"}
    if answer.keys <= kept:
        return actual
    return json_util.dumps({key: value for key, value in envelope_lines(answer) if key in kept})


def _read(text: str, now: datetime) -> MongoQuery | None:
    try:
        return read_mongo(text, now=now)
    except (ReadError, RecursionError):
        return None
