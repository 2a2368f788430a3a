"""Neutral elements of whole-number arithmetic: `x + 0`, `x * 1` (P5)."""

from canon.sql.algebra import Block, Expr, lit, rewrite_rel
from canon.sql.context import Context
from canon.sql.facts import type_of

ZERO, ONE = lit("int", "0"), lit("int", "1")


def neutral_elements(block: Block, ctx: Context) -> Block | None:
    """`x + 0`  =  `x * 1`  =  `x`, for integers: NULL stays NULL, and the type stays what it was."""
    stack = [*block.where, *block.select, *(block.group or ()), *block.having]
    while stack:
        node = stack.pop()
        if node.op in {"+", "-", "*"} and (ZERO in node.args or ONE in node.args):
            break
        stack.extend(node.args)
    else:
        return None

    def change(expr: Expr) -> Expr | None:
        if expr.op not in {"+", "-", "*"} or len(expr.args) != 2:
            return None
        left, right = expr.args
        unit = ONE if expr.op == "*" else ZERO
        if right == unit and type_of(left, ctx) == "integer":
            return change(left) or left
        if left == unit and expr.op != "-" and type_of(right, ctx) == "integer":
            return change(right) or right
        return None

    changed = rewrite_rel(block, change)
    assert isinstance(changed, Block)
    return changed if changed != block else None
