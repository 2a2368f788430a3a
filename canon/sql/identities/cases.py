"""CASE by what it chooses where, however its branches are ordered and nested; closed domains (P8, P2)."""

from canon.sql.algebra import FALSE, NULL, TRUE, Block, Expr, lit
from canon.sql.context import Context
from canon.sql.facts import column_fact, nullable, type_of
from canon.sql.identities.positions import in_expressions, mentions
from canon.sql.predicates import (
    EVERYTHING,
    Interval,
    Span,
    common_part,
    complement,
    fold_text,
    negate,
    picked,
    span,
    together,
    truth,
    untrue,
)

ZERO = lit("int", "0")
EXACT = frozenset({"integer", "decimal"})
MAX_BRANCHES = 8

Regions = list[tuple[Expr, Span]]


# -- closed domains ---------------------------------------------------------------------------------------------


def declared_domain(block: Block, ctx: Context) -> Block | None:
    """`status <> 'x'`  =  `status IN (<the other declared values>)` for an ENUM; its LIKE is a list of values too."""
    if not mentions(block, frozenset({"span", "like"})):
        return None
    if ctx.dialect.name != "mysql":
        return None
    return in_expressions(block, lambda expr: _declared(expr, ctx), ctx)


def _declared(expr: Expr, ctx: Context) -> Expr | None:
    if expr.op == "not" and expr.args[0].op == "like":
        found = _declared(expr.args[0], ctx)
        return None if found is None else negate(found, ctx)
    if expr.op not in {"span", "like"} or expr.args[0].op != "col":
        return None
    values = column_fact(expr.args[0], ctx).values
    if not values or len({fold_text(value) for value in values}) < len(values):
        return None
    if expr.op == "like":
        chosen = _like(expr, values)
    else:
        chosen = _members(expr.value, values) if expr.value.kind == "text" and not expr.value.null else None
    if chosen is None or not chosen:
        return None
    if len(chosen) == len(values):
        return Expr("notnull", None, expr.args[:1])
    parts = tuple([Interval(value, True, value, True) for value in sorted(chosen)])
    found = Expr("span", Span("text", False, parts), expr.args[:1])
    return None if found == expr else found


def _like(expr: Expr, values: tuple[str, ...]) -> list[str] | None:
    """The values that begin with the text of a pattern `text%`, or are it."""
    if expr.value != "like" or len(expr.args) != 2 or expr.args[1].op != "lit" or expr.args[1].value[0] != "str":
        return None
    pattern = expr.args[1].value[1]
    head = pattern.removesuffix("%")
    if not head or not head.isascii() or any(mark in head for mark in "%_\\") or not all(v.isascii() for v in values):
        return None
    head = head.lower()
    if head == pattern.lower():
        return [value for value in values if value.lower() == head]
    return [value for value in values if value.lower().startswith(head)]


def _members(value: Span, values: tuple[str, ...]) -> list[str] | None:
    for tested, wanted in ((value, True), (complement(value), False)):
        if all(part.low is not None and part.low == part.high for part in tested.parts):
            folded = {fold_text(str(part.low)) for part in tested.parts}
            return [member for member in values if (fold_text(member) in folded) == wanted]
    return None


# -- CASE -------------------------------------------------------------------------------------------------------


def canonical_case(block: Block, ctx: Context) -> Block | None:
    """The branches of a CASE, in the order of what they choose.

    `CASE WHEN x > 9 THEN a WHEN x > 5 THEN b ELSE c END`
    =  `CASE WHEN x <= 5 THEN c WHEN x <= 9 THEN b ELSE a END`.
    """
    if not mentions(block, frozenset({"case"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "case" or len(expr.args) > 2 * MAX_BRANCHES:
            return None
        found = _flat(expr, ctx) or _canonical(expr, ctx)
        return None if found == expr else found

    return in_expressions(block, law, ctx)


def _flat(expr: Expr, ctx: Context) -> Expr | None:
    """A CASE inside a branch, as branches.

    `CASE WHEN p THEN CASE WHEN q THEN a ELSE b END ELSE c END`
    =  `CASE WHEN p AND q THEN a WHEN p THEN b ELSE c END`.
    """
    for place in range(1, len(expr.args) - 1, 2):
        inner = expr.args[place]
        if inner.op != "case":
            continue
        outer = expr.args[place - 1]
        branches: list[Expr] = []
        for index in range(0, len(inner.args) - 1, 2):
            branches += [truth(Expr("and", None, (outer, inner.args[index])), ctx), inner.args[index + 1]]
        branches += [outer, inner.args[-1]]
        return expr._replace(args=(*expr.args[: place - 1], *branches, *expr.args[place + 1 :]))
    return None


def _canonical(expr: Expr, ctx: Context) -> Expr | None:
    regions = regions_of(expr, ctx)
    if regions is not None:
        return _written(regions, _term(expr), ctx)
    results = list(dict.fromkeys((*expr.args[1::2], expr.args[-1])))
    if len(results) != 2:
        return None
    return _two_ways(expr, results, ctx)


def _two_ways(expr: Expr, results: list[Expr], ctx: Context) -> Expr | None:
    """A choice between two results: which of them is ELSE does not hang on how it was written."""
    first, second = sorted(results, key=_rank)
    if _rank(first) == _rank(second):
        return None
    if len(expr.args) == 3:
        if expr.args[2] == second:
            return None
        return expr._replace(args=(truth(untrue(expr.args[0], ctx), ctx), first, second))
    if any(condition.op in {"exists", "in", "quant"} for condition in expr.args[:-1:2]):
        return None
    condition = picked(expr, [result == first for result in (*expr.args[1::2], expr.args[-1])], ctx)
    if condition is None or condition in (TRUE, FALSE):
        return None
    return expr._replace(args=(condition, first, second))


def _rank(expr: Expr) -> tuple[int, str]:
    """What comes last is ELSE: NULL, then 0, then by the shape of the expression, sources not looked at."""
    if expr == NULL:
        return (2, "")
    if expr == ZERO:
        return (1, "")
    return (0, _shape(expr))


def _shape(expr: Expr) -> str:
    value = expr.value[1] if expr.op == "col" else expr.value if expr.op in {"lit", "func", "agg", "cast"} else ""
    return f"{expr.op}:{value}({','.join([_shape(arg) for arg in expr.args])})"


def _term(expr: Expr) -> Expr:
    return expr.args[0].args[0]


def regions_of(expr: Expr, ctx: Context) -> Regions | None:
    """What a CASE over one term chooses in which part of the term's domain; `None` where it is of another kind."""
    conditions = expr.args[:-1:2]
    if any(part.op not in {"span", "isnull", "notnull"} or part.args[0] != _term(expr) for part in conditions):
        return None
    kinds = {part.value.kind for part in conditions if part.op == "span"} - {"none"}
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    spans = [_as_span(part, kind) for part in conditions]
    if together([value._replace(kind=kind) for value in spans], ctx.dialect) is None:
        return None
    known = not nullable(_term(expr), ctx)
    rest = Span(kind, not known, (EVERYTHING,))
    found: Regions = []
    for value, result in zip([*spans, rest], (*expr.args[1::2], expr.args[-1]), strict=True):
        region = _meet(value, rest, ctx)
        beyond = _meet(complement(value), rest, ctx)
        if region is None or beyond is None:
            return None
        found.append((result, region))
        rest = beyond._replace(null=rest.null and not value.null)
    return _gathered(found, _term(expr), ctx)


def _as_span(part: Expr, kind: str) -> Span:
    if part.op == "isnull":
        return Span(kind, True, ())
    if part.op == "notnull":
        return Span(kind, False, (EVERYTHING,))
    value: Span = part.value
    return value._replace(kind=kind)


def _meet(first: Span, second: Span, ctx: Context) -> Span | None:
    if not first.parts or not second.parts:
        return Span(first.kind, first.null and second.null, ())
    return common_part([first, second], ctx.dialect)


def _gathered(found: Regions, term: Expr, ctx: Context) -> Regions | None:
    """One region for each result, closed domains counted, empty ones left out."""
    by_result: dict[Expr, list[Span]] = {}
    for result, region in found:
        by_result.setdefault(result, []).append(region)
    gathered: Regions = []
    for result, regions in by_result.items():
        joined = together(regions, ctx.dialect)
        if joined is None:
            return None
        atom = span(term, joined, type_of(term, ctx), ctx.dialect)
        if atom.op == "span" and not atom.value.null and atom.value.parts:
            atom = _narrowed(atom, ctx)
        if atom.op == "span":
            joined = atom.value._replace(kind=joined.kind)
        if joined.parts or joined.null:
            gathered.append((result, joined))
    return gathered


def _narrowed(atom: Expr, ctx: Context) -> Expr:
    """A range of an ENUM as the list of its values; nothing where none of them is in it."""
    if ctx.dialect.name != "mysql" or atom.args[0].op != "col" or atom.value.kind != "text":
        return atom
    values = column_fact(atom.args[0], ctx).values
    chosen = _members(atom.value, values) if values else None
    if chosen is None:
        return atom
    return atom._replace(
        value=Span("text", False, tuple([Interval(value, True, value, True) for value in sorted(chosen)]))
    )


def _written(regions: Regions, term: Expr, ctx: Context) -> Expr | None:
    """The CASE of some regions, in the order of the domain; NULL or 0 is ELSE where it is among the results."""
    if len(regions) == 1:
        return regions[0][0]
    ordered = sorted(regions, key=lambda pair: (_rank(pair[0])[0], _start(pair[1])))
    args: list[Expr] = []
    for result, region in ordered[:-1]:
        args += [span(term, region, type_of(term, ctx), ctx.dialect), result]
    return Expr("case", None, (*args, ordered[-1][0]))


def _start(value: Span) -> tuple[int, str, object]:
    if not value.parts:
        return (2, "", "")
    part = value.parts[0]
    if part.low is None:
        return (0, "", "") if part.high is None else (0, "low", part.high)
    return (1, "", part.low)


# -- differences of sums ----------------------------------------------------------------------------------------


def difference_of_sums(block: Block, ctx: Context) -> Block | None:
    """The difference of two sums of choices by one column, as one sum.

    `SUM(CASE WHEN x = 'a' THEN n ELSE 0 END) - SUM(CASE WHEN x = 'b' THEN n ELSE 0 END)`
    =  `SUM(CASE x WHEN 'a' THEN n WHEN 'b' THEN -n ELSE 0 END)`.

    For whole numbers and decimals that are never NULL, and a choice by one column.
    """
    if not mentions(block, frozenset({"-"})):
        return None
    if block.group is None or ctx.dialect.name != "mysql":  # elsewhere a sum may be of floats, or overflow
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op != "-" or any(arg.op != "agg" or arg.value != ("sum", False) for arg in expr.args):
            return None
        first, second = [arg.args[0] for arg in expr.args]
        if any(case.op != "case" or not case.args[0].args for case in (first, second)) or _term(first) != _term(second):
            return None
        parts = [(*case.args[1::2], case.args[-1]) for case in (first, second)]
        everything = [result for results in parts for result in results]
        if any(nullable(result, ctx) or type_of(result, ctx) not in EXACT for result in everything):
            return None
        if all(result.op == "lit" for result in everything):
            return None
        found = _subtracted(first, second, ctx)
        return None if found is None else Expr("agg", ("sum", False), (found,))

    return in_expressions(block, law, ctx)


def _subtracted(first: Expr, second: Expr, ctx: Context) -> Expr | None:
    ours, theirs = regions_of(first, ctx), regions_of(second, ctx)
    if ours is None or theirs is None:
        return None
    met: Regions = []
    for mine, here in ours:
        for its, there in theirs:
            if here.kind != there.kind:
                return None
            region = _meet(here, there, ctx)
            if region is None or (ZERO not in (mine, its) and (region.parts or region.null)):
                return None
            met.append((mine if its == ZERO else Expr("neg", None, (its,)), region))
    gathered = _gathered(met, _term(first), ctx)
    return None if gathered is None else _written(gathered, _term(first), ctx)


# -- signs and factors ------------------------------------------------------------------------------------------


def plain_products(block: Block, ctx: Context) -> Block | None:
    """`-1 * n`  =  `-n`; a product of numbers commutes once both are known to be numbers."""
    if not mentions(block, frozenset({"*", "+"})):
        return None

    def law(expr: Expr) -> Expr | None:
        if expr.op not in {"*", "+"} or len(expr.args) != 2:
            return None
        kinds = [type_of(arg, ctx) for arg in expr.args]
        if expr.op == "*":
            for one, other, kind in ((0, 1, kinds[1]), (1, 0, kinds[0])):
                if expr.args[one] == lit("int", "-1") and kind in EXACT:
                    return Expr("neg", None, (expr.args[other],))
        if expr.value is None and all(kind in EXACT or kind == "real" for kind in kinds):
            return expr._replace(value="commutes")
        return None

    return in_expressions(block, law, ctx)
