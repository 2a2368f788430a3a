"""Predicates in canonical form: negations pushed to the atoms, comparisons oriented, ranges of one term merged.

Two readings of a predicate occur. Where only *truth* matters (WHERE, HAVING, ON, CASE WHEN, FILTER) UNKNOWN and FALSE
are one; where the *value* matters (a predicate that is selected, compared or tested with IS) they are not. Laws that
hold only for truth are used only where `truth` is said.
"""

import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from canon.schema import ColumnType
from canon.sql.affinity import as_compared
from canon.sql.algebra import (
    COMPARISONS,
    FALSE,
    MIRROR,
    NEGATION,
    NULL,
    TRUE,
    Expr,
    contains,
    junction,
    lit,
)
from canon.sql.context import Context
from canon.sql.dialects import Dialect
from canon.sql.literals import INSTANT_TYPES, NUMERIC_TYPES, beside, number

ORDERED_TEXT = frozenset({"sqlite", "duckdb", "bigquery", "snowflake", "clickhouse", "spark", "oracle"})
"""Dialects whose default order of texts is by code point, so that ranges of texts can be cut at literals."""

MAX_PICKED = 12
"""The most branches of a CASE that are written out as a condition."""

Bound = Any
"""A literal's value as it sorts: a number, or a text."""


class Interval(NamedTuple):
    """A stretch of an ordered domain; an open end where the bound is `None`."""

    low: Bound
    low_in: bool
    high: Bound
    high_in: bool


class Span(NamedTuple):
    """A union of disjoint intervals, ascending, and whether NULL is in it (then the test is never UNKNOWN).

    `kind` is the kind of the literals: num, ts, str (ordered), text (equality only).
    """

    kind: str
    null: bool
    parts: tuple[Interval, ...]


EVERYTHING = Interval(None, False, None, False)


def bound(literal: Expr) -> Bound:
    """The value of a literal as it sorts."""
    kind, text = literal.value
    if kind == "num":
        return int(text) if text.lstrip("-").isdigit() else Decimal(text)
    return text


def fold_text(text: str) -> str:
    """What folding collations see of a text: no case, no accents, no trailing blanks."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in plain if not unicodedata.combining(char)).rstrip()


def compare(op: str, left: Expr, right: Expr, ctx: Context, left_type: ColumnType, right_type: ColumnType) -> Expr:  # noqa: PLR0917  (both sides and what is known of them, always in this order)
    """The canonical form of a comparison of two scalars."""
    if NULL in (left, right):
        return NULL
    if left.op == "lit" and right.op != "lit":
        op, left, right, left_type, right_type = MIRROR[op], right, left, right_type, left_type
        ctx.used.add("mirror-comparison")
    if right.op == "lit":
        if left.op == "lit":
            return _compare_literals(op, left, right, ctx)
        compared = as_compared(left, left_type, right, right_type, ctx)
        if compared != left:
            return _against_literal(op, compared, right, ctx, "any")
        read = beside(right, left_type, ctx.dialect)
        if read != right and read.value[0] not in {"num"}:
            ctx.used.add("literal-type")
        if read.value[0] == "num" and right.value[0] == "str":
            ctx.used.add("literal-type")
        return _against_literal(op, left, read, ctx, left_type)
    first, second = (
        as_compared(left, left_type, right, right_type, ctx),
        as_compared(right, right_type, left, left_type, ctx),
    )
    return oriented(op, first, second)


def oriented(op: str, left: Expr, right: Expr) -> Expr:
    """A comparison of two terms, neither a literal, with one fixed order of its sides."""
    if op in {">", ">="}:
        return Expr(MIRROR[op], None, (right, left))
    if op in {"=", "<>", "same", "distinct"} and repr(right) < repr(left):
        return Expr(op, None, (right, left))
    return Expr(op, None, (left, right))


def _compare_literals(op: str, left: Expr, right: Expr, ctx: Context) -> Expr:
    ours, theirs = beside(left, "real", ctx.dialect), beside(right, "real", ctx.dialect)
    if left.value[0] in {"int", "dec", "float", "num"} and right.value[0] in {"int", "dec", "float", "num"}:
        return (
            _truth(op, bound(ours), bound(theirs))
            if {ours.value[0], theirs.value[0]} == {"num"}
            else Expr(op, None, (left, right))
        )
    if left.value[0] == right.value[0] == "ts":
        return _truth(op, left.value[1], right.value[1])
    if left.value[0] == right.value[0] == "str":
        same = left.value[1] == right.value[1]
        if same or (ctx.dialect.collation == "binary" and op in {"=", "<>"}):
            return _truth(op, left.value[1], right.value[1])
    if left.value[0] == right.value[0] == "bool" and op in {"=", "<>"}:
        return _truth(op, left, right)
    return Expr(op, None, (left, right))


def _truth(op: str, left: Any, right: Any) -> Expr:
    outcome = {
        "=": left == right,
        "<>": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[op]
    return TRUE if outcome else FALSE


def _against_literal(op: str, term: Expr, literal: Expr, ctx: Context, kind: ColumnType) -> Expr:
    form = literal.value[0]
    if form == "num" and term.op == "func":
        ranged = _year_range(op, term, literal, ctx)
        if ranged is not None:
            return ranged
    if form == "bool":
        if kind == "boolean" and op == "<>":
            return Expr("=", None, (term, FALSE if literal == TRUE else TRUE))
        return Expr(op, None, (term, literal))
    if form == "num" and kind in {"text", "boolean", "json", "array", "date", "timestamp", "timestamptz"}:
        return Expr(op, None, (term, literal))
    if form == "str":
        if op not in {"=", "<>"} and (ctx.dialect.name not in ORDERED_TEXT or kind not in {"text"}):
            return Expr(op, None, (term, literal))
        form = "str" if ctx.dialect.name in ORDERED_TEXT and kind == "text" else "text"
    elif form not in {"num", "ts"}:
        return Expr(op, None, (term, literal))
    value = bound(literal)
    parts = {
        "=": (Interval(value, True, value, True),),
        "<>": (Interval(None, False, value, False), Interval(value, False, None, False)),
        "<": (Interval(None, False, value, False),),
        "<=": (Interval(None, False, value, True),),
        ">": (Interval(value, False, None, False),),
        ">=": (Interval(value, True, None, False),),
    }[op]
    return span(term, Span(form, False, parts), kind, ctx.dialect)


def _year_range(op: str, term: Expr, literal: Expr, ctx: Context) -> Expr | None:
    """`EXTRACT(YEAR FROM d) = 2020`  =  `d >= '2020-01-01' AND d < '2021-01-01'`.

    For a DATE or a TIMESTAMP without zone.
    """
    from canon.sql.facts import type_of

    if term.value[0] == "year":
        day = term.args[0]
    elif term.value[0] == "extract" and len(term.args) == 2 and term.args[0] == lit("word", "year"):
        day = term.args[1]
    else:
        return None
    year = bound(literal)
    kind = type_of(day, ctx)
    if (
        kind not in {"date", "timestamp"}
        or not ctx.dialect.exact_dates
        or not isinstance(year, int)
        or not 1 < year < 9998
    ):
        return None
    ctx.used.add("year-as-range")
    start, end = f"{year:04d}-01-01 00:00:00", f"{year + 1:04d}-01-01 00:00:00"
    inside = Span("ts", False, (Interval(start, True, end, False),))
    before, after = Interval(None, False, start, False), Interval(end, True, None, False)
    parts = {
        "=": inside.parts,
        "<>": (before, after),
        "<": (before,),
        "<=": (Interval(None, False, end, False),),
        ">": (after,),
        ">=": (Interval(start, True, None, False),),
    }[op]
    return span(day, Span("ts", False, parts), kind, ctx.dialect)


def span(term: Expr, value: Span, kind: ColumnType, dialect: Dialect) -> Expr:
    """The canonical atom of a term in a span: whole steps where the type has gaps.

    Constants where it is all or none.
    """
    parts = value.parts
    if kind == "integer" and value.kind == "num":
        parts = _whole(parts, floor=0 if term.op == "agg" and term.value[0] == "count" else None)
    elif kind == "date" and value.kind == "ts" and dialect.exact_dates:
        parts = _days(parts)
    if parts == (EVERYTHING,):
        return TRUE if value.null else Expr("notnull", None, (term,))
    if not parts:
        return Expr("isnull", None, (term,)) if value.null else Expr("span", Span("none", False, ()), (term,))
    return Expr("span", Span(value.kind, value.null, parts), (term,))


def _whole(parts: tuple[Interval, ...], floor: int | None) -> tuple[Interval, ...]:
    """Integer intervals with both ends included (`3 < x` = `x >= 4`), adjacent ones joined."""
    found: list[Interval] = []
    for part in parts:
        low, high = part.low, part.high
        if low is not None:
            up = int(low.to_integral_value("ROUND_CEILING")) if isinstance(low, Decimal) else low
            low = up + 1 if up == low and not part.low_in else up
        if high is not None:
            down = int(high.to_integral_value("ROUND_FLOOR")) if isinstance(high, Decimal) else high
            high = down - 1 if down == high and not part.high_in else down
        if floor is not None:
            if high is not None and high < floor:
                continue
            if low is not None and low <= floor:
                low = None
        if low is not None and high is not None and low > high:
            continue
        if found and found[-1].high is not None and low is not None and found[-1].high + 1 == low:
            low, _ = found[-1].low, found.pop()
        found.append(Interval(low, low is not None, high, high is not None))
    return tuple(found)


def _days(parts: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Intervals of whole days, lower end included, upper end excluded, so that adjacent ones join."""
    found: list[Interval] = []
    for part in parts:
        low, high = part.low, part.high
        if low is not None and (not part.low_in or not low.endswith("00:00:00")):
            low = _next_day(low)
        if high is not None and (part.high_in or not high.endswith("00:00:00")):
            high = _next_day(high)
        if low is not None and high is not None and low >= high:
            continue
        if found and found[-1].high is not None and found[-1].high == low:
            low, _ = found[-1].low, found.pop()
        found.append(Interval(low, low is not None, high, False))
    return tuple(found)


def _next_day(text: str) -> str:
    try:
        day = datetime.strptime(text[:10], "%Y-%m-%d") + timedelta(days=1)  # noqa: DTZ007  (a day of a DATE column)
    except (ValueError, OverflowError):
        return f"{text[:10]} 24:00:00"  # the end of the last day that has a name
    return f"{day:%Y-%m-%d} 00:00:00".rjust(19, "0")


def together(values: list[Span], dialect: Dialect) -> Span | None:
    """The values in any of the spans; `None` where the dialect leaves open whether two literals are one."""
    kind = _common(values, dialect)
    if kind is None:
        return None
    merged: list[Interval] = []
    for part in sorted([part for value in values for part in value.parts], key=_low_key):
        if merged and _touches(merged[-1], part):
            last = merged[-1]
            high, high_in = max((last.high, last.high_in), (part.high, part.high_in), key=_high_key)
            merged[-1] = Interval(last.low, last.low_in, high, high_in)
        else:
            merged.append(part)
    return Span(kind, any(value.null for value in values), tuple(merged))


def common_part(values: list[Span], dialect: Dialect) -> Span | None:
    """The values in all of the spans; `None` where the dialect leaves open whether two literals are one."""
    kind = _common(values, dialect)
    if kind is None:
        return None
    outside = together([complement(value._replace(kind=kind)) for value in values], dialect)
    if outside is None:
        return None
    return Span(kind, all(value.null for value in values), complement(outside).parts)


def complement(value: Span) -> Span:
    """The values (not NULL) outside a span; it says nothing of NULL."""
    parts: list[Interval] = []
    low: Bound = None
    low_in = False
    for part in value.parts:
        if part.low is not None:
            parts.append(Interval(low, low_in, part.low, not part.low_in))
        low, low_in = part.high, not part.high_in
        if part.high is None:
            return Span(value.kind, False, tuple(parts))
    parts.append(Interval(low, low_in, None, False))
    return Span(value.kind, False, tuple(parts))


def _common(values: list[Span], dialect: Dialect) -> str | None:
    kinds = {value.kind for value in values} - {"none"}
    if len(kinds) > 1:
        return None
    kind = kinds.pop() if kinds else "none"
    if kind in {"text", "str"} and dialect.collation != "binary":
        texts = {text for value in values for part in value.parts for text in (part.low, part.high) if text is not None}
        if len({fold_text(text) for text in texts}) < len(texts):
            return None
    return kind


def _low_key(part: Interval) -> tuple[bool, Any, bool]:
    if part.low is None:
        return (False, 0, False)
    return (True, part.low, not part.low_in)


def _high_key(end: tuple[Bound, bool]) -> tuple[bool, Any, bool]:
    high, included = end
    return (True, 0, True) if high is None else (False, high, included)


def _touches(left: Interval, right: Interval) -> bool:
    """Whether the right interval, which starts no earlier, leaves no gap after the left one."""
    if left.high is None or right.low is None:
        return True
    if left.high != right.low:
        return bool(left.high > right.low)
    return left.high_in or right.low_in


def negate(expr: Expr, ctx: Context) -> Expr:
    """NOT of a predicate in canonical form. Exact in three-valued logic."""
    op = expr.op
    if op in {"and", "or"}:
        ctx.used.add("de-morgan")
        return junction("or" if op == "and" else "and", [negate(arg, ctx) for arg in expr.args])
    if op in COMPARISONS:
        flipped = NEGATION[op]
        if flipped == "<>" and expr.args[1] in (TRUE, FALSE):
            return Expr("=", None, (expr.args[0], FALSE if expr.args[1] == TRUE else TRUE))
        return oriented(flipped, *expr.args) if expr.args[1].op != "lit" else Expr(flipped, None, expr.args)
    if op == "span":
        value: Span = expr.value
        if not value.null:
            return _respan(expr.args[0], complement(value), ctx) if value.parts else Expr("not", None, (expr,))
        parts = complement(value).parts
        inside = Expr("span", Span(value.kind, False, parts), expr.args)
        return junction("and", (inside, Expr("notnull", None, expr.args)))
    opposite = {"isnull": "notnull", "notnull": "isnull", "same": "distinct", "distinct": "same"}.get(op)
    if opposite is not None:
        return Expr(opposite, None, expr.args)
    if op == "not":
        return expr.args[0]
    if op in {"istrue", "untrue"}:
        return Expr("untrue" if op == "istrue" else "istrue", None, expr.args)
    if op == "lit" and expr.value[0] == "bool":
        return FALSE if expr == TRUE else TRUE
    if expr == NULL:
        return NULL
    if op == "eqclass":
        return negate(junction("and", [oriented("=", expr.args[0], other) for other in expr.args[1:]]), ctx)
    if op == "quant":
        operator, mode, rel = expr.value
        return Expr("quant", (NEGATION[operator], "all" if mode == "any" else "any", rel), expr.args)
    return Expr("not", None, (expr,))


def untrue(expr: Expr, ctx: Context) -> Expr:
    """`expr IS NOT TRUE` as a predicate whose truth is its complement: FALSE or UNKNOWN."""
    op = expr.op
    if op in {"and", "or"}:
        return junction("or" if op == "and" else "and", [untrue(arg, ctx) for arg in expr.args])
    if op == "eqclass":
        return untrue(junction("and", [oriented("=", expr.args[0], other) for other in expr.args[1:]]), ctx)
    if op in {"isnull", "notnull", "same", "distinct", "exists"} or expr in (TRUE, FALSE):
        return negate(expr, ctx)
    if expr == NULL:
        return TRUE
    if op == "span" and expr.value.parts:
        value: Span = expr.value
        outside = complement(value)
        return _respan(expr.args[0], outside._replace(null=not value.null), ctx)
    if (op in COMPARISONS or op == "like") and NULL in expr.args:
        return TRUE
    if op in COMPARISONS or op == "like":
        nulls = [Expr("isnull", None, (arg,)) for arg in expr.args if arg.op != "lit"]
        return junction("or", [negate(expr, ctx), *nulls])
    if op == "not" and expr.args[0].op == "exists":
        return expr.args[0]
    return Expr("untrue", None, (expr,))


def truth(expr: Expr, ctx: Context) -> Expr:
    """A predicate of which only truth matters: wrappers that only separate UNKNOWN from FALSE go, ranges merge."""
    op = expr.op
    if op in {"and", "or"}:
        return merge(op, [truth(arg, ctx) for arg in expr.args], ctx)
    if expr == NULL:
        return FALSE
    if op == "istrue":
        ctx.used.add("is-true")
        return truth(expr.args[0], ctx)
    if op == "span":
        return _span_of_choice(expr, ctx) or expr
    if op == "case" or (op == "=" and expr.args[0].op == "case" and expr.args[1] in (TRUE, FALSE)):
        return _boolean_case(expr, ctx) or expr
    if op == "not" and expr.args[0].op == "case":
        return _boolean_case(Expr("=", None, (expr.args[0], FALSE)), ctx) or expr
    if op == "lit" and expr.value[0] in {"int", "num"} and ctx.dialect.booleans == "integer":
        return FALSE if number(expr.value[1]) == "0" else TRUE
    if op == "untrue" and expr.args[0].op in {
        "eqclass",
        "isnull",
        "notnull",
        "exists",
        "and",
        "or",
        "span",
        *COMPARISONS,
        "like",
    }:
        return truth(untrue(expr.args[0], ctx), ctx)
    return expr


def _span_of_choice(expr: Expr, ctx: Context) -> Expr | None:
    """A range of COALESCE(x, 0) or of a CASE with literal results, as a condition on what it chooses by."""
    chosen, value = expr.args[0], expr.value
    if chosen.op == "coalesce" and len(chosen.args) == 2 and not value.null:
        term, default = chosen.args
        inside = _inside(default, value, ctx)
        if inside is None:
            return None
        ctx.used.add("coalesce-condition")
        test = _respan(term, value, ctx)
        return merge("or", (truth(test, ctx), Expr("isnull", None, (term,))), ctx) if inside else truth(test, ctx)
    if chosen.op == "case":
        picks = [_inside(result, value, ctx) for result in (*chosen.args[1::2], chosen.args[-1])]
        return picked(chosen, picks, ctx)
    return None


def _inside(literal: Expr, value: Span, ctx: Context) -> bool | None:
    """Whether a literal is in a span; `None` where that cannot be told."""
    if literal == NULL:
        return value.null
    if literal.op != "lit":
        return None
    read = beside(literal, "real" if value.kind == "num" else "any" if value.kind == "ts" else "text", ctx.dialect)
    if (read.value[0] == "num" and value.kind == "num") or read.value[0] == value.kind == "ts":
        point = bound(read)
    elif read.value[0] == "str" and value.kind in {"str", "text"} and ctx.dialect.collation == "binary":
        point = read.value[1]
    else:
        return None
    met = common_part(
        [value._replace(null=False), Span(value.kind, False, (Interval(point, True, point, True),))], ctx.dialect
    )
    return None if met is None else bool(met.parts)


def _boolean_case(expr: Expr, ctx: Context) -> Expr | None:
    """A CASE that is itself a condition, or is compared with a truth value."""
    case, wanted = (expr, TRUE) if expr.op == "case" else expr.args
    results = (*case.args[1::2], case.args[-1])
    if not all(result in (TRUE, FALSE, NULL) for result in results):
        return None
    return picked(case, [result == wanted for result in results], ctx)


def picked(case: Expr, picks: list[bool | None], ctx: Context) -> Expr | None:
    """The condition under which a CASE chooses one of the picked results: its WHEN, and no earlier one."""
    if any(pick is None for pick in picks) or len(picks) > MAX_PICKED:
        return None
    if any(contains(condition, frozenset({"case"})) for condition in case.args[:-1:2]):
        return None  # each level would double what is said
    ctx.used.add("case-condition")
    before: list[Expr] = []
    found: list[Expr] = []
    for condition, pick in zip(case.args[:-1:2], picks, strict=False):
        if pick:
            found.append(merge("and", [*before, truth(condition, ctx)], ctx))
        before.append(truth(untrue(condition, ctx), ctx))
    if picks[-1]:
        found.append(merge("and", before, ctx))
    return merge("or", found, ctx)


def merge(op: str, parts: Iterable[Expr], ctx: Context) -> Expr:
    """AND or OR of predicates of which only truth matters; ranges and NULL tests of one term become one atom."""
    joined = junction(op, list(parts))
    if joined.op != op:
        return joined
    by_term: dict[Expr, list[Expr]] = {}
    for part in joined.args:
        if part.op in {"span", "isnull", "notnull"}:
            by_term.setdefault(part.args[0], []).append(part)
    if all(len(atoms) == 1 for atoms in by_term.values()):
        return absorb(joined, ctx)
    replaced: dict[Expr, Expr] = {}
    for term, atoms in by_term.items():
        if len(atoms) > 1:
            one = _merge_atoms(op, term, atoms, ctx)
            for atom in atoms:
                replaced[atom] = one.get(atom, TRUE if op == "and" else FALSE)
    return absorb(junction(op, [replaced.get(part, part) for part in joined.args]), ctx)


def _merge_atoms(op: str, term: Expr, atoms: list[Expr], ctx: Context) -> dict[Expr, Expr]:
    """For each atom that survives, what it becomes; the others are swallowed."""
    spans = [atom for atom in atoms if atom.op == "span"]
    is_null = any(atom.op == "isnull" for atom in atoms)
    not_null = any(atom.op == "notnull" for atom in atoms)
    result: dict[Expr, Expr] = {}
    kept = _merge_spans(op, term, spans, ctx)
    if len(kept) < len(spans):
        ctx.used.add("range-merge")
    kept = [_with_nulls(op, atom, is_null, not_null, ctx) for atom in kept]
    for atom, new in zip(spans, kept, strict=False):
        result[atom] = new
    nulls_done = any(atom.op == "span" and (op == "and" or atom.value.null) for atom in kept) and (
        (op == "and" and not_null) or (op == "or" and is_null)
    )
    for atom in atoms:
        if atom.op != "span" and not (nulls_done and atom.op == ("notnull" if op == "and" else "isnull")):
            result[atom] = atom
    return result


def _merge_spans(op: str, term: Expr, spans: list[Expr], ctx: Context) -> list[Expr]:
    """The spans of one term as few as can be said; what leaves nothing or everything stays to be seen as it is."""
    by_kind: dict[str, list[Expr]] = {}
    for atom in spans:
        by_kind.setdefault(atom.value.kind, []).append(atom)
    kept: list[Expr] = []
    for atoms in by_kind.values():
        values = [atom.value for atom in atoms]
        value = together(values, ctx.dialect) if op == "or" else common_part(values, ctx.dialect)
        merged = None if value is None or len(atoms) == 1 else _respan(term, value, ctx)
        if merged is None or merged == TRUE or (merged.op == "span" and not merged.value.parts):
            kept.extend(atoms)
        else:
            kept.append(merged)
    return kept


def _respan(term: Expr, value: Span, ctx: Context) -> Expr:
    from canon.sql.facts import type_of

    return span(term, value, type_of(term, ctx), ctx.dialect)


def _with_nulls(op: str, atom: Expr, is_null: bool, not_null: bool, ctx: Context) -> Expr:
    """Fold the NULL tests of a term into a span of it."""
    if atom.op != "span":
        return atom
    value: Span = atom.value
    if op == "and" and not_null:
        ctx.used.add("null-test")
        return _respan(atom.args[0], value._replace(null=False), ctx)
    if op == "or" and is_null:
        ctx.used.add("null-test")
        widened = _respan(atom.args[0], value._replace(null=True), ctx)
        return atom if widened == TRUE else widened
    return atom


def absorb(expr: Expr, ctx: Context) -> Expr:
    """`a AND (a OR b)  =  a`, and common parts out of an OR of ANDs: `(a AND b) OR (a AND c)  =  a AND (b OR c)`."""
    op = expr.op
    if op not in {"and", "or"}:
        return expr
    other = "or" if op == "and" else "and"
    if not any(part.op == other for part in expr.args):
        return expr
    parts = set(expr.args)
    kept = [
        part
        for part in expr.args
        if part.op != other
        or not (
            any(member in parts for member in part.args)
            or any(rival is not part and rival.op == other and set(rival.args) < set(part.args) for rival in expr.args)
        )
    ]
    if len(kept) < len(expr.args):
        ctx.used.add("absorption")
        return absorb(junction(op, kept), ctx)
    if op == "or":
        common = set.intersection(*(set(part.args) if part.op == "and" else {part} for part in expr.args))
        if common:
            ctx.used.add("common-factor")
            rest = [
                junction("and", [a for a in part.args if a not in common]) if part.op == "and" else TRUE
                for part in expr.args
            ]
            shared = [
                part
                for part in dict.fromkeys(a for p in expr.args for a in (p.args if p.op == "and" else (p,)))
                if part in common
            ]
            return junction("and", [*shared, merge("or", rest, ctx)])
    return expr


__all__ = ["COMPARISONS", "INSTANT_TYPES", "NUMERIC_TYPES", "Interval", "Span", "absorb", "compare", "lit", "negate"]
