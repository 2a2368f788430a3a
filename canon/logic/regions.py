"""Decides whether two predicates agree by trying one representative of every region of every axis.

An axis is one thing that the predicates look at (a column, a path, a free boolean) with one representative for each
class of values that neither predicate can tell apart. If the two agree on the whole product, they agree on every
row; if they disagree, the row that shows it is the one that leaves the fewest axes away from their plainest value.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations, product
from math import prod
from time import monotonic
from typing import NamedTuple

CHECK_CLOCK_EVERY = 4096


class Axis(NamedTuple):
    """One thing that the predicates look at.

    Attributes:
        name: what it is called in a witness.
        values: one representative per region, the plainest first; never empty.
    """

    name: str
    values: Sequence[Hashable]


class Agreement(NamedTuple):
    """The two evaluate alike on every row of the product.

    Attributes:
        rows: how many rows were tried.
        constant: whether they give one and the same answer on every row (a vacuous agreement).
        value: that one answer; `None` where the answer varies.
    """

    rows: int
    constant: bool
    value: Hashable | None


class Disagreement(NamedTuple):
    """The first row on which the two differ: one value per axis, and what each side made of it."""

    row: tuple[Hashable, ...]
    left: Hashable
    right: Hashable


class TooLarge(NamedTuple):
    """The product has more rows than the bound allows, or the time ran out; nothing was decided.

    Attributes:
        size: how many rows there are.
    """

    size: int


Evaluator = Callable[[tuple[Hashable, ...]], Hashable]
"""Gives a predicate's answer on one row, which has one value per axis in the order of the axes."""


def size(axes: Sequence[Axis]) -> int:
    """How many rows the product of the axes has."""
    return prod(len(axis.values) for axis in axes)


def rows(axes: Sequence[Axis]) -> Iterator[tuple[Hashable, ...]]:
    """Every row of the product once: first with all axes at their plainest value.

    Then with one axis away from it, and so on.
    """
    plainest = [axis.values[0] for axis in axes]
    for away in range(len(axes) + 1):
        for moved in combinations(range(len(axes)), away):
            for values in product(*(axes[index].values[1:] for index in moved)):
                row = plainest.copy()
                for index, value in zip(moved, values, strict=True):
                    row[index] = value
                yield tuple(row)


def decide(
    axes: Sequence[Axis],
    left: Evaluator,
    right: Evaluator,
    *,
    limit: int = 200_000,
    deadline: float | None = None,
) -> Agreement | Disagreement | TooLarge:
    """Compare two predicates over the product of the axes.

    The answers are compared with `==`; an evaluator that decides filters returns whether the row is kept, one that
    decides values returns the value with its type.

    Args:
        axes: what the predicates look at; no axis means one empty row.
        left: the first predicate.
        right: the second predicate.
        limit: how many rows may be tried.
        deadline: the `time.monotonic()` instant past which the answer is `TooLarge`.
    """
    total = size(axes)
    if total > limit:
        return TooLarge(total)
    first: Hashable = None
    constant = True
    for count, row in enumerate(rows(axes)):
        ours, theirs = left(row), right(row)
        if ours != theirs:
            return Disagreement(row, ours, theirs)
        if count == 0:
            first = ours
        elif constant and ours != first:
            constant = False
        if deadline is not None and count % CHECK_CLOCK_EVERY == 0 and monotonic() > deadline:
            return TooLarge(total)
    return Agreement(total, constant, first if constant else None)
