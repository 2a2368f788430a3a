"""What is known of the data: tables, columns, keys. Every fact is optional; an unknown fact unlocks nothing."""

from typing import Literal

from canon.verdict import Frozen

ColumnType = Literal[
    "integer",
    "real",
    "decimal",
    "text",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "time",
    "blob",
    "json",
    "uuid",
    "array",
    "any",
]
"""The types that identities and regions ask about. `any` = not declared, or a type nothing is known of."""


class Column(Frozen):
    """A column of a table.

    Attributes:
        name: as declared; how names are matched is the dialect's matter.
        type: what kind of values it holds.
        declared: the type as written in the DDL (`VARCHAR(20)`), for engines that need it; "" where unknown.
        item: for an array column, the type of its elements.
        not_null: whether NULL is forbidden.
        values: the closed set of values of an enum column, `None` where any value may occur.
    """

    name: str
    type: ColumnType = "any"
    declared: str = ""
    item: ColumnType = "any"
    not_null: bool = False
    values: tuple[str, ...] | None = None


class ForeignKey(Frozen):
    """`columns` of this table refer to `parent_columns` of `parent`, position by position."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


class Table(Frozen):
    """A table: its columns in declared order and what is declared of them.

    Attributes:
        name: as declared.
        columns: in declared order.
        keys: sets of columns that are unique together; the primary key first, its columns being `not_null`.
        foreign_keys: the references to other tables.
        checks: CHECK conditions as SQL text in the schema's dialect.
    """

    name: str
    columns: tuple[Column, ...]
    keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    checks: tuple[str, ...] = ()


class Schema(Frozen):
    """The tables of one database. `canon.sql.ddl.read_schema` builds one from DDL text."""

    tables: tuple[Table, ...] = ()
