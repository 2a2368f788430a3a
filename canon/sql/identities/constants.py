"""Constants: columns that a condition fixes, arithmetic and comparisons of literals.

Conditions that are never true (P5, U5).
"""

from canon.sql.algebra import COMPARISONS, FALSE, NULL, TRUE, Block, Expr, junction, lit, rewrite_own
from canon.sql.context import Context
from canon.sql.facts import type_of
from canon.sql.identities.shapes import conjoined
from canon.sql.predicates import Span, _inside, compare
from canon.sql.scalars import _fold_integers, case


def fixed_outputs(block: Block, ctx: Context) -> Block | None:
    """`SELECT mgr … WHERE mgr = 10`  =  `SELECT 10 … WHERE mgr = 10`, for integers.

    And texts that equal only themselves.
    """
    mapping: dict[Expr, Expr] = {}
    for part in block.where:
        if part.op == "span" and part.args[0].op == "col":
            value = _point(part, ctx)
            if value is not None:
                mapping[part.args[0]] = value
        elif part.op == "isnull" and part.args[0].op == "col":
            mapping[part.args[0]] = NULL
    if not mapping:
        return None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, mapping.get) for expr in exprs])

    changed = block._replace(
        select=each(block.select),
        having=each(block.having),
    )
    return changed if changed != block else None


def _point(part: Expr, ctx: Context) -> Expr | None:
    """The literal that a span holds its term to."""
    value: Span = part.value
    if value.null or len(value.parts) != 1 or value.parts[0].low is None or value.parts[0].low != value.parts[0].high:
        return None
    kind = type_of(part.args[0], ctx)
    if kind == "integer" and value.kind == "num" and isinstance(value.parts[0].low, int):
        return lit("int", str(value.parts[0].low))
    if kind == "text" and value.kind in {"str", "text"} and ctx.dialect.collation == "binary":
        return lit("str", str(value.parts[0].low))
    return None


def fold(block: Block, ctx: Context) -> Block | None:
    """`10 + 1 > 50`  =  `FALSE`: what literals alone settle."""

    def change(expr: Expr) -> Expr | None:
        if not expr.args or expr.op in {"agg", "window"}:
            return None
        args = tuple([rewrite_own(arg, change) for arg in expr.args])
        if expr.op in {"and", "or"}:
            return junction(expr.op, args)
        if all(arg.op != "lit" for arg in args):
            return expr._replace(args=args)
        found = _settled(expr._replace(args=args), ctx)
        return found if found is not None else expr._replace(args=args)

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, change) for expr in exprs])

    where = each(block.where)
    changed = block._replace(
        select=each(block.select),
        having=each(block.having),
        where=block.where if where == block.where else conjoined(where, ctx),
    )
    return changed if changed != block else None


def _settled(expr: Expr, ctx: Context) -> Expr | None:
    op, value, args = expr
    if op in {"+", "-", "*"}:
        return NULL if NULL in args else _fold_integers(op, *args)
    if op == "/" and ctx.dialect.integer_division and all(arg.op == "lit" and arg.value[0] == "int" for arg in args):
        return _quotient(int(args[0].value[1]), int(args[1].value[1]))
    if op == "span" and args[0].op == "lit":
        if args[0] == NULL:
            return TRUE if value.null else NULL
        inside = _inside(args[0], value, ctx)
        return None if inside is None else TRUE if inside else FALSE
    if op in {"isnull", "notnull"} and args[0].op == "lit":
        return TRUE if (args[0] == NULL) == (op == "isnull") else FALSE
    if op in COMPARISONS and any(arg.op == "lit" for arg in args):
        return compare(op, args[0], args[1], ctx, type_of(args[0], ctx), type_of(args[1], ctx))
    if op == "case":
        return case(list(args))
    return None


def _quotient(dividend: int, divisor: int) -> Expr | None:
    """Division of whole numbers, towards zero."""
    if not divisor:
        return None
    size = abs(dividend) // abs(divisor)
    return lit("int", str(size if (dividend < 0) == (divisor < 0) else -size))


def nothing(block: Block, ctx: Context) -> Block | None:
    """A block that is never true reads nothing; below the top, contradictory ranges count as that."""
    if block == Block(where=(FALSE,), select=(NULL,) * len(block.select)):
        return None
    never = FALSE in block.where or NULL in block.where
    if not never and ctx.role != "top":
        never = any(part.op == "span" and not part.value.parts and not part.value.null for part in block.where)
    if not never or any(expr.op == "star" for expr in block.select):
        return None
    if block.group == ():
        return _over_nothing(block)
    return Block(where=(FALSE,), select=(NULL,) * len(block.select))


def _over_nothing(block: Block) -> Block | None:
    """An aggregate over no rows is one row: its counts are 0, its other aggregates NULL."""
    if block.having or block.extra or block.limit is not None or block.offset is not None:
        return None
    if any(node.op in {"col", "window"} for expr in block.select for node in _outside(expr)):
        return None

    def change(expr: Expr) -> Expr | None:
        if expr.op == "agg":
            return (
                lit("int", "0")
                if expr.value[0] == "count"
                else NULL
                if expr.value[0] in {"sum", "min", "max", "avg"}
                else expr
            )
        return None

    select = tuple([rewrite_own(expr, change) for expr in block.select])
    if any(node.op == "agg" for expr in select for node in _outside(expr)):
        return None
    return Block(select=select)


def _outside(expr: Expr) -> list[Expr]:
    """The nodes of an expression, those inside aggregates left out."""
    found, stack = [], [expr]
    while stack:
        node = stack.pop()
        found.append(node)
        if node.op != "agg":
            stack.extend(node.args)
    return found
