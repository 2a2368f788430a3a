"""What a person would say is wrong with a filter: the conditions of one side that the other has not, told in pairs."""

from collections.abc import Hashable

from canon.logic import forms
from canon.mongo.display import atom_text, form_text
from canon.mongo.filters import Atom, Form, Literal
from canon.mongo.pipelines import Plan, Stage
from canon.mongo.values import bracket
from canon.verdict import Difference, DifferenceKind

_BOUNDS = {"$gt": "$gte", "$gte": "$gt", "$lt": "$lte", "$lte": "$lt"}
_MOST = 12


def filter_differences(expected: Form, actual: Form, where: str) -> tuple[Difference, ...]:
    """The differences of two forms, at most a dozen."""
    if expected == actual:
        return ()
    if _literals(expected) == _literals(actual):
        return (
            Difference(kind="boolean_structure", where=where, expected=form_text(expected), actual=form_text(actual)),
        )
    wanted, given = _conjuncts(expected), _conjuncts(actual)
    missing = sorted(wanted - given, key=form_text)[:_MOST]
    extra = sorted(given - wanted, key=form_text)[:_MOST]
    found: list[Difference] = []
    for want in list(missing):
        partner = _partner(want, extra)
        if partner is not None:
            missing.remove(want)
            extra.remove(partner)
            found.append(_paired(want, partner, where))
    found += [
        Difference(kind="missing_predicate", where=where, expected=form_text(part), field=_field(part))
        for part in missing
    ]
    found += [
        Difference(kind="extra_predicate", where=where, actual=form_text(part), field=_field(part)) for part in extra
    ]
    if not found:
        found = [
            Difference(kind="boolean_structure", where=where, expected=form_text(expected), actual=form_text(actual))
        ]
    return tuple(found[:_MOST])


def _literals(form: Form) -> frozenset[Hashable]:
    if isinstance(form, forms.Junction):
        return frozenset().union(*(_literals(part) for part in form.parts))
    return frozenset({form})


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


# -- plans ------------------------------------------------------------------------------------------------------------

_KINDS: dict[str, DifferenceKind] = {
    "sort": "sort_key",
    "window": "limit",
    "unwind": "pipeline_stage",
    "group": "grouping",
    "lookup": "join_condition",
    "shape": "projection",
    "opaque": "pipeline_stage",
}


def plan_differences(expected: Plan, actual: Plan) -> tuple[Difference, ...]:
    """The differences of two plans, stage by stage."""
    found: list[Difference] = []
    one, two = _by_kind(expected), _by_kind(actual)
    for kind in dict.fromkeys([*one, *two]):
        wanted, given = one.get(kind, []), two.get(kind, [])
        for place in range(max(len(wanted), len(given))):
            want = wanted[place] if place < len(wanted) else None
            other = given[place] if place < len(given) else None
            if (want.shown if want else None) != (other.shown if other else None):
                found.extend(_stage_differences(kind, want, other))
    found.extend(_shape_differences(expected, actual))
    if not found and expected.key != actual.key:
        found.append(Difference(kind="pipeline_stage", where="pipeline", expected=expected.key, actual=actual.key))
    return tuple(found[:_MOST])


def _by_kind(plan: Plan) -> dict[str, list[Stage]]:
    found: dict[str, list[Stage]] = {}
    grouped = False
    for stage in plan.stages:
        kind = stage.kind if stage.kind != "match" or not grouped else "having"
        grouped = grouped or stage.kind == "group"
        found.setdefault(kind, []).append(stage)
    return found


def _stage_differences(kind: str, want: Stage | None, other: Stage | None) -> list[Difference]:
    if kind in ("match", "having"):
        one = want.form if want else forms.TRUE
        two = other.form if other else forms.TRUE
        where = "filter" if kind == "match" else "$match after $group"
        found = list(filter_differences(one, two, where))
        if kind == "having":
            return [
                Difference(kind="having", where=where, expected=part.expected, actual=part.actual, field=part.field)
                for part in found
            ]
        return found
    if kind == "window":
        return _window_differences(want, other)
    if kind == "sort" and want is not None and other is not None:
        return [_sort_difference(want.text, other.text)]
    if kind == "group" and want is not None and other is not None and want.text == other.text:
        return [
            Difference(
                kind="aggregate",
                where="$group",
                expected=", ".join(sorted(set(want.made) - set(other.made))).replace("#", "") or None,
                actual=", ".join(sorted(set(other.made) - set(want.made))).replace("#", "") or None,
            )
        ]
    return [
        Difference(
            kind=_KINDS[kind],
            where=f"${kind}" if kind not in ("opaque", "shape") else "pipeline",
            expected=want.shown if want else None,
            actual=other.shown if other else None,
        )
    ]


def _window_differences(want: Stage | None, other: Stage | None) -> list[Difference]:
    found: list[Difference] = []
    one = (want.skip, want.limit) if want else (0, None)
    two = (other.skip, other.limit) if other else (0, None)
    if one[1] != two[1]:
        shown = [str(value) if value is not None else None for value in (one[1], two[1])]
        found.append(Difference(kind="limit", where="limit", expected=shown[0], actual=shown[1]))
    if one[0] != two[0]:
        shown = [str(value) if value else None for value in (one[0], two[0])]
        found.append(Difference(kind="offset", where="skip", expected=shown[0], actual=shown[1]))
    return found


def _sort_difference(want: str, other: str) -> Difference:
    names = [[key.rsplit(" ", 1)[0] for key in shown.split(", ")] for shown in (want, other)]
    kind: DifferenceKind = "sort_direction" if names[0] == names[1] else "sort_key"
    return Difference(kind=kind, where="sort", expected=want, actual=other)


def _shape_differences(expected: Plan, actual: Plan) -> list[Difference]:
    if expected.output == actual.output:
        return []
    return [Difference(kind="projection", where="result", expected=expected.output, actual=actual.output)]
