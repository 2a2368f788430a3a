"""Reads one query: exactly one SELECT, set operation or VALUES in the named dialect, of a size that can be decided."""

import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from canon.errors import ReadError
from canon.sql.dialects import Dialect

MAX_CHARACTERS = 500_000
MAX_DEPTH = 250
MAX_BRACKETS = 400

_NESTING = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|[()\[\]]", re.DOTALL)

VERBS = frozenset(
    {
        "explain",
        "set",
        "pragma",
        "show",
        "insert",
        "update",
        "delete",
        "merge",
        "drop",
        "create",
        "alter",
        "truncate",
        "grant",
        "revoke",
        "begin",
        "commit",
        "rollback",
        "call",
        "exec",
        "execute",
        "do",
        "copy",
        "vacuum",
        "analyze",
        "use",
        "lock",
        "declare",
        "attach",
        "detach",
        "reindex",
        "replace",
        "load",
        "kill",
        "listen",
        "notify",
        "prepare",
        "deallocate",
        "checkpoint",
        "cluster",
        "comment",
        "describe",
        "desc",
    }
)

_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*([A-Za-z_]+)", re.DOTALL)

WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Into, exp.Command, exp.DDL)
READS = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)


def parse_query(text: str, dialect: Dialect) -> exp.Expr:
    """Parse a text into the syntax tree of its one query.

    Raises:
        ReadError: `empty`, `multiple_statements`, `not_a_read`, `unparseable` or `too_large`.
    """
    _check_size(text)
    word = _FIRST_WORD.match(text)
    if word is not None and word.group(1).lower() in VERBS and ";" not in text.strip().rstrip(";"):
        raise ReadError("not_a_read", f"the statement is a {word.group(1).upper()}, no query")
    try:
        statements = [tree for tree in sqlglot.parse(text, dialect=dialect.name) if tree is not None]
    except RecursionError:
        raise ReadError("too_large", "the query is nested too deeply to be read") from None
    except (SqlglotError, ValueError, IndexError, AttributeError, TypeError, KeyError) as error:
        raise ReadError("unparseable", f"not {dialect.name}: {_reason(error)}") from None
    statements = [tree for tree in statements if not isinstance(tree, exp.Semicolon)]
    if not statements:
        raise ReadError("empty", "there is no query in the text")
    if len(statements) > 1:
        raise ReadError("multiple_statements", f"the text has {len(statements)} statements; one query is expected")
    tree = statements[0]
    if isinstance(tree, (exp.Condition, exp.Alias)) and not isinstance(tree, READS):
        raise ReadError("unparseable", f"not {dialect.name}: the text is no SELECT")
    if not isinstance(tree, READS) or _writes(tree):
        raise ReadError("not_a_read", f"the statement is a {_kind(tree)}, no query")
    return tree


def _check_size(text: str) -> None:
    if not text.strip() or not text.strip("; \t\r\n"):
        raise ReadError("empty", "there is no query in the text")
    if len(text) > MAX_CHARACTERS:
        raise ReadError("too_large", f"the query has {len(text)} characters; the most that is read is {MAX_CHARACTERS}")
    if "\x00" in text:
        raise ReadError("unparseable", f"there is a NUL character at position {text.index(chr(0))}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ReadError(
            "unparseable", f"there is half a character (a lone surrogate) at position {error.start}"
        ) from None
    if text.count("[") > MAX_BRACKETS:
        raise ReadError("too_large", f"the query has more than {MAX_BRACKETS} square brackets")
    if text.count("(") > MAX_DEPTH and max(_depths(text), default=0) > MAX_DEPTH:
        raise ReadError("too_large", f"the query is nested more than {MAX_DEPTH} deep")


def _depths(text: str) -> Iterator[int]:
    depth = 0
    for match in _NESTING.finditer(text):
        mark = match.group()
        if mark in "([":
            depth += 1
            yield depth
        elif mark in ")]":
            depth -= 1


def _reason(error: Exception) -> str:
    """What sqlglot found, without its colours, cut to one line."""
    if isinstance(error, sqlglot.errors.ParseError) and error.errors:
        first = error.errors[0]
        near = f" near `{first.get('highlight')}`" if first.get("highlight") else ""
        return f"{first.get('description')} (line {first.get('line')}, column {first.get('col')}{near})"
    lines = str(error).splitlines()
    return re.sub(r"\x1b\[[0-9;]*m", "", lines[0] if lines else type(error).__name__)


def _kind(tree: exp.Expr) -> str:
    return "command" if isinstance(tree, exp.Command) else tree.key.upper()


def _writes(tree: exp.Expr) -> bool:
    """Whether a part of the tree writes: SELECT … INTO, a data-modifying CTE, a locking read is no write."""
    return any(isinstance(node, WRITES) and not isinstance(node, READS) for node in tree.walk())
