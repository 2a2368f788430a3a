"""Decides whether two SQL queries mean the same.

`compare_sql` is the question; `read_sql` reads one query; `read_schema` reads DDL; `pin_clock` replaces clock calls.
"""

from canon.sql.clock import pin_clock
from canon.sql.compare import compare_sql
from canon.sql.ddl import read_schema
from canon.sql.query import SqlQuery, read_sql

__all__ = ["SqlQuery", "compare_sql", "pin_clock", "read_schema", "read_sql"]
