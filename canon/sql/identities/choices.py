"""CASE and truth values: branches of one result, tests of what a CASE gives, predicates compared with TRUE (P8)."""

from canon.sql.algebra import FALSE, NULL, TRUE, Block, Expr, junction, rewrite
from canon.sql.context import Context
from canon.sql.facts import PREDICATES, nullable
from canon.sql.identities.shapes import conjoined
from canon.sql.predicates import merge, negate, truth
from canon.sql.scalars import case


def _has(block: Block) -> bool:
    stack = [*block.where, *block.select, *block.having, *(block.group or ()), *(key.expr for key in block.order)]
    stack += [part for left in block.lefts for part in left.on]
    while stack:
        node = stack.pop()
        if node.op == "case" or (node.op in {"=", "<>"} and node.args[1] in (TRUE, FALSE)):
            return True
        stack.extend(node.args)
    return False


def tidy_choices(block: Block, ctx: Context) -> Block | None:
    """`CASE WHEN p THEN x WHEN q THEN x ELSE y END`  =  `CASE WHEN p OR q THEN x ELSE y END`.

    `(a > 1) = TRUE`  =  `a > 1`.
    """
    if not _has(block):
        return None

    def change(node: Expr) -> Expr | None:
        if node.op == "case":
            return _joined(node, change, ctx)
        if node.op in {"=", "<>"} and node.args[1] in (TRUE, FALSE) and node.args[0].op in PREDICATES:
            inner = rewrite(node.args[0], change)
            return inner if (node.args[1] == TRUE) == (node.op == "=") else negate(inner, ctx)
        return None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite(expr, change) for expr in exprs])

    where = tuple([_truth(part, ctx) for part in each(block.where)])
    changed = block._replace(
        where=block.where if where == block.where else conjoined(where, ctx),
        select=each(block.select),
        group=None if block.group is None else each(block.group),
        having=each(block.having),
        order=tuple([key._replace(expr=rewrite(key.expr, change)) for key in block.order]),
    )
    return changed if changed != block else None


def _joined(node: Expr, change: "object", ctx: Context) -> Expr | None:
    """A CASE whose neighbouring branches of one result are one branch."""
    from collections.abc import Callable
    from typing import cast

    function = cast("Callable[[Expr], Expr | None]", change)
    args = [rewrite(arg, function) for arg in node.args]
    kept: list[Expr] = []
    for condition, result in zip(args[:-1:2], args[1::2], strict=True):
        if kept and kept[-1] == result:
            kept[-2] = merge("or", (kept[-2], condition), ctx)
        else:
            kept += [condition, result]
    new = case([*kept, args[-1]])
    return new  # also where nothing changed: what is below was seen already


def _truth(expr: Expr, ctx: Context) -> Expr:
    """`CASE WHEN p THEN NULL ELSE 1 END IS NULL`  =  `p`, where only truth matters."""
    if expr.op in {"and", "or"}:
        return junction(expr.op, [_truth(arg, ctx) for arg in expr.args])
    if expr.op in {"isnull", "notnull"} and expr.args[0].op == "case":
        chosen = expr.args[0]
        results = (*chosen.args[1::2], chosen.args[-1])
        if all(result == NULL or not nullable(result, ctx) for result in results):
            flags = [TRUE if (result == NULL) == (expr.op == "isnull") else FALSE for result in results]
            args = [flag for pair in zip(chosen.args[:-1:2], flags[:-1], strict=True) for flag in pair]
            return truth(Expr("=", None, (Expr("case", None, (*args, flags[-1])), TRUE)), ctx)
    return expr
