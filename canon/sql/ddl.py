"""Reads a schema from DDL text: tables, columns, keys, foreign keys, checks, in any dialect."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from canon.errors import ReadError
from canon.schema import Column, ColumnType, ForeignKey, Schema, Table
from canon.sql.dialects import Dialect, dialect_of

MAX_DDL_CHARACTERS = 4_000_000

_TYPES: dict[str, ColumnType] = {
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "INT128", "INT256", "UTINYINT", "USMALLINT", "UMEDIUMINT",
         "UINT", "UBIGINT", "SERIAL", "SMALLSERIAL", "BIGSERIAL", "YEAR"),
        "integer",
    ),
    **dict.fromkeys(("FLOAT", "DOUBLE", "UDOUBLE"), "real"),
    **dict.fromkeys(("DECIMAL", "UDECIMAL", "BIGDECIMAL", "MONEY", "SMALLMONEY", "DECIMAL32", "DECIMAL64"), "decimal"),
    **dict.fromkeys(("CHAR", "NCHAR", "VARCHAR", "NVARCHAR", "TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM",
                     "BPCHAR", "NAME", "FIXEDSTRING", "LOWCARDINALITY"), "text"),
    **dict.fromkeys(("BOOLEAN", "BIT"), "boolean"),
    **dict.fromkeys(("DATE", "DATE32"), "date"),
    **dict.fromkeys(("DATETIME", "DATETIME2", "TIMESTAMP", "TIMESTAMPNTZ", "DATETIME64", "SMALLDATETIME"), "timestamp"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMPLTZ"), "timestamptz"),
    **dict.fromkeys(("TIME", "TIMETZ"), "time"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB"), "blob"),
    **dict.fromkeys(("JSON", "JSONB"), "json"),
    "UUID": "uuid",
    "ARRAY": "array",
    "LIST": "array",
}  # fmt: skip


BINARY_COLLATIONS = frozenset({"binary", "c", "posix", "ucs_basic"})


@dataclass
class _Draft:
    """A table while its statements are being read."""

    name: str
    sqlite: bool
    text: str = ""
    columns: list[Column] = field(default_factory=list)
    primary: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    foreign: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)


def read_schema(ddl: str, dialect: str) -> Schema:
    """Read the tables that CREATE TABLE, ALTER TABLE … ADD CONSTRAINT and CREATE UNIQUE INDEX statements declare.

    Statements of other kinds are read over. A column of an SQLite primary key is taken as NOT NULL only where it is
    the row's INTEGER PRIMARY KEY, or declared so.

    Raises:
        ReadError: the text is no DDL of this dialect (`unparseable`), or is too large.
    """
    facts = dialect_of(dialect)
    if len(ddl) > MAX_DDL_CHARACTERS:
        raise ReadError(
            "too_large", f"the schema has {len(ddl)} characters; the most that is read is {MAX_DDL_CHARACTERS}"
        )
    try:
        statements = sqlglot.parse(ddl, dialect=facts.name)
    except (SqlglotError, RecursionError, ValueError) as error:
        raise ReadError("unparseable", f"the schema is no {facts.name} DDL: {_first_line(error)}") from None
    drafts: dict[str, _Draft] = {}
    for statement in statements:
        if isinstance(statement, exp.Create):
            _create(statement, drafts, facts, ddl)
        elif isinstance(statement, exp.Alter):
            _alter(statement, drafts, facts)
    return Schema(tables=tuple(_finish(draft, drafts) for draft in drafts.values()))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["?"])[0].split("\x1b")[0].strip()


def _key(name: str) -> str:
    return name.lower()


def _create(statement: exp.Create, drafts: dict[str, _Draft], facts: Dialect, ddl: str) -> None:
    kind = str(statement.args.get("kind") or "").upper()
    target = statement.this
    if kind == "TABLE" and isinstance(target, exp.Schema) and isinstance(target.this, exp.Table):
        draft = _Draft(_name(target.this.this, facts), facts.name == "sqlite", ddl)
        for item in target.expressions:
            if isinstance(item, exp.ColumnDef):
                _column(item, draft, facts)
        for item in target.expressions:
            if not isinstance(item, exp.ColumnDef):
                _constraint(item, draft, facts)
        drafts[_key(draft.name)] = draft
    elif kind == "INDEX" and statement.args.get("unique") and isinstance(target, exp.Index):
        table, params = target.args.get("table"), target.args.get("params")
        draft_or_none = drafts.get(_key(table.name)) if table is not None else None
        if draft_or_none is not None and params is not None and not params.args.get("where"):
            keys = _columns(params.args.get("columns") or (), draft_or_none, facts)
            if keys:
                draft_or_none.unique.append(keys)


def _alter(statement: exp.Alter, drafts: dict[str, _Draft], facts: Dialect) -> None:
    draft = drafts.get(_key(statement.this.name))
    if draft is None:
        return
    for action in statement.args.get("actions") or ():
        if isinstance(action, exp.AddConstraint):
            for item in action.expressions:
                _constraint(item, draft, facts)


def _name(identifier: exp.Expr, facts: Dialect) -> str:
    text = identifier.name
    if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted"):
        return text
    if facts.fold == "lower":
        return text.lower()
    return text.upper() if facts.fold == "upper" else text


def column_type(kind: exp.DataType | None, facts: Dialect) -> tuple[ColumnType, ColumnType]:
    """The type of a declared column, and of its elements where it is an array."""
    if kind is None or not isinstance(kind.this, exp.DataType.Type):
        return ("any", "any")
    name = kind.this.name
    if facts.name == "mysql" and name == "TINYINT" and [str(p.name) for p in kind.expressions] == ["1"]:
        return ("boolean", "any")
    if name == "BIT" and facts.name not in {"tsql", "mysql"}:
        return ("any", "any")
    if facts.name == "oracle" and name in {"DECIMAL", "DATE"}:
        return ("decimal" if name == "DECIMAL" else "timestamp", "any")
    found = _TYPES.get(name, "any")
    if found == "array":
        inner = kind.expressions[0] if kind.expressions else None
        return ("array", column_type(inner, facts)[0] if isinstance(inner, exp.DataType) else "any")
    return (found, "any")


def _column(item: exp.ColumnDef, draft: _Draft, facts: Dialect) -> None:
    name = _name(item.this, facts)
    kind = item.args.get("kind")
    found, inner = column_type(kind, facts)
    not_null, values = False, None
    if isinstance(kind, exp.DataType):
        if kind.this == exp.DataType.Type.ENUM:
            values = tuple(member.name for member in kind.expressions)
        if kind.this in {exp.DataType.Type.SERIAL, exp.DataType.Type.BIGSERIAL, exp.DataType.Type.SMALLSERIAL}:
            not_null = True
    for wrapper in item.args.get("constraints") or ():
        constraint = wrapper.args.get("kind")
        if isinstance(constraint, exp.NotNullColumnConstraint):
            not_null = not constraint.args.get("allow_null")
        elif isinstance(constraint, exp.PrimaryKeyColumnConstraint):
            draft.primary = (name,)
            not_null = not_null or facts.name != "sqlite" or (found == "integer" and _says_integer(name, draft))
        elif isinstance(constraint, exp.UniqueColumnConstraint):
            draft.unique.append((name,))
        elif isinstance(constraint, exp.CollateColumnConstraint) and found == "text":
            if constraint.this.name.lower() not in BINARY_COLLATIONS:
                found = "any"  # equality that folds is not the equality of texts that laws rely on
        elif isinstance(constraint, exp.Reference):
            _reference((name,), constraint, draft, facts)
        elif isinstance(constraint, exp.CheckColumnConstraint):
            draft.checks.append(constraint.this.sql(dialect=facts.name))
    declared = kind.sql(dialect=facts.name) if isinstance(kind, exp.DataType) else ""
    draft.columns.append(Column(name=name, type=found, declared=declared, item=inner, not_null=not_null, values=values))


def _constraint(item: exp.Expr, draft: _Draft, facts: Dialect) -> None:
    if isinstance(item, exp.Constraint):
        for inner in item.expressions:
            _constraint(inner, draft, facts)
    elif isinstance(item, exp.PrimaryKey):
        draft.primary = _columns(item.expressions, draft, facts)
    elif isinstance(item, exp.UniqueColumnConstraint):
        body = item.this
        keys = _columns(body.expressions if isinstance(body, exp.Schema) else (), draft, facts)
        if keys:
            draft.unique.append(keys)
    elif isinstance(item, exp.ForeignKey):
        reference = item.args.get("reference")
        if isinstance(reference, exp.Reference):
            _reference(_columns(item.expressions, draft, facts), reference, draft, facts)
    elif isinstance(item, exp.CheckColumnConstraint):
        draft.checks.append(item.this.sql(dialect=facts.name))


def _columns(items: Iterable[exp.Expr], draft: _Draft, facts: Dialect) -> tuple[str, ...]:
    """The declared names of the columns that a constraint lists; none where one is an expression or a prefix."""
    names: list[str] = []
    for item in items:
        inner = item.this if isinstance(item, exp.Ordered) else item
        if isinstance(inner, exp.Column):
            inner = inner.this
        if not isinstance(inner, exp.Identifier):
            return ()
        written = _name(inner, facts)
        match = [column.name for column in draft.columns if column.name == written]
        match = match or [column.name for column in draft.columns if _key(column.name) == _key(written)]
        names.append(match[0] if match else written)
    return tuple(names)


def _reference(columns: tuple[str, ...], reference: exp.Reference, draft: _Draft, facts: Dialect) -> None:
    target = reference.this
    if isinstance(target, exp.Schema):
        parents = tuple(_name(item, facts) for item in target.expressions if isinstance(item, exp.Identifier))
        target = target.this
    else:
        parents = ()
    if columns and isinstance(target, exp.Table):
        draft.foreign.append((columns, target.name, parents))


def _finish(draft: _Draft, drafts: dict[str, _Draft]) -> Table:
    primary, columns = draft.primary, draft.columns
    rowid = len(primary) == 1
    keys: list[tuple[str, ...]] = [primary] if primary else []
    keys += [key for key in draft.unique if key not in keys]
    columns = [
        column.model_copy(update={"not_null": True})
        if column.name in primary and (column.not_null or _implied(column, rowid, draft))
        else column
        for column in columns
    ]
    foreign = []
    for names, parent_name, parents in draft.foreign:
        parent = drafts.get(_key(parent_name))
        if parent is None:
            foreign.append(ForeignKey(columns=names, parent=parent_name, parent_columns=parents or names))
            continue
        targets = tuple(_declared(name, parent) for name in parents) or parent.primary
        if len(targets) == len(names):
            foreign.append(ForeignKey(columns=names, parent=parent.name, parent_columns=targets))
    return Table(
        name=draft.name,
        columns=tuple(columns),
        keys=tuple(keys),
        foreign_keys=tuple(foreign),
        checks=tuple(draft.checks),
    )


def _implied(column: Column, single: bool, draft: _Draft) -> bool:
    """Whether being in the primary key forbids NULL: everywhere but in SQLite, there for INTEGER PRIMARY KEY alone."""
    return not draft.sqlite or (single and column.declared.upper() == "INTEGER" and _says_integer(column.name, draft))


def _says_integer(name: str, draft: _Draft) -> bool:
    """Whether the column is declared INTEGER by that very word, as a row id must be (INT makes none)."""
    pattern = rf"[\"`\[]?{re.escape(name)}[\"`\]]?\s+(INTEGER|[A-Z]+)\b"
    words = {match.group(1).upper() for match in re.finditer(pattern, draft.text, re.IGNORECASE)}
    return not words & {"INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"}


def _declared(name: str, table: _Draft) -> str:
    return next((column.name for column in table.columns if _key(column.name) == _key(name)), name)
