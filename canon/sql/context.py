"""What is known while one query is read and rewritten: dialect, tables, bound arguments, clock, deadline."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import Literal, NamedTuple

from canon.schema import ColumnType, Schema, Table
from canon.sql.dialects import Dialect


class BudgetError(Exception):
    """The time for one pair ran out."""


class ColumnFact(NamedTuple):
    """What is known of a column of a source.

    Attributes:
        type: the kind of its values.
        not_null: whether it is never NULL (before any outer join pads it).
        values: its closed set of values, where it has one.
        converts: whether it has an affinity in SQLite; an output that is computed has none.
    """

    type: ColumnType
    not_null: bool
    values: tuple[str, ...] | None = None
    converts: bool = True


UNKNOWN = ColumnFact("any", False)


class TableFacts:
    """A table as the rewriting sees it, built only for the tables that a query names.

    Attributes:
        name: as declared.
        columns: facts by declared name, in declared order.
        folded: declared names by lower-cased name.
        keys: sets of columns that are unique together.
        references: for each foreign key, (columns, parent name, parent columns).
        checks: the CHECK conditions as text.
    """

    __slots__ = ("checks", "columns", "folded", "keys", "name", "references")

    def __init__(self, table: Table) -> None:
        self.name = table.name
        self.columns = {c.name: ColumnFact(c.type, c.not_null, c.values) for c in table.columns}
        self.folded = {name.lower(): name for name in self.columns}
        self.keys = tuple(frozenset(key) for key in table.keys)
        self.references = tuple((fk.columns, fk.parent, fk.parent_columns) for fk in table.foreign_keys)
        self.checks = table.checks


Role = Literal["top", "derived", "exists", "in", "scalar", "branch", "set"]

Arguments = Sequence[object] | Mapping[str, object]


class Context:
    """The state of reading and rewriting one query; never shared between queries.

    Attributes:
        dialect: its facts.
        now: the pinned instant in UTC, `None` where there is none.
        args: the bound arguments.
        used: the names of the identities that changed something.
        tables: facts of base-table sources, by source number.
        outputs: facts of the output columns of derived sources, by source number.
        padded: sources whose columns an outer join may pad with NULL.
        loose: whether a name could not be tied to one source for want of a schema: only structure is compared then.
        role: what the query being rewritten is for: the result, a derived table, a test, a value, a branch of a set.
        nondeterministic: why the result is not determined by the data, `None` where it is.
        clock_calls: whether the text calls the clock.
        deadline: the `time.monotonic()` instant at which to give up.
    """

    def __init__(
        self,
        dialect: Dialect,
        schema: Schema | None,
        args: Arguments = (),
        now: datetime | None = None,
        deadline: float | None = None,
    ) -> None:
        self.dialect = dialect
        self.schema = schema
        self.args = args
        self.now = now
        self.deadline = deadline
        self.used: set[str] = set()
        self.tables: dict[int, TableFacts] = {}
        self.outputs: dict[int, tuple[ColumnFact, ...]] = {}
        self.padded: set[int] = set()
        self.loose = False
        self.nondeterministic: str | None = None
        self.clock_calls = False
        self.named: set[str] = set()
        self.role: Role = "top"
        self._sids = 0
        self._facts: dict[str, TableFacts | None] = {}

    def fresh(self) -> int:
        """A source number that this query has not used yet."""
        self._sids += 1
        return self._sids

    def table(self, name: str) -> TableFacts | None:
        """The declared table of a name (matched exactly, then without case), `None` where there is none."""
        if name not in self._facts:
            self._facts[name] = self._find(name)
        return self._facts[name]

    def _find(self, name: str) -> TableFacts | None:
        if self.schema is None:
            return None
        lowered = name.lower()
        near = [table for table in self.schema.tables if table.name.lower() == lowered]
        exact = [table for table in near if table.name == name]
        match = exact or near
        return TableFacts(match[0]) if len(match) == 1 else None

    def check_time(self) -> None:
        """Give up where the deadline has passed.

        Raises:
            BudgetError: it has.
        """
        if self.deadline is not None and monotonic() > self.deadline:
            raise BudgetError

    @contextmanager
    def acting_as(self, role: Role) -> Iterator[None]:
        """Know what a query is for while it is rewritten."""
        before = self.role
        self.role = role
        try:
            yield
        finally:
            self.role = before

    @contextmanager
    def padding(self, sources: set[int]) -> Iterator[None]:
        """Know of sources that an outer join may pad, while a block and its subqueries are rewritten."""
        added = sources - self.padded
        self.padded |= added
        try:
            yield
        finally:
            self.padded -= added
