"""Pairs: one answer a line whatever the line holds, in order, the same on one process and on several."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.grading.pairs import Decider, PairLine, failed_line
from harness.grading.spreading import Deciding, decide_spread

KEYS = ["id", "relation", "basis", "absorbed", "differences", "witness", "ms", "error"]
DDL = "CREATE TABLE t (a INTEGER NOT NULL, b TEXT)"


def decided(**line: object) -> dict[str, object]:
    return json.loads(Deciding().decider().decide(json.dumps(line), 1))


SPLIT = "SELECT a FROM t WHERE (a > 1 AND b = 'x') OR (a > 1 AND b <> 'x')"
ABOVE_1, ABOVE_2 = "SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE a > 2"


@pytest.mark.parametrize(
    ("a", "b", "more", "relation", "basis"),
    [
        (ABOVE_1, ABOVE_1 + ";", {}, "identical", "identical"),
        (ABOVE_1, "SELECT a FROM t WHERE 1 < a", {}, "equivalent", "canonical"),
        (SPLIT, "SELECT a FROM t WHERE a > 1 AND b IS NOT NULL", {"schema": DDL}, "equivalent", "canonical"),
        (ABOVE_1, ABOVE_2, {"schema": DDL}, "different", "refuted"),
        (ABOVE_1, ABOVE_2, {"schema": DDL, "dialect": "sqlite"}, "different", "refuted"),
        ("SELECT a FROM t WHERE a > $1", ABOVE_2, {"args_a": [2]}, "equivalent", "canonical"),
        ("SELECT a, b FROM t", "SELECT b, a FROM t", {}, "equivalent", "canonical"),
        ("SELECT a, b FROM t", "SELECT b, a FROM t", {"columns": "ordered", "schema": DDL}, "different", "refuted"),
        ("SELECT * FROM t", "SELECT a, b FROM t", {"schema": DDL, "star": "expand"}, "equivalent", "canonical"),
        ('{"a": 1}', "{a: {$eq: 1}}", {"kind": "mongo"}, "equivalent", "canonical"),
        ('{"a": 1}', "{a: {$eq: 1}}", {"dialect": "mongodb-filter"}, "equivalent", "canonical"),
        ('{"a": 1}', '{"a": 2}', {"kind": "mongo"}, "different", "refuted"),
    ],
)
def test_relations(a: str, b: str, more: dict[str, object], relation: str, basis: str) -> None:
    answer = decided(id="x", a=a, b=b, **more)
    assert list(answer) == KEYS
    assert (answer["id"], answer["relation"], answer["basis"], answer["error"]) == ("x", relation, basis, None)
    assert (answer["witness"] is not None) == (basis == "refuted")


def test_the_default_dialect_is_for_lines_that_name_none() -> None:
    pair = {"a": 'SELECT "a" FROM t', "b": "SELECT a FROM t"}
    answers = [
        json.loads(Decider(dialect=dialect).decide(json.dumps({**pair, **own}), 1))["relation"]
        for dialect, own in (("mysql", {}), ("mysql", {"dialect": "postgres"}), (None, {}), ("sql", {}))
    ]
    assert answers == ["undecided", "equivalent", "equivalent", "equivalent"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "line 7 is no JSON: "),
        ("[1]", "line 7: "),
        ('{"id": "x", "a": "SELECT 1"}', "line 7: b: Field required"),
        ('{"id": "x", "a": 1, "b": "SELECT 1"}', "line 7: a: "),
        ('{"id": "x", "a": "SELECT 1", "b": "SELECT 2", "star": "all"}', "line 7: star: "),
        ('{"id": "x", "a": "SELECT 1", "b": "SELECT 2", "schema": "CREATE TABLE t ("}', "line 7: schema: "),
        ('{"id": "x", "a": "SELECT 1", "b": "DROP TABLE t"}', "b: "),
        ('{"id": "x", "a": "SELEC 1", "b": "SELECT 1"}', "a: "),
        ('{"id": "x", "a": "", "b": "SELECT 1"}', "a: "),
        ('{"id": "x", "a": "{a: }", "b": "{}", "kind": "mongo"}', "a: "),
        ('{"id": "x", "a": "SELECT 1", "b": "SELECT 2", "dialect": "klingon"}', ""),
    ],
)
def test_a_line_that_cannot_be_decided_gets_an_error_and_no_exception(line: str, error: str) -> None:
    answer = json.loads(Decider().decide(line, 7))
    assert (answer["relation"], answer["basis"], answer["witness"]) == ("undecided", "undecided", None)
    assert answer["error"].startswith(error)
    assert answer["id"] == ("x" if '"x"' in line else None)


def lines() -> Iterator[str]:
    for number in range(60):
        yield json.dumps({"id": number, "a": f"SELECT {number}", "b": f"SELECT {number + number % 3}"}) + "\n"
        if number % 20 == 0:
            yield "\n"
            yield "not JSON\n"


def without_times(answers: Iterator[str]) -> list[dict[str, object]]:
    return [{name: value for name, value in json.loads(answer).items() if name != "ms"} for answer in answers]


def test_processes_give_the_same_answers_in_the_same_order() -> None:
    alone = without_times(decide_spread(lines(), Deciding(witness=False), 1))
    spread = without_times(decide_spread(lines(), Deciding(witness=False), 2))
    assert spread == alone
    assert len(alone) == 63


class Dying(Deciding):
    """Makes a decider whose process dies of one pair."""

    def decider(self) -> Decider:
        return DyingDecider()


class DyingDecider(Decider):
    """Dies of the pair 21."""

    def decide(self, line: str, number: int) -> str:
        if '"id": 21,' in line:
            os._exit(9)
        return super().decide(line, number)


def test_a_pair_that_kills_its_process_costs_no_other_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    # The processes import this file by its path in the package of tests.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    from tests.harness.grading import test_pairs

    answers = without_times(decide_spread(lines(), test_pairs.Dying(witness=False), 2))
    alone = without_times(decide_spread(lines(), Deciding(witness=False), 1))
    dead = next(place for place, answer in enumerate(alone) if answer["id"] == 21)
    assert answers[dead]["error"] == "the process that compared the two died"
    assert answers[:dead] + answers[dead + 1 :] == alone[:dead] + alone[dead + 1 :]


def test_a_failed_line_keeps_its_id() -> None:
    assert json.loads(failed_line('{"id": 5}', "e"))["id"] == 5
    assert json.loads(failed_line("{", "e"))["error"] == "e"


def test_input_is_read_as_it_is_needed() -> None:
    class Endless(io.StringIO):
        read_lines = 0

        def __next__(self) -> str:
            self.read_lines += 1
            return '{"id": 1, "a": "SELECT 1", "b": "SELECT 1"}\n'

        def __iter__(self) -> Iterator[str]:
            return self

    source = Endless()
    answers = decide_spread(source, Deciding(witness=False), 1)
    assert [json.loads(next(answers))["relation"] for _ in range(3)] == ["identical"] * 3
    assert source.read_lines == 3


def test_a_pair_is_read_by_either_name_of_its_schema() -> None:
    assert PairLine.model_validate({"a": "x", "b": "y", "schema": DDL}).ddl == DDL
