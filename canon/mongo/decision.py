"""Decides whether two filters in normal form agree on every document, by trying one document of every kind.

The atoms of both filters are laid out as a tree of fields. For each field the possible *signatures* are computed:
which of the atoms at and below it hold. A missing field, a scalar and a document give theirs directly; an array gives
the union of what its elements give, so that the signatures of arrays are the closure under union of those of
elements. Each signature keeps the plainest value that has it. Fields of the top level are independent of each other:
their signatures are the axes of the region decision, and a row on which the filters differ is a document.

What this leaves out (numeric path parts, operators only a server can evaluate, closures that grow too large) makes
the decision
incomplete: it may then still refute, and never prove.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from time import monotonic
from typing import NamedTuple

from bson import Regex

from canon.errors import ReadError
from canon.logic import forms, regions
from canon.mongo import samples
from canon.mongo.algebra import parts_of, paths_of
from canon.mongo.fields import Field
from canon.mongo.filters import Atom, Form, Literal, atoms_of, form_matches
from canon.mongo.values import MISSING, Document, bracket, text

_MOST_SIGNATURES = 400
_MOST_COMBINATIONS = 6_000
_MOST_FREE = 6
_MOST_ATOMS = 160
"""Atoms of both filters past which only single values that one of them names are tried."""


class Same(NamedTuple):
    """No document tells the two apart, under the assumptions; `constant` where both always say the same."""

    constant: bool | None
    assumptions: tuple[str, ...]


class Distinct(NamedTuple):
    """The two differ on the document."""

    document: Document
    left: bool
    right: bool


class Unclear(NamedTuple):
    """Neither was shown, and why."""

    reason: str


@dataclass(slots=True)
class Node:
    """A field in the tree of fields: the atoms on it and the fields below it."""

    path: tuple[str, ...]
    declared: Field
    atoms: list[Atom] = field(default_factory=list)
    children: dict[str, "Node"] = field(default_factory=dict)

    def all_atoms(self) -> Iterable[Atom]:
        """The atoms at and below the node."""
        yield from self.atoms
        for child in self.children.values():
            yield from child.all_atoms()


class _Incomplete(Exception):
    """The tree cannot be modelled."""


@dataclass(slots=True)
class Modelling:
    """The signatures of one top-level field.

    Attributes:
        fields: what is declared of paths.
        bits: the bit of each atom in a signature; atoms within an `$elemMatch` have theirs too.
        deadline: when to stop.
        complete: whether the signatures are all there are.
        stored: whether the documents are those of a collection, where `_id` is there and no array.
        numeric: whether a part of a path is a number, so that signatures are not to be relied on.
        samplings: the samples by path.
        inner_masks: by path, the bits of atoms within the `$elemMatch` on it.
    """

    fields: Mapping[str, Field]
    deadline: float
    bits: dict[tuple[tuple[str, ...], str], int] = field(default_factory=dict)
    complete: bool = True
    stored: bool = True
    numeric: bool = False
    samplings: dict[tuple[str, ...], samples.Sampling] = field(default_factory=dict)
    inner_masks: dict[tuple[str, ...], int] = field(default_factory=dict)

    # -- the tree ---------------------------------------------------------------------------------------------------

    def add(self, root: Node, atom: Atom, prefix: tuple[str, ...], scope: tuple[str, ...]) -> None:
        """Hang an atom, and those within its `$elemMatch`, into the tree."""
        node = root
        path = prefix + atom.path
        for depth in range(len(root.path), len(path)):
            part = path[depth]
            if part.isdigit():
                self.complete = False
                self.numeric = True
            node = node.children.setdefault(part, Node(path[: depth + 1], self.declared(path[: depth + 1])))
        key = (scope, atom.key)
        if key in self.bits:
            return
        self.bits[key] = 1 << len(self.bits)
        node.atoms.append(_Scoped.of(atom, scope, self.bits[key]))
        if atom.operator == "document":
            for inner in atoms_of(atom.argument):
                self.inner(root, inner, path, (*scope, atom.key))

    def inner(self, root: Node, atom: Atom, path: tuple[str, ...], scope: tuple[str, ...]) -> None:
        """Hang an atom of an inner filter into the tree."""
        if not atom.path:
            self.complete = False
            raise _Incomplete
        self.add(root, atom, path, scope)

    def declared(self, path: tuple[str, ...]) -> Field:
        """What is declared of a path."""
        return self.fields.get(".".join(path), Field())

    def check_time(self) -> None:
        """End the attempt where the time is up."""
        if monotonic() > self.deadline:
            raise _Incomplete

    # -- signatures -------------------------------------------------------------------------------------------------

    def own(self, node: Node, value: object) -> int:
        """Which atoms on the node hold for a value taken as it stands."""
        self.check_time()
        found = 0
        for atom in node.atoms:
            assert isinstance(atom, _Scoped)
            if atom.operator not in ("$size", "value", "document", "$expr") and samples.holds(atom, value):
                found |= atom.bit
        return found

    def missing_below(self, node: Node) -> int:
        """Which atoms below the node hold where its fields are missing."""
        return sum(self.field_signature(child, MISSING) for child in node.children.values())

    def field_signature(self, node: Node, value: object) -> int:
        """Which atoms at and below a field hold for a value of it."""
        if isinstance(value, list):
            return self.array_signature(node, value)
        below = 0
        if isinstance(value, dict):
            for name, child in node.children.items():
                below |= self.field_signature(child, value.get(name, MISSING))
        else:
            below = self.missing_below(node)
        return self.own(node, value) | self.outer_only(node, below) | self.whole(node, value)

    def whole(self, node: Node, value: object) -> int:
        """Which expressions over this field alone hold."""
        found = 0
        for atom in node.atoms:
            if atom.operator == "$expr":
                assert isinstance(atom, _Scoped)
                document = {} if value is MISSING else {node.path[0]: value}
                if samples.is_abstract(value):
                    raise _Incomplete
                if form_matches(Literal(Atom(atom.path, atom.operator, atom.argument, atom.key), True), document):
                    found |= atom.bit
        return found

    def array_signature(self, node: Node, array: list[object]) -> int:
        """Which atoms at and below a field hold for an array."""
        found = self.own(node, array) | self.whole(node, array)
        for element in array:
            found |= self.element_signature(node, element)
        for atom in node.atoms:
            if atom.operator == "$size" and len(array) == atom.argument:
                assert isinstance(atom, _Scoped)
                found |= atom.bit
        return found

    def element_signature(self, node: Node, element: object) -> int:
        """What an element gives to the array that holds it."""
        found = self.own(node, element)
        inner = 0
        if isinstance(element, dict):
            for name, child in node.children.items():
                inner |= self.field_signature(child, element.get(name, MISSING))
        elif isinstance(element, list):
            inner = self.missing_below(node)
        for atom in node.atoms:
            assert isinstance(atom, _Scoped)
            if atom.operator == "document":
                if isinstance(element, dict | list) and self.inner_holds(atom.argument, inner, (*atom.scope, atom.key)):
                    found |= atom.bit
            elif atom.operator == "value" and _element_holds(atom.argument, element):
                found |= atom.bit
        return found | (self.outer_only(node, inner) if isinstance(element, dict) else 0)

    def outer_only(self, node: Node, signature: int) -> int:
        """A signature without what belongs to the inner filters of this node's `$elemMatch`."""
        mask = self.inner_masks.get(node.path)
        if mask is None:
            own = [
                (*atom.scope, atom.key)
                for atom in node.atoms
                if atom.operator == "document" and isinstance(atom, _Scoped)
            ]
            mask = 0
            for (scope, _), bit in self.bits.items():
                if any(scope[: len(outer)] == outer for outer in own):
                    mask |= bit
            self.inner_masks[node.path] = mask
        return signature & ~mask

    def inner_holds(self, form: object, signature: int, scope: tuple[str, ...]) -> bool:
        """Whether an inner filter holds, given which of its atoms do."""
        if isinstance(form, Literal):
            return bool(signature & self.bits[(scope, form.atom.key)]) == form.positive
        if isinstance(form, forms.Junction):
            check = all if form.kind == "and" else any
            return check(self.inner_holds(part, signature, scope) for part in form.parts)
        assert isinstance(form, forms.Truth)
        return form.value

    # -- values -----------------------------------------------------------------------------------------------------

    def values(self, node: Node) -> dict[int, object]:
        """The plainest value of each signature that the field can have."""
        declared = node.declared
        sampling = self.sampling(node)
        found: dict[int, object] = {}
        keep = _keeper(found)
        kind = declared.type
        identifier = self.stored and node.path == ("_id",)
        if kind not in ("array", "object"):
            for value in sampling.scalars:
                if not (identifier and isinstance(value, Regex)):
                    keep(self.field_signature(node, value), value)
        if kind in ("any", "object"):
            for document in self.documents(node):
                keep(self.field_signature(node, document), document)
        if kind in ("any", "array") and not identifier:
            for array in self.arrays(node):
                keep(self.field_signature(node, array), array)
        if declared.nullable:
            keep(self.field_signature(node, None), None)
            if not identifier:
                keep(self.field_signature(node, MISSING), MISSING)
        if len(found) > _MOST_SIGNATURES:
            self.complete = False
        return found

    def unreduced(self, node: Node) -> dict[int, object]:
        """Some values of a field whose path has a numeric part, numbered: no two are taken as alike."""
        kinds = self.shapes(node, 0)
        return dict(enumerate([*kinds, MISSING]))

    def shapes(self, node: Node, depth: int) -> list[object]:
        """Scalars, documents and short arrays that a node and the fields and places below it may be."""
        self.check_time()
        found: list[object] = [value for value in self.sampling(node).scalars[:5] if not samples.is_abstract(value)]
        named = {name: self.shapes(child, depth + 1) for name, child in node.children.items()}
        documents = [{name: value} for name, values in named.items() for value in values[:4]]
        if len(named) > 1:
            documents += [{name: values[place % len(values)] for name, values in named.items()} for place in range(3)]
        placed = [value for name, values in named.items() if name.isdigit() for value in values[:4]]
        elements = [*found[:3], *documents[:4], *placed]
        found += [*documents, None, [], *([element] for element in elements)]
        for length in (2, 3):
            found += [[*members] for members in product(elements[:4], repeat=length)]
        return [*found, [[]], [[element] for element in elements[:2]]][: 120 if depth == 0 else 12]

    def sampling(self, node: Node) -> samples.Sampling:
        """The sample of scalars, documents and arrays of a node."""
        known = self.samplings.get(node.path)
        if known is None:
            known = samples.sample(node.atoms, node.declared)
            self.complete = self.complete and known.complete
            self.samplings[node.path] = known
        return known

    def documents(self, node: Node) -> list[Document]:
        """The documents to try under a node: every combination of what its fields can be, and those compared with."""
        self.check_time()
        choices: list[list[tuple[str, object]]] = []
        total = 1
        for name, child in node.children.items():
            own = list(self.values(child).values())
            total *= len(own)
            choices.append([(name, value) for value in own])
        if total > _MOST_COMBINATIONS:
            self.complete = False
            kept = max(2, int(_MOST_COMBINATIONS ** (1 / len(choices))))
            choices = [options[:kept] for options in choices]
        compared = self.sampling(node).documents
        found: dict[int, Document] = {}
        for count, members in enumerate(product(*choices)):
            if count % 512 == 0:
                self.check_time()
            document = {name: value for name, value in members if value is not MISSING}
            if any(text(document) == text(other) for other in compared if not samples.is_abstract(document)):
                document["other"] = 1
            signature = self.element_signature(node, document) << 1024 | self.field_signature(node, document)
            if signature not in found or _cost(document) < _cost(found[signature]):
                found[signature] = document
        if not node.children and any(not document for document in compared):
            found[-1] = {"other": 1}
        exact = [*compared, *(dict(reversed(document.items())) for document in compared if len(document) > 1)]
        return [*found.values(), *exact]

    def arrays(self, node: Node) -> list[list[object]]:
        """The arrays to try under a node: each union of what elements give, in each length that is asked for."""
        sampling = self.sampling(node)
        kind = node.declared.item if node.declared.type == "array" else "any"
        elements: dict[int, object] = {}
        keep = _keeper(elements)
        scalars = sampling.scalars if kind not in ("object", "array") else []
        for value in [*scalars, None] if kind == "any" else scalars:
            keep(self.element_signature(node, value), value)
        if kind in ("any", "object"):
            for document in self.documents(node):
                keep(self.element_signature(node, document), document)
        if kind in ("any", "array"):
            for nested in ([], ["nested"], *sampling.arrays):
                keep(self.element_signature(node, nested), nested)
        if any(atom.operator == "value" and _asks_arrays(atom.argument) for atom in node.atoms):
            self.complete = False
        return self.padded(node, self.closure(elements), sampling.arrays)

    def closure(self, elements: dict[int, object]) -> dict[int, list[object]]:
        """The shortest array of each union of element signatures."""
        reached: dict[int, list[object]] = {0: []}
        frontier = [0]
        for _ in range(max(len(self.bits), 1)):
            self.check_time()
            following: list[int] = []
            for signature in frontier:
                for own, element in elements.items():
                    union = signature | own
                    if union not in reached:
                        reached[union] = [*reached[signature], element]
                        following.append(union)
            if len(reached) > _MOST_SIGNATURES:
                self.complete = False
                break
            frontier = following
            if not frontier:
                break
        # An array of elements that no atom takes notice of is not the empty array.
        if 0 in elements:
            reached[-1] = [elements[0]]
        return reached

    def padded(self, node: Node, unions: dict[int, list[object]], compared: list[list[object]]) -> list[list[object]]:
        """The arrays in each length asked for and one that is not, none by chance equal to one compared with."""
        sizes = {atom.argument for atom in node.atoms if atom.operator == "$size" and isinstance(atom.argument, int)}
        if sizes and max(sizes) > 40:
            self.complete = False
            sizes = {size for size in sizes if size <= 40}
        taken = {text(array) for array in compared}
        found: list[list[object]] = []
        for array in unions.values():
            if not array:
                found.append(array)
                continue
            own = len(array)
            free = next(length for length in range(own, own + len(sizes) + 1) if length not in sizes)
            for length in sorted({free, *(size for size in sizes if size >= own)}):
                filled = [*array, *([array[-1]] * (length - own))]
                while not samples.is_abstract(filled) and text(filled) in taken and length == free:
                    filled = [*filled, array[-1]]
                found.append(filled)
        reverses = [list(reversed(array)) for array in compared if len(array) > 1]
        return [*found, *compared, *reverses]


@dataclass(frozen=True, slots=True, eq=False)
class _Scoped(Atom):
    """An atom in the tree: the `$elemMatch` that it stands in, and its bit."""

    scope: tuple[str, ...] = ()
    bit: int = 0

    @staticmethod
    def of(atom: Atom, scope: tuple[str, ...], bit: int) -> "_Scoped":
        return _Scoped(atom.path, atom.operator, atom.argument, atom.key, scope, bit)


def _element_holds(form: object, element: object) -> bool:
    if isinstance(form, Literal):
        return samples.holds(form.atom, element) == form.positive
    if isinstance(form, forms.Junction):
        check = all if form.kind == "and" else any
        return check(_element_holds(part, element) for part in form.parts)
    assert isinstance(form, forms.Truth)
    return form.value


def _asks_arrays(form: object) -> bool:
    return any(atom.operator in ("$size", "value", "document") for atom in atoms_of(form))


def _keeper(found: dict[int, object]) -> Callable[[int, object], None]:
    def keep(signature: int, value: object) -> None:
        if signature not in found or _cost(value) < _cost(found[signature]):
            found[signature] = value

    return keep


_PLAINNESS = {
    "number": 2,
    "string": 2,
    "boolean": 3,
    "date": 3,
    "objectid": 3,
    "missing": 1,
    "null": 4,
    "object": 5,
    "array": 6,
}


def _cost(value: object) -> float:
    """How far a value is from plain: what witnesses prefer."""
    if isinstance(value, samples.AbstractText):
        return 100
    if isinstance(value, dict):
        return 5 + sum(_cost(item) for item in value.values()) + ("other" in value)
    if isinstance(value, list):
        return 6 + sum(_cost(item) + 1 for item in value)
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN
        return 40
    return _PLAINNESS.get(bracket(value), 50) + (len(value) / 100 if isinstance(value, str) else 0)


# -- two filters ------------------------------------------------------------------------------------------------------


def decide(
    left: Form,
    right: Form,
    fields: Mapping[str, Field],
    *,
    limit: int,
    deadline: float,
    witnesses: bool = True,
) -> Same | Distinct | Unclear:
    """Compare two filters over all documents.

    Args:
        left: one filter's form.
        right: the other's.
        fields: what is declared of paths.
        limit: how many rows may be tried.
        deadline: the `time.monotonic()` instant past which the answer is `Unclear`.
        witnesses: whether a document is a document of the collection; within a pipeline it is not.
    """
    witnesses = witnesses and not any(is_made(atom) for atom in [*atoms_of(left), *atoms_of(right)])
    if not witnesses:
        fields = {}
    try:
        if not few(left, right):
            return _named(left, right, deadline) if witnesses else Unclear("there are too many conditions to try")
        problem = Comparison.of(left, right, fields, deadline, witnesses)
        return problem.solve(limit, deadline, witnesses)
    except _Incomplete:
        return Unclear("the documents to try are too many, or not to be modelled")
    except ReadError as error:
        return Unclear(error.message)
    except ArithmeticError as error:
        return Unclear(f"a number is at the edge of its type: {error}")


def few(left: Form, right: Form) -> bool:
    """Whether two filters have few enough atoms for their documents to be laid out."""
    return len({atom.key for form in (left, right) for atom in atoms_of(form)}) <= _MOST_ATOMS


def _named(left: Form, right: Form, deadline: float) -> Distinct | Unclear:
    """Try documents with one field, whose value one filter names and the other does not."""
    one = {atom.key: atom for atom in atoms_of(left)}
    two = {atom.key: atom for atom in atoms_of(right)}
    apart = [atom for key, atom in {**one, **two}.items() if (key in one) != (key in two)]
    for atom in apart[:40]:
        if monotonic() > deadline:
            break
        if atom.operator != "$eq" or len(atom.path) != 1 or atom.path == ("_id",):
            continue
        document: Document = {atom.path[0]: atom.argument}
        ours, theirs = form_matches(left, document), form_matches(right, document)
        if ours != theirs:
            return Distinct(document, ours, theirs)
    return Unclear("there are too many conditions to try")


@dataclass(slots=True)
class Comparison:
    """Two forms over axes: one for each top-level field, one for each atom whose truth is free."""

    left: Form
    right: Form
    roots: list[str]
    values: list[dict[int, object]]
    free: list[Atom]
    places: dict[str, tuple[int, int]]
    complete: bool
    numeric: bool
    assumptions: tuple[str, ...]

    @staticmethod
    def of(left: Form, right: Form, fields: Mapping[str, Field], deadline: float, stored: bool) -> "Comparison":
        """Lay the two out."""
        own: dict[str, list[Atom]] = {}
        free: dict[str, Atom] = {}
        for atom in [*atoms_of(left), *atoms_of(right)]:
            root = _root_of(atom)
            if root is None:
                free[atom.key] = atom
                for path in sorted(paths_of(atom.argument)) if isinstance(atom.argument, tuple) else ():
                    if path:
                        own.setdefault(path.split(".")[0], [])
            else:
                own.setdefault(root, []).append(atom)
        complete, numeric = True, False
        places: dict[str, tuple[int, int]] = {}
        values: list[dict[int, object]] = []
        for axis, (root, atoms) in enumerate(own.items()):
            modelling = Modelling(fields, deadline, stored=stored)
            node = Node((root,), modelling.declared((root,)))
            for atom in atoms:
                hung = atom if atom.operator != "$expr" else Atom((root,), "$expr", atom.argument, atom.key)
                modelling.add(node, hung, (), ())
            found = modelling.unreduced(node) if modelling.numeric else modelling.values(node)
            numeric = numeric or modelling.numeric
            values.append(dict(sorted(found.items(), key=lambda item: _cost(item[1]))))
            complete = complete and modelling.complete
            for atom in atoms:
                places[atom.key] = (axis, modelling.bits[((), atom.key)])
        roots = list(own)
        return Comparison(
            left, right, roots, values, list(free.values()), places, complete, numeric, _assumptions(own, fields)
        )

    def solve(self, limit: int, deadline: float, witnesses: bool) -> Same | Distinct | Unclear:
        """Look for a document, then for a proof."""
        abstract = any(samples.is_abstract(value) for found in self.values for value in found.values())
        if witnesses:
            found = self.search(limit, deadline)
            if isinstance(found, Distinct):
                return found
            if not abstract and not self.free and isinstance(found, regions.Agreement):
                return self.agreed(found)
        if self.numeric:
            return Unclear(
                "no document was found that tells them apart, and a path with a number has too many readings to try"
            )
        if len(self.free) > _MOST_FREE:
            return Unclear("there are too many conditions that only a server can evaluate")
        axes = [
            *(regions.Axis(root, list(found)) for root, found in zip(self.roots, self.values, strict=True)),
            *(regions.Axis(atom.key, (False, True)) for atom in self.free),
        ]
        outcome = regions.decide(
            axes, self.evaluator(self.left), self.evaluator(self.right), limit=limit, deadline=deadline
        )
        match outcome:
            case regions.Agreement():
                return self.agreed(outcome)
            case regions.TooLarge():
                return Unclear("there are too many kinds of documents to try")
            case _:
                return Unclear("they differ only where a condition holds that needs a server to evaluate")

    def agreed(self, outcome: regions.Agreement) -> Same | Unclear:
        """What agreement on all rows shows."""
        if not self.complete:
            return Unclear("no document was found that tells them apart, and not all kinds of documents could be tried")
        return Same(bool(outcome.value) if outcome.constant else None, self.assumptions)

    def search(self, limit: int, deadline: float) -> "Distinct | regions.Agreement | regions.TooLarge":
        """Try the documents that can be written down."""
        axes = [
            regions.Axis(root, [signature for signature, value in found.items() if not samples.is_abstract(value)])
            for root, found in zip(self.roots, self.values, strict=True)
        ]
        if self.free or self.numeric or regions.size(axes) > limit:
            return self.probe(axes, limit, deadline)
        outcome = regions.decide(
            axes, self.evaluator(self.left), self.evaluator(self.right), limit=limit, deadline=deadline
        )
        if isinstance(outcome, regions.Disagreement):
            document = self.document(outcome.row)
            left, right = form_matches(self.left, document), form_matches(self.right, document)
            return Distinct(document, left, right) if left != right else regions.TooLarge(0)
        if isinstance(outcome, regions.Agreement) and not self.complete:
            return self.probe(axes, limit, deadline)
        return outcome

    def probe(self, axes: Sequence[regions.Axis], limit: int, deadline: float) -> "Distinct | regions.TooLarge":
        """Evaluate both filters on documents, plainest first, until the time is up."""
        for count, row in enumerate(regions.rows(axes)):
            if count > min(limit, 20_000) or (count % 64 == 0 and monotonic() > deadline):
                break
            document = self.document(row)
            try:
                left, right = form_matches(self.left, document), form_matches(self.right, document)
            except ReadError:
                if any(atom.operator == "opaque" for atom in self.free):
                    break
                continue
            if left != right:
                return Distinct(document, left, right)
        return regions.TooLarge(0)

    def document(self, row: Sequence[object]) -> Document:
        """The document of a row."""
        found: Document = {}
        for root, values, signature in zip(self.roots, self.values, row, strict=False):
            value = values[signature]  # type: ignore[index]
            if value is not MISSING:
                found[root] = value
        return found

    def evaluator(self, form: Form) -> regions.Evaluator:
        """A form as a predicate on rows."""
        if isinstance(form, Literal):
            return self.literal(form)
        if isinstance(form, forms.Junction):
            parts = [self.evaluator(part) for part in form.parts]
            if form.kind == "and":
                return lambda row: all(part(row) for part in parts)
            return lambda row: any(part(row) for part in parts)
        assert isinstance(form, forms.Truth)
        value = form.value
        return lambda row: value

    def literal(self, literal: Literal) -> regions.Evaluator:
        """A literal as a predicate on rows."""
        positive = literal.positive
        place = self.places.get(literal.atom.key)
        if place is None:
            axis = len(self.roots) + [atom.key for atom in self.free].index(literal.atom.key)
            return lambda row: row[axis] == positive
        axis, bit = place
        return lambda row: bool(row[axis] & bit) == positive  # type: ignore[operator]


def is_made(atom: Atom) -> bool:
    """Whether an atom is about a value that a stage has made, and so about no field of a stored document."""
    if atom.operator == "$expr":
        assert isinstance(atom.argument, tuple)
        return any(
            part[0] not in ("lit", "path", "var", "op", "rec", "arr", "missing") for part in parts_of(atom.argument)
        )
    return bool(atom.path) and atom.path[0][:1] in ("=", "#")


def _root_of(atom: Atom) -> str | None:
    """The top-level field that an atom is about; `None` where it is about several, or not to be evaluated."""
    if atom.operator == "opaque":
        return None
    if atom.operator != "$expr":
        return atom.path[0]
    assert isinstance(atom.argument, tuple)
    roots = {path.split(".")[0] for path in paths_of(atom.argument)}
    if len(roots) != 1 or "" in roots or not _plain(atom.argument):
        return None
    return roots.pop()


def _plain(term: tuple[object, ...]) -> bool:
    """Whether an expression is a comparison of one top-level field with a constant."""
    if term[0] != "op" or term[1] not in ("$eq", "$lt"):
        return False
    sides = term[2]
    assert isinstance(sides, tuple)
    kinds = sorted(side[0] for side in sides)
    if kinds != ["lit", "path"]:
        return False
    return all(
        bracket(side[2]) not in ("array", "object", "missing", "minkey", "maxkey")
        if side[0] == "lit"
        else "." not in side[1]
        for side in sides
    )


def _assumptions(own: Mapping[str, list[Atom]], fields: Mapping[str, Field]) -> tuple[str, ...]:
    found: list[str] = []
    for path, declared in sorted(fields.items()):
        if declared.type != "any" and path.split(".")[0] in own:
            kind = declared.type if declared.type != "array" else f"array of {declared.item}"
            values = f" out of {', '.join(declared.values)}" if declared.values else ""
            empty = "" if declared.nullable else ", never null or missing"
            found.append(f"{path} holds {kind}{values}{empty}")
    return tuple(found)
