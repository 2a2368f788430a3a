"""Writes a query of the algebra back as SQL, so that a normal form can be executed beside the text it came from."""

from canon.sql.algebra import (
    Block,
    Expr,
    LeftJoin,
    Rel,
    SetOp,
    Source,
    left_expressions,
    left_sources,
    rewrite_own,
    sids,
)
from canon.sql.predicates import Span

FUNCTIONS = {"abs": "abs", "lower": "lower", "upper": "upper", "length": "length", "least": "min", "greatest": "max"}


class NotWritten(Exception):
    """The expression has no SQL here."""


class Writer:
    """Writes SQL for SQLite or DuckDB."""

    def __init__(self, engine: str) -> None:
        self.engine = engine

    def rel(self, rel: Rel) -> str:
        return self.set_operation(rel) if isinstance(rel, SetOp) else self.block(rel)

    def set_operation(self, rel: SetOp) -> str:
        word = {"union": "UNION", "intersect": "INTERSECT", "except": "EXCEPT"}[rel.op] + (" ALL" if rel.all else "")
        branches = [f"SELECT * FROM ({self.rel(branch)})" for branch in rel.branches]
        text = f" {word} ".join(branches)
        if rel.order or rel.limit is not None or rel.offset is not None:
            text = f"SELECT * FROM ({text}) AS u{self.order_positions(rel)}{self.limits(rel)}"
        return text

    def order_positions(self, rel: SetOp) -> str:
        if not rel.order:
            return ""
        return " ORDER BY " + ", ".join(
            f"{key.expr.value + 1} {'DESC' if key.desc else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for key in rel.order
        )

    def limits(self, rel: Rel) -> str:
        if rel.limit is None and rel.offset is None:
            return ""
        limit = self.expr(rel.limit) if rel.limit is not None else ("-1" if self.engine == "sqlite" else "1000000")
        return f" LIMIT {limit}" + (f" OFFSET {self.expr(rel.offset)}" if rel.offset is not None else "")

    def block(self, block: Block) -> str:
        if block.extra:
            raise NotWritten("extra")
        if self.engine == "duckdb" and block.group is not None:
            block = self.with_any_values(block)
        select = ", ".join(f"{self.expr(expr)} AS c{index}" for index, expr in enumerate(block.select)) or "1 AS c0"
        having = list(block.having)
        text = f"SELECT {'DISTINCT ' if block.distinct else ''}{select}"
        if block.sources:
            text += " FROM " + " CROSS JOIN ".join(self.source(source) for source in block.sources)
            for left in self.in_order(block):
                text += f" LEFT JOIN {self.right(left)} ON {self.conjunction(left.on)}"
        if block.where:
            text += f" WHERE {self.conjunction(block.where)}"
        if block.group:
            text += " GROUP BY " + ", ".join(self.group_key(key) for key in block.group)
        elif block.group == ():
            text += " HAVING COUNT(*) >= 0" + "".join(f" AND ({self.expr(part)})" for part in having)
            having = []
        if having:
            text += f" HAVING {self.conjunction(having)}"
        if block.order:
            text += " ORDER BY " + ", ".join(
                f"{self.expr(key.expr)} {'DESC' if key.desc else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"
                for key in block.order
            )
        return text + self.limits(block)

    def with_any_values(self, block: Block) -> Block:
        """Columns that the keys determine, as aggregates: DuckDB wants every other column aggregated."""
        keys = set(block.group)

        def change(expr: Expr) -> Expr | None:
            if expr in keys or expr.op == "agg":
                return expr
            return Expr("agg", ("any_value", False), (expr,)) if expr.op == "col" else None

        return block._replace(
            select=tuple(rewrite_own(expr, change) for expr in block.select),
            having=tuple(rewrite_own(expr, change) for expr in block.having),
            order=tuple(key._replace(expr=rewrite_own(key.expr, change)) for key in block.order),
        )

    def group_key(self, key: Expr) -> str:
        if key.op != "lit":
            return f"({self.expr(key)})"
        return f"({self.expr(key)} || '')" if key.value[0] == "str" else f"({self.expr(key)} + 0)"

    def in_order(self, block: Block) -> list[LeftJoin]:
        """The left joins, each after those that its ON mentions."""
        pending, done, inner = list(block.lefts), [], {s.sid for s in block.sources}
        everything = {source.sid for left in block.lefts for source in left_sources(left)}
        while pending:
            for left in pending:
                mine = {source.sid for source in left_sources(left)}
                needed = set().union(*(sids(expr) for expr in left_expressions(left)), set()) & everything - mine
                if needed <= inner | {s.sid for d in done for s in left_sources(d)}:
                    pending.remove(left)
                    done.append(left)
                    break
            else:
                raise NotWritten("cyclic left joins")
        return done

    def source(self, source: Source) -> str:
        if source.kind == "table":
            return f'"{source.name}" AS s{source.sid}'
        if source.rel is not None:
            return f"({self.rel(source.rel)}) AS s{source.sid}"
        raise NotWritten(source.kind)

    def right(self, left: LeftJoin) -> str:
        text = " CROSS JOIN ".join(self.source(source) for source in left.sources)
        for inner in left.lefts:
            text += f" LEFT JOIN {self.right(inner)} ON {self.conjunction(inner.on)}"
        return f"({text})" if len(left.sources) > 1 or left.lefts else text

    def conjunction(self, parts: object) -> str:
        texts = [f"({self.expr(part)})" for part in parts]
        return " AND ".join(texts) or "1 = 1"

    def expr(self, expr: Expr) -> str:
        op, value, args = expr
        if op == "col":
            if value[0] < 0:
                raise NotWritten("unresolved")
            return f's{value[0]}."{value[1]}"' if isinstance(value[1], str) else f"s{value[0]}.c{value[1]}"
        if op == "lit":
            return self.literal(*value)
        if op in {"and", "or"}:
            return f" {op.upper()} ".join(f"({self.expr(arg)})" for arg in args)
        if op == "not":
            return f"NOT ({self.expr(args[0])})"
        if op == "eqclass":
            return " AND ".join(f"{self.expr(args[0])} = {self.expr(other)}" for other in args[1:])
        if op in {"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"}:
            operator = "//" if op == "/" and self.engine == "duckdb" else op
            return f"({self.expr(args[0])}) {operator} ({self.expr(args[1])})"
        if op in {"same", "distinct"}:
            word = "IS NOT DISTINCT FROM" if op == "same" else "IS DISTINCT FROM"
            return f"({self.expr(args[0])}) {word} ({self.expr(args[1])})"
        if op in {"isnull", "notnull"}:
            return f"({self.expr(args[0])}) IS {'NOT ' if op == 'notnull' else ''}NULL"
        if op in {"untrue", "istrue"}:
            return f"({self.expr(args[0])}) IS {'NOT ' if op == 'untrue' else ''}TRUE"
        if op == "span":
            return self.span(value, self.expr(args[0]))
        if op == "like":
            return f"({self.expr(args[0])}) LIKE ({self.expr(args[1])})"
        if op == "case":
            pairs = "".join(
                f" WHEN {self.expr(c)} THEN {self.expr(r)}" for c, r in zip(args[:-1:2], args[1::2], strict=True)
            )
            return f"CASE{pairs} ELSE {self.expr(args[-1])} END"
        if op == "coalesce":
            return f"coalesce({', '.join(self.expr(arg) for arg in args)})"
        if op == "neg":
            return f"-({self.expr(args[0])})"
        if op == "cast":
            return f"CAST({self.expr(args[0])} AS {value[1]})"
        if op == "agg":
            inner = ", ".join(self.expr(arg) for arg in args) or "*"
            return f"{value[0]}({'DISTINCT ' if value[1] else ''}{inner})"
        if op == "window" and not value.frame:
            return self.window(expr)
        if op == "func" and value[0] in FUNCTIONS:
            return f"{FUNCTIONS[value[0]]}({', '.join(self.expr(arg) for arg in args)})"
        return self.subquery(expr)

    def window(self, expr: Expr) -> str:
        value = expr.value
        texts = [self.expr(arg) for arg in expr.args]
        partition = ", ".join(texts[value.arguments : value.arguments + value.partitions])
        keys = texts[value.arguments + value.partitions :]
        order = ", ".join(
            f"{key} {'DESC' if desc else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
            for key, (desc, first) in zip(keys, value.orders, strict=True)
        )
        inside = (f"PARTITION BY {partition} " if partition else "") + (f"ORDER BY {order}" if order else "")
        return f"{value.name}({', '.join(texts[: value.arguments])}) OVER ({inside})"

    def subquery(self, expr: Expr) -> str:
        op, value, args = expr
        if op == "exists":
            return f"EXISTS ({self.rel(value)})"
        if op == "scalar":
            return f"({self.rel(value)})"
        if op == "in":
            return f"({self.expr(args[0])}) IN ({self.rel(value)})" if len(args) == 1 else self.missing(expr)
        return self.missing(expr)

    def missing(self, expr: Expr) -> str:
        raise NotWritten(f"{expr.op} {expr.value}")

    def literal(self, kind: str, text: str) -> str:
        if kind == "null":
            return "NULL"
        if kind == "bool":
            return "TRUE" if text == "true" else "FALSE"
        if kind == "str":
            return "'" + text.replace("'", "''") + "'"
        if kind == "ts":
            return f"'{text.removesuffix(' 00:00:00')}'"
        return text

    def span(self, value: Span, term: str) -> str:
        parts = []
        for part in value.parts:
            bounds = []
            if part.low is not None and part.low == part.high:
                bounds.append(f"{term} = {self.bound(value.kind, part.low)}")
            else:
                if part.low is not None:
                    bounds.append(f"{term} {'>=' if part.low_in else '>'} {self.bound(value.kind, part.low)}")
                if part.high is not None:
                    bounds.append(f"{term} {'<=' if part.high_in else '<'} {self.bound(value.kind, part.high)}")
            parts.append(" AND ".join(bounds) or f"{term} IS NOT NULL")
        if value.null:
            parts.append(f"{term} IS NULL")
        return " OR ".join(f"({part})" for part in parts) or f"({term} IS NULL AND NULL)"

    def bound(self, kind: str, value: object) -> str:
        return str(value) if kind == "num" else self.literal("str" if kind != "ts" else "ts", str(value))
