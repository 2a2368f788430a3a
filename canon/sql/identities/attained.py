"""The row in which a group reaches its extreme: joined back for what the group says already, it adds nothing (A10)."""

from canon.sql.algebra import Block, Expr, Source, col, columns, expressions, rewrite_rel
from canon.sql.context import Context
from canon.sql.facts import column_fact, duplicate_free, keys_of
from canon.sql.identities.equalities import interchangeable
from canon.sql.identities.shapes import conjoined, has_window

EXTREMES = frozenset({("min", False), ("max", False)})


def attained_extreme(block: Block, ctx: Context) -> Block | None:
    """A row joined to its group by key and extreme is the group.

    `SELECT t.k, t.d FROM t JOIN (SELECT k, MIN(d) m FROM t GROUP BY k) g ON t.k = g.k AND t.d = g.m`
    =  `SELECT k, MIN(d) FROM t GROUP BY k`.

    Where (k, d) holds a key of t and neither is NULL, exactly one row of t reaches the extreme of its group.
    """
    if block.group is not None or block.lefts or block.extra or len(block.sources) < 2 or has_window(block):
        return None
    for group in block.sources:
        outputs = _outputs(group)
        for row in block.sources:
            if outputs is None or row.kind != "table" or row.name != outputs[0]:
                continue
            found = _without(block, row, group, outputs[1], ctx)
            if found is not None:
                return found
    return None


def _outputs(group: Source) -> tuple[str, dict[str, int]] | None:
    """The table of a grouped derived table, and where its keys and its one extreme are, by their columns."""
    inner = group.rel
    if group.kind != "derived" or not isinstance(inner, Block) or not inner.group or len(inner.sources) != 1:
        return None
    if inner.where or inner.having or inner.lefts or inner.extra or inner.distinct or inner.limit or inner.offset:
        return None
    if inner.sources[0].kind != "table" or any(key.op != "col" for key in inner.group):
        return None
    places: dict[str, int] = {}
    extremes = 0
    for position, expr in enumerate(inner.select):
        if expr.op == "agg" and expr.value in EXTREMES and expr.args[0].op == "col":
            extremes += 1
            column = expr.args[0]
        elif expr in inner.group:
            column = expr
        else:
            return None
        if column.value[1] in places:
            return None
        places[str(column.value[1])] = position
    return (inner.sources[0].name, places) if extremes == 1 and len(places) == len(inner.group) + 1 else None


def _without(block: Block, row: Source, group: Source, places: dict[str, int], ctx: Context) -> Block | None:
    mapping = {col(row.sid, name): col(group.sid, position) for name, position in places.items()}
    if any(not column_fact(mine, ctx).not_null or not interchangeable(mine, its, ctx) for mine, its in mapping.items()):
        return None
    if not any(set(key) <= set(mapping) for key in keys_of(row, ctx)):
        return None
    links: list[Expr] = []
    for mine, its in mapping.items():
        link = next(
            (part for part in block.where if part.op in {"=", "eqclass"} and set(part.args) == {mine, its}), None
        )
        if link is None:
            return None
        links.append(link)
    where = tuple([part for part in block.where if part not in links])
    rest = block._replace(where=where, sources=tuple([source for source in block.sources if source is not row]))
    used = {column for expr in expressions(rest) for column in columns(expr) if column.value[0] == row.sid}
    if not used <= set(mapping):
        return None
    changed = rewrite_rel(rest, mapping.get)
    assert isinstance(changed, Block)
    changed = changed._replace(where=conjoined(changed.where, ctx))
    return changed._replace(distinct=changed.distinct and not duplicate_free(changed, ctx, changed.select))
