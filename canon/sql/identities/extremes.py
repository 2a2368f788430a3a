"""Greatest and smallest rows: MAX, NOT EXISTS a greater one, RANK() = 1.

And correlated aggregates as joins (A10, W1, S5).
"""

from canon.sql.algebra import COMPARISONS, Block, Expr, Source, all_sources, col, lit, sids
from canon.sql.context import Context
from canon.sql.facts import Determined, duplicate_free, fixes, not_null_terms, nullable, output_facts
from canon.sql.identities.membership import equal
from canon.sql.identities.shapes import conjoined, copyable, fresh_copy, has_window, own_sids, plain
from canon.sql.predicates import Span, oriented

RANKS = frozenset({"rank", "dense_rank"})


def no_greater(block: Block, ctx: Context) -> Block | None:
    """`NOT EXISTS (t x WHERE x.c > e.c)`  =  `e.c = (SELECT MAX(c) FROM t)`, for a row e of t whose c is not NULL."""
    for index, part in enumerate(block.where):
        if part.op != "not" or part.args[0].op != "exists" or not isinstance(part.args[0].value, Block):
            continue
        found = _extreme(part.args[0].value, block, ctx)
        if found is not None:
            where = [*block.where[:index], found, *block.where[index + 1 :]]
            return block._replace(where=conjoined(where, ctx))
    return None


def _extreme(body: Block, block: Block, ctx: Context) -> Expr | None:
    if len(body.sources) != 1 or body.lefts or body.group is not None or body.limit is not None or body.extra:
        return None
    inner = body.sources[0]
    links: list[Expr] = []
    bounds: list[tuple[Expr, Expr, str]] = []
    for part in body.where:
        pair = _same_column(part, inner, block)
        if pair is None or nullable(pair[0], ctx) or nullable(pair[1], ctx):
            return None
        if part.op == "<":
            bounds.append((*pair, "max" if part.args[1] == pair[0] else "min"))
        elif part.op in {"=", "eqclass"}:
            links.append(part)
        else:
            return None
    if len(bounds) != 1 or any(sids(link) - {inner.sid} != sids(bounds[0][1]) for link in links):
        return None
    mine, outer, name = bounds[0]
    call = Expr("agg", (name, False), (mine,))
    scalar = Expr("scalar", Block(sources=body.sources, where=tuple(links), group=(), select=(call,)), ())
    return oriented("=", outer, scalar)


def _same_column(part: Expr, inner: Source, block: Block) -> tuple[Expr, Expr] | None:
    """The two columns of a condition between the inner table and a row of the same table outside: (inner, outer)."""
    if len(part.args) != 2 or any(arg.op != "col" for arg in part.args):
        return None
    mine = [arg for arg in part.args if arg.value[0] == inner.sid]
    outer = [arg for arg in part.args if arg.value[0] != inner.sid]
    if len(mine) != 1 or mine[0].value[1] != outer[0].value[1]:
        return None
    twin = next((source for source in block.sources if source.sid == outer[0].value[0]), None)
    if twin is None or twin.kind != "table" or inner.kind != "table" or twin.name != inner.name:
        return None
    return mine[0], outer[0]


def reach_extreme(block: Block, ctx: Context) -> Block | None:
    """`e.c >= (SELECT MAX(c) FROM t)`  =  `e.c = (SELECT MAX(c) FROM t)`, for a row e of t: nothing is greater."""
    where = list(block.where)
    for index, part in enumerate(where):
        if part.op != "<=" or {arg.op for arg in part.args} != {"col", "scalar"}:
            continue
        scalar, column = (part.args[0], part.args[1]) if part.args[0].op == "scalar" else (part.args[1], part.args[0])
        wanted = "max" if part.args[0] == scalar else "min"
        body = scalar.value
        if (
            not isinstance(body, Block)
            or body.group != ()
            or body.where
            or body.lefts
            or body.having
            or len(body.sources) != 1
        ):
            continue
        call = body.select[0]
        twin = next((source for source in block.sources if source.sid == column.value[0]), None)
        if twin is None or twin.kind != "table" or twin.name != body.sources[0].name:
            continue
        if (
            call.op == "agg"
            and call.value == (wanted, False)
            and call.args == (col(body.sources[0].sid, column.value[1]),)
        ):
            where[index] = oriented("=", column, scalar)
            return block._replace(where=tuple(where))
    return None


def correlated_aggregate(block: Block, ctx: Context) -> Block | None:
    """`x = (SELECT MAX(y) FROM t WHERE t.g = o.g)`  =  a join to `(SELECT g, MAX(y) FROM t GROUP BY g)`.

    Where no row of t matches, the aggregate is NULL and the comparison is not true; COUNT is another matter.
    """
    for index, part in enumerate(block.where):
        if part.op not in {"=", "<>", "<", "<="}:
            continue
        for place, arg in enumerate(part.args):
            if arg.op != "scalar" or not isinstance(arg.value, Block):
                continue
            grouped = _grouped(arg.value, ctx)
            if grouped is None:
                continue
            source, links, value = grouped
            other = part.args[1 - place]
            sides = (value, other) if place == 0 else (other, value)
            where = [*block.where[:index], *block.where[index + 1 :], oriented(part.op, *sides), *links]
            return block._replace(sources=(*block.sources, source), where=conjoined(where, ctx))
    return None


def _grouped(body: Block, ctx: Context) -> tuple[Source, list[Expr], Expr] | None:
    """The grouped table of a correlated aggregate, what links it to the outer row, and its value."""
    if body.group != () or body.having or body.lefts or body.extra or body.limit is not None or body.offset is not None:
        return None
    if (
        len(body.select) != 1
        or body.select[0].op != "agg"
        or body.select[0].value[0] not in {"min", "max", "sum", "avg"}
    ):
        return None
    own = own_sids(body)
    if sids(body.select[0]) - own:
        return None
    links: dict[Expr, Expr] = {}
    rest: list[Expr] = []
    for part in body.where:
        if not sids(part) - own:
            rest.append(part)
            continue
        if part.op not in {"=", "eqclass"} or len(part.args) != 2:
            return None
        mine = [arg for arg in part.args if sids(arg) and sids(arg) <= own]
        outer = [arg for arg in part.args if not sids(arg) & own]
        if len(mine) != 1 or len(outer) != 1 or mine[0].op != "col" or not fixes(outer[0], mine[0], ctx):
            return None
        links[mine[0]] = outer[0]
    if not links or any(sids(expr) - own for source in body.sources for expr in _inside(source)):
        return None
    keys = tuple(links)
    rel = Block(sources=body.sources, where=tuple(rest), group=keys, select=(*keys, body.select[0]))
    sid = ctx.fresh()
    ctx.outputs[sid] = output_facts(rel, ctx)
    equalities = [equal(col(sid, position), links[key], ctx) for position, key in enumerate(keys)]
    return Source(sid, "derived", "", rel), equalities, col(sid, len(keys))


def scalar_by_key(block: Block, ctx: Context) -> Block | None:
    """`x > (SELECT y FROM t WHERE t.key = o.fk)`  =  `JOIN t ON t.key = o.fk WHERE x > t.y`: one row at most.

    None is not true.
    """
    for index, part in enumerate(block.where):
        if part.op not in COMPARISONS and part.op != "span":
            continue
        for place, arg in enumerate(part.args):
            body = arg.value if arg.op == "scalar" else None
            if not isinstance(body, Block) or not plain(body) or len(body.select) != 1 or not body.sources:
                continue
            if part.op == "span" and part.value.null:
                continue
            determined = Determined(body, ctx)
            if body.lefts or not all(source.sid in determined.rows for source in all_sources(body)):
                continue
            args = (*part.args[:place], body.select[0], *part.args[place + 1 :])
            test = oriented(part.op, *args) if part.op in COMPARISONS and len(args) == 2 else part._replace(args=args)
            where = [*block.where[:index], *block.where[index + 1 :], test, *body.where]
            return block._replace(sources=block.sources + body.sources, where=conjoined(where, ctx))
    return None


def _inside(source: Source) -> list[Expr]:
    from canon.sql.algebra import source_expressions

    return list(source_expressions(source)) if source.rel is None else []


def first_rank(block: Block, ctx: Context) -> Block | None:
    """`RANK() OVER (PARTITION BY g ORDER BY x DESC) = 1`  =  `x = MAX(x)` of its g.

    ROW_NUMBER only where x is unique.
    """
    for index, source in enumerate(block.sources):
        inner = source.rel
        if source.kind != "derived" or not isinstance(inner, Block):
            continue
        for place, part in enumerate(block.where):
            column = tested_for_one(part, source)
            if column is None:
                continue
            replaced = _without_rank(inner, column, ctx)
            if replaced is not None:
                sources = (*block.sources[:index], source._replace(rel=replaced), *block.sources[index + 1 :])
                where = block.where[:place] + block.where[place + 1 :]
                return block._replace(sources=sources, where=where)
    return None


def tested_for_one(part: Expr, source: Source) -> int | None:
    """The output position of a derived table that a condition holds to 1."""
    if part.op != "span" or part.args[0].op != "col" or part.args[0].value[0] != source.sid:
        return None
    value: Span = part.value
    if value.null or value.kind != "num" or len(value.parts) != 1:
        return None
    low, high = value.parts[0].low, value.parts[0].high
    if high != 1 or low not in {None, 1} or not value.parts[0].high_in:
        return None
    return int(part.args[0].value[1])


def _without_rank(inner: Block, position: int, ctx: Context) -> Block | None:
    call = inner.select[position]
    bare = inner._replace(select=tuple([lit("int", "1") if expr == call else expr for expr in inner.select]))
    if (
        call.op != "window"
        or inner.group is not None
        or inner.distinct
        or inner.limit is not None
        or inner.offset is not None
    ):
        return None
    if inner.extra or has_window(bare) or not copyable(inner) or not inner.sources or call.value.frame:
        return None
    window = call.value
    keys = call.args[window.arguments + window.partitions :]
    partition = call.args[window.arguments : window.arguments + window.partitions]
    if window.arguments or len(keys) != 1 or any(arg.op != "col" for arg in call.args):
        return None
    known = not_null_terms(inner)
    if nullable(keys[0], ctx, known) or any(nullable(key, ctx, known) for key in partition):
        return None
    if window.name not in RANKS and not (
        window.name == "row_number" and duplicate_free(inner._replace(select=()), ctx, (*partition, keys[0]))
    ):
        return None
    name = "max" if window.orders[0][0] else "min"
    copy, renumbered = fresh_copy(inner._replace(select=(), order=()), ctx)

    def moved(column: Expr) -> Expr:
        return column._replace(value=(renumbered[column.value[0]], column.value[1]))

    links = [equal(moved(key), key, ctx) for key in partition]
    body = copy._replace(
        select=(Expr("agg", (name, False), (moved(keys[0]),)),), group=(), where=conjoined((*copy.where, *links), ctx)
    )
    found = oriented("=", keys[0], Expr("scalar", body, ()))
    return bare._replace(where=conjoined((*bare.where, found), ctx))
