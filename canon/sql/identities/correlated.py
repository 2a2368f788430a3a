"""Correlated parts: groups beside their row, counts that a join tests, filters along equalities (S5, S6, P7)."""

from canon.sql.algebra import FALSE, Block, Expr, Source, col, rewrite_own, rewrite_rel, sids
from canon.sql.context import Context
from canon.sql.facts import Determined, fixes, output_facts
from canon.sql.identities.outerjoins import null_when_padded
from canon.sql.identities.shapes import aggregates, conjoined, has_window, left_sids, own_sids, plain
from canon.sql.predicates import Interval, Span, common_part


def grouped_left_join(block: Block, ctx: Context) -> Block | None:
    """`SELECT d.k, SUM(e.x) FROM d LEFT JOIN e ON p GROUP BY d.k`  =  `SELECT d.k, (SELECT SUM(x) FROM e WHERE p)`.

    The group keys fix the row of d, and what is aggregated is NULL where nothing matched.
    """
    if not block.group or len(block.lefts) != 1 or block.extra or block.ordered or block.distinct or has_window(block):
        return None
    left = block.lefts[0]
    inside = left_sids(left)
    if (
        left.lefts
        or any(source.kind != "table" for source in left.sources)
        or any(sids(part) & inside for part in block.where)
    ):
        return None
    calls = list(dict.fromkeys(aggregates(block)))
    if not calls or any(
        call.value[0] not in {"count", "sum", "min", "max", "avg"} or len(call.args) != 1 for call in calls
    ):
        return None
    if any(not sids(call) <= inside or not null_when_padded(call.args[0], inside) for call in calls):
        return None
    determined = Determined(block._replace(lefts=()), ctx, given=block.group)
    if any(source.sid not in determined.rows for source in block.sources) or any(
        sids(key) & inside for key in block.group
    ):
        return None
    whole = Block(sources=left.sources, where=left.on, group=())
    mapping = {call: Expr("scalar", whole._replace(select=(call,)), ()) for call in calls}

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, mapping.get) for expr in exprs])

    bare = {call: FALSE for call in calls}
    if any(
        sids(rewrite_own(expr, bare.get)) & inside
        for expr in (*block.select, *block.having, *(key.expr for key in block.order))
    ):
        return None
    ctx.padded -= inside
    return block._replace(
        lefts=(),
        group=None,
        select=each(block.select),
        having=(),
        where=conjoined((*block.where, *each(block.having)), ctx),
        order=tuple([key._replace(expr=rewrite_own(key.expr, mapping.get)) for key in block.order]),
    )


def counted_group(block: Block, ctx: Context) -> Block | None:
    """`(SELECT COUNT(*) FROM t WHERE t.k = d.k) > 1`  =  `EXISTS (t WHERE t.k = d.k GROUP BY t.k HAVING COUNT(*) > 1)`.

    Only for counts among which 0 is not: no row is no group.
    """
    for index, part in enumerate(block.where):
        if part.op != "span" or part.args[0].op != "scalar" or part.value.null or part.value.kind != "num":
            continue
        body = part.args[0].value
        if (
            not isinstance(body, Block)
            or body.group != ()
            or body.having
            or body.lefts
            or body.extra
            or len(body.select) != 1
        ):
            continue
        call = body.select[0]
        zero = common_part([part.value, Span("num", False, (Interval(0, True, 0, True),))], ctx.dialect)
        if call.op != "agg" or call.value[0] != "count" or zero is None or zero.parts or body.limit is not None:
            continue
        keys = _linked_keys(body, ctx)
        if not keys:
            continue
        grouped = body._replace(group=keys, having=(part._replace(args=(call,)),), select=(), order=())
        where = (*block.where[:index], Expr("exists", grouped, ()), *block.where[index + 1 :])
        return block._replace(where=where)
    return None


def _linked_keys(body: Block, ctx: Context) -> tuple[Expr, ...] | None:
    """The inner columns that equal outer terms, if nothing else links the body to what is outside."""
    own = own_sids(body)
    keys: list[Expr] = []
    for part in body.where:
        if not sids(part) - own:
            continue
        if part.op not in {"=", "eqclass"} or len(part.args) != 2:
            return None
        mine = [arg for arg in part.args if arg.op == "col" and arg.value[0] in own]
        if len(mine) != 1:
            return None
        outer = part.args[1] if part.args[0] is mine[0] else part.args[0]
        if sids(outer) & own or not fixes(outer, mine[0], ctx):
            return None
        keys.append(mine[0])
    return tuple(dict.fromkeys(keys))


def hoist_determined(block: Block, ctx: Context) -> Block | None:
    """`EXISTS (d, b WHERE d.key = e.k AND d.x = b.x)`  =  `JOIN d ON d.key = e.k … EXISTS (b WHERE b.x = d.x)`."""
    for index, part in enumerate(block.where):
        body = part.value if part.op == "exists" else None
        if not isinstance(body, Block) or not plain(body) or body.lefts or len(body.sources) < 2:
            continue
        if any(source.kind != "table" for source in body.sources):
            continue
        rows = Determined(body, ctx).rows
        hoisted = {source.sid for source in body.sources if source.sid in rows}
        kept = {source.sid for source in body.sources} - hoisted
        if not hoisted or not kept:
            continue
        outside = [p for p in body.where if not sids(p) & kept]
        inside = [p for p in body.where if sids(p) & kept]
        rest = body._replace(sources=tuple([s for s in body.sources if s.sid in kept]), where=tuple(inside))
        where = [*block.where[:index], *block.where[index + 1 :], *outside, Expr("exists", rest, ())]
        sources = (*block.sources, *(s for s in body.sources if s.sid in hoisted))
        return block._replace(sources=sources, where=conjoined(where, ctx))
    return None


def _filterable(source: Source) -> Block | None:
    inner = source.rel
    if source.kind != "derived" or not isinstance(inner, Block) or not inner.group or inner.extra or inner.distinct:
        return None
    return (
        inner if inner.limit is None and inner.offset is None and not has_window(inner) and not inner.ordered else None
    )


def filter_along_equality(block: Block, ctx: Context) -> Block | None:
    """`(… GROUP BY k) g JOIN t ON g.k = t.k WHERE t.k > 7`  =  `(… HAVING k > 7) g JOIN t ON g.k = t.k`."""
    tables = {source.sid: inner for source in block.sources if (inner := _filterable(source)) is not None}
    if not tables:
        return None
    for part in block.where:
        if part.op != "span" or part.args[0].op != "col" or part.value.null or part.args[0].value[0] in tables:
            continue
        term = part.args[0]
        members = {member for p in block.where if p.op == "eqclass" and term in p.args for member in p.args}
        targets = {member for member in members if member.value[0] in tables}
        if not targets:
            continue
        sources = list(block.sources)
        for place, source in enumerate(sources):
            for member in targets:
                grouped = sources[place].rel
                if member.value[0] == source.sid and isinstance(grouped, Block):
                    test = part._replace(args=(grouped.select[int(member.value[1])],))
                    slim = grouped._replace(having=conjoined((*grouped.having, test), ctx))
                    sources[place] = source._replace(rel=slim)
        return block._replace(sources=tuple(sources), where=tuple([p for p in block.where if p != part]))
    return None


def literal_outputs(block: Block, ctx: Context) -> Block | None:
    """`SELECT d.k FROM (SELECT 3 k, … GROUP BY …) d`  =  `SELECT 3 …`: a column that is a literal is that literal."""
    mapping: dict[Expr, Expr] = {}
    for source in block.sources:
        if source.kind == "derived" and isinstance(source.rel, Block):
            for position, expr in enumerate(source.rel.select):
                if expr.op == "lit":
                    mapping[col(source.sid, position)] = expr
    if not mapping:
        return None
    changed = rewrite_rel(block, mapping.get)
    assert isinstance(changed, Block)
    if changed == block:
        return None
    ctx.outputs.update(
        {source.sid: output_facts(source.rel, ctx) for source in block.sources if source.rel is not None}
    )
    return changed._replace(where=conjoined(changed.where, ctx))


def contradictory_branch(block: Block, ctx: Context) -> Block | None:
    """Below the top, `x < 4 AND x > 7` is never true."""
    if ctx.role == "top" or block.group == () or FALSE in block.where:
        return None
    spans: dict[Expr, list[Expr]] = {}
    for part in block.where:
        if part.op == "span" and not part.value.null:
            spans.setdefault(part.args[0], []).append(part)
    for parts in spans.values():
        met = common_part([part.value for part in parts], ctx.dialect) if len(parts) > 1 else None
        if met is not None and not met.parts:
            return block._replace(where=(FALSE,))
    return None
