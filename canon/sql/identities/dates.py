"""Days of DATE and DATETIME columns: parts and prefixes as half-open ranges.

Differences of days (P10). Never of TEXT.
"""

import re
from datetime import date, timedelta

from canon.sql.algebra import Block, Expr, conjuncts, lit
from canon.sql.context import Context
from canon.sql.facts import type_of
from canon.sql.identities.positions import in_conditions, in_expressions, mentions
from canon.sql.predicates import Interval, Span, complement, merge, span, together

PARTS = frozenset({"year", "month", "day"})
PREFIXES = {"%Y": 4, "%Y-%m": 7, "%Y-%m-%d": 10}
DAYS = frozenset({"date", "timestamp"})
DAY = "this", "expression"
_MONTHS = 12


def date_parts(block: Block, ctx: Context) -> Block | None:
    """`EXTRACT(YEAR FROM d)`  =  `YEAR(d)`, `DATE_FORMAT(d, '%Y-%m')`  =  `LEFT(d, 7)`.

    `SUBDATE(d, 1)`  =  `d - INTERVAL 1 DAY`.
    """
    if not mentions(block, frozenset({"func", "+", "-"})):
        return None
    if ctx.dialect.name != "mysql":
        return None
    return in_expressions(block, lambda expr: _spelled(expr, ctx), ctx)


def _spelled(expr: Expr, ctx: Context) -> Expr | None:
    if expr.op in {"+", "-"} and len(expr.args) == 2:
        return _moved(expr, expr.args[0], expr.args[1], 1 if expr.op == "+" else -1, ctx)
    if expr.op != "func":
        return None
    name = expr.value[0]
    if name == "extract" and len(expr.args) == 2 and expr.args[0].op == "lit":
        unit = expr.args[0].value[1]
        return _part(unit, expr.args[1], ctx) if unit in PARTS else None
    if name in PARTS and expr.value != (name,) and len(expr.args) == 1:
        return _part(name, expr.args[0], ctx)
    if name == "timetostr" and len(expr.args) == 2 and expr.args[1].op == "lit":
        length = PREFIXES.get(expr.args[1].value[1])
        return None if length is None else _prefix(expr.args[0], length, ctx)
    if name in {"left", "substring"}:
        return _cut(expr, ctx)
    if name in {"subdate", "adddate", "dateadd", "datesub"} and len(expr.args) >= 2:
        if len(expr.args) == 3 and expr.args[2].value != ("word", "day"):
            return None
        return _moved(expr, expr.args[0], expr.args[1], -1 if "sub" in name else 1, ctx)
    return None


def _bare(expr: Expr) -> Expr:
    """What a reading as date or instant that a function implies is applied to."""
    while expr.op == "func" and expr.value[0] in {"tsordstodate", "tsordstotimestamp"}:
        expr = expr.args[0]
    return expr


def _part(unit: str, term: Expr, ctx: Context) -> Expr | None:
    inner = _bare(term)
    return Expr("func", (unit,), (inner,)) if type_of(inner, ctx) in DAYS else None


def _prefix(term: Expr, length: int, ctx: Context) -> Expr | None:
    inner = _bare(term)
    return Expr("func", ("daytext", length), (inner,)) if type_of(inner, ctx) in DAYS else None


def _cut(expr: Expr, ctx: Context) -> Expr | None:
    wanted = ("left", *DAY) if expr.value[0] == "left" else ("substring", "this", "start", "length")
    if expr.value != wanted or any(arg.op != "lit" for arg in expr.args[1:]):
        return None
    numbers = [arg.value[1] for arg in expr.args[1:]]
    if expr.value[0] == "substring" and numbers[0] != "1":
        return None
    return _prefix(expr.args[0], int(numbers[-1]), ctx) if numbers[-1] in {"4", "7", "10"} else None


def _moved(expr: Expr, term: Expr, amount: Expr, sign: int, ctx: Context) -> Expr | None:
    """A DATE column moved by whole days."""
    if amount.op != "lit" or term.op != "col" or type_of(term, ctx) != "date":
        return None
    kind, text = amount.value
    if kind == "interval":
        text, unit = text.split(" ", 1)
        if unit != "day":
            return None
    elif expr.op in {"+", "-"}:
        return None
    if not re.fullmatch(r"-?\d{1,6}", text):
        return None
    return Expr("func", ("moved", sign * int(text)), (term,))


# -- ranges -----------------------------------------------------------------------------------------------------


def date_ranges(block: Block, ctx: Context) -> Block | None:
    """`YEAR(d) = 2020`  =  `d >= '2020-01-01' AND d < '2021-01-01'`; so `LEFT(d, 7) = '2020-06'`.

    `DATEDIFF('2020-06-30', d) < 30`.
    """
    if not mentions(block, frozenset({"func", "like"})):
        return None
    if ctx.dialect.name != "mysql":
        return None
    return in_expressions(block, lambda expr: _range(expr, ctx), ctx)


def _range(expr: Expr, ctx: Context) -> Expr | None:
    if expr.op == "like" and expr.value == "like" and len(expr.args) == 2 and expr.args[1].op == "lit":
        return _like(expr, ctx)
    if expr.op != "span" or expr.value.null or expr.args[0].op != "func":
        return None
    call = expr.args[0]
    if call.value == ("year",):
        return _of_years(expr.value, call.args[0], ctx)
    if call.value[0] == "daytext":
        return _of_prefix(expr.value, call.args[0], call.value[1], ctx)
    if call.value[0] == "datediff" and call.value[1:3] == DAY and len(call.args) == 2:
        return _of_difference(expr.value, call.args, ctx)
    return None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _ranged(term: Expr, parts: list[tuple[date | None, date | None]], ctx: Context) -> Expr:
    """A term in half-open ranges of days."""
    intervals = [
        Interval(
            None if low is None else f"{low.isoformat()} 00:00:00",
            low is not None,
            None if high is None else f"{high.isoformat()} 00:00:00",
            False,
        )
        for low, high in parts
    ]
    spans = [Span("ts", False, (interval,)) for interval in intervals]
    joined = together(spans, ctx.dialect)
    assert joined is not None
    return span(term, joined, type_of(term, ctx), ctx.dialect)


def _year_start(year: int) -> date | None:
    return date(year, 1, 1) if 1000 <= year <= 9998 else None


def _of_years(value: Span, term: Expr, ctx: Context) -> Expr | None:
    if value.kind != "num":
        return None
    parts: list[tuple[date | None, date | None]] = []
    for part in value.parts:
        ends: list[date | None] = []
        for bound, included, after in ((part.low, part.low_in, 0), (part.high, part.high_in, 1)):
            if bound is None:
                ends.append(None)
                continue
            if not isinstance(bound, int) or not included:
                return None
            start = _year_start(bound + after)
            if start is None:
                return None
            ends.append(start)
        parts.append((ends[0], ends[1]))
    return _ranged(term, parts, ctx) if parts else None


def _of_prefix(value: Span, term: Expr, length: int, ctx: Context) -> Expr | None:
    """Equality (or inequality) of a prefix with whole years, months or days."""
    if value.kind not in {"text", "str"}:
        return None
    points = _points(value)
    negated = points is None
    if points is None:
        points = _points(complement(value))
    if not points:
        return None
    ranges = [_prefixed(text, length) for text in points]
    known = [found for found in ranges if found is not None]
    if len(known) < len(ranges):
        return None
    found = _ranged(term, list(known), ctx)
    if not negated:
        return found
    return span(term, complement(found.value), type_of(term, ctx), ctx.dialect) if found.op == "span" else None


def _points(value: Span) -> list[str] | None:
    if any(part.low is None or part.low != part.high for part in value.parts):
        return None
    return [str(part.low) for part in value.parts]


def _prefixed(text: str, length: int) -> tuple[date, date] | None:
    """The days whose text begins so."""
    if len(text) != length or not re.fullmatch(r"[1-9]\d{3}(-\d\d(-\d\d)?)?", text):
        return None
    low = _day(text + "-01-01"[length - 4 :] if length < 10 else text)
    if low is None or low.year > 9998:
        return None
    if length == 4:
        return low, date(low.year + 1, 1, 1)
    if length == 7:
        return low, date(low.year + low.month // _MONTHS, low.month % _MONTHS + 1, 1)
    return low, low + timedelta(days=1)


def _like(expr: Expr, ctx: Context) -> Expr | None:
    term, pattern = expr.args[0], expr.args[1].value[1]
    if type_of(term, ctx) not in DAYS or not re.fullmatch(r"\d{4}(-\d\d)?-?%", pattern):
        return None
    text = pattern.rstrip("%").rstrip("-")
    found = _prefixed(text, len(text))
    return None if found is None else _ranged(term, [found], ctx)


def _of_difference(value: Span, args: tuple[Expr, ...], ctx: Context) -> Expr | None:
    """DATEDIFF of a DATE column and a literal day."""
    kinds = [type_of(arg, ctx) for arg in args]
    places = [index for index, arg in enumerate(args) if arg.op == "lit" and arg.value[0] in {"str", "ts"}]
    if value.kind != "num" or len(places) != 1 or kinds[1 - places[0]] != "date":
        return None
    literal = _day(args[places[0]].value[1].removesuffix(" 00:00:00"))
    if literal is None:
        return None
    parts: list[tuple[date | None, date | None]] = []
    for part in value.parts:
        bounds = (part.low, part.high) if places[0] == 1 else _negated(part)
        if any(bound is not None and (not isinstance(bound, int) or abs(bound) > 100_000) for bound in bounds):
            return None
        low, high = bounds
        parts.append(
            (
                None if low is None else literal + timedelta(days=low),
                None if high is None else literal + timedelta(days=high + 1),
            )
        )
    return _ranged(args[1 - places[0]], parts, ctx) if parts else None


def _negated(part: Interval) -> tuple[int | None, int | None]:
    return (None if part.high is None else -part.high, None if part.low is None else -part.low)


# -- months of one year -----------------------------------------------------------------------------------------


def months_of_year(block: Block, ctx: Context) -> Block | None:
    """`YEAR(d) = 2020 AND MONTH(d) = 6`  =  `d >= '2020-06-01' AND d < '2020-07-01'`."""
    if not mentions(block, frozenset({"func"})):
        return None
    if ctx.dialect.name != "mysql":
        return None

    def joined(parts: tuple[Expr, ...]) -> tuple[Expr, ...]:
        for part in parts:
            if part.op != "span" or part.args[0].value != ("month",) or part.value.null:
                continue
            term = part.args[0].args[0]
            year = next((other for other in parts if other.op == "span" and other.args[0] == term), None)
            found = None if year is None else _months(year.value, part.value, term, ctx)
            if found is not None:
                rest = [other for other in parts if other not in (part, year)]
                return conjuncts(merge("and", [*rest, found], ctx))
        return parts

    lefts = tuple([left._replace(on=joined(left.on)) for left in block.lefts])
    changed = block._replace(where=joined(block.where), having=joined(block.having), lefts=lefts)
    found = in_expressions(changed, lambda expr: _joined_and(expr, joined, ctx), ctx) or changed
    return None if found == block else found


def _joined_and(expr: Expr, joined: "object", ctx: Context) -> Expr | None:
    if expr.op != "and" or not callable(joined):
        return None
    parts = joined(expr.args)
    return None if parts == expr.args else merge("and", parts, ctx)


def _months(year: Span, month: Span, term: Expr, ctx: Context) -> Expr | None:
    """The months of the one whole year that a term is in."""
    if year.kind != "ts" or year.null or len(year.parts) != 1 or month.kind != "num":
        return None
    low, high = year.parts[0].low, year.parts[0].high
    if low is None or high is None or low[4:] != "-01-01 00:00:00" or high != f"{int(low[:4]) + 1:04d}-01-01 00:00:00":
        return None
    if not year.parts[0].low_in or year.parts[0].high_in:
        return None
    ranges: list[tuple[date | None, date | None]] = []
    for number in range(1, _MONTHS + 1):
        if any(
            (part.low is None or number >= part.low) and (part.high is None or number <= part.high)
            for part in month.parts
        ):
            found = _prefixed(f"{low[:4]}-{number:02d}", 7)
            if found is not None:
                ranges.append(found)
    whole = all(isinstance(bound, int | None) for part in month.parts for bound in (part.low, part.high))
    return _ranged(term, ranges, ctx) if ranges and whole else None


# -- differences of two columns ---------------------------------------------------------------------------------


def day_differences(block: Block, ctx: Context) -> Block | None:
    """`a = DATE_ADD(b, INTERVAL 1 DAY)`  =  `DATEDIFF(a, b) = 1`  =  `DATEDIFF(b, a) = -1`.

    Where only truth matters.
    """
    if not mentions(block, frozenset({"func"})):
        return None
    if ctx.dialect.name != "mysql":
        return None
    return in_conditions(block, lambda expr: _difference(expr, ctx), ctx)


def _difference(expr: Expr, ctx: Context) -> Expr | None:
    if expr.op == "=" and any(arg.op == "func" and arg.value[0] == "moved" for arg in expr.args):
        sides = [
            (arg.args[0], arg.value[1]) if arg.op == "func" and arg.value[0] == "moved" else (arg, 0)
            for arg in expr.args
        ]
        (ours, mine), (theirs, its) = sides
        if any(side.op != "col" or type_of(side, ctx) != "date" for side in (ours, theirs)):
            return None
        days = its - mine  # ours + mine = theirs + its
        if days < 0:
            ours, theirs, days = theirs, ours, -days
        return Expr("span", Span("num", False, (Interval(days, True, days, True),)), (_between(ours, theirs),))
    if expr.op == "span" and expr.args[0].op == "func" and expr.args[0].value[0] == "datediff":
        value, call = expr.value, expr.args[0]
        if value.kind != "num" or len(call.args) != 2 or any(type_of(arg, ctx) != "date" for arg in call.args):
            return None
        turned = Span(
            "num",
            value.null,
            tuple([Interval(*_turned(part)) for part in reversed(value.parts)]),
        )
        if _weight(turned) > _weight(value):
            return expr._replace(value=turned, args=(_between(call.args[1], call.args[0]),))
        return expr._replace(args=(_between(*call.args),))
    return None


def _between(later: Expr, earlier: Expr) -> Expr:
    return Expr("func", ("datediff", *DAY, ("date_part_boundary", "True")), (later, earlier))


def _turned(part: Interval) -> tuple[int | None, bool, int | None, bool]:
    low, high = _negated(part)
    return low, part.high_in, high, part.low_in


def _weight(value: Span) -> tuple[float, ...]:
    """What orders a span and its mirror image: the one further up is kept."""
    ends = [
        (
            float("-inf") if part.low is None else float(part.low),
            float("inf") if part.high is None else float(part.high),
        )
        for part in value.parts
    ]
    return tuple(end for pair in ends for end in pair)


__all__ = ["date_parts", "date_ranges", "day_differences", "lit", "months_of_year"]
