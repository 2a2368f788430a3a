"""Writes parts of the algebra in SQL-like words for people: what reports and differences show."""

import itertools

from canon.sql.algebra import Block, Expr, Order, Rel, SetOp, all_sources
from canon.sql.predicates import Interval, Span

MAX_SHOWN = 160


class Wording:
    """Words for the expressions of one query; columns are qualified only where several tables are read."""

    def __init__(self, rel: Rel | None = None) -> None:
        self.names: dict[int, str] = {}
        self.qualified = False
        if isinstance(rel, Block):
            sources = list(all_sources(rel))
            self.qualified = len(sources) > 1
            for source in sources:
                self.names[source.sid] = source.name or "derived table"

    def of(self, expr: Expr) -> str:
        """An expression in words, cut where it is long."""
        text = self._of(expr)
        return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"

    def column(self, expr: Expr) -> str:
        """A column's name."""
        source, name = expr.value
        shown = name if isinstance(name, str) else f"column {name + 1}"
        table = self.names.get(source)
        return f"{table}.{shown}" if self.qualified and table else shown

    def key(self, key: Order) -> str:
        """A sort key."""
        return f"{self.of(key.expr)}{' DESC' if key.desc else ''}"

    def _of(self, expr: Expr) -> str:
        op, value, args = expr
        if op == "col":
            return self.column(expr)
        if op == "lit":
            return self._literal(*value)
        if op in {"and", "or"}:
            return f" {op.upper()} ".join(
                f"({self._of(arg)})" if arg.op in {"and", "or"} else self._of(arg) for arg in args
            )
        if op == "eqclass":
            return " = ".join(self._of(arg) for arg in args)
        if op == "span":
            return self._span(value, self._of(args[0]))
        if op in {"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"}:
            return f"{self._of(args[0])} {op} {self._of(args[1])}"
        words = {
            "isnull": "{} IS NULL",
            "notnull": "{} IS NOT NULL",
            "untrue": "({}) IS NOT TRUE",
            "istrue": "({}) IS TRUE",
            "same": "{} IS NOT DISTINCT FROM {}",
            "distinct": "{} IS DISTINCT FROM {}",
            "like": "{} LIKE {}",
            "not": "NOT {}",
            "neg": "-{}",
            "has": "{} contains {}",
        }
        if op in words:
            return words[op].format(*(self._of(arg) for arg in args))
        if op == "agg":
            inner = ", ".join(self._of(arg) for arg in args) or "*"
            return f"{str(value[0]).upper()}({'DISTINCT ' if value[1] else ''}{inner})"
        return self._other(expr)

    def _other(self, expr: Expr) -> str:
        op, value, args = expr
        if op == "case":
            pairs = "".join(
                f" WHEN {self._of(c)} THEN {self._of(r)}" for c, r in zip(args[:-1:2], args[1::2], strict=True)
            )
            return f"CASE{pairs} ELSE {self._of(args[-1])} END"
        inner = ", ".join(self._of(arg) for arg in args)
        if op in {"exists", "in", "scalar", "quant"}:
            rel = value[2] if op == "quant" else value
            word = {
                "exists": "EXISTS ",
                "in": f"{inner} IN ",
                "scalar": "",
                "quant": f"{inner} {value[0]} {value[1]} " if op == "quant" else "",
            }
            return f"{word[op]}({self.query(rel)})"
        if op == "star":
            return "*"
        if op == "cast":
            return f"CAST({inner} AS {value[1]})"
        if op == "coalesce":
            return f"COALESCE({inner})"
        if op == "window":
            return f"{value.name.upper()}(…) OVER (…)"
        name = value[0] if isinstance(value, tuple) else value or op
        return f"{str(name).upper()}({inner})"

    def query(self, rel: Rel) -> str:
        """A subquery in a few words."""
        if isinstance(rel, SetOp):
            return f" {rel.op.upper()} ".join(self.query(branch) for branch in rel.branches)
        inner = Wording(rel)
        inner.names = {**self.names, **inner.names}
        inner.qualified = True
        select = ", ".join(inner._of(expr) for expr in rel.select) or "1"
        text = f"SELECT {'DISTINCT ' if rel.distinct else ''}{select}"
        if rel.sources:
            text += " FROM " + ", ".join(source.name or "(…)" for source in all_sources(rel))
        if rel.where:
            text += " WHERE " + " AND ".join(inner._of(part) for part in rel.where)
        if rel.group:
            text += " GROUP BY " + ", ".join(inner._of(part) for part in rel.group)
        if rel.having:
            text += " HAVING " + " AND ".join(inner._of(part) for part in rel.having)
        return text

    def _literal(self, kind: str, text: str) -> str:
        if kind == "null":
            return "NULL"
        if kind == "bool":
            return text.upper()
        if kind == "ts":
            return f"'{text.removesuffix(' 00:00:00')}'"
        return f"'{text}'" if kind in {"str", "time"} else text

    def _span(self, value: Span, term: str) -> str:
        quote = self._quoter(value.kind)
        points = [quote(part.low) for part in value.parts if part.low is not None and part.low == part.high]
        if points and len(points) == len(value.parts):
            text = f"{term} = {points[0]}" if len(points) == 1 else f"{term} IN ({', '.join(points)})"
        elif _is_complement(value.parts):
            outside = [quote(part.high) for part in value.parts[:-1]]
            text = f"{term} <> {outside[0]}" if len(outside) == 1 else f"{term} NOT IN ({', '.join(outside)})"
        else:
            text = " OR ".join(_interval(part, term, quote) for part in value.parts) or f"{term} in nothing"
        return f"{text} OR {term} IS NULL" if value.null else text

    def _quoter(self, kind: str) -> "type[_Quoted]":
        return _Bare if kind == "num" else _Instant if kind == "ts" else _Quoted


class _Quoted(str):
    """A bound as a quoted literal."""

    __slots__ = ()

    def __new__(cls, value: object) -> "_Quoted":
        return super().__new__(cls, f"'{value}'")


class _Instant(_Quoted):
    """A bound as a quoted instant, midnight left out."""

    __slots__ = ()

    def __new__(cls, value: object) -> "_Instant":
        return str.__new__(cls, f"'{str(value).removesuffix(' 00:00:00')}'")


class _Bare(_Quoted):
    """A bound as a bare number."""

    __slots__ = ()

    def __new__(cls, value: object) -> "_Bare":
        return str.__new__(cls, str(value))


def _is_complement(parts: tuple[Interval, ...]) -> bool:
    """Whether intervals are everything but some points."""
    return (
        len(parts) > 1
        and parts[0].low is None
        and parts[-1].high is None
        and all(left.high == right.low for left, right in itertools.pairwise(parts))
    )


def _interval(part: Interval, term: str, quote: "type[_Quoted]") -> str:
    if part.low is not None and part.high is not None:
        if part.low_in and part.high_in:
            return f"{term} BETWEEN {quote(part.low)} AND {quote(part.high)}"
        low, high = (">=" if part.low_in else ">"), ("<=" if part.high_in else "<")
        return f"{term} {low} {quote(part.low)} AND {term} {high} {quote(part.high)}"
    if part.low is not None:
        return f"{term} {'>=' if part.low_in else '>'} {quote(part.low)}"
    if part.high is not None:
        return f"{term} {'<=' if part.high_in else '<'} {quote(part.high)}"
    return f"{term} IS NOT NULL"
