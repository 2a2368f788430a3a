"""Set operations of disjoint filters of one table, and of nothing (U4, U5)."""

from canon.sql.algebra import FALSE, Block, Rel, SetOp
from canon.sql.context import Context
from canon.sql.facts import duplicate_free
from canon.sql.identities.setops import _either
from canon.sql.predicates import common_part


def disjoint_branches(rel: SetOp, ctx: Context) -> Rel | None:
    """`σp(t) UNION ALL σq(t)`  =  `σ(p OR q)(t)`, where no row passes both."""
    if rel.op != "union" or not rel.all:
        return None
    branches = list(rel.branches)
    bare = [_with_duplicates(branch, ctx) for branch in branches]
    for index, first in enumerate(bare):
        for place in range(index + 1, len(bare)):
            second = bare[place]
            if first is None or second is None:
                continue
            joined = _either(first, second, ctx)
            if joined is None or not _disjoint(first, second, ctx):
                continue
            rest: list[Rel] = [
                *branches[:index],
                joined._replace(distinct=False),
                *branches[index + 1 : place],
                *branches[place + 1 :],
            ]
            if len(rest) > 1:
                return rel._replace(branches=tuple(rest))
            alone = rest[0]
            assert isinstance(alone, Block)
            order = tuple([key._replace(expr=alone.select[key.expr.value]) for key in rel.order])
            return alone._replace(order=order, limit=rel.limit, offset=rel.offset)
    return None


def _with_duplicates(branch: Rel, ctx: Context) -> Block | None:
    """A branch as one that keeps its duplicates: it is marked DISTINCT only where it has none."""
    if not isinstance(branch, Block) or branch.order or branch.group is not None or len(branch.sources) != 1:
        return None
    if not branch.distinct:
        return branch
    bare = branch._replace(distinct=False)
    return bare if duplicate_free(bare, ctx, bare.select) else None


def _disjoint(first: Block, second: Block, ctx: Context) -> bool:
    """Whether two conditions on one table, matched by its only source, contradict each other."""
    from canon.sql.identities.setops import _renamed

    renamed = _renamed(second, {second.sources[0].sid: first.sources[0].sid})
    for ours in first.where:
        for theirs in renamed.where:
            if (
                ours.op == theirs.op == "span"
                and ours.args == theirs.args
                and not (ours.value.null and theirs.value.null)
            ):
                met = common_part([ours.value, theirs.value], ctx.dialect)
                if met is not None and not met.parts:
                    return True
            if {ours.op, theirs.op} == {"isnull", "span"} and ours.args == theirs.args:
                return not (ours if ours.op == "span" else theirs).value.null
    return False


def empty_intersection(rel: SetOp, ctx: Context) -> Rel | None:
    """`a INTERSECT nothing`  =  nothing; `nothing EXCEPT a`  =  nothing."""
    tested = rel.branches if rel.op == "intersect" else rel.branches[:1] if rel.op == "except" else ()
    for branch in tested:
        if isinstance(branch, Block) and branch.where == (FALSE,) and branch.group is None and not branch.sources:
            return branch
    return None
