"""Reading query texts in every notation, and refusing what is no read."""

from datetime import UTC, datetime

import pytest
from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

from canon.errors import ReadError
from canon.mongo import exact, pin_clock, read_mongo

NOW = datetime(2026, 8, 4, 12, 30, tzinfo=UTC)
MARCH = datetime(2024, 3, 1, tzinfo=UTC)

VALUES = [
    ("1", 1),
    ("-1.5e2", -150.0),
    ("0x1F", 31),
    ("'it\\'s \\u0041'", "it's A"),
    ("`x`", "x"),
    ("true", True),
    ("None", None),
    ("undefined", None),
    ("False", False),
    ("/a\\/b/i", Regex("a/b", 2)),
    ("/x/g", Regex("x", 16)),
    ("new RegExp('^a', 'm')", Regex("^a", 8)),
    ("re.compile('x', re.IGNORECASE)", Regex("x", 2)),
    ('ISODate("2024-03-01")', MARCH),
    ('new ISODate("2024-03-01T02:00:00+02:00")', MARCH),
    ("new Date('2024-03-01T00:00:00.000Z')", MARCH),
    ("new Date(2024, 2, 1)", MARCH),
    ("new Date(1709251200000)", MARCH),
    ("new Date(Date.UTC(2024, 2, 1))", MARCH),
    ("datetime(2024, 3, 1)", MARCH),
    ("datetime.datetime(2024, 3, 1, tzinfo=timezone.utc)", MARCH),
    ('{"$date": "2024-03-01T00:00:00Z"}', MARCH),
    ('{"$date": {"$numberLong": "1709251200000"}}', MARCH),
    ("new Date()", NOW),
    ("new Date(Date.now() - 30*24*3600*1000)", datetime(2026, 7, 5, 12, 30, tzinfo=UTC)),
    ("new Date(new Date().getTime() - (7 * 24 * 60 * 60 * 1000))", datetime(2026, 7, 28, 12, 30, tzinfo=UTC)),
    ("new Date(new Date().setMonth(new Date().getMonth() - 3))", datetime(2026, 5, 4, 12, 30, tzinfo=UTC)),
    ("new Date(new Date().getFullYear(), 0, 1)", datetime(2026, 1, 1, tzinfo=UTC)),
    ("datetime.utcnow() - timedelta(days=7)", datetime(2026, 7, 28, 12, 30, tzinfo=UTC)),
    ('ObjectId("507f1f77bcf86cd799439011")', ObjectId("507f1f77bcf86cd799439011")),
    ('{"$oid": "507f1f77bcf86cd799439011"}', ObjectId("507f1f77bcf86cd799439011")),
    ("NumberInt(5)", 5),
    ('NumberLong("9007199254740993")', Int64(9007199254740993)),
    ('{"$numberLong": "9007199254740993"}', Int64(9007199254740993)),
    ('NumberDecimal("1.10")', Decimal128("1.10")),
    ("Timestamp(5, 1)", Timestamp(5, 1)),
    ('UUID("12345678123456781234567812345678")', Binary(bytes.fromhex("12345678123456781234567812345678"), 4)),
    ('BinData(0, "AQI=")', Binary(b"\x01\x02", 0)),
    ("MinKey()", MinKey()),
    ("MaxKey()", MaxKey()),
    ("[1, 2, ]", [1, 2]),
    ("(1, 2)", [1, 2]),
    ("{b: 1, 'c': 2, /* note */ \"d\": 3, // end\n}", {"b": 1, "c": 2, "d": 3}),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_values(text, value):
    assert read_mongo(f"{{a: {text}}}", now=NOW).filter == {"a": value}


SHAPES = [
    ('{"a": 1}', {"operation": "find", "filter": {"a": 1}, "keys": {"filter"}, "complete": False}),
    ('{"count": {"$gt": 5}}', {"operation": "find", "filter": {"count": {"$gt": 5}}}),
    ('{"limit": 5, "x": 1}', {"filter": {"limit": 5, "x": 1}}),
    ('[{"$match": {"a": 1}}]', {"operation": "aggregate", "pipeline": ({"$match": {"a": 1}},)}),
    (
        '{"collection": "o", "filter": {}, "sort": [{"field": "d", "order": -1}], "limit": 10, "skip": 0}',
        {"collection": "o", "sort": (("d", -1),), "limit": 10, "skip": 0},
    ),
    ('{"sort": {"d": "desc"}, "filter": {}}', {"sort": (("d", -1),)}),
    ("db.o.find({a: 1}).limit(0)", {"limit": None, "complete": True}),
    ("db.o.find({a: 1}).limit(-3)", {"limit": 3}),
    ("db.getCollection('o.p').find()", {"collection": "o.p", "filter": {}}),
    ("db['o'].find({}, {'a': 1})", {"collection": "o", "projection": {"a": 1}}),
    (
        "db.collection('o').find({}, {projection: {a: 1}, sort: {b: 1}, limit: 2}).toArray()",
        {"sort": (("b", 1),), "limit": 2},
    ),
    ("await db.o.findOne({a: 1});", {"limit": 1, "one": True}),
    ("db.o.find({}).sort([('a', -1), ('b', pymongo.ASCENDING)])", {"sort": (("a", -1), ("b", 1))}),
    ("db.o.find({}).sort('a', -1)", {"sort": (("a", -1),)}),
    ("list(db.o.find(filter={'a': 1}, limit=3))", {"filter": {"a": 1}, "limit": 3}),
    ("db.o.countDocuments({a: 1})", {"operation": "count", "filter": {"a": 1}}),
    ("db.o.find({a: 1}).sort({b: 1}).limit(5).count()", {"operation": "count", "limit": None, "sort": ()}),
    ("db.o.estimatedDocumentCount()", {"operation": "count", "filter": {}}),
    ("db.o.distinct('x', {a: 1})", {"operation": "distinct", "field": "x", "filter": {"a": 1}}),
    ("db.runCommand({find: 'o', filter: {a: 1}, limit: 2})", {"collection": "o", "filter": {"a": 1}, "limit": 2}),
    ("use shop; db.o.find({})", {"collection": "o"}),
    ("const d = new Date(); d.setDate(d.getDate() - 1); db.o.find({x: {$gt: d}})", {"clock_used": True}),
    ("db.o.aggregate([{$sample: {size: 3}}])", {"deterministic": False}),
    ("db.o.aggregate([{$match: {$expr: {$lt: ['$d', '$$NOW']}}}])", {"clock_used": True, "deterministic": True}),
]


@pytest.mark.parametrize(("text", "parts"), SHAPES, ids=[text for text, _ in SHAPES])
def test_envelopes(text, parts):
    query = read_mongo(text, now=NOW)
    assert {name: getattr(query, name) for name in parts} == parts


REFUSED = [
    ("", "empty"),
    (" ; ", "empty"),
    ("db.o.find({}); db.p.find({})", "multiple_statements"),
    ("db.o.insertOne({a: 1})", "not_a_read"),
    ("db.o.updateMany({}, {$set: {a: 1}})", "not_a_read"),
    ("db.o.deleteMany({})", "not_a_read"),
    ("db.o.drop()", "not_a_read"),
    ("db.o.mapReduce(1, 2)", "not_a_read"),
    ("db.o.find({$where: 'this.a > 1'})", "not_a_read"),
    ("db.o.aggregate([{$out: 'p'}])", "not_a_read"),
    ('[{"$facet": {"x": [{"$merge": {"into": "p"}}]}}]', "not_a_read"),
    ('[{"$group": {"_id": null, "x": {"$accumulator": {}}}}]', "not_a_read"),
    ('[{"$project": {"x": {"$function": {"body": "f"}}}}]', "not_a_read"),
    ("db.runCommand({delete: 'o'})", "not_a_read"),
    ("SELECT * FROM orders", "unparseable"),
    ("db.o.find({a: 1}", "unparseable"),
    ("{a: foo}", "unparseable"),
    ("{a: 1 / 0}", "unparseable"),
    ("db.o.find(x => x.a)", "unparseable"),
    ('{"a": {"$oid": "zz"}}', "unparseable"),
    ("{a: ObjectId()}", "unparseable"),
    ("db.o.find({}).sort({a: 2})", "unparseable"),
    ("db.o.find({}).skip(-1)", "unparseable"),
    ('[{"$match": {}, "$limit": 1}]', "unparseable"),
    ("db.o.find({}).explain()", "unsupported"),
    ("{a: " * 200 + "1" + "}" * 200, "too_large"),
    ('{"a":' * 200 + "1" + "}" * 200, "too_large"),
    ("(" * 5000, "too_large"),
    ('{"a": "' + "x" * 1_000_000 + '"}', "too_large"),
    ('{"a": ' + "9" * 5000 + "}", "too_large"),
]


@pytest.mark.parametrize(("text", "kind"), REFUSED, ids=[text[:40] for text, _ in REFUSED])
def test_refusals_are_typed_and_say_what_is_wrong(text, kind):
    with pytest.raises(ReadError) as caught:
        read_mongo(text, now=NOW)
    assert caught.value.kind == kind
    assert len(caught.value.message) < 300


def test_an_error_says_line_and_column():
    with pytest.raises(ReadError, match="line 2, column 6"):
        read_mongo("{a: 1,\n  b: ?}")


def test_without_a_pinned_clock_a_clock_call_is_not_deterministic():
    query = read_mongo("{d: {$gt: new Date()}}")
    assert (query.clock_used, query.deterministic) == (True, False)


def test_pinning_the_clock_leaves_literals_alone():
    query = read_mongo("[{$match: {$expr: {$gt: ['$d', '$$NOW']}}}, {$set: {x: {$literal: '$$NOW'}}}]", now=NOW)
    pinned = pin_clock(query, NOW)
    assert pinned.pipeline == ({"$match": {"$expr": {"$gt": ["$d", NOW]}}}, {"$set": {"x": {"$literal": "$$NOW"}}})
    with pytest.raises(ValueError, match="no time zone"):
        pin_clock(query, datetime(2026, 1, 1))  # noqa: DTZ001 - the naive instant is what is tested


EXACT = [
    ('{"a": 1}', '{ "a":1 }', True),
    ('{"a": 1}', '{"a": 1.0}', False),
    ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', False),
    ('{"a": 1}', '{"collection": "o", "filter": {"a": 1}, "limit": 5}', True),
    ('{"filter": {"a": 1}, "limit": 5}', '{"limit": 5, "filter": {"a": 1}, "collection": "o"}', True),
    ('{"filter": {"a": 1}, "limit": 5}', '{"filter": {"a": 1}}', False),
    ("db.o.find({a: 1});", " db.o.find({a: 1})", True),
    ("db.o.find({a: 1})", "db.o.find({ a: 1 })", False),
    ("", "", False),
]


@pytest.mark.parametrize(("expected", "actual", "same"), EXACT)
def test_exact_compares_the_text_of_each_key_that_the_golden_writes(expected, actual, same):
    assert exact(expected, actual) is same
