"""The matcher, the identities and the witnesses against servers that speak MongoDB's wire protocol.

Where the emulator is known to answer otherwise than documented, the documented behaviour stands and the row is left
out for it:

* a numeric part of a path picks an element and does not open it, and selects nothing where there is no such element
  (manual: "Query an Array by Array Index");
* `$elemMatch` with a filter takes an array within the array as a document by index (`$elemMatch`, server's own tests);
* `$all` compares as `$and` of equalities, arrays and decimals included (manual: "$all", "Behavior").
"""

import json
import random
from pathlib import Path

import pytest
from bson import Decimal128
from pymongo.errors import OperationFailure

from canon.errors import ReadError
from canon.mongo import compare_mongo, matches, read_mongo
from tests.canon.mongo.mongo_generators import condition, document

HERE = Path(__file__).parent
PAIRS = HERE.parent.parent / "canon" / "mongo"
QUERIES = [json.loads(line) for line in (PAIRS / "query-pairs.jsonl").read_text("utf-8").splitlines()]


def _nested(value: object) -> bool:
    """Whether an array holds an array."""
    if isinstance(value, list):
        return any(isinstance(item, list) or _nested(item) for item in value)
    return isinstance(value, dict) and any(_nested(item) for item in value.values())


def _known_otherwise(value: object) -> bool:
    """Whether a filter uses what the emulator is known to read otherwise than documented."""
    if isinstance(value, list):
        return any(_known_otherwise(item) for item in value)
    if not isinstance(value, dict):
        return False
    for key, item in value.items():
        if key == "$all" and any(isinstance(member, list | Decimal128 | dict) for member in item):
            return True
        if any(part.isdigit() for part in key.split(".")) or _known_otherwise(item):
            return True
    return False


@pytest.mark.parametrize("seed", range(12))
def test_the_matcher_agrees_with_the_server_on_random_filters(collection, seed):
    name, documents = collection
    rng = random.Random(seed)
    stored = [{"_id": number, **document(rng)} for number in range(50)]
    documents.insert_many(stored)
    compared = 0
    for _ in range(60):
        chosen = condition(rng)
        if name == "emulator" and _known_otherwise(chosen):
            continue
        nested = name == "emulator" and "$elemMatch" in str(chosen)
        rows = [row for row in stored if not (nested and _nested(row))]
        try:
            ours = {row["_id"] for row in rows if matches(chosen, row)}
        except ReadError:
            with pytest.raises(OperationFailure):
                list(documents.find(chosen))
            continue
        theirs = {row["_id"] for row in documents.find(chosen, {"_id": 1})}
        assert ours == theirs & {row["_id"] for row in rows}, f"seed {seed}: {chosen}"
        compared += 1
    assert compared > 20


def _result(database, query):
    """The result of a query as a comparable value; the order of fields is cosmetic."""
    target = database["documents"]
    if query.operation == "count":
        return target.count_documents(query.filter)
    if query.operation == "distinct":
        return sorted(map(repr, target.distinct(query.field, query.filter)))
    if query.operation == "aggregate":
        return [_plain(row) for row in target.aggregate(list(query.pipeline))]
    cursor = target.find(query.filter, query.projection).skip(query.skip).limit(query.limit or 0)
    return [_plain(row) for row in (cursor.sort(list(query.sort)) if query.sort else cursor)]


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _data(rng: random.Random) -> list[dict[str, object]]:
    """Documents with the fields that the pairs speak of, some of them missing, null or arrays."""
    rows: list[dict[str, object]] = []
    for number in range(14):
        row: dict[str, object] = {"_id": number}
        for name in ("a", "b", "c", "x", "n", "t", "p", "pid", "age", "name", "status", "Age", "Name", "Country"):
            roll = rng.random()
            if roll < 0.75:
                row[name] = rng.choice((1, 2, 3, 5, 21, 25, "X", "A", "x"))
            elif roll < 0.85:
                row[name] = rng.choice((None, [1, 5], [], {"b": 1}))
        row["orders"] = [
            {"total": rng.choice((1, 6)), "item": rng.choice("uv"), "qty": 2, "t": 1} for _ in range(rng.randint(0, 2))
        ]
        row["o"] = [{"t": rng.choice((1, 2))} for _ in range(rng.randint(0, 2))]
        rows.append(row)
    return rows


RUNNABLE = [
    row
    for row in QUERIES
    if row["label"] == "equivalent" and not any(word in row["a"] for word in ("$d", "$lookup", "$unionWith", "$facet"))
]


@pytest.mark.parametrize("row", RUNNABLE, ids=lambda row: row["id"])
def test_equivalent_queries_return_the_same_on_random_documents(collection, row):
    name, documents = collection
    sides = [read_mongo(row[side]) for side in "ab"]
    assert compare_mongo(row["a"], row["b"]).relation == "equivalent"
    for seed in range(6):
        documents.drop()
        documents.insert_many(_data(random.Random(seed)))
        one, two = (_result(documents.database, side) for side in sides)
        if isinstance(one, int) != isinstance(two, int):
            one, two = (
                side if isinstance(side, int) else sum(next(iter(item.values())) for item in side)
                for side in (one, two)
            )
        if isinstance(one, list):
            # Ties of a sort, and the order of groups, are the server's to choose.
            ordered = "$limit" in row["a"] or ".limit" in row["a"] or ".skip" in row["a"]
            if ordered and len(one) == len(two) and "ort" in row["a"]:
                continue
            one, two = sorted(map(repr, one)), sorted(map(repr, two))
        assert one == two, f"seed {seed} on the {name}"


REFUTED = [
    row for row in QUERIES if row["label"] == "different" and compare_mongo(row["a"], row["b"]).basis == "refuted"
]


@pytest.mark.parametrize("row", REFUTED, ids=lambda row: row["id"])
def test_a_witness_of_two_queries_tells_them_apart_on_the_server(collection, row):
    _, documents = collection
    witness = compare_mongo(row["a"], row["b"]).witness
    stored = read_mongo(json.dumps({"filter": {"rows": list(witness.collections[""])}})).filter["rows"]
    documents.insert_many(stored)
    one, two = (_result(documents.database, read_mongo(row[side])) for side in "ab")
    assert one != two
