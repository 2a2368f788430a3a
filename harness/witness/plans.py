"""How a pair of queries is run: parsed, its constants bound, its clock pinned, put into the words of an engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlglot
from pydantic import JsonValue
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from canon.schema import Column, Schema, Table
from canon.sql.ddl import read_schema
from canon.sql.dialects import ALIASES
from harness.witness import mysql, postgres
from harness.witness.conditions import Place
from harness.witness.database import Layout, Relation
from harness.witness.demands import demands_of
from harness.witness.domains import kind_of
from harness.witness.duck import DuckEngine
from harness.witness.engines import Engine, QueryFailed, SqliteEngine
from harness.witness.functions import FUNCTIONS, JoinedTexts
from harness.witness.probes import Probe, probe_of

MAX_QUERY_CHARACTERS = 100_000
UNPINNED = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The instant at which queries that read an unpinned clock are asked."""
_CLOCKS = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentDatetime, exp.CurrentTimestampLTZ)
_VOLATILE = frozenset({"random", "randomblob", "rand", "uuid", "gen_random_uuid", "changes", "last_insert_rowid",
                       "total_changes", "clock_timestamp", "newid", "sleep", "pg_sleep"})  # fmt: skip


Args = Sequence[JsonValue] | dict[str, JsonValue]


class Unrunnable(Exception):
    """The pair cannot be run here; the text says why."""


@dataclass(frozen=True)
class Sides:
    """An engine and both queries in its words."""

    engine: Engine
    expected: Probe
    actual: Probe

    @property
    def ordered(self) -> bool:
        """Whether both queries ask for an order."""
        return self.expected.ordered and self.actual.ordered

    def tried(self) -> "Sides":
        """The sides, a probe's open form given up where the engine does not take it.

        Raises:
            QueryFailed: a query as it stands cannot be run, on tables without a row.
        """
        self.engine.load({})
        return Sides(self.engine, self._tried(self.expected), self._tried(self.actual))

    def _tried(self, probe: Probe) -> Probe:
        self.engine.run(probe.plain)
        try:
            self.engine.run(probe.open)
        except QueryFailed:
            return Probe(probe.plain, probe.plain)
        return probe


@dataclass
class Plan:
    """A pair of queries, ready to be run.

    Attributes:
        dialect: of the queries and the schema.
        layout: the tables.
        trees: both queries, constants bound, as read in their own dialect.
        names: the output columns of each.
        sides: what the candidates run on.
        others: starts what must agree that a database is a witness, beside `sides`.
        first_look: `sides` is another engine than the dialect's: what it shows counts only once it is confirmed.
        folds: texts that differ in case only are equal, so that no two of them are tried.
    """

    dialect: str
    layout: Layout
    trees: tuple[exp.Expr, exp.Expr]
    names: tuple[tuple[str, ...], tuple[str, ...]]
    sides: Sides
    others: Callable[[], tuple[Sides, ...]] = tuple
    first_look: bool = False
    folds: bool = False

    def __post_init__(self) -> None:
        self._confirming: tuple[Sides, ...] | None = None

    @property
    def confirming(self) -> tuple[Sides, ...]:
        """What must agree that a database is a witness; started when first asked for.

        Raises:
            QueryFailed: a query as it stands cannot be run there.
        """
        if self._confirming is None:
            self._confirming = self.others()
            self._confirming = tuple(sides.tried() for sides in self._confirming)
        return self._confirming

    @property
    def shown(self) -> Sides:
        """What gives the results that a witness shows."""
        return self.confirming[-1] if self.confirming else self.sides

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that a witness of this plan was seen on."""
        sides = self.confirming if self.first_look else (self.sides, *self.confirming)
        return tuple(side.engine.name for side in sides)

    def close(self) -> None:
        """Give every engine back."""
        for sides in (self.sides, *(self._confirming or ())):
            sides.engine.close()


@dataclass(frozen=True)
class Request:
    """A pair as it was asked about.

    Attributes:
        texts: both queries as written.
        dialect: of both.
        schema: tables, DDL text, or nothing.
        now: the pinned clock.
        args: the values bound to each query's parameters.
        postgres: a server on which a witness for PostgreSQL is confirmed.
    """

    texts: tuple[str, str]
    dialect: str
    schema: Schema | str | None
    now: datetime | None = None
    args: tuple[Args, Args] = ((), ())
    postgres: str | None = None


@dataclass(frozen=True)
class Pair:
    """A pair, read."""

    texts: tuple[str, str]
    bound: bool
    dialect: str
    trees: tuple[exp.Expr, exp.Expr]
    layout: Layout
    names: tuple[tuple[str, ...], tuple[str, ...]]
    postgres: str | None

    @property
    def tables(self) -> list[Relation]:
        """The tables that the queries may read."""
        return list(self.layout.relations.values())


def read_pair(request: Request) -> Pair:
    """Read both queries and the schema.

    Raises:
        Unrunnable: a query is no single read, or reads what cannot be known.
        ReadError: the schema cannot be read.
    """
    dialect = ALIASES.get(request.dialect.lower(), request.dialect.lower())
    one, other = (
        parsed(text, dialect, args, request.now) for text, args in zip(request.texts, request.args, strict=True)
    )
    schema = read_schema(request.schema, dialect) if isinstance(request.schema, str) else request.schema
    layout = Layout.of(completed(schema, (one, other)))
    names = (_names(one, layout), _names(other, layout))
    bound = any(bool(args) for args in request.args)
    return Pair(request.texts, bound, dialect, (one, other), layout, names, request.postgres)


def plans_for(pair: Pair) -> list[Callable[[float], Plan]]:
    """The ways in which a pair can be run, the fast one first; each takes the deadline of its engines.

    Raises:
        Unrunnable: no engine here gives the queries the meaning that they have in their dialect.
    """
    match pair.dialect:
        case "sqlite":
            return [lambda deadline: _on_sqlite(pair, deadline)]
        case "mysql":
            return [lambda deadline: _mysql_on_sqlite(pair, deadline)]
        case "postgres" | "duckdb":
            strange = next((name for tree in pair.trees if (name := postgres.foreign(tree))), None)
            if pair.dialect == "postgres" and strange is not None:
                raise Unrunnable(f"{strange} is not known to mean the same in DuckDB as in PostgreSQL")
            return [lambda deadline: _screened(pair, deadline), lambda deadline: _on_duckdb(pair, deadline)]
    raise Unrunnable(f"no engine here runs {pair.dialect}")


def _on_sqlite(pair: Pair, deadline: float) -> Plan:
    probes = [
        probe_of(
            tree, tree.sql(dialect="sqlite") if pair.bound or tree.meta.get("changed") else _trimmed(text), "sqlite"
        )
        for tree, text in zip(pair.trees, pair.texts, strict=True)
    ]
    sides = Sides(SqliteEngine(pair.tables, deadline), *probes)
    return Plan("sqlite", pair.layout, pair.trees, pair.names, sides)


def _mysql_on_sqlite(pair: Pair, deadline: float) -> Plan:
    """MySQL, in the words of SQLite; only values are tried on which the two agree."""
    try:
        said = [mysql.to_sqlite(tree, pair.layout) for tree in pair.trees]
    except mysql.Unfaithful as problem:
        raise Unrunnable(f"no engine here gives {problem} the meaning that it has in MySQL") from None
    engine = SqliteEngine(
        pair.tables, deadline, functions=FUNCTIONS, aggregates={"RUNG_GROUP_CONCAT": JoinedTexts}, folding=True
    )
    sides = Sides(engine, *(probe_of(tree, tree.sql(dialect="sqlite"), "sqlite") for tree in said))
    return Plan("mysql", pair.layout, pair.trees, pair.names, sides, folds=True)


def _screened(pair: Pair, deadline: float) -> Plan:
    """A first look on SQLite, which is fast; what it shows must show on DuckDB as well."""
    said = [postgres.to_sqlite(tree).sql(dialect="sqlite", unsupported_level=ErrorLevel.IGNORE) for tree in pair.trees]
    read = [sqlglot.parse_one(text, dialect="sqlite") for text in said]
    engine = SqliteEngine(pair.tables, deadline, functions=FUNCTIONS, strict_like=True)
    sides = Sides(engine, *(probe_of(tree, text, "sqlite") for tree, text in zip(read, said, strict=True)))
    return Plan(
        pair.dialect, pair.layout, pair.trees, pair.names, sides, lambda: _confirming(pair, deadline), first_look=True
    )


def _on_duckdb(pair: Pair, deadline: float) -> Plan:
    first, *others = _confirming(pair, deadline)
    return Plan(pair.dialect, pair.layout, pair.trees, pair.names, first, lambda: tuple(others))


def _confirming(pair: Pair, deadline: float) -> tuple[Sides, ...]:
    """DuckDB, and PostgreSQL where a server is at hand."""
    rewritten = [postgres.to_duckdb(tree) if pair.dialect == "postgres" else tree for tree in pair.trees]
    engine = DuckEngine(pair.tables, deadline, _texts(pair))
    found = [Sides(engine, *(probe_of(tree, tree.sql(dialect="duckdb"), "duckdb") for tree in rewritten))]
    if pair.dialect == "postgres" and pair.postgres is not None:
        server = postgres.PostgresEngine(pair.postgres, pair.tables)
        found.append(Sides(server, *(probe_of(tree, tree.sql(dialect="postgres"), "postgres") for tree in pair.trees)))
    return tuple(found)


def _texts(pair: Pair) -> frozenset[tuple[str, int]]:
    """The columns of unknown type that the queries use as text."""
    demands = demands_of(pair.trees, pair.layout)
    return frozenset(
        (relation.name, index)
        for relation in pair.tables
        for index, column in enumerate(relation.columns)
        if kind_of(column, Place(relation.name, index), demands) in {"text", "date text"}
    )


def _trimmed(text: str) -> str:
    return text.strip().rstrip(";").rstrip()


def parsed(text: str, dialect: str, args: Args, now: datetime | None) -> exp.Expr:
    """Read one query, with its parameters bound and its clock pinned.

    Raises:
        Unrunnable: it is no single read, or depends on chance.
    """
    if len(text) > MAX_QUERY_CHARACTERS:
        raise Unrunnable(f"a query has {len(text)} characters; the most that is run is {MAX_QUERY_CHARACTERS}")
    try:
        statements = [s for s in sqlglot.parse(text, dialect=dialect) if s is not None]
    except (SqlglotError, RecursionError, ValueError) as error:
        first = (str(error).splitlines() or ["?"])[0]
        raise Unrunnable(f"a query is no {dialect} SQL: {first}") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise Unrunnable("a text is no single query")
    tree: exp.Expr = statements[0]
    if any(tree.find_all(exp.DML, exp.DDL, exp.Into, exp.Lock, exp.Command)) and any(
        isinstance(
            node, exp.Insert | exp.Update | exp.Delete | exp.Merge | exp.Create | exp.Into | exp.Lock | exp.Command
        )
        for node in tree.walk()
    ):
        raise Unrunnable("a query does more than read")
    tree = _bound(tree, args)
    _pin(tree, dialect, now)
    for node in tree.find_all(exp.Func):
        name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
        if name in _VOLATILE:
            raise Unrunnable(f"{name}() gives another value each time")
    return tree


def _bound(tree: exp.Expr, args: Args) -> exp.Expr:
    position = 0
    for node in list(tree.find_all(exp.Placeholder, exp.Parameter)):
        name = node.name
        if isinstance(args, dict):
            if name not in args:
                raise Unrunnable(f"the parameter {name} has no value")
            value = args[name]
        else:
            index = int(name) - 1 if name.isdigit() else position
            position += 1
            if not 0 <= index < len(args):
                raise Unrunnable("a parameter has no value")
            value = args[index]
        literal = exp.convert(value)
        if node is tree:
            return literal
        node.replace(literal)
        tree.meta["changed"] = True
    return tree


def _pin(tree: exp.Expr, dialect: str, now: datetime | None) -> None:
    """Put the pinned instant where a query reads the clock; `meta["clock"]` says that it does."""
    # Where none is pinned, both queries are still asked at one and the same instant: a difference there is real.
    instant = now.astimezone(UTC) if now is not None else UNPINNED
    for node in list(tree.find_all(*_CLOCKS)):
        date_only = isinstance(node, exp.CurrentDate)
        text = instant.strftime("%Y-%m-%d" if date_only else "%Y-%m-%d %H:%M:%S")
        literal: exp.Expr = exp.Literal.string(text)
        if dialect != "sqlite":
            literal = exp.cast(literal, "DATE" if date_only else "TIMESTAMP")
        node.replace(literal)
        tree.meta["changed"] = tree.meta["clock"] = True
    for literal in list(tree.find_all(exp.Literal)):
        if literal.is_string and str(literal.this).lower() == "now" and literal.find_ancestor(exp.Func):
            literal.replace(exp.Literal.string(instant.strftime("%Y-%m-%d %H:%M:%S")))
            tree.meta["changed"] = tree.meta["clock"] = True


def _names(tree: exp.Expr, layout: Layout) -> tuple[str, ...]:
    head = tree
    while not isinstance(head, exp.Select):
        if not isinstance(head.this, exp.Expr):
            return ()
        head = head.this
    names: list[str] = []
    for item in head.expressions:
        if item.is_star:
            sources = [table for table in head.find_all(exp.Table) if table.find_ancestor(exp.Select) is head]
            wanted = item.table.lower() if isinstance(item, exp.Column) else ""
            for source in sources:
                relation = layout.find(source.name)
                if relation is not None and wanted in {"", source.alias_or_name.lower()}:
                    names += [column.name for column in relation.columns]
        else:
            names.append(item.alias_or_name or item.sql())
    return tuple(names)


def completed(schema: Schema | None, trees: Sequence[exp.Expr]) -> Schema:
    """The schema, with what the queries name beside it where it is no DDL and so may not know of every column."""
    if schema is None:
        return inferred(trees)
    if any(column.declared for table in schema.tables for column in table.columns):
        return schema
    known = {table.name.lower(): table for table in schema.tables}
    for table in inferred(trees).tables:
        old = known.get(table.name.lower())
        if old is None:
            known[table.name.lower()] = table
            continue
        names = {column.name.lower() for column in old.columns}
        new = tuple(c for c in table.columns if c.name.lower() not in names and not (names and c.name == "c"))
        known[table.name.lower()] = old.model_copy(update={"columns": (*old.columns, *new)})
    return Schema(tables=tuple(known.values()))


def inferred(trees: Sequence[exp.Expr]) -> Schema:
    """The tables and columns that the queries name, nothing being known of keys, NULLs or types."""
    columns: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for tree in trees:
        ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for table in tree.find_all(exp.Table):
            if table.name and table.name.lower() not in ctes:
                names.setdefault(table.name.lower(), table.name)
                columns.setdefault(table.name.lower(), {})
        for column in tree.find_all(exp.Column):
            owner = _owner(column, columns)
            if owner is not None and column.name and not (column.this.args.get("quoted") and not column.table):
                columns[owner].setdefault(column.name.lower(), column.name)
    return Schema(
        tables=tuple(
            Table(name=names[key], columns=tuple(Column(name=name) for name in found.values()) or (Column(name="c"),))
            for key, found in columns.items()
        )
    )


def _owner(column: exp.Column, columns: dict[str, dict[str, str]]) -> str | None:
    """The table that a column most likely belongs to: by its qualifier, else the only or first one in reach."""
    select = column.find_ancestor(exp.Select)
    first: str | None = None
    while select is not None:
        for table in select.find_all(exp.Table):
            if table.find_ancestor(exp.Select) is not select or table.name.lower() not in columns:
                continue
            if column.table and column.table.lower() == table.alias_or_name.lower():
                return table.name.lower()
            first = first or table.name.lower()
            if not column.table and column.name.lower() in columns[table.name.lower()]:
                return table.name.lower()
        if not column.table and first is not None and column.name.lower() not in _aliases(select):
            return first
        select = select.find_ancestor(exp.Select)
    return None


def _aliases(select: exp.Select) -> set[str]:
    return {item.alias.lower() for item in select.expressions if item.alias}
