"""Reads from a pair of queries what they ask of the data: tables, joins, conditions, constants."""

import itertools
from collections.abc import Iterator, Mapping
from typing import cast

from sqlglot import exp

from harness.witness.conditions import (
    ALWAYS,
    MIRRORED,
    All,
    Among,
    Block,
    Compare,
    Condition,
    Demands,
    Either,
    IsNull,
    Negation,
    Operator,
    Place,
    Relate,
    Spot,
    Within,
)
from harness.witness.database import Layout, Relation, Value
from harness.witness.inverses import holding, length_words, matching

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NullSafeEQ: "=",
    exp.NEQ: "<>",
    exp.NullSafeNEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
_PATTERNS = (exp.Like, exp.ILike, exp.Glob, exp.RegexpLike, exp.SimilarTo)
_NUMERIC_USES = (exp.Sum, exp.Avg, exp.Mul, exp.Div, exp.Sub, exp.Add, exp.Mod, exp.Abs, exp.Round)
_DATE_USES = (
    exp.TimeToStr,
    exp.TsOrDsToTimestamp,
    exp.TsOrDsToDate,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.Extract,
    exp.DateDiff,
    exp.TsOrDsDiff,
    exp.DateAdd,
    exp.DateSub,
    exp.TsOrDsAdd,
    exp.TimestampTrunc,
    exp.DateTrunc,
    exp.Date,
    exp.Interval,
)
_DATE_NAMES = frozenset(
    {"JULIANDAY", "STRFTIME", "DATE", "DATETIME", "UNIXEPOCH", "TO_CHAR", "DATEDIFF", "DATE_FORMAT"}
)
MAX_DEPTH = 24
MAX_INSTANCES = 64


class Output:
    """A column that a query returns: the spot it passes on, or the spots that its expression is made of."""

    __slots__ = ("spot", "spots")

    def __init__(self, spot: Spot | None, spots: tuple[Spot, ...]) -> None:
        self.spot = spot
        self.spots = spots


Outputs = list[tuple[str, Output]]


class Scope:
    """The sources that a column name may belong to, innermost first."""

    def __init__(self, above: "Scope | None") -> None:
        self.above = above
        self.tables: dict[str, tuple[int, Relation]] = {}
        self.derived: dict[str, dict[str, Output]] = {}


def demands_of(trees: tuple[exp.Expr, ...], layout: Layout) -> Demands:
    """Read both queries. What cannot be read asks for nothing: the search then relies on chance there."""
    reader = _Reader(layout)
    for tree in trees:
        reader.demands.roots.append(reader.query(tree, None, {}, 0)[0])
    return reader.demands


class _Reader:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.demands = Demands()
        self.read: set[int] = set()

    def query(
        self, node: exp.Expr, above: Scope | None, ctes: Mapping[str, exp.Expr], depth: int
    ) -> tuple[Block, Outputs]:
        """Read a SELECT, a set operation or a parenthesised query."""
        if depth > MAX_DEPTH or len(self.demands.tables) > MAX_INSTANCES:
            return Block(), []
        self.read.add(id(node))
        ctes = {**ctes, **_ctes(node)}
        self._limits(node)
        if isinstance(node, exp.SetOperation):
            block, outputs = self._set_operation(node, above, ctes, depth)
        elif isinstance(node, exp.Select):
            block, outputs = self._select(node, above, ctes, depth)
        elif isinstance(node, exp.Subquery | exp.Paren) and isinstance(node.this, exp.Expr):
            return self.query(node.this, above, ctes, depth + 1)
        else:
            return Block(), []
        self.demands.blocks.append(block)
        return block, outputs

    def _limits(self, node: exp.Expr) -> None:
        for key in ("limit", "offset"):
            clause = node.args.get(key)
            number = literal(clause.args.get("expression") or clause.args.get("count")) if clause is not None else None
            if isinstance(number, int) and not isinstance(number, bool):
                self.demands.counts.append(number)

    def _set_operation(
        self, node: exp.SetOperation, above: Scope | None, ctes: Mapping[str, exp.Expr], depth: int
    ) -> tuple[Block, Outputs]:
        left, left_outputs = self.query(node.this, above, ctes, depth + 1)
        right, right_outputs = self.query(node.expression, above, ctes, depth + 1)
        links: list[Condition] = []
        for (_, one), (_, other) in zip(left_outputs, right_outputs, strict=False):
            if one.spot is not None and other.spot is not None:
                self.demands.alike.append((one.spot.place, other.spot.place))
                links.append(Relate(one.spot, "=", other.spot))
        return Block(parts=(left, right), condition=All(tuple(links))), left_outputs

    def _select(
        self, node: exp.Select, above: Scope | None, ctes: Mapping[str, exp.Expr], depth: int
    ) -> tuple[Block, Outputs]:
        scope = Scope(above)
        instances: list[int] = []
        parts: list[Block] = []
        conditions: list[Condition] = []
        from_ = node.args.get("from_") or node.args.get("from")
        joins = list(node.args.get("joins") or ())
        sources = ([from_.this] if from_ is not None else []) + [join.this for join in joins]
        for source in sources:
            self._source(source, scope, ctes, depth, instances, parts)
        for join in joins:
            conditions += self._join(join, scope, ctes, depth)
        where = node.args.get("where")
        if where is not None:
            conditions.append(self.condition(where.this, scope, ctes, depth))
        groups, counts = self._grouping(node, scope, ctes, depth)
        outputs = self._outputs(node, scope)
        self._harvest(node, scope, ctes, depth)
        return Block(tuple(instances), tuple(parts), All(tuple(conditions)), groups, counts), outputs

    def _source(  # noqa: PLR0917 - the state of the walk, always in this order
        self,
        source: exp.Expr,
        scope: Scope,
        ctes: Mapping[str, exp.Expr],
        depth: int,
        instances: list[int],
        parts: list[Block],
    ) -> None:
        alias = source.alias_or_name.lower()
        if isinstance(source, exp.Table):
            name = source.name.lower()
            relation = self.layout.find(name)
            if name in ctes:
                rest = {key: value for key, value in ctes.items() if key != name}
                self._derived(ctes[name], alias, scope, rest, depth, parts)
            elif relation is not None:
                instances.append(len(self.demands.tables))
                self.demands.tables.append(relation.name)
                scope.tables[alias] = (instances[-1], relation)
            for join in source.args.get("joins") or ():
                self._source(join.this, scope, ctes, depth, instances, parts)
        elif isinstance(source, exp.Subquery | exp.Paren) and isinstance(source.this, exp.Table):
            self._source(source.this, scope, ctes, depth, instances, parts)
        elif isinstance(source, exp.Subquery | exp.Lateral) and isinstance(source.this, exp.Expr):
            self._derived(source.this, alias, scope, ctes, depth, parts)

    def _derived(  # noqa: PLR0917 - the state of the walk, always in this order
        self,
        query: exp.Expr,
        alias: str,
        scope: Scope,
        ctes: Mapping[str, exp.Expr],
        depth: int,
        parts: list[Block],
    ) -> None:
        block, outputs = self.query(query, scope, ctes, depth + 1)
        parts.append(block)
        names = _alias_columns(query)
        scope.derived[alias] = {
            (names[index] if index < len(names) else name).lower(): output
            for index, (name, output) in reversed(list(enumerate(outputs)))
        }

    def _join(self, join: exp.Join, scope: Scope, ctes: Mapping[str, exp.Expr], depth: int) -> list[Condition]:
        on = join.args.get("on")
        if on is not None:
            return [self.condition(on, scope, ctes, depth)]
        names = [identifier.name.lower() for identifier in join.args.get("using") or ()]
        if str(join.args.get("method") or "").upper() == "NATURAL":
            right = scope.tables.get(join.this.alias_or_name.lower())
            names = list(right[1].positions) if right is not None else []
        found: list[Condition] = []
        for name in names:
            spots = [spot for alias in scope.tables if (spot := self._of_table(scope, alias, name)) is not None]
            for one, other in itertools.pairwise(spots):
                self.demands.alike.append((one.place, other.place))
                found.append(Relate(one, "=", other))
        return found

    def _grouping(
        self, node: exp.Select, scope: Scope, ctes: Mapping[str, exp.Expr], depth: int
    ) -> tuple[tuple[Spot, ...], tuple[int, ...]]:
        group = node.args.get("group")
        groups: list[Spot] = []
        for item in group.expressions if group is not None else ():
            position = literal(item)
            numbered = isinstance(position, int) and 0 < position <= len(node.expressions)
            key = node.expressions[int(str(position)) - 1].unalias() if numbered else item
            groups += self._spots(key, scope)
        having = node.args.get("having")
        counts: list[int] = []
        if having is not None:
            self.condition(having.this, scope, ctes, depth)
            for comparison in having.find_all(*_OPERATORS, exp.Between):
                counts += [
                    int(value)
                    for constant in comparison.find_all(exp.Literal)
                    if isinstance(value := literal(constant), int | float) and 0 <= value <= 1_000_000
                ]
        return tuple(groups), tuple(counts)

    def _outputs(self, node: exp.Select, scope: Scope) -> Outputs:
        outputs: Outputs = []
        for item in node.expressions:
            inner = item.unalias()
            if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
                outputs += self._star(inner, scope)
                continue
            spot = self._spot(inner, scope)
            spots = (spot,) if spot is not None else tuple(self._spots(inner, scope))
            outputs.append((item.alias_or_name, Output(spot, spots)))
        return outputs

    def _star(self, node: exp.Expr, scope: Scope) -> Outputs:
        wanted = node.table.lower() if isinstance(node, exp.Column) else ""
        outputs: Outputs = []
        for alias, (instance, relation) in scope.tables.items():
            if wanted in {"", alias}:
                self.demands.starred.add(relation.name)
                for index, column in enumerate(relation.columns):
                    spot = Spot(instance, Place(relation.name, index))
                    outputs.append((column.name, Output(spot, (spot,))))
        for alias, columns in scope.derived.items():
            if wanted in {"", alias}:
                outputs += list(columns.items())
        return outputs

    def _of_table(self, scope: Scope, alias: str, name: str) -> Spot | None:
        instance, relation = scope.tables[alias]
        position = relation.positions.get(name)
        return None if position is None else Spot(instance, Place(relation.name, position))

    def _lookup(self, column: exp.Column, scope: Scope | None) -> Output | None:
        name, qualifier = column.name.lower(), column.table.lower()
        while scope is not None:
            for alias in scope.tables:
                if qualifier in {"", alias} and (spot := self._of_table(scope, alias, name)) is not None:
                    self.demands.used.add(spot.place)
                    return Output(spot, (spot,))
            for alias, columns in scope.derived.items():
                if qualifier in {"", alias} and name in columns:
                    return columns[name]
            scope = scope.above
        return None

    def _spot(self, node: exp.Expr | None, scope: Scope) -> Spot | None:
        while isinstance(node, exp.Paren | exp.Collate):
            node = node.this
        found = self._lookup(node, scope) if isinstance(node, exp.Column) else None
        return found.spot if found is not None else None

    def _spots(self, node: exp.Expr | None, scope: Scope) -> list[Spot]:
        if node is None:
            return []
        spots: list[Spot] = []
        for column in _shallow(node):
            if isinstance(column, exp.Column):
                found = self._lookup(column, scope)
                spots += found.spots if found is not None else ()
        return spots

    def _value(self, node: exp.Expr | None, scope: Scope) -> Value:
        """The constant that a node is; a double-quoted name that names no column is a string."""
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column) and not node.table and isinstance(node.this, exp.Identifier):
            return node.name if node.this.quoted and self._lookup(node, scope) is None else None
        return literal(node)

    def condition(self, node: exp.Expr, scope: Scope, ctes: Mapping[str, exp.Expr], depth: int) -> Condition:
        """What a boolean expression asks of the rows."""
        if depth > MAX_DEPTH:
            return ALWAYS
        if node.args.get("negate"):
            plain = node.copy()
            plain.set("negate", None)
            return Negation(self.condition(plain, scope, ctes, depth + 1))
        match node:
            case exp.Paren():
                return self.condition(node.this, scope, ctes, depth)
            case exp.And():
                return All(tuple(self.condition(part, scope, ctes, depth + 1) for part in node.flatten()))
            case exp.Or():
                return Either(tuple(self.condition(part, scope, ctes, depth + 1) for part in node.flatten()))
            case exp.Not():
                return Negation(self.condition(node.this, scope, ctes, depth + 1))
            case exp.Exists():
                return Within(self.query(node.this, scope, ctes, depth + 1)[0])
            case exp.In():
                return self._membership(node, scope, ctes, depth)
            case exp.Between():
                low = self._comparison(node.this, ">=", node.args["low"], scope, ctes, depth)
                return All((low, self._comparison(node.this, "<=", node.args["high"], scope, ctes, depth)))
            case exp.Is():
                spot = self._spot(node.this, scope)
                return IsNull(spot) if spot is not None and isinstance(node.expression, exp.Null) else ALWAYS
            case _ if isinstance(node, _PATTERNS):
                return self._pattern(node, scope)
            case _ if type(node) in _OPERATORS:
                return self._comparison(node.this, _OPERATORS[type(node)], node.expression, scope, ctes, depth)
            case exp.Column():
                spot = self._spot(node, scope)
                return Compare(spot, "=", 1) if spot is not None else ALWAYS
        return ALWAYS

    def _membership(self, node: exp.In, scope: Scope, ctes: Mapping[str, exp.Expr], depth: int) -> Condition:
        query = node.args.get("query")
        if query is None:
            return Either(
                tuple(self._comparison(node.this, "=", item, scope, ctes, depth) for item in node.expressions)
            )
        block, outputs = self.query(query, scope, ctes, depth + 1)
        left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        links = []
        for item, (_, output) in zip(left, outputs, strict=False):
            spot = self._spot(item, scope)
            if spot is not None and output.spot is not None:
                self.demands.alike.append((spot.place, output.spot.place))
                links.append((spot, output.spot))
        return Within(block, tuple(links))

    def _pattern(self, node: exp.Expr, scope: Scope) -> Condition:
        spots = self._spots(node.this, scope)
        pattern = self._value(node.args.get("expression"), scope)
        if not spots or not isinstance(pattern, str):
            return ALWAYS
        good, bad = matching(pattern)
        for spot in spots:
            self.demands.examples.setdefault(spot.place, []).extend((*good, *bad))
        return Among(spots[0], good, bad)

    def _comparison(  # noqa: PLR0917 - the state of the walk, always in this order
        self,
        left: exp.Expr,
        operator: Operator,
        right: exp.Expr,
        scope: Scope,
        ctes: Mapping[str, exp.Expr],
        depth: int,
    ) -> Condition:
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            pairs = zip(left.expressions, right.expressions, strict=False)
            return All(tuple(self._comparison(a, operator, b, scope, ctes, depth) for a, b in pairs))
        one, other = self._spot(left, scope), self._spot(right, scope)
        if one is not None and other is not None:
            return Relate(one, operator, other)
        for spot, side, far, way in ((one, left, right, operator), (other, right, left, MIRRORED[operator])):
            query = far.find(exp.Query) if isinstance(far, exp.Subquery | exp.All | exp.Any) else None
            if query is not None:
                block, outputs = self.query(query, scope, ctes, depth + 1)
                output = outputs[0][1].spot if outputs else None
                if spot is not None and output is not None:
                    self.demands.alike.append((spot.place, output.place))
                    return Within(block, ((spot, output),) if way == "=" else ())
                return Within(block)
            value = self._value(far, scope)
            if value is None:
                continue
            if spot is not None:
                return Compare(spot, way, value)
            spots = self._spots(side, scope)
            made = holding(side, way, value) if len(set(spots)) == 1 else ()
            if made:
                self.demands.examples.setdefault(spots[0].place, []).extend(made)
                return Among(spots[0], made)
        return ALWAYS

    def _harvest(self, node: exp.Select, scope: Scope, ctes: Mapping[str, exp.Expr], depth: int) -> None:
        """Collect constants and column pairs from every expression of a SELECT, its subqueries left to themselves."""
        clauses = [*node.expressions, *(node.args.get(key) for key in ("where", "having", "group", "order", "qualify"))]
        clauses += [join.args.get("on") for join in node.args.get("joins") or ()]
        for clause in clauses:
            if clause is None:
                continue
            for item in _shallow(clause):
                self._note(item, scope)
                if isinstance(item, exp.Query) and id(item) not in self.read:
                    self.query(item, scope, ctes, depth + 1)

    def _note(self, item: exp.Expr, scope: Scope) -> None:
        if type(item) in _OPERATORS or isinstance(item, exp.In | exp.Between):
            self._note_comparison(item, scope)
        elif isinstance(item, exp.Case) and item.this is not None:
            for branch in item.args.get("ifs") or ():
                self._note_constants(self._spots(item.this, scope), [self._value(branch.this, scope)])
        elif isinstance(item, exp.Column):
            self._lookup(item, scope)
        if isinstance(item, exp.ArrayContainsAll | exp.ArrayOverlaps | exp.ArrayContains | exp.Any | exp.EQ):
            constants = [literal(part) for part in item.find_all(exp.Literal)]
            for spot in self._spots(item, scope):
                self.demands.literals.setdefault(spot.place, []).extend(c for c in constants if c is not None)
        if isinstance(item, _NUMERIC_USES) or (
            isinstance(item, exp.Cast) and item.to.is_type(*exp.DataType.NUMERIC_TYPES)
        ):
            self.demands.numeric.update(spot.place for spot in self._spots(item, scope))
        if isinstance(item, _DATE_USES) or (isinstance(item, exp.Anonymous) and item.name.upper() in _DATE_NAMES):
            self.demands.dated.update(spot.place for spot in self._spots(item, scope))
            self.demands.steps += [number for part in item.find_all(exp.Literal) if (number := _days(part)) is not None]
        if isinstance(item, exp.Length):
            for spot in self._spots(item, scope):
                size = next((literal(x) for x in item.parent.find_all(exp.Literal)), None) if item.parent else None
                self.demands.examples.setdefault(spot.place, []).extend(length_words(size))
        if isinstance(item, exp.Func) and not isinstance(item, exp.Connector | exp.Predicate):
            texts = [part.name for part in item.args.values() if isinstance(part, exp.Literal) and part.is_string]
            spots = [spot for spot in self._spots(item, scope) if texts]
            for spot in spots:
                self.demands.examples.setdefault(spot.place, []).extend(t for t in texts if "%" not in t)

    def _note_comparison(self, item: exp.Expr, scope: Scope) -> None:
        sides = [part for part in _operands(item) if part is not None]
        by_side = [self._spots(side, scope) for side in sides]
        constants = [self._value(side, scope) for side in sides]
        spots = [spot for group in by_side for spot in group]
        self._note_constants(spots, [value for value in constants if value is not None])
        inner = [literal(part) for side in sides for part in _shallow(side) if isinstance(part, exp.Literal)]
        self._note_constants(spots, inner)
        if not all(isinstance(side, exp.Column | exp.Literal) for side in sides):
            self.demands.steps += [int(v) for v in inner if isinstance(v, int | float) and 0 < v <= 400]
        for index, group in enumerate(by_side):
            for later in by_side[index + 1 :]:
                self.demands.alike += [(one.place, other.place) for one in group for other in later]
        if any(isinstance(part, exp.Count) for side in sides for part in _shallow(side)):
            self.demands.counts += [int(v) for v in inner if isinstance(v, int | float) and 0 <= v <= 1_000_000]

    def _note_constants(self, spots: list[Spot], values: list[Value]) -> None:
        for spot in spots:
            self.demands.literals.setdefault(spot.place, []).extend(value for value in values if value is not None)
        if not spots:
            self.demands.texts += [value for value in values if isinstance(value, str)]


def _ctes(node: exp.Expr) -> dict[str, exp.Expr]:
    with_ = node.args.get("with_") or node.args.get("with")
    return {cte.alias.lower(): cte.this for cte in with_.expressions} if with_ is not None else {}


def _alias_columns(query: exp.Expr) -> list[str]:
    holder = query.parent
    alias = holder.args.get("alias") if holder is not None else None
    return [column.name for column in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []


def _operands(item: exp.Expr) -> list[exp.Expr | None]:
    if isinstance(item, exp.Between):
        return [item.this, item.args.get("low"), item.args.get("high")]
    if isinstance(item, exp.In):
        return [item.this, *item.expressions]
    return [item.this, item.args.get("expression")]


def _shallow(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, not those inside its subqueries; a subquery itself is given as one node."""
    pending = [node]
    while pending:
        item = pending.pop()
        yield item
        if not isinstance(item, exp.Query):
            pending += list(item.iter_expressions(reverse=True))


def literal(node: object) -> Value:
    """The constant that a node is, `None` where it is none."""
    match node:
        case exp.Paren() | exp.Cast() | exp.TsOrDsToDate() | exp.TsOrDsToTimestamp() | exp.Date():
            return literal(node.this)
        case exp.Neg():
            inner = literal(node.this)
            return -inner if isinstance(inner, int | float) else None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            if node.is_string:
                return cast("str", node.this)
            try:
                return int(node.this)
            except ValueError:
                try:
                    return float(node.this)
                except ValueError:
                    return None
    return None


def _days(constant: exp.Literal) -> int | None:
    value = literal(constant)
    if isinstance(value, str):
        digits = "".join(c for c in value if c.isdigit())
        return int(digits) if 0 < len(digits) <= 3 else None
    return int(value) if isinstance(value, int | float) and 0 < value <= 400 else None
