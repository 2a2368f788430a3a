"""CHECK conditions: which values a column may hold, and whether a database breaks one."""

import sqlite3
from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from harness.witness.conditions import Place
from harness.witness.database import Relation, Rows, Value
from harness.witness.demands import literal
from harness.witness.engines import SqliteEngine, quoted


class Checks:
    """The CHECK conditions of the tables, evaluated by SQLite; one that it cannot evaluate forbids every row.

    A condition that is not understood might forbid any row, and a witness that the schema forbids is none.
    """

    def __init__(self, tables: Sequence[Relation], dialect: str, deadline: float) -> None:
        self.tables = tables
        self.conditions = {
            relation.name: [_translated(text, dialect) for text in relation.table.checks]
            for relation in tables
            if relation.table.checks
        }
        self.engine = SqliteEngine([r for r in tables if r.name in self.conditions], deadline)
        self.single = {
            relation.name: _of_one_column(relation, self.conditions[relation.name])
            for relation in tables
            if relation.name in self.conditions
        }

    def constants(self) -> dict[Place, list[Value]]:
        """The constants that the conditions name, by the columns that they are about."""
        found: dict[Place, list[Value]] = {}
        for relation in self.tables:
            for condition in self.conditions.get(relation.name, ()):
                try:
                    tree = sqlglot.parse_one(condition, dialect="sqlite")
                except SqlglotError:
                    continue
                values = [value for node in tree.find_all(exp.Literal, exp.Neg) if (value := literal(node)) is not None]
                for column in tree.find_all(exp.Column):
                    index = relation.positions.get(column.name.lower())
                    if index is not None:
                        found.setdefault(Place(relation.name, index), []).extend(values)
        return found

    def allow(self, relation: Relation, index: int, value: Value) -> bool:
        """Whether the conditions on this column alone admit the value."""
        for condition in self.single.get(relation.name, {}).get(index, ()):
            name = quoted(relation.columns[index].name)
            try:
                found = self.engine.connection.execute(
                    f"SELECT {condition} FROM (SELECT ? AS {name})",  # noqa: S608 - the schema's own condition
                    (value,),
                ).fetchone()
            except sqlite3.Error:
                return False
            if found[0] == 0:
                return False
        return True

    def broken(self, rows: Rows) -> bool:
        """Whether some row breaks a condition."""
        if not self.conditions:
            return False
        self.engine.load({name: content for name, content in rows.items() if name in self.conditions})
        for name, conditions in self.conditions.items():
            for condition in conditions:
                if not rows.get(name):
                    continue
                try:
                    count = self.engine.connection.execute(
                        f"SELECT count(*) FROM {quoted(name)} WHERE NOT ({condition})"  # noqa: S608 - as above
                    ).fetchone()[0]
                except sqlite3.Error:
                    return True
                if count:
                    return True
        return False

    def close(self) -> None:
        """Give the engine back."""
        self.engine.close()


def _translated(text: str, dialect: str) -> str:
    try:
        return sqlglot.parse_one(text, dialect=dialect).sql(dialect="sqlite")
    except SqlglotError:
        return text


def _of_one_column(relation: Relation, conditions: Sequence[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for condition in conditions:
        try:
            tree = sqlglot.parse_one(condition, dialect="sqlite")
        except SqlglotError:
            continue
        names = {column.name.lower() for column in tree.find_all(exp.Column)}
        indexes = {relation.positions[name] for name in names if name in relation.positions}
        if len(indexes) == 1:
            found.setdefault(indexes.pop(), []).append(condition)
    return found
