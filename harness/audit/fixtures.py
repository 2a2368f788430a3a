"""A user's fixture read into memory: its tables and rows, and the same fixture written with rows added."""

import shutil
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from canon.errors import ReadError
from canon.schema import Schema
from canon.sql.ddl import read_schema
from harness.errors import MissingExtraError, SandboxError, UsageError
from harness.witness.database import Layout, Relation, Row, Rows, Value
from harness.witness.duck import CONFIG
from harness.witness.engines import quoted

MAX_FIXTURE_ROWS = 20_000
_SQLITE_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True)
class TableFixture:
    """A fixture of SQL tables.

    Attributes:
        path: where it came from.
        dialect: of its DDL.
        schema: what it declares.
        rows: what it holds.
    """

    path: Path
    dialect: str
    schema: Schema
    rows: Rows

    @property
    def layout(self) -> Layout:
        """The schema with its names resolved."""
        return Layout.of(self.schema)


def read_fixture(place: str | Path, dialect: str) -> TableFixture:
    """Read a fixture: a file of SQL (DDL and INSERT), a SQLite or a DuckDB database.

    Args:
        place: path, or `sqlite:///` or `duckdb:///` URL.
        dialect: of the queries, and so of a file of SQL.

    Raises:
        SandboxError: it cannot be read, or holds too much to be read whole.
        UsageError: it is of a kind that cannot be read here.
    """
    path = _path(str(place))
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise SandboxError(f"fixture {path}: {error.strerror}") from None
    if head == _SQLITE_MAGIC:
        return _from_sqlite(path)
    if head[8:12] == b"DUCK":
        return _from_duckdb(path)
    if path.suffix.lower() in {".sql", ".ddl"}:
        return _from_sql(path, dialect)
    raise UsageError(f"fixture {path}: neither a SQLite or DuckDB database nor a file of SQL")


def _path(place: str) -> Path:
    for scheme in ("sqlite", "duckdb"):
        if place.startswith(f"{scheme}:///"):
            return Path(place.removeprefix(f"{scheme}:///"))
    if "://" in place:
        raise UsageError(f"the audit reads fixtures from files, not from {urlsplit(place).scheme} servers")
    return Path(place)


def _from_sqlite(path: Path) -> TableFixture:
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            made = connection.execute(
                "SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL"
            )
            schema = read_schema(";\n".join(str(sql) for (sql,) in made.fetchall()), "sqlite")
            rows = {
                table.name: _taken(path, connection.execute(_select(table.name)).fetchmany(MAX_FIXTURE_ROWS + 1))
                for table in schema.tables
            }
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise SandboxError(f"fixture {path}: {error}") from None
    except ReadError as error:
        raise SandboxError(f"fixture {path}: {error.message}") from None
    return TableFixture(path, "sqlite", schema, rows)


def _from_duckdb(path: Path) -> TableFixture:
    duckdb = _duckdb()
    try:
        with duckdb.connect(str(path), read_only=True, config=dict(CONFIG)) as connection:
            ddl = ";\n".join(str(sql) for (sql,) in connection.execute("SELECT sql FROM duckdb_tables()").fetchall())
            schema = read_schema(ddl, "duckdb")
            rows = {
                table.name: _taken(path, connection.execute(_select(table.name)).fetchmany(MAX_FIXTURE_ROWS + 1))
                for table in schema.tables
            }
    except duckdb.Error as error:
        raise SandboxError(f"fixture {path}: {error}") from None
    except ReadError as error:
        raise SandboxError(f"fixture {path}: {error.message}") from None
    return TableFixture(path, "duckdb", schema, rows)


def _from_sql(path: Path, dialect: str) -> TableFixture:
    """Run a file of SQL: on SQLite for that dialect, else on DuckDB."""
    text = path.read_text("utf-8-sig")
    try:
        schema = read_schema(text, dialect)
    except ReadError as error:
        raise SandboxError(f"fixture {path}: {error.message}") from None
    rows = _sqlite_rows(path, text, schema) if dialect == "sqlite" else _duckdb_rows(path, text, schema, dialect)
    return TableFixture(path, dialect, schema, rows)


def _sqlite_rows(path: Path, text: str, schema: Schema) -> Rows:
    try:
        connection = sqlite3.connect(":memory:")
        try:
            connection.executescript(text)
            return {
                table.name: _taken(path, connection.execute(_select(table.name)).fetchmany(MAX_FIXTURE_ROWS + 1))
                for table in schema.tables
            }
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise SandboxError(f"fixture {path}: {error}") from None


def _duckdb_rows(path: Path, text: str, schema: Schema, dialect: str) -> Rows:
    duckdb = _duckdb()
    try:
        statements = [s.sql(dialect="duckdb") for s in sqlglot.parse(text, dialect=dialect) if s is not None]
        with duckdb.connect(":memory:", config=dict(CONFIG)) as connection:
            for statement in statements:
                connection.execute(statement)
            return {
                table.name: _taken(path, connection.execute(_select(table.name)).fetchmany(MAX_FIXTURE_ROWS + 1))
                for table in schema.tables
            }
    except (duckdb.Error, SqlglotError) as error:
        raise SandboxError(f"fixture {path}: {error}") from None


def _duckdb() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", "duckdb", "reading a fixture that is not SQLite") from None
    return duckdb


def _select(name: str) -> str:
    return f"SELECT * FROM {quoted(name)}"  # noqa: S608 - a quoted name of the fixture's own


def _taken(path: Path, content: Iterable[tuple[object, ...]]) -> list[Row]:
    rows = [tuple(_held(value) for value in row) for row in content]
    if len(rows) > MAX_FIXTURE_ROWS:
        raise SandboxError(f"fixture {path}: a table has more than {MAX_FIXTURE_ROWS} rows; audit on a smaller one")
    return rows


def _held(value: object) -> Value:
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, list):
        return tuple(item if isinstance(item, int) else str(item) for item in value)
    return str(value)


def write_fixture(fixture: TableFixture, added: Rows, target: Path) -> None:
    """Write the fixture with rows added, in the form that it came in.

    Raises:
        SandboxError: the file cannot be written, or the engine refuses a row.
    """
    statements = list(inserts(fixture, added))
    try:
        if fixture.path.suffix.lower() in {".sql", ".ddl"}:
            text = fixture.path.read_text("utf-8-sig").rstrip("\n")
            comment = "-- Rows without which a wrong query would give the golden's result."
            target.write_text("\n".join([text, *(["", comment, *statements] if statements else []), ""]), "utf-8")
            return
        if target.resolve() != fixture.path.resolve():
            shutil.copyfile(fixture.path, target)
    except OSError as error:
        raise SandboxError(f"{target}: {error.strerror}") from None
    _insert_into(target, fixture.dialect, statements)


def _insert_into(target: Path, dialect: str, statements: list[str]) -> None:
    connection = sqlite3.connect(target) if dialect == "sqlite" else _duckdb().connect(str(target))
    try:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    except Exception as error:
        raise SandboxError(f"{target}: {error}") from error
    finally:
        connection.close()


def inserts(fixture: TableFixture, added: Rows) -> Iterable[str]:
    """INSERT statements for rows, parents before the rows that refer to them."""
    layout = fixture.layout
    for relation in _parents_first(layout):
        content = added.get(relation.name, [])
        if content:
            columns = ", ".join(_name(column.name) for column in relation.columns)
            written = ",\n".join(
                "    (" + ", ".join(_written(v, relation, i, fixture.dialect) for i, v in enumerate(row)) + ")"
                for row in content
            )
            yield f"INSERT INTO {_name(relation.name)} ({columns}) VALUES\n{written};"


def _name(name: str) -> str:
    return name if name.isidentifier() and name.islower() else quoted(name)


def _written(value: Value, relation: Relation, index: int, dialect: str) -> str:
    column = relation.columns[index]
    if isinstance(value, tuple):
        items = ", ".join(exp.convert(item).sql(dialect=dialect) for item in value)
        return f"CAST(ARRAY[{items}] AS {column.declared or 'TEXT[]'})"
    if column.type == "boolean" and value in {0, 1}:
        return "TRUE" if value else "FALSE"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return exp.convert(value).sql(dialect=dialect)


def _parents_first(layout: Layout) -> list[Relation]:
    found: list[Relation] = []

    def visit(relation: Relation, above: frozenset[str]) -> None:
        for reference in relation.references:
            parent = layout.find(reference.parent)
            if parent is not None and parent not in found and parent.name not in above:
                visit(parent, above | {relation.name})
        if relation not in found:
            found.append(relation)

    for relation in layout.relations.values():
        visit(relation, frozenset({relation.name}))
    return found
