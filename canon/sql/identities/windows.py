"""Window functions as what they compute: aggregates of a group or of the rows before it, ranks as counts (W1, W2)."""

from canon.sql.algebra import Block, Expr, Order, lit, rewrite_own
from canon.sql.context import Context
from canon.sql.facts import Determined, not_null_terms, nullable, type_of
from canon.sql.identities.membership import equal
from canon.sql.identities.positions import mentions
from canon.sql.identities.shapes import conjoined, copyable, fresh_copy, has_window
from canon.sql.predicates import compare

AGGREGATES = frozenset({"sum", "count", "min", "max", "avg"})
RANKS = frozenset({"rank", "dense_rank"})
ONE = lit("int", "1")


def _parts(call: Expr) -> tuple[tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
    """The arguments, partition keys and sort keys of a window function."""
    window = call.value
    first, second = window.arguments, window.arguments + window.partitions
    return call.args[:first], call.args[first:second], call.args[second:]


def first_value(block: Block, ctx: Context) -> Block | None:
    """The first value of a partition sorted by itself, as its extreme.

    `FIRST_VALUE(x) OVER (PARTITION BY k ORDER BY x)`
    =  `MIN(x) OVER (PARTITION BY k)`, for an x that is never NULL.
    """
    if not mentions(block, frozenset({"window"})):
        return None
    known = not_null_terms(block)

    def law(expr: Expr) -> Expr | None:
        if expr.op != "window" or "firstvalue" not in expr.value.name.replace("_", "") or expr.value.frame:
            return None
        arguments, partition, keys = _parts(expr)
        if len(arguments) != 1 or not keys or keys[0] != arguments[0] or nullable(keys[0], ctx, known):
            return None
        name = "max" if expr.value.orders[0][0] else "min"
        return Expr("window", expr.value._replace(name=name, orders=()), (*arguments, *partition))

    return _rewritten(block, law)


def _rewritten(block: Block, law: "object") -> Block | None:
    """A law applied to the outputs of a block."""
    from collections.abc import Callable
    from typing import cast

    change = cast("Callable[[Expr], Expr | None]", law)
    changed = block._replace(
        select=tuple([rewrite_own(expr, change) for expr in block.select]),
        order=tuple([key._replace(expr=rewrite_own(key.expr, change)) for key in block.order]),
    )
    return None if changed == block else changed


def grouped_windows(block: Block, ctx: Context) -> Block | None:
    """`SELECT DISTINCT k, MIN(x) OVER (PARTITION BY k) FROM t`  =  `SELECT k, MIN(x) FROM t GROUP BY k`."""
    if not block.distinct or block.group is not None or block.extra or not mentions(block, frozenset({"window"})):
        return None
    outputs = (*block.select, *(key.expr for key in block.order))
    calls = [node for expr in outputs for node in _windows(expr)]
    partitions = {_parts(call)[1] for call in calls}
    if len(partitions) != 1 or any(
        call.value.orders or call.value.frame or call.value.name not in AGGREGATES for call in calls
    ):
        return None
    keys = partitions.pop()
    if not keys:
        return None
    determined = Determined(block, ctx, given=keys)

    def law(expr: Expr) -> Expr | None:
        return Expr("agg", (expr.value.name, expr.value.distinct), _parts(expr)[0]) if expr.op == "window" else None

    grouped = block._replace(group=keys)
    if not all(_settled(expr, keys, determined) for expr in outputs):
        return None
    return _rewritten(grouped, law)


def _windows(expr: Expr) -> list[Expr]:
    found, stack = [], [expr]
    while stack:
        node = stack.pop()
        if node.op == "window":
            found.append(node)
        else:
            stack.extend(node.args)
    return found


def _settled(expr: Expr, keys: tuple[Expr, ...], determined: Determined) -> bool:
    """Whether an output is one value in each partition."""
    if expr.op in {"window", "lit"} or expr in keys or determined.holds(expr):
        return True
    if expr.op in {"col", "star", "exists", "in", "scalar", "quant", "agg", "clock"}:
        return False
    if determined.ctx.dialect.collation != "binary" and any(
        type_of(key, determined.ctx) in {"text", "any"} for key in keys
    ):
        return False  # what a collation takes as one may look different to a function
    return bool(expr.args) and all(_settled(arg, keys, determined) for arg in expr.args)


def window_as_subquery(block: Block, ctx: Context) -> Block | None:
    """A window function, as a subquery over the same rows.

    `SUM(x) OVER (PARTITION BY k ORDER BY d)`
    =  `(SELECT SUM(x) … WHERE k = t.k AND d <= t.d)` over the same rows; so ranks as counts.

    Partition and sort keys must never be NULL; there is one sort key, and the frame is the default one.
    """
    if block.group is not None or block.extra or not block.sources or not mentions(block, frozenset({"window"})):
        return None
    if not copyable(block) or any(
        mentions(block._replace(select=(), order=(), where=(part,)), frozenset({"exists", "in", "scalar", "quant"}))
        for part in block.where
    ):
        return None
    known = not_null_terms(block)
    late = ctx.role == "derived"  # a rank in a derived table may yet be tested for 1

    def law(expr: Expr) -> Expr | None:
        if expr.op != "window" or (late and expr.value.name in RANKS):
            return None
        return _subquery(expr, block, known, ctx)

    changed = _rewritten(block, law)
    return changed


def ranks_below(block: Block, ctx: Context) -> Block | None:
    """A rank that a derived table returns, as the count that it is, where it is not tested for 1."""
    for index, source in enumerate(block.sources):
        inner = source.rel
        if source.kind != "derived" or not isinstance(inner, Block) or not has_window(inner):
            continue
        if inner.group is not None or inner.extra or not inner.sources or not copyable(inner):
            continue
        if any(mentions(Block(where=(part,)), frozenset({"exists", "in", "scalar", "quant"})) for part in inner.where):
            continue
        known = not_null_terms(inner)

        def law(expr: Expr, inner: Block = inner, known: set[Expr] = known) -> Expr | None:
            return _subquery(expr, inner, known, ctx) if expr.op == "window" and expr.value.name in RANKS else None

        changed = _rewritten(inner, law)
        if changed is not None:
            sources = (*block.sources[:index], source._replace(rel=changed), *block.sources[index + 1 :])
            return block._replace(sources=sources)
    return None


def _subquery(call: Expr, block: Block, known: set[Expr], ctx: Context) -> Expr | None:
    window = call.value
    arguments, partition, keys = _parts(call)
    if (
        window.frame
        or len(keys) > 1
        or any(key.op != "col" or nullable(key, ctx, known) for key in (*partition, *keys))
    ):
        return None
    if window.name not in AGGREGATES and not (window.name in RANKS and keys):
        return None
    copy, _ = fresh_copy(block._replace(select=(*arguments, *partition, *keys), order=(), limit=None, offset=None), ctx)
    mine = copy.select
    count = len(arguments)
    links = [equal(mine[count + place], key, ctx) for place, key in enumerate(partition)]
    if keys:
        moved, desc = mine[count + len(partition)], window.orders[0][0]
        op = ">" if desc else "<"
        if window.name in AGGREGATES or window.name == "dense_rank":
            op += "="
        links.append(compare(op, moved, keys[0], ctx, type_of(moved, ctx), type_of(keys[0], ctx)))
    name, distinct, args = window.name, window.distinct, mine[:count]
    if window.name in RANKS:
        name, distinct, args = "count", window.name == "dense_rank", mine[-1:] if window.name == "dense_rank" else ()
    body = copy._replace(
        select=(Expr("agg", (name, distinct), args),),
        distinct=False,
        group=(),
        where=conjoined((*copy.where, *links), ctx),
    )
    found = Expr("scalar", body, ())
    return Expr("+", "commutes", (ONE, found)) if window.name == "rank" else found


def order_by_rank(block: Block, ctx: Context) -> Block | None:
    """`ORDER BY DENSE_RANK() OVER (ORDER BY x DESC)`  =  `ORDER BY x DESC`."""
    keys: list[Order] = []
    for key in block.order:
        call = key.expr
        if (
            call.op == "window"
            and call.value.name in RANKS
            and not call.value.partitions
            and not key.desc
            and call.args
        ):
            keys += [
                Order(expr, desc, nulls_first)
                for expr, (desc, nulls_first) in zip(call.args, call.value.orders, strict=True)
            ]
        else:
            keys.append(key)
    return None if tuple(keys) == block.order else block._replace(order=tuple(keys))
