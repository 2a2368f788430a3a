"""Derived tables: merged into the block that reads them, or reduced to what is read of them (D1, D2)."""

from canon.sql.algebra import (
    Block,
    Expr,
    LeftJoin,
    Order,
    Rel,
    SetOp,
    Source,
    all_sources,
    col,
    contains,
    expressions,
    rewrite_left,
    rewrite_rel,
    sids,
    substitution,
    walk,
)
from canon.sql.context import Context
from canon.sql.facts import duplicate_free, exactly_one_row, output_facts, output_width
from canon.sql.identities.shapes import conjoined, has_window, ignores_duplicates, plain


def mapping_of(source: Source, select: tuple[Expr, ...]) -> dict[Expr, Expr]:
    """For each output column of a derived source, what it stands for."""
    return {col(source.sid, position): expr for position, expr in enumerate(select)}


def _mergeable(rel: Rel | None, block: Block, ctx: Context) -> Block | None:
    """The derived block as a plain one, if it can be said in the block that reads it."""
    if not isinstance(rel, Block):
        return None
    inner = rel
    if inner.distinct and inner.group is None:
        bare = inner._replace(distinct=False)
        tested = ctx.role == "exists" and block.group is None
        if tested or ignores_duplicates(block) or duplicate_free(bare, ctx, bare.select):
            inner = bare
    if not plain(inner) or any(expr.op == "star" for expr in inner.select):
        return None
    return inner


def merge_derived(block: Block, ctx: Context) -> Block | None:
    """`SELECT d.x FROM (SELECT x FROM t WHERE p) d`  =  `SELECT x FROM t WHERE p`."""
    for index, source in enumerate(block.sources):
        inner = _mergeable(source.rel, block, ctx) if source.kind == "derived" else None
        if inner is None:
            continue
        rest = block._replace(sources=block.sources[:index] + block.sources[index + 1 :])
        changed = rewrite_rel(rest, substitution(mapping_of(source, inner.select)))
        assert isinstance(changed, Block)
        return changed._replace(
            sources=(*changed.sources, *inner.sources),
            lefts=(*changed.lefts, *inner.lefts),
            where=conjoined((*changed.where, *inner.where), ctx),
        )
    return None


def merge_derived_right(block: Block, ctx: Context) -> Block | None:
    """A derived table on the right of a LEFT JOIN whose outputs are columns: its tables, its WHERE in ON."""
    for index, left in enumerate(block.lefts):
        for place, source in enumerate(left.sources):
            inner = _mergeable(source.rel, block, ctx) if source.kind == "derived" else None
            if inner is None or inner.lefts or not inner.sources:
                continue
            own = {part.sid for part in inner.sources}
            if any(expr.op != "col" or expr.value[0] not in own for expr in inner.select):
                continue
            merged = LeftJoin(
                left.sources[:place] + inner.sources + left.sources[place + 1 :],
                left.lefts,
                left.on + inner.where,
            )
            change = substitution(mapping_of(source, inner.select))
            merged = rewrite_left(merged, change)
            rest = block._replace(lefts=block.lefts[:index] + block.lefts[index + 1 :])
            changed = rewrite_rel(rest, change)
            assert isinstance(changed, Block)
            ctx.padded |= own
            return changed._replace(lefts=(*changed.lefts, merged))
    return None


def filter_grouped(block: Block, ctx: Context) -> Rel | None:
    """`SELECT … FROM (SELECT k, COUNT(*) n … GROUP BY k) d WHERE d.n > 1`  =  `… GROUP BY k HAVING COUNT(*) > 1`."""
    if len(block.sources) != 1 or block.lefts or block.group is not None or block.extra or has_window(block):
        return None
    source = block.sources[0]
    inner = source.rel
    if (
        not isinstance(inner, Block)
        or inner.limit is not None
        or inner.offset is not None
        or inner.extra
        or inner.ordered
    ):
        return None
    if inner.group is None or inner.distinct or has_window(inner):
        return None
    if any(_captures(expr, source.sid, inner) for expr in expressions(block._replace(sources=()))):
        return None
    outer = rewrite_rel(block._replace(sources=()), substitution(mapping_of(source, inner.select)))
    assert isinstance(outer, Block)
    return inner._replace(
        select=outer.select,
        having=conjoined((*inner.having, *outer.where), ctx),
        distinct=outer.distinct,
        order=outer.order,
        limit=outer.limit,
        offset=outer.offset,
    )


def _captures(expr: Expr, sid: int, inner: Block) -> bool:
    """Whether a subquery reads an output of a derived table that is an aggregate.

    Which would mean something else in there.
    """
    inside = [node._replace(args=()) for node in walk(expr) if node.op in {"exists", "in", "scalar", "quant"}]
    return any(
        node.op == "col" and node.value[0] == sid and contains(inner.select[node.value[1]], frozenset({"agg"}))
        for query in inside
        for node in walk(query)
    )


def _nested_aggregate(expr: Expr) -> bool:
    """Whether an aggregate ended up inside another query, where it would mean something else."""
    return any(
        node.op in {"exists", "in", "scalar", "quant"}
        and any(inner.op == "agg" and _foreign(inner, node) for inner in walk(node))
        for node in walk(expr)
    )


def _foreign(aggregate: Expr, node: Expr) -> bool:
    rel = node.value[2] if node.op == "quant" else node.value
    own: set[int] = set()
    if isinstance(rel, Block):
        own = {source.sid for source in all_sources(rel)}
    return not aggregate.args or not sids(aggregate) <= own


def pass_through(block: Block, ctx: Context) -> Rel | None:
    """`SELECT * FROM (q) d`  =  `q`, an ORDER BY or LIMIT outside being put on q where it has none."""
    if len(block.sources) != 1 or block.lefts or block.where or block.group is not None or block.extra:
        return None
    source = block.sources[0]
    inner = source.rel
    if inner is None or source.kind != "derived":
        return None
    width = output_width(inner)
    positions = [expr.value[1] if expr.op == "col" and expr.value[0] == source.sid else None for expr in block.select]
    if width is None or positions != list(range(width)):
        return None
    if block.distinct and not (isinstance(inner, SetOp) and not inner.all):
        return None
    if inner.order and (inner.limit is not None or inner.offset is not None) and ctx.role == "top":
        return None  # whether the rows come in order is part of what is asked
    if not (block.order or block.limit is not None or block.offset is not None):
        return inner if inner.limit is not None or inner.offset is not None else inner._replace(order=())
    if inner.limit is not None or inner.offset is not None:
        return None
    order = _outer_order(block, source, inner)
    return None if order is None else inner._replace(order=order, limit=block.limit, offset=block.offset)


def project_limited(block: Block, ctx: Context) -> Rel | None:
    """`SELECT d.x FROM (SELECT … ORDER BY k LIMIT n) d ORDER BY d.k`  =  `SELECT x … ORDER BY k LIMIT n`."""
    if (
        len(block.sources) != 1
        or block.lefts
        or block.where
        or block.group is not None
        or block.extra
        or block.distinct
    ):
        return None
    source = block.sources[0]
    inner = source.rel
    if not isinstance(inner, Block) or inner.distinct or inner.extra or inner.ordered or has_window(block):
        return None
    if (inner.limit is None and inner.offset is None) or block.limit is not None or block.offset is not None:
        return None
    change = substitution(mapping_of(source, inner.select))
    outer = rewrite_rel(block._replace(sources=()), change)
    assert isinstance(outer, Block)
    if outer.order != inner.order and (outer.order or (inner.order and ctx.role == "top")):
        return None
    if any(_nested_aggregate(expr) for expr in outer.select):
        return None
    return inner._replace(select=outer.select)


def prune_union(block: Block, ctx: Context) -> Block | None:
    """Outputs of a UNION ALL that nothing reads go from every branch, and the others come in an order of their own."""
    from canon.sql.rendering import Renderer

    for index, source in enumerate(block.sources):
        union = source.rel
        if (
            not isinstance(union, SetOp)
            or union.op != "union"
            or not union.all
            or union.order
            or union.limit
            or union.offset
        ):
            continue
        blocks = [branch for branch in union.branches if isinstance(branch, Block) and not branch.distinct]
        if len(blocks) < len(union.branches) or any(expr.op == "star" for branch in blocks for expr in branch.select):
            continue
        read = _read_of(block, source)
        texts: dict[int, list[str]] = {position: [] for position in read}
        for branch in blocks:
            renderer = Renderer(depth=2)
            renderer.block(branch._replace(select=()))
            for position in read:
                texts[position].append(renderer.text(branch.select[position]))
        ordered = sorted(read, key=lambda position: (sorted(texts[position]), position))
        first = {tuple(texts[position]): position for position in reversed(ordered)}
        chosen = [position for position in ordered if first[tuple(texts[position])] == position]
        if chosen == list(range(len(blocks[0].select))):
            continue
        slim = union._replace(
            branches=tuple(
                [branch._replace(select=tuple([branch.select[position] for position in chosen])) for branch in blocks]
            )
        )
        ctx.outputs[source.sid] = output_facts(slim, ctx)
        places = {old: new for new, old in enumerate(chosen)}
        mapping = {col(source.sid, old): col(source.sid, places[first[tuple(texts[old])]]) for old in read}
        rest = block._replace(sources=(*block.sources[:index], source._replace(rel=slim), *block.sources[index + 1 :]))
        changed = rewrite_rel(rest, substitution(mapping))
        assert isinstance(changed, Block)
        return changed
    return None


def _read_of(block: Block, source: Source) -> set[int]:
    """The outputs of a derived source that the block mentions."""
    nodes = (node for expr in expressions(block) for node in walk(expr))
    return {int(node.value[1]) for node in nodes if node.op == "col" and node.value[0] == source.sid}


def _outer_order(block: Block, source: Source, inner: Rel) -> tuple[Order, ...] | None:
    keys: list[Order] = []
    for key in block.order:
        if key.expr.op != "col" or key.expr.value[0] != source.sid:
            return None
        position = key.expr.value[1]
        keys.append(
            key._replace(expr=inner.select[position] if isinstance(inner, Block) else Expr("out", position, ()))
        )
    return tuple(keys)


def single_row(block: Block, ctx: Context) -> Block | None:
    """`FROM t, (SELECT AVG(x) a FROM u) m WHERE t.x > m.a`  =  `FROM t WHERE t.x > (SELECT AVG(x) FROM u)`."""
    if len(block.sources) < 2:
        return None
    for index, source in enumerate(block.sources):
        inner = source.rel
        if source.kind != "derived" or inner is None or not exactly_one_row(inner) or not isinstance(inner, Block):
            continue
        scalars = {
            col(source.sid, position): Expr("scalar", inner._replace(select=(expr,), order=()), ())
            for position, expr in enumerate(inner.select)
        }
        rest = block._replace(sources=block.sources[:index] + block.sources[index + 1 :])
        changed = rewrite_rel(rest, substitution(scalars))
        assert isinstance(changed, Block)
        return changed
    return None


def prune(block: Block, ctx: Context) -> Block | None:
    """Outputs of a derived table that nothing reads go, and the others come in an order of their own."""
    from canon.sql.rendering import Renderer

    for index, source in enumerate(block.sources):
        inner = source.rel
        if not isinstance(inner, Block) or any(expr.op == "star" for expr in inner.select):
            continue
        read = _read_of(block, source)
        keep = read | {p for p, expr in enumerate(inner.select) if expr.op != "lit"} if inner.distinct else read
        renderer = Renderer(depth=2)
        renderer.block(inner._replace(select=()))
        texts = {position: renderer.text(inner.select[position]) for position in keep}
        ordered = sorted(keep, key=lambda position: (texts[position], position))
        positions: dict[int, int] = {}
        seen: dict[str, int] = {}
        chosen: list[int] = []
        for position in ordered:
            text = texts[position]
            if text not in seen:
                seen[text] = len(chosen)
                chosen.append(position)
            positions[position] = seen[text]
        if chosen == list(range(len(inner.select))) and len(chosen) == len(keep):
            continue
        slim = inner._replace(select=tuple([inner.select[position] for position in chosen]))
        ctx.outputs[source.sid] = output_facts(slim, ctx)
        mapping = {col(source.sid, old): col(source.sid, new) for old, new in positions.items()}
        rest = block._replace(sources=(*block.sources[:index], source._replace(rel=slim), *block.sources[index + 1 :]))
        changed = rewrite_rel(rest, substitution(mapping))
        assert isinstance(changed, Block)
        return changed
    return None


__all__ = ["contains", "filter_grouped", "merge_derived", "merge_derived_right", "pass_through", "prune", "single_row"]
