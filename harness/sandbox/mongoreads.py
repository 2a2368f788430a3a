"""Whether a MongoDB text is one allowed read: its stages, operators, collections and size."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from canon.errors import ReadError
from canon.mongo import MongoQuery, pin_clock, read_mongo
from harness.sandbox.validation import Rejected

STAGES = frozenset(
    {
        "$addFields",
        "$bucket",
        "$bucketAuto",
        "$count",
        "$densify",
        "$facet",
        "$fill",
        "$geoNear",
        "$graphLookup",
        "$group",
        "$limit",
        "$lookup",
        "$match",
        "$project",
        "$redact",
        "$replaceRoot",
        "$replaceWith",
        "$sample",
        "$set",
        "$setWindowFields",
        "$skip",
        "$sort",
        "$sortByCount",
        "$unionWith",
        "$unset",
        "$unwind",
    }
)
_FORBIDDEN = frozenset({"$out", "$merge", "$where", "$function", "$accumulator", "$currentOp", "$collStats"})
_MAX_DEPTH = 80
_MAX_NODES = 20_000
_CODES = {
    "empty": "empty",
    "multiple_statements": "multiple_statements",
    "not_a_read": "not_a_read",
    "too_large": "too_complex",
    "unbound_parameter": "unbound_parameter",
}


def read_document_query(text: str, *, now: datetime | None, max_characters: int) -> MongoQuery:
    """Judge one text.

    Raises:
        Rejected: it is not an allowed read.
    """
    if len(text) > max_characters:
        raise Rejected("too_long")
    try:
        query = read_mongo(text, now=now)
        if now is not None:
            query = pin_clock(query, now)
    except ReadError as problem:
        raise Rejected(_CODES.get(problem.kind, "unparseable")) from problem
    except RecursionError as problem:
        raise Rejected("too_complex") from problem
    _check_size([query.filter, query.projection, dict(query.sort), list(query.pipeline), query.collation])
    _check_stages(query.pipeline)
    return query


def _check_size(value: object) -> None:
    """Every node: its depth, their number, and no operator that writes, runs code or looks at the server."""
    stack: list[tuple[object, int]] = [(value, 0)]
    nodes = 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > _MAX_DEPTH or nodes > _MAX_NODES:
            raise Rejected("too_complex")
        if isinstance(node, Mapping):
            if any(str(key) in _FORBIDDEN for key in node):
                raise Rejected("stage_not_allowed")
            stack.extend((item, depth + 1) for item in node.values())
        elif isinstance(node, (list, tuple)):
            stack.extend((item, depth + 1) for item in node)


def _check_stages(stages: Any) -> None:
    for stage in stages:
        if not isinstance(stage, Mapping) or len(stage) != 1:
            raise Rejected("unparseable")
        ((name, body),) = stage.items()
        if name not in STAGES:
            raise Rejected("stage_not_allowed")
        if name == "$facet" and isinstance(body, Mapping):
            for inner in body.values():
                _check_stages(inner if isinstance(inner, list) else ())
        if isinstance(body, Mapping) and isinstance(body.get("pipeline"), list) and name in ("$lookup", "$unionWith"):
            _check_stages(body["pipeline"])


def collections_of(query: MongoQuery) -> Iterator[str]:
    """The collections that a query reads besides its own.

    Raises:
        Rejected: it reaches into another database.
    """
    stack: list[Any] = list(query.pipeline)
    while stack:
        node = stack.pop()
        if isinstance(node, (list, tuple)):
            stack.extend(node)
        if not isinstance(node, Mapping):
            continue
        for name, body in node.items():
            if name in ("$lookup", "$graphLookup", "$unionWith"):
                source = body if isinstance(body, str) else body.get("from", body.get("coll"))
                if source is not None and not isinstance(source, str):
                    raise Rejected("table_not_allowed")
                if isinstance(body, Mapping) and "db" in body:
                    raise Rejected("table_not_allowed")
                if source is not None:
                    yield source
        stack.extend(node.values())
