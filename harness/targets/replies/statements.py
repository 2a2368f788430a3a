"""Splits SQL text at its semicolons, knowing strings, quoted names and comments of the dialect."""

import re
from typing import NamedTuple

_BACKSLASH = frozenset(
    {
        "mysql",
        "mariadb",
        "bigquery",
        "clickhouse",
        "databricks",
        "doris",
        "hive",
        "singlestore",
        "snowflake",
        "spark",
        "starrocks",
        "tidb",
    }
)
_HASH_COMMENT = frozenset({"mysql", "mariadb", "bigquery", "clickhouse", "doris", "singlestore", "starrocks", "tidb"})
_NESTED_COMMENT = frozenset({"postgres", "redshift", "duckdb", "tsql", "clickhouse", "materialize", "risingwave"})
_DOLLAR = frozenset({"postgres", "redshift", "duckdb", "snowflake", "materialize", "risingwave", "databricks"})
_BRACKETS = frozenset({"tsql", "fabric", "sqlite"})
_SPACE_AFTER_DASHES = frozenset({"mysql", "mariadb", "doris", "singlestore", "starrocks", "tidb"})

_SPECIAL = re.compile(r"'|\"|`|\[|\$|--|#|/\*|;|\(|\)")
_DOLLAR_TAG = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


class Mark(NamedTuple):
    """Something outside strings: a semicolon or a parenthesis outside comments, or a whole comment."""

    kind: str
    start: int
    end: int


def marks(text: str, dialect: str) -> list[Mark]:
    """Semicolons, parentheses and comments, in order; strings and quoted names are jumped over."""
    found: list[Mark] = []
    at = 0
    while special := _SPECIAL.search(text, at):
        start, sign = special.start(), special.group()
        at = special.end()
        if sign in (";", "(", ")"):
            found.append(Mark(sign, start, at))
        elif sign == "/*":
            at = _end_of_comment(text, at, nested=dialect in _NESTED_COMMENT)
            found.append(Mark("comment", start, at))
        elif (sign == "--" and _is_dash_comment(text, at, dialect)) or (sign == "#" and dialect in _HASH_COMMENT):
            line_end = text.find("\n", at)
            at = len(text) if line_end < 0 else line_end
            found.append(Mark("comment", start, at))
        elif sign == "$" and dialect in _DOLLAR:
            at = _end_of_dollar(text, start)
        elif sign == "[" and dialect in _BRACKETS:
            closing = text.find("]", at)
            at = len(text) if closing < 0 else closing + 1
        elif sign in ("'", '"', "`"):
            at = _end_of_quoted(text, at, sign, _escapes(text, start, sign, dialect))
    return found


def without_comments(text: str, comments: list[Mark], start: int, end: int) -> str:
    """A stretch of text with its comments left out."""
    pieces, at = [], start
    for comment in comments:
        if comment.kind == "comment" and comment.start >= start and comment.end <= end:
            pieces.append(text[at : comment.start])
            at = comment.end
    return " ".join([*pieces, text[at:end]])


def _is_dash_comment(text: str, after: int, dialect: str) -> bool:
    return dialect not in _SPACE_AFTER_DASHES or after >= len(text) or text[after] <= " "


def _escapes(text: str, start: int, sign: str, dialect: str) -> bool:
    if sign == "`":
        return False
    if dialect in _BACKSLASH:
        return True
    # PostgreSQL's E'…'
    return sign == "'" and start > 0 and text[start - 1] in "eE" and (start < 2 or not _is_word(text[start - 2]))


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _end_of_quoted(text: str, at: int, sign: str, escapes: bool) -> int:
    """Behind the closing quote; a doubled one is closed and opened again, which comes to the same."""
    while True:
        closing = text.find(sign, at)
        if closing < 0:
            return len(text)
        if not escapes:
            return closing + 1
        backslashes = 0
        while closing - 1 - backslashes >= at and text[closing - 1 - backslashes] == "\\":
            backslashes += 1
        if backslashes % 2 == 0:
            return closing + 1
        at = closing + 1


def _end_of_dollar(text: str, start: int) -> int:
    tag = _DOLLAR_TAG.match(text, start)
    if tag is None or (start and _is_word(text[start - 1])):
        return start + 1
    closing = text.find(tag.group(), tag.end())
    return len(text) if closing < 0 else closing + len(tag.group())


def _end_of_comment(text: str, at: int, *, nested: bool) -> int:
    depth = 1
    while edge := _COMMENT_EDGE.search(text, at):
        at = edge.end()
        if edge.group() == "*/":
            depth -= 1
        elif nested:
            depth += 1
        if depth == 0:
            return at
    return len(text)
