"""Canonical boolean forms over hashable atoms: monotone AND/OR trees whose negations sit inside the atoms.

The laws used hold for two- and three-valued logic alike: AND and OR are associative, commutative and idempotent, and
absorb (`a AND (a OR b)  =  a`). Nothing here knows that an atom and its negation exclude each other: under NULLs
they do not.
"""

from collections.abc import Hashable, Iterable
from typing import Literal, NamedTuple


class Junction(NamedTuple):
    """An AND or an OR of two or more distinct parts, none of which is a junction of the same kind."""

    kind: Literal["and", "or"]
    parts: frozenset[Hashable]


class Truth(NamedTuple):
    """A constant: what is left of an empty AND (true) or an empty OR (false)."""

    value: bool


TRUE = Truth(True)
FALSE = Truth(False)


def conjunction(parts: Iterable[Hashable]) -> Hashable:
    """The AND of the parts: flattened, without duplicates, absorbed; `TRUE` where there are none."""
    return _junction("and", parts, unit=TRUE, zero=FALSE)


def disjunction(parts: Iterable[Hashable]) -> Hashable:
    """The OR of the parts: flattened, without duplicates, absorbed; `FALSE` where there are none."""
    return _junction("or", parts, unit=FALSE, zero=TRUE)


def members(form: Hashable, kind: Literal["and", "or"]) -> frozenset[Hashable]:
    """The parts of a form seen as a junction of one kind: its own parts, or itself alone."""
    if isinstance(form, Junction) and form.kind == kind:
        return form.parts
    return frozenset((form,))


def _junction(kind: Literal["and", "or"], parts: Iterable[Hashable], *, unit: Truth, zero: Truth) -> Hashable:
    flat: set[Hashable] = set()
    for part in parts:
        if isinstance(part, Truth):
            if part == zero:
                return zero
            continue
        if isinstance(part, Junction) and part.kind == kind:
            flat |= part.parts
        else:
            flat.add(part)
    kept = _absorb(kind, flat)
    if not kept:
        return unit
    if len(kept) == 1:
        return next(iter(kept))
    return Junction(kind, frozenset(kept))


def _absorb(kind: Literal["and", "or"], parts: set[Hashable]) -> set[Hashable]:
    """Drop every part that another part makes redundant: in an AND, an OR that has the other among its members."""
    other: Literal["and", "or"] = "or" if kind == "and" else "and"
    inner = [part for part in parts if isinstance(part, Junction) and part.kind == other]
    if not inner:
        return parts
    dropped = {
        part
        for part in inner
        if not part.parts.isdisjoint(parts) or any(rival is not part and rival.parts < part.parts for rival in inner)
    }
    return parts - dropped
