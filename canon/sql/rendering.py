"""The canonical text of a query in the algebra: what is equal here is one query, whatever its aliases and orders were.

Sources are labelled by what is said of them: first by table, then by the conditions that mention them (colour
refinement), and where that leaves ties, by the numbering that gives the smallest text (a bounded search).
"""

from collections.abc import Iterable, Iterator
from itertools import permutations, product
from math import factorial, prod

from canon.sql.algebra import (
    Block,
    Expr,
    LeftJoin,
    Order,
    Rel,
    SetOp,
    Source,
    all_sources,
    left_expressions,
    left_sources,
    sids,
    source_expressions,
)

MAX_NUMBERINGS = 720

SYMMETRIC = frozenset({"=", "<>", "same", "distinct"})


class Renderer:
    """Writes expressions and queries as canonical text, given the labels of the sources in reach."""

    def __init__(self, labels: dict[int, str] | None = None, depth: int = 0) -> None:
        self.labels: dict[int, str] = labels or {}
        self.classes: dict[Expr, tuple[Expr, ...]] = {}
        self.depth = depth
        self.any_order = False

    # -- expressions --------------------------------------------------------------------------------------------

    def text(self, expr: Expr) -> str:
        """The canonical text of an expression."""
        op, value, args = expr
        if op == "col":
            members = self.classes.get(expr)
            if members is not None:
                return min([self._column(member) for member in members])
            return self._column(expr)
        if op == "lit":
            kind, written = value
            return f"'{written}'" if kind == "str" else written if kind in {"int", "num"} else f"{kind}:{written}"
        if op in {"and", "or"}:
            return f"({f' {op} '.join(sorted([self.text(arg) for arg in args]))})"
        if op == "eqclass":
            return f"({' = '.join(sorted([self._raw(arg) for arg in args]))})"
        if op in SYMMETRIC or (value == "commutes"):
            left, right = sorted([self.text(args[0]), self.text(args[1])])
            return f"({left} {op} {right})"
        if op == "span":
            return f"{self.text(args[0])} in {span_text(value)}"
        if op == "star":
            return f"{self.labels.get(value, '?')}.*"
        if op in {"exists", "in", "scalar"}:
            sides = ", ".join([self.text(arg) for arg in args])
            return f"{sides}{' ' if sides else ''}{op}{self.rel(value)}"
        if op == "quant":
            sides = ", ".join([self.text(arg) for arg in args])
            return f"{sides} {value[0]} {value[1]}{self.rel(value[2])}"
        inner = ", ".join([self.text(arg) for arg in args])
        return f"{op}({inner})" if value is None else f"{op}[{_plain(value)}]({inner})"

    def _raw(self, expr: Expr) -> str:
        return self._column(expr) if expr.op == "col" else self.text(expr)

    def _column(self, expr: Expr) -> str:
        source, name = expr.value
        return f"{self.labels.get(source, '?')}.{name}"

    # -- queries ------------------------------------------------------------------------------------------------

    def rel(self, rel: Rel) -> str:
        """The canonical text of a query."""
        if isinstance(rel, SetOp):
            return self._set_operation(rel)
        inner = Renderer(dict(self.labels), self.depth + 1)
        inner.classes.update(self.classes)
        return inner.block(rel)

    def _set_operation(self, rel: SetOp) -> str:
        branches = [self.rel(branch) for branch in rel.branches]
        branches = sorted(branches) if rel.op != "except" else [branches[0], *sorted(branches[1:])]
        kind = f"{rel.op} all" if rel.all else rel.op
        return f"({f' {kind} '.join(branches)}{self._tail(rel.order, rel.limit, rel.offset)})"

    def _tail(self, order: tuple[Order, ...], limit: Expr | None, offset: Expr | None) -> str:
        parts = [""]
        if order:
            parts.append("order " + ", ".join([self._key(key) for key in order]))
        if limit is not None:
            parts.append(f"limit {self.text(limit)}")
        if offset is not None:
            parts.append(f"offset {self.text(offset)}")
        return " ".join(parts)

    def _key(self, key: Order) -> str:
        return f"{self.text(key.expr)}{' desc' if key.desc else ''}{' nulls first' if key.nulls_first else ''}"

    def block(self, block: Block) -> str:
        """The canonical text of a block; labels its sources on the way."""
        for part in block.where:
            if part.op == "eqclass":
                for member in part.args:
                    self.classes[member] = part.args
        groups = self._colour(block)
        count = prod(factorial(len(group)) for group in groups)
        if count == 1 or count > MAX_NUMBERINGS:
            for group in groups:
                self._number(group)
            return self._write(block)
        best: str | None = None
        chosen: dict[int, str] = {}
        for orders in product(*(permutations(group) for group in groups)):
            for order in orders:
                self._number(order)
            text = self._write(block)
            if best is None or text < best:
                best, chosen = text, dict(self.labels)
        self.labels.update(chosen)
        return best or ""

    def _number(self, group: Iterable[tuple[int, str]]) -> None:
        for index, (sid, name) in enumerate(group):
            self.labels[sid] = f"{self.depth}{name}#{index}" if index else f"{self.depth}{name}"

    def _colour(self, block: Block) -> list[list[tuple[int, str]]]:
        """The sources in groups that nothing tells apart, each with its name; groups in canonical order."""
        names = self._names(block)
        by_colour: dict[str, list[int]] = {}
        for sid, name in names.items():
            by_colour.setdefault(name, []).append(sid)
        if len(by_colour) == len(names):
            return [[(sid, _short(name, rank))] for rank, (name, (sid,)) in enumerate(sorted(by_colour.items()))]
        colours = self._refine(block, names)
        groups: dict[str, list[int]] = {}
        for sid, colour in colours.items():
            groups.setdefault(colour, []).append(sid)
        found: list[list[tuple[int, str]]] = []
        for rank, colour in enumerate(sorted(groups)):
            tied = groups[colour]
            suffix = "" if len(by_colour[names[tied[0]]]) == len(tied) else f"~{rank}"
            found.append([(sid, _short(names[sid], rank) + suffix) for sid in tied])
        return found

    def _names(self, block: Block) -> dict[int, str]:
        names: dict[int, str] = {}
        padded = {source.sid for left in block.lefts for source in left_sources(left)}
        for source in all_sources(block):
            name = source.name if source.kind == "table" else self._derived_name(source)
            names[source.sid] = f"+{name}" if source.sid in padded else name
        return names

    def _derived_name(self, source: Source) -> str:
        if source.rel is not None:
            return self.rel(source.rel)
        return "full"

    def _refine(self, block: Block, names: dict[int, str]) -> dict[int, str]:
        ranks = {name: f"c{rank}" for rank, name in enumerate(sorted(set(names.values())))}
        colours = {sid: ranks[name] for sid, name in names.items()}
        statements = list(_statements(block, any_order=self.any_order))
        mentions = [(where, expr, sids(expr)) for where, expr in statements]
        while True:
            sizes: dict[str, int] = {}
            for colour in colours.values():
                sizes[colour] = sizes.get(colour, 0) + 1
            tied = [sid for sid, colour in colours.items() if sizes[colour] > 1]
            if not tied:
                return colours
            signatures = {sid: self._signature(sid, colours, mentions) for sid in tied}
            keys = {sid: (colours[sid], signatures.get(sid, "")) for sid in colours}
            ranked = {key: f"c{rank:03d}" for rank, key in enumerate(sorted(set(keys.values())))}
            refined = {sid: ranked[key] for sid, key in keys.items()}
            if len(set(refined.values())) == len(set(colours.values())):
                return refined
            colours = refined

    def _signature(self, sid: int, colours: dict[int, str], mentions: list[tuple[str, Expr, set[int]]]) -> str:
        probe = Renderer({**self.labels, **colours, sid: "*"}, self.depth)
        probe.classes = self.classes
        return "; ".join(sorted([f"{where}:{probe.text(expr)}" for where, expr, found in mentions if sid in found]))

    def _write(self, block: Block) -> str:
        def bag(exprs: Iterable[Expr]) -> str:
            return ", ".join(sorted([self.text(expr) for expr in exprs]))

        select = [self.text(expr) for expr in block.select]
        if self.any_order:
            select.sort()
        parts = ["distinct" if block.distinct else "select", ", ".join(select)]
        if block.sources:
            parts.append("from " + ", ".join(sorted([self._source(source) for source in block.sources])))
        if block.lefts:
            parts.append("left " + ", ".join(sorted([self._left(left) for left in block.lefts])))
        if block.where:
            parts.append(f"where {bag(block.where)}")
        if block.group is not None:
            parts.append(f"group {bag(block.group)}")
        if block.having:
            parts.append(f"having {bag(block.having)}")
        if block.extra:
            parts.append(f"extra {', '.join([self.text(expr) for expr in block.extra])}")
        if block.ordered:
            parts.append("textually " + ", ".join([self.labels.get(sid, "?") for sid in block.ordered]))
        return f"({' '.join(parts)}{self._tail(block.order, block.limit, block.offset)})"

    def _source(self, source: Source) -> str:
        label = self.labels[source.sid]
        if source.rel is not None:
            return f"{self.rel(source.rel)} {label}"
        if source.parts is not None:
            return f"full({self._left(source.parts[0])}; {self._left(source.parts[1])})"
        return label

    def _left(self, left: LeftJoin) -> str:
        sources = ", ".join(sorted([self._source(source) for source in left.sources]))
        inner = ", ".join(sorted([self._left(part) for part in left.lefts]))
        on = ", ".join(sorted([self.text(expr) for expr in left.on]))
        return f"[{sources}{' left ' + inner if inner else ''} on {on}]"


def _short(name: str, rank: int) -> str:
    """A label's name: the table's own, a number for a derived table."""
    return name if not name.startswith(("(", "+(")) else f"d{rank}"


def _statements(block: Block, *, any_order: bool) -> Iterator[tuple[str, Expr]]:
    """Everything that is said of a block's sources, with where it is said."""
    yield from (("w", expr) for expr in block.where)
    yield from (("s" if any_order else f"s{index}", expr) for index, expr in enumerate(block.select))
    yield from (("g", expr) for expr in block.group or ())
    yield from (("h", expr) for expr in block.having)
    yield from ((f"o{index}", key.expr) for index, key in enumerate(block.order))
    yield from (("x", expr) for expr in block.extra)
    for left in block.lefts:
        yield from (("l", expr) for expr in left_expressions(left))
    for source in block.sources:
        yield from (("d", expr) for expr in source_expressions(source))


def span_text(value: object) -> str:
    """A span as text: `[1..3) | (5..]`, with NULL where it is in it."""
    from canon.sql.predicates import Span

    if not isinstance(value, Span):
        raise TypeError("not a span")
    quote = "'" if value.kind in {"str", "text"} else ""
    parts = []
    for part in value.parts:
        if part.low is not None and part.low == part.high:
            parts.append(f"{quote}{part.low}{quote}")
            continue
        low = "" if part.low is None else f"{quote}{part.low}{quote}"
        high = "" if part.high is None else f"{quote}{part.high}{quote}"
        parts.append(f"{'[' if part.low_in else '('}{low}..{high}{']' if part.high_in else ')'}")
    if value.null:
        parts.append("null")
    return f"{value.kind}{{{' | '.join(parts)}}}"


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join([_plain(part) for part in value])
    return str(value)


def canonical_text(rel: Rel, *, any_column_order: bool = False) -> str:
    """The canonical text of a whole query.

    Args:
        rel: the query.
        any_column_order: write the output columns of a block in canonical order, so that permutations are one.
    """
    renderer = Renderer(depth=1 if isinstance(rel, Block) else 0)
    renderer.any_order = any_column_order
    return renderer.block(rel) if isinstance(rel, Block) else renderer.rel(rel)
