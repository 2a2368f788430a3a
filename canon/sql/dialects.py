"""The semantic facts of each dialect that identities ask about. A fact that is not known unlocks nothing.

Sources: the vendors' manuals, by section named at each field.
"""

from typing import Literal, NamedTuple


class Dialect(NamedTuple):
    """What a dialect means by its syntax.

    Attributes:
        name: as in sqlglot.
        fold: how an unquoted identifier is matched: `lower`/`upper` folded and then exact (SQL standard, PostgreSQL
            4.1.1, Oracle), `insensitive` even when quoted (MySQL 9.2.3 for columns, SQLite, DuckDB, SQL Server).
        quotes: what `"x"` is: an `identifier`, a `string` (MySQL without ANSI_QUOTES, BigQuery, Spark), or an
            identifier that turns into a string where it names no column (SQLite, "quirks" 8).
        nulls: where NULL sorts by default in ascending order: `first`, `last`, or `either` (last in both directions).
        like_folds: whether LIKE ignores case (SQLite for ASCII, MySQL and SQL Server by their default collation).
        collation: what `=` on text does by default: `binary`, or `folding` (case, accents or trailing blanks ignored).
        integer_division: whether `/` of two integers is an integer; None where it depends on more.
        booleans: `native`, or `integer` where TRUE is the number 1.
        coerces: how a text and a number are compared: by the column's `affinity` (SQLite 3.2), `numeric`ally (MySQL),
            by reading the quoted literal as the column's type (`typed`), or not known.
        bare: whether a grouped query may return a column that the groups do not determine.
        where_alias: whether WHERE may name an output column.
        group_alias: whether GROUP BY and HAVING may name an output column.
        exact_dates: whether a DATE column holds dates only (in SQLite it may hold any text).
        empty_is_null: whether `''` is NULL (Oracle).
    """

    name: str
    fold: Literal["lower", "upper", "insensitive"] = "insensitive"
    quotes: Literal["identifier", "string", "fallback"] = "identifier"
    nulls: Literal["first", "last", "either"] = "last"
    like_folds: bool | None = None
    collation: Literal["binary", "folding", "unknown"] = "unknown"
    integer_division: bool | None = None
    booleans: Literal["native", "integer"] = "native"
    coerces: Literal["affinity", "numeric", "typed", "unknown"] = "unknown"
    bare: bool = False
    where_alias: bool = False
    group_alias: bool = False
    exact_dates: bool = True
    empty_is_null: bool = False


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("postgres", "lower", nulls="last", like_folds=False, collation="binary", integer_division=True,
                coerces="typed", group_alias=True),
        Dialect("mysql", "insensitive", "string", nulls="first", like_folds=True, collation="folding",
                integer_division=False, booleans="integer", coerces="numeric", bare=True, group_alias=True),
        Dialect("sqlite", "insensitive", "fallback", nulls="first", like_folds=True, collation="binary",
                integer_division=True, booleans="integer", coerces="affinity", bare=True, where_alias=True,
                group_alias=True, exact_dates=False),
        Dialect("duckdb", "insensitive", nulls="either", like_folds=False, collation="binary",
                integer_division=False, coerces="typed", where_alias=True, group_alias=True),
        Dialect("bigquery", "insensitive", "string", nulls="first", like_folds=False, collation="binary",
                integer_division=False, coerces="typed", group_alias=True),
        Dialect("snowflake", "upper", nulls="last", like_folds=False, collation="binary", integer_division=False,
                coerces="typed", where_alias=True, group_alias=True),
        Dialect("tsql", "insensitive", nulls="first", like_folds=True, collation="folding", integer_division=True,
                booleans="integer", coerces="typed"),
        Dialect("oracle", "upper", nulls="last", like_folds=False, collation="binary", integer_division=False,
                booleans="integer", coerces="typed", empty_is_null=True),
        Dialect("spark", "insensitive", "string", nulls="first", like_folds=False, collation="binary",
                integer_division=False, group_alias=True),
        Dialect("clickhouse", "insensitive", nulls="either", like_folds=False, collation="binary",
                integer_division=False, where_alias=True, group_alias=True),
    )
}  # fmt: skip

ALIASES = {"postgresql": "postgres", "sql": "postgres", "pg": "postgres", "mariadb": "mysql", "mssql": "tsql",
           "sqlserver": "tsql", "redshift": "redshift", "databricks": "databricks"}  # fmt: skip


def dialect_of(name: str) -> Dialect:
    """The facts of a dialect; for one that the table does not list, a row that unlocks next to nothing."""
    canonical = ALIASES.get(name.lower(), name.lower())
    return DIALECTS.get(canonical) or Dialect(canonical)
