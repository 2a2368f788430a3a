"""Mutates a golden query in the ways in which models go wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlglot import exp

from canon.schema import Column, Schema
from canon.schema import Table as SchemaTable
from canon.verdict import DifferenceKind

Rule = Callable[[exp.Expr, Schema], Iterator[tuple[DifferenceKind, str, exp.Expr]]]

MAX_MUTANTS = 60
LARGEST_LIMIT = 20
_BOUNDARIES: dict[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.GT: (exp.GTE, exp.LT),
    exp.GTE: (exp.GT, exp.LTE),
    exp.LT: (exp.LTE, exp.GT),
    exp.LTE: (exp.LT, exp.GTE),
    exp.EQ: (exp.NEQ,),
    exp.NEQ: (exp.EQ,),
}
_AGGREGATES: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.Sum: exp.Avg,
    exp.Avg: exp.Sum,
    exp.Min: exp.Max,
    exp.Max: exp.Min,
}
_SETS: dict[type[exp.SetOperation], type[exp.SetOperation]] = {
    exp.Union: exp.Intersect,
    exp.Intersect: exp.Union,
    exp.Except: exp.Intersect,
}


@dataclass(frozen=True)
class Mutant:
    """A golden query with one thing wrong.

    Attributes:
        kind: which kind of mistake it is, from the closed list of differences.
        change: what was done, in words.
        text: the query.
    """

    kind: DifferenceKind
    change: str
    text: str


def mutants_of(tree: exp.Expr, dialect: str, schema: Schema) -> list[Mutant]:
    """Every mutant of a query, each text once, at most `MAX_MUTANTS`, the kinds taking turns.

    Args:
        tree: the golden query as read.
        dialect: its dialect.
        schema: the tables, which say what columns can be mistaken for each other.
    """
    original = tree.sql(dialect=dialect)
    by_rule = [list(_each(rule, tree, dialect, schema)) for rule in RULES]
    found: dict[str, Mutant] = {}
    for turn in range(max(map(len, by_rule), default=0)):
        for mutants in by_rule:
            if turn < len(mutants) and mutants[turn].text != original:
                found.setdefault(mutants[turn].text, mutants[turn])
    return list(found.values())[:MAX_MUTANTS]


def _each(rule: Rule, tree: exp.Expr, dialect: str, schema: Schema) -> Iterator[Mutant]:
    for kind, change, mutated in rule(tree, schema):
        yield Mutant(kind, change, mutated.sql(dialect=dialect))


def _changed(tree: exp.Expr, node: exp.Expr, made: exp.Expr | None) -> exp.Expr:
    """A copy of the tree in which `node` is replaced, or taken out where `made` is `None`."""
    order = list(tree.walk())
    place = next(index for index, item in enumerate(order) if item is node)
    copy = tree.copy()
    twin = next(item for index, item in enumerate(copy.walk()) if index == place)
    if made is None:
        twin.pop()
        return copy
    if twin is copy:
        return made.copy()
    twin.replace(made.copy())
    return copy


def _predicates(tree: exp.Expr, _: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Drop a condition: a conjunct, a disjunct, or the whole clause."""
    for clause in tree.find_all(exp.Where, exp.Having):
        kind: DifferenceKind = "having" if isinstance(clause, exp.Having) else "missing_predicate"
        if not isinstance(clause.this, exp.And | exp.Or):
            yield kind, f"{clause.this.sql()} dropped", _changed(tree, clause, None)
    for node in tree.find_all(exp.And, exp.Or):
        for kept, dropped in ((node.left, node.right), (node.right, node.left)):
            yield "missing_predicate", f"{dropped.sql()} dropped", _changed(tree, node, kept)
    for item in tree.find_all(exp.In):
        if len(item.expressions) > 1:
            fewer = item.copy()
            fewer.set("expressions", [e.copy() for e in item.expressions[:-1]])
            yield "wrong_value", f"{item.expressions[-1].sql()} left out of the list", _changed(tree, item, fewer)


def _structure(tree: exp.Expr, _: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Swap AND and OR; drop a NOT."""
    for node in tree.find_all(exp.And, exp.Or):
        other = exp.Or if isinstance(node, exp.And) else exp.And
        swapped = exp.Paren(this=other(this=node.left.copy(), expression=node.right.copy()))
        yield (
            "boolean_structure",
            f"{type(node).__name__.upper()} became {other.__name__.upper()}",
            _changed(tree, node, swapped),
        )
    for negation in tree.find_all(exp.Not):
        yield "wrong_operator", "NOT dropped", _changed(tree, negation, negation.this)
    for test in tree.find_all(exp.Like, exp.Is):
        if test.args.get("negate"):
            plain = test.copy()
            plain.set("negate", None)
            yield "wrong_operator", "NOT dropped", _changed(tree, test, plain)


def _boundaries(tree: exp.Expr, _: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Take an edge in or out, or compare the other way."""
    for node in tree.find_all(*_BOUNDARIES):
        if node.find_ancestor(exp.Join) is not None and isinstance(node.this, exp.Column):
            continue
        for number, other in enumerate(_BOUNDARIES[type(node)]):
            made = other(this=node.this.copy(), expression=node.expression.copy())
            inclusive = number == 0 and not isinstance(node, exp.EQ | exp.NEQ)
            yield (
                "bound_inclusivity" if inclusive else "wrong_operator",
                f"{node.sql()} became {made.sql()}",
                _changed(tree, node, made),
            )
    for node in tree.find_all(exp.Between):
        low, high = node.args["low"], node.args["high"]
        for below, above in ((exp.GT, exp.LTE), (exp.GTE, exp.LT)):
            made = exp.and_(
                below(this=node.this.copy(), expression=low.copy()),
                above(this=node.this.copy(), expression=high.copy()),
            )
            yield "bound_inclusivity", f"{node.sql()} became {made.sql()}", _changed(tree, node, exp.Paren(this=made))


def _values(tree: exp.Expr, _: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Miss a number by one, a date by a day."""
    for literal in tree.find_all(exp.Literal):
        if literal.find_ancestor(exp.Limit, exp.Offset, exp.Order, exp.Group, exp.Interval) is not None:
            continue
        if not isinstance(literal.parent, (*_BOUNDARIES, exp.Between, exp.In, exp.Cast)):
            continue
        made, kind = _moved(literal)
        if made is not None:
            yield kind, f"{literal.sql()} became {made.sql()}", _changed(tree, literal, made)
    for interval in tree.find_all(exp.Interval):
        unit = interval.args.get("unit")
        if unit is not None:
            made = interval.copy()
            made.set("unit", exp.var("WEEK" if unit.name.upper().startswith("DAY") else "DAY"))
            yield "date_resolution", f"{interval.sql()} became {made.sql()}", _changed(tree, interval, made)


def _moved(literal: exp.Literal) -> tuple[exp.Expr | None, DifferenceKind]:
    text = str(literal.this)
    if not literal.is_string:
        return (exp.Literal.number(int(text) + 1) if text.isdigit() else None), "wrong_value"
    try:
        moment = datetime.fromisoformat(text)
        later = moment + timedelta(days=1)
    except (ValueError, OverflowError):
        return None, "wrong_value"
    return exp.Literal.string(text.replace(text[:10], later.isoformat()[:10])), "date_resolution"


def _joins(tree: exp.Expr, _: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Take an inner join for an outer one, and the reverse; drop DISTINCT or add it; swap set operations."""
    for join in tree.find_all(exp.Join):
        if join.args.get("on") is None and not join.args.get("using"):
            continue
        made = join.copy()
        outer = bool(join.side)
        made.set("side", None if outer else "LEFT")
        made.set("kind", None)
        yield "join_kind", "outer join became inner" if outer else "inner join became left", _changed(tree, join, made)
    for select in tree.find_all(exp.Select):
        other_select = select.copy()
        if select.args.get("distinct"):
            other_select.set("distinct", None)
            yield "distinct", "DISTINCT dropped", _changed(tree, select, other_select)
        elif not select.args.get("group") and select.find_ancestor(exp.In, exp.Exists) is None:
            other_select.set("distinct", exp.Distinct())
            yield "distinct", "DISTINCT added", _changed(tree, select, other_select)
    for node in tree.find_all(exp.SetOperation):
        if isinstance(node, exp.Union):
            made_set = node.copy()
            made_set.set("distinct", not node.args.get("distinct"))
            yield "set_operation", "UNION ALL for UNION, or the reverse", _changed(tree, node, made_set)
        other = _SETS[type(node)]
        swapped = other(this=node.this.copy(), expression=node.expression.copy(), distinct=True)
        yield (
            "set_operation",
            f"{type(node).__name__.upper()} became {other.__name__.upper()}",
            _changed(tree, node, swapped),
        )


def _aggregates(tree: exp.Expr, schema: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Take one aggregate for another; count a column instead of rows; lose DISTINCT inside."""
    for node in tree.find_all(*_AGGREGATES):
        made = _AGGREGATES[type(node)](this=node.this.copy())
        yield "aggregate", f"{node.sql()} became {made.sql()}", _changed(tree, node, made)
    for count in tree.find_all(exp.Count):
        if isinstance(count.this, exp.Distinct):
            made = exp.Count(this=count.this.expressions[0].copy())
            yield "aggregate", f"{count.sql()} became {made.sql()}", _changed(tree, count, made)
        elif isinstance(count.this, exp.Star):
            for column in _nullable(count, schema)[:1]:
                made = exp.Count(this=exp.column(column.name))
                yield "aggregate", f"COUNT(*) became {made.sql()}", _changed(tree, count, made)
        elif isinstance(count.this, exp.Column):
            yield "aggregate", f"{count.sql()} became COUNT(*)", _changed(tree, count, exp.Count(this=exp.Star()))
    for group in tree.find_all(exp.Group):
        if len(group.expressions) > 1:
            fewer = group.copy()
            fewer.set("expressions", [e.copy() for e in group.expressions[:-1]])
            yield "grouping", f"{group.expressions[-1].sql()} left out of GROUP BY", _changed(tree, group, fewer)


def _order(tree: exp.Expr, _: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Sort the other way, by one key less; return one row more, or all of them; skip one less."""
    order = tree.args.get("order")
    for item in order.expressions if order is not None else ():
        made = item.copy()
        made.set("desc", not item.args.get("desc"))
        made.set("nulls_first", not item.args.get("nulls_first"))
        yield "sort_direction", f"{item.this.sql()} sorted the other way", _changed(tree, item, made)
    if order is not None and len(order.expressions) > 1:
        fewer = order.copy()
        fewer.set("expressions", [e.copy() for e in order.expressions[:-1]])
        yield "sort_key", f"{order.expressions[-1].sql()} left out of ORDER BY", _changed(tree, order, fewer)
    for clause, kind in ((tree.args.get("limit"), "limit"), (tree.args.get("offset"), "offset")):
        if isinstance(clause, exp.Limit | exp.Offset) and _counts(clause.expression):
            made = clause.copy()
            made.set("expression", exp.Literal.number(int(clause.expression.this) + 1))
            named: DifferenceKind = "limit" if kind == "limit" else "offset"
            yield named, f"{clause.sql().strip()} became {made.sql().strip()}", _changed(tree, clause, made)
            yield named, f"{clause.sql().strip()} dropped", _changed(tree, clause, None)


def _counts(node: exp.Expr) -> bool:
    """Whether a number of rows is one that somebody asked for; a page of fifty is none."""
    return isinstance(node, exp.Literal) and str(node.this).isdigit() and int(node.this) <= LARGEST_LIMIT


def _fields(tree: exp.Expr, schema: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Take a column for another of the same table and type."""
    tables = {table.name.lower(): table for table in schema.tables}
    for column in tree.find_all(exp.Column):
        if column.find_ancestor(exp.Join) is not None or isinstance(column.this, exp.Star):
            continue
        owner = _owner(column, tables)
        if owner is None:
            continue
        mine = next((c for c in owner.columns if c.name.lower() == column.name.lower()), None)
        others = [c for c in owner.columns if mine is not None and c.type == mine.type and c.name != mine.name]
        used = {c.name.lower() for c in tree.find_all(exp.Column)}
        for other in sorted(others, key=lambda c: c.name.lower() in used)[:1]:
            made = column.copy()
            made.set("this", exp.to_identifier(other.name, quoted=column.this.args.get("quoted")))
            in_condition = column.find_ancestor(exp.Where, exp.Having) is not None
            kind: DifferenceKind = "wrong_field" if in_condition else "projection"
            yield kind, f"{column.sql()} became {made.sql()}", _changed(tree, column, made)


def _additions(tree: exp.Expr, schema: Schema) -> Iterator[tuple[DifferenceKind, str, exp.Expr]]:
    """Add a condition that nobody asked for: a column that may be NULL is not, a state is a certain one."""
    if not isinstance(tree, exp.Select):
        return
    tables = {table.name.lower(): table for table in schema.tables}
    sources = [t for t in tree.find_all(exp.Table) if t.find_ancestor(exp.Select) is tree and t.name.lower() in tables]
    for source in sources[:2]:
        prefix = source.alias_or_name
        for column in tables[source.name.lower()].columns:
            if column.values:
                condition: exp.Expr = exp.EQ(
                    this=exp.column(column.name, table=prefix), expression=exp.Literal.string(column.values[0])
                )
            elif not column.not_null:
                condition = exp.Not(this=exp.Is(this=exp.column(column.name, table=prefix), expression=exp.Null()))
            else:
                continue
            yield "extra_predicate", f"{condition.sql()} added", tree.copy().where(condition, copy=False)
            break


def _owner(column: exp.Column, tables: dict[str, SchemaTable]) -> SchemaTable | None:
    select = column.find_ancestor(exp.Select)
    if select is None:
        return None
    for source in select.find_all(exp.Table):
        known = tables.get(source.name.lower())
        if known is None or source.find_ancestor(exp.Select) is not select:
            continue
        if column.table:
            if column.table.lower() == source.alias_or_name.lower():
                return known
        elif any(c.name.lower() == column.name.lower() for c in known.columns):
            return known
    return None


def _nullable(node: exp.Expr, schema: Schema) -> list[Column]:
    tables = {table.name.lower(): table for table in schema.tables}
    select = node.find_ancestor(exp.Select)
    sources = [s for s in select.find_all(exp.Table) if s.find_ancestor(exp.Select) is select] if select else []
    if len(sources) != 1 or sources[0].name.lower() not in tables:
        return []
    return [column for column in tables[sources[0].name.lower()].columns if not column.not_null]


RULES: tuple[Rule, ...] = (
    _predicates,
    _boundaries,
    _structure,
    _values,
    _joins,
    _aggregates,
    _order,
    _fields,
    _additions,
)
