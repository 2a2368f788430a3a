"""Says in one line what a witness shows."""

from collections import Counter

from canon.verdict import Cell
from canon.verdict import Table as WitnessTable

MAX_CELLS = 4
MAX_ROWS = 2


def read_rows(tables: tuple[WitnessTable, ...], expected: WitnessTable, actual: WitnessTable, ordered: bool) -> str:
    """One line: the rows that are there, what the golden query makes of them, what the other one does."""
    filled = [table for table in tables if table.rows]
    given = ", ".join(_rows(table) for table in filled) if filled else "empty tables"
    return f"with {given}: {_difference(expected, actual, ordered)}"


def _rows(table: WitnessTable) -> str:
    if len(table.rows) > MAX_ROWS:
        return f"{len(table.rows)} rows in {table.name}"
    return ", ".join(f"a row of {table.name}{_cells(table, row)}" for row in table.rows)


def _cells(table: WitnessTable, row: tuple[Cell, ...]) -> str:
    said = [f"{name} {_said(cell)}" for name, cell in zip(table.columns, row, strict=True) if cell is not None]
    empty = [name for name, cell in zip(table.columns, row, strict=True) if cell is None]
    said = said[:MAX_CELLS] or [f"{name} NULL" for name in empty[:1]]
    return f" ({', '.join(said)})" if said else ""


def _said(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, dict):
        return str(cell.get("value"))
    return f"'{cell}'" if isinstance(cell, str) else str(cell)


def _difference(expected: WitnessTable, actual: WitnessTable, ordered: bool) -> str:
    left, right = Counter(map(str, expected.rows)), Counter(map(str, actual.rows))
    if not actual.rows or not expected.rows:
        return f"the golden query returns {_amount(expected)}, the answer {_amount(actual)}"
    if ordered and left == right:
        return "both return the same rows, in another order"
    missing, extra = sum((left - right).values()), sum((right - left).values())
    if len(expected.rows) == 1 == len(actual.rows):
        return f"the golden query returns {_row(expected.rows[0])}, the answer {_row(actual.rows[0])}"
    if missing and not extra:
        return f"the golden query keeps {_plural(missing)} that the answer drops"
    if extra and not missing:
        return f"the golden query drops {_plural(extra)} that the answer keeps"
    return f"the golden query returns {_amount(expected)}, the answer {_amount(actual)}, and they differ"


def _plural(count: int) -> str:
    return "a row" if count == 1 else f"{count} rows"


def _amount(table: WitnessTable) -> str:
    if not table.rows:
        return "nothing"
    return _row(table.rows[0]) if len(table.rows) == 1 else f"{len(table.rows)} rows"


def _row(row: tuple[Cell, ...]) -> str:
    shown = ", ".join(_said(cell) for cell in row[:MAX_CELLS])
    return f"({shown}, …)" if len(row) > MAX_CELLS else f"({shown})"
