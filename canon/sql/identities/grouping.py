"""Grouping and DISTINCT: smallest sets of keys, HAVING on keys, duplicates that cannot arise (A1 to A5, D2)."""

from canon.sql.algebra import COMPARISONS, FALSE, NULL, TRUE, Block, Expr, Order, columns, contains, lit, rewrite_own
from canon.sql.context import Context
from canon.sql.facts import PREDICATES, Determined, duplicate_free, keys_of, not_null_terms, nullable, type_of
from canon.sql.identities.shapes import aggregates, conjoined, has_window, own_sids
from canon.sql.predicates import truth

AGGREGATE = frozenset({"agg", "window"})


def having_to_where(block: Block, ctx: Context) -> Block | None:
    """`GROUP BY k HAVING k > 1`  =  `WHERE k > 1 GROUP BY k`: only on what the group determines."""
    if not block.having or not block.group or block.extra:
        return None
    determined = Determined(block, ctx, given=block.group)
    moved = [
        part for part in block.having if not contains(part, AGGREGATE) and determined.holds(part) and _of_columns(part)
    ]
    if not moved:
        return None
    kept = tuple([part for part in block.having if part not in moved])
    return block._replace(where=conjoined((*block.where, *moved), ctx), having=kept)


def _of_columns(part: Expr) -> bool:
    return part.op != "lit" and not any(
        node.op in {"scalar", "exists", "in", "quant"} and _has_aggregate(node) for node in _nodes(part)
    )


def _nodes(expr: Expr) -> list[Expr]:
    found, stack = [], [expr]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(node.args)
    return found


def _has_aggregate(node: Expr) -> bool:
    return any(contains(arg, AGGREGATE) for arg in node.args)


def smallest_keys(block: Block, ctx: Context) -> Block | None:
    """`GROUP BY id, name`  =  `GROUP BY id`, where id determines name; at least one key is kept."""
    if not block.group or block.extra:
        return None
    keys = list(dict.fromkeys(key for key in block.group if key.op != "lit")) or [block.group[0]]
    keys = _with_primary_keys(block, keys, ctx)
    order = sorted(keys, key=lambda key: (_is_primary(key, block, ctx), _weight(key)))
    for key in order:
        rest = [other for other in keys if other != key]
        if rest and Determined(block, ctx, given=rest).holds(key):
            keys = rest
    if set(keys) == set(block.group):
        return None
    return block._replace(group=tuple(keys))


def _with_primary_keys(block: Block, keys: list[Expr], ctx: Context) -> list[Expr]:
    """The keys, and the primary keys of the sources whose rows they determine."""
    determined = Determined(block, ctx, given=keys)
    added = list(keys)
    for source in block.sources:
        if source.sid in determined.rows:
            for key in keys_of(source, ctx)[:1]:
                added.extend(column for column in key if column not in added)
    return added


def _is_primary(key: Expr, block: Block, ctx: Context) -> int:
    """Columns of a primary key are dropped last."""
    if key.op != "col":
        return 0
    source = next((source for source in block.sources if source.sid == key.value[0]), None)
    if source is None:
        return 0
    primary = keys_of(source, ctx)[:1]
    return 1 if primary and key in primary[0] else 0


def _weight(key: Expr) -> tuple[int, str]:
    return (-len(columns(key)), str(key.value))


def grouping_to_distinct(block: Block, ctx: Context) -> Block | None:
    """`SELECT a GROUP BY a`  =  `SELECT DISTINCT a`: every key is returned and nothing is aggregated."""
    if not block.group or block.having or block.extra or aggregates(block) or has_window(block) or block.ordered:
        return None
    selected = set(block.select)
    determined = Determined(block, ctx, given=block.group)
    if not all(determined.holds(expr) for expr in (*block.select, *(key.expr for key in block.order))):
        return None
    if not all(key in selected for key in block.group):
        back = Determined(block, ctx, given=block.select)
        if not all(back.holds(key) for key in block.group):
            return None
    return block._replace(group=None, distinct=True)


def idle_distinct(block: Block, ctx: Context) -> Block | None:
    """DISTINCT over a grouping that returns its keys, or over one row, changes nothing."""
    if not block.distinct or block.group is None or block.extra:
        return None
    if block.group != ():
        back = Determined(block, ctx, given=block.select)
        if not all(key in block.select or back.holds(key) for key in block.group):
            return None
    return block._replace(distinct=False)


def duplicates_impossible(block: Block, ctx: Context) -> Block | None:
    """`SELECT DISTINCT id FROM t`  =  `SELECT id FROM t`: the result is marked, so that both are one."""
    if block.group is not None or block.extra or has_window(block) or not block.sources:
        return None
    if ctx.role in {"top", "set", "branch"}:
        if not block.distinct and _stable_order(block, ctx) and duplicate_free(block, ctx, block.select):
            return block._replace(distinct=True)
        return None
    if block.distinct and ctx.role == "derived" and duplicate_free(block, ctx, block.select):
        return block._replace(distinct=False)
    return None


def _stable_order(block: Block, ctx: Context) -> bool:
    """Whether the sort keys are fixed by the row that is returned."""
    if not block.order:
        return True
    determined = Determined(block, ctx, given=block.select)
    return all(key.expr in block.select or determined.holds(key.expr) for key in block.order)


def count_rows(block: Block, ctx: Context) -> Block | None:
    """`COUNT(x)`  =  `COUNT(*)` where x is never NULL after the joins; `COUNT(DISTINCT k)`  =  `COUNT(*)` for a key."""
    calls = [call for call in aggregates(block) if call.value[0] == "count" and call.args]
    if not calls or block.group is None:
        return None
    known = not_null_terms(block)
    mapping: dict[Expr, Expr] = {}
    for call in calls:
        if call.value[1]:
            if duplicate_free(block, ctx, (*call.args, *(block.group or ()))):
                new = Expr("agg", ("count", False), call.args if len(call.args) == 1 else ())
                if any(nullable(arg, ctx, known) for arg in call.args):
                    if len(call.args) > 1:
                        continue
                else:
                    new = new._replace(args=())
                mapping[call] = new
            elif len(call.args) == 1:
                continue
        elif len(call.args) == 1 and not nullable(call.args[0], ctx, known):
            mapping[call] = call._replace(args=())
    return _replace_outputs(block, mapping) if mapping else None


def _replace_outputs(block: Block, mapping: dict[Expr, Expr]) -> Block:
    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, mapping.get) for expr in exprs])

    return block._replace(
        select=each(block.select),
        having=each(block.having),
        order=tuple([Order(rewrite_own(key.expr, mapping.get), key.desc, key.nulls_first) for key in block.order]),
        extra=each(block.extra),
    )


def conditional_counts(block: Block, ctx: Context) -> Block | None:
    """`SUM(CASE WHEN p THEN 1 ELSE 0 END)`  =  `COUNT(CASE WHEN p THEN 1 END)` over a group that is not empty."""
    if block.group is None:
        return None
    mapping: dict[Expr, Expr] = {}
    known = not_null_terms(block)
    for call in aggregates(block):
        new = _conditional(call, ctx, known, nonempty=bool(block.group))
        if new is not None and new != call:
            mapping[call] = new
    return _replace_outputs(block, mapping) if mapping else None


ONE, ZERO = lit("int", "1"), lit("int", "0")


def _conditional(call: Expr, ctx: Context, known: set[Expr], *, nonempty: bool) -> Expr | None:
    name, distinct = call.value[0], call.value[1]
    if distinct or len(call.args) != 1:
        return None
    inner = call.args[0]
    if name == "count" and inner.op == "case":
        return _counted(call, inner, ctx, known)
    if name == "sum" and nonempty and inner.op == "case":
        results = (*inner.args[1::2], inner.args[-1])
        if all(result in (ONE, ZERO) for result in results):
            args = [NULL if arg == ZERO and _is_result(place, inner) else arg for place, arg in enumerate(inner.args)]
            return Expr("agg", ("count", False), (inner._replace(args=tuple(args)),))
    if (
        name == "sum"
        and nonempty
        and ctx.dialect.booleans == "integer"
        and inner.op in PREDICATES
        and not nullable(inner, ctx, known)
    ):
        return Expr("agg", ("count", False), (Expr("case", None, (truth(inner, ctx), ONE, NULL)),))
    if name == "sum" and nonempty and inner == ONE:
        return Expr("agg", ("count", False), ())
    return None


def _is_result(place: int, case: Expr) -> bool:
    return place % 2 == 1 or place == len(case.args) - 1


def _counted(call: Expr, case: Expr, ctx: Context, known: set[Expr]) -> Expr | None:
    """What is counted is only whether the result is NULL."""
    args = list(case.args)
    for place, arg in enumerate(args):
        if _is_result(place, case) and arg not in (NULL, ONE) and not nullable(arg, ctx, known):
            args[place] = ONE
    if args == list(case.args):
        return None
    from canon.sql.scalars import case as build

    return call._replace(args=(build(args),))


def aggregates_of_keys(block: Block, ctx: Context) -> Block | None:
    """`MAX(k) … GROUP BY k`  =  `k`: every row of the group has the same."""
    if not block.group or block.extra:
        return None
    mapping: dict[Expr, Expr] = {}
    determined = Determined(block, ctx, given=block.group)
    unconverted = _beside_literals(block) if ctx.dialect.coerces == "affinity" else set()
    for call in aggregates(block):
        if call in unconverted:
            continue
        if len(call.args) == 1 and call.args[0].op != "lit" and determined.holds(call.args[0]):
            if call.value in {("min", False), ("max", False)} or (
                call.value == ("sum", True) and _is_number(call, ctx)
            ):
                mapping[call] = call.args[0]
            elif call.value == ("count", True):
                mapping[call] = Expr("case", None, (Expr("notnull", None, call.args), ONE, ZERO))
    return _replace_outputs(block, mapping) if mapping else None


def _beside_literals(block: Block) -> set[Expr]:
    """The aggregates that are compared with a literal of another class, which SQLite converts for a column alone."""
    nodes = (node for expr in (*block.having, *block.select) for node in _nodes(expr))
    return {
        arg
        for node in nodes
        if node.op in COMPARISONS and any(side.op == "lit" for side in node.args)
        for arg in node.args
        if arg.op == "agg"
    }


def one_row_groups(block: Block, ctx: Context) -> Block | None:
    """`SELECT MAX(total) … GROUP BY id`  =  `SELECT total …`: every group is one row."""
    if not block.group or block.extra or has_window(block) or not duplicate_free(block, ctx, block.group):
        return None
    mapping: dict[Expr, Expr] = {}
    for call in aggregates(block):
        new = _of_one_row(call, ctx)
        if new is None:
            return None
        mapping[call] = new
    plain = _replace_outputs(block, mapping)
    return plain._replace(group=None, having=(), where=conjoined((*plain.where, *plain.having), ctx))


def _is_number(call: Expr, ctx: Context) -> bool:
    """Whether what is summed is a number: the sum of one text is another value than the text."""
    return type_of(call.args[0], ctx) in {"integer", "decimal", "real"}


def _of_one_row(call: Expr, ctx: Context) -> Expr | None:
    name = call.value[0]
    if name == "sum" and not _is_number(call, ctx):
        return None
    if name == "count" and not call.args:
        return ONE
    if name in {"min", "max", "sum"} and len(call.args) == 1:
        return call.args[0]
    if name == "count" and len(call.args) == 1:
        return Expr("case", None, (Expr("notnull", None, call.args), ONE, ZERO))
    return None


def global_group(block: Block, ctx: Context) -> Block | None:
    """Sort keys of a result of one row say nothing."""
    if block.group == () and block.order and not block.extra:
        return block._replace(order=())
    return None


def constant_order(block: Block, ctx: Context) -> Block | None:
    """Sort keys that the earlier ones, or a condition, already fix say nothing."""
    if len(block.order) < 1 or block.extra or block.group == ():
        return None
    kept: list[Order] = []
    for key in block.order:
        given = [other.expr for other in kept]
        if key.expr.op == "lit" or (
            kept and block.group is None and Determined(block, ctx, given=given, outer=False).holds(key.expr)
        ):
            continue
        kept.append(key)
    if len(kept) == len(block.order) or not kept:
        return None
    return block._replace(order=tuple(kept))


__all__ = ["FALSE", "TRUE", "own_sids"]
