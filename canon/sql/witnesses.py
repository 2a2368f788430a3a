"""Builds the witness of a refuted filter: a database of one row (and the parents it refers to), and both results."""

from decimal import Decimal
from typing import Any

from canon.schema import Column as SchemaColumn
from canon.schema import Table as SchemaTable
from canon.sql.algebra import Block, Expr, columns
from canon.sql.context import Context
from canon.sql.filters import Row
from canon.verdict import Cell, RowWitness, Table

MAX_PARENTS = 6

_FILL: dict[str, Any] = {"integer": 1, "real": 1.5, "decimal": Decimal(1), "text": "a", "boolean": True,
                         "date": "2020-01-01 00:00:00", "timestamp": "2020-01-01 00:00:00", "time": "12:00:00",
                         "timestamptz": "2020-01-01 00:00:00", "json": "{}", "any": 1, "blob": "00",
                         "uuid": "00000000-0000-0000-0000-000000000001", "array": frozenset()}  # fmt: skip


class NoWitness(Exception):
    """The row cannot be completed to a database that the schema allows, or the results cannot be worked out."""


def row_witness(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
    ours: Block,
    theirs: Block,
    row: Row,
    kept: tuple[bool, bool],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    ctx: Context,
) -> RowWitness | None:
    """The witness for a row of the one table that both queries read; `None` where it cannot be built honestly."""
    try:
        return _build(ours, theirs, row, kept, names, ctx)
    except NoWitness:
        return None


def _build(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
    ours: Block,
    theirs: Block,
    row: Row,
    kept: tuple[bool, bool],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    ctx: Context,
) -> RowWitness:
    if (
        len(ours.sources) != 1
        or ours.lefts
        or ours.sources[0].kind != "table"
        or ours.having
        or ours.extra
        or ours.offset
    ):
        raise NoWitness
    if ours.limit is not None and (
        ours.limit.op != "lit" or ours.limit.value[0] != "int" or ours.limit.value[1] == "0"
    ):
        raise NoWitness
    source = ours.sources[0]
    given = {str(column.value[1]): value for column, value in row.items()}
    declared = _declared(source.name, ctx)
    if declared is None:
        named, values = tuple(given) or ("a",), {**given} or {"a": 1}
        tables = [Table(name=source.name, columns=named, rows=(tuple(_cell(values[c], None, ctx) for c in named),))]
        types: dict[str, SchemaColumn] = {}
    else:
        values = _complete(declared, given, ctx)
        tables = [_table(declared, values, ctx)]
        types = {column.name: column for column in declared.columns}
        _parents(declared, values, tables, ctx)
    results = []
    for keep, labels in zip(kept, names, strict=True):
        results.append(_result(ours, keep, values, types, labels, ctx))
    if results[0].rows == results[1].rows:
        raise NoWitness
    asked = {str(column.value[1]) for part in (*ours.where, *theirs.where) for column in columns(part)}
    shown = ", ".join(f"{name} = {_shown(value)}" for name, value in sorted(given.items()) if name in asked)
    who = "the expected query" if kept[0] else "the answer"
    return RowWitness(
        tables=tuple(tables),
        expected=results[0],
        actual=results[1],
        reading=f"a row with {shown} is kept by {who} alone",
        confirmed_on=("regions",),
    )


def _declared(name: str, ctx: Context) -> SchemaTable | None:
    if ctx.schema is None:
        return None
    return next((table for table in ctx.schema.tables if table.name == name), None)


def _complete(table: SchemaTable, given: dict[str, Any], ctx: Context) -> dict[str, Any]:
    """A value for every column: the given ones, NULL for references that may be NULL, else the plainest."""
    referring = {name for key in table.foreign_keys for name in key.columns}
    values: dict[str, Any] = {}
    for column in table.columns:
        if column.name in given:
            values[column.name] = given[column.name]
        elif column.name in referring and not column.not_null:
            values[column.name] = None
        elif column.values is not None:
            values[column.name] = column.values[0] if column.values else None
        else:
            values[column.name] = _FILL[column.type]
    return values


def _parents(table: SchemaTable, values: dict[str, Any], tables: list[Table], ctx: Context) -> None:
    """Add the rows that the foreign keys of a row refer to."""
    for key in table.foreign_keys:
        wanted = [values[name] for name in key.columns if name in values]
        if any(value is None for value in wanted):
            continue
        parent = _declared(key.parent, ctx)
        if parent is None or parent.name == table.name or parent.checks or len(tables) > MAX_PARENTS:
            raise NoWitness
        if any(done.name == parent.name for done in tables):
            raise NoWitness
        mine = _complete(parent, dict(zip(key.parent_columns, wanted, strict=True)), ctx)
        tables.append(_table(parent, mine, ctx))
        _parents(parent, mine, tables, ctx)


def _table(table: SchemaTable, values: dict[str, Any], ctx: Context) -> Table:
    cells = tuple(_cell(values[column.name], column, ctx) for column in table.columns)
    return Table(name=table.name, columns=tuple(column.name for column in table.columns), rows=(cells,))


def _result(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
    block: Block,
    keep: bool,
    values: dict[str, Any],
    types: dict[str, SchemaColumn],
    labels: tuple[str, ...],
    ctx: Context,
) -> Table:
    cells: list[Cell] = []
    names: list[str] = []
    for position, expr in enumerate(block.select):
        if expr.op == "star":
            names += list(values)
            cells += [_cell(value, types.get(name), ctx) for name, value in values.items()]
            continue
        names.append((labels[position] if position < len(labels) else "") or f"column{position + 1}")
        cells.append(_output(expr, keep, values, types, ctx))
    rows = (tuple(cells),) if keep or block.group == () else ()
    return Table(name="", columns=tuple(names), rows=rows)


def _output(expr: Expr, keep: bool, values: dict[str, Any], types: dict[str, SchemaColumn], ctx: Context) -> Cell:
    if expr.op == "col":
        name = str(expr.value[1])
        return _cell(values.get(name, 1), types.get(name), ctx)
    if expr.op == "lit":
        kind, text = expr.value
        if kind == "null":
            return None
        if kind == "int":
            return int(text)
        if kind == "str":
            return str(text)
        raise NoWitness
    if expr.op == "agg":
        return _aggregate(expr, keep, values, types, ctx)
    raise NoWitness


def _aggregate(expr: Expr, keep: bool, values: dict[str, Any], types: dict[str, SchemaColumn], ctx: Context) -> Cell:
    name = expr.value[0]
    if name == "count" and not expr.args:
        return int(keep)
    if len(expr.args) != 1 or expr.args[0].op != "col":
        raise NoWitness
    column = str(expr.args[0].value[1])
    value = values.get(column, 1)
    if name == "count":
        return int(keep and value is not None)
    if name in {"min", "max"} or (name == "sum" and isinstance(value, int)):
        return _cell(value, types.get(column), ctx) if keep else None
    raise NoWitness


def _cell(value: Any, column: SchemaColumn | None, ctx: Context) -> Cell:
    """A value as it stands in a witness."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Decimal):
        return float(value) if Decimal(float(value)) == value else {"type": "decimal", "value": str(value)}
    if isinstance(value, frozenset):
        members: list[Cell] = []
        for member in sorted(value, key=repr):
            kind, text = member.value
            members.append(int(text) if kind in {"num", "int"} and text.lstrip("-").isdigit() else str(text))
        return members
    text = str(value)
    kind = column.type if column is not None else "any"
    if kind in {"date", "timestamp", "timestamptz"} or (kind == "any" and _is_instant(text)):
        short = text.removesuffix(" 00:00:00") if kind != "timestamptz" else text
        if not ctx.dialect.exact_dates or kind == "any":
            return short
        return {"type": "date" if kind == "date" else kind, "value": short if kind == "date" else text}
    return text


def _is_instant(text: str) -> bool:
    return len(text) >= 19 and text[4:5] == "-" and text[10:11] == " " and text[13:14] == ":"


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(str(member.value[1]) for member in value)) + "}"
    return str(value).removesuffix(" 00:00:00")
