"""Canonical boolean forms: order, nesting, duplicates and absorption vanish; nothing else does."""

import pytest

from canon.logic.forms import FALSE, TRUE, Junction, conjunction, disjunction, members

JOINED = [
    (conjunction(["a", "b"]), conjunction(["b", "a"])),
    (conjunction(["a", conjunction(["b", "c"])]), conjunction(["a", "b", "c"])),
    (disjunction(["a", disjunction(["b", "a"])]), disjunction(["a", "b"])),
    (conjunction(["a", "a"]), "a"),
    (conjunction(["a", disjunction(["a", "b"])]), "a"),
    (disjunction(["a", conjunction(["a", "b"])]), "a"),
    (conjunction([]), TRUE),
    (disjunction([]), FALSE),
    (conjunction(["a", FALSE]), FALSE),
    (conjunction(["a", TRUE]), "a"),
    (disjunction(["a", TRUE]), TRUE),
    (
        conjunction([disjunction(["a", "b"]), disjunction(["a", "b", "c"])]),
        disjunction(["a", "b"]),
    ),
]


@pytest.mark.parametrize(("left", "right"), JOINED)
def test_forms_that_mean_the_same_are_equal(left, right):
    assert left == right


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (conjunction(["a", "b"]), disjunction(["a", "b"])),
        (conjunction(["a", disjunction(["b", "c"])]), disjunction([conjunction(["a", "b"]), "c"])),
        (conjunction(["a", "not a"]), FALSE),
        (disjunction(["a", "not a"]), TRUE),
    ],
)
def test_forms_that_mean_something_else_stay_apart(left, right):
    assert left != right


def test_members_of_another_kind_is_the_form_alone():
    form = conjunction(["a", "b"])
    assert members(form, "and") == {"a", "b"}
    assert members(form, "or") == {form}
    assert isinstance(form, Junction)
