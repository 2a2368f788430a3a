"""What rules ask of a block's shape: which parts mention a source, and the parts put together again."""

from collections.abc import Iterable, Iterator

from canon.sql.algebra import (
    Block,
    Expr,
    LeftJoin,
    Source,
    all_sources,
    conjuncts,
    left_expressions,
    left_sources,
    rewrite_rel,
    sids,
    source_expressions,
    walk,
)
from canon.sql.context import Context
from canon.sql.predicates import merge

INSENSITIVE = frozenset({"min", "max"})


def outputs(block: Block) -> Iterator[Expr]:
    """Everything that is computed from a block's rows after WHERE."""
    yield from block.select
    yield from block.group or ()
    yield from block.having
    yield from (key.expr for key in block.order)
    yield from block.extra


def output_sids(block: Block) -> set[int]:
    """The sources that the outputs mention."""
    return set().union(*(sids(expr) for expr in outputs(block)))


def left_sids(left: LeftJoin) -> set[int]:
    """The sources on the right side of a LEFT JOIN."""
    return {source.sid for source in left_sources(left)}


def mentioned(block: Block, *, besides: Iterable[LeftJoin] = ()) -> set[int]:
    """The sources that the block mentions anywhere outside of some of its left joins."""
    skipped = [id(left) for left in besides]
    found = output_sids(block)
    for part in block.where:
        found |= sids(part)
    for left in block.lefts:
        if id(left) not in skipped:
            for expr in left_expressions(left):
                found |= sids(expr)
    for source in block.sources:
        for expr in source_expressions(source):
            found |= sids(expr)
    return found


def own_sids(block: Block) -> set[int]:
    """The sources of a block's own FROM."""
    return {source.sid for source in all_sources(block)}


def conjoined(parts: Iterable[Expr], ctx: Context) -> tuple[Expr, ...]:
    """Conjuncts merged into the canonical WHERE."""
    return conjuncts(merge("and", parts, ctx))


def aggregates(block: Block) -> list[Expr]:
    """The aggregate calls of a block's outputs (subqueries not entered)."""
    found: list[Expr] = []
    stack = list(outputs(block))
    while stack:
        node = stack.pop()
        if node.op == "agg":
            found.append(node)
        else:
            stack.extend(node.args)
    return found


def has_window(block: Block) -> bool:
    """Whether a window function occurs in the outputs."""
    stack = [*block.select, *(block.group or ()), *block.having, *[key.expr for key in block.order], *block.extra]
    while stack:
        node = stack.pop()
        if node.op == "window":
            return True
        if node.args:
            stack.extend(node.args)
    return False


def ignores_duplicates(block: Block) -> bool:
    """Whether the result stays the same when rows of FROM and WHERE are repeated."""
    if block.extra or has_window(block):
        return False
    if block.group is None:
        return block.distinct
    calls = aggregates(block)
    return all(call.value[0] in INSENSITIVE or call.value[1] for call in calls)


def plain(block: Block) -> bool:
    """Whether a block only joins, filters and projects."""
    return (
        block.group is None
        and not block.having
        and not block.distinct
        and block.limit is None
        and block.offset is None
        and not block.extra
        and not block.ordered
        and not has_window(block)
    )


def table_source(block: Block, sid: int) -> Source | None:
    """An inner base table of a block, by its number."""
    return next((source for source in block.sources if source.sid == sid and source.kind == "table"), None)


def fresh_copy(block: Block, ctx: Context) -> tuple[Block, dict[int, int]]:
    """A block with new numbers for all its own sources, and the numbers that they had."""
    renumbered = {source.sid: ctx.fresh() for source in all_sources(block)}
    for old, new in renumbered.items():
        if old in ctx.tables:
            ctx.tables[new] = ctx.tables[old]
        if old in ctx.outputs:
            ctx.outputs[new] = ctx.outputs[old]

    def change(expr: Expr) -> Expr | None:
        if expr.op == "col" and expr.value[0] in renumbered:
            return expr._replace(value=(renumbered[expr.value[0]], expr.value[1]))
        if expr.op == "star" and expr.value in renumbered:
            return expr._replace(value=renumbered[expr.value])
        return None

    changed = rewrite_rel(block, change)
    assert isinstance(changed, Block)
    sources = tuple([_copied(source, renumbered, ctx) for source in changed.sources])
    lefts = tuple([_copied_left(left, renumbered, ctx) for left in changed.lefts])
    return changed._replace(sources=sources, lefts=lefts), renumbered


def _copied(source: Source, renumbered: dict[int, int], ctx: Context) -> Source:
    rel = source.rel
    if isinstance(rel, Block):
        rel, _ = fresh_copy(rel, ctx)
    return source._replace(sid=renumbered[source.sid], rel=rel)


def _copied_left(left: LeftJoin, renumbered: dict[int, int], ctx: Context) -> LeftJoin:
    return left._replace(
        sources=tuple([_copied(source, renumbered, ctx) for source in left.sources]),
        lefts=tuple([_copied_left(inner, renumbered, ctx) for inner in left.lefts]),
    )


def copyable(block: Block) -> bool:
    """Whether a block's FROM can be copied: joins of tables and of single blocks."""
    return all(
        source.parts is None and (source.rel is None or isinstance(source.rel, Block)) for source in all_sources(block)
    )


def subqueries(expr: Expr) -> Iterator[Expr]:
    """The subquery nodes of an expression, outermost ones."""
    for node in walk(expr):
        if node.op in {"exists", "in", "scalar", "quant"}:
            yield node
