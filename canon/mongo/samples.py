"""Representative values: one of every class of values that a set of atoms on one path can tell apart.

Scalars are cut at the literals (each literal, each gap between two of them, below, above), once per type bracket that
occurs, with one value of every other bracket. A string that a regular expression is asked about, but for which no
example is known, is an `AbstractText`: it serves a proof and never a witness.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cmp_to_key, reduce
from itertools import pairwise, product

from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

from canon.errors import ReadError
from canon.mongo import matching
from canon.mongo.fields import Field, FieldType
from canon.mongo.filters import Atom, atoms_of
from canon.mongo.values import bracket, compare, equal, is_nan, number, text

_UNCUT = frozenset({"object", "array", "minkey", "maxkey", "code", "dbref", "binary", "timestamp"})
"""Brackets whose order is not modelled: a bound in one of them can be refuted, and not be proved equal to another."""
_UNSAMPLED = frozenset({"javascript", "javascriptWithScope", "symbol", "dbPointer", "undefined"})
"""Types of which no value is tried."""
_MOST_PATTERNS = 4
_MOST_RESIDUES = 24


@dataclass(frozen=True, slots=True)
class AbstractText:
    """Some string of which it is known how it compares, and which regular expressions are found in it."""

    like: str
    literal: bool
    found: frozenset[str]


@dataclass(slots=True)
class Sampling:
    """The values of one path and whether they stand for all values.

    Attributes:
        scalars: values that are neither arrays nor documents, the plainest first.
        documents: documents that atoms compare with.
        arrays: arrays that atoms compare with.
        complete: whether every value of the path behaves as one of these, as far as scalars go.
    """

    scalars: list[object]
    documents: list[dict[str, object]]
    arrays: list[list[object]]
    complete: bool = True


def leaf_atoms(atoms: Iterable[Atom]) -> list[Atom]:
    """The atoms on one path with those that a value `$elemMatch` puts to its elements."""
    found: list[Atom] = []
    for atom in atoms:
        found.append(atom)
        if atom.operator == "value":
            found.extend(leaf_atoms(atoms_of(atom.argument)))
    return found


def sample(atoms: Sequence[Atom], declared: Field) -> Sampling:
    """Collect the representative values of a path.

    Args:
        atoms: all atoms on the path.
        declared: what is known of its values; of an array, its elements are sampled by `item`.
    """
    leaves = leaf_atoms(atoms)
    literals = [atom.argument for atom in leaves if atom.operator in ("$eq", "$gt", "$gte", "$lt", "$lte")]
    kind: FieldType = declared.item if declared.type == "array" else declared.type
    sampling = Sampling([], [], [])
    nested = _expression_literals(atoms)
    literals += nested
    for operator in ("$gt", "$gte", "$lt", "$lte"):
        if any(atom.operator == operator and bracket(atom.argument) in _UNCUT for atom in leaves):
            sampling.complete = False
    if any(atom.operator == "$type" and _UNSAMPLED & _types(atom) for atom in leaves):
        sampling.complete = False
    sampling.documents = _distinct([item for item in literals if isinstance(item, dict)])  # type: ignore[assignment]
    sampling.arrays = _distinct([item for item in literals if isinstance(item, list)])  # type: ignore[assignment]
    within = [element for array in sampling.arrays for element in array]
    sampling.documents += [item for item in within if isinstance(item, dict)]
    sampling.arrays += [item for item in within if isinstance(item, list)]
    scalars = [item for item in [*literals, *within] if not isinstance(item, dict | list)]
    if kind == "enum" and declared.values:
        sampling.scalars = [*declared.values]
    else:
        sampling.scalars = _scalars(leaves, scalars, kind, sampling)
    return sampling


def _expression_literals(atoms: Sequence[Atom]) -> list[object]:
    from canon.mongo.algebra import parts_of

    return [
        part[2]
        for atom in atoms
        if atom.operator == "$expr" and isinstance(atom.argument, tuple)
        for part in parts_of(atom.argument)
        if part[0] == "lit"
    ]


def _distinct(values: list[object]) -> list[object]:
    return list({text(value): value for value in values}.values())


def _scalars(leaves: list[Atom], literals: list[object], kind: FieldType, sampling: Sampling) -> list[object]:
    found: list[object] = []
    for name, make in (("number", _numbers), ("string", _strings), ("date", _dates), ("objectid", _object_ids)):
        if kind not in ("any", name) and not (name == "number" and kind == "integer"):
            continue
        own = sorted((item for item in literals if bracket(item) == name), key=cmp_to_key(compare))
        found += make(own, leaves, kind, sampling)
    asked = {bracket(item) for item in literals}
    # The plainest first: values of the types that the query speaks of.
    found.sort(key=lambda value: 0 if isinstance(value, AbstractText) or bracket(value) in asked else 1)
    if kind in ("any", "boolean"):
        found += [True, False]
    if kind == "any":
        found += [
            item
            for item in literals
            if bracket(item) in ("binary", "timestamp", "regex", "minkey", "maxkey", "code", "dbref", "boolean")
        ]
        found += [atom.argument for atom in leaves if atom.operator == "$regex"]
        found += _exotic(literals)
    return found


def _exotic(literals: list[object]) -> list[object]:
    """One value of each type that queries seldom speak of, other than those they do."""
    values: list[object] = [
        Timestamp(1, 1),
        Timestamp(2**31, 1),
        Binary(b"\x00", 0),
        Binary(b"\xff" * 20, 0),
        Regex("^other$", 0),
        MinKey(),
        MaxKey(),
    ]
    return [value for value in values if not any(equal(value, literal) for literal in literals)]


# -- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(own: list[object], leaves: list[Atom], kind: FieldType, sampling: Sampling) -> list[object]:
    mods = [atom for atom in leaves if atom.operator == "$mod"]
    typed = any(atom.operator == "$type" and _types(atom) & {"int", "long", "double", "decimal"} for atom in leaves)
    exact: list[int | float | Decimal] = []
    for item in own:
        plain = number(item)
        if is_nan(item) or plain in (math.inf, -math.inf):
            sampling.complete = sampling.complete and is_nan(item)
            continue
        if plain not in exact:
            exact.append(plain)
    if mods and 0 not in exact:
        exact = sorted([*exact, 0])
    try:
        found = _cut(exact, integral=kind == "integer")
    except ArithmeticError:
        sampling.complete = False
        found = []
    if mods:
        found = _with_residues(found, exact, mods, kind, sampling)
    made = [_as_bson(plain) for plain in found]
    if any(value is None for value in made):
        sampling.complete = False
    values: list[object] = [*own, *(value for value in made if value is not None)]
    if kind == "integer":
        values = [value for value in values if not is_nan(value) and number(value) == int(number(value))]
    elif not typed:
        values.append(math.nan)
    if typed:
        values = [variant for value in values for variant in _typed(value)] + [math.nan, Decimal128("NaN")]
    if typed and any(not -(2**31) <= number(item) < 2**31 for item in own if not is_nan(item)):
        sampling.complete = False
    return values


def _types(atom: Atom) -> frozenset[str]:
    return matching.type_names(atom.argument)


def _as_bson(plain: int | float | Decimal) -> object:
    """A number as a BSON value; `None` for one that fits into none."""
    if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        plain = Decimal(plain) if abs(plain) < 10**34 else float(plain) if abs(plain) < 10**300 else Decimal("NaN")
    if isinstance(plain, Decimal):
        return None if plain.is_nan() or len(plain.as_tuple().digits) > 34 else Decimal128(plain)
    return plain


def _cut(exact: list[int | float | Decimal], *, integral: bool) -> list[int | float | Decimal]:
    """A value below, between and above the literals; none where no value lies between."""
    if not exact:
        return [1]
    found: list[int | float | Decimal] = []
    low, high = exact[0], exact[-1]
    found.append(math.ceil(low) - 1)
    found.append(math.floor(high) + 1)
    for left, right in pairwise(exact):
        between = _between(left, right)
        if not between and not integral:
            raise ArithmeticError(f"no number was found between {left} and {right}")
        found.extend(value for value in between if not integral or value == int(value))
    return found


def _between(left: int | float | Decimal, right: int | float | Decimal) -> list[int | float | Decimal]:
    whole = math.floor(left) + 1
    if whole < right:
        return [whole]
    middle = Decimal(left) / 2 + Decimal(right) / 2
    as_float = float(middle)
    if left < as_float < right:
        return [as_float]
    return [middle] if left < middle < right else []


def _with_residues(
    found: list[int | float | Decimal],
    exact: list[int | float | Decimal],
    mods: list[Atom],
    kind: FieldType,
    sampling: Sampling,
) -> list[int | float | Decimal]:
    divisors = [abs(matching.mod_arguments(atom.argument)[0]) for atom in mods]
    cycle = reduce(math.lcm, divisors, 1)
    if cycle > _MOST_RESIDUES:
        sampling.complete = False
        return [*found, *(value for atom in mods for value in _examples(atom))]
    values: list[int | float | Decimal] = list(found)
    edges = [math.floor(exact[0]) - cycle - 1, *exact, math.ceil(exact[-1]) + cycle + 1]
    for left, right in pairwise(edges):
        start = math.floor(left)
        for whole in range(start, min(math.ceil(right), start + cycle + 1) + 1):
            values.extend(value for value in (whole, whole + 0.5) if left < value < right)
    return values if kind != "integer" else [value for value in values if value == int(value)]


def _examples(atom: Atom) -> list[int]:
    divisor, remainder = matching.mod_arguments(atom.argument)
    return [remainder, remainder + 1, remainder + divisor]


def _typed(value: object) -> list[object]:
    plain = number(value)
    variants: list[object] = []
    if plain == int(plain):
        whole = int(plain)
        if abs(whole) < 2**31:
            variants.append(whole)
        if abs(whole) < 2**63:
            variants.append(Int64(whole))
        if float(whole) == whole:
            variants.append(float(whole))
        return [*variants, Decimal128(str(whole))]
    if isinstance(value, float):
        return [value, Decimal128(Decimal(value))] if len(str(Decimal(value))) < 34 else [value]
    return [value]


# -- strings ----------------------------------------------------------------------------------------------------------


def _strings(own: list[object], leaves: list[Atom], kind: FieldType, sampling: Sampling) -> list[object]:
    patterns = {atom.key: atom for atom in leaves if atom.operator == "$regex"}
    literals = sorted({str(item) for item in own}, key=lambda item: item.encode("utf-8", "surrogatepass"))
    ordered = any(
        atom.operator == "$expr" or (atom.operator in ("$gt", "$gte", "$lt", "$lte") and isinstance(atom.argument, str))
        for atom in leaves
    )
    gaps = _text_gaps(literals) if ordered else [_other_text(literals)]
    concrete: list[object] = [*literals, *gaps]
    if not patterns:
        return concrete
    examples = [example for atom in patterns.values() for example in _pattern_examples(atom.argument)]
    concrete += [example for example in dict.fromkeys(examples) if example not in literals]
    if len(patterns) > _MOST_PATTERNS:
        sampling.complete = False
        return _evaluable(concrete, patterns)
    choices = [frozenset(compress) for compress in _subsets(list(patterns))]
    abstract: list[object] = [AbstractText(gap, False, choice) for gap in gaps for choice in choices]
    unclear = [item for item in literals if _known(item, patterns) is None]
    abstract += [AbstractText(item, True, choice) for item in unclear for choice in choices]
    return [*_evaluable(concrete, patterns), *abstract]


def _evaluable(values: list[object], patterns: dict[str, Atom]) -> list[object]:
    return [value for value in values if _known(str(value), patterns) is not None]


def _known(value: str, patterns: dict[str, Atom]) -> frozenset[str] | None:
    try:
        return frozenset(
            key
            for key, atom in patterns.items()
            if isinstance(atom.argument, Regex) and matching.search(atom.argument, value)
        )
    except ReadError:
        return None


def _subsets(keys: list[str]) -> Iterable[tuple[str, ...]]:
    for choice in product((False, True), repeat=len(keys)):
        yield tuple(key for key, taken in zip(keys, choice, strict=True) if taken)


def _other_text(literals: list[str]) -> str:
    for candidate in ("x", "y", "z", "other"):
        if candidate not in literals:
            return candidate
    return max(literals) + "x"


def _text_gaps(literals: list[str]) -> list[str]:
    """Strings below, between and above the literals, in the order of their bytes."""
    gaps = [""] if "" not in literals else []
    for place, low in enumerate(literals):
        high = literals[place + 1] if place + 1 < len(literals) else None
        for tail in ("a", "0", " ", "\x01", "\x00"):
            candidate = low + tail
            if high is None or candidate.encode("utf-8", "surrogatepass") < high.encode("utf-8", "surrogatepass"):
                gaps.append(candidate)
                break
    return gaps


def _pattern_examples(argument: object) -> list[str]:
    """Strings that a regular expression may be found in, made by leaving out its operators."""
    if not isinstance(argument, Regex):
        return []
    source = str(argument.pattern)
    found: list[str] = []
    for branch in source.split("|")[:6]:
        bare = re.sub(r"\\d", "1", branch)
        bare = re.sub(r"\\w|\\S", "w", bare)
        bare = re.sub(r"\\s", " ", bare)
        bare = re.sub(r"\[\^?(.)[^\]]*\]", r"\1", bare)
        bare = re.sub(r"\{\d*,?\d*\}|[*+?^$()]", "", bare)
        bare = re.sub(r"(?<!\\)\.", "q", bare).replace("\\", "")[:60]
        # "ab", "xab", "abx", "AB", " ab": what anchors, case and word boundaries tell apart.
        found += [bare, "x" + bare, bare + "x", "x" + bare + "x", bare.swapcase(), bare.upper(), bare.lower()]
    return found


# -- dates and identifiers --------------------------------------------------------------------------------------------


def _dates(own: list[object], leaves: list[Atom], kind: FieldType, sampling: Sampling) -> list[object]:
    moments = [item if item.tzinfo else item.replace(tzinfo=UTC) for item in own if isinstance(item, datetime)]
    if not moments:
        return [datetime(2020, 1, 1, tzinfo=UTC)]
    found: list[object] = list(moments)
    day = timedelta(days=1)
    if moments[0] - datetime.min.replace(tzinfo=UTC) > day:
        found.append(moments[0] - day)
    if datetime.max.replace(tzinfo=UTC) - moments[-1] > day:
        found.append(moments[-1] + day)
    for left, right in pairwise(moments):
        if right - left > timedelta(milliseconds=1):
            step = (right - left) / 2
            middle = left + timedelta(milliseconds=max(1, step // timedelta(milliseconds=1)))
            found.append(middle)
    return found


def _object_ids(own: list[object], leaves: list[Atom], kind: FieldType, sampling: Sampling) -> list[object]:
    numbers = sorted(int(str(item), 16) for item in own)
    found = {0, 2**96 - 1, *numbers}
    for left, right in pairwise(numbers):
        found.add((left + right) // 2)
    for edge in numbers:
        found |= {max(edge - 1, 0), min(edge + 1, 2**96 - 1)}
    return [ObjectId(f"{value:024x}") for value in sorted(found)] if numbers else [ObjectId("0" * 23 + "1")]


def holds(atom: Atom, value: object) -> bool:
    """Whether an atom's operator holds for one value, abstract strings included.

    Raises:
        ReadError: it cannot be evaluated.
    """
    from canon.mongo.filters import atom_holds

    if not isinstance(value, AbstractText):
        return atom_holds(atom, _stand_in(value) if isinstance(value, dict | list) else value)
    match atom.operator:
        case "$regex":
            return atom.key in value.found
        case "$eq":
            return value.literal and atom.argument == value.like
        case "$exists":
            return True
        case "value" | "document" | "$size" | "$mod":
            return False
        case "$type":
            return "string" in atom.argument  # type: ignore[operator]
        case _:
            return atom_holds(atom, value.like)


def _stand_in(value: object) -> object:
    """An array or a document with strings for its abstract ones: itself for a literal, else one like no literal."""
    if isinstance(value, AbstractText):
        return value.like if value.literal else value.like + "\U0010fffd"
    if isinstance(value, dict):
        return {name: _stand_in(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_stand_in(item) for item in value]
    return value


def is_abstract(value: object) -> bool:
    """Whether a value holds an abstract string."""
    if isinstance(value, AbstractText):
        return True
    if isinstance(value, dict):
        return any(is_abstract(item) for item in value.values())
    return isinstance(value, list) and any(is_abstract(item) for item in value)
