"""Random schemas, databases that obey them, and queries over them."""

import random
from dataclasses import dataclass

TEXTS = ("a", "b", "ab", "")


@dataclass(frozen=True)
class Made:
    """A schema as DDL, with what the generator needs to know of it."""

    ddl: str
    tables: dict[str, dict[str, str]]
    not_null: frozenset[tuple[str, str]]
    keys: dict[str, tuple[tuple[str, ...], ...]]
    foreign: dict[tuple[str, str], tuple[str, str]]


def make_schema(rng: random.Random) -> Made:
    """A parent, two children (one of the other) and a loose table; keys, NOT NULL and foreign keys come and go."""
    tables: dict[str, dict[str, str]] = {
        "p": {"id": "int", "a": "int", "name": "text"},
        "c": {"id": "int", "pid": "int", "x": "int", "tag": "text"},
        "d": {"id": "int", "cid": "int", "pid": "int", "y": "int"},
        "e": {"k": "int", "x": "int", "name": "text"},
    }
    not_null: set[tuple[str, str]] = set()
    keys: dict[str, tuple[tuple[str, ...], ...]] = {}
    foreign: dict[tuple[str, str], tuple[str, str]] = {}
    statements = []
    for name, columns in tables.items():
        found: list[tuple[str, ...]] = []
        if "id" in columns and rng.random() < 0.8:
            found.append(("id",))
            not_null.add((name, "id"))
        if rng.random() < 0.2:
            found.append((list(columns)[1],))
        for column in columns:
            if rng.random() < 0.4:
                not_null.add((name, column))
        keys[name] = tuple(found)
        parts = [
            f"{column} {'INTEGER' if kind == 'int' else 'VARCHAR'}{' NOT NULL' if (name, column) in not_null else ''}"
            for column, kind in columns.items()
        ]
        for index, key in enumerate(found):
            parts.append(f"{'PRIMARY KEY' if index == 0 and key == ('id',) else 'UNIQUE'} ({', '.join(key)})")
        for column, parent in (("pid", "p"), ("cid", "c")):
            if column in columns and ("id",) in keys.get(parent, ()) and rng.random() < 0.7:
                foreign[(name, column)] = (parent, "id")
                parts.append(f"FOREIGN KEY ({column}) REFERENCES {parent} (id)")
        statements.append(f"CREATE TABLE {name} ({', '.join(parts)});")
    return Made("\n".join(statements), tables, frozenset(not_null), keys, foreign)


def make_rows(made: Made, rng: random.Random) -> dict[str, list[tuple[object, ...]]]:
    """Small tables that obey the schema: NULLs, duplicates, unmatched keys, empty tables."""
    database: dict[str, list[tuple[object, ...]]] = {}
    for name, columns in made.tables.items():
        rows: list[tuple[object, ...]] = []
        for _ in range(rng.choice((0, 1, 2, 3, 4, 5))):
            row = tuple(_value(made, name, column, kind, database, rng) for column, kind in columns.items())
            if any(value is _NOTHING for value in row) or _breaks_key(made, name, row, rows):
                continue
            rows.append(row)
        database[name] = rows
    return database


_NOTHING = object()


def _value(
    made: Made, table: str, column: str, kind: str, database: dict[str, list[tuple[object, ...]]], rng: random.Random
) -> object:
    if (table, column) not in made.not_null and rng.random() < 0.25:
        return None
    if (table, column) in made.foreign:
        parent, target = made.foreign[(table, column)]
        position = list(made.tables[parent]).index(target)
        found = [row[position] for row in database[parent]]
        if not found:
            return None if (table, column) not in made.not_null else _NOTHING
        return rng.choice(found)
    return rng.randrange(4) if kind == "int" else rng.choice(TEXTS)


def _breaks_key(made: Made, table: str, row: tuple[object, ...], rows: list[tuple[object, ...]]) -> bool:
    names = list(made.tables[table])
    for key in made.keys[table]:
        positions = [names.index(column) for column in key]
        mine = [row[position] for position in positions]
        if None not in mine and any([other[p] for p in positions] == mine for other in rows):
            return True
    return False


class Queries:
    """Writes random queries."""

    def __init__(self, made: Made, rng: random.Random) -> None:
        self.made = made
        self.rng = rng
        self.aliases = 0

    def query(self) -> str:
        """A whole query."""
        roll = self.rng.random()
        if roll < 0.12:
            width = self.rng.choice((1, 1, 2))
            op = self.rng.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT"))
            kinds = [self.rng.choice(("int", "text")) for _ in range(width)]
            return f"{self.plain(kinds)} {op} {self.plain(kinds)}"
        if roll < 0.18:
            return self.ranked()
        if roll < 0.22:
            return self.limited()
        if roll < 0.5:
            return self.grouped()
        return self.plain([self.rng.choice(("int", "text")) for _ in range(self.rng.choice((1, 1, 2, 3)))])

    def fresh(self) -> str:
        self.aliases += 1
        return f"t{self.aliases}"

    def source(self, depth: int) -> tuple[str, dict[str, tuple[str, str]]]:
        """An item of FROM with its columns: alias.column -> kind."""
        alias = self.fresh()
        if depth > 0 and self.rng.random() < 0.2:
            kinds = ["int", self.rng.choice(("int", "text"))]
            inner = self.plain(kinds, depth - 1) if self.rng.random() < 0.6 else self.grouped_pair(depth - 1, kinds)
            names = [f"q{index}" for index in range(len(kinds))]
            columns = {f"{alias}.{name}": ("", kind) for name, kind in zip(names, kinds, strict=True)}
            return f"({inner}) AS {alias}", columns
        table = self.rng.choice(list(self.made.tables))
        return f"{table} AS {alias}", {f"{alias}.{c}": (table, k) for c, k in self.made.tables[table].items()}

    def grouped_pair(self, depth: int, kinds: list[str]) -> str:
        text, columns = self.source(0)
        key = self.column(columns, "int")
        second = (
            f"COUNT({self.rng.choice(['*', self.column(columns, 'int')])})"
            if kinds[1] == "int"
            else f"MIN({self.column(columns, 'text')})"
        )
        return f"SELECT {key} AS q0, {second} AS q1 FROM {text} GROUP BY {key}"

    def column(self, columns: dict[str, tuple[str, str]], kind: str) -> str:
        found = [name for name, (_, other) in columns.items() if other == kind]
        return self.rng.choice(found) if found else ("0" if kind == "int" else "'a'")

    def from_clause(self, depth: int) -> tuple[str, dict[str, tuple[str, str]], list[str]]:
        text, columns = self.source(depth)
        where: list[str] = []
        for _ in range(self.rng.choice((0, 0, 1, 1, 2))):
            item, more = self.source(depth)
            on = [f"{self.link(columns)} = {self.link(more)}"]
            if self.rng.random() < 0.25:
                on.append(self.atom({**columns, **more}, 0))
            kind = self.rng.random()
            condition = " AND ".join(on)
            if kind < 0.45:
                text += f" JOIN {item} ON {condition}"
            elif kind < 0.8:
                text += f" LEFT JOIN {item} ON {condition}"
            else:
                text += f" CROSS JOIN {item}"
                where.append(condition)
            columns = {**columns, **more}
        return text, columns, where

    def link(self, columns: dict[str, tuple[str, str]]) -> str:
        keys = [name for name in columns if name.split(".")[1] in {"id", "pid", "cid", "q0"}]
        return self.rng.choice(keys) if keys and self.rng.random() < 0.8 else self.column(columns, "int")

    def atom(self, columns: dict[str, tuple[str, str]], depth: int) -> str:
        roll = self.rng.random()
        column = self.column(columns, "int")
        if depth > 0 and roll < 0.2:
            return self.membership(columns, depth - 1)
        if depth > 0 and roll < 0.28:
            return self.correlated(columns)
        if roll < 0.31:
            return f"COALESCE({column}, {self.rng.randrange(3)}) {self.rng.choice(('=', '<'))} {self.rng.randrange(3)}"
        if roll < 0.34:
            return (
                f"CASE WHEN {column} > {self.rng.randrange(3)} THEN 1 WHEN {self.column(columns, 'int')} = 1 THEN 2 "
                f"ELSE 0 END = {self.rng.randrange(3)}"
            )
        if roll < 0.37:
            other = self.rng.choice([self.column(columns, "int"), "1"])
            return f"{column} IS {self.rng.choice(('', 'NOT '))}DISTINCT FROM {other}"
        if roll < 0.5:
            return f"{column} {self.rng.choice(('=', '<>', '<', '<=', '>', '>='))} {self.rng.randrange(4)}"
        if roll < 0.58:
            return f"{column} {self.rng.choice(('IS NULL', 'IS NOT NULL'))}"
        if roll < 0.66:
            return f"{column} {self.rng.choice(('', 'NOT '))}IN ({self.rng.randrange(4)}, {self.rng.randrange(4)})"
        if roll < 0.74:
            return f"{column} BETWEEN {self.rng.randrange(3)} AND {self.rng.randrange(4)}"
        if roll < 0.84:
            return f"{column} {self.rng.choice(('=', '<', '<>'))} {self.column(columns, 'int')}"
        if roll < 0.94:
            return f"{self.column(columns, 'text')} {self.rng.choice(('=', '<>'))} '{self.rng.choice(TEXTS)}'"
        return f"{column} + {self.rng.randrange(3)} {self.rng.choice(('<', '>=', '='))} {self.rng.randrange(5)}"

    def correlated(self, columns: dict[str, tuple[str, str]]) -> str:
        """A comparison with a correlated aggregate or a row found by key, or the absence of a greater row."""
        roll = self.rng.random()
        outer = self.rng.choice(list(columns))
        table, _ = columns[outer]
        alias = self.fresh()
        if table and roll < 0.35:
            bound = self.rng.choice([name for name, kind in self.made.tables[table].items() if kind == "int"])
            mine = outer.split(".")[0]
            link = self.rng.choice([name for name, kind in self.made.tables[table].items() if kind == "int"])
            extra = f" AND {alias}.{link} = {mine}.{link}" if self.rng.random() < 0.5 else ""
            sign = self.rng.choice(("<", ">"))
            return f"NOT EXISTS (SELECT 1 FROM {table} AS {alias} WHERE {alias}.{bound} {sign} {mine}.{bound}{extra})"
        found = self.rng.choice(list(self.made.tables))
        numbers = [name for name, kind in self.made.tables[found].items() if kind == "int"]
        key = "id" if "id" in self.made.tables[found] and roll < 0.7 else self.rng.choice(numbers)
        value = self.rng.choice(numbers)
        shown = (
            f"{alias}.{value}"
            if key == "id" and ("id",) in self.made.keys[found]
            else f"{self.rng.choice(('MAX', 'MIN', 'SUM'))}({alias}.{value})"
        )
        left, sign = self.column(columns, "int"), self.rng.choice(("=", "<", ">=", "<>"))
        return f"{left} {sign} (SELECT {shown} FROM {found} AS {alias} WHERE {alias}.{key} = {self.link(columns)})"

    def ranked(self) -> str:
        """A derived table whose first ranks are kept."""
        table = self.rng.choice(list(self.made.tables))
        numbers = [name for name, kind in self.made.tables[table].items() if kind == "int"]
        part, order, shown = (self.rng.choice(numbers) for _ in range(3))
        partition = f"PARTITION BY {part} " if self.rng.random() < 0.7 else ""
        call = self.rng.choice(("RANK", "DENSE_RANK"))
        where = f" WHERE {shown} > 0" if self.rng.random() < 0.4 else ""
        direction = self.rng.choice(("", " DESC"))
        return (
            f"SELECT q0 FROM (SELECT {shown} AS q0, {call}() OVER ({partition}ORDER BY {order}{direction}) AS q1 "
            f"FROM {table}{where}) AS r WHERE q1 = 1"
        )

    def limited(self) -> str:
        """The first rows by everything that is returned, so that ties do not matter."""
        inner = self.plain(["int", "int"], 0)
        return f"SELECT q0 FROM ({inner} ORDER BY 1, 2 LIMIT {self.rng.randrange(4)}) AS l"

    def predicate(self, columns: dict[str, tuple[str, str]], depth: int) -> str:
        roll = self.rng.random()
        if roll < 0.2:
            return f"({self.predicate(columns, depth)} OR {self.atom(columns, depth)})"
        if roll < 0.4:
            return f"({self.predicate(columns, depth)} AND {self.atom(columns, depth)})"
        if roll < 0.5:
            return f"NOT ({self.predicate(columns, depth)})"
        return self.atom(columns, depth)

    def membership(self, columns: dict[str, tuple[str, str]], depth: int) -> str:
        text, inner, where = self.from_clause(0)
        roll = self.rng.random()
        outer, mine = self.link(columns), self.link(inner)
        conditions = list(where)
        if self.rng.random() < 0.5:
            conditions.append(self.atom(inner, depth))
        word = self.rng.choice(("", "NOT "))
        if roll < 0.4:
            clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            tail = (
                f" GROUP BY {mine} HAVING COUNT(*) {self.rng.choice(('>', '<'))} {self.rng.randrange(3)}"
                if self.rng.random() < 0.2
                else ""
            )
            return f"{outer} {word}IN (SELECT {mine} FROM {text}{clause}{tail})"
        if roll < 0.85:
            conditions.append(f"{mine} = {outer}")
            return f"{word}EXISTS (SELECT 1 FROM {text} WHERE {' AND '.join(conditions)})"
        clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        call, sign = self.rng.choice(("MAX", "MIN", "COUNT")), self.rng.choice(("=", "<", ">="))
        return f"{outer} {sign} (SELECT {call}({mine}) FROM {text}{clause})"

    def plain(self, kinds: list[str], depth: int = 1) -> str:
        """An ungrouped SELECT with outputs of the given kinds."""
        text, columns, where = self.from_clause(depth)
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            where.append(self.predicate(columns, depth))
        select = ", ".join(f"{self.column(columns, kind)} AS q{index}" for index, kind in enumerate(kinds))
        distinct = "DISTINCT " if self.rng.random() < 0.25 else ""
        clause = f" WHERE {' AND '.join(where)}" if where else ""
        return f"SELECT {distinct}{select} FROM {text}{clause}"

    def grouped(self, depth: int = 1) -> str:
        """A grouped SELECT whose outputs are keys and aggregates."""
        text, columns, where = self.from_clause(depth)
        if self.rng.random() < 0.6:
            where.append(self.predicate(columns, depth))
        keys = list(
            dict.fromkeys(
                self.column(columns, self.rng.choice(("int", "text"))) for _ in range(self.rng.choice((0, 1, 1, 2)))
            )
        )
        keys = [key for key in keys if "." in key]
        calls = [self.aggregate(columns) for _ in range(self.rng.choice((0, 1, 1, 2)) if keys else 1)]
        select = ", ".join([*keys, *calls])
        clause = f" WHERE {' AND '.join(where)}" if where else ""
        tail = f" GROUP BY {', '.join(keys)}" if keys else ""
        if keys and self.rng.random() < 0.4:
            roll = self.rng.random()
            test = f"{keys[0]} IS NOT NULL" if roll < 0.3 else f"{self.aggregate(columns)} > {self.rng.randrange(3)}"
            tail += f" HAVING {test}"
        distinct = "DISTINCT " if self.rng.random() < 0.1 else ""
        return f"SELECT {distinct}{select} FROM {text}{clause}{tail}"

    def aggregate(self, columns: dict[str, tuple[str, str]]) -> str:
        column = self.column(columns, "int")
        return self.rng.choice(
            (
                "COUNT(*)",
                f"COUNT({column})",
                f"COUNT(DISTINCT {column})",
                f"SUM({column})",
                f"MIN({column})",
                f"MAX({column})",
                f"SUM(CASE WHEN {self.atom(columns, 0)} THEN 1 ELSE 0 END)",
                f"COUNT(CASE WHEN {self.atom(columns, 0)} THEN {column} END)",
            )
        )
