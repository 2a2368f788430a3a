"""Joins: outer ones that are inner ones, joins to what is not used, self-joins on a key (J3 to J6)."""

from canon.sql.algebra import (
    FALSE,
    Block,
    Expr,
    LeftJoin,
    Source,
    columns,
    conjuncts,
    left_expressions,
    rewrite_rel,
    sids,
    source_expressions,
    substitution,
)
from canon.sql.context import Context, TableFacts
from canon.sql.facts import Determined, column_fact, keys_of, nullable, rejected
from canon.sql.identities.shapes import conjoined, ignores_duplicates, left_sids, mentioned, output_sids


def outer_to_inner(block: Block, ctx: Context) -> Block | None:
    """`a LEFT JOIN b ON p WHERE b.x > 1`  =  `a JOIN b ON p WHERE b.x > 1`: the padding is filtered away."""
    if not block.lefts:
        return None
    filled = set().union(*(rejected(part) for part in block.where)) if block.where else set()
    for index, left in enumerate(block.lefts):
        mine = {source.sid for source in left.sources}
        if any(term.op == "col" and term.value[0] in mine for term in filled) or _always_matches(left, block, ctx):
            rest = block.lefts[:index] + block.lefts[index + 1 :]
            ctx.padded -= mine
            return block._replace(
                sources=block.sources + left.sources,
                lefts=rest + left.lefts,
                where=conjoined((*block.where, *left.on), ctx),
            )
    return None


def _always_matches(left: LeftJoin, block: Block, ctx: Context) -> bool:
    """Whether a declared foreign key, never NULL, finds every left row its parent."""
    if len(left.sources) != 1 or left.lefts or left.sources[0].kind != "table":
        return False
    parent = left.sources[0]
    pairs: dict[int, dict[str, str]] = {}
    for part in left.on:
        if part.op != "=" or any(arg.op != "col" for arg in part.args):
            return False
        ours = [arg for arg in part.args if arg.value[0] != parent.sid]
        theirs = [arg for arg in part.args if arg.value[0] == parent.sid]
        if len(ours) != 1 or nullable(ours[0], ctx):
            return False
        pairs.setdefault(ours[0].value[0], {})[str(ours[0].value[1])] = str(theirs[0].value[1])
    inner = {source.sid for source in block.sources}
    return len(pairs) == 1 and all(
        child in inner and _references(ctx.tables.get(child), parent.name, match) for child, match in pairs.items()
    )


def _references(child: TableFacts | None, parent: str, pairs: dict[str, str]) -> bool:
    """Whether a foreign key maps exactly these columns of a child to these of the parent."""
    if child is None:
        return False
    return any(
        name.lower() == parent.lower() and dict(zip(columns, targets, strict=True)) == pairs
        for columns, name, targets in child.references
    )


def drop_left_join(block: Block, ctx: Context) -> Block | None:
    """`SELECT a.x FROM a LEFT JOIN b ON a.k = b.key`  =  `SELECT a.x FROM a`: b is unused and adds no row."""
    for index, left in enumerate(block.lefts):
        inside = left_sids(left)
        if inside & mentioned(block, besides=(left,)):
            continue
        if not ignores_duplicates(block) and not _at_most_one_match(left, block, ctx):
            continue
        return block._replace(lefts=block.lefts[:index] + block.lefts[index + 1 :])
    return None


def _at_most_one_match(left: LeftJoin, block: Block, ctx: Context) -> bool:
    inside = Block(sources=left.sources, lefts=left.lefts, where=left.on)
    determined = Determined(inside, ctx)
    return all(source.sid in determined.rows for source in (*left.sources,)) and not left.lefts


def drop_parent(block: Block, ctx: Context) -> Block | None:
    """`o JOIN c ON o.customer_id = c.id`  =  `o WHERE o.customer_id IS NOT NULL`: a declared parent that is unused."""
    if len(block.sources) < 2:
        return None
    for parent in block.sources:
        if parent.kind == "table" and parent.sid in ctx.tables:
            found = _without_parent(block, parent, ctx)
            if found is not None:
                return found
    return None


def _without_parent(block: Block, parent: Source, ctx: Context) -> Block | None:
    used = _columns_of(block, parent.sid)
    pairs: dict[Expr, list[Expr]] = {}
    for part in block.where:
        if part.op == "eqclass" or (part.op == "=" and all(arg.op == "col" for arg in part.args)):
            mine = [arg for arg in part.args if arg.value[0] == parent.sid]
            if len(mine) == 1:
                pairs.setdefault(mine[0], []).extend(arg for arg in part.args if arg is not mine[0])
            elif mine:
                return None
    if not pairs or not used <= set(pairs):
        return None
    inner = {source.sid: source for source in block.sources if source is not parent}
    for child in inner.values():
        match = _foreign_match(child, parent, pairs, ctx)
        if match is not None:
            return _replace_parent(block, parent, match, ctx)
    return None


def _foreign_match(
    child: Source, parent: Source, pairs: dict[Expr, list[Expr]], ctx: Context
) -> dict[Expr, Expr] | None:
    """For each used column of the parent, the child's column that a foreign key makes equal to it."""
    facts = ctx.tables[parent.sid]
    match: dict[Expr, Expr] = {}
    origins: dict[str, tuple[TableFacts, str]] = {}
    for column, partners in pairs.items():
        near = [other for other in partners if other.value[0] == child.sid]
        if len(near) != 1:
            return None
        match[column] = near[0]
        origin = _origin(near[0], child, ctx)
        if origin is None:
            return None
        origins[str(column.value[1])] = origin
    tables = {id(table): table for table, _ in origins.values()}
    if len(tables) != 1:
        return None
    table = next(iter(tables.values()))
    mapping = {name: target for target, (_, name) in origins.items()}
    if not _references(table, parent.name, mapping) or frozenset(origins) not in facts.keys:
        return None
    return match


def _origin(column: Expr, source: Source, ctx: Context) -> tuple[TableFacts, str] | None:
    """The base table's column that an output of a source is: its own, or what a derived table hands through."""
    if source.kind == "table":
        table = ctx.tables.get(source.sid)
        return None if table is None else (table, str(column.value[1]))
    rel = source.rel
    if not isinstance(rel, Block) or rel.extra:
        return None
    inner = rel.select[int(column.value[1])]
    if inner.op != "col":
        return None
    inside = next((part for part in rel.sources if part.sid == inner.value[0]), None)
    return None if inside is None else _origin(inner, inside, ctx)


def _columns_of(block: Block, sid: int) -> set[Expr]:
    found: set[Expr] = set()
    parts = [*block.where, *block.select, *(block.group or ()), *block.having, *block.extra]
    parts += [key.expr for key in block.order]
    parts += [expr for left in block.lefts for expr in left_expressions(left)]
    parts += [expr for source in block.sources for expr in source_expressions(source)]
    for expr in parts:
        if expr.op == "star" and expr.value == sid:
            found.add(Expr("col", (sid, "*"), ()))
        found |= {column for column in columns(expr) if column.value[0] == sid}
    return found


def _replace_parent(block: Block, parent: Source, match: dict[Expr, Expr], ctx: Context) -> Block:
    where: list[Expr] = []
    for part in block.where:
        if part.op in {"eqclass", "="} and any(column in part.args for column in match):
            rest = tuple(dict.fromkeys(match.get(arg, arg) for arg in part.args))
            where.extend(Expr("notnull", None, (other,)) for other in rest if nullable(other, ctx))
            if len(rest) > 1:
                where.append(Expr(part.op, None, rest))
        else:
            where.append(part)
    sources = tuple([source for source in block.sources if source is not parent])
    changed = rewrite_rel(block._replace(sources=sources, where=tuple(where)), substitution(match))
    assert isinstance(changed, Block)
    return changed._replace(where=conjoined(changed.where, ctx))


def merge_self_join(block: Block, ctx: Context) -> Block | None:
    """`t a JOIN t b ON a.key = b.key … b.x`  =  `t a … a.x`: both are one row."""
    by_name: dict[str, list[Source]] = {}
    for source in block.sources:
        if source.kind == "table":
            by_name.setdefault(source.name, []).append(source)
    for twins in by_name.values():
        for index, second in enumerate(twins):
            for first in twins[:index]:
                if _same_row(block, first, second, ctx):
                    return _unify(block, first, second, ctx)
    return None


def _same_row(block: Block, first: Source, second: Source, ctx: Context) -> bool:
    equal: set[str] = set()
    for part in block.where:
        if part.op in {"=", "eqclass"}:
            names = [
                {arg.value[1] for arg in part.args if arg.op == "col" and arg.value[0] == s.sid}
                for s in (first, second)
            ]
            equal |= names[0] & names[1]
    return any(all(column.value[1] in equal for column in key) for key in keys_of(first, ctx) if key)


def _unify(block: Block, first: Source, second: Source, ctx: Context) -> Block:
    def change(expr: Expr) -> Expr | None:
        if expr.op == "col" and expr.value[0] == second.sid:
            return expr._replace(value=(first.sid, expr.value[1]))
        if expr.op == "star" and expr.value == second.sid:
            return expr._replace(value=first.sid)
        return None

    sources = tuple([source for source in block.sources if source is not second])
    changed = rewrite_rel(block._replace(sources=sources), change)
    assert isinstance(changed, Block)
    where: list[Expr] = []
    for part in changed.where:
        if part.op in {"eqclass", "="}:
            distinct = tuple(dict.fromkeys(part.args))
            if len(distinct) == 1:
                where.append(Expr("notnull", None, distinct))
                continue
            part = Expr(part.op, None, distinct)  # noqa: PLW2901
        where.append(part)
    return changed._replace(where=conjoined(where, ctx))


def anti_join(block: Block, ctx: Context) -> Block | None:
    """`a LEFT JOIN b ON p WHERE b.key IS NULL`  =  `a WHERE NOT EXISTS (b WHERE p)`.

    For a column that p or b never leaves NULL.
    """
    for index, left in enumerate(block.lefts):
        if left.lefts:
            continue
        inside = left_sids(left)
        strict = set().union(*(rejected(part) for part in left.on)) if left.on else set()
        for place, part in enumerate(block.where):
            if part.op != "isnull" or part.args[0].op != "col" or part.args[0].value[0] not in inside:
                continue
            column = part.args[0]
            if column not in strict and not column_fact(column, ctx).not_null:
                continue
            where = list(block.where)
            where[place] = Expr("not", None, (Expr("exists", Block(sources=left.sources, where=left.on), ()),))
            rest = block._replace(where=tuple(where), lefts=block.lefts[:index] + block.lefts[index + 1 :])
            others = [p for i, p in enumerate(rest.where) if i != place]
            if inside & (
                output_sids(rest)
                | set().union(*(sids(p) for p in others), *(sids(e) for x in rest.lefts for e in left_expressions(x)))
            ):
                continue
            ctx.padded -= inside
            return rest
    return None


def empty_where(block: Block) -> bool:
    """Whether a block's WHERE is the constant FALSE."""
    return block.where == (FALSE,)


__all__ = ["anti_join", "conjuncts", "drop_left_join", "drop_parent", "merge_self_join", "outer_to_inner"]
