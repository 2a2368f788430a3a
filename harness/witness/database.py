"""A small database: rows by table, what the schema demands of them, and their form in a witness."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from pydantic import JsonValue

from canon.schema import Column, Schema, Table
from canon.verdict import Cell
from canon.verdict import Table as WitnessTable

Value = bool | int | float | str | bytes | tuple[str | int, ...] | None
"""A cell; a tuple is an array. Dates, times and decimals are text, in the form that the column's type writes."""

Row = tuple[Value, ...]
Rows = dict[str, list[Row]]
"""Rows by the table's declared name; a table without rows may be absent."""


class Reference(NamedTuple):
    """A foreign key by positions: `columns` of one table refer to `parent_columns` of `parent`."""

    columns: tuple[int, ...]
    parent: str
    parent_columns: tuple[int, ...]


@dataclass(frozen=True)
class Relation:
    """A table of the schema, with its names resolved to positions.

    Attributes:
        table: as declared.
        positions: column positions by folded name.
        keys: positions of the columns that are unique together.
        references: the foreign keys whose parent is known.
        required: positions of the NOT NULL columns.
    """

    table: Table
    positions: Mapping[str, int]
    keys: tuple[tuple[int, ...], ...]
    references: tuple[Reference, ...]
    required: frozenset[int]

    @property
    def name(self) -> str:
        """The declared name."""
        return self.table.name

    @property
    def columns(self) -> tuple[Column, ...]:
        """In declared order."""
        return self.table.columns


@dataclass(frozen=True)
class Layout:
    """A schema prepared for building and checking rows; names are matched without regard to case."""

    relations: Mapping[str, Relation] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema) -> "Layout":
        """Resolve the names of a schema; keys and references that name no known column are left out."""
        tables = {table.name.lower(): table for table in schema.tables}
        return cls({name: _relation(table, tables) for name, table in tables.items()})

    def find(self, name: str) -> Relation | None:
        """The table of that name, in any case."""
        return self.relations.get(name.lower())

    def ancestors(self, names: Iterable[str]) -> list[Relation]:
        """The named tables and all that they refer to, in the schema's order."""
        wanted: set[str] = set()
        pending = [name.lower() for name in names]
        while pending:
            name = pending.pop()
            relation = self.relations.get(name)
            if relation is not None and name not in wanted:
                wanted.add(name)
                pending += [reference.parent.lower() for reference in relation.references]
        return [relation for name, relation in self.relations.items() if name in wanted]


def _positions(table: Table) -> dict[str, int]:
    return {column.name.lower(): index for index, column in reversed(list(enumerate(table.columns)))}


def _at(names: Sequence[str], positions: Mapping[str, int]) -> tuple[int, ...] | None:
    found = [positions.get(name.lower()) for name in names]
    return None if None in found else cast("tuple[int, ...]", tuple(found))


def _relation(table: Table, tables: Mapping[str, Table]) -> Relation:
    positions = _positions(table)
    keys = [key for names in table.keys if (key := _at(names, positions))]
    references = []
    for foreign in table.foreign_keys:
        parent = tables.get(foreign.parent.lower())
        here = _at(foreign.columns, positions)
        there = _at(foreign.parent_columns, _positions(parent)) if parent is not None else None
        if parent is not None and here and there and len(here) == len(there):
            references.append(Reference(here, parent.name, there))
    required = frozenset(index for index, column in enumerate(table.columns) if column.not_null)
    return Relation(table, positions, tuple(keys), tuple(references), required)


def comparable(value: Value) -> object:
    """A value so that a key and the text or number that refers to it compare equal (`7`, `7.0` and `'7'`)."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        return number if math.isfinite(number) else value
    return value


def violations(rows: Rows, layout: Layout) -> list[str]:
    """What in these rows the schema forbids, CHECK conditions aside; empty = a database that may exist."""
    found: list[str] = []
    for name, content in rows.items():
        relation = layout.find(name)
        if relation is None:
            found.append(f"{name} is no table of the schema")
            continue
        for row in content:
            found += [
                f"{name}.{relation.columns[index].name} is NULL" for index in relation.required if row[index] is None
            ]
            found += [
                f"{name}.{column.name} is not one of its values"
                for value, column in zip(row, relation.columns, strict=True)
                if column.values is not None and value is not None and value not in column.values
            ]
        for key in relation.keys:
            if _repeats(content, key):
                found.append(f"{name} repeats a key over {', '.join(relation.columns[i].name for i in key)}")
        found += [
            f"{name} refers to a row that {reference.parent} does not have"
            for reference in relation.references
            if _dangles(content, rows.get(reference.parent, []), reference)
        ]
    return found


def _repeats(content: Sequence[Row], key: tuple[int, ...]) -> bool:
    seen: set[tuple[object, ...]] = set()
    for row in content:
        values = tuple(_folded(row[index]) for index in key)
        if None in values:
            continue
        if values in seen:
            return True
        seen.add(values)
    return False


def _folded(value: Value) -> object:
    # A key under a folding collation (MySQL) also clashes on case: staying apart in every dialect costs nothing.
    return value.lower().rstrip() if isinstance(value, str) else comparable(value)


def _dangles(content: Sequence[Row], parents: Sequence[Row], reference: Reference) -> bool:
    present = {tuple(comparable(row[index]) for index in reference.parent_columns) for row in parents}
    for row in content:
        values = tuple(comparable(row[index]) for index in reference.columns)
        if None not in values and values not in present:
            return True
    return False


def cell_of(value: object) -> Cell:
    """A value as the JSON of a witness; what JSON has no word for carries its type."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"type": "blob", "value": bytes(value).hex()}
    if isinstance(value, list | tuple):
        return [cell_of(item) for item in value]
    return {"type": type(value).__name__.lower(), "value": str(value)}


def value_of(cell: JsonValue) -> Value:
    """The value that a cell of a witness stands for."""
    if isinstance(cell, dict):
        text = str(cell.get("value"))
        kind = cell.get("type")
        if kind == "blob":
            return bytes.fromhex(text)
        return float(text) if kind == "float" else text
    if isinstance(cell, list):
        return tuple(item if isinstance(item, int) else str(item) for item in cell)
    return cell


def tables_of(rows: Rows, layout: Layout, hidden: Mapping[str, frozenset[int]]) -> tuple[WitnessTable, ...]:
    """Rows as the tables of a witness, in the schema's order, without the `hidden` columns (NULL in every row)."""
    tables = []
    for relation in layout.relations.values():
        if relation.name not in rows:
            continue
        shown = [i for i in range(len(relation.columns)) if i not in hidden.get(relation.name, frozenset())]
        tables.append(
            WitnessTable(
                name=relation.name,
                columns=tuple(relation.columns[i].name for i in shown),
                rows=tuple(tuple(cell_of(row[i]) for i in shown) for row in rows[relation.name]),
            )
        )
    return tuple(tables)


def rows_of(tables: Iterable[WitnessTable], layout: Layout) -> Rows:
    """The rows that a witness shows; a column that it leaves out is NULL.

    Raises:
        ValueError: a table or column that the schema does not have.
    """
    rows: Rows = {}
    for table in tables:
        relation = layout.find(table.name)
        if relation is None:
            raise ValueError(f"{table.name} is no table of the schema")
        places = _at(table.columns, relation.positions)
        if places is None and table.columns:
            raise ValueError(f"a column of {table.name} is not in the schema")
        content: list[Row] = []
        for cells in table.rows:
            row: list[Value] = [None] * len(relation.columns)
            for place, cell in zip(places or (), cells, strict=True):
                row[place] = value_of(cell)
            content.append(tuple(row))
        rows[relation.name] = content
    return rows
