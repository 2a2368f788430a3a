"""Arithmetic beside a constant: `x + 1 > 4`  =  `x > 3` for integers (P3)."""

from decimal import Decimal

from canon.sql.algebra import Block, Expr, rewrite_rel
from canon.sql.context import Context
from canon.sql.facts import type_of
from canon.sql.predicates import Span, span


def linear_bounds(block: Block, ctx: Context) -> Block | None:
    """`x + c` in a range  =  `x` in the range moved by c, for integers."""

    def change(expr: Expr) -> Expr | None:
        if expr.op != "span" or expr.value.kind != "num":
            return None
        return _moved(expr, ctx)

    changed = rewrite_rel(block, change)
    assert isinstance(changed, Block)
    return changed if changed != block else None


def _moved(expr: Expr, ctx: Context) -> Expr | None:
    term = expr.args[0]
    value: Span = expr.value
    if term.op == "neg" and type_of(term.args[0], ctx) == "integer":
        parts = tuple(
            [
                part._replace(
                    low=None if part.high is None else -part.high,
                    low_in=part.high_in,
                    high=None if part.low is None else -part.low,
                    high_in=part.low_in,
                )
                for part in reversed(value.parts)
            ]
        )
        return span(term.args[0], value._replace(parts=parts), "integer", ctx.dialect)
    if term.op not in {"+", "-"} or type_of(term, ctx) != "integer":
        return None
    left, right = term.args
    if right.op == "lit" and right.value[0] == "int":
        inner, shift = left, int(right.value[1]) * (-1 if term.op == "+" else 1)
    elif left.op == "lit" and left.value[0] == "int" and term.op == "+":
        inner, shift = right, -int(left.value[1])
    else:
        return None
    parts = tuple(
        [
            part._replace(
                low=None if part.low is None else _plus(part.low, shift),
                high=None if part.high is None else _plus(part.high, shift),
            )
            for part in value.parts
        ]
    )
    return span(inner, value._replace(parts=parts), "integer", ctx.dialect)


def _plus(bound: int | Decimal, shift: int) -> int | Decimal:
    return bound + shift
