"""Conditions as numbers: where TRUE is 1, a sum or average of a condition counts the rows that meet it (A5, A6)."""

from canon.sql.algebra import NULL, TRUE, Block, Expr, lit
from canon.sql.context import Context
from canon.sql.facts import PREDICATES, not_null_terms, nullable, type_of
from canon.sql.identities.positions import in_conditions, in_expressions, mentions
from canon.sql.predicates import span, truth
from canon.sql.scalars import case

ONE, ZERO = lit("int", "1"), lit("int", "0")
EXACT = frozenset({"integer", "decimal"})
REAL = ("real", "REAL")


def condition_as_case(block: Block, ctx: Context) -> Block | None:
    """`SUM(p)`  =  `SUM(CASE WHEN p THEN 1 ELSE 0 END)` for a condition p that is never NULL.

    So `p * x` for such an x.
    """
    if not mentions(block, frozenset({"agg", "*"})):
        return None
    if ctx.dialect.booleans != "integer" or ctx.dialect.name not in {"mysql", "sqlite"}:
        return None
    known = not_null_terms(block)

    def law(expr: Expr) -> Expr | None:
        if expr.op == "agg" and len(expr.args) == 1 and expr.value in {("sum", False), ("avg", False)}:
            found = _zero_or_one(expr.args[0], ctx, known)
            return None if found is None else expr._replace(args=(found,))
        if expr.op == "agg" and expr.value == ("count", False) and len(expr.args) == 1 and expr.args[0].op == "or":
            return _or_null(expr)
        if expr.op == "*" and ctx.dialect.name == "mysql":  # in SQLite a number column may hold texts
            return _product(expr, ctx, known)
        return None

    return in_expressions(block, law, ctx)


def _zero_or_one(expr: Expr, ctx: Context, known: set[Expr]) -> Expr | None:
    if expr.op in PREDICATES and expr.op != "eqclass" and not nullable(expr, ctx, known):
        return case([truth(expr, ctx), ONE, ZERO])
    if expr.op == "coalesce" and len(expr.args) == 2 and expr.args[1] == ZERO and expr.args[0].op in PREDICATES:
        return case([truth(expr.args[0], ctx), ONE, ZERO])
    return None


def _or_null(expr: Expr) -> Expr | None:
    """`COUNT(p OR NULL)`: the rows where p is true."""
    parts = [part for part in expr.args[0].args if part != NULL]
    if len(parts) != 1 or len(expr.args[0].args) != 2:
        return None
    return expr._replace(args=(case([parts[0], ONE, NULL]),))


def _product(expr: Expr, ctx: Context, known: set[Expr]) -> Expr | None:
    for test, other in (expr.args, expr.args[::-1]):
        if test.op not in PREDICATES or test.op == "eqclass" or nullable(test, ctx, known):
            continue
        if other.op not in PREDICATES and type_of(other, ctx) in EXACT and not nullable(other, ctx, known):
            return case([truth(test, ctx), other, ZERO])
    return None


def counted(call: Expr, ctx: Context) -> Expr | None:
    """The count that a sum of ones and zeros is wherever it is not NULL."""
    if call.op != "agg" or call.value != ("sum", False) or len(call.args) != 1:
        return None
    inner = call.args[0]
    if inner.op in PREDICATES and ctx.dialect.booleans == "integer" and inner.op != "eqclass":
        return Expr("agg", ("count", False), (case([truth(inner, ctx), ONE, NULL]),))
    if inner.op == "case":
        last = len(inner.args) - 1
        places = [*range(1, last, 2), last]
        if all(inner.args[place] in (ONE, ZERO, NULL) for place in places):
            args = [NULL if place in places and arg == ZERO else arg for place, arg in enumerate(inner.args)]
            return Expr("agg", ("count", False), (case(args),))
    return None


def defaulted_sum(block: Block, ctx: Context) -> Block | None:
    """`COALESCE(SUM(CASE WHEN p THEN 1 ELSE 0 END), 0)`  =  `COUNT(CASE WHEN p THEN 1 END)`, of an empty group too."""
    if not mentions(block, frozenset({"coalesce"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "coalesce" or len(expr.args) != 2 or expr.args[1] != ZERO:
            return None
        return counted(expr.args[0], ctx)

    return in_expressions(block, law, ctx) if block.group is not None else None


def positive_sum(block: Block, ctx: Context) -> Block | None:
    """`HAVING SUM(p) > 0`  =  `HAVING COUNT(CASE WHEN p THEN 1 END) > 0`: where all is NULL neither is true."""

    def law(expr: Expr) -> Expr | None:
        if expr.op != "span" or expr.value.null or expr.value.kind != "num":
            return None
        if not expr.value.parts or any(
            part.low is None or part.low < 0 or (part.low == 0 and part.low_in) for part in expr.value.parts
        ):
            return None
        found = counted(expr.args[0], ctx)
        return None if found is None else span(found, expr.value, "integer", ctx.dialect)

    return in_conditions(block, law, ctx) if block.group is not None else None


def average_share(block: Block, ctx: Context) -> Block | None:
    """`AVG(CASE WHEN p THEN 1 ELSE 0 END)`  =  `COUNT(CASE WHEN p THEN 1 END) / COUNT(*)`.

    By a division that is not whole.
    """
    if ctx.dialect.name not in {"mysql", "sqlite"} or block.group is None:
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "agg" or expr.value != ("avg", False) or expr.args[0].op != "case":
            return None
        inner = expr.args[0]
        if any(result not in (ONE, ZERO) for result in (*inner.args[1::2], inner.args[-1])):
            return None
        top = counted(Expr("agg", ("sum", False), expr.args), ctx)
        if top is None:
            return None
        if ctx.dialect.name == "sqlite":
            top = Expr("cast", REAL, (top,))
        return Expr("/", None, (top, Expr("agg", ("count", False), ())))

    return in_expressions(block, law, ctx)


def nonempty_groups(block: Block, ctx: Context) -> Block | None:
    """`HAVING COUNT(*) <> 1`  =  `HAVING COUNT(*) > 1`: a group that has a key has a row."""
    if not block.group or block.extra:
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "span" or expr.value.kind != "num" or expr.args[0] != Expr("agg", ("count", False), ()):
            return None
        parts = []
        for part in expr.value.parts:
            if part.high is not None and (part.high < 1 or (part.high == 1 and not part.high_in)):
                continue
            starts = part.low is None or part.low < 1 or (part.low == 1 and part.low_in)
            parts.append(part._replace(low=None, low_in=False) if starts else part)
        if tuple(parts) == expr.value.parts or not parts:
            return None
        if parts[0].low is None and parts[0].high is None:
            return TRUE
        return expr._replace(value=expr.value._replace(parts=tuple(parts)))

    return in_conditions(block, law, ctx)
