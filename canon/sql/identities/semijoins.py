"""Joins that only test: a table of distinct keys, and the flag of an outer join (S3, S4)."""

from canon.sql.algebra import (
    Block,
    Expr,
    LeftJoin,
    col,
    expressions,
    left_expressions,
    rewrite,
    rewrite_rel,
    sids,
    walk,
)
from canon.sql.context import Context
from canon.sql.facts import Determined, column_fact, fixes, rejected
from canon.sql.identities.membership import equal
from canon.sql.identities.shapes import conjoined, has_window, left_sids


def distinct_table(block: Block, ctx: Context) -> Block | None:
    """`t JOIN (SELECT DISTINCT k FROM u) d ON t.k = d.k`  =  `t WHERE EXISTS (u WHERE u.k = t.k)`.

    One row matches at most.
    """
    if len(block.sources) < 2:
        return None
    for index, source in enumerate(block.sources):
        inner = source.rel
        if source.kind != "derived" or not isinstance(inner, Block) or not inner.distinct or inner.group is not None:
            continue
        if inner.limit is not None or inner.offset is not None or inner.extra or has_window(inner):
            continue
        partners = _partners(block, source.sid, len(inner.select), ctx)
        if partners is None:
            continue
        mapping = {col(source.sid, position): partner for position, partner in partners.items()}
        rest = block._replace(sources=block.sources[:index] + block.sources[index + 1 :])
        changed = rewrite_rel(rest, mapping.get)
        assert isinstance(changed, Block)
        tests = [equal(expr, partners[position], ctx) for position, expr in enumerate(inner.select)]
        body = inner._replace(select=(), distinct=False, order=(), where=conjoined((*inner.where, *tests), ctx))
        where = [part for part in (_shrunk(part) for part in changed.where) if part is not None]
        return changed._replace(where=conjoined((*where, Expr("exists", body, ())), ctx))
    return None


def _partners(block: Block, sid: int, width: int, ctx: Context) -> dict[int, Expr] | None:
    """For each output of a derived table, a column of another inner source that equals it; `None` if one has none."""
    inner = {source.sid for source in block.sources}
    found: dict[int, Expr] = {}
    for part in block.where:
        if part.op not in {"=", "eqclass"} or any(arg.op != "col" for arg in part.args):
            continue
        mine = [arg for arg in part.args if arg.value[0] == sid]
        others = [arg for arg in part.args if arg.value[0] != sid and arg.value[0] in inner]
        if others:
            for column in mine:
                if not fixes(others[0], column, ctx) or (part.op == "=" and int(column.value[1]) in found):
                    return None
                found[int(column.value[1])] = others[0]
    if len(found) < width:
        return None
    links = {column for part in block.where if part.op in {"=", "eqclass"} for column in part.args}
    safe = all(part.op == "eqclass" for part in block.where if part.op in {"=", "eqclass"} and sid in sids(part))
    used = {node for expr in expressions(block) for node in walk(expr) if node.op == "col" and node.value[0] == sid}
    if not used <= links or (not safe and _used_elsewhere(block, sid)):
        return None
    return found


def _used_elsewhere(block: Block, sid: int) -> bool:
    """Whether a source is mentioned outside of plain equalities (where equal values may not be interchangeable)."""
    where = tuple([part for part in block.where if part.op not in {"=", "eqclass"}])
    return any(sid in sids(expr) for expr in expressions(block._replace(where=where)))


def _shrunk(part: Expr) -> Expr | None:
    """An equality after its sides were replaced: without repeats, none at all where nothing is left to say."""
    if part.op not in {"=", "eqclass"}:
        return part
    distinct = tuple(dict.fromkeys(part.args))
    if len(distinct) == 1:
        return Expr("notnull", None, distinct)
    return Expr(part.op, None, distinct)


def outer_flag(block: Block, ctx: Context) -> Block | None:
    """`t LEFT JOIN (SELECT k, 1 AS i FROM u) d ON t.k = d.k WHERE d.i IS NOT NULL OR p`  =  `t WHERE EXISTS (…) OR p`.

    The outer join matches at most one row, and is asked only whether it did.
    """
    for index, left in enumerate(block.lefts):
        if left.lefts:
            continue
        inside = left_sids(left)
        rest = block.lefts[:index] + block.lefts[index + 1 :]
        outside = [*block.select, *(block.group or ()), *block.having, *(key.expr for key in block.order), *block.extra]
        outside += [expr for other in rest for expr in left_expressions(other)]
        if any(sids(expr) & inside for expr in outside):
            continue
        flags = _flags(block, left, inside, ctx)
        if flags is None or not _one_match(left, ctx):
            continue
        test = Expr("exists", Block(sources=left.sources, where=left.on), ())
        absent = Expr("not", None, (test,))

        def change(expr: Expr, flags: set[Expr] = flags, test: Expr = test, absent: Expr = absent) -> Expr | None:
            if expr.op in {"isnull", "notnull"} and expr.args[0] in flags:
                return absent if expr.op == "isnull" else test
            return None

        ctx.padded -= inside
        return block._replace(lefts=rest, where=conjoined([rewrite(part, change) for part in block.where], ctx))
    return None


def _one_match(left: LeftJoin, ctx: Context) -> bool:
    determined = Determined(Block(sources=left.sources, where=left.on), ctx)
    return all(source.sid in determined.rows for source in left.sources)


def _flags(block: Block, left: LeftJoin, inside: set[int], ctx: Context) -> set[Expr] | None:
    """The columns of the right side whose being NULL means that nothing matched; `None` if others are mentioned."""
    strict = set().union(*(rejected(part) for part in left.on)) if left.on else set()
    found: set[Expr] = set()
    stack = list(block.where)
    while stack:
        node = stack.pop()
        if node.op in {"isnull", "notnull"} and node.args[0].op == "col" and node.args[0].value[0] in inside:
            column = node.args[0]
            if column not in strict and not column_fact(column, ctx).not_null:
                return None
            found.add(column)
            continue
        if node.op == "col" and node.value[0] in inside:
            return None
        if node.op in {"exists", "in", "scalar", "quant"} and sids(node) & inside:
            return None
        stack.extend(node.args)
    return found or None
