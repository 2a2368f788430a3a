"""LIMIT 0, limits of limits, and sort keys that the rows all share (O1, U5)."""

from canon.sql.algebra import FALSE, NULL, Block, Expr, Rel, lit
from canon.sql.context import Context
from canon.sql.facts import Determined
from canon.sql.identities.derived import mapping_of
from canon.sql.identities.shapes import has_window

NONE = lit("int", "0")


def limit_zero(block: Block, ctx: Context) -> Block | None:
    """`LIMIT 0`  =  `WHERE FALSE`."""
    if block.limit != NONE or block.extra or any(expr.op == "star" for expr in block.select):
        return None
    return Block(where=(FALSE,), select=(NULL,) * len(block.select))


def shared_sort_keys(block: Block, ctx: Context) -> Block | None:
    """`WHERE k = 5 ORDER BY k, x`  =  `WHERE k = 5 ORDER BY x`: a key that every row shares says nothing."""
    if not block.order or not block.where or block.extra or block.group == ():
        return None
    determined = Determined(block, ctx, given=(), outer=False)
    kept = tuple([key for key in block.order if not (key.expr.op == "col" and key.expr in determined.terms)])
    return block._replace(order=kept) if len(kept) < len(block.order) else None


def smaller_limit(block: Block, ctx: Context) -> Rel | None:
    """`SELECT * FROM (… ORDER BY k LIMIT 10) d ORDER BY k LIMIT 5`  =  `… ORDER BY k LIMIT 5`."""
    if (
        len(block.sources) != 1
        or block.lefts
        or block.where
        or block.group is not None
        or block.extra
        or block.distinct
    ):
        return None
    inner = block.sources[0].rel
    if not isinstance(inner, Block) or block.offset is not None or inner.offset is not None or not inner.order:
        return None
    ours, theirs = _count(block.limit), _count(inner.limit)
    if (
        ours is None
        or theirs is None
        or inner.distinct
        or inner.extra
        or inner.ordered
        or has_window(inner)
        or has_window(block)
    ):
        return None
    mapping = mapping_of(block.sources[0], inner.select)
    order = tuple([key._replace(expr=mapping.get(key.expr, NULL)) for key in block.order])
    if order != inner.order or any(expr not in mapping for expr in block.select):
        return None
    select = tuple([mapping[expr] for expr in block.select])
    return inner._replace(select=select, limit=block.limit if ours < theirs else inner.limit)


def _count(limit: Expr | None) -> int | None:
    return int(limit.value[1]) if limit is not None and limit.op == "lit" and limit.value[1].isdigit() else None
