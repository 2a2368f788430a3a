"""Reads an answer out of what a model said: one reader for SQL, one for MongoDB, each by structure."""

from harness.endpoint.chat import Chat, Unanswered
from harness.targets.replies.mongo import read_mongo_reply
from harness.targets.replies.reading import Reading
from harness.targets.replies.sql import read_sql_reply
from harness.types.answers import NoQuery

__all__ = ["Reading", "read_mongo_reply", "read_reply", "read_sql_reply"]


def read_reply(chat: Chat, backend: str, *, words_refuse: bool = True) -> Reading:
    """Read what came of a call for a backend (`mongo`, or a SQL dialect); a failed call is its `NoQuery`."""
    if isinstance(chat, Unanswered):
        return Reading(NoQuery(reason=chat.reason, message=chat.message), chat.partial)
    if backend == "mongo":
        return read_mongo_reply(chat, words_refuse=words_refuse)
    return read_sql_reply(chat, dialect=backend, words_refuse=words_refuse)
