"""Puts PostgreSQL into the words of DuckDB and SQLite, and confirms a witness on a PostgreSQL server at hand."""

from collections.abc import Sequence
from typing import Self

from sqlglot import exp

from harness.errors import MissingExtraError
from harness.witness.database import Relation, Rows, Value
from harness.witness.engines import MAX_RESULT_ROWS, OutOfTime, QueryFailed, quoted
from harness.witness.mysql import FAITHFUL, rewritten, unwrapped_operands

_MORE = (
    exp.Extract, exp.TimestampTrunc, exp.DateTrunc, exp.TimeToStr, exp.Round, exp.Floor, exp.Ceil, exp.Left, exp.Right,
    exp.SplitPart, exp.Pow, exp.Sqrt, exp.Sign, exp.ArrayAgg, exp.Array, exp.Stddev, exp.StddevPop, exp.StddevSamp,
    exp.Variance, exp.VariancePop, exp.LogicalAnd, exp.LogicalOr, exp.Median, exp.PercentileCont, exp.PercentileDisc,
    exp.WithinGroup, exp.ConcatWs, exp.Date, exp.TsOrDsToDate, exp.ArrayContainsAll, exp.ArrayOverlaps, exp.Any,
    exp.All,    exp.Reverse, exp.Pad, exp.Mod, exp.TryCast, exp.Year, exp.Month, exp.Day, exp.ILike, exp.SafeDivide,
)  # fmt: skip


def foreign(tree: exp.Expr) -> str | None:
    """What a PostgreSQL query calls that is not known to mean the same in DuckDB; `None` = nothing."""
    for node in tree.find_all(exp.Func):
        if not isinstance(node, (*FAITHFUL, *_MORE)):
            return f"{node.name if isinstance(node, exp.Anonymous) else node.sql_name()}()"
    return None


def to_duckdb(tree: exp.Expr) -> exp.Expr:
    """Rewrite what the two do not mean alike: the division of integers."""

    def division(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Div):
            return exp.Anonymous(this="rung_div", expressions=[node.this.copy(), node.expression.copy()])
        return node

    return rewritten(tree.copy(), division)


def to_sqlite(tree: exp.Expr) -> exp.Expr:
    """Rewrite for a first look on SQLite; what it shows is always confirmed elsewhere."""
    return unwrapped_operands(tree.copy())


class PostgresEngine:
    """A PostgreSQL server, on which tables live in a transaction that is never committed."""

    name = "postgres"
    dialect = "postgres"

    def __init__(self, conninfo: str, tables: Sequence[Relation], timeout_ms: int = 2000) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "confirming a witness on PostgreSQL") from None
        self.errors: type[Exception] = psycopg.Error
        self.connection = psycopg.connect(conninfo, autocommit=False, prepare_threshold=None, connect_timeout=5)
        self.tables = {relation.name: relation for relation in tables}
        self.timeout_ms = timeout_ms

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, rows: Rows) -> None:
        """Replace the database by temporary tables, keys left out.

        Raises:
            QueryFailed: the server refused a table or a row.
        """
        from psycopg import sql

        self.connection.rollback()
        try:
            with self.connection.cursor() as cursor:
                cursor.execute("SET LOCAL search_path = pg_temp, pg_catalog")
                cursor.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(self.timeout_ms)))
                for relation in self.tables.values():
                    columns = ", ".join(f"{quoted(c.name)} {c.declared or 'text'}" for c in relation.columns)
                    cursor.execute(sql.SQL(f"CREATE TEMP TABLE {quoted(relation.name)} ({columns}) ON COMMIT DROP"))
                    for row in rows.get(relation.name, ()):
                        values = sql.SQL(", ").join(sql.Literal(_written(v)) for v in row)
                        cursor.execute(
                            sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(relation.name), values)
                        )
        except self.errors as error:
            raise QueryFailed(str(error)) from None

    def run(self, query: str) -> list[tuple[object, ...]]:
        """Run one read in a savepoint; see `Engine.run`."""
        try:
            with self.connection.transaction(), self.connection.cursor(binary=True) as cursor:
                cursor.execute(query.encode())
                rows = cursor.fetchmany(MAX_RESULT_ROWS + 1)
        except self.errors as error:
            if "statement timeout" in str(error):
                raise OutOfTime from None
            raise QueryFailed(str(error)) from None
        if len(rows) > MAX_RESULT_ROWS:
            raise QueryFailed(f"more than {MAX_RESULT_ROWS} rows")
        return rows

    def close(self) -> None:
        """Undo everything and close the connection."""
        self.connection.rollback()
        self.connection.close()


def _written(value: Value) -> str | list[str] | None:
    """A value in a form that the server reads as any column's type."""
    if value is None:
        return None
    return [str(item) for item in value] if isinstance(value, tuple) else str(value)
