"""Says what is wrong with a query in a golden file, with the likely fix, before a run depends on it."""

import re
from functools import cache
from typing import TYPE_CHECKING

from pydantic import JsonValue

from harness.corpus.default_projection import with_projection

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

Args = tuple[JsonValue, ...] | None
_MAY_BE_PARAMETER = re.compile(r"[$?:@%]")
_SMART = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "′": "'", "″": '"'}
_STRAIGHT = str.maketrans(_SMART)
_REST = r"|\"(?:[^\"\\]|\\.|\"\")*(?:\"|\Z)|`[^`]*(?:`|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)"
# What is no code: strings, names and comments. Whether a backslash escapes is the dialect's matter, so both are tried.
# An unclosed one reaches to the end, which keeps the search linear.
_QUOTED = (
    re.compile(r"'(?:[^'\\]|\\.|'')*(?:'|\Z)" + _REST, re.DOTALL),
    re.compile(r"'(?:[^']|'')*(?:'|\Z)" + _REST, re.DOTALL),
)


@cache
def dialects() -> frozenset[str]:
    """The SQL dialects that can be read."""
    from sqlglot.dialects.dialect import Dialect

    return frozenset(name for name in Dialect.classes if name)


def sql_problem(text: str, dialect: str, args: Args) -> str | None:
    """What is wrong with a SQL query, `None` if it reads as one query of the dialect, each parameter with its value.

    Args:
        text: the query; its projection may be `<default>`.
        dialect: a sqlglot dialect.
        args: the values of its parameters by position, `None` = none are given.
    """
    if (said := _smart_quotes(text)) is not None:
        return said
    from canon.errors import ReadError
    from canon.sql.dialects import dialect_of
    from canon.sql.query import read_sql
    from canon.sql.reader import parse_query

    readable = with_projection(text, "*")
    try:
        tree = parse_query(readable, dialect_of(dialect))
        if args is None and not _MAY_BE_PARAMETER.search(text):
            return None
        if (said := _parameter_problem(tree, dialect, args)) is not None:
            return said
        read_sql(readable, dialect=dialect, args=args or ())
    except ReadError as error:
        return error.message
    return None


def _parameter_problem(tree: "Expr", dialect: str, args: Args) -> str | None:
    from sqlglot import exp

    marks = list(tree.find_all(exp.Placeholder, exp.Parameter))
    if args is None:
        if not marks:
            return None
        first = marks[0].sql(dialect)
        return f"the parameter {first} has no value; give the values in `expect_args`, or write them inline"
    numbers = [int(mark.name) for mark in marks if mark.name.isdecimal()]
    wanted = max(numbers) if numbers else len(marks)
    if wanted != len(args):
        return f"the query's parameters are {wanted}, the values in `expect_args` are {len(args)}"
    return None


def mongo_problem(text: str) -> str | None:
    """What is wrong with a MongoDB filter, envelope or pipeline, `None` if it reads as one."""
    if (said := _smart_quotes(text)) is not None:
        return said
    from canon.errors import ReadError
    from canon.mongo.envelope import read_mongo

    try:
        read_mongo(text)
    except ReadError as error:
        return error.message
    return None


def _smart_quotes(text: str) -> str | None:
    """Typographic quotes where code is: a spreadsheet put them there. Inside a string they may be meant."""
    if text.isascii():
        return None
    readings = [pattern.sub(lambda match: " " * len(match.group()), text) for pattern in _QUOTED]
    found = next(
        (index for index, marks in enumerate(zip(*readings, strict=True)) if set(marks) <= _SMART.keys()), None
    )
    if found is None:
        return None
    start, end = max(0, found - 15), found + 25
    excerpt = text[start:end].strip()
    return (
        f"typographic quote {text[found]} in “…{excerpt}…”: write {excerpt.translate(_STRAIGHT)} with straight quotes"
        " (a spreadsheet replaced them)"
    )
