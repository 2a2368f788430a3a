"""Counts of rows that differ: rows with a match, rows of a DISTINCT, rows that meet a condition (A2, A5, S3)."""

from canon.sql.algebra import NULL, Block, Expr, col, conjuncts, contains, lit, rewrite_own
from canon.sql.context import Context
from canon.sql.facts import keys_of, not_null_terms, nullable
from canon.sql.identities.conditions import counted
from canon.sql.identities.positions import in_expressions, mentions
from canon.sql.identities.shapes import aggregates, conjoined, has_window
from canon.sql.predicates import truth

ROWS = Expr("agg", ("count", False), ())
ONE = lit("int", "1")
MAX_DIGITS = 4


def _counts(block: Block, new: Expr) -> Block:
    """The block with another count for COUNT(*) in its outputs."""

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, {ROWS: new}.get) for expr in exprs])

    order = tuple([key._replace(expr=rewrite_own(key.expr, {ROWS: new}.get)) for key in block.order])
    return block._replace(select=each(block.select), having=each(block.having), order=order)


def rows_with_a_match(block: Block, ctx: Context) -> Block | None:
    """The count of rows with a match, as a count of distinct keys.

    `SELECT COUNT(*) FROM p WHERE EXISTS (c WHERE c.fk = p.id)`
    =  `SELECT COUNT(DISTINCT p.id) FROM p JOIN c ON c.fk = p.id`.
    """
    if block.group is None or block.extra or block.lefts or len(block.sources) != 1 or has_window(block):
        return None
    calls = aggregates(block)
    if not calls or any(call != ROWS for call in calls) or not any(_joinable(part) for part in block.where):
        return None
    keys = [key for key in keys_of(block.sources[0], ctx) if len(key) == 1 and not nullable(key[0], ctx)]
    return _counts(block, Expr("agg", ("count", True), keys[0])) if keys else None


def _joinable(part: Expr) -> bool:
    body = part.value
    return (
        part.op == "exists"
        and isinstance(body, Block)
        and body.group is None
        and body.limit is None
        and body.offset is None
        and not body.extra
        and bool(body.sources)
    )


def distinct_rows(block: Block, ctx: Context) -> Block | None:
    """The count of distinct rows, as a distinct count.

    `SELECT k, COUNT(*) FROM (SELECT DISTINCT k, x FROM t) d GROUP BY k`
    =  `SELECT k, COUNT(DISTINCT x) FROM t GROUP BY k`, for an x never NULL.
    """
    if block.group is None or block.extra or block.lefts or block.where or len(block.sources) != 1 or has_window(block):
        return None
    source = block.sources[0]
    inner = source.rel
    if source.kind != "derived" or not isinstance(inner, Block) or not inner.distinct or inner.group is not None:
        return None
    if inner.limit is not None or inner.offset is not None or inner.extra or inner.lefts or has_window(inner):
        return None
    if any(part.kind == "full" for part in inner.sources):
        return None
    keys = {key.value[1] for key in block.group if key.op == "col" and key.value[0] == source.sid}
    rest = [position for position in range(len(inner.select)) if position not in keys]
    if len(keys) < len(block.group) or len(rest) != 1 or any(expr.op in {"star", "lit"} for expr in inner.select):
        return None
    counted_column = inner.select[rest[0]]
    if any(call != ROWS for call in aggregates(block)) or nullable(counted_column, ctx, not_null_terms(inner)):
        return None
    outside = _counts(block, ONE)
    if any(
        _reads(expr, source.sid, rest[0])
        for expr in (*outside.select, *outside.having, *(k.expr for k in outside.order))
    ):
        return None
    mapping = {col(source.sid, position): expr for position, expr in enumerate(inner.select)}
    changed = _counts(block, Expr("agg", ("count", True), (counted_column,)))
    if any(
        contains(expr, frozenset({"exists", "in", "scalar", "quant"})) for expr in (*changed.select, *changed.having)
    ):
        return None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, mapping.get) for expr in exprs])

    return changed._replace(
        sources=inner.sources,
        where=inner.where,
        select=each(changed.select),
        group=each(block.group),
        having=each(changed.having),
        order=tuple([key._replace(expr=rewrite_own(key.expr, mapping.get)) for key in changed.order]),
    )


def _reads(expr: Expr, sid: int, position: int) -> bool:
    stack = [expr]
    while stack:
        node = stack.pop()
        if node.op == "col" and node.value == (sid, position):
            return True
        stack.extend(node.args)
    return False


def filtered_count(block: Block, ctx: Context) -> Block | None:
    """One count for the other.

    `SELECT COUNT(CASE WHEN p THEN 1 END) FROM t`
    =  `SELECT COUNT(*) FROM t WHERE p`, where nothing else is computed.
    """
    if block.group != () or block.having or block.extra or has_window(block):
        return None
    calls = set(aggregates(block))
    if len(calls) != 1:
        return None
    call = calls.pop()
    if call.value != ("count", False) or len(call.args) != 1 or call.args[0].op != "case":
        return None
    case = call.args[0]
    if len(case.args) != 3 or case.args[1] != ONE or case.args[2] != NULL:
        return None
    select = tuple([rewrite_own(expr, {call: ROWS}.get) for expr in block.select])
    where = conjoined((*block.where, *conjuncts(truth(case.args[0], ctx))), ctx)
    return block._replace(select=select, where=where, order=())


def counted_divisor(block: Block, ctx: Context) -> Block | None:
    """`x / SUM(CASE WHEN p THEN 1 ELSE 0 END)`  =  `x / COUNT(CASE WHEN p THEN 1 END)`: by NULL and by 0 it is NULL."""
    if ctx.dialect.name not in {"sqlite", "mysql"} or block.group is None or not mentions(block, frozenset({"/"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "/":
            return None
        found = counted(expr.args[1], ctx)
        return None if found is None else expr._replace(args=(expr.args[0], found))

    return in_expressions(block, law, ctx)


def real_product(block: Block, ctx: Context) -> Block | None:
    """`CAST(COUNT(x) * 100 AS REAL)`  =  `COUNT(x) * 100.0` in SQLite: the product of a count is exact either way."""
    if ctx.dialect.name != "sqlite" or not mentions(block, frozenset({"cast"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "cast" or expr.value[0] != "real" or expr.args[0].op != "*":
            return None
        for one, other in (expr.args[0].args, expr.args[0].args[::-1]):
            factor = other.value[1] if other.op == "lit" and other.value[0] == "int" else ""
            if one.op == "agg" and one.value[0] == "count" and 1 <= len(factor) <= MAX_DIGITS:
                return Expr("*", "commutes", (one, lit("dec", factor)))
        return None

    return in_expressions(block, law, ctx)
