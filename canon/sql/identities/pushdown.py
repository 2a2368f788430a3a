"""Grouping below a join: a group of joined rows is a row of one side beside a group of the other (S6)."""

from canon.sql.algebra import Block, Expr, Source, col, columns, contains, rewrite, rewrite_own, rewrite_rel, sids
from canon.sql.context import Context
from canon.sql.facts import Determined, fixes, output_facts
from canon.sql.identities.shapes import aggregates, conjoined, has_window, own_sids


def group_below_join(block: Block, ctx: Context) -> Block | None:
    """`p JOIN c ON c.fk = p.key GROUP BY p.key`  =  `p JOIN (SELECT fk, COUNT(*) FROM c GROUP BY fk)`.

    The group keys must determine the row of p, and the aggregates look at c alone.
    """
    if not block.group or block.lefts or block.extra or block.ordered or has_window(block) or len(block.sources) < 2:
        return None
    if block.distinct or any(source.kind == "full" for source in block.sources):
        return None
    determined = Determined(block, ctx, given=block.group)
    calls = list(dict.fromkeys(aggregates(block)))
    counted = set().union(*(sids(call) for call in calls)) & own_sids(block) if calls else set()
    fixed = {source.sid for source in block.sources if source.sid in determined.rows} - counted
    rest = {source.sid for source in block.sources} - fixed
    if not fixed or not rest or not all(determined.holds(expr) for expr in _ungrouped(block)):
        return None
    rest = _with_linked(block, rest, fixed)
    fixed -= rest
    split = _split(block, fixed, rest, ctx)
    if split is None or not fixed:
        return None
    return _pushed(block, fixed, rest, split, calls, ctx)


def _ungrouped(block: Block) -> list[Expr]:
    """The parts of the outputs outside of aggregates."""
    found: list[Expr] = []
    stack = [*block.select, *block.having, *(key.expr for key in block.order)]
    while stack:
        node = stack.pop()
        if node.op in {"agg", "lit"}:
            continue
        if node.args and contains(node, frozenset({"agg"})):
            stack.extend(node.args)
        else:
            found.append(node)
    return found


def _with_linked(block: Block, rest: set[int], fixed: set[int]) -> set[int]:
    """The counted side, with the sources that conditions other than equalities tie to it."""
    grown = set(rest)
    changed = True
    while changed:
        changed = False
        for part in block.where:
            mentioned = sids(part) & (fixed | rest)
            if mentioned & grown and mentioned - grown and not _is_link(part):
                grown |= mentioned
                changed = True
    return grown


def _is_link(part: Expr) -> bool:
    return part.op == "eqclass" or (part.op == "=" and all(arg.op == "col" for arg in part.args))


class _Split:
    """The conditions of the two sides and what links them."""

    def __init__(self) -> None:
        self.above: list[Expr] = []
        self.below: list[Expr] = []
        self.keys: dict[Expr, list[Expr]] = {}


def _split(block: Block, fixed: set[int], rest: set[int], ctx: Context) -> _Split | None:
    split = _Split()
    for part in block.where:
        mentioned = sids(part)
        if not mentioned & rest:
            split.above.append(part)
        elif not mentioned & fixed:
            split.below.append(part)
        else:
            ours = [arg for arg in part.args if arg.value[0] not in rest]
            theirs = [arg for arg in part.args if arg.value[0] in rest]
            if not ours or not theirs:
                return None
            if not all(fixes(arg, theirs[0], ctx) for arg in ours):
                return None
            if len(theirs) > 1:
                split.below.append(Expr("eqclass", None, tuple(theirs)))
            split.keys.setdefault(theirs[0], []).extend(ours)
    return split if split.keys else None


def _pushed(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
    block: Block, fixed: set[int], rest: set[int], split: _Split, calls: list[Expr], ctx: Context
) -> Block | None:
    if any(sids(call) & fixed for call in calls):
        return None
    below_keys = dict.fromkeys(split.keys)
    for key in block.group or ():
        mentioned = sids(key) & (fixed | rest)
        if mentioned & rest and mentioned & fixed:
            return None
        if mentioned & rest:
            below_keys[key] = None
    keys = list(below_keys)
    sid = ctx.fresh()
    inner = Block(
        sources=tuple([source for source in block.sources if source.sid in rest]),
        where=tuple(split.below),
        group=tuple(keys),
        select=(*keys, *calls),
    )
    ctx.outputs[sid] = output_facts(inner, ctx)
    mapping: dict[Expr, Expr] = {expr: col(sid, position) for position, expr in enumerate(inner.select)}
    counted = {call: mapping[call] for call in calls}
    outer = block._replace(
        sources=(),
        where=tuple([*split.above, *(rewrite_own(part, counted.get) for part in block.having)]),
        select=tuple([rewrite_own(expr, counted.get) for expr in block.select]),
        order=tuple([key._replace(expr=rewrite_own(key.expr, counted.get)) for key in block.order]),
        group=None,
        having=(),
    )
    linked = {key: mapping[key] for key in keys}
    changed = rewrite_rel(outer, linked.get)
    assert isinstance(changed, Block)
    links = [Expr("=", None, (column, mapping[theirs])) for theirs, ours in split.keys.items() for column in ours]
    leftover = {
        column.value[0]
        for expr in (*changed.select, *changed.where, *(k.expr for k in changed.order))
        for column in columns(expr)
    }
    if leftover & rest:
        return None
    sources = (*(source for source in block.sources if source.sid in fixed), Source(sid, "derived", "", inner))
    return changed._replace(sources=sources, where=conjoined((*changed.where, *links), ctx))


def filter_below(block: Block, ctx: Context) -> Block | None:
    """A condition on a grouped derived table alone is a HAVING of it."""
    for index, source in enumerate(block.sources):
        inner = source.rel
        if source.kind != "derived" or not isinstance(inner, Block) or inner.group is None or inner.extra:
            continue
        if inner.limit is not None or inner.offset is not None or has_window(inner) or inner.distinct:
            continue
        mine = [part for part in block.where if sids(part) == {source.sid} and part.op not in {"eqclass"}]
        if not mine:
            continue
        mapping = {col(source.sid, position): expr for position, expr in enumerate(inner.select)}
        having = [rewrite(part, mapping.get) for part in mine]
        slim = inner._replace(having=conjoined((*inner.having, *having), ctx))
        sources = (*block.sources[:index], source._replace(rel=slim), *block.sources[index + 1 :])
        where = tuple([part for part in block.where if part not in mine])
        return block._replace(sources=sources, where=where)
    return None
