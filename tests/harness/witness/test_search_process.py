"""The search behind a process boundary: the same answers, and an end that no query can put off."""

import time

from canon.verdict import RowWitness
from harness.witness.search import NotFound, find_witness
from harness.witness.worker import GRACE, SearchProcess

DDL = "CREATE TABLE t (a INTEGER, b TEXT)"


def test_answers_as_the_search_itself() -> None:
    asked = ("SELECT a FROM t WHERE a > 3", "SELECT a FROM t WHERE a >= 3")
    with SearchProcess() as process:
        found = process.find(*asked, dialect="sqlite", schema=DDL)
    assert isinstance(found, RowWitness)
    assert found == find_witness(*asked, dialect="sqlite", schema=DDL)


def test_a_query_that_does_not_let_go_is_killed_and_the_next_one_answered() -> None:
    # One opcode that runs for minutes: the deadline inside the engine is never looked at.
    stuck = "SELECT printf('%.*c', 900000000, 'x') FROM t"
    with SearchProcess() as process:
        process.find("SELECT a FROM t", "SELECT b FROM t", dialect="sqlite", schema=DDL)
        started = time.monotonic()
        found = process.find(stuck, "SELECT b FROM t", dialect="sqlite", schema=DDL, budget_ms=500)
        assert time.monotonic() - started < 0.5 + GRACE + 2
        assert isinstance(found, NotFound)
        assert found.reason in {"budget", "none found", "not runnable"}
        after = process.find("SELECT a FROM t", "SELECT b FROM t", dialect="sqlite", schema=DDL)
    assert isinstance(after, RowWitness)


def test_surrogates_in_a_query_do_no_harm() -> None:
    with SearchProcess() as process:
        found = process.find("SELECT a FROM t WHERE b = '\ud800'", "SELECT a FROM t", dialect="sqlite", schema=DDL)
    assert isinstance(found, RowWitness | NotFound)
