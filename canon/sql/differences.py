"""Says what differs between two queries in the words of a person who wrote the golden file."""

from collections import Counter
from collections.abc import Iterable

from canon.rules import Rules
from canon.sql.algebra import Block, Expr, Rel, SetOp, all_sources, contains, sids, walk
from canon.sql.context import Context
from canon.sql.facts import type_of
from canon.sql.predicates import Span
from canon.sql.query import SqlQuery
from canon.sql.rendering import Renderer
from canon.sql.wording import Wording
from canon.verdict import Difference, DifferenceKind

AGGREGATE = frozenset({"agg"})


def differences(ours: SqlQuery, theirs: SqlQuery, rules: Rules | None = None) -> tuple[Difference, ...]:
    """The differences of two queries whose normal forms are not one; at least one is always named."""
    if ours.rel is None or theirs.rel is None:
        reason = ours.unsupported or theirs.unsupported
        return (Difference(kind="subquery", where=f"query (not analysed: {reason})"),)
    rules = rules or Rules()
    found = list(_of_rels(ours.rel, theirs.rel, "", ours.ctx, any_order=rules.columns == "any"))
    if not found and _starred(ours, theirs, rules):
        found.append(Difference(kind="projection", where="SELECT", expected=_stars(ours), actual=_stars(theirs)))
    if not found:
        kind: DifferenceKind = "boolean_structure" if _conditions(ours.rel) != _conditions(theirs.rel) else "subquery"
        found.append(Difference(kind=kind, where="WHERE" if kind == "boolean_structure" else "query"))
    return tuple(found)


def _starred(ours: SqlQuery, theirs: SqlQuery, rules: Rules) -> bool:
    return rules.star == "strict" and sorted(ours.starred) != sorted(theirs.starred)


def _stars(query: SqlQuery) -> str:
    return "*" if any(query.starred) else "a list of columns"


def _conditions(rel: Rel) -> int:
    return len(rel.where) if isinstance(rel, Block) else 0


def _of_rels(ours: Rel, theirs: Rel, where: str, ctx: Context, *, any_order: bool) -> Iterable[Difference]:
    if isinstance(ours, SetOp) and isinstance(theirs, SetOp):
        yield from _of_set_operations(ours, theirs, where, ctx, any_order=any_order)
    elif isinstance(ours, Block) and isinstance(theirs, Block):
        yield from _Blocks(ours, theirs, where, ctx, any_order=any_order).all()
    else:
        yield Difference(kind="set_operation", where=where or "query", expected=_shape(ours), actual=_shape(theirs))


def _shape(rel: Rel) -> str:
    return rel.op.upper() + (" ALL" if rel.all else "") if isinstance(rel, SetOp) else "one SELECT"


def _of_set_operations(
    ours: SetOp, theirs: SetOp, where: str, ctx: Context, *, any_order: bool
) -> Iterable[Difference]:
    if _shape(ours) != _shape(theirs) or len(ours.branches) != len(theirs.branches):
        yield Difference(kind="set_operation", where=where or "query", expected=_shape(ours), actual=_shape(theirs))
    for index, (mine, its) in enumerate(zip(ours.branches, theirs.branches, strict=False)):
        yield from _of_rels(mine, its, f"{where}branch {index + 1}: ", ctx, any_order=any_order)
    yield from _limits(ours, theirs, where)
    if ours.order != theirs.order:
        yield Difference(kind="sort_key", where=f"{where}ORDER BY")


def _limits(ours: Rel, theirs: Rel, where: str) -> Iterable[Difference]:
    kinds: tuple[tuple[DifferenceKind, Expr | None, Expr | None], ...] = (
        ("limit", ours.limit, theirs.limit),
        ("offset", ours.offset, theirs.offset),
    )
    for kind, mine, its in kinds:
        if mine != its:
            words = Wording()
            yield Difference(
                kind=kind,
                where=f"{where}{kind.upper()}",
                expected=None if mine is None else words.of(mine),
                actual=None if its is None else words.of(its),
            )


class _Blocks:
    """Two blocks, compared part by part."""

    def __init__(self, ours: Block, theirs: Block, where: str, ctx: Context, *, any_order: bool) -> None:
        self.ctx = ctx
        self.ours, self.theirs, self.where, self.any_order = ours, theirs, where, any_order
        self.mine, self.its = Wording(ours), Wording(theirs)
        self._first, self._second = Renderer(depth=1), Renderer(depth=1)
        self._first.block(ours)
        self._second.block(theirs)

    def all(self) -> Iterable[Difference]:
        """Every difference, outermost parts first."""
        yield from self._sources()
        yield from self._conditions(self.ours.where, self.theirs.where, "WHERE")
        yield from self._joins()
        yield from self._projection()
        yield from self._grouping()
        yield from self._conditions(self.ours.having, self.theirs.having, "HAVING")
        yield from self._order()
        if self.ours.distinct != self.theirs.distinct:
            yield Difference(
                kind="distinct",
                where=f"{self.where}SELECT",
                expected="DISTINCT" if self.ours.distinct else "all rows",
                actual="DISTINCT" if self.theirs.distinct else "all rows",
            )
        yield from _limits(self.ours, self.theirs, self.where)

    def _split(self, ours: Iterable[Expr], theirs: Iterable[Expr]) -> tuple[list[Expr], list[Expr]]:
        """What only one side has, compared by canonical text."""
        mine = {self._first.text(expr): expr for expr in ours}
        its = {self._second.text(expr): expr for expr in theirs}
        return (
            [expr for text, expr in mine.items() if text not in its],
            [expr for text, expr in its.items() if text not in mine],
        )

    def _sources(self) -> Iterable[Difference]:
        ours = Counter(source.name or "derived table" for source in all_sources(self.ours))
        theirs = Counter(source.name or "derived table" for source in all_sources(self.theirs))
        for name in sorted(ours - theirs):
            yield Difference(kind="source", where=f"{self.where}FROM", expected=name)
        for name in sorted(theirs - ours):
            yield Difference(kind="source", where=f"{self.where}FROM", actual=name)

    def _joins(self) -> Iterable[Difference]:
        ours, theirs = len(self.ours.lefts), len(self.theirs.lefts)
        if ours != theirs:
            yield Difference(
                kind="join_kind",
                where=f"{self.where}FROM",
                expected="LEFT JOIN" if ours > theirs else "INNER JOIN",
                actual="INNER JOIN" if ours > theirs else "LEFT JOIN",
            )
        else:
            for first, second in zip(self.ours.lefts, self.theirs.lefts, strict=True):
                yield from self._conditions(first.on, second.on, "ON")

    def _conditions(self, ours: tuple[Expr, ...], theirs: tuple[Expr, ...], where: str) -> Iterable[Difference]:
        missing, extra = self._split(ours, theirs)
        place = f"{self.where}{where}"
        for expr in list(missing):
            partner = next((other for other in extra if self._pairs(expr, other)), None)
            if partner is not None:
                missing.remove(expr)
                extra.remove(partner)
                yield self._changed(expr, partner, place)
        for expr in missing:
            kind: DifferenceKind = (
                "join_condition" if _is_join(expr) else "having" if where == "HAVING" else "missing_predicate"
            )
            yield Difference(kind=kind, where=place, expected=self.mine.of(expr), field=self._field(expr, self.mine))
        for expr in extra:
            kind = "join_condition" if _is_join(expr) else "having" if where == "HAVING" else "extra_predicate"
            yield Difference(kind=kind, where=place, actual=self.its.of(expr), field=self._field(expr, self.its))

    def _pairs(self, expr: Expr, other: Expr) -> bool:
        """Whether two conditions say something of the same, or the same of something else."""
        if expr.op in {"and", "or"} or other.op in {"and", "or"}:
            return expr.op in {"and", "or"} and other.op in {"and", "or"}
        if _is_join(expr) != _is_join(other) or ({expr.op, other.op} & {"exists", "in"} and expr.op != other.op):
            return False
        if expr.args and other.args and self._first.text(expr.args[0]) == self._second.text(other.args[0]):
            return True
        return expr.op == other.op and expr.value == other.value and expr.args[1:] == other.args[1:]

    def _changed(self, expr: Expr, other: Expr, place: str) -> Difference:
        return Difference(
            kind=self._kind(expr, other),
            where=place,
            expected=self.mine.of(expr),
            actual=self.its.of(other),
            field=self._field(expr, self.mine),
        )

    def _kind(self, expr: Expr, other: Expr) -> DifferenceKind:
        if expr.op in {"and", "or"}:
            return "boolean_structure"
        if _is_join(expr):
            return "join_condition"
        if expr.op in {"exists", "in"}:
            return "subquery"
        if self._first.text(expr.args[0]) != self._second.text(other.args[0]):
            return "wrong_field"
        if expr.op == other.op == "span":
            return _span_kind(expr.value, other.value, whole=type_of(expr.args[0], self.ctx) == "integer")
        return "wrong_value" if expr.op == other.op and expr.args[1:] != other.args[1:] else "wrong_operator"

    def _field(self, expr: Expr, words: Wording) -> str | None:
        if expr.op in {"and", "or"}:
            return None
        column = next((node for node in walk(expr) if node.op == "col"), None)
        return None if column is None else words.column(column)

    def _projection(self) -> Iterable[Difference]:
        ours = [self._first.text(expr) for expr in self.ours.select]
        theirs = [self._second.text(expr) for expr in self.theirs.select]
        if ours == theirs or (self.any_order and sorted(ours) == sorted(theirs)):
            return
        missing, extra = self._split(self.ours.select, self.theirs.select)
        if not missing and not extra:
            yield Difference(
                kind="projection",
                where=f"{self.where}SELECT",
                expected=", ".join(self.mine.of(expr) for expr in self.ours.select),
                actual=", ".join(self.its.of(expr) for expr in self.theirs.select),
            )
        for index in range(max(len(missing), len(extra))):
            mine = missing[index] if index < len(missing) else None
            its = extra[index] if index < len(extra) else None
            calls = [expr is not None and contains(expr, AGGREGATE) for expr in (mine, its)]
            yield Difference(
                kind="aggregate" if any(calls) else "projection",
                where=f"{self.where}SELECT",
                expected=None if mine is None else self.mine.of(mine),
                actual=None if its is None else self.its.of(its),
            )

    def _grouping(self) -> Iterable[Difference]:
        missing, extra = self._split(self.ours.group or (), self.theirs.group or ())
        if missing or extra or (self.ours.group is None) != (self.theirs.group is None):
            yield Difference(
                kind="grouping",
                where=f"{self.where}GROUP BY",
                expected=", ".join(self.mine.of(key) for key in self.ours.group or ()) or None,
                actual=", ".join(self.its.of(key) for key in self.theirs.group or ()) or None,
            )

    def _order(self) -> Iterable[Difference]:
        ours = [(self._first.text(key.expr), key.desc, key.nulls_first) for key in self.ours.order]
        theirs = [(self._second.text(key.expr), key.desc, key.nulls_first) for key in self.theirs.order]
        if ours == theirs:
            return
        same_keys = [key[0] for key in ours] == [key[0] for key in theirs]
        yield Difference(
            kind="sort_direction" if same_keys else "sort_key",
            where=f"{self.where}ORDER BY",
            expected=", ".join(self.mine.key(key) for key in self.ours.order) or None,
            actual=", ".join(self.its.key(key) for key in self.theirs.order) or None,
        )


def _is_join(expr: Expr) -> bool:
    return expr.op == "eqclass" or (expr.op in {"=", "<", "<=", "<>"} and len(sids(expr)) > 1)


def _span_kind(ours: Span, theirs: Span, *, whole: bool) -> DifferenceKind:
    """Whether two ranges of one term differ in their bounds' inclusion, their literals, or what they ask."""
    ends = [[(part.low, part.high) for part in value.parts] for value in (ours, theirs)]
    if ends[0] == ends[1]:
        return "bound_inclusivity" if ours.parts != theirs.parts else "wrong_operator"
    if whole and ours.kind == theirs.kind == "num" and _whole_bounds(ours, theirs):
        return "bound_inclusivity"
    shapes = [
        [(part.low is None, part.high is None, part.low == part.high) for part in value.parts]
        for value in (ours, theirs)
    ]
    if shapes[0] == shapes[1]:
        return "date_resolution" if ours.kind == "ts" else "wrong_value"
    return "wrong_operator"


def _whole_bounds(ours: Span, theirs: Span) -> bool:
    """Whether integer ranges differ by one at an end, as they do when only the inclusion of the bound differs."""
    if len(ours.parts) != len(theirs.parts):
        return False
    steps = []
    for mine, its in zip(ours.parts, theirs.parts, strict=True):
        if mine.low == mine.high or its.low == its.high:
            return False
        for left, right in ((mine.low, its.low), (mine.high, its.high)):
            if (left is None) != (right is None):
                return False
            if left is not None:
                steps.append(abs(left - right))
    return bool(steps) and max(steps) == 1
