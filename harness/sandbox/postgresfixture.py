"""Fills a database of the embedded PostgreSQL server and locks it: a role that can SELECT, no volatile function."""

import json
from collections.abc import Iterable
from typing import Any

from harness.errors import SandboxError
from harness.sandbox.embedded import EmbeddedPostgres

READER = "rung_reader"
Scripts = Iterable[tuple[str, str]]
Tables = Iterable[tuple[str, list[str], Iterable[list[Any]]]]

# By rule and not by list: a function that is volatile can do something, so the reader may call none.
_LOCK = """
DO $lock$
DECLARE item record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'rung_reader') THEN
    CREATE ROLE rung_reader LOGIN;
  END IF;
  FOR item IN SELECT p.oid::regprocedure AS signature FROM pg_catalog.pg_proc p
              WHERE p.provolatile = 'v' AND p.prokind IN ('f', 'w') LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', item.signature);
  END LOOP;
  FOR item IN SELECT n.nspname FROM pg_catalog.pg_namespace n
              WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' LOOP
    EXECUTE format('REVOKE ALL ON SCHEMA %I FROM PUBLIC', item.nspname);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO rung_reader', item.nspname);
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM PUBLIC', item.nspname);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO rung_reader', item.nspname);
  END LOOP;
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO rung_reader', current_database());
  REVOKE SELECT ON pg_catalog.pg_stat_activity, pg_catalog.pg_settings, pg_catalog.pg_file_settings FROM PUBLIC;
END
$lock$
"""


def reader_url(url: str) -> str:
    """The URL of the role that can only read, from the superuser's."""
    return url.replace("postgresql://postgres@", f"postgresql://{READER}@", 1)


def fill(server: EmbeddedPostgres, scripts: Scripts, tables: Tables) -> str:
    """Run scripts and insert rows in a new database, and lock it.

    Args:
        server: a running server.
        scripts: name (for messages) and text of each.
        tables: name, columns and rows of each; the scripts have created them.

    Returns:
        URL of the database for the role that can only read.

    Raises:
        SandboxError: something of it fails; the message says where.
    """
    import psycopg

    url = server.create_database()
    with psycopg.connect(url, autocommit=True) as connection:
        for name, script in scripts:
            try:
                connection.execute(script.encode())
            except psycopg.Error as problem:
                where = _where(script, problem)
                raise SandboxError(f"{name}: {where}{problem.diag.message_primary or problem}") from problem
        for table, columns, rows in tables:
            try:
                _copy_in(connection, table, columns, rows)
            except psycopg.Error as problem:
                raise SandboxError(f"{table}: {problem.diag.message_primary or problem}") from problem
        connection.execute(_LOCK.encode())
    return reader_url(url)


def _copy_in(connection: Any, table: str, columns: list[str], rows: Iterable[list[Any]]) -> None:
    from psycopg import sql

    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row([json.dumps(cell) if isinstance(cell, (dict, list)) else cell for cell in row])


def load_script(server: EmbeddedPostgres, script: str, name: str) -> str:
    """`fill` with one script."""
    return fill(server, [(name, script)], [])


def _where(script: str, problem: Exception) -> str:
    position = getattr(getattr(problem, "diag", None), "statement_position", None)
    return f"line {script[: int(position)].count(chr(10)) + 1}: " if position else ""
