"""Whether a text is one allowed read, judged by its parse: the first wall.

Two looks that do not rest on each other: the tree (what kind of statement, which tables, types, operators, clauses) and
the tokens (every word with an opening parenthesis after it is a call, whatever the parser made of it, and must be on
the engine's list). What the engine then runs is the text that was looked at: tables of PostgreSQL are qualified by
splicing at their positions, nothing is printed anew.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from harness.sandbox.functions import (
    CLOCK_FUNCTIONS,
    DUCKDB_FUNCTIONS,
    POSTGRES_FUNCTIONS,
    POSTGRES_SET_RETURNING,
    RANDOM_FUNCTIONS,
    SQLITE_FUNCTIONS,
    SQLITE_TABLE_FUNCTIONS,
    WORDS_OF_THE_CLOCK,
)
from harness.sandbox.policy import SQL_LIMIT

SqlDialect = Literal["sqlite", "duckdb", "postgres"]

_MAX_NESTING = 100
_MAX_TOKENS = 30_000
_MAX_DEPTH = 500
_MAX_SET_OPERATIONS = 100

_FUNCTIONS: dict[str, frozenset[str]] = {
    "sqlite": SQLITE_FUNCTIONS,
    "duckdb": DUCKDB_FUNCTIONS,
    "postgres": POSTGRES_FUNCTIONS,
}
_TABLE_FUNCTIONS: dict[str, frozenset[str]] = {
    "sqlite": SQLITE_TABLE_FUNCTIONS,
    "duckdb": POSTGRES_SET_RETURNING,
    "postgres": POSTGRES_SET_RETURNING,
}
# Words of the grammar and names of built-in types that an opening parenthesis may follow.
_SYNTAX = frozenset(
    """
    all and any array as asc between bigint binary bit bool boolean bpchar by case cast char character collate cross
    cube date datetime dec decimal desc distinct double else end escape except exclude exists fetch filter first
    float float4 float8 following from full glob group groups having hugeint ilike in inner int int2 int4 int8
    integer intersect interval is isnull join json jsonb last lateral left like limit map match materialized natural
    nchar next not notnull null nulls numeric nvarchar of offset on only or order outer over partition preceding
    precision qualify range real recursive regexp right rollup row rows select set sets similar smallint some struct
    symmetric text then time timestamp timestamptz timetz tinyint to try_cast ubigint uinteger unbounded union
    unknown using usmallint utinyint uuid values varbinary varbit varchar varying when where window with within
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
_TYPES = frozenset(
    """
    ARRAY BIGDECIMAL BIGINT BINARY BIT BLOB BOOLEAN BPCHAR CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT INT128 INTERVAL
    JSON JSONB LIST LONGTEXT MAP MEDIUMINT MEDIUMTEXT NCHAR NULL NVARCHAR SMALLINT STRUCT TEXT TIME TIMESTAMP
    TIMESTAMPLTZ TIMESTAMPNTZ TIMESTAMPTZ TIMESTAMP_MS TIMESTAMP_NS TIMESTAMP_S TIMETZ TINYINT TINYTEXT UBIGINT UINT
    USMALLINT UTINYINT UINT128 UUID VARBINARY VARCHAR
    """.split()  # noqa: SIM905
)
_WRITES = (exp.DDL, exp.DML, exp.Into)
_FORBIDDEN = (
    exp.Command,
    exp.Pragma,
    exp.Attach,
    exp.Detach,
    exp.Copy,
    exp.Set,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.Use,
    exp.Describe,
    exp.Show,
    exp.Summarize,
    exp.Analyze,
    exp.Kill,
)
_SESSION = (exp.CurrentUser, exp.SessionUser, exp.CurrentRole, exp.CurrentSchema, exp.CurrentCatalog)


class Rejected(Exception):
    """The text is not an allowed read; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Tables:
    """The tables of a fixture.

    Attributes:
        names: by folded name (`schema.table` beside `table` where the engine has schemas): the spelling to use.
        refused: folded names of what is there and must not be read (views, virtual tables, foreign tables).
        default_schema: the schema that unqualified tables of PostgreSQL are in.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    default_schema: str = "public"


@dataclass(frozen=True)
class Read:
    """An accepted text.

    Attributes:
        text: what the engine runs.
        tree: its parse.
        tokens: its tokens.
        tables: the fixture's tables in it.
        functions: the functions it calls.
        deterministic: it calls nothing that answers differently each time.
    """

    text: str
    tree: exp.Query
    tokens: tuple[Token, ...]
    tables: tuple[str, ...]
    functions: tuple[str, ...]
    deterministic: bool


def sha256(text: str) -> str:
    """Hash of a query's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read(text: str, dialect: SqlDialect, tables: Tables | None, *, max_characters: int = SQL_LIMIT) -> Read:
    """Judge one text.

    Args:
        text: the query.
        dialect: the dialect of the engine that will run it.
        tables: the fixture's tables; `None` = not known yet, and only their form is judged.
        max_characters: the longest text.

    Raises:
        Rejected: it is not an allowed read.
    """
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    if len(text) > max_characters:
        raise Rejected("too_long")
    if "\x00" in text:
        raise Rejected("unparseable")
    tokens = _tokens(text, dialect)
    text, tokens = _without_trailing_semicolons(text, tokens)
    tree = _parse(text, dialect)
    _check_tree(tree)
    functions = _check_calls(tokens, tree, dialect)
    found = list(_tables(tree, dialect))
    names = tuple(dict.fromkeys(_resolve(table, dialect, tables) for table in found))
    if dialect == "postgres":
        text = _qualify(text, found, tables)
        tokens = _tokens(text, dialect)
    return Read(
        text=text,
        tree=tree,
        tokens=tokens,
        tables=names,
        functions=functions,
        deterministic=not (set(functions) & (RANDOM_FUNCTIONS | CLOCK_FUNCTIONS)),
    )


def _tokens(text: str, dialect: str) -> tuple[Token, ...]:
    try:
        tokens = tuple(sqlglot.tokenize(text, dialect=dialect))
    except (SqlglotError, ValueError) as problem:
        raise Rejected("unparseable") from problem
    if len(tokens) > _MAX_TOKENS:
        raise Rejected("too_complex")
    depth = 0
    for token in tokens:
        if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE):
            depth += 1
            if depth > _MAX_NESTING:
                raise Rejected("too_complex")
        elif token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END):
            depth -= 1
        if any("/*" in comment or "*/" in comment for comment in token.comments):
            raise Rejected("unparseable")  # engines disagree on nested comments, so the engine could read another text
    return tokens


def _without_trailing_semicolons(text: str, tokens: tuple[Token, ...]) -> tuple[str, tuple[Token, ...]]:
    end = len(tokens)
    while end and tokens[end - 1].token_type == TokenType.SEMICOLON:
        end -= 1
    if any(token.token_type == TokenType.SEMICOLON for token in tokens[:end]):
        raise Rejected("multiple_statements")
    if not end:
        raise Rejected("empty")
    return text[: tokens[end - 1].end + 1], tokens[:end]


def _parse(text: str, dialect: str) -> exp.Query:
    try:
        trees = sqlglot.parse(text, dialect=dialect)
    except RecursionError as problem:
        raise Rejected("too_complex") from problem
    except (SqlglotError, ValueError, TypeError, KeyError, IndexError, AttributeError) as problem:
        raise Rejected("unparseable") from problem
    if len(trees) != 1 or trees[0] is None:
        raise Rejected("multiple_statements" if len(trees) > 1 else "empty")
    tree = trees[0]
    core = tree
    while isinstance(core, exp.Subquery) and isinstance(core.this, exp.Expr):
        core = core.this
    if not isinstance(core, (exp.Select, exp.SetOperation)) or not isinstance(tree, exp.Query):
        if isinstance(core, (exp.Condition, exp.Alias, exp.Tuple)):
            raise Rejected("unparseable")  # the parser takes a lone expression for a statement, no engine does
        raise Rejected("write" if isinstance(core, _WRITES) else "not_a_read")
    return tree


def _check_tree(tree: exp.Query) -> None:
    """Statement kinds, clauses, types and sizes, over every node."""
    set_operations = 0
    stack: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > _MAX_DEPTH:
            raise Rejected("too_complex")
        set_operations += isinstance(node, exp.SetOperation)
        if set_operations > _MAX_SET_OPERATIONS:
            raise Rejected("too_complex")
        _check_node(node)
        stack.extend((child, depth + 1) for child in node.iter_expressions())


def _check_node(node: exp.Expr) -> None:
    if isinstance(node, _WRITES) and not isinstance(node, exp.Query):
        raise Rejected("write")
    if isinstance(node, _FORBIDDEN):
        raise Rejected("not_a_read")
    if isinstance(node, exp.Lock):
        raise Rejected("locking")
    if isinstance(node, (exp.Placeholder, exp.Parameter, exp.SessionParameter)):
        raise Rejected("unbound_parameter")
    if isinstance(node, (exp.ObjectIdentifier, exp.PseudoType)):
        raise Rejected("type_not_allowed")
    if isinstance(node, exp.DataType) and not isinstance(node.this, exp.Interval):
        name = getattr(node.this, "name", str(node.this))
        if name not in _TYPES:
            raise Rejected("type_not_allowed")
    if isinstance(node, exp.Operator):
        raise Rejected("operator_not_allowed")
    if isinstance(node, _SESSION):
        raise Rejected("function_not_allowed")


def _check_calls(tokens: tuple[Token, ...], tree: exp.Query, dialect: SqlDialect) -> tuple[str, ...]:
    """Each word before an opening parenthesis is grammar, a type, an alias's column list, or an allowed function."""
    allowed = _FUNCTIONS[dialect] | _TABLE_FUNCTIONS[dialect]
    lists = Counter(
        alias.name.lower() for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns") and alias.name
    )
    calls: list[str] = []
    for index, token in enumerate(tokens):
        # Some keywords are two words in one token (`WITHIN GROUP`).
        word = token.text.lower() if token.token_type == TokenType.IDENTIFIER else token.text.lower().rpartition(" ")[2]
        if _reads_the_clock(token, dialect):
            calls.append(word)
        if index + 1 == len(tokens) or tokens[index + 1].token_type != TokenType.L_PAREN:
            continue
        if not word or not (word[0].isalpha() or word[0] == "_" or token.token_type == TokenType.IDENTIFIER):
            continue
        if token.token_type in (TokenType.STRING, TokenType.NUMBER):
            continue
        if word in allowed:
            if _qualified_elsewhere(tokens, index):
                raise Rejected("function_not_allowed")
            calls.append(word)
        elif lists[word] > 0:
            lists[word] -= 1
        elif (
            token.token_type == TokenType.IDENTIFIER or word not in _SYNTAX or (word == "glob" and dialect != "sqlite")
        ):
            raise Rejected("function_not_allowed")
    return tuple(sorted(set(calls)))


def _reads_the_clock(token: Token, dialect: SqlDialect) -> bool:
    """Whether a token means the present without being a call."""
    word = token.text.lower()
    if token.token_type == TokenType.STRING:
        return dialect == "sqlite" and word == "now"
    return token.token_type != TokenType.IDENTIFIER and word in WORDS_OF_THE_CLOCK


def _qualified_elsewhere(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a function name is qualified by anything but the engine's own catalogue."""
    if index == 0 or tokens[index - 1].token_type != TokenType.DOT:
        return False
    return index < 2 or tokens[index - 2].text.lower() != "pg_catalog"


def _tables(tree: exp.Query, dialect: SqlDialect) -> Iterator[exp.Table]:
    """The tables that are no CTEs."""
    for table in tree.find_all(exp.Table):
        source = table.this
        if isinstance(source, exp.Identifier):
            if table.args.get("db") or table.name.lower() not in _visible_ctes(table, dialect):
                yield table
        elif not isinstance(source, exp.Func):  # whether it may be called is the tokens' matter
            raise Rejected("table_not_allowed")


def _visible_ctes(table: exp.Table, dialect: SqlDialect) -> set[str]:
    visible: set[str] = set()
    inside: exp.Expr = table
    around = table.parent
    while around is not None:
        clause = around if isinstance(around, exp.With) else around.args.get("with_")
        if isinstance(clause, exp.With) and clause is not inside:
            ctes = clause.expressions
            if around is clause and dialect != "sqlite" and not clause.args.get("recursive"):
                # A CTE that is not recursive sees the ones before it; its own name means the table.
                ctes = ctes[: next((place for place, cte in enumerate(ctes) if cte is inside), 0)]
            visible.update(cte.alias.lower() for cte in ctes)
        inside, around = around, around.parent
    return visible


def _resolve(table: exp.Table, dialect: SqlDialect, tables: Tables | None) -> str:
    """The fixture's name of a table."""
    database, catalog, name = table.args.get("db"), table.args.get("catalog"), table.this
    if catalog is not None or table.args.get("only"):
        raise Rejected("table_not_allowed")
    folded = name.name if dialect == "postgres" and name.quoted else name.name.lower()
    if database is not None:
        schema = database.name if dialect == "postgres" and database.quoted else database.name.lower()
        own = {"sqlite": {"main"}, "duckdb": {"main"}}.get(dialect)
        if (own is not None and schema not in own) or schema == "information_schema" or schema.startswith("pg_"):
            raise Rejected("table_not_allowed")
        if own is None and tables is not None and schema != tables.default_schema:
            folded = f"{schema}.{folded}"
    if folded.startswith(("sqlite_", "pg_", "pragma_", "duckdb_")) or folded in ("dbstat", "information_schema"):
        raise Rejected("table_not_allowed")
    if tables is None:
        if not folded.replace("_", "a").replace(" ", "a").replace(".", "a", 1).isalnum() and dialect == "duckdb":
            raise Rejected("table_not_allowed")
        return str(folded)
    if folded in tables.refused:
        raise Rejected("table_not_allowed")
    if folded not in tables.names:
        raise Rejected("unknown_table")
    return tables.names[folded]


def _qualify(text: str, found: list[exp.Table], tables: Tables | None) -> str:
    """Put the schema before each unqualified table, at its place in the text."""
    schema = tables.default_schema if tables is not None else "public"
    places = []
    for table in found:
        if table.args.get("db") is None:
            start, end = table.this.meta.get("start"), table.this.meta.get("end")
            if start is None or end is None:
                raise Rejected("unparseable")
            name = table.name if table.this.quoted else table.name.lower()
            places.append((start, end + 1, f"{_quoted(schema)}.{_quoted(name)}"))
    for start, end, name in sorted(places, reverse=True):
        text = text[:start] + name + text[end:]
    return text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
