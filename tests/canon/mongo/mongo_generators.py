"""Random documents, filters and rewrites, small enough that conditions meet values."""

import random
from datetime import UTC, datetime

from bson import Decimal128, ObjectId, Regex

FIELDS = ("a", "b", "c")
SCALARS = (
    None,
    0,
    1,
    2,
    3,
    1.0,
    2.5,
    -1,
    Decimal128("2"),
    "",
    "a",
    "ab",
    "b",
    True,
    False,
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2024, 6, 1, 12, 0, 0, 500000, tzinfo=UTC),
    ObjectId("507f1f77bcf86cd799439011"),
)

OPERATORS = (
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$exists",
    "$size",
    "$type",
    "$mod",
    "$all",
    "$not",
    "$elemMatch",
    "$regex",
)


def value(rng: random.Random, depth: int = 2) -> object:
    """A scalar, an array or a document."""
    roll = rng.random()
    if depth and roll < 0.25:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    if depth and roll < 0.45:
        return document(rng, depth - 1)
    return rng.choice(SCALARS)


def document(rng: random.Random, depth: int = 2) -> dict[str, object]:
    """A document in which each field may be missing."""
    return {name: value(rng, depth) for name in FIELDS if rng.random() < 0.7}


def path(rng: random.Random, *, numeric: bool = True) -> str:
    """A path of one to three parts."""
    parts = [rng.choice(FIELDS)]
    while rng.random() < 0.35 and len(parts) < 3:
        parts.append("0" if numeric and rng.random() < 0.1 else rng.choice(FIELDS))
    return ".".join(parts)


def literal(rng: random.Random) -> object:
    """A value to compare with; most are scalars."""
    roll = rng.random()
    if roll < 0.08:
        return [rng.choice(SCALARS) for _ in range(rng.randint(0, 2))]
    if roll < 0.14:
        return {name: rng.choice(SCALARS) for name in rng.sample(FIELDS, rng.randint(0, 2))}
    return rng.choice(SCALARS)


def operators(rng: random.Random, depth: int = 1) -> dict[str, object]:
    """One or two operators, as they stand under a path."""
    found: dict[str, object] = {}
    for _ in range(1 if rng.random() < 0.8 else 2):
        key = rng.choice(OPERATORS)
        match key:
            case "$eq" | "$ne":
                found[key] = literal(rng)
            case "$gt" | "$gte" | "$lt" | "$lte":
                found[key] = rng.choice([item for item in SCALARS if item is not None])
            case "$in" | "$nin" | "$all":
                found[key] = [literal(rng) for _ in range(rng.randint(1, 3))]
            case "$exists":
                found[key] = rng.choice((True, False))
            case "$size":
                found[key] = rng.randint(0, 3)
            case "$type":
                found[key] = rng.choice(("number", "string", "array", "object", "null", "bool", "date", "int"))
            case "$mod":
                found[key] = [rng.choice((2, 3)), rng.choice((0, 1))]
            case "$regex":
                found[key] = rng.choice(("^a", "b$", "a", "^ab$", "A"))
                if rng.random() < 0.3:
                    found["$options"] = "i"
            case "$not" if depth:
                found[key] = operators(rng, depth - 1)
            case "$elemMatch" if depth:
                found[key] = operators(rng, 0) if rng.random() < 0.5 else condition(rng, depth - 1)
    return found or {"$exists": True}


def condition(rng: random.Random, depth: int = 2, *, numeric: bool = True) -> dict[str, object]:
    """A filter."""
    found: dict[str, object] = {}
    for _ in range(1 if rng.random() < 0.6 else 2):
        roll = rng.random()
        if depth and roll < 0.3:
            key = rng.choice(("$and", "$or", "$nor"))
            found[key] = [condition(rng, depth - 1, numeric=numeric) for _ in range(rng.randint(1, 3))]
        elif roll < 0.55:
            found[path(rng, numeric=numeric)] = literal(rng)
        elif roll < 0.6:
            found[path(rng, numeric=numeric)] = Regex(rng.choice(("^a", "b$", "a")), 0)
        else:
            found[path(rng, numeric=numeric)] = operators(rng)
    return found
