"""Witnesses for MongoDB queries: documents that tell two filters apart, and none where there is no difference."""

import pytest

from canon.mongo.fields import Field
from canon.verdict import DocumentWitness
from harness.witness.documents import find_document_witness, mutants_of
from harness.witness.search import NotFound

DIFFERENT = {
    "missing and null": ('{"a": null}', '{"a": {"$exists": false}}'),
    "two elements": ('{"$and": [{"a": 1}, {"a": 2}]}', '{"$alwaysFalse": 1}'),
    "a range over elements": ('{"a": {"$gt": 5, "$lt": 3}}', '{"$alwaysFalse": 1}'),
    "the order of an array": ('{"a": [1, 2]}', '{"a": [2, 1]}'),
    "a size": ('{"a": {"$size": 1}}', '{"a.0": {"$exists": true}}'),
    "any and all": ('{"a": {"$in": [1, 2]}}', '{"a": {"$all": [1, 2]}}'),
    "the sort": (
        '{"filter": {}, "sort": [{"field": "a", "order": 1}]}',
        '{"filter": {}, "sort": [{"field": "a", "order": -1}]}',
    ),
    "the pipeline's limit": (
        '[{"$match": {"a": 1}}, {"$sort": {"b": 1}}, {"$limit": 1}]',
        '[{"$match": {"a": 1}}, {"$sort": {"b": 1}}, {"$limit": 2}]',
    ),
}
SAME = {
    "negations": ('{"a": {"$ne": 1}}', '{"a": {"$nin": [1]}}'),
    "absorption": ('{"$or": [{"a": 1}, {"a": 1, "b": 2}]}', '{"a": 1}'),
    "edges": ('{"$or": [{"a": {"$gt": 3}}, {"a": 3}]}', '{"a": {"$gte": 3}}'),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_documents_that_tell_two_queries_apart(name: str) -> None:
    found = find_document_witness(*DIFFERENT[name])
    assert isinstance(found, DocumentWitness), found
    assert found.expected != found.actual
    assert found == find_document_witness(*DIFFERENT[name])


@pytest.mark.parametrize("name", SAME)
def test_none_where_no_document_does(name: str) -> None:
    found = find_document_witness(*SAME[name], budget_ms=200)
    assert isinstance(found, NotFound)
    assert found.tried > 20


def test_a_declared_field_holds_what_it_is_declared_to_hold() -> None:
    pair = ('{"a": {"$gt": 1, "$lt": 5}}', '{"a": {"$elemMatch": {"$gt": 1, "$lt": 5}}}')
    scalar = find_document_witness(*pair, fields={"a": Field(type="number", nullable=False)})
    assert isinstance(scalar, DocumentWitness)
    assert all(isinstance(document["a"], int) for document in scalar.collections[""])  # type: ignore[index, call-overload]


def test_what_takes_a_server_is_not_run() -> None:
    found = find_document_witness('[{"$group": {"_id": "$a"}}]', '[{"$group": {"_id": "$b"}}]')
    assert isinstance(found, NotFound)
    assert found.reason == "not runnable"


def test_mutants_of_a_filter() -> None:
    found = {text for _, _, text in mutants_of('{"a":{"$gt":4},"t":"x"}')}
    assert {'{"t":"x"}', '{"a":{"$gt":4}}', '{"a":{"$gte":4},"t":"x"}', '{"a":{"$gt":5},"t":"x"}'} <= found
