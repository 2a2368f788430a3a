"""What a query asks of rows, as a small tree that rows can be built for: comparisons, links to subqueries, blocks."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from harness.witness.database import Value

Operator = Literal["=", "<>", "<", "<=", ">", ">="]

NEGATED: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Place(NamedTuple):
    """A column of a table: the declared name and the position."""

    table: str
    column: int


class Spot(NamedTuple):
    """A column of one occurrence of a table in the pair of queries."""

    instance: int
    place: Place


@dataclass(frozen=True, slots=True)
class Compare:
    """A column against a constant."""

    spot: Spot
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Relate:
    """A column against a column."""

    left: Spot
    operator: Operator
    right: Spot


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column is NULL."""

    spot: Spot


@dataclass(frozen=True, slots=True)
class Among:
    """A condition on one column that is known by example: values for which it holds, and some for which it does not."""

    spot: Spot
    holding: tuple[Value, ...]
    failing: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Within:
    """A subquery has a row; `links` are its outputs that equal a column outside."""

    block: "Block"
    links: tuple[tuple[Spot, Spot], ...] = ()


@dataclass(frozen=True, slots=True)
class All:
    """Every member holds."""

    members: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one member holds."""

    members: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The member does not hold."""

    member: "Condition"


Condition = Compare | Relate | IsNull | Among | Within | All | Either | Negation

ALWAYS = All(())
"""The condition that asks for nothing; also stands for what cannot be read."""


@dataclass(frozen=True, slots=True)
class Block:
    """A SELECT, or a set operation: rows of its instances that satisfy the condition give it a row.

    Attributes:
        instances: the tables it reads itself.
        parts: derived tables and operands, which must have a row for it to have one.
        condition: WHERE and ON.
        groups: the grouping columns; empty = not grouped by columns.
        counts: numbers that an aggregate over its rows is compared with.
    """

    instances: tuple[int, ...] = ()
    parts: tuple["Block", ...] = ()
    condition: Condition = ALWAYS
    groups: tuple[Spot, ...] = ()
    counts: tuple[int, ...] = ()


@dataclass
class Demands:
    """All that a pair of queries asks of the data.

    Attributes:
        tables: the table of each instance, by its declared name.
        roots: the block of each whole query.
        blocks: every SELECT and set operation of both queries, innermost first.
        literals: constants that a column is compared with, as written.
        examples: values made for a column from a function or pattern over it.
        alike: pairs of columns that are compared with each other.
        counts: row numbers that matter: LIMIT, OFFSET, COUNT comparisons.
        steps: distances in days that date arithmetic asks about.
        numeric: text columns that are used as numbers.
        dated: columns that are used as dates.
        used: the columns that a query mentions.
        starred: the tables whose every column is returned.
        texts: string constants that stand in expressions over no known column.
    """

    tables: list[str] = field(default_factory=list)
    roots: list[Block] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    literals: dict[Place, list[Value]] = field(default_factory=dict)
    examples: dict[Place, list[Value]] = field(default_factory=dict)
    alike: list[tuple[Place, Place]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    numeric: set[Place] = field(default_factory=set)
    dated: set[Place] = field(default_factory=set)
    used: set[Place] = field(default_factory=set)
    starred: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
