"""Set operations: they commute and flatten, and over one key they are conditions (U1, U2)."""

from itertools import permutations

from canon.sql.algebra import (
    FALSE,
    Block,
    Expr,
    Rel,
    SetOp,
    Source,
    all_sources,
    junction,
    rewrite_rel,
    substitution,
)
from canon.sql.context import Context
from canon.sql.facts import not_null_terms, nullable, output_width, padded_sids, type_of
from canon.sql.identities.membership import equal
from canon.sql.identities.shapes import has_window
from canon.sql.predicates import absorb, merge
from canon.sql.rendering import canonical_text

MAX_ALIGNED = 5


def flatten(rel: SetOp, ctx: Context) -> SetOp | None:
    """`(a UNION b) UNION c`  =  `a UNION b UNION c`; a UNION ALL inside a UNION keeps nothing."""
    if rel.op == "except":
        first = rel.branches[0]
        if (
            isinstance(first, SetOp)
            and first.op == "except"
            and first.all == rel.all
            and first.limit is None
            and first.offset is None
        ):
            return rel._replace(branches=(*first.branches, *rel.branches[1:]))
        return None
    found: list[Rel] = []
    for branch in rel.branches:
        inner = branch
        if (
            isinstance(inner, SetOp)
            and inner.op == rel.op
            and inner.limit is None
            and inner.offset is None
            and (inner.all == rel.all or (not rel.all and rel.op == "union"))
        ):
            found.extend(inner.branches)
        else:
            found.append(inner)
    return rel._replace(branches=tuple(found)) if len(found) > len(rel.branches) else None


def repeated(rel: SetOp, ctx: Context) -> Rel | None:
    """`a UNION a`  =  `SELECT DISTINCT … a`."""
    if rel.all or rel.op == "except":
        return None
    texts: dict[str, Rel] = {}
    for branch in rel.branches:
        texts.setdefault(canonical_text(branch), branch)
    if len(texts) == len(rel.branches):
        return None
    if len(texts) > 1:
        return rel._replace(branches=tuple(texts.values()))
    return _alone(rel, next(iter(texts.values())))


def _alone(rel: SetOp, branch: Rel) -> Rel | None:
    """One branch that is left, without duplicates, with the order and limit of the whole."""
    if not isinstance(branch, Block) or branch.limit is not None or branch.offset is not None or branch.order:
        return None
    order = tuple([key._replace(expr=branch.select[key.expr.value]) for key in rel.order])
    return branch._replace(distinct=True, order=order, limit=rel.limit, offset=rel.offset)


def branch_duplicates(rel: SetOp, ctx: Context) -> SetOp | None:
    """DISTINCT inside a branch of UNION, INTERSECT or EXCEPT says nothing: every branch is marked."""
    if rel.all:
        return None
    branches = tuple([_marked(branch) for branch in rel.branches])
    return rel._replace(branches=branches) if branches != rel.branches else None


def _marked(branch: Rel) -> Rel:
    if not isinstance(branch, Block) or branch.group is not None or branch.distinct:
        return branch
    if (
        branch.limit is not None
        or branch.offset is not None
        or branch.extra
        or has_window(branch)
        or not branch.sources
    ):
        return branch
    return branch._replace(distinct=True)


def union_as_or(rel: SetOp, ctx: Context) -> Rel | None:
    """`SELECT x FROM t WHERE p UNION SELECT x FROM t WHERE q`  =  `SELECT DISTINCT x FROM t WHERE p OR q`."""
    if rel.op != "union" or rel.all:
        return None
    branches = list(rel.branches)
    for index, first in enumerate(branches):
        for place in range(index + 1, len(branches)):
            joined = _either(first, branches[place], ctx)
            if joined is not None:
                rest = [*branches[:index], joined, *branches[index + 1 : place], *branches[place + 1 :]]
                if len(rest) == 1:
                    return _alone(rel, joined)
                return rel._replace(branches=tuple(rest))
    return None


def _filterable(branch: Rel) -> bool:
    return (
        isinstance(branch, Block)
        and branch.group is None
        and not branch.lefts
        and branch.limit is None
        and branch.offset is None
        and not branch.extra
        and not has_window(branch)
        and bool(branch.sources)
        and all(source.kind == "table" for source in branch.sources)
    )


def _either(first: Rel, second: Rel, ctx: Context) -> Block | None:
    """The two blocks as one with an OR, if they have the same sources and outputs under some matching."""
    if not _filterable(first) or not _filterable(second):
        return None
    assert isinstance(first, Block)
    assert isinstance(second, Block)
    if (
        sorted(s.name for s in first.sources) != sorted(s.name for s in second.sources)
        or len(first.sources) > MAX_ALIGNED
    ):
        return None
    for order in permutations(second.sources):
        if any(ours.name != theirs.name for ours, theirs in zip(first.sources, order, strict=True)):
            continue
        renamed = _renamed(second, dict(zip([s.sid for s in order], [s.sid for s in first.sources], strict=True)))
        ours, theirs = _expanded(first), _expanded(renamed)
        if _same_outputs(first, renamed):
            shared = [part for part in ours if part in theirs]
            mine = junction("and", [part for part in ours if part not in shared])
            other = junction("and", [part for part in theirs if part not in shared])
            either = absorb(merge("or", (mine, other), ctx), ctx)
            where = merge("and", [*shared, either], ctx)
            parts = where.args if where.op == "and" else () if where.value == ("bool", "true") else (where,)
            return first._replace(where=parts, distinct=True)
    return None


def _expanded(block: Block) -> list[Expr]:
    return list(block.where)


def _same_outputs(first: Block, second: Block) -> bool:
    """Whether the outputs are the same columns, congruent ones counted as one where both sides say so."""
    return first.select == second.select


def _renamed(block: Block, mapping: dict[int, int]) -> Block:
    def change(expr: Expr) -> Expr | None:
        if expr.op == "col" and expr.value[0] in mapping:
            return expr._replace(value=(mapping[expr.value[0]], expr.value[1]))
        if expr.op == "star" and expr.value in mapping:
            return expr._replace(value=mapping[expr.value])
        if expr.op == "eqclass":
            args = [change(arg) or arg for arg in expr.args]
            return expr._replace(args=tuple(sorted(args, key=lambda c: (c.value[0], str(c.value[1])))))
        return None

    changed = rewrite_rel(block._replace(sources=()), change)
    assert isinstance(changed, Block)
    return changed


def minus_as_not_exists(rel: SetOp, ctx: Context) -> Rel | None:
    """`SELECT id FROM a EXCEPT SELECT k FROM b`  =  `SELECT DISTINCT id FROM a WHERE NOT EXISTS (… k = id)`.

    Never NULL.
    """
    if rel.op != "except" or rel.all or not isinstance(rel.branches[0], Block):
        return None
    first = rel.branches[0]
    if not _open(first) or any(expr.op == "star" for expr in first.select):
        return None
    tests = [_test(first, branch, ctx) for branch in rel.branches[1:]]
    known = [test for test in tests if test is not None]
    if len(known) < len(tests):
        return None
    where = merge("and", [*first.where, *(Expr("not", None, (test,)) for test in known)], ctx)
    return _alone(rel, first._replace(where=where.args if where.op == "and" else (where,), distinct=True))


def intersect_as_exists(rel: SetOp, ctx: Context) -> Rel | None:
    """`SELECT id FROM a INTERSECT SELECT k FROM b`  =  `SELECT DISTINCT id FROM a WHERE EXISTS (… k = id)`.

    Never both NULL.
    """
    if rel.op != "intersect" or rel.all:
        return None
    for index, first in enumerate(rel.branches):
        if not isinstance(first, Block) or not _open(first) or any(expr.op == "star" for expr in first.select):
            continue
        others = rel.branches[:index] + rel.branches[index + 1 :]
        tests = [_test(first, branch, ctx) for branch in others]
        known = [test for test in tests if test is not None]
        if len(known) < len(tests):
            continue
        where = merge("and", [*first.where, *known], ctx)
        return _alone(rel, first._replace(where=where.args if where.op == "and" else (where,), distinct=True))
    return None


def _open(block: Block) -> bool:
    """Whether one more condition can be put on the rows that a block returns."""
    return (
        block.group is None
        and block.limit is None
        and block.offset is None
        and not block.extra
        and not has_window(block)
        and bool(block.sources)
    )


def _test(first: Block, other: Rel, ctx: Context) -> Expr | None:
    """EXISTS a row of the other query that equals the first's outputs; `None` unless NULL cannot be on both sides."""
    if isinstance(other, SetOp):
        if other.op != "union" or other.limit is not None or other.offset is not None:
            return None
        parts = [_test(first, branch, ctx) for branch in other.branches]
        known = [part for part in parts if part is not None]
        return junction("or", known) if len(known) == len(parts) else None
    if not _open(other) or output_width(other) != output_width(first):
        return None
    with ctx.padding(padded_sids(first) | padded_sids(other)):
        ours, theirs = not_null_terms(first), not_null_terms(other)
        tests: list[Expr] = []
        for mine, its in zip(first.select, other.select, strict=True):
            if nullable(mine, ctx, ours) and nullable(its, ctx, theirs):
                return None
            if (type_of(mine, ctx) == "text") != (type_of(its, ctx) == "text"):
                return None  # set operations tell a text from a number where `=` converts
            tests.append(equal(mine, its, ctx))
    where = merge("and", [*other.where, *tests], ctx)
    parts_of = where.args if where.op == "and" else (where,)
    return Expr("exists", other._replace(where=parts_of, select=(), distinct=False, order=()), ())


def empty_branches(rel: SetOp, ctx: Context) -> Rel | None:
    """`a UNION ALL (nothing)`  =  `a`."""

    def empty(branch: Rel) -> bool:
        return isinstance(branch, Block) and branch.where == (FALSE,) and branch.group != ()

    if rel.op == "union":
        kept = [branch for branch in rel.branches if not empty(branch)]
        if not kept and output_width(rel) is not None:
            return rel.branches[0]
        if len(kept) == len(rel.branches) or not kept:
            return None
        if len(kept) == 1:
            if not rel.all:
                return _alone(rel, kept[0])
            return kept[0] if not (rel.order or rel.limit or rel.offset) else None
        return rel._replace(branches=tuple(kept))
    if rel.op == "except" and len(rel.branches) == 2 and empty(rel.branches[1]) and not rel.all:
        return _alone(rel, rel.branches[0])
    return None


__all__ = ["Source", "all_sources", "branch_duplicates", "flatten", "repeated", "substitution", "union_as_or"]
