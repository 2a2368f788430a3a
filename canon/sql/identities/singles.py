"""Subqueries of one value: membership in them, the first row of an order, the greatest of all (A10, S5)."""

from canon.sql.algebra import Block, Expr, Rel, SetOp, Source, col, conjuncts, rewrite_own, sids
from canon.sql.context import Context
from canon.sql.facts import exactly_one_row, not_null_terms, nullable, output_facts, type_of
from canon.sql.identities.positions import in_conditions, in_expressions, mentions
from canon.sql.identities.shapes import conjoined, copyable, fresh_copy, has_window
from canon.sql.predicates import compare, negate, oriented
from canon.sql.rendering import canonical_text

EXTREMES = {"max": "<", "min": ">"}


def one_value_membership(block: Block, ctx: Context) -> Block | None:
    """`x IN (SELECT MAX(y) FROM t)`  =  `x = (SELECT MAX(y) FROM t)`: the subquery has one row, whatever the data."""
    if not mentions(block, frozenset({"in"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op == "not" and expr.args[0].op == "in":
            found = law(expr.args[0])
            return None if found is None else negate(found, ctx)
        if expr.op != "in" or len(expr.args) != 1 or not exactly_one_row(expr.value) or len(expr.value.select) != 1:
            return None
        value = Expr("scalar", expr.value._replace(distinct=False, order=()), ())
        return compare("=", expr.args[0], value, ctx, type_of(expr.args[0], ctx), type_of(value, ctx))

    return in_expressions(block, law, ctx)


def first_of_order(block: Block, ctx: Context) -> Block | None:
    """`(SELECT x FROM t ORDER BY x DESC LIMIT 1)`  =  `(SELECT MAX(x) FROM t)`: both are NULL over nothing."""
    if not mentions(block, frozenset({"scalar"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "scalar" or not isinstance(expr.value, Block):
            return None
        found = _extreme_of(expr.value, ctx)
        return None if found is None else expr._replace(value=found)

    return in_expressions(block, law, ctx)


def _extreme_of(rel: Block, ctx: Context) -> Block | None:
    if rel.limit is None or rel.limit.op != "lit" or rel.limit.value != ("int", "1") or rel.offset is not None:
        return None
    if (
        len(rel.select) != 1
        or len(rel.order) != 1
        or rel.order[0].expr != rel.select[0]
        or rel.extra
        or has_window(rel)
    ):
        return None
    value, key = rel.select[0], rel.order[0]
    if (
        rel.group == ()
        or value.op == "lit"
        or type_of(value, ctx) not in {"integer", "decimal", "real", "date", "timestamp"}
    ):
        return None
    if key.nulls_first and nullable(value, ctx, not_null_terms(rel)):
        return None
    name = "max" if key.desc else "min"
    if rel.group is None:
        call = Expr("agg", (name, False), (value,))
        return rel._replace(select=(call,), group=(), distinct=False, order=(), limit=None)
    return over_all(rel._replace(order=(), limit=None), name, ctx)


def over_all(rel: Rel, name: str, ctx: Context) -> Block:
    """The extreme of the one output of a query."""
    sid = ctx.fresh()
    ctx.outputs[sid] = output_facts(rel, ctx)
    call = Expr("agg", (name, False), (col(sid, 0),))
    return Block(sources=(Source(sid, "derived", "", rel),), select=(call,), group=())


def selected_value(block: Block, ctx: Context) -> Rel | None:
    """`SELECT (SELECT MAX(x) FROM t)`  =  `SELECT MAX(x) FROM t`: one row on both sides."""
    if block.sources or block.lefts or block.where or block.group is not None or block.limit is not None or block.extra:
        return None
    if block.offset is not None or len(block.select) != 1 or block.select[0].op != "scalar":
        return None
    rel: Rel = block.select[0].value
    return rel if exactly_one_row(rel) and not isinstance(rel, SetOp) and len(rel.select) == 1 else None


def below_extreme(block: Block, ctx: Context) -> Block | None:
    """`x < (SELECT MAX(y) FROM t)`  =  `EXISTS (t WHERE y > x)`, where only truth matters.

    Of x's own table `<>` is `<`.
    """
    if not mentions(block, frozenset({"scalar"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op not in {"<", "<>"} or {arg.op for arg in expr.args} != {"col", "scalar"}:
            return None
        place = 0 if expr.args[0].op == "scalar" else 1
        body, column = expr.args[place].value, expr.args[1 - place]
        call = _lone_extreme(body)
        if call is None:
            return None
        name = call.value[0]
        if expr.op == "<>" and not _of_own_table(body, call, column, block):
            return None
        if expr.op == "<" and (name == "max") != (place == 1):
            return None
        test = compare(EXTREMES[name], column, call.args[0], ctx, type_of(column, ctx), type_of(call.args[0], ctx))
        where = conjoined((*body.where, test), ctx)
        return Expr("exists", Block(sources=body.sources, lefts=body.lefts, where=where), ())

    return _restored(in_conditions(block._replace(having=()), law, ctx), block)


def _restored(changed: Block | None, block: Block) -> Block | None:
    return None if changed is None else changed._replace(having=block.having)


def _lone_extreme(body: Rel) -> Expr | None:
    """The MIN or MAX that an uncorrelated subquery returns."""
    if not isinstance(body, Block) or not exactly_one_row(body) or len(body.select) != 1 or not body.sources:
        return None
    call = body.select[0]
    own = {source.sid for source in body.sources} | {s.sid for left in body.lefts for s in left.sources}
    if call.op != "agg" or call.value not in {("max", False), ("min", False)}:
        return None
    if any(sids(part) - own for part in body.where) or body.lefts or any(s.kind != "table" for s in body.sources):
        return None
    return call


def _of_own_table(body: Block, call: Expr, column: Expr, block: Block) -> bool:
    """Whether a column's row is among those whose extreme is taken, so that it cannot lie beyond."""
    twin = next((source for source in block.sources if source.sid == column.value[0]), None)
    return (
        twin is not None
        and twin.kind == "table"
        and len(body.sources) == 1
        and not body.where
        and body.sources[0].name == twin.name
        and call.args[0] == col(body.sources[0].sid, column.value[1])
    )


# -- the greatest group -----------------------------------------------------------------------------------------


def greatest_group(block: Block, ctx: Context) -> Block | None:
    """The group whose aggregate no other exceeds.

    `HAVING COUNT(*) >= ALL (SELECT COUNT(*) … GROUP BY k)`
    =  `HAVING COUNT(*) = (SELECT MAX(n) FROM (SELECT COUNT(*) n … GROUP BY k))`.
    """
    if not block.group or block.extra or not copyable(block):
        return None
    for index, part in enumerate(block.having):
        found = _greatest(part, block, ctx)
        if found is not None:
            return block._replace(having=(*block.having[:index], found, *block.having[index + 1 :]))
    return None


def _greatest(part: Expr, block: Block, ctx: Context) -> Expr | None:
    if part.op != "quant" or part.value[1] != "all" or part.value[0] not in {">=", "<="}:
        return None
    rel, call = part.value[2], part.args[0]
    if not isinstance(rel, Block) or call.op != "agg" or not _never_null(call, ctx):
        return None
    alone = block._replace(select=(call,), having=(), distinct=False, order=(), limit=None, offset=None)
    if len(block.having) > 1 or canonical_text(alone) != canonical_text(rel._replace(order=(), distinct=False)):
        return None
    if rel.limit is not None or rel.offset is not None:
        return None
    name = "max" if part.value[0] == ">=" else "min"
    return oriented("=", call, Expr("scalar", over_all(rel._replace(order=()), name, ctx), ()))


def _never_null(call: Expr, ctx: Context) -> bool:
    """Whether an aggregate over rows that are there is never NULL."""
    if call.value[0] == "count":
        return True
    return call.value[0] in {"sum", "min", "max", "avg"} and not nullable(call.args[0], ctx)


def greatest_group_by_rank(block: Block, ctx: Context) -> Block | None:
    """`RANK() OVER (ORDER BY COUNT(*) DESC) = 1` over groups  =  `HAVING COUNT(*) = (SELECT MAX(n) …)`."""
    from canon.sql.identities.extremes import tested_for_one

    for index, source in enumerate(block.sources):
        inner = source.rel
        if source.kind != "derived" or not isinstance(inner, Block) or not inner.group or inner.having:
            continue
        for place, part in enumerate(block.where):
            column = tested_for_one(part, source)
            replaced = None if column is None else _without_rank(inner, column, ctx)
            if replaced is not None:
                sources = (*block.sources[:index], source._replace(rel=replaced), *block.sources[index + 1 :])
                return block._replace(sources=sources, where=block.where[:place] + block.where[place + 1 :])
    return None


def _without_rank(inner: Block, position: int, ctx: Context) -> Block | None:
    call = inner.select[position]
    if (
        call.op != "window"
        or call.value.name not in {"rank", "dense_rank"}
        or call.value.partitions
        or call.value.frame
    ):
        return None
    if len(call.args) != 1 or call.args[0].op != "agg" or not _never_null(call.args[0], ctx):
        return None
    if inner.distinct or inner.limit is not None or inner.offset is not None or inner.extra or not copyable(inner):
        return None
    one = Expr("lit", ("int", "1"), ())
    bare = inner._replace(select=tuple([one if expr == call else expr for expr in inner.select]))
    if has_window(bare):
        return None
    copy, _ = fresh_copy(inner._replace(select=call.args, order=()), ctx)
    name = "max" if call.value.orders[0][0] else "min"
    return bare._replace(having=(oriented("=", call.args[0], Expr("scalar", over_all(copy, name, ctx), ())),))


__all__ = [
    "below_extreme",
    "conjuncts",
    "first_of_order",
    "greatest_group",
    "one_value_membership",
    "rewrite_own",
    "selected_value",
]
