"""Columns that a condition fixes, carried into other conditions; tests that are selected (P5, P7, S2)."""

from canon.sql.algebra import COMPARISONS, FALSE, NULL, TRUE, Block, Expr, LeftJoin, left_expressions, rewrite_own, sids
from canon.sql.context import Context
from canon.sql.facts import Determined, column_fact, nullable, output_facts, rejected, type_of
from canon.sql.identities.membership import as_exists
from canon.sql.identities.shapes import conjoined, left_sids
from canon.sql.predicates import compare, lit, negate


def fixed_conditions(block: Block, ctx: Context) -> Block | None:
    """`WHERE k = 10 AND k + 5 > n`  =  `WHERE k = 10 AND 10 + 5 > n`; so in the ON of an outer join to those rows."""
    values = {part.args[0]: literal for part in block.where if (literal := _point(part, ctx)) is not None}
    if not values and not block.lefts:
        return None
    where = tuple([_carried(part, values, ctx) for part in block.where])
    lefts = tuple([_carried_left(left, values, ctx) for left in block.lefts])
    if where == block.where and lefts == block.lefts:
        return None
    return block._replace(where=block.where if where == block.where else conjoined(where, ctx), lefts=lefts)


def _point(part: Expr, ctx: Context) -> Expr | None:
    """The whole number that a condition holds a column of an inner source to."""
    value = _whole_point(part, ctx)
    return None if value is None or part.args[0].value[0] in ctx.padded else value


def _whole_point(part: Expr, ctx: Context) -> Expr | None:
    """The whole number that a span holds a column to."""
    if part.op != "span" or part.args[0].op != "col" or part.value.null or len(part.value.parts) != 1:
        return None
    low = part.value.parts[0].low
    if part.value.kind != "num" or not isinstance(low, int) or low != part.value.parts[0].high:
        return None
    return lit("int", str(low)) if type_of(part.args[0], ctx) == "integer" else None


def _carried(part: Expr, values: dict[Expr, Expr], ctx: Context) -> Expr:
    """A comparison with its fixed columns replaced, unless its sides are columns (those stay one class)."""
    if part.op not in COMPARISONS or all(arg.op == "col" for arg in part.args):
        return part
    args = tuple([rewrite_own(arg, values.get) for arg in part.args])
    if args == part.args:
        return part
    return _compared(part.op, args[0], args[1], ctx)


def _compared(op: str, left: Expr, right: Expr, ctx: Context) -> Expr:
    return compare(op, left, right, ctx, type_of(left, ctx), type_of(right, ctx))


def _carried_left(left: LeftJoin, values: dict[Expr, Expr], ctx: Context) -> LeftJoin:
    """ON conditions with the fixed columns of the preserved side replaced: no other row of it is joined."""

    def each(part: Expr) -> Expr:
        if part.op not in COMPARISONS:
            return part
        args = tuple([rewrite_own(arg, values.get) for arg in part.args])
        if args == part.args and all(arg.op != "lit" for arg in args):
            return part
        return _compared(part.op, args[0], args[1], ctx)

    on = tuple([each(part) for part in left.on])
    return left._replace(on=tuple(dict.fromkeys(part for part in on if part != TRUE)))


def selected_flag(block: Block, ctx: Context) -> Block | None:
    """`SELECT CASE WHEN d.i IS NULL … LEFT JOIN (SELECT DISTINCT k, 1 i FROM u) d`  =  `SELECT EXISTS (u WHERE k = …)`.

    The outer join matches at most one row, and is asked only whether it did.
    """
    if block.group is not None or block.extra or block.ordered:
        return None
    for index, left in enumerate(block.lefts):
        inside = left_sids(left)
        rest = block.lefts[:index] + block.lefts[index + 1 :]
        others = [*block.where, *(key.expr for key in block.order)]
        others += [expr for other in rest for expr in left_expressions(other)]
        if left.lefts or any(sids(expr) & inside for expr in others):
            continue
        body = Block(sources=left.sources, where=left.on)
        determined = Determined(body, ctx)
        if not all(source.sid in determined.rows for source in left.sources):
            continue
        strict = set().union(*(rejected(part) for part in left.on)) if left.on else set()
        test = Expr("exists", body, ())

        def change(node: Expr, inside: set[int] = inside, strict: set[Expr] = strict, test: Expr = test) -> Expr | None:
            if node.op not in {"isnull", "notnull"} or node.args[0].op != "col" or node.args[0].value[0] not in inside:
                return None
            if node.args[0] not in strict and not column_fact(node.args[0], ctx).not_null:
                return None
            return test if node.op == "notnull" else Expr("not", None, (test,))

        select = tuple([rewrite_own(expr, change) for expr in block.select])
        if select == block.select or any(_outside_tests(expr) & inside for expr in select):
            continue
        ctx.padded -= inside
        return block._replace(lefts=rest, select=select)
    return None


def _outside_tests(expr: Expr) -> set[int]:
    """The sources that an expression mentions, EXISTS not entered."""
    found: set[int] = set()
    stack = [expr]
    while stack:
        node = stack.pop()
        if node.op == "col":
            found.add(node.value[0])
        elif node.op in {"scalar", "in", "quant"}:
            found |= sids(node)
        stack.extend(node.args)
    return found


def selected_tests(block: Block, ctx: Context) -> Block | None:
    """`SELECT CASE WHEN EXISTS (q) THEN TRUE ELSE FALSE END`  =  `SELECT EXISTS (q)`; so IN that is never UNKNOWN."""

    def change(node: Expr) -> Expr | None:
        if (
            node.op == "case"
            and len(node.args) == 3
            and set(node.args[1:]) == {TRUE, FALSE}
            and _two_valued(node.args[0])
        ):
            return node.args[0] if node.args[1] == TRUE else negate(node.args[0], ctx)
        if node.op == "in" and not any(nullable(arg, ctx) for arg in node.args):
            facts = output_facts(node.value, ctx)
            if len(facts) == len(node.args) and all(fact.not_null for fact in facts):
                return as_exists(node, ctx)
        return None

    select = tuple([rewrite_own(expr, change) for expr in block.select])
    return block._replace(select=select) if select != block.select else None


def _two_valued(expr: Expr) -> bool:
    if expr.op in {"and", "or", "not"}:
        return all(_two_valued(arg) for arg in expr.args)
    return expr.op in {"exists", "isnull", "notnull", "same", "distinct"}


def fixed_null_side(block: Block, ctx: Context) -> Block | None:
    """`SELECT d.k … LEFT JOIN d ON d.k = 10`  =  `SELECT CASE WHEN d.k IS NOT NULL THEN 10 END`."""
    values: dict[Expr, Expr] = {}
    for left in block.lefts:
        inside = left_sids(left)
        for part in left.on:
            if part.op == "span" and part.args[0].op == "col" and part.args[0].value[0] in inside:
                value = _whole_point(part, ctx)
                if value is not None:
                    values[part.args[0]] = value
    if not values:
        return None

    def change(node: Expr) -> Expr | None:
        if node.op in {"isnull", "notnull"} and node.args[0].op == "col":
            return node
        value = values.get(node)
        return None if value is None else Expr("case", None, (Expr("notnull", None, (node,)), value, NULL))

    select = tuple([rewrite_own(expr, change) for expr in block.select])
    return block._replace(select=select) if select != block.select else None
