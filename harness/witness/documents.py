"""MongoDB queries on small collections: run here, told apart, mutated, and searched for a difference."""

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from bson import json_util
from pydantic import JsonValue, TypeAdapter

from canon.errors import ReadError
from canon.mongo import read_mongo
from canon.mongo.fields import Field, field_of
from canon.mongo.pipelines import Plan, plan_of
from canon.mongo.values import text
from canon.mongo.witnesses import run
from canon.verdict import DifferenceKind, DocumentWitness
from harness.errors import SandboxError
from harness.witness.search import NotFound

Document = dict[str, object]
Fields = Mapping[str, Field | str]

MAX_DOCUMENTS = 20_000
_FLIPS: dict[str, tuple[tuple[str, DifferenceKind], ...]] = {
    "$gt": (("$gte", "bound_inclusivity"), ("$lt", "wrong_operator")),
    "$gte": (("$gt", "bound_inclusivity"), ("$lte", "wrong_operator")),
    "$lt": (("$lte", "bound_inclusivity"), ("$gt", "wrong_operator")),
    "$lte": (("$lt", "bound_inclusivity"), ("$gte", "wrong_operator")),
    "$eq": (("$ne", "wrong_operator"),),
    "$ne": (("$eq", "wrong_operator"),),
    "$in": (("$nin", "wrong_operator"), ("$all", "wrong_operator")),
    "$nin": (("$in", "wrong_operator"),),
    "$all": (("$in", "wrong_operator"),),
    "$or": (("$and", "boolean_structure"),),
    "$and": (("$or", "boolean_structure"),),
}


def read_documents(path: Path) -> list[Document]:
    """The documents of a fixture: one Extended JSON object a line.

    Raises:
        SandboxError: the file cannot be read, or a line is no document.
    """
    documents: list[Document] = []
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SandboxError(f"fixture {path}: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            document = json_util.loads(line)
        except (ValueError, TypeError) as error:
            raise SandboxError(f"fixture {path}, line {number}: {error}") from None
        if not isinstance(document, dict):
            raise SandboxError(f"fixture {path}, line {number}: no document")
        documents.append(document)
    if len(documents) > MAX_DOCUMENTS:
        raise SandboxError(f"fixture {path}: more than {MAX_DOCUMENTS} documents; audit on a smaller one")
    return documents


def planned(query: str, fields: Fields | None, now: datetime | None) -> Plan:
    """Read a query and plan it.

    Raises:
        ReadError: it cannot be read.
    """
    return plan_of(read_mongo(query, now=now), {path: field_of(kind) for path, kind in (fields or {}).items()})


def results(plan: Plan, documents: list[Document]) -> list[str] | None:
    """What a plan returns on a collection, one text a document; `None` where it cannot be run here."""
    if plan.result not in ("documents", "count") or any(s.kind not in ("match", "sort", "window") for s in plan.stages):
        return None
    try:
        return [text(dict(sorted(document.items()))) for document in run(plan, documents)]
    except (ReadError, ValueError):
        return None


def told_apart(one: Plan, other: Plan, documents: list[Document]) -> bool | None:
    """Whether a collection, however stored, makes two plans return what cannot be the same; `None` = not run here."""
    ordered = all(any(stage.kind == "sort" for stage in plan.stages) for plan in (one, other))
    random = Random(0)  # noqa: S311 - a repeatable choice
    lefts: list[list[str]] = []
    rights: list[list[str]] = []
    for _ in range(4):
        left, right = results(one, documents), results(other, documents)
        if left is None or right is None:
            return None
        lefts.append(left if ordered else sorted(left))
        rights.append(right if ordered else sorted(right))
        documents = random.sample(documents, len(documents))
    return not any(left == right for left, right in itertools.product(lefts, rights))


def find_document_witness(
    expected: str,
    actual: str,
    *,
    fields: Fields | None = None,
    now: datetime | None = None,
    seed: int = 0,
    budget_ms: int = 2000,
    fixture_documents: list[Document] | None = None,
) -> DocumentWitness | NotFound:
    """Look for the smallest collection on which two MongoDB queries give different results.

    Documents are built from the constants of both queries and mixed with those of the fixture. Plans of matches, sorts,
    windows and projections are run by canon's own matcher; what else a pipeline holds takes a server.

    Returns:
        The witness, or why there is none.
    """
    deadline = time.monotonic() + budget_ms / 1000
    try:
        plans = planned(expected, fields, now), planned(actual, fields, now)
        constants = _constants(expected, now), _constants(actual, now)
    except ReadError as problem:
        return NotFound(reason="not runnable", detail=problem.message)
    merged = {path: constants[0].get(path, []) + constants[1].get(path, []) for path in constants[0] | constants[1]}
    typed = {path: field_of(kind) for path, kind in (fields or {}).items()}
    random = Random(seed)  # noqa: S311 - a repeatable choice
    tried = 0
    for documents in _collections(merged, typed, fixture_documents or [], random):
        if time.monotonic() > deadline:
            return NotFound(reason="none found" if tried >= 20 else "budget", tried=tried)
        tried += 1
        told = told_apart(*plans, documents)
        if told is None:
            return NotFound(reason="not runnable", detail="a stage of a pipeline takes a server to run", tried=tried)
        if told:
            return _witness(plans, _shrunk(plans, documents, deadline))
    return NotFound(reason="none found", tried=tried)


def _constants(query: str, now: datetime | None) -> dict[str, list[object]]:
    """The values that a query compares each path with."""
    read = read_mongo(query, now=now)
    found: dict[str, list[object]] = {}
    conditions: list[object] = [read.filter]
    conditions += [stage["$match"] for stage in read.pipeline if "$match" in stage]
    for condition in conditions:
        _gather(condition, "", found)
    for path, _ in read.sort:
        found.setdefault(path, [])
    return found


def _gather(condition: object, path: str, found: dict[str, list[object]]) -> None:
    if isinstance(condition, dict):
        for key, value in condition.items():
            if key == "$elemMatch" and isinstance(value, dict) and not any(k.startswith("$") for k in value):
                _gather(value, f"{path}.0" if path else "", found)
            elif key.startswith("$"):
                _gather(value, path, found)
            else:
                _gather(value, f"{path}.{key}" if path else key, found)
    elif isinstance(condition, list):
        for item in condition:
            _gather(item, path, found)
    if path and not isinstance(condition, dict):
        found.setdefault(path, []).append(condition)


def _values(constants: list[object]) -> list[object]:
    """Constants with their neighbours, arrays of them, NULL, and what is of another type."""
    flat = [item for value in constants for item in (value if isinstance(value, list) else [value])]
    found: list[object] = []
    for value in flat:
        found.append(value)
        if isinstance(value, bool):
            found.append(not value)
        elif isinstance(value, int | float):
            found += [value - 1, value + 1]
        elif isinstance(value, datetime):
            found += [value - timedelta(days=1), value + timedelta(days=1), value + timedelta(seconds=1)]
        elif isinstance(value, str):
            found += [value.swapcase(), f"{value}x"]
    numbers = [value for value in flat if isinstance(value, int | float) and not isinstance(value, bool)]
    if numbers:
        # An array holds an element for each of two conditions that no single value meets.
        found.append([min(numbers) - 1, max(numbers) + 1])
    found += [[0] * size for number in numbers[:2] if 0 <= number <= 4 for size in (int(number), int(number) + 1)]
    for value in constants:
        if isinstance(value, list):
            found += [list(value), list(reversed(value))]
    found += [[value] for value in flat[:3]] + [list(flat[:3]), [], None, 0, "z"]
    return found


_ABSENT = object()


def _collections(
    constants: dict[str, list[object]], fields: Mapping[str, Field], fixture: list[Document], random: Random
) -> Iterator[list[Document]]:
    pools = {path: _allowed([*_values(values), _ABSENT], fields.get(path)) for path, values in constants.items()}
    for index in range(100_000):
        size = 1 + index % 4
        made = [_document(pools, random) for _ in range(size)]
        if fixture and index % 5 == 4:
            made[0] = deepcopy(random.choice(fixture))
        yield [{**document, "_id": number} for number, document in enumerate(made, 1)]
        if not pools and index > 8:
            return


_HELD: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "enum": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "date": (datetime,),
    "array": (list,),
}


def _allowed(pool: list[object], declared: Field | None) -> list[object]:
    """What a path may hold, given how it is declared."""
    if declared is None or declared.type in {"any", "object", "objectid"}:
        return pool
    held = _HELD[declared.type]
    kept = [
        value
        for value in pool
        if ((value is None or value is _ABSENT) and declared.nullable)
        or (isinstance(value, held) and (declared.type == "boolean" or not isinstance(value, bool)))
    ]
    if declared.type == "enum" and declared.values:
        kept = [value for value in kept if not isinstance(value, str) or value in declared.values]
        kept += list(declared.values)
    return kept or [_ABSENT]


def _document(pools: dict[str, list[object]], random: Random) -> Document:
    document: Document = {}
    for path, pool in pools.items():
        value = random.choice(pool)
        if value is not _ABSENT:
            _put(document, path.split("."), value)
    return document


def _put(document: Document, parts: list[str], value: object) -> None:
    for place, part in enumerate(parts[:-1]):
        below = document.setdefault(part, {})
        if parts[place + 1].isdigit():
            item: Document = {}
            if isinstance(below, list) and below and isinstance(below[0], dict):
                item = below[0]
            else:
                document[part] = [item]
            rest = parts[place + 2 :]
            if rest:
                _put(item, rest, value)
            return
        if not isinstance(below, dict):
            return
        document = below
    document[parts[-1]] = value


def _shrunk(plans: tuple[Plan, Plan], documents: list[Document], deadline: float) -> list[Document]:
    """Take out documents, then fields, as long as the difference shows."""
    changed = True
    while changed and time.monotonic() < deadline:
        changed = False
        for smaller in _smaller(documents):
            if told_apart(*plans, smaller):
                documents, changed = smaller, True
                break
    return documents


def _smaller(documents: list[Document]) -> Iterator[list[Document]]:
    for index in range(len(documents)):
        yield documents[:index] + documents[index + 1 :]
    for index, document in enumerate(documents):
        for key in document:
            if key != "_id":
                without = {name: value for name, value in document.items() if name != key}
                yield [*documents[:index], without, *documents[index + 1 :]]


def _witness(plans: tuple[Plan, Plan], documents: list[Document]) -> DocumentWitness:
    shown = [tuple(_json(document) for document in run(plan, documents)) for plan in plans]
    sizes = ["nothing" if not one else f"{len(one)} document{'s' if len(one) > 1 else ''}" for one in shown]
    return DocumentWitness(
        collections={"": tuple(_json(document) for document in documents)},
        expected=shown[0],
        actual=shown[1],
        reading=f"with {json_util.dumps(documents[0])}: the golden query returns {sizes[0]}, the answer {sizes[1]}",
        confirmed_on=("matcher",),
    )


def _json(document: object) -> JsonValue:
    text_ = json_util.dumps(document, json_options=json_util.RELAXED_JSON_OPTIONS)
    return TypeAdapter(JsonValue).validate_python(json.loads(text_))


def mutants_of(query: str) -> Iterator[tuple[DifferenceKind, str, str]]:
    """Mutants of a filter or envelope in JSON: kind, what was done, text. Shell text has none."""
    try:
        tree = json.loads(query)
    except ValueError:
        return
    if not isinstance(tree, dict):
        return
    for kind, change, path, value in _edits(tree, ()):
        mutated = _edited(tree, path, value)
        yield kind, change, json.dumps(mutated, ensure_ascii=False, separators=(",", ":"))


_DROP = object()


def _edits(
    node: object, path: tuple[str | int, ...]
) -> Iterator[tuple[DifferenceKind, str, tuple[str | int, ...], object]]:
    if isinstance(node, list):
        for index, item in enumerate(node):
            if len(node) > 1 and isinstance(item, str | int | float | dict):
                yield "missing_predicate", f"{json.dumps(item)} dropped", (*path, index), _DROP
            yield from _edits(item, (*path, index))
        return
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        here = (*path, key)
        if key in ("collection", "projection"):
            continue
        for other, kind in _FLIPS.get(key, ()):
            renamed = {other if name == key else name: item for name, item in node.items()}
            yield kind, f"{key} became {other}", path, renamed
        if key == "order" and value in (1, -1):
            yield "sort_direction", "sorted the other way", here, -value
        elif key in ("limit", "skip") and isinstance(value, int):
            if value <= 20:
                yield "limit" if key == "limit" else "offset", f"{key} {value} became {value + 1}", here, value + 1
        elif isinstance(value, bool):
            yield "wrong_value", f"{key} {json.dumps(value)} became the reverse", here, not value
        elif isinstance(value, int | float) and not key.startswith("$date"):
            yield "wrong_value", f"{key} {value} became {value + 1}", here, value + 1
        named = not key.startswith("$") and key not in ("filter", "sort", "field", "order")
        within = bool(path) and path[-1] != "sort"
        if named and (within or (not path and "filter" not in node and len(node) > 1)):
            yield "missing_predicate", f"{key} dropped", here, _DROP
        yield from _edits(value, here)


def _edited(tree: object, path: tuple[str | int, ...], value: object) -> object:
    if not path:
        return value
    copy = deepcopy(tree)
    node: object = copy
    for part in path[:-1]:
        node = node[part]  # type: ignore[index]  # the path was walked a moment ago
    if value is _DROP:
        del node[path[-1]]  # type: ignore[attr-defined]
    else:
        node[path[-1]] = value  # type: ignore[index]
    return copy
