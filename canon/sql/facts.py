"""What can be told of an expression or a block: types, NULLs, keys, which columns determine which."""

from collections.abc import Iterable

from canon.schema import ColumnType
from canon.sql.affinity import converts
from canon.sql.algebra import (
    COMPARISONS,
    Block,
    Expr,
    LeftJoin,
    Rel,
    SetOp,
    Source,
    all_sources,
    col,
    left_sources,
    sids,
    walk,
)
from canon.sql.context import UNKNOWN, ColumnFact, Context

PREDICATES = COMPARISONS | {
    "eqclass",
    "and",
    "or",
    "not",
    "same",
    "distinct",
    "isnull",
    "notnull",
    "span",
    "like",
    "exists",
    "in",
    "quant",
    "untrue",
    "istrue",
    "has",
}

_FUNCTION_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(
        (
            "length",
            "year",
            "month",
            "day",
            "dayofmonth",
            "dayofweek",
            "hour",
            "minute",
            "second",
            "sign",
            "strposition",
            "datediff",
            "timestampdiff",
            "floor",
            "ceil",
            "extract",
        ),
        "integer",
    ),
    **dict.fromkeys(
        (
            "lower",
            "upper",
            "concat",
            "substring",
            "trim",
            "replace",
            "timetostr",
            "group_concat",
            "left",
            "right",
            "dpipe",
            "strftime",
            "hex",
        ),
        "text",
    ),
    **dict.fromkeys(("sqrt", "exp", "ln", "log", "pow"), "real"),
}

STRICT_FUNCTIONS = frozenset(
    {
        "abs",
        "lower",
        "upper",
        "length",
        "round",
        "floor",
        "ceil",
        "year",
        "month",
        "day",
        "neg",
        "substring",
        "trim",
        "sign",
        "sqrt",
        "extract",
        "timetostr",
    }
)
ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "div"})
# These refuse to compare a text column with a number (PostgreSQL 10.2, BigQuery "Conversion rules").
ALIKE_ONLY = frozenset({"postgres", "bigquery"})


def column_fact(expr: Expr, ctx: Context) -> ColumnFact:
    """What is known of a column node."""
    source, name = expr.value
    if isinstance(name, str):
        table = ctx.tables.get(source)
        return UNKNOWN if table is None else table.columns.get(name, UNKNOWN)
    outputs = ctx.outputs.get(source)
    return outputs[name] if outputs is not None and name < len(outputs) else UNKNOWN


def type_of(expr: Expr, ctx: Context) -> ColumnType:
    """The type of a scalar; `any` where it is not known."""
    op = expr.op
    if op == "col":
        return column_fact(expr, ctx).type
    if op == "lit":
        return _literal_type(expr)
    if op == "agg":
        return _aggregate_type(expr, ctx)
    if op in ARITHMETIC:
        return _arithmetic_type(expr, ctx)
    if op in PREDICATES:
        return "boolean"
    if op == "cast":
        cast: ColumnType = expr.value[0]
        return cast
    if op == "case":
        return _common([type_of(arg, ctx) for arg in (*expr.args[1::2], expr.args[-1]) if arg.value != ("null", "")])
    if op == "coalesce":
        return _common([type_of(arg, ctx) for arg in expr.args])
    if op == "scalar":
        return output_facts(expr.value, ctx)[0].type
    if op == "neg":
        return type_of(expr.args[0], ctx)
    if op == "window":
        if expr.value.name in {"row_number", "rank", "dense_rank", "count", "ntile"}:
            return "integer"
        return type_of(expr.args[0], ctx) if expr.value.name in {"min", "max", "lag", "lead"} and expr.args else "any"
    if op == "func":
        name = expr.value[0]
        if name in {"abs", "bare"}:
            return type_of(expr.args[0], ctx)
        return _FUNCTION_TYPES.get(name, "any")
    return "any"


def _literal_type(expr: Expr) -> ColumnType:
    found: dict[str, ColumnType] = {
        "int": "integer",
        "dec": "decimal",
        "float": "real",
        "num": "decimal",
        "str": "text",
        "bool": "boolean",
        "ts": "timestamp",
        "time": "time",
        "blob": "blob",
    }
    return found.get(expr.value[0], "any")


def _aggregate_type(expr: Expr, ctx: Context) -> ColumnType:
    name = expr.value[0]
    if name == "count":
        return "integer"
    if not expr.args:
        return "any"
    inner = type_of(expr.args[0], ctx)
    if name in {"min", "max", "any_value"}:
        return inner
    if name == "sum":
        return inner if inner in {"integer", "decimal", "real"} else "any"
    if name == "avg":
        return "real" if inner == "real" or ctx.dialect.name in {"sqlite", "duckdb"} else "decimal"
    return "any"


def _arithmetic_type(expr: Expr, ctx: Context) -> ColumnType:
    kinds = {type_of(arg, ctx) for arg in expr.args}
    if kinds == {"integer"}:
        if expr.op != "/":
            return "integer"
        return "integer" if ctx.dialect.integer_division else "decimal"
    if "real" in kinds and kinds <= {"integer", "real", "decimal"}:
        return "real"
    if kinds <= {"integer", "decimal"}:
        return "real" if ctx.dialect.name == "sqlite" else "decimal"
    return "any"


def _common(kinds: list[ColumnType]) -> ColumnType:
    distinct = set(kinds)
    return distinct.pop() if len(distinct) == 1 else "any"


def nullable(expr: Expr, ctx: Context, known: frozenset[Expr] | set[Expr] = frozenset()) -> bool:
    """Whether a scalar can be NULL, given the terms that are known not to be."""
    if expr in known:
        return False
    op = expr.op
    if op == "col":
        return expr.value[0] in ctx.padded or not column_fact(expr, ctx).not_null
    if op == "lit":
        return bool(expr.value[0] == "null")
    if op == "agg":
        return bool(expr.value[0] != "count")
    if op in {"exists", "isnull", "notnull", "same", "distinct", "istrue", "untrue"}:
        return False
    if op == "coalesce":
        return all(nullable(arg, ctx, known) for arg in expr.args)
    if op == "case":
        return any(nullable(arg, ctx, known) for arg in (*expr.args[1::2], expr.args[-1]))
    if op in {"+", "-", "*", "neg", "and", "or", "not", "span", "like", "cast"} or op in COMPARISONS:
        return any(nullable(arg, ctx, known) for arg in expr.args)
    if op == "window":
        return expr.value.name not in {"row_number", "rank", "dense_rank", "count", "ntile"}
    if op == "func" and expr.value[0] in {"lower", "upper", "length", "abs"}:
        return any(nullable(arg, ctx, known) for arg in expr.args)
    return True


def rejected(expr: Expr) -> set[Expr]:
    """The terms that cannot be NULL where the predicate is true."""
    op = expr.op
    if op == "and":
        return set().union(*(rejected(arg) for arg in expr.args))
    if op == "or":
        return set.intersection(*(rejected(arg) for arg in expr.args))
    if op in COMPARISONS or op == "like":
        return set().union(*(strict_terms(arg) for arg in expr.args))
    if op == "eqclass":
        return set(expr.args)
    if op == "notnull" or (op == "span" and not expr.value.null):
        return strict_terms(expr.args[0])
    if op in {"in", "quant"}:
        if op == "quant" and expr.value[1] == "all":
            return set()
        return set().union(*(strict_terms(arg) for arg in expr.args))
    if op == "not" and expr.args[0].op in {"like", "in"} | COMPARISONS:
        inner = expr.args[0]
        return set() if inner.op == "in" else set().union(*(strict_terms(arg) for arg in inner.args))
    if op in {"isnull", "col"}:
        return strict_terms(expr) if op == "col" else set()
    return set()


def strict_terms(expr: Expr) -> set[Expr]:
    """The terms whose being NULL makes the scalar NULL, itself included."""
    if expr.op in {"+", "-", "*", "/", "%", "div", "neg", "cast"} or (
        expr.op == "func" and expr.value[0] in STRICT_FUNCTIONS
    ):
        return {expr}.union(*(strict_terms(arg) for arg in expr.args))
    return set() if expr.op == "lit" else {expr}


def not_null_terms(block: Block) -> set[Expr]:
    """The terms that are not NULL in any row that passes a block's WHERE."""
    return set().union(*(rejected(part) for part in block.where)) if block.where else set()


def padded_sids(block: Block) -> set[int]:
    """The sources of a block that an outer join may pad with NULL."""
    found = {source.sid for left in block.lefts for source in left_sources(left)}
    for source in block.sources:
        for part in source.parts or ():
            found |= {inner.sid for inner in left_sources(part)}
    return found


def output_facts(rel: Rel, ctx: Context) -> tuple[ColumnFact, ...]:
    """What is known of each output column of a query."""
    if isinstance(rel, SetOp):
        branches = [output_facts(branch, ctx) for branch in rel.branches]
        if len({len(branch) for branch in branches}) != 1:
            return ()
        if rel.op != "union":
            return tuple(
                ColumnFact(
                    facts[0].type,
                    any(fact.not_null for fact in facts) if rel.op == "intersect" else facts[0].not_null,
                    converts=all(fact.converts for fact in facts),
                )
                for facts in zip(*branches, strict=True)
            )
        return tuple(
            ColumnFact(
                _common([fact.type for fact in facts]),
                all(fact.not_null for fact in facts),
                converts=all(fact.converts for fact in facts),
            )
            for facts in zip(*branches, strict=True)
        )
    with ctx.padding(padded_sids(rel)):
        known = frozenset(not_null_terms(rel))
        return tuple(
            ColumnFact(type_of(expr, ctx), not nullable(expr, ctx, known), converts=converts(expr, ctx))
            for expr in rel.select
        )


class Determined:
    """The columns and sources that are fixed once some expressions are: keys, equalities, constants, ON conditions."""

    def __init__(self, block: Block, ctx: Context, *, given: Iterable[Expr] = (), outer: bool = True) -> None:
        """Work out the closure.

        Args:
            block: whose FROM and WHERE are looked at.
            ctx: the query's context.
            given: the expressions that are fixed to start with.
            outer: whether columns of enclosing blocks count as fixed.
        """
        self.ctx = ctx
        self.own = {source.sid: source for source in all_sources(block)}
        self.outer = outer
        self.terms: set[Expr] = set(given)
        self.rows: set[int] = set()
        self._equalities = _equalities(block.where)
        self._constants(block)
        self._lefts = block.lefts
        self._not_null = not_null_terms(block)
        self._close()

    def _constants(self, block: Block) -> None:
        for part in block.where:
            if part.op == "isnull" or (part.op == "span" and _is_point(part) and _as_written(part, self.ctx)):
                self.terms.add(part.args[0])

    def holds(self, expr: Expr) -> bool:
        """Whether an expression is fixed."""
        if expr in self.terms or expr.op == "lit":
            return True
        if expr.op == "col":
            source = expr.value[0]
            return source in self.rows or (self.outer and source not in self.own)
        if expr.op in {"agg", "window", "star", "clock"}:
            return False
        if expr.op in {"exists", "in", "scalar", "quant"}:
            inner_sids = {node.value[0] for node in walk(expr) if node.op == "col"}
            own_columns = {node for node in walk(expr) if node.op == "col" and node.value[0] in self.own}
            return bool(inner_sids) and all(self.holds(column) for column in own_columns)
        return bool(expr.args) and all(self.holds(arg) for arg in expr.args)

    def _close(self) -> None:
        changed = True
        while changed:
            changed = False
            for ours, theirs in self._equalities:
                for known, other in ((ours, theirs), (theirs, ours)):
                    if other not in self.terms and self.holds(known) and fixes(known, other, self.ctx):
                        self.terms.add(other)
                        changed = True
            for sid, source in self.own.items():
                if sid not in self.rows and sid not in self._outer_joined() and self._keyed(source, self._not_null):
                    self.rows.add(sid)
                    changed = True
            for left in self._lefts:
                changed = self._close_left(left) or changed

    def _outer_joined(self) -> set[int]:
        return {source.sid for left in self._lefts for source in left_sources(left)}

    def _close_left(self, left: LeftJoin) -> bool:
        """A left-joined row is fixed if its key is, and all that its ON condition asks of the left side."""
        inside = {source.sid for source in left_sources(left)}
        if inside <= self.rows or left.lefts:
            return False
        for part in left.on:
            mine = {column for column in _columns_of(part) if column.value[0] not in inside}
            if not all(self.holds(column) for column in mine):
                return False
        probe = set(self.terms)
        rows = set(self.rows)
        pending = {source.sid: source for source in left.sources}
        equalities = _equalities(left.on)
        not_null = set().union(*(rejected(part) for part in left.on)) if left.on else set()
        self.terms |= {p.args[0] for p in left.on if p.op == "span" and _is_point(p) and _as_written(p, self.ctx)}
        progress = True
        while progress and pending:
            progress = False
            for ours, theirs in equalities:
                for known, other in ((ours, theirs), (theirs, ours)):
                    if other not in self.terms and self.holds(known) and fixes(known, other, self.ctx):
                        self.terms.add(other)
                        progress = True
            for sid, source in list(pending.items()):
                if self._keyed(source, not_null):
                    self.rows.add(sid)
                    del pending[sid]
                    progress = True
        self.terms = probe
        if pending:
            self.rows = rows
            return False
        return True

    def _keyed(self, source: Source, not_null: set[Expr]) -> bool:
        """Whether a key of the source is fixed, so that at most one of its rows is left."""
        return any(
            all(self.holds(column) for column in key)
            and all(column in not_null or not self._nullable(column) for column in key)
            for key in keys_of(source, self.ctx)
        )

    def _nullable(self, column: Expr) -> bool:
        return not column_fact(column, self.ctx).not_null


def _equalities(parts: Iterable[Expr]) -> list[tuple[Expr, Expr]]:
    """The pairs of terms that conjuncts make equal."""
    found: list[tuple[Expr, Expr]] = []
    for part in parts:
        if part.op in {"=", "same"}:
            found.append((part.args[0], part.args[1]))
        elif part.op == "eqclass":
            found.extend((part.args[0], other) for other in part.args[1:])
    return found


def fixes(known: Expr, other: Expr, ctx: Context) -> bool:
    """Whether a term that equals a fixed one is fixed: many texts (`1`, `01`) equal one number.

    Terms of which neither type is known are taken to be of one type; one that is known to be a number may have
    a text beside it.
    """
    if ctx.dialect.name in ALIKE_ONLY:
        return True
    ours, theirs = type_of(known, ctx), type_of(other, ctx)
    if theirs in {"text", "blob"}:
        return ours == theirs
    return theirs != "any" or ours in {"text", "any"}


def _as_written(point: Expr, ctx: Context) -> bool:
    """Whether a term that is held to a literal is compared as what it is, not a text as a number."""
    return bool(point.value.kind != "num") or type_of(point.args[0], ctx) != "text"


def _columns_of(expr: Expr) -> set[Expr]:
    return {node for node in walk(expr) if node.op == "col"}


def _is_point(atom: Expr) -> bool:
    parts = atom.value.parts
    return not atom.value.null and len(parts) == 1 and parts[0].low is not None and parts[0].low == parts[0].high


def keys_of(source: Source, ctx: Context) -> list[tuple[Expr, ...]]:
    """The sets of columns of a source no two rows agree on (NULLs aside)."""
    if source.kind == "table":
        table = ctx.tables.get(source.sid)
        return [] if table is None else [tuple(col(source.sid, name) for name in sorted(key)) for key in table.keys]
    if source.rel is not None:
        return [tuple(col(source.sid, position) for position in sorted(key)) for key in output_keys(source.rel, ctx)]
    return []


def output_keys(rel: Rel, ctx: Context) -> list[frozenset[int]]:
    """The sets of output positions that no two rows of a query agree on, NULL taken as a value."""
    if isinstance(rel, SetOp):
        width = output_width(rel)
        if not rel.all and width is not None:
            return [frozenset(range(width))]
        if rel.op != "union":
            return output_keys(rel.branches[0], ctx)
        return []
    if rel.extra:
        return []
    if rel.group == ():
        return [frozenset()]
    everything = frozenset(range(len(rel.select)))
    telling = frozenset(index for index in everything if rel.select[index].op != "lit")
    keys: list[frozenset[int]] = [telling] if rel.distinct else []
    if any(expr.op == "star" for expr in rel.select):
        return keys
    if rel.group is not None:
        positions = {expr: index for index, expr in enumerate(rel.select)}
        found = [positions.get(key) for key in rel.group if key.op != "lit"]
        if all(position is not None for position in found):
            keys.insert(0, frozenset(position for position in found if position is not None))
            return keys
        determined = Determined(rel, ctx, given=rel.select, outer=True)
        if all(determined.holds(key) for key in rel.group):
            keys.append(everything)
        return keys
    return keys + _plain_keys(rel, ctx, everything)


def _plain_keys(block: Block, ctx: Context, everything: frozenset[int]) -> list[frozenset[int]]:
    if not duplicate_free(block, ctx, block.select):
        return []
    key = set(everything)
    for index in sorted(everything, reverse=True):
        rest = [block.select[position] for position in sorted(key - {index})]
        if duplicate_free(block, ctx, rest):
            key.discard(index)
    return [frozenset(key)]


def duplicate_free(block: Block, ctx: Context, given: Iterable[Expr]) -> bool:
    """Whether no two rows of an ungrouped FROM and WHERE agree on the given expressions (NULL taken as a value)."""
    determined = Determined(block, ctx, given=given)
    return all(source.sid in determined.rows for source in all_sources(block))


def output_width(rel: Rel) -> int | None:
    """How many columns a query returns; `None` where a star of an unknown table is among them."""
    if isinstance(rel, SetOp):
        return output_width(rel.branches[0])
    return None if any(expr.op == "star" for expr in rel.select) else len(rel.select)


def at_most_one_row(rel: Rel) -> bool:
    """Whether a query returns at most one row by its shape: a global aggregate, or LIMIT 1."""
    if rel.limit is not None and rel.limit.op == "lit" and rel.limit.value[1] in {"0", "1"}:
        return True
    return isinstance(rel, Block) and (rel.group == () or (not rel.sources and rel.group is None))


def exactly_one_row(rel: Rel) -> bool:
    """Whether a query returns exactly one row whatever the data: a global aggregate without HAVING or LIMIT."""
    return (
        isinstance(rel, Block)
        and (rel.group == () or (not rel.sources and rel.group is None and not rel.where and not rel.lefts))
        and not rel.having
        and rel.limit is None
        and rel.offset is None
        and not rel.extra
    )


def mentions_only(expr: Expr, allowed: set[int]) -> bool:
    """Whether every source an expression mentions is among the allowed ones."""
    return sids(expr) <= allowed
