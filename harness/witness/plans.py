"""How a pair of queries is run: parsed, its constants bound, its clock pinned, put into the words of an engine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlglot
from pydantic import JsonValue
from sqlglot import exp
from sqlglot.errors import SqlglotError

from canon.schema import Column, Schema, Table
from canon.sql.ddl import read_schema
from canon.sql.dialects import ALIASES
from harness.witness.database import Layout, Rows
from harness.witness.engines import Engine, SqliteEngine
from harness.witness.probes import Probe, probe_of

if TYPE_CHECKING:
    from harness.witness.search import Search

MAX_QUERY_CHARACTERS = 100_000
_CLOCKS = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentDatetime, exp.CurrentTimestampLTZ)
_VOLATILE = frozenset({"random", "randomblob", "rand", "uuid", "gen_random_uuid", "changes", "last_insert_rowid",
                       "total_changes", "clock_timestamp", "newid", "sleep", "pg_sleep"})  # fmt: skip


class Unrunnable(Exception):
    """The pair cannot be run here; the text says why."""


Confirmation = Callable[[Rows, "Search"], tuple[str, ...]]


@dataclass
class Plan:
    """A pair of queries, ready to be run.

    Attributes:
        dialect: of the queries and the schema.
        layout: the tables.
        trees: both queries, constants bound, as read in their own dialect.
        engine: runs the candidates.
        expected: the golden query for the engine.
        actual: the other query for the engine.
        names: the output columns of each.
        confirm: the engines that agree that a database is a witness; empty = it is none.
        opened: engines to be given back.
    """

    dialect: str
    layout: Layout
    trees: tuple[exp.Expression, exp.Expression]
    engine: Engine
    expected: Probe
    actual: Probe
    names: tuple[tuple[str, ...], tuple[str, ...]]
    confirm: Confirmation
    opened: list[Engine] = field(default_factory=list)

    @property
    def shown_by(self) -> Engine:
        """The engine whose results a witness shows."""
        return self.opened[-1] if self.opened else self.engine

    @property
    def shown(self) -> tuple[str, str]:
        """Both queries for that engine."""
        return self.expected.plain, self.actual.plain

    def close(self) -> None:
        """Give every engine back."""
        self.engine.close()
        for engine in self.opened:
            engine.close()


def plan_pair(
    expected: str,
    actual: str,
    dialect: str,
    schema: Schema | str | None,
    now: datetime | None,
    expected_args: Sequence[JsonValue] | dict[str, JsonValue],
    actual_args: Sequence[JsonValue] | dict[str, JsonValue],
    deadline: float,
) -> Plan:
    """Prepare a pair.

    Raises:
        Unrunnable: a query is no single read, reads what cannot be known, or says what no engine here can run.
        ReadError: the schema cannot be read.
    """
    dialect = ALIASES.get(dialect.lower(), dialect.lower())
    trees = (parsed(expected, dialect, expected_args, now), parsed(actual, dialect, actual_args, now))
    if isinstance(schema, str):
        schema = read_schema(schema, dialect)
    layout = Layout.of(schema if schema is not None else inferred(trees))
    names = (_names(trees[0], layout), _names(trees[1], layout))
    if dialect == "sqlite":
        return _on_sqlite(trees, (expected, actual), bool(expected_args or actual_args), layout, names, deadline)
    raise Unrunnable(f"no engine here runs {dialect}")


def _on_sqlite(
    trees: tuple[exp.Expression, exp.Expression],
    texts: tuple[str, str],
    bound: bool,
    layout: Layout,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    deadline: float,
) -> Plan:
    engine = SqliteEngine(list(layout.relations.values()), deadline)
    probes = [
        probe_of(tree, tree.sql(dialect="sqlite") if bound or tree.meta.get("changed") else _trimmed(text), "sqlite")
        for tree, text in zip(trees, texts, strict=True)
    ]
    return Plan("sqlite", layout, trees, engine, probes[0], probes[1], names, lambda _rows, _search: ("sqlite",))


def _trimmed(text: str) -> str:
    return text.strip().rstrip(";").rstrip()


def parsed(
    text: str, dialect: str, args: Sequence[JsonValue] | dict[str, JsonValue], now: datetime | None
) -> exp.Expression:
    """Read one query, with its parameters bound and its clock pinned.

    Raises:
        Unrunnable: it is no single read, or reads a clock that is not pinned, or chance.
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
    tree = statements[0]
    if any(tree.find_all(exp.DML, exp.DDL, exp.Into, exp.Lock, exp.Command)) and any(
        isinstance(node, exp.Insert | exp.Update | exp.Delete | exp.Merge | exp.Create | exp.Into | exp.Lock | exp.Command)
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


def _bound(tree: exp.Expression, args: Sequence[JsonValue] | dict[str, JsonValue]) -> exp.Expression:
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


def _pin(tree: exp.Expression, dialect: str, now: datetime | None) -> None:
    """Put the pinned instant where a query reads the clock."""
    instant = now.astimezone(UTC) if now is not None else None
    for node in list(tree.find_all(*_CLOCKS)):
        if instant is None:
            raise Unrunnable("a query reads the clock, and no instant is pinned")
        date_only = isinstance(node, exp.CurrentDate)
        text = instant.strftime("%Y-%m-%d" if date_only else "%Y-%m-%d %H:%M:%S")
        literal: exp.Expression = exp.Literal.string(text)
        if dialect != "sqlite":
            literal = exp.cast(literal, "DATE" if date_only else "TIMESTAMP")
        node.replace(literal)
        tree.meta["changed"] = True
    for literal in list(tree.find_all(exp.Literal)):
        if literal.is_string and str(literal.this).lower() == "now" and literal.find_ancestor(exp.Func):
            if instant is None:
                raise Unrunnable("a query reads the clock, and no instant is pinned")
            literal.replace(exp.Literal.string(instant.strftime("%Y-%m-%d %H:%M:%S")))
            tree.meta["changed"] = True


def _names(tree: exp.Expression, layout: Layout) -> tuple[str, ...]:
    head = tree
    while not isinstance(head, exp.Select):
        if not isinstance(head.this, exp.Expression):
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


def inferred(trees: Sequence[exp.Expression]) -> Schema:
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
