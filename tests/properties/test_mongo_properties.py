"""What is called equivalent agrees on every document tried; what is refuted comes with a document that shows it."""

import contextlib
import json
import random

import pytest
from bson.json_util import CANONICAL_JSON_OPTIONS, dumps
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canon.errors import ReadError
from canon.mongo import compare_mongo, matches, read_mongo
from canon.mongo.filters import form_matches, read_filter
from tests.canon.mongo.mongo_generators import condition, document

SETTINGS = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
SEEDS = st.integers(0, 2**32)


def _text(filter_: dict[str, object]) -> str:
    return dumps(filter_, json_options=CANONICAL_JSON_OPTIONS)


def _readable(rng: random.Random, depth: int = 2) -> dict[str, object]:
    """A filter that MongoDB takes."""
    while True:
        found = condition(rng, depth, numeric=False)
        try:
            read_filter(found)
        except ReadError:
            continue
        return found


def _preserved(rng: random.Random, one: dict[str, object], other: dict[str, object]) -> dict[str, object]:
    """A filter that means the same as `one`."""
    return rng.choice(
        (
            {"$and": [one, {"$or": [one, other]}]},
            {"$or": [one, {"$and": [other, one]}]},
            {"$nor": [{"$nor": [one]}]},
            {"$or": [{"$and": [one, other]}, {"$and": [one, {"$nor": [other]}]}]},
            {"$and": [{"$or": [one, other]}, {"$or": [one, {"$nor": [other]}]}]},
        )
    )


def _broken(rng: random.Random, one: dict[str, object], other: dict[str, object]) -> dict[str, object]:
    """A filter that most often means something else."""
    return rng.choice(
        ({"$nor": [one]}, {"$or": [one, other]}, {"$and": [one, other]}, {"$nor": [{"$and": [one, other]}]})
    )


@SETTINGS
@given(SEEDS)
def test_the_normal_form_matches_what_the_filter_matches(seed):
    rng = random.Random(seed)
    chosen = _readable(rng)
    form = read_filter(chosen).form
    for _ in range(25):
        row = document(rng)
        assert form_matches(form, row) == matches(chosen, row), (chosen, row)


@SETTINGS
@given(SEEDS)
def test_a_rewrite_that_preserves_the_meaning_is_never_refuted(seed):
    rng = random.Random(seed)
    one, other = _readable(rng, 1), _readable(rng, 1)
    verdict = compare_mongo(_text(one), _text(_preserved(rng, one, other)))
    assert verdict.relation in ("equivalent", "undecided"), verdict


@SETTINGS
@given(SEEDS)
def test_verdicts_hold_on_random_documents_and_in_both_directions(seed):
    rng = random.Random(seed)
    one, other = _readable(rng, 1), _readable(rng, 1)
    changed = _broken(rng, one, other) if rng.random() < 0.7 else other
    verdict = compare_mongo(_text(one), _text(changed))
    assert verdict.relation == compare_mongo(_text(changed), _text(one)).relation
    rows = [document(rng) for _ in range(60)]
    if verdict.relation in ("equivalent", "identical"):
        assert all(matches(one, row) == matches(changed, row) for row in rows), (one, changed)
    if verdict.relation == "different":
        (shown,) = verdict.witness.collections[""]
        row = read_mongo(json.dumps({"filter": shown})).filter
        assert matches(one, row) == bool(verdict.witness.expected)
        assert matches(changed, row) == bool(verdict.witness.actual)
        assert matches(one, row) != matches(changed, row)


@SETTINGS
@given(st.text(max_size=200))
def test_no_text_makes_reading_or_comparing_fail_otherwise_than_typed(text):
    with contextlib.suppress(ReadError):
        assert read_mongo(text).operation in ("find", "aggregate", "count", "distinct")
    verdict = compare_mongo(text, "{a: 1}")
    assert verdict.relation in ("identical", "equivalent", "different", "undecided")


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "db.o.find(",
            "{",
            "}",
            "[",
            "]",
            "(",
            ")",
            "a",
            ":",
            ",",
            "1",
            "'x'",
            "$gt",
            "/x/",
            "new Date(",
            "-",
            ".sort(",
            "null",
        ]
    ),
    max_size=25,
).map("".join)


@SETTINGS
@given(FRAGMENTS)
def test_no_broken_query_makes_comparing_fail_otherwise_than_typed(text):
    verdict = compare_mongo("{a: 1}", text)
    assert verdict.relation in ("identical", "equivalent", "different", "undecided")


HOSTILE = {
    "10,000 members, reordered": (
        json.dumps({"a": {"$in": list(range(10_000))}}),
        json.dumps({"a": {"$in": list(reversed(range(10_000)))}}),
        "equivalent",
    ),
    "10,000 members, one missing": (
        json.dumps({"a": {"$in": list(range(10_000))}}),
        json.dumps({"a": {"$in": list(range(9_999))}}),
        "different",
    ),
    "5,000 disjuncts, one missing": (
        json.dumps({"$or": [{"a": n, "b": n} for n in range(5_000)]}),
        json.dumps({"$or": [{"a": n, "b": n} for n in range(4_999)]}),
        "undecided",
    ),
    "200 levels": ('{"$and":[' * 200 + '{"a":1}' + "]}" * 200, "{}", "undecided"),
    "45 levels of $elemMatch": (
        '{"a":' + '{"$elemMatch":{"b":' * 45 + "1" + "}}" * 45 + "}",
        '{"a":' + '{"$elemMatch":{"b":' * 45 + "2" + "}}" * 45 + "}",
        None,
    ),
    "1 MB of text": ("{a: '" + "x" * 1_000_000 + "'}", "{}", "undecided"),
    "a pattern that backtracks": (
        '{"a": {"$regex": "(a+)+$"}}',
        '{"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}',
        "different",
    ),
    "lone surrogates": ('{"a": "\\ud800"}', '{"a": {"$gt": "\\udfff"}}', "different"),
    "60 by 60 alternatives": (
        json.dumps({"$and": [{"$or": [{"a": {"$gt": n}}, {"b": {"$lt": n}}]} for n in range(60)]}),
        json.dumps({"$or": [{"$and": [{"a": {"$gt": n}}, {"b": {"$lt": n}}]} for n in range(60)]}),
        "different",
    ),
    "numbers at the edge": ("{a: NumberDecimal('NaN')}", "{a: NumberDecimal('1E+6144')}", "different"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pairs_get_a_typed_answer(name):
    one, two, relation = HOSTILE[name]
    verdict = compare_mongo(one, two)
    assert relation in (None, verdict.relation)
    if verdict.relation == "undecided":
        assert verdict.problem or verdict.differences
