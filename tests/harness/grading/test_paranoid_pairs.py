"""Paranoid mode: an equivalence that data contradicts does not stand."""

import json

from canon.verdict import Canonical, RowWitness, Table, Undecided, Witness
from harness.grading.comparing import contradicted
from harness.grading.pairs import Decider
from harness.grading.seams import MongoPair, SqlPair
from harness.grading.witnesses import RunningSearch

SHOWN = RowWitness(
    tables=(),
    expected=Table(name="expected", columns=("a",), rows=((1,),)),
    actual=Table(name="actual", columns=("a",), rows=()),
    reading="the golden query returns (1), the answer nothing",
)


class Finds:
    def search(self, pair: SqlPair | MongoPair) -> Witness | None:
        return SHOWN


def test_a_contradiction_is_shouted() -> None:
    pair = SqlPair(dialect="sqlite", expected="SELECT a FROM t", actual="SELECT a FROM t AS x")
    found = contradicted(pair, Canonical(absorbed=()), Finds())
    assert isinstance(found, Undecided)
    assert found.problem is not None
    assert found.problem.message.startswith("CONTRADICTION")
    assert SHOWN.reading is not None
    assert SHOWN.reading in found.problem.message


def test_the_line_of_a_pair_says_so() -> None:
    line = json.dumps(
        {"id": 1, "dialect": "sqlite", "a": "SELECT a FROM t WHERE b = 1", "b": "SELECT a FROM t WHERE 1 = b"}
    )
    calm = json.loads(Decider(witness=Finds()).decide(line, 1))
    paranoid = json.loads(Decider(witness=Finds(), paranoid=True).decide(line, 1))
    assert calm["relation"] == "equivalent"
    assert paranoid["relation"] == "undecided"
    assert "CONTRADICTION" in paranoid["error"]


def test_an_equivalence_that_holds_stays() -> None:
    line = json.dumps(
        {"id": 1, "dialect": "sqlite", "a": "SELECT a FROM t WHERE b = 1", "b": "SELECT a FROM t WHERE 1 = b"}
    )
    search = RunningSearch(budget_ms=200)
    assert json.loads(Decider(witness=search, paranoid=True).decide(line, 1))["relation"] == "equivalent"
