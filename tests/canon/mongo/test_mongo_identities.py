"""Each identity with a pair that it joins and the neighbour that it must not swallow."""

import json
from datetime import UTC, datetime

import pytest

from canon.mongo import compare_mongo
from canon.mongo.identities import IDENTITIES

NOW = datetime(2026, 8, 4, tzinfo=UTC)

# name, one spelling, the same by the identity, a neighbour that is not the same
ROWS = [
    ("shell_text", '{"a": {"$oid": "507f1f77bcf86cd799439011"}}', "{a: ObjectId('507f1f77bcf86cd799439011')}",
     "{a: '507f1f77bcf86cd799439011'}"),
    ("clock_folding", "{d: {$gt: new Date()}}", "{d: {$gt: ISODate('2026-08-04')}}",
     "{d: {$gt: ISODate('2026-08-05')}}"),
    ("number_spelling", '{"a": 500}', '{"a": 500.0}', '{"a": "500"}'),
    ("sort_spelling", '{"sort": [{"field": "a", "order": -1}]}', '{"sort": {"a": -1}}', '{"sort": {"a": 1}}'),
    ("limit_forms", "db.o.find().limit(0)", "db.o.find()", "db.o.find().limit(1)"),
    ("comment_dropped", '{"a": 1, "$comment": "x"}', '{"a": 1}', '{"a": 1, "comment": "x"}'),
    ("implicit_and", '{"a": 1, "b": 2}', '{"$and": [{"a": 1}, {"b": 2}]}', '{"$or": [{"a": 1}, {"b": 2}]}'),
    ("clause_order", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"b": 1, "a": 2}'),
    ("duplicate_clause", '{"$and": [{"a": 1}, {"a": 1}]}', '{"a": 1}', '{"$and": [{"a": 1}, {"a": 2}]}'),
    ("absorption", '{"$or": [{"a": 1}, {"a": 1, "b": 2}]}', '{"a": 1}', '{"a": 1, "b": 2}'),
    ("complement", '{"$or": [{"a": 1}, {"a": {"$ne": 1}}]}', "{}", '{"$or": [{"a": {"$gt": 1}}, {"a": {"$lte": 1}}]}'),
    ("de_morgan", '{"$nor": [{"a": 1, "b": 2}]}', '{"$or": [{"a": {"$ne": 1}}, {"b": {"$ne": 2}}]}',
     '{"a": {"$ne": 1}, "b": {"$ne": 2}}'),
    ("double_negation", '{"a": {"$not": {"$not": {"$gt": 1}}}}', '{"a": {"$gt": 1}}', '{"a": {"$not": {"$gt": 1}}}'),
    ("constant", '{"a": {"$in": []}}', '{"$alwaysFalse": 1}', '{"a": {"$nin": []}}'),
    ("explicit_equality", '{"a": {"$eq": 1}}', '{"a": 1}', '{"a": {"$gte": 1}}'),
    ("membership", '{"a": {"$in": [1, 2]}}', '{"$or": [{"a": 2}, {"a": 1}]}', '{"a": {"$all": [1, 2]}}'),
    ("exclusion", '{"a": {"$nin": [1, 2]}}', '{"$and": [{"a": {"$ne": 1}}, {"a": {"$ne": 2}}]}',
     '{"$or": [{"a": {"$ne": 1}}, {"a": {"$ne": 2}}]}'),
    ("all_members", '{"a": {"$all": [1, 2]}}', '{"$and": [{"a": 2}, {"a": 1}]}', '{"a": [1, 2]}'),
    ("all_of_element_match", '{"a": {"$all": [{"$elemMatch": {"b": 1}}]}}',
     '{"a": {"$elemMatch": {"b": 1}}}', '{"a.b": 1}'),
    ("greater_or_equal", '{"$or": [{"a": {"$gt": 3}}, {"a": 3}]}', '{"a": {"$gte": 3}}', '{"a": {"$gt": 3}}'),
    ("null_bound", '{"a": {"$gte": null}}', '{"a": null}', '{"a": {"$exists": false}}'),
    ("regex_notation", "{a: /x/i}", '{"a": {"$regex": "x", "$options": "i"}}', '{"a": {"$regex": "x"}}'),
    ("exists_truth", '{"a": {"$exists": 0}}', '{"$nor": [{"a": {"$exists": true}}]}', '{"a": null}'),
    ("type_spelling", '{"a": {"$type": 2}}', '{"a": {"$type": "string"}}', '{"a": {"$type": ["string", "null"]}}'),
    ("element_match_of_or", '{"a": {"$elemMatch": {"$in": [1, 2]}}}',
     '{"$or": [{"a": {"$elemMatch": {"$eq": 1}}}, {"a": {"$elemMatch": {"$eq": 2}}}]}', '{"a": {"$in": [1, 2]}}'),
    ("expression_mirror", '{"$expr": {"$gt": ["$a", 5]}}', '{"$expr": {"$lt": [5, "$a"]}}', '{"a": {"$gt": 5}}'),
    ("expression_logic", '{"$expr": {"$and": [{"$eq": ["$a", 1]}, {"$eq": ["$b", 2]}]}}',
     '{"$and": [{"$expr": {"$eq": [2, "$b"]}}, {"$expr": {"$eq": [1, "$a"]}}]}', '{"a": 1, "b": 2}'),
    ("find_as_pipeline", "db.o.find({a: 1}).limit(2)", "db.o.aggregate([{$match: {a: 1}}, {$limit: 2}])",
     "db.o.aggregate([{$limit: 2}, {$match: {a: 1}}])"),
    ("count_as_group", "db.o.countDocuments({a: 1})", "db.o.aggregate([{$match: {a: 1}}, {$count: 'n'}])",
     "db.o.aggregate([{$match: {a: 1}}, {$group: {_id: null, n: {$sum: '$a'}}}, {$unset: '_id'}])"),
    ("match_placement", "db.o.aggregate([{$sort: {b: 1}}, {$match: {a: 1}}])", "db.o.find({a: 1}).sort({b: 1})",
     "db.o.find({b: 1}).sort({b: 1})"),
    ("match_below_group", "db.o.aggregate([{$group: {_id: '$a'}}, {$match: {_id: 5}}])",
     "db.o.aggregate([{$match: {a: 5}}, {$group: {_id: '$a'}}])",
     "db.o.aggregate([{$match: {_id: 5}}, {$group: {_id: '$a'}}])"),
    ("projection_placement", "db.o.aggregate([{$project: {a: 1, b: 1}}, {$unwind: '$a'}])",
     "db.o.aggregate([{$unwind: '$a'}, {$project: {a: 1, b: 1}}])", "db.o.aggregate([{$project: {a: 1, b: 1}}])"),
    ("projection_merging", "[{$project: {a: 1, b: 1}}, {$project: {a: 1}}]", "[{$project: {a: 1}}]",
     "[{$project: {b: 1}}]"),
    ("field_renaming", "[{$project: {x: '$a'}}, {$group: {_id: '$x'}}]", "[{$group: {_id: '$a'}}]",
     "[{$project: {x: '$a'}}, {$group: {_id: '$a'}}]"),
    ("stage_spelling", "[{$unset: 'a'}]", "[{$project: {a: 0}}]", "[{$project: {a: 1}}]"),
    ("sort_by_count", "[{$sortByCount: '$a'}]", "[{$group: {_id: '$a', count: {$sum: 1}}}, {$sort: {count: -1}}]",
     "[{$group: {_id: '$a', count: {$sum: 1}}}, {$sort: {count: 1}}]"),
    ("window_merging", "[{$limit: 5}, {$skip: 2}]", "[{$skip: 2}, {$limit: 3}]", "[{$skip: 2}, {$limit: 5}]"),
    ("lost_sort", "[{$sort: {a: 1}}, {$group: {_id: '$b'}}]", "[{$group: {_id: '$b'}}]",
     "[{$group: {_id: '$b'}}, {$sort: {_id: 1}}]"),
    ("unused_lookup", "[{$lookup: {from: 'p', localField: 'a', foreignField: 'b', as: 'p'}}, {$project: {c: 1}}]",
     "[{$project: {c: 1}}]",
     "[{$lookup: {from: 'p', localField: 'a', foreignField: 'b', as: 'p'}}, {$project: {p: 1}}]"),
    ("expression_forms", "[{$project: {x: {$add: ['$a', '$b']}}}]", "[{$project: {x: {$add: ['$b', '$a']}}}]",
     "[{$project: {x: {$subtract: ['$b', '$a']}}}]"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "one", "same", "neighbour"), ROWS, ids=[row[0] for row in ROWS])
def test_an_identity_joins_its_pair_and_not_its_neighbour(name, one, same, neighbour):
    verdict = compare_mongo(one, same, now=NOW)
    assert verdict.basis == "canonical"
    assert name in verdict.absorbed
    assert compare_mongo(same, one, now=NOW).basis == "canonical"
    for left, right in ((one, neighbour), (neighbour, one), (same, neighbour), (neighbour, same)):
        assert compare_mongo(left, right, now=NOW).relation in ("different", "undecided")


def test_date_text_is_a_date_only_where_the_path_is_declared_one():
    texts = ('{"d": {"$gte": "2026-07-05"}}', '{"d": {"$gte": {"$date": "2026-07-05T00:00:00Z"}}}')
    verdict = compare_mongo(*texts, fields={"d": "date"})
    assert (verdict.basis, "date_text" in verdict.absorbed) == ("canonical", True)
    assert compare_mongo(*texts).relation == "different"
    assert compare_mongo(*texts, fields={"d": "string"}).relation != "equivalent"


def test_the_server_clock_folds_like_the_shell_clock():
    one, two = '{"$expr": {"$lt": ["$d", "$$NOW"]}}', "{$expr: {$lt: ['$d', new Date()]}}"
    assert compare_mongo(one, two, now=NOW).basis == "canonical"
    assert compare_mongo(one, two).relation == "undecided"


LOOKED_UP = "{$lookup: {from: 'p', localField: 'k', foreignField: '_id', as: 'p'}}, {$unwind: '$p'}"


def test_a_path_into_a_looked_up_document_is_the_same_in_both_languages():
    early = f"[{LOOKED_UP}, {{$sort: {{'p.x': 1}}}}, {{$project: {{y: '$p.x'}}}}]"
    late = f"[{LOOKED_UP}, {{$project: {{y: '$p.x'}}}}, {{$sort: {{y: 1}}}}]"
    assert compare_mongo(early, late).basis == "canonical"
    deeper = [text.replace("p.x", "p.x.z") for text in (early, late)]
    assert compare_mongo(*deeper).relation == "undecided"
    unwound = [text.replace(LOOKED_UP, "{$unwind: '$p'}") for text in (early, late)]
    assert compare_mongo(*unwound).relation == "undecided"
    assert compare_mongo(*unwound, fields={"p": "array<object>"}).basis == "canonical"


def test_a_lookup_done_again_is_not_the_one_that_was_unwound():
    again = LOOKED_UP.split("}}, ", maxsplit=1)[0].replace("as: 'p'", "as: 'q'") + "}}"
    one = f"[{LOOKED_UP}, {again}, {{$project: {{x: '$p'}}}}]"
    two = f"[{LOOKED_UP}, {again}, {{$project: {{x: '$q'}}}}]"
    assert compare_mongo(one, two).relation == "undecided"
    assert compare_mongo(one, one.replace("'q'", "'r'")).basis == "canonical"


def test_every_identity_has_its_row():
    assert {row[0] for row in ROWS} | {"date_text"} == {identity.name for identity in IDENTITIES}


DECLARED = [
    ('{"a": {"$gt": 3}}', '{"a": {"$gte": 4}}', {"a": "integer"}, "proved"),
    ('{"a": {"$gt": 3}}', '{"a": {"$gte": 4}}', {"a": "number"}, "refuted"),
    ('{"a": {"$gt": 3}}', '{"a": {"$gte": 4}}', {}, "refuted"),
    ('{"a": {"$gt": 1, "$lt": 5}}', '{"a": {"$elemMatch": {"$gt": 1, "$lt": 5}}}', {"a": "array<number>"}, "refuted"),
    ('{"a": {"$in": [1, 2]}, "$and": [{"a": {"$in": [2, 3]}}]}', '{"a": 2}', {"a": "number"}, "proved"),
    ('{"a": {"$in": [1, 2]}, "$and": [{"a": {"$in": [2, 3]}}]}', '{"a": 2}', {}, "refuted"),
    ('{"a": {"$not": {"$gt": 5}}}', '{"a": {"$lte": 5}}', {"a": "number"}, "refuted"),
    ('{"tags": {"$elemMatch": {"$eq": "x"}}}', '{"tags": "x"}', {"tags": "array<string>"}, "proved"),
    ('{"tags": {"$elemMatch": {"$eq": "x"}}}', '{"tags": "x"}', {}, "refuted"),
    ('{"a.b": 1}', '{"a": {"$elemMatch": {"b": 1}}}', {"a": "array<object>"}, "proved"),
    ('{"$or": [{"a": true}, {"a": false}, {"a": null}]}', "{}", {"a": "boolean"}, "undecided"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "fields", "basis"), DECLARED)
def test_declared_types_bound_what_a_field_can_hold(a, b, fields, basis):
    verdict = compare_mongo(a, b, fields=fields)
    assert verdict.basis == basis
    if basis == "proved":
        assert verdict.assumptions
    if basis == "undecided":
        assert [difference.kind for difference in verdict.differences][-1] == "vacuous"


def test_an_enum_is_proved_within_its_values_and_never_null():
    from canon.mongo import Field

    fields = {"s": Field(type="enum", values=("A", "B", "C"), nullable=False)}
    verdict = compare_mongo('{"s": {"$ne": "C"}}', '{"s": {"$in": ["A", "B"]}}', fields=fields)
    assert verdict.basis == "proved"
    assert verdict.assumptions == ("s holds enum out of A, B, C, never null or missing",)
    nullable = {"s": Field(type="enum", values=("A", "B", "C"))}
    assert compare_mongo('{"s": {"$ne": "C"}}', '{"s": {"$in": ["A", "B"]}}', fields=nullable).basis == "refuted"


DIFFERENCES = [
    ('{"a": 1, "b": 2}', '{"a": 1}', "missing_predicate"),
    ('{"a": 1}', '{"a": 1, "b": 2}', "extra_predicate"),
    ('{"a": 1}', '{"b": 1}', "wrong_field"),
    ('{"a": {"$gt": 1}}', '{"a": {"$lt": 1}}', "wrong_operator"),
    ('{"a": {"$ne": 1}}', '{"a": 1}', "wrong_operator"),
    ('{"a": {"$gt": 1}}', '{"a": {"$gte": 1}}', "bound_inclusivity"),
    ('{"a": "x"}', '{"a": "y"}', "wrong_value"),
    ('{"a": {"$in": [1, 2]}}', '{"a": {"$in": [1, 3]}}', "wrong_value"),
    ("{d: ISODate('2024-01-01')}", "{d: ISODate('2024-01-02')}", "date_resolution"),
    ('{"$or": [{"a": 1}, {"b": 2}]}', '{"a": 1, "b": 2}', "boolean_structure"),
    ("db.o.find({a: 1})", "db.p.find({a: 1})", "source"),
    ("db.o.find({}, {a: 1})", "db.o.find({}, {b: 1})", "projection"),
    ("db.o.find().sort({a: 1})", "db.o.find().sort({a: -1})", "sort_direction"),
    ("db.o.find().sort({a: 1})", "db.o.find().sort({b: 1})", "sort_key"),
    ("db.o.find().limit(1)", "db.o.find().limit(2)", "limit"),
    ("db.o.find().skip(1)", "db.o.find().skip(2)", "offset"),
    ("[{$group: {_id: '$a'}}]", "[{$group: {_id: '$b'}}]", "grouping"),
    ("[{$group: {_id: '$a', n: {$sum: '$x'}}}]", "[{$group: {_id: '$a', n: {$avg: '$x'}}}]", "aggregate"),
    ("[{$group: {_id: '$a', n: {$sum: 1}}}, {$match: {n: 1}}]",
     "[{$group: {_id: '$a', n: {$sum: 1}}}, {$match: {n: 2}}]",
     "having"),
    ("[{$unwind: '$a'}]", "[{$unwind: '$b'}]", "pipeline_stage"),
    ("db.o.find({a: 1}).collation({locale: 'en'})", "db.o.find({a: 1})", "collation"),
    ("[{$sample: {size: 1}}]", "[{$sample: {size: 2}}]", "nondeterministic"),
    ("{d: {$gt: new Date()}}", "{d: {$gte: new Date()}}", "nondeterministic"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "actual", "kind"), DIFFERENCES, ids=[f"{row[2]}: {row[0]}" for row in DIFFERENCES]
)
def test_differences_are_told_in_the_closed_vocabulary(expected, actual, kind):
    verdict = compare_mongo(expected, actual)
    assert verdict.relation in ("different", "undecided")
    assert kind in [difference.kind for difference in verdict.differences]
    assert all(difference.message for difference in verdict.differences)


PARTIAL = [
    ('{"a": 1}', 'db.o.find({a: 1}).sort({b: 1}).limit(5)', "equivalent"),
    ('{"a": 1}', '{"collection": "o", "filter": {"a": 1}, "limit": 50}', "equivalent"),
    ('{"filter": {"a": 1}, "limit": 5}', '{"filter": {"a": 1}, "limit": 5, "sort": {"b": 1}}', "equivalent"),
    ('{"filter": {"a": 1}, "limit": 5}', '{"filter": {"a": 1}, "limit": 6}', "different"),
    ('{"collection": "o", "sort": [{"field": "d", "order": -1}], "limit": 10}',
     "db.o.find({x: 1}).sort({d: -1}).limit(10)",
     "equivalent"),
    ('{"collection": "o", "limit": 10}', '{"collection": "p", "limit": 10}', "undecided"),
    ('{"limit": 0}', '{"filter": {"a": 1}}', "equivalent"),
    ('{"a": 1}', "db.o.aggregate([{$match: {a: 1}}, {$limit: 3}])", "equivalent"),
    ('{"a": 1}', "db.o.aggregate([{$match: {a: 1}}, {$group: {_id: '$b'}}])", "undecided"),
    ("db.o.find({a: 1})", "db.o.find({a: 1}).limit(5)", "different"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "actual", "relation"), PARTIAL)
def test_only_the_keys_that_the_golden_writes_are_compared(expected, actual, relation):
    assert compare_mongo(expected, actual).relation == relation


def test_two_contradictions_are_vacuous_and_not_equal():
    verdict = compare_mongo('{"$and": [{"a": 1}, {"a": {"$ne": 1}}]}', '{"$and": [{"b": 1}, {"b": {"$ne": 1}}]}')
    assert verdict.basis == "undecided"
    assert [difference.kind for difference in verdict.differences] == ["vacuous"]


def test_an_unreadable_side_is_a_problem_of_that_side():
    verdict = compare_mongo('{"a": 1}', "db.o.drop()")
    assert (verdict.problem.side, verdict.problem.kind) == ("actual", "not_a_read")
    verdict = compare_mongo('{"a": {"$foo": 1}}', '{"a": 1}')
    assert (verdict.problem.side, verdict.problem.kind) == ("expected", "unparseable")


def test_one_fingerprint_for_spellings_of_one_query():
    from canon.mongo import read_mongo

    spellings = ('{"a": {"$in": [1, 2]}}', '{"$or": [{"a": 2.0}, {"a": {"$eq": 1}}]}', "{a: {$in: [NumberInt(2), 1]}}")
    assert len({read_mongo(text).fingerprint() for text in spellings}) == 1
    assert json.dumps(read_mongo(spellings[0]).filter) == spellings[0]
