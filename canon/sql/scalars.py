"""Lowers scalar expressions and predicates of the syntax tree to the algebra."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from canon.errors import ReadError
from canon.schema import ColumnType
from canon.sql import calendar
from canon.sql.affinity import bare
from canon.sql.algebra import FALSE, NULL, TRUE, Block, Expr, Rel, Window, junction, lit, sids
from canon.sql.context import Context
from canon.sql.ddl import column_type
from canon.sql.facts import PREDICATES, exactly_one_row, nullable, output_width, type_of
from canon.sql.literals import instant, number
from canon.sql.predicates import compare, negate, oriented, truth
from canon.sql.scope import Scope

if TYPE_CHECKING:
    from canon.sql.lowering import Lowering

VOLATILE = frozenset(
    {
        "rand",
        "random",
        "uuid",
        "newid",
        "gen_random_uuid",
        "uuid_generate_v4",
        "nextval",
        "randn",
        "randomblob",
        "generate_uuid",
        "changes",
        "last_insert_rowid",
        "setseed",
        "sleep",
        "pg_sleep",
        "last_insert_id",
        "lastval",
        "currval",
        "row_count",
        "found_rows",
        "total_changes",
        "rand_normal",
        "uuid_short",
        "random_bytes",
        "gen_random_bytes",
        "uuid_string",
    }
)

AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
}

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Mod: "%",
    exp.IntDiv: "div",
}

_COMPARE: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


class Scalars:
    """Lowers the scalars of one SELECT, in its scope."""

    def __init__(self, scope: Scope, lowering: "Lowering") -> None:
        self.scope = scope
        self.ctx: Context = scope.ctx
        self.lowering = lowering

    # -- entry points -------------------------------------------------------------------------------------------

    def scalar(self, node: exp.Expr) -> Expr:
        """Lower an expression whose value matters."""
        while isinstance(node, exp.Paren):
            node = node.this
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        if isinstance(node, (exp.AggFunc, exp.Anonymous, exp.AnonymousAggFunc)):
            return self._function(node)
        return self._generic(node)

    def condition(self, node: exp.Expr) -> Expr:
        """Lower a predicate of which only truth matters."""
        return truth(self.predicate(node), self.ctx)

    def predicate(self, node: exp.Expr) -> Expr:
        """Lower an expression that stands where a predicate is wanted: a bare column is a test of it."""
        return self.as_predicate(self.scalar(node))

    def as_predicate(self, expr: Expr) -> Expr:
        """Read a lowered scalar as a predicate."""
        if expr.op in PREDICATES:
            return expr
        if expr.op == "lit":
            if expr.value[0] in {"bool", "null"}:
                return expr
            if expr.value[0] == "int" and self.ctx.dialect.booleans == "integer":
                return FALSE if number(expr.value[1]) == "0" else TRUE
            return expr
        if expr.op == "case":
            return expr
        if type_of(expr, self.ctx) == "boolean" and expr.op in {"col", "scalar"}:
            return Expr("=", None, (expr, TRUE))
        return expr

    # -- leaves -------------------------------------------------------------------------------------------------

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            return self._generic(node)
        return self.scope.column(node)

    def _identifier(self, node: exp.Identifier) -> Expr:
        return self.scope.column(exp.Column(this=node))

    def _literal(self, node: exp.Literal) -> Expr:
        text = str(node.this)
        if node.is_string:
            if not text and self.ctx.dialect.empty_is_null:
                return NULL
            return lit("str", text)
        return number_literal(text)

    def _boolean(self, node: exp.Boolean) -> Expr:
        return TRUE if node.this else FALSE

    def _null(self, _: exp.Expr) -> Expr:
        return NULL

    def _negative(self, node: exp.Neg) -> Expr:
        inner = self.scalar(node.this)
        if inner.op == "lit" and inner.value[0] in {"int", "dec", "float"}:
            kind, text = inner.value
            return lit(kind, text[1:] if text.startswith("-") else text if text == "0" else f"-{text}")
        return Expr("neg", None, (inner,))

    def _placeholder(self, node: exp.Expr) -> Expr:
        return argument(self.lowering.next_argument(node), self.ctx)

    # -- predicates ---------------------------------------------------------------------------------------------

    def _junction(self, node: exp.Connector) -> Expr:
        kind = type(node)
        parts: list[exp.Expr] = []
        stack: list[exp.Expr] = [node]
        while stack:
            item = stack.pop()
            while isinstance(item, exp.Paren):
                item = item.this
            if type(item) is kind:
                stack.extend((item.args["expression"], item.this))
            else:
                parts.append(item)
        op = "and" if kind is exp.And else "or"
        return junction(op, [self.predicate(part) for part in parts])

    def _not(self, node: exp.Not) -> Expr:
        return negate(self.predicate(node.this), self.ctx)

    def _compare(self, node: exp.Binary) -> Expr:
        op = _COMPARE[type(node)]
        left, right = node.this, node.expression
        for mine, other, name in ((left, right, op), (right, left, _mirror(op))):
            inner = other.unnest() if isinstance(other, exp.Paren) else other
            if isinstance(inner, (exp.Any, exp.All)):
                return self._quantified(name, mine, inner)
        ours, theirs = _row(left), _row(right)
        if ours is not None and theirs is not None and len(ours) == len(theirs) and op in {"=", "<>"}:
            self.ctx.used.add("row-value")
            equal = junction(
                "and", [self.compare("=", self.scalar(a), self.scalar(b)) for a, b in zip(ours, theirs, strict=True)]
            )
            return equal if op == "=" else negate(equal, self.ctx)
        first, second = self.scalar(left), self.scalar(right)
        if self._lost(left, first):
            first = self._bare(left, first, second)
        if self._lost(right, second):
            second = self._bare(right, second, first)
        return self.compare(op, first, second)

    @staticmethod
    def _lost(node: exp.Expr, value: Expr) -> bool:
        """Whether a default that is never taken was left off a column."""
        return value.op == "col" and isinstance(node.unnest(), exp.Coalesce)

    def _bare(self, node: exp.Expr, value: Expr, other: Expr) -> Expr:
        """A column that SQLite compares without its affinity (3.2: a member of a list, an operand of COALESCE)."""
        kinds = (type_of(value, self.ctx) == "text", type_of(other, self.ctx) == "text")
        if self.ctx.dialect.coerces != "affinity" or value.op != "col" or kinds[0] == kinds[1]:
            return value
        return bare(value)

    def compare(self, op: str, left: Expr, right: Expr) -> Expr:
        """A comparison of two lowered scalars, predicates among them read by value."""
        for ours, theirs in ((left, right), (right, left)):
            flag = _flag(theirs, self.ctx)
            if flag is not None and ours.op in PREDICATES and op in {"=", "<>"}:
                self.ctx.used.add("boolean-comparison")
                return ours if flag == (op == "=") else negate(ours, self.ctx)
        return compare(op, left, right, self.ctx, type_of(left, self.ctx), type_of(right, self.ctx))

    def _quantified(self, op: str, left: exp.Expr, node: exp.Expr) -> Expr:
        mode = "any" if isinstance(node, exp.Any) else "all"
        inner = node.this
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, (exp.Select, exp.SetOperation, exp.Subquery)):
            rel = self.lowering.subquery(inner, self.scope)
            side = (self.scalar(left),)
            if op == "=" and mode == "any":
                self.ctx.used.add("any-as-in")
                return Expr("in", rel, side)
            if op == "<>" and mode == "all":
                return negate(Expr("in", rel, side), self.ctx)
            return Expr("quant", (op, mode, rel), side)
        term = self.scalar(left)
        if isinstance(inner, exp.Array) and inner.expressions:
            self.ctx.used.add("any-as-in")
            parts = [self.compare(op, term, self.scalar(item)) for item in inner.expressions]
            return junction("or" if mode == "any" else "and", parts)
        array = self.scalar(inner)
        if op == "=" and mode == "any" and array.op != "lit":
            return Expr("has", "", (array, _member(term)))
        return Expr("func", (f"{op} {mode}",), (term, array))

    def _is(self, node: exp.Is) -> Expr:
        negated = bool(node.args.get("negate"))
        inner, target = node.this, node.expression
        if isinstance(target, exp.Not):
            target, negated = target.this, not negated
        if isinstance(target, exp.Null):
            value = self.scalar(inner)
            if value == NULL:
                found = TRUE
            elif not nullable(value, self.ctx) and value.op == "lit":
                found = FALSE
            else:
                found = Expr("isnull", None, (value,))
        elif isinstance(target, exp.Boolean):
            predicate = self.predicate(inner)
            found = Expr("istrue", None, (predicate if target.this else negate(predicate, self.ctx),))
            if negated:
                return Expr("untrue", None, found.args)
            return found
        else:
            found = self._same(self.scalar(inner), self.scalar(target))
        return negate(found, self.ctx) if negated else found

    def _null_safe(self, node: exp.Expr) -> Expr:
        found = self._same(self.scalar(node.this), self.scalar(node.args["expression"]))
        return found if isinstance(node, exp.NullSafeEQ) else negate(found, self.ctx)

    def _same(self, left: Expr, right: Expr) -> Expr:
        if left == right:
            return TRUE
        if NULL in (left, right):
            return Expr("isnull", None, (right if left == NULL else left,))
        if left.op == "lit" or right.op == "lit":
            return Expr("istrue", None, (self.compare("=", left, right),))
        return oriented("same", left, right)

    def _in(self, node: exp.In) -> Expr:
        query = node.args.get("query")
        row = _row(node.this)
        if query is not None:
            rel = self.lowering.subquery(query, self.scope)
            side = tuple([self.scalar(part) for part in row]) if row is not None else (self.scalar(node.this),)
            width = output_width(rel)
            if width is not None and width != len(side):
                self.ctx.loose = True
            return Expr("in", rel, side)
        if node.args.get("unnest") is not None or node.args.get("field") is not None:
            return self._generic(node)
        self.ctx.used.add("in-list")
        items = node.expressions
        if row is not None:
            parts = []
            for item in items:
                other = _row(item) or [item]
                pairs = zip(row, other, strict=False)
                parts.append(junction("and", [self.compare("=", self.scalar(a), self.scalar(b)) for a, b in pairs]))
            return junction("or", parts)
        term = self.scalar(node.this)
        members = [self._bare(item, self.scalar(item), term) for item in items]
        return junction("or", [self.compare("=", term, member) for member in members])

    def _between(self, node: exp.Between) -> Expr:
        if node.args.get("symmetric"):
            return self._generic(node)
        self.ctx.used.add("between")
        term = self.scalar(node.this)
        low, high = self.scalar(node.args["low"]), self.scalar(node.args["high"])
        return junction("and", (self.compare(">=", term, low), self.compare("<=", term, high)))

    def _like(self, node: exp.Binary) -> Expr:
        variant = {
            exp.Like: "like",
            exp.ILike: "ilike",
            exp.Glob: "glob",
            exp.RegexpLike: "regexp",
            exp.RegexpILike: "iregexp",
            exp.SimilarTo: "similar",
        }.get(type(node), type(node).__name__.lower())
        if variant == "ilike" and self.ctx.dialect.like_folds:
            variant = "like"
        inner = node.expression
        if isinstance(inner, (exp.Any, exp.All)):
            found = self._generic(node)
        else:
            found = Expr("like", variant, (self.scalar(node.this), self.scalar(inner)))
        return negate(found, self.ctx) if node.args.get("negate") else found

    def _escape(self, node: exp.Escape) -> Expr:
        inner, mark = self.scalar(node.this), self.scalar(node.expression)
        if inner.op == "like":
            return Expr("like", inner.value, (*inner.args, mark))
        if inner.op == "not" and inner.args[0].op == "like":
            like = inner.args[0]
            return Expr("not", None, (Expr("like", like.value, (*like.args, mark)),))
        return Expr("func", ("escape",), (inner, mark))

    def _exists(self, node: exp.Exists) -> Expr:
        return Expr("exists", self.lowering.subquery(node.this, self.scope), ())

    def _subquery(self, node: exp.Expr) -> Expr:
        rel = self.lowering.subquery(node, self.scope)
        if isinstance(rel, Block) and not rel.sources and exactly_one_row(rel) and len(rel.select) == 1:
            return rel.select[0]
        return Expr("scalar", rel, ())

    # -- arrays -------------------------------------------------------------------------------------------------

    def _array(self, node: exp.Expr) -> Expr:
        """`&&`, `@>` and `<@` as tests of single members, so that lists differ only where members do."""
        left, right = self.scalar(node.this), self.scalar(node.expression)
        kind = type(node)
        if kind is exp.ArrayContainedBy:
            left, right, kind = right, left, exp.ArrayContainsAll
        if kind is exp.ArrayOverlaps and _items(left) is not None and _items(right) is None:
            left, right = right, left
        items = _items(right)
        if items is None:
            return Expr("func", (kind.__name__.lower(),), (left, right))
        self.ctx.used.add("array-members")
        op = "or" if kind is exp.ArrayOverlaps else "and"
        parts = [Expr("has", "", (left, _member(item))) for item in items]
        if not parts:
            return Expr("func", (kind.__name__.lower(),), (left, Expr("func", ("array",), ())))
        return junction(op, parts)

    # -- CASE and its kin ---------------------------------------------------------------------------------------

    def _case(self, node: exp.Case) -> Expr:
        subject = node.this
        args: list[Expr] = []
        term = self.scalar(subject) if subject is not None else None
        for branch in node.args["ifs"]:
            if term is None:
                args.append(self.condition(branch.this))
            else:
                self.ctx.used.add("simple-case")
                args.append(truth(self.compare("=", term, self.scalar(branch.this)), self.ctx))
            args.append(self.scalar(branch.args["true"]))
        default = node.args.get("default")
        args.append(self.scalar(default) if default is not None else NULL)
        return case(args)

    def _if(self, node: exp.If) -> Expr:
        self.ctx.used.add("if-as-case")
        default = node.args.get("false")
        return case(
            [
                self.condition(node.this),
                self.scalar(node.args["true"]),
                self.scalar(default) if default is not None else NULL,
            ]
        )

    def _nullif(self, node: exp.Nullif) -> Expr:
        left, right = self.scalar(node.this), self.scalar(node.expression)
        self.ctx.used.add("nullif-as-case")
        return case([truth(self.compare("=", left, right), self.ctx), NULL, left])

    def _coalesce(self, node: exp.Coalesce) -> Expr:
        args: list[Expr] = []
        for item in (node.this, *node.expressions):
            part = self.scalar(item)
            if part == NULL or part in args:
                continue
            args.extend(part.args if part.op == "coalesce" else (part,))
            if not nullable(part, self.ctx):
                break
        if not args:
            return NULL
        return args[0] if len(args) == 1 else Expr("coalesce", None, tuple(args))

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def _arithmetic(self, node: exp.Binary) -> Expr:
        chain: list[exp.Binary] = []
        item: exp.Expr = node
        while type(item) in _BINARY or isinstance(item, (exp.Div, exp.Paren)):
            if isinstance(item, exp.Paren):
                item = item.this
                continue
            chain.append(item)  # type: ignore[arg-type]
            item = item.this
        left = self.scalar(item)
        for step in reversed(chain):
            left = self._apply(step, left, self.scalar(step.expression))
        return left

    def _apply(self, node: exp.Binary, left: Expr, right: Expr) -> Expr:
        op = _BINARY.get(type(node), "/")
        shifted = self._interval(op, left, right)
        if shifted is not None:
            return shifted
        if NULL in (left, right):
            return NULL
        folded = _fold_integers(op, left, right)
        if folded is not None:
            return folded
        commutes = op in {"+", "*"} and self._numeric(left, right)
        return Expr(op, "commutes" if commutes else None, (left, right))

    def _numeric(self, left: Expr, right: Expr) -> bool:
        kinds = {type_of(left, self.ctx), type_of(right, self.ctx)}
        return kinds <= {"integer", "real", "decimal"}

    def _interval(self, op: str, left: Expr, right: Expr) -> Expr | None:
        """A pinned instant plus or minus an interval (or, for days, a number)."""
        moment = calendar.moment_of(left) if left.op == "lit" and left.value[0] == "ts" else None
        if moment is None and op == "+" and right.op == "lit" and right.value[0] == "ts":
            return self._interval(op, right, left)
        if moment is None or op not in {"+", "-"} or right.op != "lit":
            return None
        kind, text = right.value
        if kind == "interval":
            amount, unit = text.split(" ", 1)
        elif kind == "int" and self.ctx.dialect.name in {"postgres", "oracle", "duckdb", "snowflake"}:
            amount, unit = text, "day"
        else:
            return None
        sign = 1 if op == "+" else -1
        moved = calendar.shift(moment, sign * int(amount), unit)
        if moved is None:
            return None
        self.ctx.used.add("clock-folding")
        return calendar.text_of(moved)

    def _interval_literal(self, node: exp.Interval) -> Expr:
        amount, unit = node.this, node.args.get("unit")
        text = f"-{amount.this.name}" if isinstance(amount, exp.Neg) else amount.name if amount is not None else ""
        parts = calendar.interval_parts(text, unit.name if unit is not None else "")
        if parts is None:
            return self._generic(node)
        return lit("interval", f"{parts[0]} {parts[1]}")

    def _date_shift(self, node: exp.Expr) -> Expr:
        """DATE_ADD/DATE_SUB/DATEADD on a pinned instant."""
        start, amount = self.scalar(node.this), node.args.get("expression")
        unit = node.args.get("unit")
        moment = calendar.moment_of(start)
        if isinstance(amount, exp.Interval):
            unit, amount = amount.args.get("unit"), amount.this
        number_text = self._whole(amount)
        if moment is None or number_text is None or start.value[0] not in {"ts", "str"}:
            return self._generic(node)
        parts = calendar.interval_parts(number_text, unit.name if unit is not None else "day")
        if parts is None:
            return self._generic(node)
        sign = -1 if isinstance(node, (exp.DateSub, exp.TimestampSub, exp.DatetimeSub)) else 1
        moved = calendar.shift(moment, sign * parts[0], parts[1])
        if moved is None:
            return self._generic(node)
        self.ctx.used.add("clock-folding")
        return calendar.text_of(moved)

    def _whole(self, node: exp.Expr | None) -> str | None:
        if node is None:
            return None
        if isinstance(node, exp.Neg):
            inner = self._whole(node.this)
            return None if inner is None else f"-{inner}"
        return str(node.this) if isinstance(node, exp.Literal) else None

    # -- functions ----------------------------------------------------------------------------------------------

    def _clock(self, node: exp.Expr) -> Expr:
        self.ctx.clock_calls = True
        name = type(node).__name__.lower()
        if self.ctx.now is None:
            self.ctx.nondeterministic = f"{name} is not pinned: there is no `now`"
            return Expr("clock", name, ())
        self.ctx.used.add("clock-folding")
        if isinstance(node, (exp.CurrentTime, exp.Localtime)):
            return lit("time", f"{self.ctx.now:%H:%M:%S}")
        return calendar.text_of(self.ctx.now, day=isinstance(node, (exp.CurrentDate, exp.UtcDate)))

    def _date_trunc(self, node: exp.Expr) -> Expr:
        value = self.scalar(node.this)
        unit = node.args.get("unit")
        moment = calendar.moment_of(value) if value.op == "lit" and value.value[0] == "ts" else None
        cut = calendar.truncate(moment, unit.name) if moment is not None and unit is not None else None
        if cut is None:
            return self._generic(node)
        return calendar.text_of(cut)

    def _cast(self, node: exp.Cast) -> Expr:
        value = self.scalar(node.this)
        target = node.args["to"]
        kind, _ = column_type(target, self.ctx.dialect)
        written = target.sql(dialect=self.ctx.dialect.name)
        if value.op == "lit":
            folded = _cast_literal(value, kind, written)
            if folded is not None:
                self.ctx.used.add("literal-cast")
                return folded
        if kind == type_of(value, self.ctx) and kind in {"date", "boolean"} and value.op == "col":
            return value
        if kind == type_of(value, self.ctx) == "integer" and self.ctx.dialect.name == "sqlite":
            return value
        return Expr("cast", (kind, written), (value,))

    def _wrapped(self, node: exp.Expr) -> Expr:
        """A conversion to a day, which does nothing to what is one."""
        value = self.scalar(node.this)
        return value if type_of(value, self.ctx) == "date" else Expr("func", (type(node).__name__.lower(),), (value,))

    def _aggregate(self, node: exp.Expr) -> Expr:
        name = AGGREGATES[type(node)]
        inner = node.this
        rest = node.args.get("expressions")
        if rest and name in {"min", "max"}:
            return Expr(
                "func", ("least" if name == "min" else "greatest",), tuple(self.scalar(x) for x in (inner, *rest))
            )
        distinct = isinstance(inner, exp.Distinct)
        if distinct:
            args = tuple([self.scalar(item) for item in inner.expressions])
        elif inner is None or isinstance(inner, exp.Star):
            args = ()
        else:
            args = (self.scalar(inner), *(self.scalar(item) for item in rest or ()))
        if len(args) == 1 and args[0].op == "func" and args[0].value == ("tuple",):
            args = args[0].args
        if distinct and name in {"min", "max"}:
            self.ctx.used.add("distinct-in-extremum")
            distinct = False
        if self._of_outer(args):
            self.ctx.loose = True  # the aggregate is one of an enclosing query
        if name == "count" and len(args) == 1 and args[0].op == "lit" and not distinct and args[0] != NULL:
            self.ctx.used.add("count-constant")
            args = ()
        return Expr("agg", (name, distinct), args)

    def _of_outer(self, args: tuple[Expr, ...]) -> bool:
        """Whether arguments of an aggregate mention enclosing queries' columns alone."""
        mentioned = set().union(*(sids(arg) for arg in args)) if args else set()
        own = {item.source.sid for item in self.scope.items}
        return bool(mentioned) and not mentioned & own

    def _filter(self, node: exp.Filter) -> Expr:
        inner = self.scalar(node.this)
        condition = self.condition(node.expression.this)
        if inner.op == "agg" and len(inner.args) <= 1 and inner.value[0] in {"count", "sum", "min", "max", "avg"}:
            self.ctx.used.add("filter-as-case")
            value = inner.args[0] if inner.args else lit("int", "1")
            return Expr("agg", inner.value, (case([condition, value, NULL]),))
        return Expr("func", ("filter",), (inner, condition))

    def _function(self, node: exp.Expr) -> Expr:
        name = (node.name if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)) else type(node).__name__).lower()
        if name in VOLATILE:
            self.ctx.nondeterministic = f"{name}() gives another value at each call"
        if isinstance(node, exp.Anonymous):
            special = self._anonymous(name, node)
            if special is not None:
                return special
            args = tuple([self.scalar(item) for item in node.expressions])
            if name in {"total", "group_concat", "string_agg", "array_agg", "json_group_array", "stddev"}:
                return Expr("agg", (name, False), args)
            return Expr("func", (name,), args)
        generic = self._generic(node)
        return Expr("agg", (generic.value, False), generic.args) if isinstance(node, exp.AggFunc) else generic

    def _anonymous(self, name: str, node: exp.Anonymous) -> Expr | None:
        items = node.expressions
        if name in {"isnull", "nvl"} and len(items) == 2:
            return self._coalesce(exp.Coalesce(this=items[0], expressions=[items[1]]))
        if name in calendar.CLOCK_FUNCTIONS and not items:
            return self._clock(exp.CurrentDate() if name in calendar.CLOCK_DAYS else exp.CurrentTimestamp())
        if name in {"date", "datetime", "time", "julianday", "strftime"} and self.ctx.dialect.name == "sqlite":
            return self._sqlite_date(name, items)
        if name in {"json_contains", "json_overlaps"} and len(items) == 2:
            return self._json_members(name, items)
        return None

    def _sqlite_date(self, name: str, items: list[exp.Expr]) -> Expr | None:
        texts = [item.name for item in items if isinstance(item, exp.Literal) and item.is_string]
        first = texts[0].lower() if texts else "now" if not items else ""
        if not items or first == "now":
            self.ctx.clock_calls = True
            if self.ctx.now is None:
                self.ctx.nondeterministic = f"{name}('now') is not pinned: there is no `now`"
                return None
        if len(texts) != len(items):
            return None
        folded = calendar.sqlite_moment(name, [first, *texts[1:]], self.ctx.now or datetime.now(UTC))
        if folded is not None:
            self.ctx.used.add("clock-folding")
        return folded

    def _json_members(self, name: str, items: list[exp.Expr]) -> Expr | None:
        """MySQL's JSON_CONTAINS and JSON_OVERLAPS over a literal as tests of single members."""
        import json

        target, probe = self.scalar(items[0]), items[1]
        if isinstance(probe, exp.Cast) and isinstance(probe.this, exp.Literal):
            probe = probe.this
        if not isinstance(probe, exp.Literal) or not probe.is_string or target.op == "lit":
            return None
        try:
            value = json.loads(probe.name, parse_float=Decimal)
        except ValueError:
            return None
        members = value if isinstance(value, list) else [value]
        if not members or not all(isinstance(item, (str, int, Decimal)) for item in members):
            return None
        self.ctx.used.add("array-members")
        parts = [Expr("has", "", (target, _json_member(item))) for item in members]
        return junction("or" if name == "json_overlaps" else "and", parts)

    def _json_array_contains(self, node: exp.Expr) -> Expr:
        member, target = self.scalar(node.this), self.scalar(node.expression)
        if member.op == "lit":
            return Expr("has", "", (target, _member(member)))
        return Expr("func", ("member of",), (member, target))

    def _window(self, node: exp.Window) -> Expr:
        inner = node.this
        spec = node
        name = node.args.get("alias")
        if name is not None:
            spec = self.scope.windows.get(name.name.lower(), node)
            if spec is node:
                return self._generic(node)
        if isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
            return self._generic(node)
        call = self.scalar(inner)
        partitions = [self.scalar(item) for item in spec.args.get("partition_by") or ()]
        order = spec.args.get("order")
        keys = [] if order is None else [self.lowering.order_key(item, self) for item in order.expressions]
        frame = spec.args.get("spec")
        frame_text = "" if frame is None else frame.sql(dialect=self.ctx.dialect.name).lower()
        if call.op == "agg":
            name_of = call.value[0]
            function = name_of[0] if isinstance(name_of, tuple) and len(name_of) == 1 else str(name_of)
            function, distinct = _WINDOW_NAMES.get(function, function), bool(call.value[1])
        else:
            function, distinct = str(call.value[0]) if call.op == "func" else call.op, False
            function = _WINDOW_NAMES.get(function, function)
        partitions = list(dict.fromkeys(item for item in partitions if item.op != "lit"))
        window = Window(
            function,
            distinct,
            len(call.args),
            len(partitions),
            tuple((key.desc, key.nulls_first) for key in keys),
            frame_text,
        )
        return Expr("window", window, (*call.args, *partitions, *(key.expr for key in keys)))

    def _tuple(self, node: exp.Tuple) -> Expr:
        return Expr("func", ("tuple",), tuple([self.scalar(item) for item in node.expressions]))

    def _pipe(self, node: exp.Expr) -> Expr:
        parts: list[exp.Expr] = []
        item: exp.Expr = node
        while isinstance(item, (exp.DPipe, exp.Paren)):
            if isinstance(item, exp.Paren):
                item = item.this
            else:
                parts.append(item.expression)
                item = item.this
        parts.append(item)
        return Expr("func", ("||",), tuple([self.scalar(part) for part in reversed(parts)]))

    def _generic(self, node: exp.Expr) -> Expr:
        """Any other node: its name, its flags, and its operands in the order of the grammar."""
        args: list[Expr] = []
        flags: list[Any] = [type(node).__name__.lower()]
        if flags[0] in VOLATILE:
            self.ctx.nondeterministic = f"{flags[0]}() gives another value at each call"
        for name, value in node.args.items():
            if value is None or value is False or value == [] or name in {"big_int", "safe", "_type"}:
                continue
            if isinstance(value, exp.Expr):
                flags.append(name)
                args.append(self._operand(value))
            elif isinstance(value, list):
                flags.append((name, len(value)))
                args.extend(
                    self._operand(item) if isinstance(item, exp.Expr) else lit("word", str(item)) for item in value
                )
            else:
                flags.append((name, str(value)))
        return Expr("func", tuple(flags), tuple(args))

    def _operand(self, node: exp.Expr) -> Expr:
        if isinstance(node, (exp.Var, exp.DataType, exp.Star)):
            return lit("word", node.sql(dialect=self.ctx.dialect.name).lower())
        if isinstance(node, exp.Ordered):
            key = self.lowering.order_key(node, self)
            return Expr("func", ("order", key.desc, key.nulls_first), (key.expr,))
        return self.scalar(node)


_WINDOW_NAMES = {"rownumber": "row_number", "denserank": "dense_rank", "rank": "rank"}


def _mirror(op: str) -> str:
    return {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)


def _row(node: exp.Expr) -> list[exp.Expr] | None:
    """The parts of a row value, `None` for a scalar."""
    while isinstance(node, exp.Paren):
        node = node.this
    return list(node.expressions) if isinstance(node, exp.Tuple) else None


def _flag(expr: Expr, ctx: Context) -> bool | None:
    """Whether a literal is a truth value here."""
    if expr in (TRUE, FALSE):
        return expr == TRUE
    if (
        expr.op == "lit"
        and expr.value[0] == "int"
        and ctx.dialect.booleans == "integer"
        and expr.value[1] in {"0", "1"}
    ):
        return bool(expr.value[1] == "1")
    return None


def _items(expr: Expr) -> list[Expr] | None:
    """The members of an array that is written out."""
    if expr.op == "func" and expr.value[0] == "array":
        return list(expr.args)
    if expr.op == "cast" and expr.value[0] == "array":
        return _items(expr.args[0])
    if expr.op == "lit" and expr.value[0] == "str":
        text = str(expr.value[1])
        if text.startswith("{") and text.endswith("}") and not set('"\\{} ') & set(text[1:-1]):
            return [lit("str", item) for item in text[1:-1].split(",")] if text != "{}" else []
    return None


def _member(expr: Expr) -> Expr:
    """A member of an array, numbers by value."""
    if expr.op == "lit" and expr.value[0] in {"int", "dec", "float"}:
        canonical = number(expr.value[1])
        return lit("num", canonical) if canonical is not None else expr
    return expr


def _json_member(value: str | int | Decimal | bool) -> Expr:
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, str):
        return lit("str", value)
    return lit("num", number(str(value)) or str(value))


def number_literal(text: str) -> Expr:
    """A number as written: its kind (which decides how arithmetic goes) and its text."""
    if text.isdigit():
        return lit("int", text.lstrip("0") or "0")
    if "e" in text.lower():
        canonical = number(text)
        return lit("float", canonical if canonical is not None else text.lower())
    stripped = text.rstrip("0").rstrip(".") if "." in text else text
    return lit("dec", f"{stripped or '0'}" if stripped and not stripped.startswith(".") else f"0{stripped}")


def case(args: list[Expr]) -> Expr:
    """CASE from conditions and results and the last ELSE; branches that cannot be reached go."""
    kept: list[Expr] = []
    for index in range(0, len(args) - 1, 2):
        condition, result = args[index], args[index + 1]
        if condition in (FALSE, NULL):
            continue
        if condition == TRUE:
            return result if not kept else _finish_case([*kept, result])
        kept += [condition, result]
    return _finish_case([*kept, args[-1]])


def _finish_case(args: list[Expr]) -> Expr:
    while len(args) > 1 and args[-2] == args[-1]:
        args = [*args[:-3], args[-1]]
    last = args[-1]
    if len(args) == 1:
        return last
    if last.op == "case":
        return _finish_case([*args[:-1], *last.args])
    return Expr("case", None, tuple(args))


def _fold_integers(op: str, left: Expr, right: Expr) -> Expr | None:
    """Constant arithmetic on small integers; anything else stays as written."""
    if left.op != "lit" or right.op != "lit" or left.value[0] != "int" or right.value[0] != "int":
        return None
    if len(left.value[1]) > 9 or len(right.value[1]) > 9:
        return None
    ours, theirs = int(left.value[1]), int(right.value[1])
    match op:
        case "+":
            return lit("int", str(ours + theirs))
        case "-":
            return lit("int", str(ours - theirs))
        case "*":
            return lit("int", str(ours * theirs))
    return None


def _cast_literal(value: Expr, kind: ColumnType, written: str) -> Expr | None:
    """A cast of a literal that reads it as that type and loses nothing."""
    form, text = value.value
    if form == "null":
        return value
    if kind in {"date", "timestamp", "timestamptz"} and form in {"str", "ts"}:
        canonical = instant(text) if form == "str" else text
        if canonical is None:
            return None
        if kind == "date":
            canonical = f"{canonical[:10]} 00:00:00"
        return lit("ts", canonical)
    if kind == "integer" and form in {"int", "str"} and text.strip().lstrip("-").isdigit():
        return lit("int", str(int(text)))
    if kind == "text" and form == "str" and "(" not in written and "CHAR" not in written.upper().split("VARCHAR")[0]:
        return value
    if kind in {"decimal", "real"} and "(" not in written and form in {"int", "dec", "str"}:
        canonical = number(text)
        return None if canonical is None else lit("dec" if kind == "decimal" else "float", canonical)
    if kind == "boolean" and form == "bool":
        return value
    return None


def argument(value: object, ctx: Context) -> Expr:
    """A bound argument as the literal that it stands for.

    Raises:
        ReadError: the value is of a type that no parameter can have (`unbound_parameter`).
    """
    ctx.used.add("bound-parameter")
    if value is None:
        return NULL
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, int):
        return lit("int", str(value))
    if isinstance(value, (float, Decimal)):
        text = repr(value) if isinstance(value, float) else str(value)
        canonical = number(text)
        return lit("dec", canonical if canonical is not None else text)
    if isinstance(value, str):
        return lit("str", value)
    if isinstance(value, datetime):
        return calendar.text_of(value if value.tzinfo is not None else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return lit("ts", f"{value.isoformat()} 00:00:00")
    if isinstance(value, time):
        return lit("time", value.isoformat())
    if isinstance(value, bytes):
        return lit("blob", value.hex())
    if isinstance(value, (list, tuple)):
        return Expr("func", ("array",), tuple([_member(argument(item, ctx)) for item in value]))
    raise ReadError("unbound_parameter", f"an argument is a {type(value).__name__}, which no parameter can be bound to")


def bound(args: object, key: str | None, position: int) -> object:
    """Look an argument up by its name or position.

    Raises:
        ReadError: there is none (`unbound_parameter`).
    """
    if isinstance(args, Mapping):
        for name in (key, str(position + 1) if key is None else None):
            if name is not None and name in args:
                return args[name]
        raise ReadError("unbound_parameter", f"no argument is bound to `{key or position + 1}`")
    listed = list(args) if isinstance(args, (list, tuple)) else []
    if key is not None and not key.isdigit():
        raise ReadError("unbound_parameter", f"no argument is bound to `{key}`; named arguments need a mapping")
    index = int(key) - 1 if key is not None else position
    if not 0 <= index < len(listed):
        raise ReadError("unbound_parameter", f"parameter {index + 1} has no argument; {len(listed)} were given")
    return listed[index]


Handler = Callable[[Scalars, Any], Expr]

_HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Column: Scalars._column,
    exp.Identifier: Scalars._identifier,
    exp.Literal: Scalars._literal,
    exp.Boolean: Scalars._boolean,
    exp.Null: Scalars._null,
    exp.Neg: Scalars._negative,
    exp.Placeholder: Scalars._placeholder,
    exp.Parameter: Scalars._placeholder,
    exp.And: Scalars._junction,
    exp.Or: Scalars._junction,
    exp.Not: Scalars._not,
    **dict.fromkeys(_COMPARE, Scalars._compare),
    exp.Is: Scalars._is,
    exp.NullSafeEQ: Scalars._null_safe,
    exp.NullSafeNEQ: Scalars._null_safe,
    exp.In: Scalars._in,
    exp.Between: Scalars._between,
    **dict.fromkeys((exp.Like, exp.ILike, exp.Glob, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo), Scalars._like),
    exp.Escape: Scalars._escape,
    exp.Exists: Scalars._exists,
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Intersect, exp.Except), Scalars._subquery),
    **dict.fromkeys((exp.ArrayOverlaps, exp.ArrayContainsAll, exp.ArrayContainedBy), Scalars._array),
    exp.JSONArrayContains: Scalars._json_array_contains,
    exp.Case: Scalars._case,
    exp.If: Scalars._if,
    exp.Nullif: Scalars._nullif,
    exp.Coalesce: Scalars._coalesce,
    **dict.fromkeys((*_BINARY, exp.Div), Scalars._arithmetic),
    exp.Interval: Scalars._interval_literal,
    **dict.fromkeys(
        (exp.DateAdd, exp.DateSub, exp.TimestampAdd, exp.TimestampSub, exp.DatetimeAdd, exp.DatetimeSub, exp.TsOrDsAdd),
        Scalars._date_shift,
    ),
    **dict.fromkeys(calendar.CLOCK_NODES, Scalars._clock),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), Scalars._date_trunc),
    exp.Cast: Scalars._cast,
    exp.TsOrDsToDate: Scalars._wrapped,
    **dict.fromkeys(AGGREGATES, Scalars._aggregate),
    exp.Filter: Scalars._filter,
    exp.Window: Scalars._window,
    exp.Tuple: Scalars._tuple,
    exp.DPipe: Scalars._pipe,
}

__all__ = ["Rel", "Scalars", "argument", "bound", "case", "number_literal"]
