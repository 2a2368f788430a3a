"""Applies a law to every place of a block where it may hold: to its conditions, or to any of its expressions."""

from collections.abc import Callable

from canon.sql.algebra import Block, Expr, LeftJoin, conjuncts, rewrite_own
from canon.sql.context import Context
from canon.sql.predicates import merge

Law = Callable[[Expr], Expr | None]


def mentions(block: Block, ops: frozenset[str]) -> bool:
    """Whether an expression of one of the kinds occurs in a block, subqueries left alone."""
    stack = [*block.where, *block.select, *block.having, *(block.group or ()), *(key.expr for key in block.order)]
    lefts = list(block.lefts)
    while lefts:
        left = lefts.pop()
        stack.extend(left.on)
        lefts.extend(left.lefts)
    while stack:
        node = stack.pop()
        if node.op in ops:
            return True
        stack.extend(node.args)
    return False


def in_expressions(block: Block, law: Law, ctx: Context) -> Block | None:
    """A block with a law applied wherever it holds, subqueries left alone; `None` where it holds nowhere.

    Conditions are merged again afterwards, since a law may turn an atom into a range of a term that others bound too.
    """

    def value(expr: Expr) -> Expr:
        return rewrite_own(expr, law)

    return _changed(block, value, value, ctx)


def in_conditions(block: Block, law: Law, ctx: Context) -> Block | None:
    """A block with a law applied to the atoms of which only truth matters: of WHERE, HAVING, ON and CASE WHEN."""

    def condition(expr: Expr) -> Expr:
        if expr.op in {"and", "or"}:
            return merge(expr.op, [condition(arg) for arg in expr.args], ctx)
        return law(expr) or value(expr)

    def value(expr: Expr) -> Expr:
        def choice(node: Expr) -> Expr | None:
            if node.op != "case":
                return None
            last = len(node.args) - 1
            args = [
                condition(arg) if place % 2 == 0 and place < last else value(arg) for place, arg in enumerate(node.args)
            ]
            return node._replace(args=tuple(args))

        return rewrite_own(expr, choice)

    return _changed(block, condition, value, ctx)


def _changed(
    block: Block, condition: Callable[[Expr], Expr], value: Callable[[Expr], Expr], ctx: Context
) -> Block | None:
    where = tuple([condition(part) for part in block.where])
    having = tuple([condition(part) for part in block.having])
    changed = block._replace(
        where=block.where if where == block.where else conjuncts(merge("and", [_merged(p, ctx) for p in where], ctx)),
        having=block.having
        if having == block.having
        else conjuncts(merge("and", [_merged(p, ctx) for p in having], ctx)),
        lefts=tuple([_left(left, condition, ctx) for left in block.lefts]),
        group=None if block.group is None else tuple(dict.fromkeys([value(key) for key in block.group])),
        select=tuple([value(expr) for expr in block.select]),
        order=tuple([key._replace(expr=value(key.expr)) for key in block.order]),
    )
    return None if changed == block else changed


def _merged(expr: Expr, ctx: Context) -> Expr:
    """A condition with the ranges of one term in it made one."""
    if expr.op in {"and", "or"}:
        return merge(expr.op, [_merged(arg, ctx) for arg in expr.args], ctx)
    return expr


def _left(left: LeftJoin, condition: Callable[[Expr], Expr], ctx: Context) -> LeftJoin:
    on = tuple([condition(part) for part in left.on])
    return left._replace(
        on=left.on if on == left.on else conjuncts(merge("and", [_merged(p, ctx) for p in on], ctx)),
        lefts=tuple([_left(inner, condition, ctx) for inner in left.lefts]),
    )
