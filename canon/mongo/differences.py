"""What a person would say is wrong with a filter: the conditions of one side that the other has not, told in pairs."""

from collections.abc import Hashable

from canon.logic import forms
from canon.mongo.display import atom_text, form_text
from canon.mongo.filters import Atom, Form, Literal
from canon.mongo.values import bracket
from canon.verdict import Difference, DifferenceKind

_BOUNDS = {"$gt": "$gte", "$gte": "$gt", "$lt": "$lte", "$lte": "$lt"}
_MOST = 12


def filter_differences(expected: Form, actual: Form, where: str) -> tuple[Difference, ...]:
    """The differences of two forms, at most a dozen."""
    if expected == actual:
        return ()
    wanted, given = _conjuncts(expected), _conjuncts(actual)
    missing = sorted(wanted - given, key=form_text)
    extra = sorted(given - wanted, key=form_text)
    found: list[Difference] = []
    for want in list(missing):
        partner = _partner(want, extra)
        if partner is not None:
            missing.remove(want)
            extra.remove(partner)
            found.append(_paired(want, partner, where))
    found += [
        Difference(kind="missing_predicate", where=where, expected=form_text(part), field=_field(part)) for part in missing
    ]
    found += [Difference(kind="extra_predicate", where=where, actual=form_text(part), field=_field(part)) for part in extra]
    if not found:
        found = [
            Difference(kind="boolean_structure", where=where, expected=form_text(expected), actual=form_text(actual))
        ]
    return tuple(found[:_MOST])


def _conjuncts(form: Form) -> set[Hashable]:
    return set() if form == forms.TRUE else set(forms.members(form, "and"))


def _field(part: Form) -> str | None:
    if isinstance(part, Literal):
        return ".".join(part.atom.path) or None
    if isinstance(part, forms.Junction):
        fields = {_field(inner) for inner in part.parts}
        return fields.pop() if len(fields) == 1 else None
    return None


def _partner(want: Form, others: list[Form]) -> Form | None:
    """The condition that was meant to be `want`: on the same field, else with the same value."""
    field = _field(want)
    on_field = [other for other in others if _field(other) == field and field is not None]
    if on_field:
        return max(on_field, key=lambda other: (_likeness(want, other), form_text(other)))
    if isinstance(want, Literal):
        for other in others:
            if isinstance(other, Literal) and _body(other.atom) == _body(want.atom) and other.positive == want.positive:
                return other
    if isinstance(want, forms.Junction):
        same = [other for other in others if isinstance(other, forms.Junction)]
        return same[0] if same else None
    return None


def _body(atom: Atom) -> str:
    return atom.key.removeprefix(".".join(atom.path))


def _likeness(want: Form, other: Form) -> int:
    if not isinstance(want, Literal) or not isinstance(other, Literal):
        return int(type(want) is type(other))
    same = (want.positive == other.positive) + (want.atom.operator == other.atom.operator)
    same += want.atom.operator[:3] == other.atom.operator[:3]
    return same + 2 * (_body(want.atom).split(" ", 2)[-1] == _body(other.atom).split(" ", 2)[-1])


def _paired(want: Form, other: Form, where: str) -> Difference:
    kind: DifferenceKind = "boolean_structure"
    field = _field(want)
    if isinstance(want, Literal) and isinstance(other, Literal):
        kind = _literal_kind(want, other)
        if kind == "wrong_field":
            field = None
    elif _atoms(want) != _atoms(other):
        kind = "wrong_value" if field is not None and _operators(want) == _operators(other) else "boolean_structure"
    return Difference(kind=kind, where=where, expected=form_text(want), actual=form_text(other), field=field)


def _literal_kind(want: Literal, other: Literal) -> DifferenceKind:
    one, two = want.atom, other.atom
    if one.path != two.path:
        return "wrong_field"
    if want.positive != other.positive:
        return "wrong_operator"
    if one.operator == two.operator:
        both_dates = one.operator not in ("value", "document", "$expr", "opaque") and (
            bracket(one.argument) == bracket(two.argument) == "date"
        )
        return "date_resolution" if both_dates else "wrong_value"
    if _BOUNDS.get(one.operator) == two.operator and _body(one).split(" ")[-1] == _body(two).split(" ")[-1]:
        return "bound_inclusivity"
    return "wrong_operator"


def _atoms(form: Form) -> frozenset[str]:
    if isinstance(form, Literal):
        return frozenset({atom_text(form.atom)})
    if isinstance(form, forms.Junction):
        return frozenset().union(*(_atoms(part) for part in form.parts))
    return frozenset()


def _operators(form: Form) -> frozenset[tuple[str, bool]]:
    if isinstance(form, Literal):
        return frozenset({(form.atom.operator, form.positive)})
    if isinstance(form, forms.Junction):
        return frozenset().union(*(_operators(part) for part in form.parts))
    return frozenset()
