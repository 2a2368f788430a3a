"""MongoDB: the worker process that holds a connection of a user that can only read, and runs finds and aggregates.

It reads the queries itself (one parser reads all notations, and this process is as bounded as the one that parses SQL),
so that dates and object ids need not travel. A result is one column, the document.
"""

import gc
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bson import Decimal128, Int64, Regex
from pymongo import MongoClient, errors

from canon.mongo import MongoQuery
from harness.sandbox.agreement import Row
from harness.sandbox.difference import Rules
from harness.sandbox.frames import ClosedError, receive, send
from harness.sandbox.jail import Jail, Limits
from harness.sandbox.mongoreads import collections_of, read_document_query
from harness.sandbox.validation import Rejected, sha256
from harness.sandbox.work import Failure, Pair, QueryLimits, compare, execute

_MEMORY = 1024 * 1024 * 1024
_DAY = 24 * 3600.0
_READ_ACTIONS = frozenset(
    {
        "changeStream",
        "collStats",
        "dbHash",
        "dbStats",
        "find",
        "killCursors",
        "listCollections",
        "listDatabases",
        "listIndexes",
        "listSearchIndexes",
        "planCacheRead",
    }
)
_READ_ROLES = frozenset({"read", "readAnyDatabase"})
_TIMEOUTS = frozenset({50, 262, 11601})
_UNAUTHORIZED = frozenset({13, 8000})
_TOO_LARGE = frozenset({10334, 17419, 17420, 16820, 16945, 146, 292})


class Refused(Exception):
    """The database or its user is not one that queries may be run as."""


class MongoReader:
    """Runs reads on one database.

    Args:
        client: connected.
        database: its name.
        now: the instant that clock calls are replaced by.
        max_characters: of a query.
    """

    def __init__(self, client: "MongoClient[dict[str, Any]]", database: str, request: dict[str, Any]) -> None:
        self._database = client[database]
        self._now = None if request["now"] is None else datetime.fromisoformat(request["now"])
        self._max_characters = request["max_characters"]
        self._sort_by: tuple[str, ...] | None = None

    def sorted_by(self, query: MongoQuery) -> tuple[str, ...] | None:
        """The paths that a find sorts by, where its documents show them."""
        whole = query.operation == "find" and query.projection is None
        return tuple(path for path, _ in query.sort) if whole and query.sort else None

    def show_sort_keys(self, paths: tuple[str, ...] | None) -> None:
        """From now on add the values at these paths to each row."""
        self._sort_by = paths

    def read(self, text: str) -> tuple[MongoQuery, str]:
        """Judge a text, and find its collection.

        Raises:
            Failure: it is not an allowed read of this database.
        """
        try:
            query = read_document_query(text, now=self._now, max_characters=self._max_characters)
            others = set(collections_of(query))
        except Rejected as rejected:
            raise Failure("validation_rejected", rejected.code, "parse") from rejected
        names = {name for name in self._database.list_collection_names() if not name.startswith("system.")}
        collection = query.collection
        if collection is None:
            if len(names) != 1:
                raise Failure("validation_rejected", "unknown_table", "parse")
            (collection,) = names
        if {collection, *others} - names:
            raise Failure("validation_rejected", "unknown_table", "parse")
        return query, collection

    def rows(self, query: str, seconds: float) -> tuple[list[dict[str, str]], Iterator[Row]]:
        """Start a query; see `work.Reader`."""
        deadline = time.monotonic() + seconds
        read, collection = self.read(query)
        paths, self._sort_by = self._sort_by, None
        names = ["document", *(f"sort key {place}" for place in range(len(paths or ())))]
        return [{"name": name, "type": "document"} for name in names], self._run(read, collection, deadline, paths)

    def _run(self, query: MongoQuery, collection: str, deadline: float, paths: tuple[str, ...] | None) -> Iterator[Row]:
        for document in self._cursor(query, collection, max(1, int((deadline - time.monotonic()) * 1000))):
            if time.monotonic() > deadline:
                raise Failure("timeout", "deadline", "deadline")
            plain = _plain(document)
            yield (plain, *(_at(plain, path) for path in paths or ()))

    def _cursor(self, query: MongoQuery, collection: str, milliseconds: int) -> Any:
        source = self._database[collection]
        common: dict[str, Any] = {"maxTimeMS": milliseconds}
        if query.collation is not None:
            common["collation"] = query.collation
        match query.operation:
            case "aggregate":
                return source.aggregate([dict(stage) for stage in query.pipeline], batchSize=100, **common)
            case "count":
                stages: list[dict[str, Any]] = [{"$match": query.filter}]
                stages += [{"$skip": query.skip}] if query.skip else []
                stages += [{"$limit": query.limit}] if query.limit else []
                found = list(source.aggregate([*stages, {"$count": "n"}], **common))
                return [found[0]["n"] if found else 0]
            case "distinct":
                assert query.field is not None
                return source.distinct(query.field, query.filter, **common)
        return source.find(
            query.filter,
            query.projection,
            skip=query.skip,
            limit=query.limit or 0,
            sort=list(query.sort) or None,
            batch_size=100,
            max_time_ms=milliseconds,
            collation=query.collation,
        )

    def failure(self, error: Exception) -> Failure | None:
        """What an exception of pymongo means; see `work.Reader`."""
        if isinstance(error, errors.OperationFailure):
            name = (error.details or {}).get("codeName")
            condition = str(name) if name else None
            if error.code in _TIMEOUTS:
                return Failure("timeout", "deadline", "deadline", condition=condition)
            if error.code in _UNAUTHORIZED:
                return Failure("validation_rejected", "not_authorized", "grants", condition=condition)
            if error.code in _TOO_LARGE:
                return Failure("resource_limit", "value_too_large", "limits", condition=condition)
            return Failure("execution_error", "query_failed", "engine", condition=condition)
        if isinstance(error, errors.NetworkTimeout):
            return Failure("timeout", "deadline", "deadline")
        if isinstance(error, errors.ConnectionFailure):
            return Failure("execution_error", "engine_lost", "engine")
        if isinstance(error, (errors.PyMongoError, ValueError, TypeError, OverflowError)):
            return Failure("execution_error", "query_failed", "engine")
        return None


def _plain(value: Any) -> Any:
    """BSON values as the comparison takes them: numbers as numbers, documents as dicts."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, Decimal128):
        return value.to_decimal()
    if isinstance(value, Regex):
        return str(value)
    return value


def _at(document: Any, path: str) -> Any:
    """The value at a dotted path; an array on the way orders by its members, so all of it is the key."""
    for part in path.split("."):
        if not isinstance(document, dict):
            return document if isinstance(document, list) else None
        document = document.get(part)
    return document


class Worker:
    """Serves the requests for one database."""

    def __init__(self) -> None:
        self._client: MongoClient[dict[str, Any]] | None = None
        self._database = ""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        if request["op"] == "connect":
            return self._connect(request)
        assert self._client is not None
        reader = MongoReader(self._client, self._database, request)
        limits = QueryLimits(
            seconds=request["seconds"],
            max_rows=request["max_rows"],
            max_value_bytes=request["value_bytes"],
            max_result_bytes=request["result_bytes"],
        )
        if request["op"] == "compare":
            return self._compare(request, reader, limits)
        validation: dict[str, Any] = {"sql_sha256": sha256(request["query"])}
        try:
            query, collection = reader.read(request["query"])
        except Failure as failure:
            return {**failure.report(), "validation": validation | {"accepted": False, "code": failure.code}}
        except errors.PyMongoError as error:
            failed = reader.failure(error) or Failure("execution_error", "engine_lost", "engine")
            return failed.report()
        validation |= {"accepted": True, "tables": [collection], "deterministic": query.deterministic}
        return {**execute(reader, request["query"], limits), "validation": validation}

    @staticmethod
    def _compare(request: dict[str, Any], reader: MongoReader, limits: QueryLimits) -> dict[str, Any]:
        rules = request["rules"]
        if rules["order_matters"]:
            try:
                paths = reader.sorted_by(reader.read(request["reference"])[0])
            except (Failure, errors.PyMongoError):
                paths = None  # the comparison will say what is wrong with it
            if paths is not None:
                reader.show_sort_keys(paths)
                rules = rules | {"hidden": len(paths), "sort_key": list(range(1, len(paths) + 1))}
        pair = Pair(request["reference"], request["generated"], Rules.read(rules), request["show_diff"])
        return compare(reader, pair, limits)

    def _connect(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            client: MongoClient[dict[str, Any]] = MongoClient(
                request["url"], serverSelectionTimeoutMS=10_000, connectTimeoutMS=10_000, appname="rung", tz_aware=True
            )
            version = str(client.server_info()["version"])
            if request["look"]:
                look_at_user(client, request["database"])
        except Refused as refused:
            return {"error": "refused", "message": str(refused)}
        except (errors.PyMongoError, ValueError):
            return {"error": "unreachable", "message": "the MongoDB server cannot be reached, or refuses the login"}
        self._client, self._database = client, request["database"]
        return {"version": f"mongodb {version}"}


def look_at_user(client: "MongoClient[dict[str, Any]]", database: str) -> None:
    """See that the user can read and nothing else.

    Raises:
        Refused: it can do more; the message says what.
    """
    info = client[database].command("connectionStatus", showPrivileges=True)["authInfo"]
    if not info["authenticatedUsers"]:
        raise Refused("the server asks for no login, so that everything may be written; use a user with the role read")
    privileges = info.get("authenticatedUserPrivileges") or []
    for privilege in privileges:
        if more := sorted(set(privilege["actions"]) - _READ_ACTIONS):
            raise Refused(f"the user may {more[0]}; use a user with the role read")
    if not privileges:
        roles = {role["role"] for role in info["authenticatedUserRoles"]}
        if more := sorted(roles - _READ_ROLES):
            raise Refused(f"the user has the role {more[0]}; use a user with the role read")


def main() -> None:
    """Serve on the socket whose number stands on the command line."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    Jail().restrain(Limits(address_space=_MEMORY, cpu_seconds=_DAY, open_files=64))
    worker = Worker()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        try:
            send(channel, {"ready": True})
            while True:
                request, _ = receive(channel)
                send(channel, worker.answer(request))
        except ClosedError:
            return
