"""MongoDB queries: reading them as models write them, and deciding whether two of them mean the same."""

from canon.mongo.compare import compare_mongo
from canon.mongo.envelope import MongoQuery, exact, pin_clock, read_mongo
from canon.mongo.fields import Field, FieldType
from canon.mongo.matching import matches

__all__ = [
    "Field",
    "FieldType",
    "MongoQuery",
    "compare_mongo",
    "exact",
    "matches",
    "pin_clock",
    "read_mongo",
]
