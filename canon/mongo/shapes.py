"""What a document has become in a pipeline: each field as a term over the documents that the last lasting stage reads.

Projections are not kept as stages. They change the shape, through which later stages are read, so that the place of a
projection and the names given within a pipeline leave no trace; only the last shape, the result, is compared by name.
"""

from dataclasses import dataclass, field

from canon.errors import ReadError
from canon.mongo.algebra import (
    MISSING_TERM,
    Expression,
    canonical_expression,
    literal,
    parts_of,
    read_expression,
    rebuilt,
    show,
)
from canon.mongo.expressions import truthy
from canon.mongo.identities import Trace
from canon.mongo.values import Document


class NeedsWholeDocumentError(Exception):
    """A term reads the document as a whole, so that the shape must become a stage first."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a document as terms.

    Attributes:
        closed: whether there are no other fields than these; an open shape has those of the documents read besides.
        fields: by name; `MISSING_TERM` for one that an open shape has not.
    """

    closed: bool = False
    fields: dict[str, Expression] = field(default_factory=dict)

    @property
    def identity(self) -> bool:
        """Whether the document is as it was read."""
        return not self.closed and not self.fields

    def root(self, name: str) -> Expression:
        """The term of a field."""
        found = self.fields.get(name)
        if found is not None:
            return found
        return MISSING_TERM if self.closed else ("path", name)

    def at(self, path: str) -> Expression:
        """The term of an expression's field path."""
        name, _, rest = path.partition(".")
        return descend(self.root(name), rest)

    def through(self, term: Expression) -> Expression:
        """A term over this shape as a term over the documents read.

        Raises:
            NeedsWholeDocumentError: the term reads the document as a whole.
        """
        if self.identity:
            return term
        return canonical_expression(self._through(term))

    def _through(self, term: Expression) -> Expression:
        if term[0] == "path":
            return self.at(term[1])
        if term[0] == "var" and term[1].split(".")[0] in ("ROOT", "CURRENT"):
            raise NeedsWholeDocumentError
        return rebuilt(term, self._through)

    def subject(self, path: str, documents: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """The path of a filter or a sort key over this shape as a path over the documents read.

        What is no field of those is a root of its own, named by its term: `=$a.b`, `#$sum(1)`.

        Args:
            path: the path.
            documents: the roots that are known to be no arrays.
        """
        name, _, rest = path.partition(".")
        parts = tuple(rest.split(".")) if rest else ()
        return subject_of(self.root(name), parts, documents)

    def text(self) -> str:
        """A text that is equal exactly for equal shapes, the order of fields aside."""
        shown = [f"{name}: {show(_unordered(term))}" for name, term in sorted(self.fields.items())]
        return ("{" if self.closed else "{…, ") + ", ".join(shown) + "}"

    def reads(self) -> set[str]:
        """The roots that the shape reads; `""` where it keeps all."""
        found = set() if self.closed else {""}
        for term in self.fields.values():
            found |= roots_of(term)
        return found


def _unordered(term: Expression) -> Expression:
    """A result's subdocument with its names sorted: their order is cosmetic."""
    if term[0] != "rec":
        return term
    return ("rec", tuple(sorted((name, _unordered(part)) for name, part in term[1])))


def roots_of(term: Expression) -> set[str]:
    """The top-level fields and slots that a term reads; `""` where it reads the whole document."""
    found: set[str] = set()
    for part in parts_of(term):
        if part[0] == "path":
            found.add(part[1].split(".")[0])
        elif part[0] == "slot":
            found.add(part[1])
        elif part[0] == "var" and part[1].split(".")[0] in ("ROOT", "CURRENT"):
            found.add("")
    return found


def descend(term: Expression, rest: str) -> Expression:
    """The term of a path below a term."""
    if not rest:
        return term
    name, _, below = rest.partition(".")
    match term[0]:
        case "path" if "." not in term[1]:
            return ("path", f"{term[1]}.{rest}")
        case "rec":
            inner = dict(term[1])
            return descend(inner[name], below) if name in inner else MISSING_TERM
        case "missing":
            return MISSING_TERM
        case "lit" if not isinstance(term[2], dict | list):
            return MISSING_TERM
        case "pick" if _under(rest, term[2]):
            return descend(term[1], rest)
        case "drop" if not _related(rest, term[2]):
            return descend(term[1], rest)
        case "get":
            return ("get", term[1], f"{term[2]}.{rest}")
        case _:
            return ("get", term, rest)


def _under(path: str, picked: tuple[str, ...]) -> bool:
    return any(path == own or path.startswith(own + ".") for own in picked)


def _related(path: str, dropped: tuple[str, ...]) -> bool:
    return any(path == own or path.startswith(own + ".") or own.startswith(path + ".") for own in dropped)


def subject_of(term: Expression, rest: tuple[str, ...], documents: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """A path below a term, as a path of the match language over the documents read.

    One step into what is no array is the same in both languages; from an array, an expression takes the array of what
    its documents have, where a path takes each.
    """
    match term[0]:
        case "path" if term[1].count(".") == 1 and term[1].split(".")[0] in documents:
            return (*term[1].split("."), *rest)
        case "get" if term[1][0] == "slot" and term[1][1] in documents and "." not in term[2]:
            return (term[1][1], term[2], *rest)
        case "path" if "." not in term[1]:
            return (term[1], *rest)
        case "slot":
            return (term[1], *rest)
        case "rec" if rest:
            inner = dict(term[1])
            return subject_of(inner.get(rest[0], MISSING_TERM), rest[1:], documents)
        case "pick" if rest and _under(".".join(rest), term[2]):
            return subject_of(term[1], rest, documents)
        case "drop" if rest and not _related(".".join(rest), term[2]):
            return subject_of(term[1], rest, documents)
        case _:
            return ("=" + show(term), *rest)


def picked(term: Expression, paths: tuple[str, ...]) -> Expression:
    """A subdocument reduced to some paths."""
    if term[0] == "missing":
        return term
    if term[0] == "rec":
        kept: dict[str, Expression] = {}
        inner = dict(term[1])
        for name, part in inner.items():
            below = tuple(path[len(name) + 1 :] for path in paths if path.startswith(name + "."))
            if name in paths:
                kept[name] = part
            elif below:
                kept[name] = picked(part, below)
        return ("rec", tuple(kept.items()))
    return ("pick", term, tuple(sorted(paths)))


def dropped(term: Expression, paths: tuple[str, ...]) -> Expression:
    """A subdocument without some paths."""
    if term[0] == "missing":
        return term
    if term[0] == "rec":
        kept = {}
        for name, part in term[1]:
            below = tuple(path[len(name) + 1 :] for path in paths if path.startswith(name + "."))
            if name not in paths:
                kept[name] = dropped(part, below) if below else part
        return ("rec", tuple(kept.items()))
    return ("drop", term, tuple(sorted(paths)))


# -- projections ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Spec:
    """A projection taken apart: paths shown, paths hidden, paths computed."""

    shown: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    computed: dict[str, object] = field(default_factory=dict)


def _take_apart(spec: Document, prefix: str, found: _Spec) -> None:
    for key, value in spec.items():
        path = prefix + key
        if isinstance(value, bool | int | float):
            (found.shown if truthy(value) else found.hidden).append(path)
        elif isinstance(value, dict) and value and not next(iter(value)).startswith("$"):
            _take_apart(value, path + ".", found)
        else:
            found.computed[path] = value


def projected(shape: Shape, spec: Document, trace: Trace) -> Shape:
    """The shape after a `$project` (or the projection of a find).

    Raises:
        ReadError: the projection mixes inclusion and exclusion, or is empty.
        NeedsWholeDocumentError: the shape must become a stage first.
    """
    found = _Spec()
    _take_apart(spec, "", found)
    if not spec:
        raise ReadError("unparseable", "a projection names at least one field")
    hidden = [path for path in found.hidden if path != "_id"]
    if hidden and (found.computed or [path for path in found.shown if path != "_id"]):
        raise ReadError("unparseable", f"a projection shows fields or hides them, not both: {hidden[0]} is hidden")
    if not found.shown and not found.computed:
        return without(shape, found.hidden)
    if hidden:
        return without(shape, hidden)
    if not shape.identity:
        trace.note("projection_merging")
    fields: dict[str, Expression] = {}
    if "_id" not in found.hidden and "_id" not in found.computed:
        fields["_id"] = shape.root("_id")
    below: dict[str, list[str]] = {}
    for path in found.shown:
        name, _, rest = path.partition(".")
        if rest:
            below.setdefault(name, []).append(rest)
        else:
            fields[name] = shape.root(name)
    for name, paths in below.items():
        if name in fields and name != "_id":
            raise ReadError("unparseable", f"the projection shows {name} and a part of it")
        fields[name] = picked(shape.root(name), _outermost(paths))
    _compute(shape, found.computed, fields, trace)
    return Shape(True, {name: term for name, term in fields.items() if term[0] != "missing"})


def _outermost(paths: list[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if not any(path.startswith(other + ".") for other in paths))


def _compute(shape: Shape, computed: Document, fields: dict[str, Expression], trace: Trace) -> None:
    nested: dict[str, list[tuple[str, Expression]]] = {}
    for path, value in computed.items():
        term = shape.through(read_expression(value, trace))
        name, _, rest = path.partition(".")
        if rest:
            nested.setdefault(name, []).append((rest, term))
        else:
            fields[name] = term
    for name, members in nested.items():
        base = fields.get(name, shape.root(name))
        record = _record(members)
        if base[0] == "missing" and name not in fields:
            fields[name] = record
        else:
            fields[name] = ("op", "$nested", (base, record))


def _record(members: list[tuple[str, Expression]]) -> Expression:
    flat: dict[str, Expression] = {}
    deeper: dict[str, list[tuple[str, Expression]]] = {}
    for path, term in members:
        name, _, rest = path.partition(".")
        if rest:
            deeper.setdefault(name, []).append((rest, term))
        else:
            flat[name] = term
    for name, inner in deeper.items():
        flat[name] = _record(inner)
    return ("rec", tuple(flat.items()))


def without(shape: Shape, paths: list[str]) -> Shape:
    """The shape with some paths hidden."""
    fields = dict(shape.fields)
    below: dict[str, list[str]] = {}
    for path in paths:
        name, _, rest = path.partition(".")
        if rest:
            below.setdefault(name, []).append(rest)
        elif shape.closed:
            fields.pop(name, None)
        else:
            fields[name] = MISSING_TERM
    for name, inner in below.items():
        if not shape.closed or name in fields:
            fields[name] = dropped(shape.root(name), tuple(inner))
    return Shape(shape.closed, fields)


def extended(shape: Shape, spec: Document, trace: Trace) -> Shape:
    """The shape after an `$addFields`.

    Raises:
        NeedsWholeDocumentError: the shape must become a stage first.
    """
    fields = dict(shape.fields)
    for key, value in spec.items():
        name, _, rest = key.partition(".")
        nested = isinstance(value, dict) and bool(value) and not next(iter(value)).startswith("$")
        term = shape.through(read_expression(value, trace) if not _is_number(value) else literal(value))
        if not rest and not nested:
            fields[name] = term
            continue
        record = _record([(rest, term)]) if rest else term
        base = fields.get(name, shape.root(name))
        if base[0] == "missing":
            fields[name] = record
        elif base[0] == "rec" and record[0] == "rec" and not any(part[0] == "rec" for _, part in record[1]):
            fields[name] = ("rec", tuple({**dict(base[1]), **dict(record[1])}.items()))
        else:
            fields[name] = ("op", "$added", (base, record))
    if shape.closed:
        fields = {name: term for name, term in fields.items() if term[0] != "missing"}
    return Shape(shape.closed, fields)


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float)
