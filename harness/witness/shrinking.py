"""Makes a witness minimal: no row, no column and no cell can go, and no cell can be plainer."""

import time
from collections.abc import Callable, Iterator

from harness.witness.database import Layout, Relation, Row, Rows, Value, comparable

Holds = Callable[[Rows], bool]


def shrink(rows: Rows, holds: Holds, layout: Layout, deadline: float) -> Rows:
    """Shrink by rows, then columns, then cells, until nothing can go or the deadline passes.

    Args:
        rows: a database on which the difference shows.
        holds: whether a database is allowed and still shows it.
        layout: the schema.
        deadline: on the monotonic clock.
    """
    rows = {name: list(content) for name, content in rows.items() if content}
    changed = True
    while changed and time.monotonic() < deadline:
        before = rows
        rows = _fewer_rows(rows, holds, layout, deadline)
        rows = _fewer_columns(rows, holds, layout, deadline)
        rows = _plainer_cells(rows, holds, layout, deadline)
        changed = rows != before
    return {name: content for name, content in rows.items() if content}


def _fewer_rows(rows: Rows, holds: Holds, layout: Layout, deadline: float) -> Rows:
    """Take rows out, many at a time first, with those that refer to them where they cannot stay."""
    size = max((len(content) for content in rows.values()), default=0) // 2 or 1
    while True:
        before = rows
        for name in list(rows):
            start = 0
            while start < len(rows[name]):
                if time.monotonic() > deadline:
                    return rows
                rest = {**rows, name: rows[name][:start] + rows[name][start + size :]}
                smaller = next((tried for tried in (rest, cascade(rest, layout)) if holds(tried)), None)
                if smaller is None:
                    start += size
                else:
                    rows = smaller
        if size == 1 and rows == before:
            return rows
        size = max(1, size // 2)


def cascade(rows: Rows, layout: Layout) -> Rows:
    """Drop the rows that refer to a row that is not there."""
    rows = dict(rows)
    changed = True
    while changed:
        changed = False
        for name in rows:
            relation = layout.find(name)
            if relation is None:
                continue
            kept = [row for row in rows[name] if _anchored(row, relation, rows)]
            if len(kept) != len(rows[name]):
                rows[name] = kept
                changed = True
    return rows


def _anchored(row: Row, relation: Relation, rows: Rows) -> bool:
    for reference in relation.references:
        values = [comparable(row[index]) for index in reference.columns]
        if None in values:
            continue
        parents = rows.get(reference.parent, [])
        if not any([comparable(other[index]) for index in reference.parent_columns] == values for other in parents):
            return False
    return True


def _fewer_columns(rows: Rows, holds: Holds, layout: Layout, deadline: float) -> Rows:
    for name in list(rows):
        relation = layout.find(name)
        if relation is None:
            continue
        open_ = [index for index in range(len(relation.columns)) if index not in relation.required]
        open_ = [index for index in open_ if any(row[index] is not None for row in rows[name])]
        # All at once first: of a thousand columns hardly one matters.
        for group in (open_, *([index] for index in open_)):
            if time.monotonic() > deadline:
                return rows
            bare = {**rows, name: [_with(row, dict.fromkeys(group)) for row in rows[name]]}
            if bare != rows and holds(bare):
                rows = bare
    return rows


def _plainer_cells(rows: Rows, holds: Holds, layout: Layout, deadline: float) -> Rows:
    for name in list(rows):
        relation = layout.find(name)
        if relation is None:
            continue
        for number in range(len(rows[name])):
            for index in range(len(relation.columns)):
                for value in _plainer(rows[name][number][index], index not in relation.required):
                    if time.monotonic() > deadline:
                        return rows
                    row = _with(rows[name][number], {index: value})
                    tried = {**rows, name: [*rows[name][:number], row, *rows[name][number + 1 :]]}
                    if holds(tried):
                        rows = tried
                        break
    return rows


def _plainer(value: Value, nullable: bool) -> Iterator[Value]:
    """Values that say less than this one, the least first."""
    if value is None:
        return
    if nullable:
        yield None
    if isinstance(value, bool | int):
        yield from (plain for plain in (1, 2, 0) if (abs(plain), plain) < (abs(value), value) or value < 0)
    elif isinstance(value, float):
        yield from (plain for plain in (1.0, 2.0, 0.0) if abs(plain) < abs(value) or value < 0 or value != int(value))
    elif isinstance(value, str) and len(value) > 1 and not value[:1].isdigit():
        yield "a"
        yield "b"


def _with(row: Row, cells: dict[int, None] | dict[int, Value]) -> Row:
    return tuple(cells.get(index, value) if index in cells else value for index, value in enumerate(row))
