"""Outer joins over derived tables, FULL joins whose padding is filtered away.

Outer joins that read one value (J3, J7, S5).
"""

from canon.sql.algebra import (
    COMPARISONS,
    FALSE,
    NULL,
    Block,
    Expr,
    LeftJoin,
    Source,
    col,
    columns,
    conjuncts,
    contains,
    left_expressions,
    left_sources,
    lit,
    rewrite,
    rewrite_left,
    rewrite_own,
    rewrite_rel,
    sids,
)
from canon.sql.context import Context
from canon.sql.facts import Determined, column_fact, exactly_one_row, fixes, rejected, strict_terms
from canon.sql.identities.membership import equal
from canon.sql.identities.shapes import conjoined, copyable, fresh_copy, has_window, left_sids, plain
from canon.sql.predicates import Interval, Span, span

ZERO = lit("int", "0")
SUBQUERY = frozenset({"exists", "in", "scalar", "quant"})


def null_when_padded(expr: Expr, own: set[int]) -> bool:
    """Whether an expression is NULL in a row whose columns of some sources are all NULL."""
    op = expr.op
    if op == "col":
        return expr.value[0] in own
    if op == "case":
        pairs = zip(expr.args[:-1:2], expr.args[1::2], strict=True)
        reached = [
            result
            for condition, result in pairs
            if not any(null_when_padded(term, own) for term in rejected(condition))
        ]
        return all(result == NULL or null_when_padded(result, own) for result in (*reached, expr.args[-1]))
    if op in COMPARISONS or (op == "span" and not expr.value.null):
        return any(null_when_padded(arg, own) for arg in expr.args)
    return any(term.op == "col" and term.value[0] in own for term in strict_terms(expr))


def _witness(sources: tuple[Source, ...], ctx: Context) -> Expr | None:
    """A column that is never NULL in a row of some sources, so that NULL there means that nothing matched."""
    for source in sources:
        table = ctx.tables.get(source.sid) if source.kind == "table" else None
        for name, fact in sorted(table.columns.items()) if table is not None else ():
            if fact.not_null:
                return col(source.sid, name)
    return None


def _mergeable(source: Source) -> Block | None:
    inner = source.rel
    if source.kind != "derived" or not isinstance(inner, Block) or not plain(inner) or inner.lefts or not inner.sources:
        return None
    if any(part.kind == "full" for part in inner.sources) or any(expr.op == "star" for expr in inner.select):
        return None
    return None if any(contains(expr, SUBQUERY) for expr in inner.select) else inner


def _outside(source: Source, inner: Block, ctx: Context) -> dict[Expr, Expr] | None:
    """What the outputs of a null-supplied derived table are where it may be padded: NULL there.

    Whatever they compute.
    """
    own = {part.sid for part in inner.sources}
    found: dict[Expr, Expr] = {}
    witness = _witness(inner.sources, ctx)
    for position, expr in enumerate(inner.select):
        if null_when_padded(expr, own):
            found[col(source.sid, position)] = expr
        elif witness is not None:
            matched = Expr("notnull", None, (witness,))
            found[col(source.sid, position)] = Expr("case", None, (matched, expr, NULL))
        else:
            return None
    return found


def merge_null_side(block: Block, ctx: Context) -> Block | None:
    """`LEFT JOIN (SELECT k, x + 1 y FROM t) d … d.y`  =  `LEFT JOIN t … t.x + 1`; what is not strict becomes a CASE."""
    for index, left in enumerate(block.lefts):
        for place, source in enumerate(left.sources):
            inner = _mergeable(source)
            outside = _outside(source, inner, ctx) if inner is not None else None
            if inner is None or outside is None:
                continue
            inside = {col(source.sid, position): expr for position, expr in enumerate(inner.select)}
            merged = LeftJoin(
                left.sources[:place] + inner.sources + left.sources[place + 1 :], left.lefts, left.on + inner.where
            )
            merged = merged._replace(on=tuple([rewrite(part, inside.get) for part in merged.on]))
            merged = merged._replace(lefts=tuple([rewrite_left(part, inside.get) for part in merged.lefts]))
            rest = block._replace(lefts=block.lefts[:index] + block.lefts[index + 1 :])
            changed = rewrite_rel(rest, outside.get)
            assert isinstance(changed, Block)
            ctx.padded |= {part.sid for part in inner.sources}
            return changed._replace(lefts=(*changed.lefts, merged))
    return None


def match_test(block: Block, ctx: Context) -> Block | None:
    """`LEFT JOIN t … t.a IS NULL`  =  `… t.b IS NULL` for columns that are never NULL in a row of t."""
    if not block.lefts:
        return None
    first: dict[int, Expr] = {}
    for left in block.lefts:
        for source in left.sources:
            witness = _witness((source,), ctx)
            if witness is not None:
                first[source.sid] = witness

    def change(node: Expr) -> Expr | None:
        if node.op not in {"isnull", "notnull"} or node.args[0].op != "col" or node.args[0].value[0] not in first:
            return None
        column = node.args[0]
        return node._replace(args=(first[column.value[0]],)) if column_fact(column, ctx).not_null else None

    changed = rewrite_rel(block, change)
    assert isinstance(changed, Block)
    return changed if changed != block else None


def merge_full_side(block: Block, ctx: Context) -> Block | None:
    """`FULL JOIN (SELECT k, x + 1 y FROM t) d … d.y`  =  `FULL JOIN t … t.x + 1`."""
    for index, full in enumerate(block.sources):
        for side, part in enumerate(full.parts or ()):
            for place, source in enumerate(part.sources):
                inner = _mergeable(source)
                outside = _outside(source, inner, ctx) if inner is not None else None
                if inner is None or outside is None:
                    continue
                if inner.where and side == 1 and any(sids(expr) - left_sids(part) for expr in inner.where):
                    continue
                inside = {col(source.sid, position): expr for position, expr in enumerate(inner.select)}
                sources = part.sources[:place] + inner.sources + part.sources[place + 1 :]
                parts = [rewrite_left(each, inside.get) for each in full.parts or ()]
                parts[side] = parts[side]._replace(sources=sources, on=parts[side].on + inner.where)
                rest = block._replace(sources=block.sources[:index] + block.sources[index + 1 :])
                changed = rewrite_rel(rest, outside.get)
                assert isinstance(changed, Block)
                ctx.padded |= {inner_source.sid for inner_source in inner.sources}
                return changed._replace(sources=(*changed.sources, full._replace(parts=(parts[0], parts[1]))))
    return None


def full_to_left(block: Block, ctx: Context) -> Block | None:
    """`a FULL JOIN b ON p WHERE a.x > 1`  =  `a LEFT JOIN b ON p WHERE a.x > 1`.

    The rows of b alone are filtered away.
    """
    if not any(source.kind == "full" for source in block.sources):
        return None
    filled = set().union(*(rejected(part) for part in block.where)) if block.where else set()
    for index, full in enumerate(block.sources):
        if full.parts is None:
            continue
        ours, theirs = full.parts
        condition = [part for part in theirs.on if _is_condition(part)]
        if len(condition) != 1 or ours.lefts or theirs.lefts:
            continue
        theirs = theirs._replace(on=tuple([part for part in theirs.on if not _is_condition(part)]))
        for kept, other in ((ours, theirs), (theirs, ours)):
            mine = {source.sid for source in kept.sources}
            if not any(term.op == "col" and term.value[0] in mine for term in filled):
                continue
            ctx.padded -= mine
            joined = LeftJoin(other.sources, (), tuple(dict.fromkeys((*other.on, *conjuncts(condition[0].args[0])))))
            return block._replace(
                sources=(*block.sources[:index], *block.sources[index + 1 :], *kept.sources),
                lefts=(*block.lefts, joined),
                where=conjoined((*block.where, *kept.on), ctx),
            )
    return None


def _is_condition(part: Expr) -> bool:
    return part.op == "func" and part.value[0] == "full-on"


def one_row_side(block: Block, ctx: Context) -> Block | None:
    """`t LEFT JOIN (SELECT COUNT(*) FROM u) d ON TRUE`  =  `t, (SELECT COUNT(*) FROM u) d`.

    There always is the one row.
    """
    for index, left in enumerate(block.lefts):
        if left.on or left.lefts or not block.sources:
            continue
        if all(
            source.kind == "derived" and source.rel is not None and exactly_one_row(source.rel)
            for source in left.sources
        ):
            ctx.padded -= {source.sid for source in left.sources}
            rest = block.lefts[:index] + block.lefts[index + 1 :]
            return block._replace(sources=block.sources + left.sources, lefts=rest)
    return None


def never_matched(block: Block, ctx: Context) -> Block | None:
    """`t LEFT JOIN (nothing) d`  =  `t`, with NULL for every column of d."""
    for index, left in enumerate(block.lefts):
        if FALSE not in left.on and not any(_is_empty(source) for source in left.sources):
            continue
        inside = left_sids(left)
        rest = block._replace(lefts=block.lefts[:index] + block.lefts[index + 1 :])
        if any(node.op == "star" and node.value in inside for expr in rest.select for node in (expr,)):
            continue

        def change(node: Expr, inside: set[int] = inside) -> Expr | None:
            return NULL if node.op == "col" and node.value[0] in inside else None

        if any(node.op == "eqclass" and sids(node) & inside for node in rest.where):
            continue
        changed = rewrite_rel(rest, change)
        assert isinstance(changed, Block)
        return changed
    return None


def _is_empty(source: Source) -> bool:
    rel = source.rel
    return isinstance(rel, Block) and rel.where == (FALSE,) and rel.group != ()


def grouped_side(block: Block, ctx: Context) -> Block | None:
    """`t LEFT JOIN (SELECT k, MAX(x) m … GROUP BY k) d ON d.k = t.k … d.m`  =  `(SELECT MAX(x) … WHERE k = t.k)`.

    A count is NULL where nothing matched, and 0 in the scalar subquery.
    """
    for index, left in enumerate(block.lefts):
        source = left.sources[0] if len(left.sources) == 1 and not left.lefts else None
        body = source.rel if source is not None else None
        if (
            source is None
            or not isinstance(body, Block)
            or not body.group
            or body.having
            or body.distinct
            or body.ordered
        ):
            continue
        if (
            body.limit is not None
            or body.offset is not None
            or body.extra
            or has_window(body)
            or not copyable(body)
            or body.lefts
        ):
            continue
        links = _links(left, source, body, ctx)
        if links is None:
            continue
        rest = block._replace(lefts=block.lefts[:index] + block.lefts[index + 1 :])
        if any(source.sid in sids(expr) for other in rest.lefts for expr in left_expressions(other)):
            continue
        changed = _with_scalars(rest, source, body, links, ctx)
        if changed is not None:
            return changed
    return None


def _links(left: LeftJoin, source: Source, body: Block, ctx: Context) -> list[Expr] | None:
    """The ON conditions as conditions on the rows that are grouped: each key of the grouping equals one outer term."""
    links: list[Expr] = []
    linked: set[Expr] = set()
    for part in left.on:
        if part.op != "=" or len(part.args) != 2:
            return None
        mine = [arg for arg in part.args if arg.op == "col" and arg.value[0] == source.sid]
        other = [arg for arg in part.args if source.sid not in sids(arg)]
        if len(mine) != 1 or len(other) != 1:
            return None
        key = body.select[int(mine[0].value[1])]
        if key not in (body.group or ()) or key in linked or not fixes(other[0], key, ctx):
            return None
        linked.add(key)
        links.append(equal(key, other[0], ctx))
    return links if linked == set(body.group or ()) else None


def _with_scalars(rest: Block, source: Source, body: Block, links: list[Expr], ctx: Context) -> Block | None:
    made: dict[int, Expr] = {}

    def scalar(position: int) -> Expr:
        if position not in made:
            whole = body._replace(
                group=(), where=conjoined((*body.where, *links), ctx), select=(body.select[position],), order=()
            )
            made[position] = Expr("scalar", fresh_copy(whole, ctx)[0], ())
        return made[position]

    def position_of(node: Expr) -> int | None:
        return int(node.value[1]) if node.op == "col" and node.value[0] == source.sid else None

    def change(node: Expr) -> Expr | None:
        counted = _with_default(node)
        place = position_of(counted) if counted is not None else None
        if place is not None and body.select[place] == Expr("agg", ("count", False), ()):
            return scalar(place)
        place = position_of(node)
        if place is None or body.select[place].op != "agg":
            return None
        call = body.select[place]
        if call.value[0] in {"sum", "min", "max", "avg"}:
            return scalar(place)
        if call == Expr("agg", ("count", False), ()):
            none = span(scalar(place), Span("num", False, (Interval(0, True, 0, True),)), "integer", ctx.dialect)
            return Expr("case", None, (none, NULL, scalar(place)))
        return None

    changed = rewrite_rel(rest, change)
    assert isinstance(changed, Block)
    left_over = [*changed.where, *changed.select, *(changed.group or ()), *changed.having, *changed.extra]
    left_over += [key.expr for key in changed.order]
    if any(source.sid in sids(expr) for expr in left_over) or (rest.group is not None and made):
        return None
    return changed if made else None


def _with_default(node: Expr) -> Expr | None:
    """The x of `COALESCE(x, 0)`, or of `CASE WHEN x IS NULL THEN 0 ELSE x END`."""
    if node.op == "coalesce" and len(node.args) == 2 and node.args[1] == ZERO:
        return node.args[0]
    if node.op == "case" and len(node.args) == 3:
        condition, first, second = node.args
        if condition.op == "isnull" and first == ZERO and second == condition.args[0]:
            return second
        if condition.op == "notnull" and second == ZERO and first == condition.args[0]:
            return first
    return None


def selected_by_key(block: Block, ctx: Context) -> Block | None:
    """`SELECT (SELECT d.name FROM d WHERE d.key = e.fk)`  =  `SELECT d.name … LEFT JOIN d ON d.key = e.fk`."""
    if block.group is not None or block.extra or block.ordered or not block.sources:
        return None
    for expr in block.select:
        for node in _scalars_of(expr):
            body = node.value
            if (
                not isinstance(body, Block)
                or not plain(body)
                or body.lefts
                or not body.sources
                or len(body.select) != 1
            ):
                continue
            own = {source.sid for source in body.sources}
            value = body.select[0]
            if any(source.kind != "table" for source in body.sources) or contains(value, SUBQUERY):
                continue
            determined = Determined(body, ctx)
            if (
                not own <= determined.rows
                or not null_when_padded(value, own)
                or any(contains(p, SUBQUERY) for p in body.where)
            ):
                continue
            ctx.padded |= own
            change = {node: value}
            select = tuple([rewrite_own(item, change.get) for item in block.select])
            order = tuple([key._replace(expr=rewrite_own(key.expr, change.get)) for key in block.order])
            joined = LeftJoin(body.sources, (), tuple([_plain_equality(part) for part in body.where]))
            return block._replace(select=select, order=order, lefts=(*block.lefts, joined))
    return None


def _plain_equality(part: Expr) -> Expr:
    return Expr("=", None, part.args) if part.op == "eqclass" and len(part.args) == 2 else part


def _scalars_of(expr: Expr) -> list[Expr]:
    found, stack = [], [expr]
    while stack:
        node = stack.pop()
        if node.op == "scalar":
            found.append(node)
        else:
            stack.extend(node.args)
    return found


def implied_on(block: Block, ctx: Context) -> Block | None:
    """`WHERE a.k > 7 … LEFT JOIN b ON a.k = b.k AND b.k > 7`  =  `… ON a.k = b.k`: what matches passes it anyway."""
    from canon.sql.identities.equalities import interchangeable

    where = set(block.where)
    for index, left in enumerate(block.lefts):
        inside = {source.sid for source in left_sources(left)}
        mapping: dict[Expr, Expr] = {}
        for part in left.on:
            if (
                part.op == "="
                and all(arg.op == "col" for arg in part.args)
                and interchangeable(part.args[0], part.args[1], ctx)
            ):
                mine = [arg for arg in part.args if arg.value[0] in inside]
                other = [arg for arg in part.args if arg.value[0] not in inside]
                if len(mine) == 1 and other[0].value[0] not in ctx.padded:
                    mapping[mine[0]] = other[0]
        if not mapping:
            continue
        kept = tuple(
            [
                part
                for part in left.on
                if part.op not in {"span", "isnull", "notnull", "<", "<="} or not _passes(part, mapping, where, inside)
            ]
        )
        if len(kept) < len(left.on):
            lefts = (*block.lefts[:index], left._replace(on=kept), *block.lefts[index + 1 :])
            return block._replace(lefts=lefts)
    return None


def _passes(part: Expr, mapping: dict[Expr, Expr], where: set[Expr], inside: set[int]) -> bool:
    """Whether WHERE says of the preserved side what a part of ON says; of the padded side it says another thing."""
    moved = rewrite(part, mapping.get)
    return moved in where and all(column.value[0] not in inside for column in columns(moved))
