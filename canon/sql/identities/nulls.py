"""NULL tests and null-safe operators where a declared NOT NULL or another condition settles them (P4)."""

from canon.sql.affinity import as_compared, is_bare
from canon.sql.algebra import COMPARISONS, FALSE, TRUE, Block, Expr, conjuncts, junction, rewrite
from canon.sql.context import Context
from canon.sql.facts import nullable, rejected, type_of
from canon.sql.predicates import merge, oriented

TESTS = frozenset({"isnull", "notnull", "same", "distinct", "coalesce"})


def simplify(expr: Expr, ctx: Context, known: set[Expr]) -> Expr:
    """An expression without the NULL tests that the known terms settle."""

    def change(node: Expr) -> Expr | None:
        op = node.op
        if op == "notnull" and not nullable(node.args[0], ctx, known):
            return TRUE
        if op == "isnull" and not nullable(node.args[0], ctx, known):
            return FALSE
        if op == "span" and node.value.null and not nullable(node.args[0], ctx, known):
            return node._replace(value=node.value._replace(null=False))
        if op in {"same", "distinct"} and not all(nullable(arg, ctx, known) for arg in node.args):
            both = not any(nullable(arg, ctx, known) for arg in node.args)
            if op == "same" or both:
                return oriented("=" if op == "same" else "<>", *(rewrite(arg, change) for arg in node.args))
        if op == "coalesce":
            return _coalesce(node, ctx, known)
        return None

    return rewrite(expr, change)


def _coalesce(node: Expr, ctx: Context, known: set[Expr]) -> Expr | None:
    for index, arg in enumerate(node.args[:-1]):
        if not nullable(arg, ctx, known):
            return arg if index == 0 else node._replace(args=node.args[: index + 1])
    return None


def _has_test(exprs: tuple[Expr, ...]) -> bool:
    stack = list(exprs)
    while stack:
        node = stack.pop()
        if node.op in TESTS or (node.op == "span" and node.value.null):
            return True
        stack.extend(node.args)
    return False


def settled_tests(block: Block, ctx: Context) -> Block | None:
    """`x IS NOT NULL AND x > 1`  =  `x > 1`; a test of what is never NULL is a constant."""
    outputs = (*block.select, *(block.group or ()), *block.having, *(key.expr for key in block.order))
    if not _has_test((*block.where, *outputs)):
        return None
    where = list(block.where)
    for index, part in enumerate(where):
        if _has_test((part,)):
            others = set().union(*(rejected(other) for place, other in enumerate(where) if place != index))
            where[index] = simplify(part, ctx, others)
    parts = conjuncts(merge("and", where, ctx)) if tuple(where) != block.where else block.where
    known = set().union(*(rejected(part) for part in parts)) if parts else set()

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([simplify(expr, ctx, known) for expr in exprs])

    return block._replace(
        where=parts,
        select=each(block.select),
        group=None if block.group is None else each(block.group),
        having=conjuncts(junction("and", list(each(block.having)))),
        order=tuple([key._replace(expr=simplify(key.expr, ctx, known)) for key in block.order]),
    )


def idle_default(block: Block, ctx: Context) -> Block | None:
    """`COALESCE(x, 0)`  =  `x`, x never NULL, where it is aggregated, returned, or compared within its class."""

    def change(node: Expr) -> Expr | None:
        if node.op == "agg":
            changed = node._replace(args=tuple([_plain(arg) for arg in node.args]))
        elif node.op in COMPARISONS and any(_plain(arg) != arg for arg in node.args):
            left, right = node.args
            ours, theirs = type_of(left, ctx), type_of(right, ctx)
            changed = node._replace(
                args=(as_compared(left, ours, right, theirs, ctx), as_compared(right, theirs, left, ours, ctx))
            )
        else:
            return None
        return None if changed == node else changed

    def each(exprs: tuple[Expr, ...], *, result: bool) -> tuple[Expr, ...]:
        return tuple([rewrite(_plain(expr) if result else expr, change) for expr in exprs])

    top = ctx.role == "top"
    new = block._replace(
        where=each(block.where, result=False),
        select=each(block.select, result=top),
        group=None if block.group is None else each(block.group, result=top),
        having=each(block.having, result=False),
        order=tuple([key._replace(expr=each((key.expr,), result=top)[0]) for key in block.order]),
    )
    return None if new == block else new


def _plain(expr: Expr) -> Expr:
    return expr.args[0] if is_bare(expr) else expr
