"""The reference matcher against documented behaviour, operator by operator."""

import pytest
from bson import Decimal128, Int64, Regex

from canon.errors import ReadError
from canon.mongo.matching import matches

NAN = float("nan")

ROWS = [
    # null and missing
    ({"a": None}, {}, True),
    ({"a": None}, {"a": None}, True),
    ({"a": None}, {"a": 1}, False),
    ({"a": {"$exists": False}}, {"a": None}, False),
    ({"a": {"$exists": True}}, {"a": None}, True),
    ({"a": {"$ne": None}}, {}, False),
    ({"a": {"$in": [None]}}, {}, True),
    ({"a": {"$type": "null"}}, {}, False),
    ({"a": {"$gte": None}}, {}, True),
    ({"a": {"$gt": None}}, {"a": None}, False),
    # "a.b": null, row by row
    ({"a.b": None}, {"a": 4}, True),
    ({"a.b": None}, {"a": []}, False),
    ({"a.b": None}, {"a": [1]}, False),
    ({"a.b": None}, {"a": [{"b": 3}, {}]}, True),
    ({"a.b": None}, {"a": [{"b": 3}]}, False),
    ({"a.b": {"$exists": False}}, {"a": []}, True),
    # arrays
    ({"a": 1}, {"a": [2, 1]}, True),
    ({"a": [1, 2]}, {"a": [1, 2]}, True),
    ({"a": [1, 2]}, {"a": [2, 1]}, False),
    ({"a": [1, 2]}, {"a": [[1, 2], 3]}, True),
    ({"a": {"$ne": 1}}, {"a": [1, 2]}, False),
    ({"a": {"$ne": 1}}, {"a": [2]}, True),
    ({"a": {"$gt": 15, "$lt": 20}}, {"a": [1, 30]}, True),
    ({"a": {"$elemMatch": {"$gt": 15, "$lt": 20}}}, {"a": [1, 30]}, False),
    ({"a": {"$elemMatch": {"$gt": 15, "$lt": 20}}}, {"a": 17}, False),
    ({"a": {"$not": {"$gt": 5}}}, {"a": [3, 9]}, False),
    ({"a": {"$size": 2}}, {"a": [1, 2]}, True),
    ({"a": {"$size": 0}}, {}, False),
    ({"a": {"$all": [1, 2]}}, {"a": [2, 1, 3]}, True),
    ({"a": {"$all": []}}, {"a": []}, False),
    ({"a": {"$all": [[1, 2]]}}, {"a": [1, 2]}, True),
    ({"a": {"$all": [{"$elemMatch": {"b": 1}}, {"$elemMatch": {"b": 2}}]}}, {"a": [{"b": 1}, {"b": 2}]}, True),
    ({"a": {"$elemMatch": {"b": 1, "c": 2}}}, {"a": [{"b": 1}, {"c": 2}]}, False),
    ({"a.b": 1, "a.c": 2}, {"a": [{"b": 1}, {"c": 2}]}, True),
    ({"a": {"$elemMatch": {"b": {"$exists": False}}}}, {"a": [[5]]}, True),
    ({"a.b": 1}, {"a": [[{"b": 1}]]}, False),
    # numeric parts
    ({"a.0": 1}, {"a": [1, 2]}, True),
    ({"a.0": 1}, {"a": {"0": 1}}, True),
    ({"a.1.b": 1}, {"a": [0, {"b": 1}]}, True),
    ({"a.0": 3}, {"a": [[3, 5]]}, False),
    ({"a.00": 1}, {"a": [1]}, False),
    # brackets and numbers
    ({"a": {"$gt": 5}}, {"a": "9"}, False),
    ({"a": {"$not": {"$gt": 5}}}, {"a": "9"}, True),
    ({"a": 1}, {"a": 1.0}, True),
    ({"a": 1}, {"a": Decimal128("1.00")}, True),
    ({"a": 0.1}, {"a": Decimal128("0.1")}, False),
    ({"a": Int64(2**53 + 1)}, {"a": float(2**53)}, False),
    ({"a": True}, {"a": 1}, False),
    ({"a": 0}, {"a": -0.0}, True),
    ({"a": NAN}, {"a": NAN}, True),
    ({"a": {"$lt": 5}}, {"a": NAN}, False),
    ({"a": {"$gte": NAN}}, {"a": NAN}, True),
    ({"a": {"$type": "number"}}, {"a": Decimal128("1")}, True),
    ({"a": {"$type": 16}}, {"a": 1.0}, False),
    ({"a": {"$type": "array"}}, {"a": []}, True),
    ({"a": {"$mod": [4, 0]}}, {"a": 8.9}, True),
    ({"a": {"$mod": [4, -1]}}, {"a": -5}, True),
    ({"a": {"$mod": [4, 0]}}, {"a": "8"}, False),
    # documents
    ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}, False),
    ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
    ({"a": {}}, {"a": {}}, True),
    # regular expressions
    ({"a": Regex("^x", 2)}, {"a": "Xy"}, True),
    ({"a": Regex("x", 0)}, {"a": ["y", "xy"]}, True),
    ({"a": Regex("x", 0)}, {"a": Regex("x", 0)}, True),
    ({"a": {"$eq": Regex("x", 0)}}, {"a": "x"}, False),
    ({"a": {"$in": [Regex("^x", 0), "y"]}}, {"a": "xx"}, True),
    ({"a": {"$regex": "x", "$options": "i"}}, {"a": "X"}, True),
    # logic
    ({"$nor": [{"a": 1}, {"b": 1}]}, {"c": 1}, True),
    ({"$comment": "x", "a": 1}, {"a": 1}, True),
    ({"$alwaysFalse": 1}, {}, False),
    # expressions: the total order, no brackets, no opening of arrays
    ({"$expr": {"$lt": ["$a", 5]}}, {}, True),
    ({"$expr": {"$gt": ["$a", 5]}}, {"a": "x"}, True),
    ({"$expr": {"$eq": ["$a", 1]}}, {"a": [1]}, False),
    ({"$expr": {"$eq": ["$a", None]}}, {}, False),
    ({"$expr": {"$gt": ["$a", "$b"]}}, {"a": 2, "b": 1}, True),
    ({"$expr": {"$eq": ["$a.b", [1, 2]]}}, {"a": [{"b": 1}, {}, {"b": 2}]}, True),
]


@pytest.mark.parametrize(("condition", "document", "expected"), ROWS, ids=[f"{row[0]} on {row[1]}" for row in ROWS])
def test_documented_behaviour(condition, document, expected):
    assert matches(condition, document) is expected


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ({"$or": []}, "unparseable"),
        ({"a": {"$ne": Regex("x", 0)}}, "unparseable"),
        ({"a": {"$not": 5}}, "unparseable"),
        ({"a": {"$gt": 1, "b": 2}}, "unparseable"),
        ({"a": {"$size": -1}}, "unparseable"),
        ({"a": {"$mod": [0, 1]}}, "unparseable"),
        ({"a": {"$type": "integer"}}, "unparseable"),
        ({"$text": {"$search": "x"}}, "unsupported"),
        ({"a": {"$geoWithin": {}}}, "unsupported"),
        ({"a": {"$regex": "(a+)+$"}}, "unsupported"),
    ],
)
def test_what_cannot_be_evaluated_is_a_typed_error(condition, kind):
    with pytest.raises(ReadError) as caught:
        matches(condition, {"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"})
    assert caught.value.kind == kind
