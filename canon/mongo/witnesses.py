"""Documents on which two finds give different results, found by running both here on a few small collections.

Only plans of matches, sorts, windows and a projection are run; what a pipeline makes of its documents takes an
engine.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cmp_to_key
from itertools import pairwise, product
from time import monotonic

from pydantic import JsonValue

from canon.errors import ReadError
from canon.logic import forms
from canon.mongo import decision
from canon.mongo.algebra import Expression, written
from canon.mongo.display import document_json
from canon.mongo.expressions import evaluate
from canon.mongo.fields import Field
from canon.mongo.filters import Form, atoms_of, form_matches
from canon.mongo.matching import candidates
from canon.mongo.pipelines import Plan, Stage
from canon.mongo.shapes import Shape, roots_of
from canon.mongo.values import MISSING, Document, compare, text
from canon.verdict import DocumentWitness

_LONGEST = 60
"""Documents in a witness at most."""

Documents = list[Document]


def find_witness(
    expected: Plan,
    actual: Plan,
    fields: Mapping[str, Field],
    *,
    limit: int,
    deadline: float,
    outcome: "decision.Distinct | decision.Unclear | None" = None,
) -> DocumentWitness | None:
    """Look for documents on which two plans differ; `None` where none were found, or the plans are not to be run here.

    Args:
        expected: the golden's plan.
        actual: the answer's plan.
        fields: what is declared of paths.
        limit: how many kinds of documents may be tried.
        deadline: when to stop.
        outcome: what the decision of their filters has found, where it was asked.
    """
    if not (_runnable(expected) and _runnable(actual)):
        return None
    one, two = _condition(expected), _condition(actual)
    told: object = outcome
    if outcome is None and one != two:
        told = decision.decide(one, two, fields, limit=limit, deadline=deadline)
    if isinstance(told, decision.Distinct):
        found = _told_apart(expected, actual, [told.document])
        if found is not None:
            return found
    both = forms.conjunction([one, two])
    typical = decision.decide(both, forms.FALSE, fields, limit=limit, deadline=deadline)
    if not isinstance(typical, decision.Distinct):
        return None
    for collection in _collections(typical.document, both, expected, actual):
        if monotonic() > deadline:
            return None
        found = _told_apart(expected, actual, collection)
        if found is not None:
            return found
    return None


def _runnable(plan: Plan) -> bool:
    kinds = [stage.kind for stage in plan.stages]
    if plan.result == "count":
        kinds = kinds[:-1]
    if plan.result not in ("documents", "count") or not all(kind in ("match", "sort", "window") for kind in kinds):
        return False
    return not any(decision.is_made(atom) for stage in plan.stages for atom in atoms_of(stage.form))


def _condition(plan: Plan) -> Form:
    return forms.conjunction([stage.form for stage in plan.stages if stage.kind == "match"])


def _told_apart(expected: Plan, actual: Plan, collection: Documents) -> DocumentWitness | None:
    """A witness, if the two plans differ on a collection that can be: no `_id` occurs twice."""
    if len({text(document.get("_id", place)) for place, document in enumerate(collection)}) < len(collection):
        return None
    try:
        one, two = run(expected, collection), run(actual, collection)
    except (ReadError, ValueError, ArithmeticError):
        return None
    if [text(_sorted(document)) for document in one] == [text(_sorted(document)) for document in two]:
        return None
    if not (_settled(expected, collection) and _settled(actual, collection)):
        return None
    return DocumentWitness(
        collections={"": tuple(document_json(document) for document in collection)},
        expected=_shown(one),
        actual=_shown(two),
        reading=_reading(len(one), len(two)),
        confirmed_on=("regions",),
    )


def _shown(documents: Documents) -> tuple[JsonValue, ...]:
    return tuple(document_json(document) for document in documents)


def _reading(one: int, two: int) -> str:
    if one == two:
        return "the two return other documents, or the same in another order or form"
    return f"the expected query returns {_counted(one)}, the answer {_counted(two)}"


def _counted(number: int) -> str:
    return "nothing" if number == 0 else f"{number} document{'s' if number > 1 else ''}"


def _sorted(document: Document) -> Document:
    return dict(sorted(document.items()))


def _settled(plan: Plan, collection: Documents) -> bool:
    """Whether the order of a result, or the choice of a window, is no matter of chance."""
    keys = [stage for stage in plan.stages if stage.kind == "sort"]
    window = [stage for stage in plan.stages if stage.kind == "window"]
    if len(collection) == 1 or (not keys and not window):
        return True
    if window and not keys:
        # Which documents come first is open, how many come is not.
        return (
            len({text(_sorted(document)) for document in run(plan, collection)}) == 1
            or len({text(_sorted({**document, "_id": 0})) for document in collection}) == 1
        )
    order = _ordering(keys[-1])
    ranked = sorted(collection, key=cmp_to_key(order))
    return all(order(left, right) != 0 for left, right in pairwise(ranked))


# -- running ----------------------------------------------------------------------------------------------------------


def run(plan: Plan, collection: Documents) -> Documents:
    """The result of a plan on a collection.

    Raises:
        ReadError: a condition or an expression cannot be evaluated without a server.
        ValueError: a term of the plan cannot be evaluated here.
    """
    found = list(collection)
    for stage in plan.stages:
        match stage.kind:
            case "match":
                found = [document for document in found if form_matches(stage.form, document)]
            case "sort":
                found = sorted(found, key=cmp_to_key(_ordering(stage)))
            case "window":
                end = None if stage.limit is None else stage.skip + stage.limit
                found = found[stage.skip : end]
            case _:
                break
    if plan.result == "count":
        return [{"count": len(found)}]
    return [shaped(plan.shape, document) for document in found]


def _ordering(stage: Stage) -> Callable[[Document, Document], int]:
    keys = [key.rsplit(" ", 1) for key in stage.text.split(", ")]
    if any(order not in ("1", "-1") or path[:1] in "=#" for path, order in keys):
        raise ValueError("a sort by a computed value is not run here")

    def order(left: Document, right: Document) -> int:
        for path, direction in keys:
            sign = compare(_sort_value(left, path, direction), _sort_value(right, path, direction))
            if sign:
                return sign * int(direction)
        return 0

    return order


def _sort_value(document: Document, path: str, direction: str) -> object:
    """What a document sorts by: of an array, the least element, or the greatest when descending."""
    values = [None if value is MISSING else value for value in candidates(document, path)]
    if len(values) > 1:
        values = values[:-1]
    elif values and isinstance(values[0], list):
        return None
    if not values:
        return None
    chosen = values[0]
    for value in values[1:]:
        if compare(value, chosen) * int(direction) < 0:
            chosen = value
    return chosen


def shaped(shape: Shape, document: Document) -> Document:
    """A document in the shape of the result.

    Raises:
        ReadError: an expression cannot be evaluated without a server.
        ValueError: a term is of a stage's making.
    """
    found: Document = {} if shape.closed else dict(document)
    for name, term in shape.fields.items():
        value = _value(term, document)
        if value is MISSING:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def _value(term: Expression, document: Document) -> object:
    if term[0] in ("pick", "drop"):
        value = _value(term[1], document)
        return _reduced(value, term[2], picks=term[0] == "pick")
    if term[0] == "rec":
        parts = {name: _value(part, document) for name, part in term[1]}
        found = {name: part for name, part in parts.items() if part is not MISSING}
        if not found:
            raise ValueError("servers differ on a computed subdocument without any value")
        return found
    return evaluate(written(term), document)


def _reduced(value: object, paths: tuple[str, ...], *, picks: bool) -> object:
    if isinstance(value, list):
        reduced = [_reduced(item, paths, picks=picks) for item in value]
        return [item for item in reduced if item is not MISSING]
    if not isinstance(value, dict):
        return MISSING if picks else value
    found: Document = {}
    for name, item in value.items():
        below = tuple(path[len(name) + 1 :] for path in paths if path.startswith(name + "."))
        if name in paths:
            if picks:
                found[name] = item
        elif below:
            inner = _reduced(item, below, picks=picks)
            if inner is not MISSING:
                found[name] = inner
        elif not picks:
            found[name] = item
    return found


# -- collections to try -----------------------------------------------------------------------------------------------


def _collections(typical: Document, condition: Form, expected: Plan, actual: Plan) -> Iterator[Documents]:
    """Small collections of documents that pass both filters: with all fields shown, in two orders, and many."""
    roots = sorted((_shape_roots(expected.shape) | _shape_roots(actual.shape)) - {""})
    full = {**{root: 1 for root in roots if root not in typical}, **typical}
    first = full if form_matches(condition, full) else typical
    yield [{"_id": 1, **first, **({"other": 1} if "other" not in first else {})}]
    keys = sorted({path for plan in (expected, actual) for path in _sort_paths(plan)})
    if keys and len(keys) <= 4:
        yield from _pairs(first, condition, keys)
    for count in sorted(_window_sizes(expected) | _window_sizes(actual)):
        if 0 < count < _LONGEST:
            yield [{**first, "_id": number} for number in range(1, count + 2)]


def _pairs(first: Document, condition: Form, keys: list[str]) -> Iterator[Documents]:
    for left, right in product(product((1, 2), repeat=len(keys)), repeat=2):
        pair = [_with(first, keys, left, 1), _with(first, keys, right, 2)]
        if left != right and all(form_matches(condition, document) for document in pair):
            yield pair


def _with(document: Document, keys: list[str], values: tuple[int, ...], identity: int) -> Document:
    found: Document = {**document, "_id": identity}
    for key, value in zip(keys, values, strict=True):
        name, _, rest = key.partition(".")
        if not rest:
            found[name] = value
            continue
        inner: object = value
        for part in reversed(rest.split(".")):
            inner = {part: inner}
        known = found.get(name)
        found[name] = {**known, **inner} if isinstance(known, dict) and isinstance(inner, dict) else inner
    return found


def _sort_paths(plan: Plan) -> set[str]:
    return {
        key.rsplit(" ", 1)[0]
        for stage in plan.stages
        if stage.kind == "sort"
        for key in stage.text.split(", ")
        if key[:1] not in "=#"
    }


def _window_sizes(plan: Plan) -> set[int]:
    found: set[int] = set()
    for stage in plan.stages:
        if stage.kind == "window":
            found |= {stage.skip, stage.limit or 0, stage.skip + (stage.limit or 0)}
    return found


def _shape_roots(shape: Shape) -> set[str]:
    found: set[str] = set()
    for name, term in shape.fields.items():
        found |= roots_of(term) | ({name} if term[0] == "missing" else set())
    return found
