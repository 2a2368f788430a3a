"""What a comparison of two queries can say, and the evidence that each saying must carry.

A `Comparison` is one of five kinds. The kind fixes the evidence, so that a proof without grounds or a refutation
without a witness cannot be built:

=============  ===============  =============================================================================
kind           relation         carries
=============  ===============  =============================================================================
`Identical`    identical        nothing: the bytes are the same
`Canonical`    equivalent       `absorbed`, the identities that made both sides one form
`Proved`       equivalent       `absorbed` and the `assumptions` under which no row can tell the two apart
`Refuted`      different        `differences` and a `witness` on which the two give different results
`Undecided`    undecided        `differences`, and a `problem` where a side could not be read
=============  ===============  =============================================================================
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Relation = Literal["identical", "equivalent", "different", "undecided"]
Side = Literal["expected", "actual"]

DifferenceKind = Literal[
    "missing_predicate",
    "extra_predicate",
    "wrong_field",
    "wrong_operator",
    "wrong_value",
    "bound_inclusivity",
    "date_resolution",
    "boolean_structure",
    "projection",
    "sort_key",
    "sort_direction",
    "limit",
    "offset",
    "grouping",
    "having",
    "aggregate",
    "source",
    "join_kind",
    "join_condition",
    "distinct",
    "set_operation",
    "subquery",
    "window",
    "pipeline_stage",
    "collation",
    "parameters",
    "vacuous",
    "nondeterministic",
]
"""The closed list of ways in which an answer can be wrong; reports count failures by it."""

ProblemKind = Literal[
    "empty",
    "multiple_statements",
    "not_a_read",
    "unparseable",
    "too_large",
    "unbound_parameter",
    "unsupported",
    "budget",
]
"""Why a text could not be read (all but the last) or a comparison could not be finished (`budget`)."""


class Frozen(BaseModel):
    """Base of the immutable value types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=True)


class Difference(Frozen):
    """One thing that a person would say is wrong with the actual query.

    Attributes:
        kind: which kind of difference, from the closed list.
        where: the part of the query it is in, outermost first (`WHERE`, `subquery in FROM: HAVING`, `$match`).
        expected: the expected part as text, `None` where only the actual query has one.
        actual: the actual part as text, `None` where only the expected query has one.
        field: the column or path it is about, where there is one.
    """

    kind: DifferenceKind
    where: str
    expected: str | None = None
    actual: str | None = None
    field: str | None = None

    @property
    def message(self) -> str:
        """The difference as one line for the person who wrote the golden file."""
        from canon.messages import describe

        return describe(self)


Cell = JsonValue
"""A value in a witness: JSON, with `{"type": …, "value": …}` for what JSON has no word for (dates, blobs, decimals)."""


class Table(Frozen):
    """A small table of a witness: `rows` has one tuple per row, one cell per column, in the order of `columns`."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class RowWitness(Frozen):
    """The smallest tables found on which two SQL queries give different results.

    Attributes:
        tables: the whole database of the witness.
        expected: the result of the expected query on it.
        actual: the result of the actual query on it.
        reading: one line that says what the rows show, in words.
        confirmed_on: the engines that really ran both queries on it (`"regions"` = by evaluation alone).
    """

    kind: Literal["rows"] = "rows"
    tables: tuple[Table, ...]
    expected: Table
    actual: Table
    reading: str | None = None
    confirmed_on: tuple[str, ...] = ()


class DocumentWitness(Frozen):
    """The smallest documents found on which two MongoDB queries give different results.

    Attributes:
        collections: documents as relaxed Extended JSON, by collection name (`""` for the one of a bare filter).
        expected: the documents that the expected query returns.
        actual: the documents that the actual query returns.
        reading: one line that says what the documents show, in words.
        confirmed_on: as for `RowWitness`.
    """

    kind: Literal["documents"] = "documents"
    collections: dict[str, tuple[JsonValue, ...]]
    expected: tuple[JsonValue, ...]
    actual: tuple[JsonValue, ...]
    reading: str | None = None
    confirmed_on: tuple[str, ...] = ()


Witness = Annotated[RowWitness | DocumentWitness, Field(discriminator="kind")]


class Problem(Frozen):
    """A text that could not be read, or a comparison that could not be finished.

    Attributes:
        kind: what is the matter.
        side: whose text it is, `None` where it is about the pair.
        message: one line for a person: where, what, how to fix.
    """

    kind: ProblemKind
    side: Side | None
    message: str


class Identical(Frozen):
    """The two texts are the same after trimming outer white space and one trailing `;`."""

    basis: Literal["identical"] = "identical"

    @property
    def relation(self) -> Relation:
        """How the two queries stand to each other."""
        return "identical"


class Canonical(Frozen):
    """Both texts normalise to the same form. `absorbed` names each identity that was used on either side."""

    basis: Literal["canonical"] = "canonical"
    absorbed: tuple[str, ...]

    @property
    def relation(self) -> Relation:
        """How the two queries stand to each other."""
        return "equivalent"


class Proved(Frozen):
    """The forms differ, but no row can tell the two apart, given the `assumptions` (declared domains, keys)."""

    basis: Literal["proved"] = "proved"
    absorbed: tuple[str, ...]
    assumptions: tuple[str, ...] = ()

    @property
    def relation(self) -> Relation:
        """How the two queries stand to each other."""
        return "equivalent"


class Refuted(Frozen):
    """The two give different results on the `witness`."""

    basis: Literal["refuted"] = "refuted"
    differences: tuple[Difference, ...]
    witness: Witness
    absorbed: tuple[str, ...] = ()

    @property
    def relation(self) -> Relation:
        """How the two queries stand to each other."""
        return "different"


class Undecided(Frozen):
    """Neither a proof nor a witness was found, or a side could not be read (`problem`)."""

    basis: Literal["undecided"] = "undecided"
    differences: tuple[Difference, ...] = ()
    absorbed: tuple[str, ...] = ()
    problem: Problem | None = None

    @property
    def relation(self) -> Relation:
        """How the two queries stand to each other."""
        return "undecided"


Comparison = Annotated[Identical | Canonical | Proved | Refuted | Undecided, Field(discriminator="basis")]
