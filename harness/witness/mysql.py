"""Puts MySQL into the words of SQLite; what cannot be said with the same meaning is refused."""

import re
from collections.abc import Callable

from sqlglot import exp

from canon.schema import ColumnType
from harness.witness.database import Layout

_DATE = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?P<rest>([ T].*)?)")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_PARTS: dict[type[exp.Expr], str] = {
    exp.Year: "YEAR",
    exp.Month: "MONTH",
    exp.Day: "DAY",
    exp.DayOfMonth: "DAY",
    exp.DayOfWeek: "DAYOFWEEK",
    exp.DayOfYear: "DAYOFYEAR",
    exp.Quarter: "QUARTER",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
    exp.Second: "SECOND",
}
_ANONYMOUS_PARTS = {"WEEKDAY": "WEEKDAY", "TO_DAYS": "TO_DAYS", "DAYOFMONTH": "DAY"}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In, exp.Between)
_NUMBERS = (exp.Count, exp.Sum, exp.Avg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Length, exp.Round, exp.Abs)
_TEXTS = frozenset({"RUNG_FORMATTED", "RUNG_LEFT", "RUNG_RIGHT", "RUNG_UNTIL"})
FAITHFUL = (
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Coalesce, exp.Nullif, exp.If, exp.Case, exp.Abs, exp.Length,
    exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Replace, exp.Concat, exp.StrPosition, exp.Cast, exp.And, exp.Or,
    exp.Exists, exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead,
    exp.FirstValue, exp.LastValue, exp.NthValue, exp.AnyValue, exp.Greatest, exp.Least, exp.RegexpLike, exp.Distinct,
    exp.Xor, exp.GroupConcat,
)  # fmt: skip
"""Functions that mean the same in MySQL and SQLite, on the values that candidates hold."""


class Unfaithful(Exception):
    """The query says what SQLite cannot say with the same meaning; the text names it."""


def call(name: str, *arguments: exp.Expr | str | int) -> exp.Anonymous:
    """A call of one of our functions."""
    built: list[exp.Expr] = []
    for argument in arguments:
        if isinstance(argument, str):
            built.append(exp.Literal.string(argument))
        else:
            built.append(exp.Literal.number(argument) if isinstance(argument, int) else argument.copy())
    return exp.Anonymous(this=name, expressions=built)


def to_sqlite(tree: exp.Expr, layout: Layout) -> exp.Expr:
    """Rewrite a MySQL query for SQLite.

    Raises:
        Unfaithful: it calls what is not known to mean the same.
    """
    tree = _written_dates(tree.copy())
    for rule in (_quantified, _dates, _others):
        tree = rewritten(tree, rule)
    _compared(tree)
    tree = unwrapped_operands(tree)
    _refuse_date_arithmetic(tree, layout)
    for node in tree.find_all(exp.Func):
        ours = isinstance(node, exp.Anonymous) and node.name.upper().startswith("RUNG_")
        if not ours and not isinstance(node, FAITHFUL):
            raise Unfaithful(f"{node.sql_name() if not isinstance(node, exp.Anonymous) else node.name}()")
    if any(tree.find_all(exp.Rollup, exp.Cube, exp.GroupingSets, exp.Lateral, exp.JSONExtract, exp.PropertyEQ)):
        raise Unfaithful("a clause that SQLite has not")
    if any(group.args.get("rollup") for group in tree.find_all(exp.Group)):
        raise Unfaithful("WITH ROLLUP")
    return tree


def rewritten(tree: exp.Expr, rule: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Apply a rule to every node, the inner ones first."""
    for node in reversed(list(tree.bfs())):
        made = rule(node)
        if made is not node:
            if node is tree:
                return made
            node.replace(made)
    return tree


def _written_dates(tree: exp.Expr) -> exp.Expr:
    """Write every date constant as MySQL stores it (`2019-1-5` = `2019-01-05`)."""
    for literal in list(tree.find_all(exp.Literal)):
        found = _DATE.fullmatch(str(literal.this)) if literal.is_string else None
        if found is not None:
            year, month, day = (int(found.group(i)) for i in (1, 2, 3))
            literal.replace(exp.Literal.string(f"{year:04}-{month:02}-{day:02}{found.group('rest')}"))
    return tree


def _dates(node: exp.Expr) -> exp.Expr:
    kind = type(node)
    if kind in _PARTS:
        return call("RUNG_PART", _PARTS[kind], _bare(node.this))
    match node:
        case exp.Extract():
            return call("RUNG_PART", str(node.this.name or node.this).upper(), _bare(node.expression))
        case exp.DateDiff():
            return call("RUNG_DATEDIFF", _bare(node.this), _bare(node.expression))
        case exp.TimestampDiff():
            return call("RUNG_ELAPSED", str(node.args["unit"].name).upper(), node.expression, node.this)
        case exp.DateAdd() | exp.DateSub() | exp.TsOrDsAdd() | exp.TimestampAdd() | exp.TimestampSub():
            sub = isinstance(node, exp.DateSub | exp.TimestampSub)
            return _moved(_bare(node.this), node.expression, node.args.get("unit"), sub)
        case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
            interval = node.expression
            return _moved(node.this, interval.this, interval.args.get("unit"), isinstance(node, exp.Sub))
        case exp.TimeToStr():
            return call("RUNG_FORMATTED", _bare(node.this), node.args["format"])
        case exp.LastDay():
            return call("RUNG_LASTDAY", _bare(node.this))
        case exp.TsOrDsToDate() | exp.Date():
            return call("RUNG_DATE", node.this)
        case exp.Cast() if node.to.this in {
            exp.DataType.Type.DATE,
            exp.DataType.Type.TIMESTAMP,
            exp.DataType.Type.DATETIME,
        }:
            return call("RUNG_DATE", node.this) if node.to.this == exp.DataType.Type.DATE else node.this
        case exp.Dayname():
            return call("RUNG_FORMATTED", _bare(node.this), "%A")
        case exp.Anonymous() if node.name.upper() in _ANONYMOUS_PARTS:
            return call("RUNG_PART", _ANONYMOUS_PARTS[node.name.upper()], *node.expressions)
        case exp.Anonymous() if node.name.upper() in {"ADDDATE", "SUBDATE"} and len(node.expressions) == 2:
            amount = node.expressions[1]
            unit = amount.args.get("unit") if isinstance(amount, exp.Interval) else None
            inner = amount.this if isinstance(amount, exp.Interval) else amount
            return _moved(node.expressions[0], inner, unit, node.name.upper() == "SUBDATE")
    return node


def _bare(node: exp.Expr) -> exp.Expr:
    """The argument of a date function without the conversion that the parser put around it."""
    while isinstance(node, exp.TsOrDsToDate | exp.TsOrDsToTimestamp):
        node = node.this
    return node


def _moved(value: exp.Expr, amount: exp.Expr, unit: exp.Expr | None, back: bool) -> exp.Expr:
    if isinstance(amount, exp.Interval):
        unit, amount = amount.args.get("unit") or unit, amount.this
    name = unit.name.upper() if unit is not None else "DAY"
    number: exp.Expr = exp.Neg(this=exp.Paren(this=amount.copy())) if back else amount.copy()
    return call("RUNG_MOVED", value, number, name)


def _others(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.IntDiv():
            return call("RUNG_DIV", node.this, node.expression)
        case exp.Mod():
            return call("RUNG_MOD", node.this, node.expression)
        case exp.Round():
            return call("RUNG_ROUND", node.this, node.args.get("decimals") or 0)
        case exp.Trunc():
            return call("RUNG_TRUNCATE", node.this, node.args.get("decimals") or 0)
        case exp.Left() | exp.Right():
            return call(f"RUNG_{type(node).__name__.upper()}", node.this, node.expression)
        case exp.SubstringIndex():
            return call("RUNG_UNTIL", node.this, node.args["delimiter"], node.args["count"])
        case exp.Pow():
            return call("RUNG_POWER", node.this, node.expression)
        case exp.Sqrt() | exp.Floor() | exp.Ceil() | exp.Sign() | exp.Reverse():
            return call(f"RUNG_{type(node).__name__.upper()}", node.this)
        case exp.Pad():
            side = "left" if node.args.get("is_left") else "right"
            return call("RUNG_PAD", node.this, node.expression, node.args["fill_pattern"], side)
        case exp.Cast() if node.to.this in {exp.DataType.Type.BIGINT, exp.DataType.Type.INT, exp.DataType.Type.UBIGINT}:
            return call("RUNG_ROUND", node.this, 0)
        case exp.Cast() if node.to.this == exp.DataType.Type.DECIMAL:
            scale = node.to.expressions[1].this if len(node.to.expressions) > 1 else exp.Literal.number(0)
            return call("RUNG_ROUND", node.this, scale)
        case exp.Anonymous() if node.name.upper() == "FIELD":
            return call("RUNG_FIELD", *node.expressions)
        case exp.Count() if isinstance(node.this, exp.Distinct) and len(node.this.expressions) > 1:
            return exp.Count(this=exp.Distinct(expressions=[_tuple_text(node.this.expressions)]))
        case exp.GroupConcat():
            return _joined(node)
    return node


def _tuple_text(items: list[exp.Expr]) -> exp.Expr:
    """Several columns as one text that is NULL where one of them is."""
    text: exp.Expr = items[0].copy()
    for item in items[1:]:
        text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string("\x1f")), expression=item.copy())
    return text


def _joined(node: exp.GroupConcat) -> exp.Expr:
    inner, keys, distinct = node.this, [], False
    if isinstance(inner, exp.Order):
        keys, inner = inner.expressions, inner.this
    if isinstance(inner, exp.Distinct):
        distinct, inner = True, inner.expressions[0] if len(inner.expressions) == 1 else inner
    if isinstance(inner, exp.Order):
        keys, inner = inner.expressions, inner.this
    if isinstance(inner, exp.Distinct):
        raise Unfaithful("GROUP_CONCAT of several values")
    separator = node.args.get("separator") or exp.Literal.string(",")
    pairs = [part for key in keys for part in (key.this, int(bool(key.args.get("desc"))))]
    return call("RUNG_GROUP_CONCAT", inner, separator, int(distinct), *pairs)


def _quantified(node: exp.Expr) -> exp.Expr:
    """`x op ALL (q)` and `x op ANY (q)`, which SQLite has not, in three-valued logic."""
    right = node.args.get("expression")
    if not isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
        return node
    if not isinstance(right, exp.All | exp.Any):
        return node
    query = right.this.unnest() if isinstance(right.this, exp.Subquery | exp.Paren) else right.this
    head = query
    while isinstance(head, exp.SetOperation):
        head = head.this
    if not isinstance(head, exp.Select) or len(head.expressions) != 1:
        raise Unfaithful("ALL or ANY over several columns")
    head.set("expressions", [exp.alias_(head.expressions[0].unalias(), "rung_c")])
    every = isinstance(right, exp.All)
    if isinstance(node, exp.EQ if not every else exp.NEQ):
        member = exp.In(this=node.this.copy(), query=exp.Subquery(this=query.copy()))
        return exp.Not(this=member) if every else member
    if isinstance(node, exp.EQ | exp.NEQ):
        raise Unfaithful("= ALL or <> ANY")

    def of_rows(text: str) -> exp.Expr:
        source = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=exp.to_identifier("rung_q")))
        return exp.Subquery(this=exp.select(text).from_(source))

    highest = isinstance(node, exp.GT | exp.GTE) is every
    test = exp.Paren(
        this=type(node)(this=node.this.copy(), expression=of_rows("MAX(rung_c)" if highest else "MIN(rung_c)"))
    )
    empty = exp.EQ(this=of_rows("COUNT(*)"), expression=exp.Literal.number(0))
    unknown = exp.GT(this=of_rows("COUNT(*) - COUNT(rung_c)"), expression=exp.Literal.number(0))
    decisive = exp.Not(this=test.copy()) if every else test.copy()
    return exp.Paren(
        this=exp.Case()
        .when(empty, exp.Literal.number(int(every)))
        .when(decisive, exp.Literal.number(int(not every)))
        .when(unknown, exp.Null())
        .else_(test)
    )


def _compared(tree: exp.Expr) -> None:
    """Let a text and a number meet as MySQL lets them: as numbers."""
    for node in tree.find_all(*_COMPARISONS):
        others = (
            node.expressions if isinstance(node, exp.In) else [node.args.get(k) for k in ("expression", "low", "high")]
        )
        for side, far in [(node.this, other) for other in others] + [(other, node.this) for other in others]:
            if not isinstance(side, exp.Expr) or not isinstance(far, exp.Literal):
                continue
            ours = side.name.upper() if isinstance(side, exp.Anonymous) else ""
            if far.is_string and _NUMBER.fullmatch(str(far.this)):
                if isinstance(side, _NUMBERS) or (ours and ours not in _TEXTS and ours.startswith("RUNG_")):
                    far.replace(exp.Literal.number(str(float(far.this)) if "." in far.this else str(int(far.this))))
            elif not far.is_string and ours in _TEXTS:
                side.replace(exp.cast(side.copy(), "DOUBLE"))


def unwrapped_operands(tree: exp.Expr) -> exp.Expr:
    """Write a parenthesised operand of a set operation as a derived table, the only form that SQLite reads."""
    for node in list(tree.find_all(exp.SetOperation)):
        for key in ("this", "expression"):
            operand = node.args.get(key)
            if isinstance(operand, exp.Subquery) and isinstance(operand.this, exp.Query):
                inner = operand.unnest()
                extra = [k for k in ("order", "limit", "offset") if operand.args.get(k) is not None]
                wrapped = exp.select("*").from_(
                    exp.Subquery(this=inner.copy(), alias=exp.TableAlias(this=exp.to_identifier("rung_o")))
                )
                for name in extra:
                    wrapped.set(name, operand.args[name].copy())
                node.set(key, wrapped)
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query):
        return tree.unnest()
    return tree


def _refuse_date_arithmetic(tree: exp.Expr, layout: Layout) -> None:
    dates: tuple[ColumnType, ...] = ("date", "timestamp", "timestamptz", "time")
    names = {
        column.name.lower()
        for relation in layout.relations.values()
        for column in relation.columns
        if column.type in dates
    }
    for node in tree.find_all(exp.Add, exp.Sub, exp.Mul, exp.Div):
        for side in (node.this, node.expression):
            if isinstance(side, exp.Column) and side.name.lower() in names:
                raise Unfaithful("arithmetic on a date as a number")
