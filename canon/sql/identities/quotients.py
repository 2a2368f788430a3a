"""Exact arithmetic of counts and sums: casts of integers to real, percentages, averages (P9, A5, A6)."""

from canon.sql.algebra import Block, Expr, lit, rewrite_own, rewrite_rel
from canon.sql.context import Context
from canon.sql.facts import not_null_terms, nullable, type_of
from canon.sql.scalars import case

REAL = ("real", "REAL")
ONE, ZERO = lit("int", "1"), lit("int", "0")


def exact_real(block: Block, ctx: Context) -> Block | None:
    """`CAST(n AS REAL) * 100 / m`  =  `n * 100.0 / m` for integers, in SQLite: every product on the way is exact."""
    if ctx.dialect.name != "sqlite":
        return None

    def change(expr: Expr) -> Expr | None:
        if expr.op not in {"*", "/", "cast"}:
            return None
        args = tuple([change(arg) or arg for arg in expr.args])
        return _real(expr._replace(args=args), ctx)

    changed = rewrite_rel(block, change)
    assert isinstance(changed, Block)
    return changed if changed != block else None


def _cast_of(expr: Expr, ctx: Context) -> Expr | None:
    """The integer that a cast makes real."""
    if expr.op == "cast" and expr.value[0] == "real" and type_of(expr.args[0], ctx) == "integer":
        return expr.args[0]
    return None


def _real(expr: Expr, ctx: Context) -> Expr:
    if expr.op == "cast":
        return expr._replace(value=REAL) if expr.value[0] == "real" else expr
    left, right = expr.args
    if expr.op == "*":
        for one, other in ((left, right), (right, left)):
            inner = _cast_of(one, ctx)
            if inner is not None and other.op == "lit" and other.value[0] in {"int", "dec"} and _is_whole(other):
                return _times(inner, other.value[1])
            if other.op == "lit" and other.value[0] == "dec" and _is_whole(other) and type_of(one, ctx) == "integer":
                return _times(one, other.value[1])
        return expr
    divisor = _cast_of(right, ctx)
    if divisor is not None and _cast_of(left, ctx) is not None:
        return Expr("/", None, (left, divisor))
    if divisor is not None and type_of(left, ctx) == "integer":
        return Expr("/", None, (Expr("cast", REAL, (left,)), divisor))
    return expr


def _is_whole(literal: Expr) -> bool:
    return "." not in literal.value[1] and len(literal.value[1]) < 10


def _times(inner: Expr, factor: str) -> Expr:
    if factor == "1":
        return Expr("cast", REAL, (inner,))
    return Expr("*", "commutes", (inner, lit("dec", factor)))


def average(block: Block, ctx: Context) -> Block | None:
    """`SUM(x) * 1.0 / COUNT(x)`  =  `AVG(x)` of the same integer x, where division is not whole."""

    def change(expr: Expr) -> Expr | None:
        if expr.op != "/":
            return None
        top, bottom = expr.args
        inner = _cast_of(top, ctx) if ctx.dialect.name == "sqlite" else top if ctx.dialect.name == "mysql" else None
        if inner is None or inner.op != "agg" or bottom.op != "agg" or bottom.value != ("count", False):
            return None
        if inner.value != ("sum", False) or type_of(inner.args[0], ctx) != "integer":
            return None
        if bottom.args != inner.args and (bottom.args or nullable(inner.args[0], ctx, known)):
            return None
        return Expr("agg", ("avg", False), inner.args)

    if block.group is None:
        return None
    known = not_null_terms(block)

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, change) for expr in exprs])

    changed = block._replace(
        select=each(block.select),
        having=each(block.having),
        order=tuple([key._replace(expr=rewrite_own(key.expr, change)) for key in block.order]),
    )
    return changed if changed != block else None


def counted_share(block: Block, ctx: Context) -> Block | None:
    """`SUM(CASE WHEN p THEN 1 ELSE 0 END) … / COUNT(*)`  =  `COUNT(CASE WHEN p THEN 1 END) … / COUNT(*)`.

    Over nothing both are NULL.
    """
    if block.group is None or ctx.dialect.name not in {"sqlite", "mysql"}:
        return None

    def change(expr: Expr) -> Expr | None:
        if expr.op != "/" or expr.args[1].op != "agg" or expr.args[1].value[0] != "count":
            return None
        top = _counted(expr.args[0])
        return None if top == expr.args[0] else expr._replace(args=(top, expr.args[1]))

    changed = rewrite_rel(block, change)
    assert isinstance(changed, Block)
    return changed if changed != block else None


def _counted(expr: Expr) -> Expr:
    """The numerator with its sums of ones and zeros as counts; only through products and casts, which keep NULL."""
    if expr.op in {"*", "cast"}:
        return expr._replace(args=tuple([_counted(arg) for arg in expr.args]))
    if expr.op == "agg" and expr.value == ("sum", False) and expr.args[0].op == "case":
        inner = expr.args[0]
        results = [*inner.args[1::2], inner.args[-1]]
        if all(result in (ONE, ZERO) for result in results):
            args = list(inner.args)
            for place in (*range(1, len(args) - 1, 2), len(args) - 1):
                if args[place] == ZERO:
                    args[place] = lit("null", "")
            return Expr("agg", ("count", False), (case(args),))
    return expr
