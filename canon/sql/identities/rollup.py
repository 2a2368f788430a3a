"""Roll-ups: aggregates over grouped derived tables are aggregates over the rows that were grouped (A8, A9)."""

from canon.sql.algebra import (
    Block,
    Expr,
    Rel,
    SetOp,
    Source,
    col,
    columns,
    contains,
    lit,
    rewrite_own,
    rewrite_rel,
    sids,
)
from canon.sql.context import Context
from canon.sql.facts import Determined, output_facts, type_of
from canon.sql.identities.shapes import has_window

ZERO, ONE = lit("int", "0"), lit("int", "1")
ROWS = Expr("agg", ("count", False), ())
EXACT = frozenset({"integer", "decimal"})


class Grouped:
    """A grouped derived table that can be read as the rows that it groups.

    Attributes:
        source: the table.
        body: its block.
        calls: for each output that is an aggregate, the call.
        keys: for each other output, the grouping key.
    """

    def __init__(self, source: Source, body: Block) -> None:
        self.source = source
        self.body = body
        self.calls = {col(source.sid, index): expr for index, expr in enumerate(body.select) if expr.op == "agg"}
        self.keys = {col(source.sid, index): expr for index, expr in enumerate(body.select) if expr.op != "agg"}


def grouped_table(source: Source) -> Grouped | None:
    """A derived source as a grouped table of keys and simple aggregates; `None` where it says more than that."""
    body = source.rel
    if source.kind != "derived" or not isinstance(body, Block) or not body.group or body.having or body.distinct:
        return None
    if body.limit is not None or body.offset is not None or body.extra or body.ordered or has_window(body):
        return None
    found = Grouped(source, body)
    if any(
        call.value[1] or call.value[0] not in {"count", "sum", "min", "max"} or len(call.args) > 1
        for call in found.calls.values()
    ):
        return None
    keys = set(body.group)
    if any(expr not in keys and expr.op != "lit" for expr in found.keys.values()):
        return None
    return found


def over_grouped(block: Block, ctx: Context) -> Block | None:
    """`SUM(d.n) FROM (SELECT k, j, COUNT(*) n FROM t GROUP BY k, j) d GROUP BY d.k`  =  `COUNT(*) FROM t GROUP BY k`.

    Joins do not disturb it: a joined row stands for all the rows of its group. Sums of floats depend on their order.
    """
    if block.group is None or block.lefts or block.extra or block.ordered or has_window(block):
        return None
    tables = [found for found in (grouped_table(source) for source in block.sources) if found is not None]
    if not tables or not any(table.calls for table in tables):
        return None
    tables = [table for table in tables if table.calls]
    inner = {column for table in tables for column in table.calls}
    if any(columns(part) & inner for part in (*block.where, *block.group)):
        return None
    change = _Raise(tables, ctx, globally=block.group == (), alone=_telling_keys(block, tables))
    outputs = (*block.select, *block.having, *(key.expr for key in block.order))
    new = [change.output(expr) for expr in outputs]
    if change.failed or any(columns(expr) & inner for expr in new):
        return None
    width, tests = len(block.select), len(block.having)
    raised = block._replace(
        select=tuple(new[:width]),
        having=tuple(new[width : width + tests]),
        order=tuple([key._replace(expr=expr) for key, expr in zip(block.order, new[width + tests :], strict=True)]),
    )
    return flattened(raised, tables, ctx)


def _telling_keys(block: Block, tables: list[Grouped]) -> set[Expr]:
    """The key of a lone grouped table by which alone the rows of one outer group differ."""
    if len(block.sources) != 1 or len(tables) != 1:
        return set()
    table = tables[0]
    fixed = {table.keys[key] for key in block.group or () if key in table.keys}
    telling = set(table.body.group or ()) - fixed
    return {column for column, key in table.keys.items() if {key} == telling}


def flattened(block: Block, tables: list[Grouped], ctx: Context) -> Block:
    """A block that reads the rows of grouped tables in place of the groups."""
    gone = {table.source.sid for table in tables}
    mapping = {column: key for table in tables for column, key in table.keys.items()}
    rest = block._replace(sources=tuple([source for source in block.sources if source.sid not in gone]))
    changed = rewrite_rel(rest, mapping.get)
    assert isinstance(changed, Block)
    sources = (*changed.sources, *(source for table in tables for source in table.body.sources))
    lefts = (*changed.lefts, *(left for table in tables for left in table.body.lefts))
    where = (*changed.where, *(part for table in tables for part in table.body.where))
    return changed._replace(sources=sources, lefts=lefts, where=where)


class _Raise:
    """Rewrites the aggregates of a block that reads grouped tables to aggregates of the rows below."""

    def __init__(self, tables: list[Grouped], ctx: Context, *, globally: bool, alone: set[Expr]) -> None:
        self.tables = tables
        self.ctx = ctx
        self.globally = globally
        self.alone = alone
        self.failed = False
        self.calls = {column: call for table in tables for column, call in table.calls.items()}

    def output(self, expr: Expr) -> Expr:
        return rewrite_own(expr, self._change)

    def _change(self, node: Expr) -> Expr | None:
        if node.op in {"exists", "in", "scalar", "quant"} and columns(node) & set(self.calls):
            self.failed = True
        if (
            node.op == "coalesce"
            and self.globally
            and len(node.args) == 2
            and node.args[1] == ZERO
            and node.args[0].op == "agg"
        ):
            found = self._raised(node.args[0])
            return found if found is not None and found.value[0] == "count" else None
        if node.op in {"/", "%", "div", "cast"} and any(self._counts(arg) for arg in node.args):
            self.failed = True  # a sum of counts may be of another numeric type than a count
        if node.op != "agg":
            return None
        found = self._raised(node)
        if found is None or (self.globally and found.value[0] == "count" != node.value[0]):
            self.failed = True
            return None
        return found

    def _counts(self, expr: Expr) -> bool:
        return contains(expr, frozenset({"agg"})) and bool(columns(expr) & set(self.calls))

    def _raised(self, node: Expr) -> Expr | None:
        name, distinct = node.value
        mentioned = columns(node) & set(self.calls)
        if not mentioned:
            if name in {"min", "max"} or (distinct and len(node.args) == 1):
                return node
            if len(node.args) == 1 and node.args[0] in self.alone and self._exact_or_counted(node):
                return node._replace(value=(name, True))
            return None
        if distinct or len(node.args) != 1:
            return None
        arg = node.args[0]
        if name in {"min", "max"}:
            call = self.calls.get(arg)
            return call if call is not None and call.value[0] == name else None
        return None if name != "sum" else self.product(arg)

    def _exact_or_counted(self, node: Expr) -> bool:
        name = node.value[0]
        return name == "count" or (name in {"sum", "avg"} and type_of(node.args[0], self.ctx) in EXACT)

    def product(self, arg: Expr) -> Expr | None:
        """The aggregate of the joined rows that a product of one aggregate of each grouped table stands for."""
        by_table: dict[int, Expr] = {}
        for factor in _factors(arg):
            call = self.calls.get(factor)
            if call is None or factor.value[0] in by_table:
                return None
            by_table[factor.value[0]] = call
        if set(by_table) != {table.source.sid for table in self.tables}:
            return None
        special = [call for call in by_table.values() if call != ROWS]
        if len(special) > 1:
            return None
        if not special:
            return ROWS
        call = special[0]
        if call.value[0] == "sum" and type_of(call.args[0], self.ctx) in EXACT:
            return call
        return call if call.value[0] == "count" else None


def _factors(expr: Expr) -> list[Expr]:
    if expr.op == "*":
        return [factor for arg in expr.args for factor in _factors(arg)]
    return [expr]


def join_of_groups(block: Block, ctx: Context) -> Block | None:
    """`SELECT a.s * b.n FROM (… GROUP BY k) a JOIN (… GROUP BY k) b ON a.k = b.k`  =  a grouping of the joined rows."""
    if (
        block.group is not None
        or block.lefts
        or block.extra
        or block.ordered
        or has_window(block)
        or len(block.sources) < 2
    ):
        return None
    tables = [grouped_table(source) for source in block.sources]
    known = [table for table in tables if table is not None]
    if len(known) < len(tables) or any(not table.calls for table in known):
        return None
    inner = {column for table in known for column in table.calls}
    if any(columns(part) & inner or part.op in {"exists", "in", "not"} for part in block.where):
        return None
    raise_ = _Raise(known, ctx, globally=False, alone=set())

    def change(node: Expr) -> Expr | None:
        call = raise_.calls.get(node)
        if call is not None and call.value[0] in {"min", "max"}:
            return call
        if (node.op == "*" or call is not None) and columns(node) & inner:
            return raise_.product(node)
        return None

    outputs = [rewrite_own(expr, change) for expr in block.select]
    orders = [rewrite_own(key.expr, change) for key in block.order]
    if any(columns(expr) & inner or _divides(expr) for expr in (*outputs, *orders)):
        return None
    keys = tuple(dict.fromkeys(column for table in known for column in _keys(table)))
    raised = block._replace(
        select=tuple(outputs),
        order=tuple([key._replace(expr=expr) for key, expr in zip(block.order, orders, strict=True)]),
    )
    flat = flattened(raised, known, ctx)
    return flat._replace(group=keys)


def _keys(table: Grouped) -> tuple[Expr, ...]:
    return table.body.group or ()


def _divides(expr: Expr) -> bool:
    stack = [expr]
    while stack:
        node = stack.pop()
        if node.op in {"/", "%", "div", "cast", "func", "exists", "in", "scalar", "quant"}:
            return True
        stack.extend(node.args)
    return False


def over_global_branches(block: Block, ctx: Context) -> Block | None:
    """`SUM(n) FROM (SELECT COUNT(*) n FROM a UNION ALL …)`  =  `COUNT(*) FROM (a UNION ALL …)`."""
    if block.group != () or len(block.sources) != 1 or block.lefts or block.where or block.extra or has_window(block):
        return None
    source = block.sources[0]
    rel = source.rel
    if (
        not isinstance(rel, SetOp)
        or rel.op != "union"
        or not rel.all
        or rel.limit is not None
        or rel.offset is not None
    ):
        return None
    kinds = _common_kinds(rel.branches)
    if kinds is None:
        return None
    mapping: dict[Expr, Expr] = {}
    for node in _calls(block):
        name, distinct = node.value
        kind = kinds.get(int(node.args[0].value[1])) if len(node.args) == 1 and node.args[0].op == "col" else None
        if kind is None or distinct or name != ("sum" if kind in {"count", "rows", "sum"} else kind):
            return None
        mapping[node] = ROWS if kind == "rows" else node._replace(value=(kind, False))
    branches = tuple([_rows_of(branch) for branch in rel.branches])
    flat = rel._replace(branches=branches)
    ctx.outputs[source.sid] = output_facts(flat, ctx)
    if any(kind == "sum" and ctx.outputs[source.sid][index].type not in EXACT for index, kind in kinds.items()):
        return None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, mapping.get) for expr in exprs])

    if any(_divides(expr) for expr in (*block.select, *block.having)):
        return None
    return block._replace(
        sources=(source._replace(rel=flat),), select=each(block.select), having=each(block.having), order=()
    )


def _calls(block: Block) -> list[Expr]:
    found, stack = [], [*block.select, *block.having]
    while stack:
        node = stack.pop()
        if node.op == "agg":
            found.append(node)
        else:
            stack.extend(node.args)
    return found


def _common_kinds(branches: tuple[Rel, ...]) -> dict[int, str] | None:
    """For each output the aggregate that every branch, one row each, has there."""
    kinds: dict[int, str] | None = None
    for branch in branches:
        if (
            not isinstance(branch, Block)
            or branch.group != ()
            or branch.having
            or branch.extra
            or branch.limit is not None
        ):
            return None
        if branch.offset is not None or has_window(branch):
            return None
        mine: dict[int, str] = {}
        for index, expr in enumerate(branch.select):
            if (
                expr.op != "agg"
                or expr.value[1]
                or expr.value[0] not in {"count", "sum", "min", "max"}
                or len(expr.args) > 1
            ):
                return None
            mine[index] = "rows" if expr == ROWS else str(expr.value[0])
        if kinds is not None and mine != kinds:
            return None
        kinds = mine
    return kinds


def _rows_of(branch: Rel) -> Block:
    assert isinstance(branch, Block)
    return branch._replace(
        group=None, select=tuple([expr.args[0] if expr.args else ONE for expr in branch.select]), order=()
    )


def distinct_argument(block: Block, ctx: Context) -> Block | None:
    """`COUNT(d.x) FROM (SELECT DISTINCT k, x FROM t) d GROUP BY d.k`  =  `COUNT(DISTINCT x) FROM t GROUP BY k`.

    The group keys and the one column that is aggregated are all that tells the rows of d apart.
    """
    if (
        block.group is None
        or block.lefts
        or block.extra
        or block.ordered
        or has_window(block)
        or len(block.sources) != 1
    ):
        return None
    source = block.sources[0]
    body = source.rel
    if source.kind != "derived" or not isinstance(body, Block) or not body.distinct or body.group is not None:
        return None
    if (
        body.limit is not None
        or body.offset is not None
        or body.extra
        or body.ordered
        or has_window(body)
        or not body.sources
    ):
        return None
    arguments = {arg for call in _calls(block) for arg in call.args}
    rows = {col(source.sid, index) for index in range(len(body.select))}
    if len(arguments) != 1 or any(
        sids(part) & {source.sid} and columns(part) - set(block.group) - arguments for part in block.where
    ):
        return None
    argument = next(iter(arguments))
    if argument not in rows or rows - {argument} - set(block.group) or argument in block.group:
        return None
    mapping: dict[Expr, Expr] = {}
    for call in _calls(block):
        name, distinct = call.value
        if name not in {"count", "sum", "min", "max", "avg"} or len(call.args) != 1:
            return None
        if name in {"sum", "avg"} and type_of(call.args[0], ctx) not in EXACT:
            return None
        mapping[call] = call._replace(value=(name, distinct or name not in {"min", "max"}))

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, mapping.get) for expr in exprs])

    raised = block._replace(
        sources=(),
        select=each(block.select),
        having=each(block.having),
        order=tuple([key._replace(expr=rewrite_own(key.expr, mapping.get)) for key in block.order]),
    )
    stands = {col(source.sid, index): expr for index, expr in enumerate(body.select)}
    changed = rewrite_rel(raised, stands.get)
    assert isinstance(changed, Block)
    return changed._replace(sources=body.sources, lefts=body.lefts, where=(*changed.where, *body.where))


def constant_extremes(block: Block, ctx: Context) -> Block | None:
    """`MAX(5) … GROUP BY k`  =  `5`: a group is never empty."""
    if not block.group or block.extra:
        return None

    def change(node: Expr) -> Expr | None:
        if node.op == "agg" and node.value[0] in {"min", "max"} and len(node.args) == 1 and node.args[0].op == "lit":
            return node.args[0]
        return None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, change) for expr in exprs])

    changed = block._replace(select=each(block.select), having=each(block.having))
    return changed if changed != block else None


def average_of_fixed(block: Block, ctx: Context) -> Block | None:
    """`AVG(x) … GROUP BY k`  =  `AVG(DISTINCT x)`, where k determines the integer x."""
    if not block.group or block.extra or not any(call.value == ("avg", False) for call in _calls(block)):
        return None
    determined = Determined(block, ctx, given=block.group)

    def change(node: Expr) -> Expr | None:
        if node.op != "agg" or node.value != ("avg", False) or len(node.args) != 1 or node.args[0].op == "lit":
            return None
        fixed = type_of(node.args[0], ctx) == "integer" and determined.holds(node.args[0])
        return node._replace(value=("avg", True)) if fixed else None

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite_own(expr, change) for expr in exprs])

    changed = block._replace(select=each(block.select), having=each(block.having))
    return changed if changed != block else None
