"""Labelled pairs: hand-written filters, and finds and pipelines as models write them."""

import json
from pathlib import Path

import pytest

from canon.mongo import compare_mongo, exact, read_mongo
from canon.mongo.matching import matches

HERE = Path(__file__).parent
FILTERS = [json.loads(line) for line in (HERE / "filter-pairs.jsonl").read_text("utf-8").splitlines()]
QUERIES = [json.loads(line) for line in (HERE / "query-pairs.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", FILTERS, ids=lambda row: row["id"])
def test_filter_pairs_are_decided_as_labelled_in_both_directions(row):
    for a, b in ((row["a"], row["b"]), (row["b"], row["a"])):
        assert compare_mongo(a, b).relation == row["label"]


@pytest.mark.parametrize("row", [row for row in FILTERS if row["label"] == "different"], ids=lambda row: row["id"])
def test_a_witness_of_a_filter_pair_runs_again(row):
    verdict = compare_mongo(row["a"], row["b"])
    (document,) = verdict.witness.collections[""]
    sides = [matches(read_mongo(row[side]).filter, read_mongo(json.dumps(document)).filter) for side in "ab"]
    assert sides == [bool(verdict.witness.expected), bool(verdict.witness.actual)]
    assert sides[0] != sides[1]
    assert verdict.differences


@pytest.mark.parametrize("row", QUERIES, ids=lambda row: row["id"])
def test_query_pairs_are_confirmed_or_never_joined(row):
    for a, b in ((row["a"], row["b"]), (row["b"], row["a"])):
        verdict = compare_mongo(a, b)
        if row["label"] == "equivalent":
            assert verdict.basis == "canonical"
        else:
            assert verdict.relation in ("different", "undecided")
            assert verdict.problem is None if verdict.relation == "undecided" else verdict.witness
            assert verdict.differences


@pytest.mark.parametrize("row", FILTERS + QUERIES, ids=lambda row: row["id"])
def test_a_query_against_itself_is_identical_and_has_one_fingerprint(row):
    for side in "ab":
        if "$sample" in row[side]:
            continue
        assert compare_mongo(row[side], row[side]).relation == "identical"
        assert exact(row[side], row[side])
        assert read_mongo(row[side]).fingerprint() == read_mongo(" " + row[side]).fingerprint()


@pytest.mark.parametrize("row", [row for row in QUERIES if row["label"] == "different"], ids=lambda row: row["id"])
def test_different_queries_have_different_fingerprints(row):
    assert read_mongo(row["a"]).fingerprint() != read_mongo(row["b"]).fingerprint()
