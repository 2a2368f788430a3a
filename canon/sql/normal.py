"""Brings a query to its normal form: the identities, applied inside out until none changes anything."""

from functools import lru_cache

from canon.sql.algebra import (
    SUBQUERIES,
    Block,
    Expr,
    LeftJoin,
    Rel,
    SetOp,
    Source,
    relation_of,
    rewrite_rel,
    with_relation,
)
from canon.sql.context import Context, Role
from canon.sql.facts import output_facts, padded_sids
from canon.sql.identities import Rule
from canon.sql.identities.table import BLOCK_RULES, SET_RULES

MAX_ROUNDS = 60


_ROLES: dict[str, Role] = {"exists": "exists", "in": "in", "scalar": "scalar", "quant": "in"}


def normalise(rel: Rel, ctx: Context, role: Role = "top") -> Rel:
    """The normal form of a query that is used as the role says."""
    ctx.check_time()
    with ctx.acting_as(role):
        return _normalise(rel, ctx)


def _normalise(rel: Rel, ctx: Context) -> Rel:
    if isinstance(rel, SetOp):
        return _set_operation(rel, ctx)
    block: Rel = rel
    for _ in range(MAX_ROUNDS):
        if not isinstance(block, Block):
            return _normalise(block, ctx)
        with ctx.padding(padded_sids(block)):
            changed = _apply(_inner(block, ctx), ctx)
        if changed == block:
            return block
        block = changed
    return block


def _apply(block: Block, ctx: Context) -> Rel:
    """Each rule in turn, once."""
    if block.ordered:
        return block
    current: Block = block
    place = -1
    while True:
        full = any(source.parts for source in current.sources)
        for position, rule in _candidates(_operators(current)):
            if position <= place or (full and not rule.full):
                continue
            changed = rule.apply(current, ctx)
            if changed is not None and changed != current:
                ctx.used.add(rule.name)
                ctx.check_time()
                if not isinstance(changed, Block):
                    return changed
                current, place = changed, position
                break
        else:
            return current


@lru_cache(maxsize=1024)
def _candidates(operators: frozenset[str]) -> tuple[tuple[int, Rule], ...]:
    """The rules that may apply to a block with the operators, each with its place in the order.

    The table of rules never changes, so that what was worked out for one query holds for every other.
    """
    rules = enumerate(BLOCK_RULES)
    return tuple([item for item in rules if not item[1].needs or not item[1].needs.isdisjoint(operators)])


def _operators(block: Block) -> frozenset[str]:
    """The operators in a block's own expressions, subqueries not entered."""
    found: set[str] = set()
    stack = [*block.where, *block.select, *block.having, *(block.group or ()), *block.extra]
    stack += [key.expr for key in block.order]
    lefts = list(block.lefts)
    while lefts:
        left = lefts.pop()
        stack += left.on
        lefts += left.lefts
    while stack:
        node = stack.pop()
        found.add(node.op)
        stack += node.args
    return frozenset(found)


def _set_operation(rel: SetOp, ctx: Context) -> Rel:
    role: Role = "derived" if rel.all else "set"
    current = rel._replace(branches=tuple([normalise(branch, ctx, role) for branch in rel.branches]))
    for _ in range(MAX_ROUNDS):
        before = current
        for rule in SET_RULES:
            changed = rule.apply(current, ctx)
            if changed is not None and changed != current:
                ctx.used.add(rule.name)
                if not isinstance(changed, SetOp):
                    return _normalise(changed, ctx)
                current = changed
        if current == before:
            return current
        current = current._replace(branches=tuple([normalise(branch, ctx, role) for branch in current.branches]))
    return current


def _inner(block: Block, ctx: Context) -> Block:
    """Normalise the derived tables and the subqueries of a block."""
    sources = tuple([_source(source, ctx) for source in block.sources])
    lefts = tuple([_left(left, ctx) for left in block.lefts])
    block = block._replace(sources=sources, lefts=lefts)
    if not _has_subquery(block):
        return block

    def change(expr: Expr) -> Expr | None:
        if expr.op not in SUBQUERIES:
            return None
        rel = relation_of(expr)
        if rel is None:
            return None
        args = tuple([_args(arg) for arg in expr.args])
        return with_relation(Expr(expr.op, expr.value, args), normalise(rel, ctx, _ROLES[expr.op]))

    def _args(expr: Expr) -> Expr:
        from canon.sql.algebra import rewrite

        return rewrite(expr, change)

    own = rewrite_rel(block._replace(sources=(), lefts=()), change)
    assert isinstance(own, Block)
    rewritten = tuple([_left_conditions(left, change) for left in lefts])
    return own._replace(sources=sources, lefts=rewritten)


def _left_conditions(left: LeftJoin, change: "object") -> LeftJoin:
    from collections.abc import Callable
    from typing import cast

    from canon.sql.algebra import rewrite

    function = cast("Callable[[Expr], Expr | None]", change)
    return left._replace(
        on=tuple([rewrite(expr, function) for expr in left.on]),
        lefts=tuple([_left_conditions(inner, change) for inner in left.lefts]),
    )


def _has_subquery(block: Block) -> bool:
    parts = [
        *block.where,
        *block.having,
        *block.select,
        *(block.group or ()),
        *(key.expr for key in block.order),
        *block.extra,
    ]
    parts += [part for left in block.lefts for part in left.on]
    stack = parts
    while stack:
        node = stack.pop()
        if node.op in SUBQUERIES:
            return True
        stack.extend(node.args)
    return False


def _source(source: Source, ctx: Context) -> Source:
    if source.rel is not None:
        rel = normalise(source.rel, ctx, "derived")
        if rel is not source.rel:
            facts = output_facts(rel, ctx)
            if facts:
                ctx.outputs[source.sid] = facts
            return source._replace(rel=rel)
        return source
    if source.parts is not None:
        return source._replace(parts=(_left(source.parts[0], ctx), _left(source.parts[1], ctx)))
    return source


def _left(left: LeftJoin, ctx: Context) -> LeftJoin:
    return LeftJoin(
        tuple([_source(source, ctx) for source in left.sources]),
        tuple([_left(inner, ctx) for inner in left.lefts]),
        left.on,
    )
