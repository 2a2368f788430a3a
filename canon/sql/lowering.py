"""Lowers the syntax tree of one query to the algebra: FROM and its joins, SELECT, grouping, set operations, CTEs."""

from collections.abc import Iterable

from sqlglot import exp

from canon.errors import ReadError
from canon.sql.affinity import bare
from canon.sql.algebra import (
    NULL,
    Block,
    Expr,
    LeftJoin,
    Order,
    Rel,
    SetOp,
    Source,
    all_sources,
    col,
    columns,
    conjuncts,
    contains,
    junction,
    lit,
    rewrite,
)
from canon.sql.context import UNKNOWN, ColumnFact, Context
from canon.sql.facts import Determined, output_facts, output_width
from canon.sql.predicates import negate
from canon.sql.scalars import Scalars, bound
from canon.sql.scope import Cte, Item, Scope

MAX_CTE_READS = 200
DEFAULT_SCHEMAS = {"postgres": "public", "sqlite": "main", "duckdb": "main", "tsql": "dbo", "snowflake": "public"}

KNOWN_SELECT = frozenset(
    {
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "distinct",
        "with_",
        "windows",
        "kind",
        "hint",
        "laterals",
        "qualify",
        "operation_modifiers",
        "locks",
    }
)


class Unsupported(Exception):
    """The query has a part that the algebra has no word for."""


class Joined:
    """FROM while it is being read: inner sources, left joins and conjuncts so far."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.lefts: list[LeftJoin] = []
        self.where: list[Expr] = []

    def as_right(self, on: Iterable[Expr]) -> LeftJoin:
        """What was read so far as the right side of a LEFT JOIN."""
        return LeftJoin(tuple(self.sources), tuple(self.lefts), tuple(dict.fromkeys((*self.where, *on))))


class Lowering:
    """Lowers one query."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self._positions = 0
        self._cte_reads = 0

    def query(self, tree: exp.Expr) -> tuple[Rel, tuple[str, ...], tuple[bool, ...]]:
        """Lower the whole query: its relation, its output names, and which outputs a star over a table brought in."""
        return self._rel(tree, None, {})

    def subquery(self, node: exp.Expr, scope: Scope) -> Rel:
        """Lower a subquery inside an expression."""
        rel, _, _ = self._rel(node, scope, scope.ctes)
        return rel

    def next_argument(self, node: exp.Expr) -> object:
        """The argument bound to a placeholder.

        Raises:
            ReadError: there is none (`unbound_parameter`).
        """
        inner = node.this
        key = None if inner is None else inner.name if isinstance(inner, exp.Expr) else str(inner)
        if key in {None, "", "?"}:
            value = bound(self.ctx.args, None, self._positions)
            self._positions += 1
            return value
        return bound(self.ctx.args, key, 0)

    # -- queries ------------------------------------------------------------------------------------------------

    def _rel(
        self, node: exp.Expr, parent: Scope | None, ctes: dict[str, Cte]
    ) -> tuple[Rel, tuple[str, ...], tuple[bool, ...]]:
        self.ctx.check_time()
        ctes = self._ctes(node, ctes)
        if isinstance(node, exp.Subquery):
            return self._wrapped(node, parent, ctes)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, parent, ctes)
        if isinstance(node, exp.Values):
            return self._values(node, parent, ctes)
        if isinstance(node, exp.Select):
            return _SelectReader(self, node, parent, ctes).read()
        if isinstance(node, exp.Table):
            return self._rel(exp.Select(expressions=[exp.Star()], from_=exp.From(this=node)), parent, ctes)
        raise Unsupported(type(node).__name__)

    def _ctes(self, node: exp.Expr, ctes: dict[str, Cte]) -> dict[str, Cte]:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        self.ctx.used.add("cte")
        found = dict(ctes)
        recursive = bool(clause.args.get("recursive"))
        for item in clause.expressions:
            alias = item.args["alias"]
            scope = Scope(self.ctx, None, {})
            names = tuple(scope.fold(column) for column in alias.args.get("columns") or ())
            name = scope.fold(alias.this)
            calls_itself = recursive and any(
                table.name.lower() == name.lower() for table in item.this.find_all(exp.Table)
            )
            if calls_itself:
                raise Unsupported("WITH RECURSIVE")
            found[name] = Cte(item.this, names, dict(found), calls_itself)
        return found

    def cte(self, cte: Cte) -> tuple[Rel, tuple[str, ...], tuple[bool, ...]]:
        """Lower one reading of a WITH query."""
        self._cte_reads += 1
        if self._cte_reads > MAX_CTE_READS:
            raise ReadError("too_large", f"WITH queries are read more than {MAX_CTE_READS} times")
        rel, names, starred = self._rel(cte.tree, None, cte.ctes)
        return rel, (*cte.columns, *names[len(cte.columns) :]), starred

    def _wrapped(
        self, node: exp.Subquery, parent: Scope | None, ctes: dict[str, Cte]
    ) -> tuple[Rel, tuple[str, ...], tuple[bool, ...]]:
        """A query in parentheses, perhaps with an ORDER BY or LIMIT of its own after them."""
        if node.args.get("joins") or node.args.get("where"):
            raise Unsupported("a query in parentheses that is joined on")
        rel, names, starred = self._rel(node.this, parent, ctes)
        if not any(node.args.get(name) for name in ("order", "limit", "offset")):
            return rel, names, starred
        if rel.limit is not None or rel.offset is not None:
            raise Unsupported("LIMIT outside of LIMIT")
        return self._tail(node, rel._replace(order=()), names, parent, ctes), names, starred

    def _tail(
        self, node: exp.Expr, rel: Rel, names: tuple[str, ...], parent: Scope | None, ctes: dict[str, Cte]
    ) -> Rel:
        """ORDER BY and LIMIT of a set operation or a query in parentheses: keys are output columns."""
        order = node.args.get("order")
        keys: list[Order] = []
        for item in order.expressions if order is not None else ():
            keys.append(self._output_key(item, rel, names))
        scope = Scope(self.ctx, parent, ctes)
        scalars = Scalars(scope, self)
        limit, offset = self.limits(node, scalars)
        if isinstance(rel, Block):
            keys = [key._replace(expr=rel.select[key.expr.value]) for key in keys]
        return rel._replace(order=tuple(keys), limit=limit, offset=offset)

    def _output_key(self, item: exp.Expr, rel: Rel, names: tuple[str, ...]) -> Order:
        target = item.this if isinstance(item, exp.Ordered) else item
        desc, nulls_first = self._direction(item)
        width = output_width(rel)
        position: int | None = None
        if isinstance(target, exp.Literal) and not target.is_string:
            position = int(target.name) - 1
        elif isinstance(target, exp.Column):
            folded = Scope(self.ctx, None, {}).fold(target.this)
            position = next((index for index, name in enumerate(names) if name == folded), None)
        if position is None or width is None or not 0 <= position < width:
            raise Unsupported("ORDER BY of a set operation by something else than an output column")
        return Order(Expr("out", position, ()), desc, nulls_first)

    def _direction(self, item: exp.Expr) -> tuple[bool, bool]:
        """Descending or not, and whether NULLs come first, by the dialect's default where nothing is said."""
        desc = bool(item.args.get("desc"))
        nulls_first = item.args.get("nulls_first")
        if nulls_first is not None:
            return desc, bool(nulls_first)
        rule = self.ctx.dialect.nulls
        return desc, (rule == "first") != desc if rule != "either" else False

    def order_key(self, item: exp.Expr, scalars: Scalars) -> Order:
        """One key of an ORDER BY."""
        desc, nulls_first = self._direction(item)
        target = item.this if isinstance(item, exp.Ordered) else item
        return Order(scalars.scalar(target), desc, nulls_first)

    def limits(self, node: exp.Expr, scalars: Scalars) -> tuple[Expr | None, Expr | None]:
        """LIMIT and OFFSET; OFFSET 0 and LIMIT NULL are none."""
        limit_node, offset_node = node.args.get("limit"), node.args.get("offset")
        limit = offset = None
        if limit_node is not None:
            if isinstance(limit_node, exp.Fetch):
                options = limit_node.args.get("limit_options")
                if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
                    raise Unsupported("FETCH … PERCENT or WITH TIES")
                count = limit_node.args.get("count")
                limit = scalars.scalar(count) if count is not None else lit("int", "1")
            else:
                if limit_node.args.get("offset") is not None:
                    offset = scalars.scalar(limit_node.args["offset"])
                if limit_node.args.get("expressions") or (
                    limit_node.args.get("limit_options")
                    and any(limit_node.args["limit_options"].args.get(flag) for flag in ("percent", "with_ties"))
                ):
                    raise Unsupported("LIMIT with options")
                limit = scalars.scalar(limit_node.expression)
        if offset_node is not None:
            offset = scalars.scalar(offset_node.expression)
        if limit in (NULL, lit("word", "all")):
            limit = None
        if offset in (NULL, lit("int", "0")):
            offset = None
        return limit, offset

    def _set_operation(
        self, node: exp.SetOperation, parent: Scope | None, ctes: dict[str, Cte]
    ) -> tuple[Rel, tuple[str, ...], tuple[bool, ...]]:
        if node.args.get("by_name") or node.args.get("side") or node.args.get("kind"):
            raise Unsupported("a set operation BY NAME")
        chain: list[exp.SetOperation] = [node]
        inner: exp.Expr = node.this
        while isinstance(inner, exp.SetOperation) and not any(
            inner.args.get(name) for name in ("order", "limit", "offset", "with_")
        ):
            chain.append(inner)
            inner = inner.this
        rel, names, starred = self._rel(inner, parent, ctes)
        rel = _unordered(rel)
        for step in reversed(chain):
            other, _, flags = self._rel(step.expression, parent, ctes)
            other = _unordered(other)
            op = (
                "union" if isinstance(step, exp.Union) else "intersect" if isinstance(step, exp.Intersect) else "except"
            )
            keep = not step.args.get("distinct")
            if output_width(rel) != output_width(other):
                self.ctx.loose = True
            starred = (
                tuple(a or b for a, b in zip(starred, flags, strict=False)) if len(starred) == len(flags) else starred
            )
            if (
                isinstance(rel, SetOp)
                and rel.op == op != "except"
                and rel.all == keep
                and not (rel.order or rel.limit or rel.offset)
            ):
                rel = rel._replace(branches=(*rel.branches, other))
            else:
                rel = SetOp(op, keep, (rel, other))
        if any(node.args.get(name) for name in ("order", "limit", "offset")):
            rel = self._tail(node, rel, names, parent, ctes)
        return rel, names, starred

    def _values(
        self, node: exp.Values, parent: Scope | None, ctes: dict[str, Cte]
    ) -> tuple[Rel, tuple[str, ...], tuple[bool, ...]]:
        scope = Scope(self.ctx, parent, ctes)
        scalars = Scalars(scope, self)
        rows: list[Rel] = []
        for item in node.expressions:
            parts = item.expressions if isinstance(item, exp.Tuple) else [item]
            rows.append(Block(select=tuple([scalars.scalar(part) for part in parts])))
        width = len(rows[0].select) if rows and isinstance(rows[0], Block) else 0
        names = tuple(f"column{index + 1}" for index in range(width))
        rel = rows[0] if len(rows) == 1 else SetOp("union", True, tuple(rows))
        return rel, names, (False,) * width


def _unordered(rel: Rel) -> Rel:
    """A branch of a set operation: its ORDER BY says nothing unless a LIMIT goes by it."""
    return rel if rel.limit is not None or rel.offset is not None else rel._replace(order=())


class _SelectReader:
    """Lowers one SELECT."""

    def __init__(self, lowering: Lowering, node: exp.Select, parent: Scope | None, ctes: dict[str, Cte]) -> None:
        self.lowering = lowering
        self.ctx = lowering.ctx
        self.node = node
        self.scope = Scope(self.ctx, parent, ctes)
        self.scalars = Scalars(self.scope, lowering)
        self.names: list[str] = []
        self.starred: list[bool] = []

    def read(self) -> tuple[Rel, tuple[str, ...], tuple[bool, ...]]:
        """The block, its output names, and which outputs a star over a table brought in."""
        node = self.node
        unknown = [name for name, value in node.args.items() if value and name not in KNOWN_SELECT]
        if unknown or node.args.get("kind"):
            raise Unsupported(", ".join(unknown) or "SELECT AS")
        joined = self._from()
        for window in node.args.get("windows") or ():
            self.scope.windows[window.this.name.lower()] = window
        self.scope.reads_aliases = self.ctx.dialect.where_alias
        if self.scope.reads_aliases:
            self._declare_aliases()
        where = list(joined.where)
        if node.args.get("where") is not None:
            self._condition(node.args["where"].this, where)
        select = self._projection()
        self.scope.reads_aliases = self.ctx.dialect.group_alias
        group, extra = self._group(select)
        having: list[Expr] = []
        if node.args.get("having") is not None:
            self._condition(node.args["having"].this, having)
        distinct = self._distinct(extra)
        order = self._order(select)
        if node.args.get("qualify") is not None:
            self._qualify(extra)
        limit, offset = self.lowering.limits(node, self.scalars)
        block = Block(
            tuple(joined.sources),
            tuple(joined.lefts),
            tuple(dict.fromkeys(where)),
            group,
            tuple(dict.fromkeys(having)),
            tuple(select),
            distinct,
            tuple(order),
            limit,
            offset,
            tuple(extra),
        )
        block = self._bare_columns(self._global_aggregate(block))
        return block, tuple(self.names), tuple(self.starred)

    def _condition(self, node: exp.Expr, into: list[Expr]) -> None:
        into.extend(conjuncts(self.scalars.condition(node)))

    def _declare_aliases(self) -> None:
        for item in self.node.expressions:
            if isinstance(item, exp.Alias) and not item.find(exp.AggFunc, exp.Window):
                folded = self.scope.fold(item.args["alias"])
                if folded not in self.scope.aliases:
                    self.scope.reads_aliases = False
                    loose = self.ctx.loose
                    self.scope.aliases[folded] = self.scalars.scalar(item.this)
                    self.ctx.loose = loose
                    self.scope.reads_aliases = True

    # -- FROM ---------------------------------------------------------------------------------------------------

    def _from(self) -> Joined:
        joined = Joined()
        clause = self.node.args.get("from_")
        if clause is None:
            return joined
        self._item(clause.this, joined)
        for lateral in self.node.args.get("laterals") or ():
            raise Unsupported(f"LATERAL VIEW {lateral.key}")
        for join in self.node.args.get("joins") or ():
            self._join(join, joined)
        return joined

    def _item(self, node: exp.Expr, joined: Joined) -> None:
        """Read one item of FROM (with the joins that hang on it) into what is joined so far."""
        if isinstance(node, exp.Table) and not isinstance(node.this, (exp.Anonymous, exp.Func)):
            self._table(node, joined)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)) and not node.alias:
            self._item(node.this, joined)
        elif isinstance(node, (exp.Subquery, exp.Values)):
            self._derived(node, joined, lateral=False)
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery) and not node.args.get("view"):
            self._derived(node, joined, lateral=True)
        elif isinstance(node, exp.Paren):
            self._item(node.this, joined)
            return
        else:
            raise Unsupported(f"{type(node).__name__} in FROM")
        if not isinstance(node, exp.Values):
            for join in node.args.get("joins") or ():
                self._join(join, joined)

    def _qualified(self, node: exp.Table, name: str) -> str:
        """A table's name with the schema it is asked of, unless that is where bare names are looked up."""
        parts = [self.scope.fold(part) for part in (node.args.get("catalog"), node.args.get("db")) if part is not None]
        if len(parts) == 1 and parts[0].lower() == DEFAULT_SCHEMAS.get(self.ctx.dialect.name):
            return name
        return ".".join((*parts, name))

    def _table(self, node: exp.Table, joined: Joined) -> None:
        for flag in ("sample", "pivots", "version", "when", "ordinality", "changes", "partition"):
            if node.args.get(flag):
                raise Unsupported(f"{flag} on a table")
        alias = node.args.get("alias")
        if not node.args.get("db"):
            cte = self.scope.ctes.get(self.scope.fold(node.this))
            if cte is not None:
                rel, names, starred = self.lowering.cte(cte)
                self._add_derived(rel, names, starred, alias, self.scope.fold(node.this), joined)
                return
        if alias is not None and alias.args.get("columns"):
            raise Unsupported("column aliases on a table")
        written = node.this.name
        facts = self.ctx.table(written)
        sid = self.ctx.fresh()
        folded = self.scope.fold(node.this)
        if facts is not None:
            self.ctx.tables[sid] = facts
            name = self._qualified(node, facts.name)
            columns: dict[str, str | int] | None = {
                (c.lower() if self.ctx.dialect.fold == "insensitive" else c): c for c in facts.columns
            }
        else:
            name = self._qualified(node, folded)
            columns = None
        self.ctx.named.add(name)
        source = Source(sid, "table", name)
        joined.sources.append(source)
        key = self.scope.fold(alias.this) if alias is not None and alias.this is not None else folded
        self.scope.items.append(Item(key, source, columns, {}))

    def _derived(self, node: exp.Expr, joined: Joined, *, lateral: bool) -> None:
        alias = node.args.get("alias")
        inner = node.this if lateral or isinstance(node, exp.Subquery) else node
        if lateral:
            inner = inner.this
        if isinstance(node, exp.Subquery) and any(node.args.get(n) for n in ("order", "limit", "offset")):
            inner = exp.Subquery(this=inner, **{n: node.args.get(n) for n in ("order", "limit", "offset")})
        parent = self.scope if lateral else self.scope.parent
        rel, names, starred = self.lowering._rel(inner, parent, self.scope.ctes)
        self._add_derived(rel, names, starred, alias, "", joined)

    def _add_derived(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
        self,
        rel: Rel,
        names: tuple[str, ...],
        starred: tuple[bool, ...],
        alias: exp.Expr | None,
        default: str,
        joined: Joined,
    ) -> None:
        if alias is not None:
            given = tuple(self.scope.fold(column) for column in alias.args.get("columns") or ())
            names = (*given, *names[len(given) :])
        rel = _unordered(rel)
        width = output_width(rel)
        sid = self.ctx.fresh()
        source = Source(sid, "derived", "", rel)
        key = self.scope.fold(alias.this) if alias is not None and alias.this is not None else default
        if width is None:
            if isinstance(rel, Block) and _is_filter_of_one_table(rel):
                self._merge_unknown(rel, key, joined)
                return
            raise Unsupported("a derived table with the star of an unknown table")
        self.ctx.outputs[sid] = output_facts(rel, self.ctx) or (UNKNOWN,) * width
        columns: dict[str, str | int] = {}
        flags: dict[str, bool] = {}
        for position, name in enumerate(names):
            if name and name not in columns:
                columns[name] = position
                flags[name] = starred[position] if position < len(starred) else False
        joined.sources.append(source)
        self.scope.items.append(Item(key, source, columns, flags))

    def _merge_unknown(self, rel: Block, key: str, joined: Joined) -> None:
        """`(SELECT * FROM t WHERE …) x` over an unknown table: the table itself, filtered."""
        self.ctx.used.add("derived-table")
        source = rel.sources[0]
        joined.sources.append(source)
        joined.where.extend(rel.where)
        self.scope.items.append(Item(key, source, None, {}))

    def _join(self, join: exp.Join, joined: Joined) -> None:
        side, kind = join.side.upper(), join.kind.upper()
        method = (join.method or "").upper()
        if kind in {"SEMI", "ANTI", "STRAIGHT"} or method not in {"", "NATURAL"} or join.args.get("match_condition"):
            raise Unsupported(f"{method} {side} {kind} JOIN".strip())
        before = len(self.scope.items)
        right = Joined()
        self._item(join.this, right)
        on: list[Expr] = []
        using = [self.scope.fold(item) for item in join.args.get("using") or ()]
        if method == "NATURAL":
            using = self._natural(before)
        if using:
            self._using(using, before, side, on)
        if join.args.get("on") is not None:
            self._condition(join.args["on"], on)
        if side == "LEFT":
            if not joined.sources and not joined.lefts:
                raise Unsupported("LEFT JOIN of nothing")
            joined.lefts.append(right.as_right(on))
            self._pad(right)
        elif side == "RIGHT":
            self.ctx.used.add("right-join")
            left = Joined()
            left.sources, left.lefts, left.where = joined.sources, joined.lefts, joined.where
            self._pad(left)
            joined.sources, joined.where = right.sources, list(right.where)
            joined.lefts = [*right.lefts, left.as_right(on)]
        elif side == "FULL":
            self._full(joined, right, on)
        else:
            joined.sources.extend(right.sources)
            joined.lefts.extend(right.lefts)
            joined.where.extend(right.where)
            joined.where.extend(on)

    def _pad(self, side: Joined) -> None:
        """While the rest is lowered, columns of the null-supplied side may be NULL."""
        block = Block(tuple(side.sources), tuple(side.lefts))
        self.ctx.padded |= {source.sid for source in all_sources(block)}

    def _full(self, joined: Joined, right: Joined, on: list[Expr]) -> None:
        self._pad(joined)
        self._pad(right)
        parts = (joined.as_right(()), right.as_right(()))
        source = Source(self.ctx.fresh(), "full", "", None, (parts[0], parts[1]._replace(on=parts[1].on)))
        condition = Expr("func", ("full-on",), (junction("and", on),))
        joined.sources, joined.lefts, joined.where = [source], [], []
        joined.sources[0] = source._replace(
            parts=(parts[0], LeftJoin(parts[1].sources, parts[1].lefts, (*parts[1].on, condition)))
        )

    def _natural(self, before: int) -> list[str]:
        left, right = self.scope.items[:before], self.scope.items[before:]
        if any(item.columns is None for item in (*left, *right)):
            raise Unsupported("NATURAL JOIN of unknown tables")
        ours = [name for item in left for name in item.columns or ()]
        theirs = {name for item in right for name in item.columns or ()}
        return list(dict.fromkeys(name for name in ours if name in theirs))

    def _using(self, names: list[str], before: int, side: str, on: list[Expr]) -> None:
        self.ctx.used.add("using")
        for name in names:
            left = self._column_of(self.scope.items[:before], name)
            right = self._column_of(self.scope.items[before:], name)
            on.extend(conjuncts(self.scalars.compare("=", left, right)))
            if side == "FULL":
                self.scope.merged[name] = Expr("coalesce", None, (left, right))
            elif side == "RIGHT":
                self.scope.merged[name] = right
            else:
                self.scope.merged[name] = self.scope.merged.get(name, left)

    def _column_of(self, items: list[Item], name: str) -> Expr:
        if name in self.scope.merged and items and items[0] is self.scope.items[0]:
            return self.scope.merged[name]
        for item in items:
            if item.columns is not None and name in item.columns:
                return col(item.source.sid, item.columns[name])
        unknown = [item for item in items if item.columns is None]
        if len(unknown) != 1:
            self.ctx.loose = True
        if unknown:
            return col(unknown[0].source.sid, name)
        self.ctx.loose = True
        return col(-1, name)

    # -- SELECT -------------------------------------------------------------------------------------------------

    def _projection(self) -> list[Expr]:
        select: list[Expr] = []
        for item in self.node.expressions:
            if isinstance(item, exp.Star):
                self._star(item, None, select)
            elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
                self._star(item.this, self.scope.fold(item.args["table"]), select)
            elif isinstance(item, exp.Alias):
                expr = self._output(item.this)
                folded = self.scope.fold(item.args["alias"])
                if folded not in self.scope.aliases or self.ctx.dialect.where_alias:
                    self.scope.aliases.setdefault(folded, expr)
                select.append(expr)
                self.names.append(folded)
                self.starred.append(False)
            else:
                select.append(self._output(item))
                self.names.append(self.scope.fold(item.this) if isinstance(item, exp.Column) else "")
                self.starred.append(self._came_by_star(item))
        return select

    def _output(self, item: exp.Expr) -> Expr:
        """An output; where SQLite converts nothing for what is written, the column that it comes to says so."""
        expr = self.scalars.scalar(item)
        written = item.unnest() if isinstance(item, exp.Paren) else item
        plain = expr.op != "col" or isinstance(written, (exp.Column, exp.Cast, exp.Subquery))
        return expr if plain or self.ctx.dialect.coerces != "affinity" else bare(expr)

    def _came_by_star(self, item: exp.Expr) -> bool:  # an explicit name is explicit, whatever is below it
        return False

    def _star(self, star: exp.Star, table: str | None, select: list[Expr]) -> None:
        if any(star.args.get(name) for name in ("except_", "replace", "rename")):
            raise Unsupported("* EXCEPT or REPLACE")
        items = [item for item in self.scope.items if table is None or item.alias == table]
        if not items:
            raise Unsupported(f"{table}.* of no table" if table else "* without FROM")
        done: set[str] = set()
        if table is None:
            for name, expr in self.scope.merged.items():
                select.append(expr)
                self.names.append(name)
                self.starred.append(True)
                done.add(name)
        for item in items:
            if item.columns is None:
                if done:
                    raise Unsupported("* over USING of unknown tables")
                select.append(Expr("star", item.source.sid, ()))
                self.names.append("*")
                self.starred.append(True)
                continue
            for name, key in item.columns.items():
                if name not in done:
                    select.append(col(item.source.sid, key))
                    self.names.append(name)
                    self.starred.append(item.source.kind == "table" or item.starred.get(name, False))

    def _group(self, select: list[Expr]) -> tuple[tuple[Expr, ...] | None, list[Expr]]:
        clause = self.node.args.get("group")
        extra: list[Expr] = []
        if clause is None:
            return None, extra
        if clause.args.get("all"):
            raise Unsupported("GROUP BY ALL")
        keys: list[Expr] = []
        for item in clause.expressions:
            if isinstance(item, exp.Literal) and not item.is_string and item.name.isdigit():
                position = int(item.name) - 1
                if not 0 <= position < len(select):
                    raise Unsupported("GROUP BY of a position that is not there")
                self.ctx.used.add("ordinal")
                keys.append(select[position])
            elif isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets)):
                extra.append(self._grouping(item))
            else:
                keys.append(self.scalars.scalar(item))
        for name in ("rollup", "cube", "grouping_sets", "totals"):
            value = clause.args.get(name)
            if value is True or value:
                parts = [part for part in value if isinstance(part, exp.Expr)] if isinstance(value, list) else []
                extra.append(Expr("func", (name,), tuple(self._grouping(part) for part in parts)))
        return tuple(dict.fromkeys(keys)), extra

    def _grouping(self, node: exp.Expr) -> Expr:
        if isinstance(node, exp.Paren):
            return Expr("func", ("tuple",), (self._grouping(node.this),))
        if isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)):
            return Expr(
                "func", (type(node).__name__.lower(),), tuple(self._grouping(item) for item in node.expressions)
            )
        return self.scalars.scalar(node)

    def _distinct(self, extra: list[Expr]) -> bool:
        clause = self.node.args.get("distinct")
        if clause is None:
            return False
        on = clause.args.get("on")
        if on is None:
            return True
        parts = on.expressions if isinstance(on, exp.Tuple) else [on]
        extra.append(Expr("func", ("distinct on",), tuple(self.scalars.scalar(part) for part in parts)))
        return False

    def _order(self, select: list[Expr]) -> list[Order]:
        clause = self.node.args.get("order")
        keys: list[Order] = []
        self.scope.aliases_first = True
        for item in clause.expressions if clause is not None else ():
            target = item.this if isinstance(item, exp.Ordered) else item
            if isinstance(target, exp.Literal) and not target.is_string and target.name.isdigit():
                position = int(target.name) - 1
                if not 0 <= position < len(select) or select[position].op == "star":
                    raise Unsupported("ORDER BY of a position that is not there")
                self.ctx.used.add("ordinal")
                desc, nulls_first = self.lowering._direction(item)
                keys.append(Order(select[position], desc, nulls_first))
            else:
                if not isinstance(target, exp.Column):
                    self.scope.aliases_first = self.ctx.dialect.name == "mysql"
                    self.scope.reads_aliases = True
                keys.append(self.lowering.order_key(item, self.scalars))
                self.scope.aliases_first = True
        self.scope.aliases_first = False
        first: dict[Expr, Order] = {}
        for key in keys:
            first.setdefault(key.expr, key)
        return list(first.values())

    def _qualify(self, extra: list[Expr]) -> None:
        found: list[Expr] = []
        self.scope.reads_aliases = True
        self._condition(self.node.args["qualify"].this, found)
        extra.append(Expr("func", ("qualify",), tuple(found)))

    def _bare_columns(self, block: Block) -> Block:
        """A grouped query that returns what its groups do not determine.

        The row it is taken from is the engine's choice.

        Such a query is kept as it stands, with the textual order of its sources, which engines tend to choose by.
        """
        if block.group is None or not block.sources:
            return block
        keys = set(block.group)
        outputs = (*block.select, *block.having, *(key.expr for key in block.order))
        if all(expr in keys or expr.op in {"agg", "lit"} for expr in outputs):
            return block
        determined = Determined(block, self.ctx, given=block.group)
        if all(_settled(expr, keys, determined) for expr in outputs):
            return block
        return block._replace(ordered=tuple([source.sid for source in all_sources(block)]))

    def _global_aggregate(self, block: Block) -> Block:
        """A block with aggregates and no GROUP BY is one group; without aggregates HAVING needs that too."""
        if block.group is not None:
            return block
        outputs = (*block.select, *block.having, *(key.expr for key in block.order))
        if block.having or any(contains(expr, frozenset({"agg"})) for expr in outputs):
            return block._replace(group=())
        return block


def _settled(expr: Expr, keys: set[Expr], determined: Determined) -> bool:
    """Whether an output is fixed by its group."""
    if expr.op in {"agg", "lit"} or expr in keys or determined.holds(expr):
        return True
    if expr.op in {"col", "star"}:
        return False
    if expr.op in {"exists", "in", "scalar", "quant"}:
        inside = columns(expr._replace(args=())) - keys
        if any(column.value[0] in determined.own for column in inside):
            return False
    return all(_settled(arg, keys, determined) for arg in expr.args)


def _is_filter_of_one_table(block: Block) -> bool:
    return (
        len(block.sources) == 1
        and len(block.select) == 1
        and block.select[0].op == "star"
        and not (block.lefts or block.group is not None or block.distinct or block.limit or block.offset or block.extra)
    )


def facts_of(rel: Rel, ctx: Context) -> tuple[ColumnFact, ...]:
    """What is known of the outputs of a query."""
    return output_facts(rel, ctx)


__all__ = ["Lowering", "Unsupported", "negate", "rewrite"]
