"""Only what asked the same and expected the same is compared; the rest is reported, never dropped in silence."""

import pytest

from harness.comparison.alignment import align
from harness.comparison.sides import CaseSide, Side, side_of_run, with_unique_labels
from tests import synthetic_runs as made


def case(identity, digest="d", grade="EXACT", **changes):
    passes = int(grade in ("EXACT", "EQUIVALENT", "REFUSED"))
    return CaseSide(id=identity, grade=grade, passes=passes, attempts=1, digest=digest, **changes)


def side(label, *cases):
    return Side(label=label, source=f"{label}.csv", cases=cases)


def test_the_same_cases_in_another_order_are_all_compared_in_the_order_of_the_first():
    compared, alignment = align([side("a", case("1"), case("2")), side("b", case("2"), case("1"))])
    assert [each.id for each in compared] == ["1", "2"]
    assert alignment.clean
    assert alignment.compared == 2


def test_missing_ids_are_named_by_side():
    compared, alignment = align([side("a", case("1"), case("2")), side("b", case("2"), case("3"))])
    assert [each.id for each in compared] == ["2"]
    assert alignment.missing == {"a": ("3",), "b": ("1",)}
    assert not alignment.clean


def test_duplicated_ids_are_named_and_not_compared():
    compared, alignment = align(
        [side("a", case("1"), case("1", grade="FAIL"), case("2")), side("b", case("1"), case("2"))]
    )
    assert [each.id for each in compared] == ["2"]
    assert alignment.duplicated == {"a": ("1",)}


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ({"expected": "SELECT 1"}, {"expected": "SELECT 2"}, "the golden query"),
        ({"nl": "one"}, {"nl": "two"}, "the sentence"),
        (
            {"nl": "one", "expected": "SELECT 1"},
            {"nl": "two", "expected": "SELECT 2"},
            "the sentence and the golden query",
        ),
        ({"tags": ("a",)}, {"tags": ("b",)}, "the tags"),
        ({"group": "g"}, {"group": "h"}, "the group"),
        ({}, {}, "its clock, scope, alternatives or rules"),
    ],
)
def test_an_edited_golden_row_is_reported_with_what_changed_and_never_compared(before, after, what):
    sides = [side("a", case("1", "old", **before), case("2")), side("b", case("1", "new", **after), case("2"))]
    compared, alignment = align(sides)
    assert [each.id for each in compared] == ["2"]
    assert [(each.id, each.what, each.labels) for each in alignment.changed] == [("1", what, ("b",))]


def test_an_edit_is_seen_in_the_third_run_and_in_runs_that_lack_the_first():
    sides = [
        side("a", case("1"), case("2")),
        side("b", case("1"), case("3", "x")),
        side("c", case("1", "z"), case("3", "y")),
    ]
    compared, alignment = align(sides)
    assert compared == ()
    assert [(each.id, each.labels) for each in alignment.changed] == [("1", ("c",)), ("3", ("c",))]


def test_without_digests_sentence_and_golden_decide_and_the_report_says_so():
    sides = [
        side("a", case("1", None, nl="n", expected="q"), case("2", None, nl="n", expected="q"), case("3", None)),
        side("b", case("1", "d", nl="n", expected="q"), case("2", "d", nl="n", expected="other"), case("3", "d")),
    ]
    compared, alignment = align(sides)
    assert [each.id for each in compared] == ["1", "3"]
    assert [each.id for each in alignment.changed] == ["2"]
    assert alignment.undigested == ("a",)


def test_a_changed_row_of_a_real_run_changes_its_digest():
    pairs = made.sample_pairs()
    edited_case = pairs[0][0].model_copy(update={"tags": ("other",)})
    edited = [(edited_case, made.result(edited_case, made.exact(edited_case))), *pairs[1:]]
    runs = [made.memory_run(each) for each in (pairs, edited)]
    _, alignment = align([side_of_run(f"run{i}", run.facts, run.results()) for i, run in enumerate(runs)])
    assert [(each.id, each.what) for each in alignment.changed] == [(pairs[0][0].id, "the tags")]


@pytest.mark.parametrize(
    ("models", "names", "labels"),
    [
        (("m", "n"), ("r", "s"), ("m", "n")),
        (("m", "m"), ("r", "s"), ("r", "s")),
        (("m", "m"), ("r", "r"), ("0.csv", "1.csv")),
    ],
)
def test_labels_are_the_shortest_names_that_tell_the_runs_apart(models, names, labels):
    sides = [
        Side(label=model, source=f"{index}.csv", cases=(), model=model, facts=made.facts(name=name, model=model))
        for index, (model, name) in enumerate(zip(models, names, strict=True))
    ]
    assert tuple(each.label for each in with_unique_labels(sides)) == labels


def test_a_run_compared_with_itself_gets_numbered_labels():
    one = side("a", case("1"))
    assert [each.label for each in with_unique_labels([one, one])] == ["a.csv (1)", "a.csv (2)"]
