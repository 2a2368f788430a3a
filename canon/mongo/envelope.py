"""A MongoDB query as one frozen value, read from any notation that models write it in."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from bson import Code, Int64

from canon.clock import utc
from canon.errors import ReadError
from canon.mongo.constructors import finished
from canon.mongo.extended import from_pairs
from canon.mongo.shell import Call, Chain, read_text
from canon.mongo.values import EPOCH, Document

MAX_TEXT = 1_000_000
"""Characters of a text that is still read."""
MAX_SHELL_TEXT = 250_000
"""Characters of a text in shell notation that is still read."""
MAX_VALUES = 60_000
"""Values in one query."""
MAX_STAGES = 1000
"""Stages of one pipeline: what MongoDB itself takes."""
MAX_DEPTH = 100
"""Levels of nesting: what MongoDB itself takes in a document."""

Operation = Literal["find", "aggregate", "count", "distinct"]

ENVELOPE_KEYS = (
    "collection",
    "filter",
    "projection",
    "sort",
    "skip",
    "limit",
    "collation",
    "pipeline",
    "count",
    "distinct",
)
"""The keys of an envelope, in the order in which they are shown."""

WRITES = frozenset(
    {
        "insert",
        "insertOne",
        "insertMany",
        "insert_one",
        "insert_many",
        "update",
        "updateOne",
        "updateMany",
        "update_one",
        "update_many",
        "replaceOne",
        "replace_one",
        "delete",
        "deleteOne",
        "deleteMany",
        "delete_one",
        "delete_many",
        "remove",
        "save",
        "drop",
        "dropDatabase",
        "dropIndex",
        "dropIndexes",
        "drop_index",
        "createCollection",
        "createIndex",
        "createIndexes",
        "create_index",
        "createView",
        "createUser",
        "renameCollection",
        "bulkWrite",
        "bulk_write",
        "findAndModify",
        "findOneAndUpdate",
        "findOneAndReplace",
        "findOneAndDelete",
        "find_one_and_update",
        "find_one_and_replace",
        "find_one_and_delete",
        "mapReduce",
        "map_reduce",
        "group",
        "adminCommand",
        "eval",
    }
)
"""Methods and commands that change data, or run code on the server."""

FORBIDDEN = frozenset({"$out", "$merge", "$where", "$function", "$accumulator"})
"""Stages that write, operators that run code on the server."""

RANDOM = frozenset({"$rand", "$sample", "$sampleRate"})
"""Operators whose result differs from run to run."""

CLOCK_VARIABLES = frozenset({"$$NOW", "$$CLUSTER_TIME"})


@dataclass(frozen=True, slots=True)
class MongoQuery:
    """One read of a MongoDB database.

    The values are those of PyMongo (`dict` in the order written, `datetime`, `ObjectId`, `Regex`, `Int64`,
    `Decimal128`, …), so that a driver can run them as they stand. They are not to be changed.

    Attributes:
        operation: which of the four reads it is.
        collection: the collection's name, `None` where the text names none.
        filter: the condition of a find, count or distinct.
        projection: the fields returned by a find, `None` for whole documents.
        sort: the sort keys in order, each with 1, -1 or a `{"$meta": …}`.
        skip: documents left out at the start.
        limit: documents returned at most, `None` for all.
        collation: how strings are compared, `None` for the collection's own way.
        pipeline: the stages of an aggregate.
        field: the field of a distinct.
        one: whether the text asks for a single document (`findOne`), not for a cursor.
        keys: the envelope keys that the text writes.
        complete: whether the text is a whole statement, so that what it does not write is not there; an envelope or a
        bare
            filter leaves open what it does not write.
        clock_used: whether the text asks for the time.
        deterministic: whether the result is determined by the data and the pinned time.
        notations: names of the identities that reading has already used.
    """

    operation: Operation
    collection: str | None = None
    filter: Document = field(default_factory=dict)
    projection: Document | None = None
    sort: tuple[tuple[str, object], ...] = ()
    skip: int = 0
    limit: int | None = None
    collation: Document | None = None
    pipeline: tuple[Document, ...] = ()
    field: str | None = None
    one: bool = False
    keys: frozenset[str] = frozenset()
    complete: bool = False
    clock_used: bool = False
    deterministic: bool = True
    notations: frozenset[str] = frozenset()

    def fingerprint(self) -> str:
        """A digest of the normal form: equal for two texts that are canonically the same query."""
        from canon.mongo.pipelines import plan_of

        shown = f"{self.collection}|{plan_of(self).key}|{sorted(self.keys) if not self.complete else 'all'}"
        return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


def read_mongo(text: str, *, now: datetime | None = None) -> MongoQuery:
    """Read one query: JSON or Extended JSON (a filter, an envelope, a pipeline), or mongosh, Node or PyMongo text.

    Args:
        text: the query.
        now: the aware instant to which `new Date()` and its kin fold. Without one, a text that asks for the time is
        marked
            as not deterministic.

    Returns:
        the query as a value; a filter's structure is checked when it is compared.

    Raises:
        ReadError: `empty`, `multiple_statements`, `not_a_read`, `unparseable`, `too_large` or `unsupported`.
        ValueError: `now` has no time zone.
    """
    instant = utc(now) if now is not None else EPOCH
    stripped = text.strip().strip("\ufeff").strip()
    if not stripped.strip(";"):
        raise ReadError("empty", "there is no query in the text")
    if len(stripped) > MAX_TEXT:
        raise ReadError("too_large", f"the text has {len(stripped):,} characters; at most {MAX_TEXT:,} are read")
    value, clock, shell = _parse(stripped, instant)
    query = _query_of(value)
    survey = Survey()
    survey.look(value.calls if isinstance(value, Chain) else value, 0)
    notations = set(query.notations)
    if shell:
        notations.add("shell_text")
    asks = clock or survey.clock
    if asks:
        notations.add("clock_folding")
    return replace(
        query,
        clock_used=asks,
        deterministic=not survey.random and (not asks or now is not None),
        notations=frozenset(notations),
    )


def _parse(text: str, now: datetime) -> tuple[object, bool, bool]:
    """The value of a text, whether it asked for the time, and whether it was in shell notation."""
    if text[0] in "{[":
        try:
            return json.loads(text, object_pairs_hook=from_pairs), False, False
        except json.JSONDecodeError:
            pass
        except RecursionError:
            raise ReadError("too_large", f"nested deeper than {MAX_DEPTH} levels") from None
        except ValueError as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError("too_large", f"a number is too long to read: {error}") from None
    if len(text) > MAX_SHELL_TEXT:
        raise ReadError(
            "too_large",
            f"the text is no JSON and has {len(text):,} characters; at most {MAX_SHELL_TEXT:,} of shell text are read",
        )
    reading = read_text(text, now)
    if not reading.results:
        raise ReadError("empty", "there is no query in the text")
    if len(reading.results) > 1:
        raise ReadError("multiple_statements", f"the text has {len(reading.results)} statements; write one query")
    return reading.results[0], reading.clock_used, True


class Survey:
    """One walk over all values of a query: its size, what it must not hold, what it asks for."""

    def __init__(self) -> None:
        self.count = 0
        self.clock = False
        self.random = False

    def look(self, value: object, depth: int) -> None:
        """Walk a value.

        Raises:
            ReadError: the value is too large, too deep, or holds what is no read.
        """
        kind = type(value)
        if kind is str:
            if value in CLOCK_VARIABLES:
                self.clock = True
            return
        if kind is int:
            if not -(2**63) <= value < 2**63:  # type: ignore[operator]
                raise ReadError("unparseable", f"{value!s:.40} does not fit into a 64-bit integer")
            return
        if kind is dict:
            self._step(depth, len(value))  # type: ignore[arg-type]
            for key, item in value.items():  # type: ignore[attr-defined]
                if key[:1] == "$":
                    self._operator(key)
                self.look(item, depth + 1)
        elif isinstance(value, list | tuple):
            self._step(depth, len(value))
            for item in value:
                self.look(item, depth + 1)
        elif isinstance(value, Code):
            raise ReadError("not_a_read", "a Code value holds JavaScript, which is not run")

    def _step(self, depth: int, size: int) -> None:
        self.count += size
        if self.count > MAX_VALUES:
            raise ReadError("too_large", f"the query has more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise ReadError("too_large", f"nested deeper than {MAX_DEPTH} levels")

    def _operator(self, key: str) -> None:
        if key in FORBIDDEN:
            what = "writes its result" if key in ("$out", "$merge") else "runs JavaScript on the server"
            raise ReadError("not_a_read", f"{key} {what}; only reads are compared")
        if key in RANDOM:
            self.random = True


def _query_of(value: object) -> MongoQuery:
    if isinstance(value, Chain):
        return _of_chain(value)
    if isinstance(value, dict):
        return _of_document(value)
    if isinstance(value, list):
        return MongoQuery("aggregate", pipeline=_stages(value), keys=frozenset({"pipeline"}))
    raise ReadError(
        "unparseable", f"{str(value)[:60]!r} is neither a filter, an envelope, a pipeline nor a shell command"
    )


# -- envelopes --------------------------------------------------------------------------------------------------------

_SHAPES: dict[str, tuple[type, ...]] = {
    "collection": (str,),
    "filter": (dict,),
    "projection": (dict, list, type(None)),
    "sort": (dict, list, type(None)),
    "skip": (int, float, type(None)),
    "limit": (int, float, type(None)),
    "collation": (dict, type(None)),
    "pipeline": (list,),
    "count": (bool, str, dict),
    "distinct": (str,),
    "find": (str,),
    "aggregate": (str,),
    "query": (dict,),
    "key": (str,),
    "cursor": (dict,),
}


def _is_envelope(document: Document) -> bool:
    """Whether every key is an envelope's, with a value that an envelope can have: a field may be called `count` too."""
    if not document or not document.keys() <= _SHAPES.keys() or document.keys() <= {"query", "key", "cursor"}:
        return False
    if any(isinstance(document.get(key), bool) for key in ("skip", "limit")):
        return False
    count = document.get("count")
    if isinstance(count, dict) and any(key[:1] == "$" and key not in ("$and", "$or", "$nor", "$expr") for key in count):
        return False
    return all(isinstance(item, _SHAPES[key]) for key, item in document.items())


def _of_document(document: Document) -> MongoQuery:
    if not _is_envelope(document):
        return MongoQuery("find", filter=document, keys=frozenset({"filter"}))
    found = dict(document)
    operation: Operation = "find"
    if "aggregate" in found:
        found.setdefault("collection", found.pop("aggregate"))
    if "find" in found:
        found.setdefault("collection", found.pop("find"))
    count, distinct = found.pop("count", None), found.pop("distinct", None)
    if "query" in found:
        found.setdefault("filter", found.pop("query"))
    keys = set(found) & set(ENVELOPE_KEYS)
    name: str | None = None
    if count is not None and count is not False:
        operation = "count"
        keys.add("count")
        if isinstance(count, str):
            found.setdefault("collection", count)
        elif isinstance(count, dict):
            found.setdefault("filter", count)
    elif isinstance(distinct, str):
        operation = "distinct"
        keys.add("distinct")
        name = distinct
        if "key" in found:
            found.setdefault("collection", distinct)
            name = str(found["key"])
    if "pipeline" in found:
        if keys & {"filter", "projection", "sort", "count", "distinct"}:
            raise ReadError("unparseable", "an envelope has either a pipeline, or a filter and what belongs to a find")
        operation = "aggregate"
    return _built(operation, found, frozenset(keys), name)


def _built(operation: Operation, found: Mapping[str, object], keys: frozenset[str], name: str | None) -> MongoQuery:
    collection, condition, pipeline = found.get("collection"), found.get("filter"), found.get("pipeline")
    notations: set[str] = set()
    skip, limit = _whole(found.get("skip"), "skip"), _whole(found.get("limit"), "limit")
    if skip < 0:
        raise ReadError("unparseable", f"skip {skip} is negative")
    if isinstance(found.get("sort"), list):
        notations.add("sort_spelling")
    if "limit" in keys and limit <= 0:
        notations.add("limit_forms")
    return MongoQuery(
        operation,
        collection=collection if isinstance(collection, str) else None,
        filter=condition if isinstance(condition, dict) else {},
        projection=_projection(found.get("projection")),
        sort=_sort(found.get("sort")),
        skip=skip,
        limit=abs(limit) or None,
        collation=_document(found.get("collation"), "collation"),
        pipeline=_stages(pipeline) if isinstance(pipeline, list) else (),
        field=name,
        keys=keys,
        notations=frozenset(notations),
    )


def _document(value: object, what: str) -> Document | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ReadError("unparseable", f"{what} is a document, not {value!r:.60}")
    return value


def _whole(value: object, what: str) -> int:
    if value is None:
        return 0
    if isinstance(value, Int64):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ReadError("unparseable", f"{what} is a whole number, not {value!r:.60}")
    return int(value)


def _projection(value: object) -> Document | None:
    if isinstance(value, list):
        return {str(name): 1 for name in value} or {"_id": 1}
    return _document(value, "projection") or None


def _sort(value: object) -> tuple[tuple[str, object], ...]:
    if value is None:
        return ()
    if isinstance(value, dict):
        return tuple((key, _direction(key, order)) for key, order in value.items())
    if isinstance(value, str):
        return ((value, 1),)
    if not isinstance(value, list):
        raise ReadError("unparseable", f"sort is a document or a list of keys, not {value!r:.60}")
    keys: list[tuple[str, object]] = []
    for item in value:
        if isinstance(item, dict) and "field" in item:
            keys.append((str(item["field"]), _direction(str(item["field"]), item.get("order", 1))))
        elif isinstance(item, dict):
            keys.extend((key, _direction(key, order)) for key, order in item.items())
        elif isinstance(item, list) and len(item) == 2:
            keys.append((str(item[0]), _direction(str(item[0]), item[1])))
        elif isinstance(item, str):
            keys.append((item, 1))
        else:
            raise ReadError("unparseable", f"{item!r:.60} is no sort key")
    return tuple(keys)


def _direction(key: str, order: object) -> object:
    if isinstance(order, str):
        word = order.lower()
        if word in ("asc", "ascending", "1"):
            return 1
        if word in ("desc", "descending", "-1"):
            return -1
    if isinstance(order, dict) and "$meta" in order:
        return order
    if not isinstance(order, bool) and isinstance(order, int | float) and order in (1, -1):
        return int(order)
    raise ReadError("unparseable", f"sort order of {key!r} is 1 or -1, not {order!r:.60}")


def sort_keys(value: object) -> tuple[tuple[str, object], ...]:
    """Read the keys of a `$sort` stage.

    Raises:
        ReadError: a key has no direction.
    """
    return _sort(value)


def _stages(value: list[object]) -> tuple[Document, ...]:
    if len(value) > MAX_STAGES:
        raise ReadError("too_large", f"the pipeline has {len(value):,} stages; MongoDB takes {MAX_STAGES:,}")
    stages: list[Document] = []
    for place, stage in enumerate(value):
        if not isinstance(stage, dict) or len(stage) != 1 or not next(iter(stage)).startswith("$"):
            raise ReadError(
                "unparseable", f"stage {place + 1} of the pipeline is no document with one $stage: {stage!r:.80}"
            )
        stages.append(stage)
    return tuple(stages)


# -- shell chains -----------------------------------------------------------------------------------------------------

_FINDS = frozenset({"find", "findOne", "find_one"})
_COUNTS = frozenset({"countDocuments", "count", "count_documents"})
_ESTIMATES = frozenset({"estimatedDocumentCount", "estimated_document_count"})
_PASSING = frozenset(
    {
        "toArray",
        "to_list",
        "pretty",
        "hint",
        "maxTimeMS",
        "max_time_ms",
        "batchSize",
        "batch_size",
        "allowDiskUse",
        "allow_disk_use",
        "comment",
        "readConcern",
        "readPref",
        "noCursorTimeout",
    }
)
"""Cursor methods that change nothing about the result."""
_OPTIONS = frozenset({"projection", "sort", "skip", "limit", "collation", "filter", "hint", "maxTimeMS", "batchSize"})


def _of_chain(chain: Chain) -> MongoQuery:
    for call in chain.calls:
        if call.method in WRITES:
            raise ReadError("not_a_read", f"{call.method}() changes data or runs code; only reads are compared")
    if not chain.calls:
        raise ReadError("unparseable", "the text names a collection and asks nothing of it")
    first, *rest = chain.calls
    if first.method in ("runCommand", "command") and chain.collection is None:
        return _of_command(first)
    found: dict[str, object] = {"collection": chain.collection}
    operation, name = _first_call(first, found)
    one = first.method in ("findOne", "find_one")
    for call in rest:
        if call.method in _PASSING:
            continue
        operation, one = _cursor_call(call, operation, one, found)
    if one:
        found["limit"] = 1
    if found.get("limit") is None:
        found.pop("limit", None)
    keys = frozenset(set(found) & set(ENVELOPE_KEYS)) | {operation for _ in (1,) if operation in ("count", "distinct")}
    return replace(_built(operation, found, keys, name), one=one, complete=True)


def _of_command(call: Call) -> MongoQuery:
    command = call.args[0] if call.args else None
    if not isinstance(command, dict) or not command:
        raise ReadError("unparseable", "a command is a document")
    verb = next(iter(command))
    if verb not in ("find", "aggregate", "count", "distinct"):
        kind: Literal["not_a_read", "unsupported"] = "not_a_read" if verb in WRITES else "unsupported"
        raise ReadError(kind, f"the command {verb!r} reads no documents")
    return replace(_of_document(command), complete=True)


def _first_call(call: Call, found: dict[str, object]) -> tuple[Operation, str | None]:
    args = [*call.args]
    if call.method in _FINDS:
        _find_arguments(call, args, found)
        return "find", None
    if call.method == "aggregate":
        stages = call.named.get("pipeline", args[0] if args else [])
        found["pipeline"] = stages if isinstance(stages, list) else [arg for arg in args if isinstance(arg, dict)]
        if isinstance(stages, list) and len(args) > 1 and isinstance(args[1], dict) and "collation" in args[1]:
            found["collation"] = args[1]["collation"]
        return "aggregate", None
    if call.method in _COUNTS:
        found["filter"] = _filter(call.named.get("filter", args[0] if args else {}))
        if len(args) > 1 and isinstance(args[1], dict):
            found |= {key: item for key, item in args[1].items() if key in ("skip", "limit", "collation")}
        return "count", None
    if call.method in _ESTIMATES:
        found["filter"] = {}
        return "count", None
    if call.method == "distinct":
        name = call.named.get("key", args[0] if args else None)
        if not isinstance(name, str):
            raise ReadError("unparseable", "distinct takes the name of a field")
        found["filter"] = _filter(call.named.get("filter", args[1] if len(args) > 1 else {}))
        return "distinct", name
    raise ReadError("unsupported", f"{call.method}() is no read that can be compared")


def _filter(value: object) -> Document:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ReadError("unparseable", f"a filter is a document, not {value!r:.60}")
    return value


def _find_arguments(call: Call, args: list[object], found: dict[str, object]) -> None:
    found["filter"] = _filter(call.named.get("filter", args[0] if args else {}))
    second = args[1] if len(args) > 1 else None
    if isinstance(second, dict) and second and second.keys() <= _OPTIONS and _shaped_like_options(second):
        found |= {key: item for key, item in second.items() if key in ENVELOPE_KEYS}
    elif second is not None:
        found["projection"] = second
    if len(args) > 2 and isinstance(args[2], dict):
        found |= {key: item for key, item in args[2].items() if key in ENVELOPE_KEYS}
    found |= {
        key: item for key, item in call.named.items() if key in ("projection", "sort", "skip", "limit", "collation")
    }


def _shaped_like_options(second: Document) -> bool:
    """Whether a second argument is Node's options: a projection has 0, 1 or an expression under each name."""
    return isinstance(second.get("projection"), dict) or isinstance(second.get("sort"), dict)


def _cursor_call(call: Call, operation: Operation, one: bool, found: dict[str, object]) -> tuple[Operation, bool]:
    value = call.args[0] if call.args else None
    if operation == "find" and call.method in ("sort", "skip", "limit", "collation", "project", "projection"):
        key = "projection" if call.method == "project" else call.method
        if key == "sort" and isinstance(value, str) and len(call.args) > 1:
            value = [[value, call.args[1]]]
        found[key] = value
        return operation, one
    if operation == "aggregate" and call.method in ("sort", "skip", "limit", "match", "project") and call.args:
        stages = found["pipeline"]
        assert isinstance(stages, list)
        found["pipeline"] = [*stages, {f"${call.method}": value}]
        return operation, one
    if operation == "find" and call.method in ("count", "size", "itcount", "length"):
        if call.method == "count" and not (value or found.get("skip") or found.get("limit")):
            found.pop("skip", None)
            found.pop("limit", None)
        elif call.method == "count" and not value:
            # cursor.count() takes no notice of skip and limit unless asked to.
            found.pop("skip", None)
            found.pop("limit", None)
        found.pop("sort", None)
        found.pop("projection", None)
        return "count", one
    if operation == "find" and call.method == "next":
        return operation, True
    if operation == "aggregate" and call.method == "next":
        stages = found["pipeline"]
        assert isinstance(stages, list)
        found["pipeline"] = [*stages, {"$limit": 1}]
        return operation, False
    raise ReadError("unsupported", f"{call.method}() after {operation} is not known here")


# -- the clock --------------------------------------------------------------------------------------------------------


def pin_clock(query: MongoQuery, now: datetime) -> MongoQuery:
    """The query with `$$NOW` and `$$CLUSTER_TIME` replaced by the pinned instant, to be run as it stands.

    `new Date()` in the text has become a literal when the text was read with the same `now`.

    Raises:
        ValueError: `now` has no time zone.
    """
    instant = utc(now)
    return replace(
        query,
        filter=_pinned_document(query.filter, instant),
        projection=None if query.projection is None else _pinned_document(query.projection, instant),
        pipeline=tuple(_pinned_document(stage, instant) for stage in query.pipeline),
    )


def _pinned_document(document: Document, now: datetime) -> Document:
    return {key: item if key == "$literal" else _pinned(item, now) for key, item in document.items()}


def _pinned(value: object, now: datetime) -> object:
    if isinstance(value, dict):
        return _pinned_document(value, now)
    if isinstance(value, list):
        return [_pinned(item, now) for item in value]
    if isinstance(value, str) and value in CLOCK_VARIABLES:
        return now
    return value


# -- byte equality ----------------------------------------------------------------------------------------------------


class _Spelled(str):
    """A number as it was spelled: `500` and `500.0` are not the same bytes."""

    __slots__ = ()


def _spelled(text: str) -> dict[str, str] | None:
    """The compact JSON text of each envelope key of a text; `None` where the text is no JSON object or array."""
    try:
        value = json.loads(text, parse_float=_mark, parse_int=_mark, parse_constant=_mark)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        return {"pipeline": _compact(value)}
    if not isinstance(value, dict):
        return None
    plain = json.loads(text)
    if not _is_envelope(plain):
        return {"filter": _compact(value)}
    return {key: _compact(item) for key, item in value.items()}


def _mark(text: str) -> dict[str, str]:
    return {"\0number": text}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def exact(expected: str, actual: str) -> bool:
    """Whether an answer is EXACT: the same bytes, or the same compact JSON under each key the golden writes."""
    one, two = expected.strip().removesuffix(";").strip(), actual.strip().removesuffix(";").strip()
    if one == two:
        return bool(one)
    golden, answer = _spelled(one), _spelled(two)
    if golden is None or answer is None:
        return False
    return all(key in answer and answer[key] == shown for key, shown in golden.items())


def envelope_lines(query: MongoQuery) -> Iterator[tuple[str, object]]:
    """The written parts of a query, in the order of an envelope's keys."""
    parts: dict[str, object] = {
        "collection": query.collection,
        "filter": query.filter,
        "projection": query.projection,
        "sort": dict(query.sort),
        "skip": query.skip,
        "limit": query.limit,
        "collation": query.collation,
        "pipeline": list(query.pipeline),
        "count": True,
        "distinct": query.field,
    }
    for key in ENVELOPE_KEYS:
        if key in query.keys:
            yield key, finished(parts[key])
