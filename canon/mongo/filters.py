"""Filters in normal form: AND/OR over atoms and negated atoms, in Mongo's two-valued logic.

An atom says that one operator holds on one path, `$expr` or opaque operators being atoms of their own. Negation is
exact complement, so it always ends in an atom's sign.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bson import Decimal128, Int64, Regex

from canon.errors import ReadError
from canon.logic import forms
from canon.mongo import matching
from canon.mongo.algebra import Expression, canonical_expression, read_expression, show
from canon.mongo.expressions import evaluate, truthy
from canon.mongo.extended import read_iso
from canon.mongo.fields import Field
from canon.mongo.identities import Trace
from canon.mongo.values import Document, text

Form = Hashable
Path = tuple[str, ...]

_MOST_ABSORBED = 300
"""Junctions within one junction past which absorption, which compares each with each, is left to the decision."""

OPAQUE_TOP = frozenset({"$text", "$jsonSchema"})
OPAQUE_LEAF = frozenset(
    {
        "$geoWithin",
        "$geoIntersects",
        "$near",
        "$nearSphere",
        "$bitsAllSet",
        "$bitsAllClear",
        "$bitsAnySet",
        "$bitsAnyClear",
        "$within",
    }
)
ORDERED = frozenset({"$gt", "$gte", "$lt", "$lte"})


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """One condition on one path.

    Attributes:
        path: the parts of the path; empty for the element itself within `$elemMatch`, and for `$expr` and opaque
        operators.
        operator: `$eq`, `$gt`, `$gte`, `$lt`, `$lte`, `$regex`, `$mod`, `$type`, `$exists`, `$size`, `value` or
        `document` (the two
            forms of `$elemMatch`), `$expr`, or `opaque`.
        argument: the operator's argument: a BSON value, or the inner form of an `$elemMatch`.
        key: a text that is equal exactly for equal atoms.
    """

    path: Path
    operator: str
    argument: object
    key: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Literal(NamedTuple):
    """An atom or its complement."""

    atom: Atom
    positive: bool


@dataclass(slots=True)
class Reader:
    """Reads filters into forms.

    Attributes:
        fields: what is declared of paths.
        trace: which identities were used.
        coerced: whether a text was read as the date that its path is declared to hold.
    """

    fields: Mapping[str, Field]
    trace: Trace
    coerced: bool = False

    # -- structure ------------------------------------------------------------------------------------------------

    def filter(self, condition: Document, positive: bool = True) -> Form:
        """The form of a filter, or of its complement."""
        if len(condition) > 1:
            self.trace.note("implicit_and")
        return self.joined([self.clause(key, value, positive) for key, value in condition.items()], positive)

    def joined(self, parts: list[Form], conjunctive: bool) -> Form:
        """AND the parts, or OR them where they have been complemented."""
        return simplified("and" if conjunctive else "or", parts, self.trace)

    def clause(self, key: str, value: object, positive: bool) -> Form:
        """The form of one member of a filter."""
        if key[:1] != "$":
            return self.path(self.located(key), value, positive)
        if key in ("$and", "$or", "$nor"):
            return self.junction(key, value, positive)
        if key == "$expr":
            return self.expression(read_expression(value, self.trace), positive)
        if key == "$comment":
            self.trace.note("comment_dropped")
            return forms.TRUE if positive else forms.FALSE
        if key in ("$alwaysTrue", "$alwaysFalse"):
            self.trace.note("constant")
            return forms.TRUE if (key == "$alwaysTrue") == positive else forms.FALSE
        if key in OPAQUE_TOP:
            return self.atom((), "opaque", {key: value}, positive)
        raise ReadError("unparseable", f"{key} is no operator of a filter")

    def junction(self, key: str, value: object, positive: bool) -> Form:
        """The form of `$and`, `$or` or `$nor`."""
        members = matching.members(key, value)
        if key == "$nor":
            self.trace.note("exclusion")
            positive = not positive
        if not positive:
            self.trace.note("de_morgan")
        conjunctive = (key == "$and") == positive
        if key == "$and":
            self.trace.note("implicit_and")
        return simplified(
            "and" if conjunctive else "or", [self.filter(member, positive) for member in members], self.trace
        )

    # -- paths ----------------------------------------------------------------------------------------------------

    def located(self, path: str) -> Path:
        """A path of the filter as a path of the documents that the filter is decided on."""
        return tuple(path.split("."))

    def path(self, path: Path, condition: object, positive: bool) -> Form:
        """The form of a condition on a path."""
        if isinstance(condition, dict) and matching.is_operators(condition):
            return self.operators(path, condition, positive)
        return self.equality(path, condition, positive)

    def operators(self, path: Path, condition: Document, positive: bool) -> Form:
        """The form of a document of operators."""
        if "$options" in condition and "$regex" not in condition:
            raise ReadError("unparseable", "$options stands beside $regex")
        parts = [
            self.operator(path, key, argument, condition, positive)
            for key, argument in condition.items()
            if key != "$options" and key not in ("$maxDistance", "$minDistance")
        ]
        if len(parts) > 1:
            self.trace.note("implicit_and")
        return self.joined(parts, positive)

    def operator(self, path: Path, key: str, argument: object, siblings: Document, positive: bool) -> Form:
        """The form of one operator."""
        match key:
            case "$eq":
                self.trace.note("explicit_equality")
                return self.compared(path, "$eq", argument, positive)
            case "$ne":
                self.trace.note("exclusion")
                if isinstance(argument, Regex):
                    raise ReadError("unparseable", "$ne takes no regular expression; use $not")
                return self.compared(path, "$eq", argument, not positive)
            case "$in" | "$nin":
                self.trace.note("membership")
                if key == "$nin":
                    self.trace.note("exclusion")
                return self.membership(path, argument, positive == (key == "$in"))
            case "$not":
                return self.complement(path, argument, positive)
            case "$all":
                return self.all_members(path, argument, positive)
            case "$gt" | "$gte" | "$lt" | "$lte":
                return self.bound(path, key, argument, positive)
            case _:
                return self.other(path, key, argument, siblings, positive)

    def complement(self, path: Path, argument: object, positive: bool) -> Form:
        """The form of `$not`."""
        self.trace.note("exclusion")
        inner = matching.negated(argument)
        if isinstance(inner, dict):
            if "$not" in inner or not positive:
                self.trace.note("double_negation")
            if len(inner) > 1:
                self.trace.note("de_morgan")
        return self.path(path, inner, not positive)

    def other(self, path: Path, key: str, argument: object, siblings: Document, positive: bool) -> Form:
        """The form of an operator that is neither equality, order, membership nor complement."""
        match key:
            case "$exists":
                if not isinstance(argument, bool):
                    self.trace.note("exists_truth")
                if not truthy(argument):
                    self.trace.note("exists_truth")
                return self.atom(path, "$exists", True, positive == truthy(argument))
            case "$regex":
                self.trace.note("regex_notation")
                if "$options" in siblings:
                    argument = matching.compiled_pattern(argument, siblings["$options"])
                elif not isinstance(argument, Regex):
                    argument = matching.compiled_pattern(argument, "")
                return self.atom(path, "$regex", argument, positive)
            case "$elemMatch":
                return self.element_match(path, argument, positive)
            case "$size":
                return self.atom(path, "$size", matching.size_argument(argument), positive)
            case "$mod":
                return self.atom(path, "$mod", list(matching.mod_arguments(argument)), positive)
            case "$type":
                names = sorted(matching.type_names(argument))
                if [argument] != names:
                    self.trace.note("type_spelling")
                return self.atom(path, "$type", names, positive)
            case _ if key in OPAQUE_LEAF:
                extra = {name: item for name, item in siblings.items() if name in ("$maxDistance", "$minDistance")}
                return self.atom(path, "opaque", {key: argument, **extra}, positive)
            case _:
                raise ReadError("unparseable", f"{key} is no operator of a filter")

    def equality(self, path: Path, value: object, positive: bool) -> Form:
        """A value as condition: equal to it, or matched by it where it is a regular expression."""
        if isinstance(value, Regex):
            self.trace.note("regex_notation")
            return self.atom(path, "$regex", value, positive)
        return self.compared(path, "$eq", value, positive)

    def compared(self, path: Path, key: str, value: object, positive: bool) -> Form:
        """An atom that compares with a value."""
        kind = type(value)
        if kind is str:
            value = self.literal(path, value)
        elif (kind is float and value == value // 1) or kind in (Int64, Decimal128):  # type: ignore[operator]
            self.trace.note("number_spelling")
        return self.atom(path, key, value, positive)

    def literal(self, path: Path, value: object) -> object:
        """A string literal of a declared date as the date."""
        declared = self.fields.get(".".join(path)) if self.fields else None
        if declared is None or not isinstance(value, str):
            return value
        if declared.type == "date" or (declared.type == "array" and declared.item == "date"):
            moment = read_iso(value)
            if moment is not None:
                self.trace.note("date_text")
                self.coerced = True
                return moment
        return value

    def bound(self, path: Path, key: str, argument: object, positive: bool) -> Form:
        """The form of an ordering operator."""
        if isinstance(argument, Regex):
            raise ReadError("unparseable", f"{key} takes no regular expression")
        if argument is None:
            self.trace.note("null_bound")
            if key in ("$gte", "$lte"):
                return self.atom(path, "$eq", None, positive)
            return forms.FALSE if positive else forms.TRUE
        return self.compared(path, key, argument, positive)

    def membership(self, path: Path, argument: object, positive: bool) -> Form:
        """The form of `$in`, or of its complement."""
        if not isinstance(argument, list):
            raise ReadError("unparseable", f"$in and $nin take a list, not {argument!r:.60}")
        if not argument:
            self.trace.note("constant")
        for member in argument:
            if isinstance(member, dict) and any(key[:1] == "$" and key not in ("$ref", "$id", "$db") for key in member):
                raise ReadError("unparseable", f"$in takes values, not operators: {member!r:.60}")
        parts = [self.equality(path, member, positive) for member in argument]
        return simplified("or" if positive else "and", parts, self.trace)

    def all_members(self, path: Path, argument: object, positive: bool) -> Form:
        """The form of `$all`."""
        if not isinstance(argument, list):
            raise ReadError("unparseable", f"$all takes a list, not {argument!r:.60}")
        self.trace.note("all_members")
        if not argument:
            return forms.FALSE if positive else forms.TRUE
        parts: list[Form] = []
        for member in argument:
            if isinstance(member, dict) and "$elemMatch" in member:
                self.trace.note("all_of_element_match")
                parts.append(self.operators(path, member, positive))
            elif isinstance(member, dict) and any(key[:1] == "$" for key in member):
                raise ReadError("unparseable", f"$all takes values or $elemMatch, not {member!r:.60}")
            else:
                parts.append(self.equality(path, member, positive))
        return self.joined(parts, positive)

    def element_match(self, path: Path, argument: object, positive: bool) -> Form:
        """The form of `$elemMatch`, taken apart where it asks for one of several."""
        by_value = matching.element_match_form(argument)
        assert isinstance(argument, dict)
        inner = Reader(self._within(path), Trace())
        form = inner.operators((), argument, True) if by_value else inner.filter(argument)
        self.trace.used |= inner.trace.used
        self.coerced = self.coerced or inner.coerced
        members = forms.members(form, "or")
        kind = "value" if by_value else "document"
        if form == forms.FALSE:
            return forms.FALSE if positive else forms.TRUE
        if len(members) > 1:
            self.trace.note("element_match_of_or")
        parts: list[Form] = [
            self.atom(path, kind, member, positive, "elemMatch " + form_key(member)) for member in members
        ]
        return simplified("or" if positive else "and", parts, self.trace)

    def _within(self, path: Path) -> dict[str, Field]:
        """What is declared of the elements of an array, by path within an element."""
        if not self.fields:
            return {}
        shown = ".".join(path)
        found = {name[len(shown) + 1 :]: known for name, known in self.fields.items() if name.startswith(shown + ".")}
        declared = self.fields.get(shown)
        if declared is not None and declared.type == "array":
            found[""] = Field(type=declared.item, values=declared.values)
        return found

    # -- expressions ----------------------------------------------------------------------------------------------

    def expression(self, expression: Expression, positive: bool) -> Form:
        """The form of `$expr`: logic taken apart, comparisons turned so that one spelling of each is left."""
        operator, arguments = (expression[1], expression[2]) if expression[0] == "op" else ("", ())
        assert isinstance(arguments, tuple)
        if operator in ("$and", "$or"):
            self.trace.note("expression_logic")
            parts = [self.expression(part, positive) for part in arguments]
            return simplified("and" if (operator == "$and") == positive else "or", parts, self.trace)
        if operator == "$not" and len(arguments) == 1:
            self.trace.note("expression_logic")
            return self.expression(arguments[0], not positive)
        if operator in ("$gt", "$gte", "$lte", "$ne") and len(arguments) == 2:
            left, right = arguments
            if operator == "$ne":
                return self.expression(("op", "$eq", arguments), not positive)
            self.trace.note("expression_mirror")
            if operator == "$gt":
                return self.expression(("op", "$lt", (right, left)), positive)
            swapped = (left, right) if operator == "$gte" else (right, left)
            return self.expression(("op", "$lt", swapped), not positive)
        if operator == "$in" and len(arguments) == 2 and arguments[1][0] == "arr":
            items = arguments[1][1]
            assert isinstance(items, tuple)
            parts = [self.expression(("op", "$eq", (arguments[0], item)), positive) for item in items]
            return simplified("or" if positive else "and", parts, self.trace)
        found = canonical_expression(expression)
        if found[0] == "lit":
            return forms.TRUE if truthy(found[2]) == positive else forms.FALSE
        return self.atom((), "$expr", found, positive, show(found))

    def atom(self, path: Path, operator: str, argument: object, positive: bool, shown: str | None = None) -> Literal:
        """An atom with its sign."""
        if shown is None:
            shown = text(argument)
        key = f"{'.'.join(path)} {operator} {shown}"
        self.trace.sequence.append(key if positive else "!" + key)
        return Literal(Atom(path, operator, argument, key), positive)


def simplified(kind: str, parts: list[Form], trace: Trace) -> Form:
    """The AND or OR of the parts, by the laws of two-valued logic and of ordering atoms."""
    if kind == "and":
        if len(parts) == 1:
            return parts[0]
        form = _joined("and", parts)
    else:
        if len(parts) == 1:
            return parts[0]
        form = _joined("or", parts)
    if not isinstance(form, forms.Junction):
        if len(parts) > 1:
            trace.note(
                "duplicate_clause"
                if isinstance(form, Literal) and all(part == form for part in parts)
                else "absorption"
            )
        return form
    if form.kind != kind:
        trace.note("absorption")
        return form
    flat = sum(len(part.parts) if isinstance(part, forms.Junction) and part.kind == kind else 1 for part in parts)
    if len(form.parts) < flat:
        trace.note("duplicate_clause" if all(isinstance(part, Literal) for part in parts) else "absorption")
    return _complemented(form, trace)


def _joined(kind: str, parts: list[Form]) -> Form:
    inner = sum(isinstance(part, forms.Junction) and part.kind != kind for part in parts)
    if inner > _MOST_ABSORBED:
        flat: set[Form] = set()
        for part in parts:
            if part == (forms.FALSE if kind == "and" else forms.TRUE):
                return part
            flat |= forms.members(part, "and" if kind == "and" else "or")
        flat -= {forms.TRUE, forms.FALSE}
        return forms.Junction("and" if kind == "and" else "or", frozenset(flat))
    return forms.conjunction(parts) if kind == "and" else forms.disjunction(parts)


def _complemented(form: forms.Junction, trace: Trace) -> Form:
    literals = {part for part in form.parts if isinstance(part, Literal)}
    opposites = {literal.atom for literal in literals if literal.positive} & {
        literal.atom for literal in literals if not literal.positive
    }
    if opposites:
        trace.note("complement")
        return forms.FALSE if form.kind == "and" else forms.TRUE
    merged = _with_equality(literals, form.kind == "or", trace)
    if merged is None:
        return form
    rest = [part for part in form.parts if not isinstance(part, Literal)]
    return forms.conjunction([*merged, *rest]) if form.kind == "and" else forms.disjunction([*merged, *rest])


def _with_equality(literals: set[Literal], positive: bool, trace: Trace) -> set[Literal] | None:
    """`a > v OR a = v  =  a >= v`, and the complement of it; `None` where nothing is merged."""
    strict = [
        literal for literal in literals if literal.positive == positive and literal.atom.operator in ("$gt", "$lt")
    ]
    if not strict:
        return None
    found = set(literals)
    changed = False
    for literal in strict:
        atom = literal.atom
        shown = text(atom.argument)
        path = ".".join(atom.path)
        equality = Literal(Atom(atom.path, "$eq", atom.argument, f"{path} $eq {shown}"), positive)
        if equality in literals:
            operator = atom.operator + "e"
            found -= {literal, equality}
            found.add(Literal(Atom(atom.path, operator, atom.argument, f"{path} {operator} {shown}"), positive))
            changed = True
    if not changed:
        return None
    trace.note("greater_or_equal")
    return found


# -- forms as texts and as predicates ---------------------------------------------------------------------------------


def form_key(form: Form) -> str:
    """A text that is equal exactly for equal forms."""
    if isinstance(form, Literal):
        return form.atom.key if form.positive else f"!({form.atom.key})"
    if isinstance(form, forms.Junction):
        return f"{form.kind}({'; '.join(sorted(form_key(part) for part in form.parts))})"
    assert isinstance(form, forms.Truth)
    return "true" if form.value else "false"


def atoms_of(form: Form) -> Iterator[Atom]:
    """The atoms of a form, repeated as they occur, in the order of their texts."""
    if isinstance(form, Literal):
        yield form.atom
    elif isinstance(form, forms.Junction):
        for part in sorted(form.parts, key=form_key):
            yield from atoms_of(part)


def form_matches(form: Form, document: Document) -> bool:
    """Whether a form holds for a document.

    Raises:
        ReadError: an atom cannot be evaluated without a server.
    """
    if isinstance(form, Literal):
        return atom_matches(form.atom, document) == form.positive
    if isinstance(form, forms.Junction):
        check = all if form.kind == "and" else any
        return check(form_matches(part, document) for part in form.parts)
    assert isinstance(form, forms.Truth)
    return form.value


def atom_matches(atom: Atom, document: Document) -> bool:
    """Whether an atom holds for a document.

    Raises:
        ReadError: it cannot be evaluated without a server.
    """
    if atom.operator == "$expr":
        assert isinstance(atom.argument, tuple)
        return truthy(evaluate(plain_expression(atom.argument), document))
    if atom.operator == "opaque":
        raise ReadError("unsupported", f"{atom.key.strip()} is not evaluated without a server")
    leaf = atom.operator not in ("$size", "value", "document")
    return any(atom_holds(atom, value) for value in matching.candidates(document, ".".join(atom.path), leaf=leaf))


def plain_expression(expression: Expression) -> object:
    """An expression as MongoDB writes it."""
    from canon.mongo.algebra import written

    return written(expression)


def atom_holds(atom: Atom, value: object) -> bool:
    """Whether an atom's operator holds for one value of its path."""
    match atom.operator:
        case "value":
            return isinstance(value, list) and any(element_matches(atom.argument, item) for item in value)
        case "document":
            return isinstance(value, list) and any(
                form_matches(atom.argument, matching.as_document(item))
                for item in value
                if isinstance(item, dict | list)
            )
        case "opaque" | "$expr":
            raise ReadError("unsupported", f"{atom.key.strip()} is not evaluated without a server")
        case _:
            return matching.holds(atom.operator, atom.argument, value)


def element_matches(form: object, element: object) -> bool:
    """Whether the inner form of a value `$elemMatch` holds for one element."""
    if isinstance(form, Literal):
        return atom_holds(form.atom, element) == form.positive
    if isinstance(form, forms.Junction):
        check = all if form.kind == "and" else any
        return check(element_matches(part, element) for part in form.parts)
    assert isinstance(form, forms.Truth)
    return form.value


@dataclass(frozen=True, slots=True)
class FilterForm:
    """A filter in normal form, with what was used to get there.

    Attributes:
        form: the form.
        used: the identities used.
        sequence: the atoms in the order written.
        coerced: whether a text was read as the date that its path is declared to hold.
    """

    form: Form
    used: frozenset[str]
    sequence: tuple[str, ...]
    coerced: bool = False


def read_filter(condition: Document, fields: Mapping[str, Field] | None = None) -> FilterForm:
    """Bring a filter to normal form.

    Raises:
        ReadError: MongoDB would refuse the filter.
    """
    reader = Reader(fields or {}, Trace())
    form = reader.filter(condition)
    return FilterForm(form, frozenset(reader.trace.used), tuple(reader.trace.sequence), reader.coerced)
