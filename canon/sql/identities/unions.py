"""Blocks over UNION ALL: filters, projections and aggregates go into the branches (U3, A8)."""

from canon.sql.algebra import Block, Expr, Rel, SetOp, Source, col, columns, left_expressions, rewrite_rel, walk
from canon.sql.context import Context
from canon.sql.facts import output_facts
from canon.sql.identities.derived import mapping_of
from canon.sql.identities.shapes import aggregates, conjoined, copyable, fresh_copy, has_window, plain

MAX_BRANCHES = 30
MAX_JOINED = 6


def over_union(block: Block, ctx: Context) -> Rel | None:
    """`SELECT x FROM (a UNION ALL b) WHERE p`  =  `SELECT x FROM a WHERE p UNION ALL SELECT x FROM b WHERE p`."""
    if (
        len(block.sources) != 1
        or block.lefts
        or block.group is not None
        or block.extra
        or has_window(block)
        or block.ordered
    ):
        return None
    source = block.sources[0]
    union = source.rel
    if not isinstance(union, SetOp) or union.op != "union" or not union.all or len(union.branches) > MAX_BRANCHES:
        return None
    if (
        union.limit is not None
        or union.offset is not None
        or block.order
        or block.limit is not None
        or block.offset is not None
    ):
        return None
    if any(_asks_inside(expr) for expr in (*block.where, *block.select)):
        return None
    if _reads_by_type(block, source, ctx):
        return None
    branches: list[Rel] = []
    for branch in union.branches:
        sid = ctx.fresh()
        ctx.outputs[sid] = output_facts(branch, ctx)
        change = {col(source.sid, position): col(sid, position) for position in range(len(ctx.outputs[sid]))}
        moved = rewrite_rel(block._replace(sources=(), distinct=False), change.get)
        assert isinstance(moved, Block)
        branches.append(moved._replace(sources=(Source(sid, "derived", "", branch),)))
    return SetOp("union", not block.distinct, tuple(branches))


def join_over_union(block: Block, ctx: Context) -> Rel | None:
    """`t JOIN (a UNION ALL b) d`  =  `t JOIN a UNION ALL t JOIN b`."""
    if len(block.sources) < 2 or not (plain(block) or plain(block._replace(distinct=False))) or block.order:
        return None
    if any(_asks_inside(expr) for expr in (*block.where, *block.select)) or any(
        _asks_inside(expr) for left in block.lefts for expr in left_expressions(left)
    ):
        return None
    for index, source in enumerate(block.sources):
        union = source.rel
        if not isinstance(union, SetOp) or union.op != "union" or not union.all or len(union.branches) > MAX_JOINED:
            continue
        rest = block._replace(sources=block.sources[:index] + block.sources[index + 1 :], distinct=False)
        if union.limit is not None or union.offset is not None or not copyable(rest):
            continue
        if _reads_by_type(block, source, ctx):
            continue
        branches: list[Rel] = []
        for branch in union.branches:
            copy, _ = fresh_copy(rest, ctx)
            sid = ctx.fresh()
            ctx.outputs[sid] = output_facts(branch, ctx)
            change = {col(source.sid, position): col(sid, position) for position in range(len(ctx.outputs[sid]))}
            moved = rewrite_rel(copy, change.get)
            assert isinstance(moved, Block)
            branches.append(moved._replace(sources=(*moved.sources, Source(sid, "derived", "", branch))))
        return SetOp("union", not block.distinct, tuple(branches))
    return None


BY_TYPE = frozenset({"/", "%", "div", "cast", "func", "like"})


def _reads_by_type(block: Block, source: Source, ctx: Context) -> bool:
    """Whether an operator that depends on the type is applied to an output whose branches may be of several types.

    The union converts them to one type first (`x / 2` of integers and reals); SQLite keeps each value as it is.
    """
    if ctx.dialect.name == "sqlite" or not isinstance(source.rel, SetOp):
        return False
    facts = [output_facts(branch, ctx) for branch in source.rel.branches]
    kinds = [{fact.type for fact in column} for column in zip(*facts, strict=False)]
    expressions = [*block.where, *block.select, *(expr for left in block.lefts for expr in left_expressions(left))]
    nodes = [node for expr in expressions for node in walk(expr) if node.op in BY_TYPE]
    read = {column.value[1] for node in nodes for column in columns(node) if column.value[0] == source.sid}
    return any(int(position) >= len(kinds) or len(kinds[int(position)]) > 1 for position in read)


def _asks_inside(expr: Expr) -> bool:
    """Whether a subquery occurs: its own sources would be read twice under one number."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if node.op in {"exists", "in", "scalar", "quant"}:
            return True
        stack.extend(node.args)
    return False


ROLL_UP = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}


def rolled_up(block: Block, ctx: Context) -> Block | None:
    """`SUM(n)` over branches that count their rows as n  =  `COUNT(*)` over the ungrouped branches.

    Each branch is grouped by what the whole is grouped by, and each aggregate is rolled up as its kind demands.
    """
    if len(block.sources) != 1 or block.lefts or not block.group or block.where or block.extra or has_window(block):
        return None
    source = block.sources[0]
    union = source.rel
    if (
        not isinstance(union, SetOp)
        or union.op != "union"
        or not union.all
        or union.limit is not None
        or union.offset is not None
    ):
        return None
    keys = [key.value[1] for key in block.group if key.op == "col" and key.value[0] == source.sid]
    if len(keys) != len(block.group):
        return None
    kinds: dict[int, str] = {}
    for branch in union.branches:
        found = _kinds(branch, keys)
        if found is None or (kinds and found != kinds):
            return None
        kinds = found
    mapping = _raised(block, source, kinds)
    if mapping is None:
        return None
    flat = tuple([_flat(branch, kinds) for branch in union.branches])
    rel = union._replace(branches=flat)
    ctx.outputs[source.sid] = output_facts(rel, ctx)
    changed = rewrite_rel(block._replace(sources=()), mapping.get)
    assert isinstance(changed, Block)
    return changed._replace(sources=(source._replace(rel=rel),))


def _kinds(branch: Rel, keys: list[int]) -> dict[int, str] | None:
    """The aggregate at each output that is no key; `None` unless the branch is grouped by just its key outputs."""
    if (
        not isinstance(branch, Block)
        or not branch.group
        or branch.having
        or branch.extra
        or branch.distinct
        or has_window(branch)
    ):
        return None
    if branch.limit is not None or branch.offset is not None or len(branch.select) < max(keys) + 1:
        return None
    if {branch.select[position] for position in keys} != set(branch.group):
        return None
    kinds: dict[int, str] = {}
    for position, expr in enumerate(branch.select):
        if position in keys:
            continue
        if expr.op != "agg" or expr.value[1] or expr.value[0] not in ROLL_UP or len(expr.args) > 1:
            return None
        kinds[position] = f"{expr.value[0]}{'' if expr.args else ' rows'}"
    return kinds


def _raised(block: Block, source: Source, kinds: dict[int, str]) -> dict[Expr, Expr] | None:
    """What each aggregate of the whole becomes over the ungrouped branches."""
    mapping: dict[Expr, Expr] = {}
    for call in aggregates(block):
        if call.value[1] or len(call.args) != 1 or call.args[0].op != "col" or call.args[0].value[0] != source.sid:
            return None
        position = int(call.args[0].value[1])
        kind = kinds.get(position)
        if kind is None or ROLL_UP[kind.removesuffix(" rows")] != call.value[0]:
            return None
        mapping[call] = Expr("agg", (kind.removesuffix(" rows"), False), () if kind.endswith(" rows") else call.args)
    return mapping


def _flat(branch: Rel, kinds: dict[int, str]) -> Rel:
    assert isinstance(branch, Block)
    one = Expr("lit", ("int", "1"), ())
    select = tuple(
        [
            (expr.args[0] if expr.args else one) if position in kinds else expr
            for position, expr in enumerate(branch.select)
        ]
    )
    return branch._replace(select=select, group=None)


__all__ = ["conjoined", "mapping_of", "over_union", "plain", "rolled_up"]
