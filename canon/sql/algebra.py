"""The small relational algebra that queries are lowered to, rewritten in, and compared in.

Everything is a tuple: hashing and equality run in C, and a value is never changed in place.

* `Expr(op, value, args)` is every scalar and every predicate; `op` tells the kind, `value` carries what is not an
  expression, `args` the operands. The operators:

  ============== ===================== =================================================================
  op             value                 args
  ============== ===================== =================================================================
  `col`          (source, column)      none; column is a name for a base table, a position for a derived one
  `lit`          (kind, text)          none; kinds: null bool int dec float num str ts time interval blob
  `and` `or`     None                  two or more, no duplicates, none of the same op
  `not`          None                  one opaque predicate (everything else absorbs its negation)
  `=` `<>` `<` `<=` `>` `>=`  None     two
  `same` `distinct` None               two: IS [NOT] DISTINCT FROM
  `isnull` `notnull` None              one
  `span`         Span                  one term: the term lies in a union of intervals (or is NULL)
  `like`         variant               value, pattern [, escape]
  `case`         None                  condition, result, …, else
  `func`         name                  in order
  `cast`         type                  one
  `agg`          (name, distinct)      the arguments; `count` without arguments is COUNT(*)
  `window`       Window                arguments, partition keys, order keys
  `exists`       Rel                   none
  `in`           Rel                   the left-hand side, one per output column
  `scalar`       Rel                   none
  `quant`        (op, any|all, Rel)    the left-hand side
  `star`         source                none: all columns of a source whose columns are not known
  `out`          position              none: an output column, in the ORDER BY of a set operation
  `clock`        name                  none: a clock call with no pinned instant
  ============== ===================== =================================================================

* `Block` is one SELECT: a bag of inner-joined `sources`, a bag of `lefts` (LEFT JOINs that run after the inner
  joins, in any order that their ON conditions allow), conjuncts, grouping, and the rest. Inner ON conditions are
  part of `where`. RIGHT JOIN is a LEFT JOIN read from the other side.
* `SetOp` is a set operation of two or more branches.

Source numbers are unique in a whole query, so that an expression can be moved between blocks without renaming.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Expr(NamedTuple):
    """A scalar or a predicate; see the table in the module's docstring."""

    op: str
    value: Any
    args: "tuple[Expr, ...]"


class Order(NamedTuple):
    """One sort key."""

    expr: Expr
    desc: bool
    nulls_first: bool


class Window(NamedTuple):
    """What of an OVER clause is not an expression: how many arguments are partition keys, and the sort flags."""

    name: str
    distinct: bool
    arguments: int
    partitions: int
    orders: tuple[tuple[bool, bool], ...]
    frame: str


class Source(NamedTuple):
    """One item of FROM.

    Attributes:
        sid: its number, unique in the query.
        kind: `table`, `derived` (a subquery, laterals included), `full` (a FULL JOIN), `opaque`.
        name: the table's name; what distinguishes an opaque source.
        rel: the query of a derived source.
        parts: the two sides of a FULL JOIN, each with the blocks' sources, and its condition.
    """

    sid: int
    kind: str
    name: str
    rel: "Rel | None" = None
    parts: "tuple[LeftJoin, LeftJoin] | None" = None


class LeftJoin(NamedTuple):
    """The right side of a LEFT JOIN with its ON conjuncts; conditions of the right side alone are among them."""

    sources: tuple[Source, ...]
    lefts: "tuple[LeftJoin, ...]"
    on: tuple[Expr, ...]


class Block(NamedTuple):
    """One SELECT.

    Attributes:
        group: the grouping keys; `()` for an aggregate over everything, `None` where there is no grouping.
        extra: clauses kept as they stand (DISTINCT ON, ROLLUP, TABLESAMPLE…): text that must be the same.
        ordered: the textual order of the sources where the result may depend on it, else `()`.
    """

    sources: tuple[Source, ...] = ()
    lefts: tuple[LeftJoin, ...] = ()
    where: tuple[Expr, ...] = ()
    group: tuple[Expr, ...] | None = None
    having: tuple[Expr, ...] = ()
    select: tuple[Expr, ...] = ()
    distinct: bool = False
    order: tuple[Order, ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    extra: tuple[Expr, ...] = ()
    ordered: tuple[int, ...] = ()


class SetOp(NamedTuple):
    """UNION, INTERSECT or EXCEPT (`op`) of branches; `all` keeps duplicates."""

    op: str
    all: bool
    branches: "tuple[Rel, ...]"
    order: tuple[Order, ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None


Rel = Block | SetOp

NULL = Expr("lit", ("null", ""), ())
TRUE = Expr("lit", ("bool", "true"), ())
FALSE = Expr("lit", ("bool", "false"), ())

COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
MIRROR = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATION = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
SUBQUERIES = frozenset({"exists", "in", "scalar", "quant"})


def col(source: int, column: str | int) -> Expr:
    """A column of a source."""
    return Expr("col", (source, column), ())


def lit(kind: str, text: str) -> Expr:
    """A literal."""
    return Expr("lit", (kind, text), ())


def junction(op: str, parts: "tuple[Expr, ...] | list[Expr]") -> Expr:
    """The AND or OR of parts: flattened, without duplicates; the neutral constant where none is left."""
    unit, zero = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    flat: dict[Expr, None] = {}
    for part in parts:
        if part.op == op:
            flat.update(dict.fromkeys(part.args))
        elif part == zero:
            return zero
        elif part != unit:
            flat[part] = None
    if not flat:
        return unit
    if len(flat) == 1:
        return next(iter(flat))
    return Expr(op, None, tuple(flat))


def conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    """The parts of a top-level AND; none for TRUE."""
    if predicate.op == "and":
        return predicate.args
    return () if predicate == TRUE else (predicate,)


def relation_of(expr: Expr) -> "Rel | None":
    """The subquery inside an expression node, if it is one."""
    if expr.op in {"exists", "in", "scalar"}:
        rel: Rel = expr.value
        return rel
    if expr.op == "quant":
        quantified: Rel = expr.value[2]
        return quantified
    return None


def with_relation(expr: Expr, rel: "Rel") -> Expr:
    """The same expression node over another subquery."""
    if expr.op == "quant":
        return expr._replace(value=(expr.value[0], expr.value[1], rel))
    return expr._replace(value=rel)


def walk(expr: Expr) -> Iterator[Expr]:
    """Every expression node, subqueries' own expressions included."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.args)
        if node.op in SUBQUERIES:
            rel = relation_of(node)
            if rel is not None:
                stack.extend(expressions(rel))


def expressions(rel: "Rel") -> Iterator[Expr]:
    """Every top-level expression of a query, those of derived tables and branches included."""
    if isinstance(rel, SetOp):
        for branch in rel.branches:
            yield from expressions(branch)
        yield from (key.expr for key in rel.order)
    else:
        for source in rel.sources:
            yield from source_expressions(source)
        for left in rel.lefts:
            yield from left_expressions(left)
        yield from rel.where
        yield from rel.group or ()
        yield from rel.having
        yield from rel.select
        yield from (key.expr for key in rel.order)
        yield from rel.extra
    if rel.limit is not None:
        yield rel.limit
    if rel.offset is not None:
        yield rel.offset


def source_expressions(source: Source) -> Iterator[Expr]:
    """Every top-level expression inside a source."""
    if source.rel is not None:
        yield from expressions(source.rel)
    for part in source.parts or ():
        yield from left_expressions(part)


def left_expressions(left: LeftJoin) -> Iterator[Expr]:
    """Every top-level expression inside the right side of a LEFT JOIN."""
    for source in left.sources:
        yield from source_expressions(source)
    for inner in left.lefts:
        yield from left_expressions(inner)
    yield from left.on


def left_sources(left: LeftJoin) -> Iterator[Source]:
    """The sources of the right side of a LEFT JOIN, nested ones included."""
    yield from left.sources
    for inner in left.lefts:
        yield from left_sources(inner)


def all_sources(block: Block) -> Iterator[Source]:
    """The sources of a block's own FROM, outer-joined ones included, derived tables not entered."""
    for source in block.sources:
        yield source
        for part in source.parts or ():
            yield from left_sources(part)
    for left in block.lefts:
        yield from left_sources(left)


def sids(expr: Expr) -> set[int]:
    """The numbers of the sources that an expression mentions (subqueries' own sources included)."""
    found: set[int] = set()
    stack = [expr]
    while stack:
        node = stack.pop()
        if node.op == "col":
            found.add(node.value[0])
        elif node.op == "star":
            found.add(node.value)
        elif node.op in SUBQUERIES:
            rel = relation_of(node)
            if rel is not None:
                stack.extend(expressions(rel))
        stack.extend(node.args)
    return found


def columns(expr: Expr) -> set[Expr]:
    """The columns that an expression mentions, those inside subqueries included."""
    return {node for node in walk(expr) if node.op == "col"}


def contains(expr: Expr, ops: frozenset[str]) -> bool:
    """Whether a node of one of the kinds occurs, subqueries not entered."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if node.op in ops:
            return True
        stack.extend(node.args)
    return False


AGGREGATE = frozenset({"agg"})
WINDOW = frozenset({"window"})


def rewrite(expr: Expr, change: Callable[[Expr], "Expr | None"]) -> Expr:
    """Replace every node for which `change` gives another, outermost first; subqueries are entered."""
    changed = change(expr)
    if changed is not None:
        return changed
    if expr.op in SUBQUERIES:
        rel = relation_of(expr)
        if rel is not None:
            inner = rewrite_rel(rel, change)
            if inner is not rel:
                expr = with_relation(expr, inner)
    if not expr.args:
        return expr
    args = tuple([rewrite(arg, change) for arg in expr.args])
    if args == expr.args:
        return expr
    if expr.op in {"and", "or"}:
        return junction(expr.op, args)
    if expr.op == "eqclass":
        return equality_class(args)
    return Expr(expr.op, expr.value, args)


def equality_class(members: "tuple[Expr, ...]") -> Expr:
    """That terms are equal: one atom for columns, comparisons where other terms are among them."""
    distinct = tuple(dict.fromkeys(members))
    if len(distinct) == 1:
        return Expr("notnull", None, distinct)
    if all(member.op == "col" for member in distinct):
        return Expr("eqclass", None, distinct)
    return junction("and", [Expr("=", None, (distinct[0], other)) for other in distinct[1:]])


def rewrite_own(expr: Expr, change: Callable[[Expr], "Expr | None"]) -> Expr:
    """As `rewrite`, but subqueries are left alone: COUNT(*) in there counts other rows."""
    changed = change(expr)
    if changed is not None:
        return changed
    if not expr.args:
        return expr
    args = tuple([rewrite_own(arg, change) for arg in expr.args])
    if args == expr.args:
        return expr
    if expr.op == "eqclass":
        return equality_class(args)
    return junction(expr.op, args) if expr.op in {"and", "or"} else Expr(expr.op, expr.value, args)


def rewrite_rel(rel: "Rel", change: Callable[[Expr], "Expr | None"]) -> "Rel":
    """Apply `rewrite` to every expression of a query, derived tables and branches included."""

    def each(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([rewrite(expr, change) for expr in exprs])

    order = tuple([key._replace(expr=rewrite(key.expr, change)) for key in rel.order])
    limit = None if rel.limit is None else rewrite(rel.limit, change)
    offset = None if rel.offset is None else rewrite(rel.offset, change)
    if isinstance(rel, SetOp):
        branches = tuple([rewrite_rel(branch, change) for branch in rel.branches])
        return rel._replace(branches=branches, order=order, limit=limit, offset=offset)
    return rel._replace(
        sources=tuple([rewrite_source(source, change) for source in rel.sources]),
        lefts=tuple([rewrite_left(left, change) for left in rel.lefts]),
        where=each(rel.where),
        group=None if rel.group is None else each(rel.group),
        having=each(rel.having),
        select=each(rel.select),
        order=order,
        limit=limit,
        offset=offset,
        extra=each(rel.extra),
    )


def rewrite_source(source: Source, change: Callable[[Expr], "Expr | None"]) -> Source:
    """Apply `rewrite` inside a derived source or a FULL JOIN."""
    if source.rel is not None:
        return source._replace(rel=rewrite_rel(source.rel, change))
    if source.parts is not None:
        left, right = source.parts
        return source._replace(parts=(rewrite_left(left, change), rewrite_left(right, change)))
    return source


def rewrite_left(left: LeftJoin, change: Callable[[Expr], "Expr | None"]) -> LeftJoin:
    """Apply `rewrite` inside the right side of a LEFT JOIN."""
    return LeftJoin(
        tuple([rewrite_source(source, change) for source in left.sources]),
        tuple([rewrite_left(inner, change) for inner in left.lefts]),
        tuple([rewrite(expr, change) for expr in left.on]),
    )


def substitution(mapping: dict[Expr, Expr]) -> Callable[[Expr], Expr | None]:
    """A change for `rewrite` that replaces whole expressions by others."""
    return mapping.get
