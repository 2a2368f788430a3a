"""Tests of membership: IN, EXISTS and their negations, and where they are joins (S1 to S4, S6)."""

from canon.sql.algebra import (
    FALSE,
    TRUE,
    Block,
    Expr,
    Rel,
    SetOp,
    Source,
    all_sources,
    col,
    columns,
    conjuncts,
    contains,
    junction,
    rewrite,
    rewrite_own,
    rewrite_rel,
    sids,
    substitution,
)
from canon.sql.context import Context
from canon.sql.facts import Determined, fixes, nullable, output_facts, output_width, rejected, type_of
from canon.sql.identities.shapes import aggregates, conjoined, has_window, ignores_duplicates, own_sids
from canon.sql.predicates import compare, negate, oriented, untrue


def equal(left: Expr, right: Expr, ctx: Context) -> Expr:
    """`left = right` in canonical form."""
    return compare("=", left, right, ctx, type_of(left, ctx), type_of(right, ctx))


def as_exists(expr: Expr, ctx: Context) -> Expr | None:
    """`x IN (SELECT y …)` as EXISTS, where only truth matters.

    `None` where the subquery cannot take one more condition.
    """
    rel = expr.value
    if isinstance(rel, SetOp):
        return _in_set_operation(expr, rel, ctx)
    if (
        rel.limit is not None
        or rel.offset is not None
        or rel.extra
        or has_window(rel)
        or len(rel.select) != len(expr.args)
    ):
        return None
    if any(item.op == "star" for item in rel.select):
        return None
    extra = [equal(arg, item, ctx) for arg, item in zip(expr.args, rel.select, strict=True)]
    if rel.group is None:
        body = rel._replace(where=conjoined((*rel.where, *extra), ctx))
    else:
        body = rel._replace(having=conjoined((*rel.having, *extra), ctx))
    return Expr("exists", body._replace(select=(), distinct=False, order=()), ())


def _in_set_operation(expr: Expr, rel: SetOp, ctx: Context) -> Expr | None:
    if rel.limit is not None or rel.offset is not None:
        return None
    parts = [as_exists(Expr("in", branch, expr.args), ctx) for branch in rel.branches]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if rel.op == "union":
        return junction("or", known)
    if rel.all:
        return None
    if rel.op == "intersect":
        return junction("and", known)
    return junction("and", [known[0], *(Expr("not", None, (part,)) for part in known[1:])])


def in_to_exists(block: Block, ctx: Context) -> Block | None:
    """`x IN (SELECT y FROM t)`  =  `EXISTS (SELECT 1 FROM t WHERE y = x)` where only truth matters."""
    where = _each(block.where, ctx)
    having = _each(block.having, ctx) if block.group is not None else block.having
    if where is None and having is None:
        return None
    return block._replace(
        where=block.where if where is None else conjoined(where, ctx),
        having=block.having if having is None else having,
    )


def _each(parts: tuple[Expr, ...], ctx: Context) -> tuple[Expr, ...] | None:
    changed = False
    found: list[Expr] = []
    for index, part in enumerate(parts):
        others = [other for place, other in enumerate(parts) if place != index]
        new = _truth(part, ctx, others)
        changed = changed or new != part
        found.append(new)
    return tuple(found) if changed else None


def _truth(expr: Expr, ctx: Context, others: list[Expr]) -> Expr:
    if expr.op in {"and", "or"}:
        return junction(expr.op, [_truth(arg, ctx, others) for arg in expr.args])
    if expr.op == "in":
        return as_exists(expr, ctx) or expr
    if expr.op == "not" and expr.args[0].op == "in" and _never_null(expr.args[0], ctx, others):
        found = as_exists(expr.args[0], ctx)
        if found is not None:
            return negate(found, ctx)
    if expr.op == "untrue" and expr.args[0].op == "in":
        found = as_exists(expr.args[0], ctx)
        if found is not None:
            return negate(found, ctx)
    if expr.op == "quant" and expr.value[1] == "any":
        return _any_as_exists(expr, ctx) or expr
    return expr


def _any_as_exists(expr: Expr, ctx: Context) -> Expr | None:
    """`x < ANY (SELECT y …)` where only truth matters."""
    op, _, rel = expr.value
    if (
        not isinstance(rel, Block)
        or rel.limit is not None
        or rel.offset is not None
        or rel.extra
        or rel.group is not None
    ):
        return None
    if has_window(rel) or len(rel.select) != 1 or rel.select[0].op == "star":
        return None
    test = compare(op, expr.args[0], rel.select[0], ctx, type_of(expr.args[0], ctx), type_of(rel.select[0], ctx))
    body = rel._replace(where=conjoined((*rel.where, test), ctx), select=(), distinct=False, order=())
    return Expr("exists", body, ())


def _never_null(expr: Expr, ctx: Context, others: list[Expr]) -> bool:
    """Whether neither the tested value nor any member can be NULL, so that NOT IN is never UNKNOWN."""
    known = set().union(*(rejected(other) for other in others)) if others else set()
    if any(nullable(arg, ctx, known) for arg in expr.args):
        return False
    facts = output_facts(expr.value, ctx)
    return len(facts) == len(expr.args) and all(fact.not_null for fact in facts)


# -- EXISTS bodies ----------------------------------------------------------------------------------------------


def tidy_exists(block: Block, ctx: Context) -> Block | None:
    """What EXISTS tests is whether a row is there: its columns, order and duplicates say nothing."""
    if not any(_mentions_exists(part) for part in (*block.where, *block.having, *block.select)):
        return None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([_tidy_value(expr, ctx) for expr in exprs])

    where = tuple([_tidy_truth(expr, ctx) for expr in block.where])
    return block._replace(
        where=where if where == block.where else conjoined(where, ctx),
        having=tuple([_tidy_truth(expr, ctx) for expr in block.having]),
        select=each(block.select),
    )


def _tidy_truth(expr: Expr, ctx: Context) -> Expr:
    """Tidy the tests of a condition of which only truth matters: what is hoisted may be UNKNOWN there."""
    if expr.op in {"and", "or"}:
        return junction(expr.op, [_tidy_truth(arg, ctx) for arg in expr.args])
    if expr.op == "exists":
        return _tidy(expr, ctx) or expr
    if expr.op == "not" and expr.args[0].op == "exists":
        found = _tidy(expr.args[0], ctx)
        return expr if found is None or found == expr.args[0] else untrue(found, ctx)
    return _tidy_value(expr, ctx)


def _tidy_value(expr: Expr, ctx: Context) -> Expr:
    """Tidy the tests inside an expression whose value matters: nothing that may be UNKNOWN comes out."""

    def change(node: Expr) -> Expr | None:
        if node.op != "exists":
            return None
        found = _tidy(node, ctx)
        return found if found is not None and _two_valued(found) else None

    return rewrite(expr, change)


def _two_valued(expr: Expr) -> bool:
    if expr.op in {"and", "or", "not"}:
        return all(_two_valued(arg) for arg in expr.args)
    return expr.op in {"exists", "isnull", "notnull", "same", "distinct", "istrue", "untrue"} or expr in (TRUE, FALSE)


def _mentions_exists(expr: Expr) -> bool:
    return contains(expr, frozenset({"exists"}))


def _tidy(expr: Expr, ctx: Context) -> Expr | None:
    rel: Rel = expr.value
    if isinstance(rel, SetOp):
        if rel.op == "union" and rel.limit is None and rel.offset is None:
            return junction("or", [Expr("exists", branch, ()) for branch in rel.branches])
        return None
    body = rel
    if body.offset is None and body.limit is not None and body.limit.op == "lit" and body.limit.value[1] not in {"0"}:
        body = body._replace(limit=None)
    if body.limit is not None or body.offset is not None or body.extra:
        return None if body is rel else Expr("exists", body, ())
    body = body._replace(select=(), distinct=False, order=())
    if body.group == () and not body.having:
        return TRUE
    if body.group and not body.having:
        body = body._replace(group=None)
    if body.where == (FALSE,) and body.group != ():
        return FALSE
    if body.group is None:
        return _hoisted(body, ctx)
    return None if body == rel else Expr("exists", body, ())


def _hoisted(body: Block, ctx: Context) -> Expr | None:
    """Conditions that say nothing of the body's own sources come out; sources that nothing links are tested apart."""
    own = own_sids(body)
    partners = _outer_partners(body, own)
    outside: list[Expr] = []
    inside: list[Expr] = []
    for part in body.where:
        moved = part if part.op in {"=", "eqclass"} else rewrite(part, partners.get)
        if sids(moved) & own:
            inside.append(part)
        else:
            outside.append(moved)
    if not body.sources and not body.lefts:
        return junction("and", list(body.where))
    whole = body.lefts or any(source.parts for source in body.sources)
    pieces = [body._replace(where=tuple(inside))] if whole else _components(body, inside)
    found = junction("and", [*outside, *(Expr("exists", piece, ()) for piece in pieces)])
    return found


def _outer_partners(body: Block, own: set[int]) -> dict[Expr, Expr]:
    """For columns of a tested body, the outer columns that an equality makes the same value."""
    found: dict[Expr, Expr] = {}
    for part in body.where:
        if part.op == "eqclass":
            outer = [arg for arg in part.args if arg.value[0] not in own]
            if outer:
                found.update({arg: outer[0] for arg in part.args if arg.value[0] in own})
    return found


def implied_exists(block: Block, ctx: Context) -> Block | None:
    """`t JOIN u ON u.k = t.k … AND EXISTS (u x WHERE x.k = t.k)`  =  without the test: the joined row passes it."""
    for index, part in enumerate(block.where):
        if part.op != "exists" or not isinstance(part.value, Block):
            continue
        body = part.value
        if len(body.sources) != 1 or body.lefts or body.group is not None or body.limit is not None or body.extra:
            continue
        inner = body.sources[0]
        rest = [other for place, other in enumerate(block.where) if place != index]
        for source in block.sources:
            if (
                inner.kind == source.kind == "table"
                and inner.name == source.name
                and _passes(body, inner, source, rest)
            ):
                return block._replace(where=tuple(rest))
    return None


def _passes(body: Block, inner: Source, source: Source, known: list[Expr]) -> bool:
    """Whether the conditions of a tested row hold for a row that is joined already."""

    def change(expr: Expr) -> Expr | None:
        if expr.op == "col" and expr.value[0] == inner.sid:
            return expr._replace(value=(source.sid, expr.value[1]))
        return None

    classes = [set(part.args) for part in known if part.op in {"eqclass", "="}]
    for part in body.where:
        if part.op in {"eqclass", "="}:
            members = {change(arg) or arg for arg in part.args}
            if len(members) > 1 and not any(members <= found for found in classes):
                return False
            if len(members) == 1 and not any(members & found for found in classes):
                return False
        elif rewrite(part, change) not in known:
            return False
    return True


def _components(body: Block, inside: list[Expr]) -> list[Block]:
    groups: list[set[int]] = [{source.sid} for source in body.sources]
    own = {source.sid for source in body.sources}
    for source in body.sources:
        if source.rel is not None:
            linked = {sid for sid in _free_sids(source)} & own | {source.sid}
            groups = _link(groups, linked)
    for part in inside:
        groups = _link(groups, sids(part) & own)
    return [
        body._replace(
            sources=tuple([source for source in body.sources if source.sid in group]),
            where=tuple([part for part in inside if sids(part) & group]),
        )
        for group in groups
    ]


def _free_sids(source: Source) -> set[int]:
    from canon.sql.algebra import source_expressions

    return set().union(*(sids(expr) for expr in source_expressions(source)), set())


def _link(groups: list[set[int]], linked: set[int]) -> list[set[int]]:
    touching = [group for group in groups if group & linked]
    if len(touching) < 2:
        return groups
    return [group for group in groups if not group & linked] + [set().union(*touching)]


def exists_to_join(block: Block, ctx: Context) -> Block | None:
    """`EXISTS (SELECT 1 FROM t WHERE t.key = x)`  =  a join: at most one row matches, or duplicates do not count."""
    if block.extra and ctx.role != "exists":
        return None
    free = (ctx.role == "exists" and block.group is None) or ignores_duplicates(block)
    for index, part in enumerate(block.where):
        if part.op != "exists" or not isinstance(part.value, Block):
            continue
        body = part.value
        if body.limit is not None or body.offset is not None or body.extra:
            continue
        if body.group is not None:
            joined = _join_grouped(block, index, body, ctx)
            if joined is not None:
                return joined
            continue
        if not body.sources:
            continue
        if free or _at_most_one(body, ctx):
            where = [*block.where[:index], *block.where[index + 1 :], *body.where]
            ctx.padded |= {s.sid for left in body.lefts for s in all_sources(Block(left.sources, left.lefts))}
            return block._replace(
                sources=block.sources + body.sources, lefts=block.lefts + body.lefts, where=conjoined(where, ctx)
            )
    return None


def _at_most_one(body: Block, ctx: Context) -> bool:
    determined = Determined(body, ctx)
    return all(source.sid in determined.rows for source in all_sources(body))


def _join_grouped(block: Block, index: int, body: Block, ctx: Context) -> Block | None:
    """`key IN (SELECT fk FROM t GROUP BY fk HAVING f)`  =  a join to the grouped table: one group has the key."""
    if not body.group:
        return None
    own = own_sids(body)
    links: dict[Expr, Expr] = {}
    above: list[Expr] = []
    kept: dict[bool, list[Expr]] = {True: [], False: []}
    for parts, is_having in ((body.having, True), (body.where, False)):
        for part in parts:
            if not sids(part) - own:
                kept[is_having].append(part)
                continue
            pair = _link_of(part, own, body)
            if pair is not None and fixes(pair[1], pair[0], ctx):
                links[pair[0]] = pair[1]
            elif is_having and _of_groups(part, own):
                above.append(part)
            else:
                return None
    if set(links) != set(body.group):
        return None
    calls = list(dict.fromkeys(call for part in above for call in _calls(part)))
    sid = ctx.fresh()
    keys = tuple(links)
    rel = body._replace(
        select=(*keys, *calls), where=tuple(kept[False]), having=tuple(kept[True]), distinct=False, order=()
    )
    ctx.outputs[sid] = output_facts(rel, ctx)
    source = Source(sid, "derived", "", rel)
    mapping = {expr: col(sid, position) for position, expr in enumerate(rel.select)}
    equalities = [equal(mapping[key], links[key], ctx) for key in keys]
    tests = [_reread(rewrite_own(part, mapping.get), ctx) for part in above]
    where = [*block.where[:index], *block.where[index + 1 :], *equalities, *tests]
    return block._replace(sources=(*block.sources, source), where=conjoined(where, ctx))


def _reread(part: Expr, ctx: Context) -> Expr:
    """A comparison whose sides changed, with its sides in their fixed order."""
    return oriented(part.op, *part.args)


def _of_groups(part: Expr, own: set[int]) -> bool:
    """Whether a comparison sets an aggregate of the body beside what is outside."""
    return part.op in {"=", "<", "<=", "<>"} and any(
        arg.op == "agg" and sids(arg) <= own and not sids(other) & own for arg, other in (part.args, part.args[::-1])
    )


def _calls(part: Expr) -> list[Expr]:
    return [arg for arg in part.args if arg.op == "agg"]


def _link_of(part: Expr, own: set[int], body: Block) -> tuple[Expr, Expr] | None:
    """A conjunct `group key = outer expression`, as (key, outer expression)."""
    if part.op == "eqclass":
        inner = [arg for arg in part.args if arg.value[0] in own]
        outer = [arg for arg in part.args if arg.value[0] not in own]
        if len(inner) != 1 or len(outer) != 1:
            return None
        pair = (inner[0], outer[0])
    elif part.op == "=":
        sides = [arg for arg in part.args if sids(arg) and sids(arg) <= own]
        others = [arg for arg in part.args if not sids(arg) & own]
        if len(sides) != 1 or len(others) != 1:
            return None
        pair = (sides[0], others[0])
    else:
        return None
    return pair if body.group is not None and pair[0] in body.group else None


def membership_facts_width(rel: Rel) -> int | None:
    """How many columns a tested subquery has."""
    return output_width(rel)


__all__ = [
    "aggregates",
    "as_exists",
    "columns",
    "conjuncts",
    "exists_to_join",
    "in_to_exists",
    "rewrite_rel",
    "substitution",
    "tidy_exists",
]
