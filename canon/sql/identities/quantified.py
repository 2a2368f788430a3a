"""Counts and quantifiers that only test: `(SELECT COUNT(*) …) = 0`, `x > ALL (…)` (S2, A5)."""

from canon.sql.algebra import Block, Expr, junction, rewrite
from canon.sql.context import Context
from canon.sql.facts import nullable, type_of
from canon.sql.identities.shapes import conjoined, has_window
from canon.sql.predicates import Interval, Span, common_part, compare, complement, untrue


def _mentions(block: Block, op: str) -> bool:
    stack = [*block.where, *block.having, *block.select]
    while stack:
        node = stack.pop()
        if node.op == op:
            return True
        stack.extend(node.args)
    return False


def counted_test(block: Block, ctx: Context) -> Block | None:
    """`(SELECT COUNT(*) FROM t WHERE p) > 0`  =  `EXISTS (t WHERE p)`.

    `= 0`  =  `NOT EXISTS`. A count is never NULL.
    """
    if not _mentions(block, "scalar"):
        return None

    def change(node: Expr) -> Expr | None:
        if node.op == "span" and node.args[0].op == "scalar":
            return _as_test(node, ctx)
        return None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite(expr, change) for expr in exprs])

    where = each(block.where)
    changed = block._replace(
        where=block.where if where == block.where else conjoined(where, ctx),
        having=each(block.having),
        select=each(block.select),
    )
    return changed if changed != block else None


def _as_test(node: Expr, ctx: Context) -> Expr | None:
    body = node.args[0].value
    value: Span = node.value
    if not isinstance(body, Block) or body.group != () or body.having or body.extra or body.limit is not None:
        return None
    if body.offset is not None or len(body.select) != 1 or not body.sources or has_window(body) or value.kind != "num":
        return None
    call = body.select[0]
    if call.op != "agg" or call.value[0] != "count" or len(call.args) > 1:
        return None
    none, some = _within(value, 0, 0, ctx), _within(value, 1, None, ctx)
    if none is None or some is None or none == some or "part" in {none, some}:
        return None
    counted = [Expr("notnull", None, call.args)] if call.args and nullable(call.args[0], ctx) else []
    rows = body._replace(group=None, select=(), distinct=False, order=(), where=conjoined((*body.where, *counted), ctx))
    test = Expr("exists", rows, ())
    return test if some == "all" else Expr("not", None, (test,))


def _within(value: Span, low: int, high: int | None, ctx: Context) -> str | None:
    """How much of the whole numbers from low to high lies in a span: all, none, or a part."""
    reach = Span("num", False, (Interval(low, True, high, high is not None),))
    inside = common_part([value._replace(null=False), reach], ctx.dialect)
    outside = common_part([complement(value), reach], ctx.dialect)
    if inside is None or outside is None:
        return None
    numbers = [any(_holds_whole(part) for part in found.parts) for found in (inside, outside)]
    return "part" if all(numbers) else "all" if numbers[0] else "none"


def _holds_whole(part: Interval) -> bool:
    """Whether an interval holds a whole number."""
    if part.low is None or part.high is None:
        return True
    first = -(-part.low // 1)
    if first == part.low and not part.low_in:
        first += 1
    return bool(first < part.high or (first == part.high and part.high_in))


def for_all(block: Block, ctx: Context) -> Block | None:
    """`x >= ALL (SELECT y FROM t)`  =  `NOT EXISTS (t WHERE (x >= y) IS NOT TRUE)` where only truth matters."""
    if not _mentions(block, "quant"):
        return None
    where = tuple([_truth(part, ctx) for part in block.where])
    return block._replace(where=conjoined(where, ctx)) if where != block.where else None


def _truth(expr: Expr, ctx: Context) -> Expr:
    if expr.op in {"and", "or"}:
        return junction(expr.op, [_truth(arg, ctx) for arg in expr.args])
    if expr.op != "quant" or expr.value[1] != "all":
        return expr
    op, _, rel = expr.value
    if (
        not isinstance(rel, Block)
        or rel.limit is not None
        or rel.offset is not None
        or rel.extra
        or rel.group is not None
    ):
        return expr
    if has_window(rel) or len(rel.select) != 1 or rel.select[0].op == "star" or not rel.sources:
        return expr
    left, right = expr.args[0], rel.select[0]
    test = compare(op, left, right, ctx, type_of(left, ctx), type_of(right, ctx))
    body = rel._replace(where=conjoined((*rel.where, untrue(test, ctx)), ctx), select=(), distinct=False, order=())
    return Expr("not", None, (Expr("exists", body, ()),))
