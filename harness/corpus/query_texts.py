"""Says what is wrong with a query in a golden file, with the likely fix, before a run depends on it."""

import re
from functools import cache

from harness.corpus.default_projection import with_projection

_SMART = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "′": "'", "″": '"'}
_STRAIGHT = str.maketrans(_SMART)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)


@cache
def dialects() -> frozenset[str]:
    """The SQL dialects that can be read."""
    from sqlglot.dialects.dialect import Dialect

    return frozenset(name for name in Dialect.classes if name)


def sql_problem(text: str, dialect: str) -> str | None:
    """What is wrong with a SQL query, `None` if it reads as one query of the dialect."""
    if (said := _smart_quotes(text)) is not None:
        return said
    from canon.errors import ReadError
    from canon.sql.dialects import dialect_of
    from canon.sql.reader import parse_query

    try:
        parse_query(with_projection(text, "*"), dialect_of(dialect))
    except ReadError as error:
        return error.message
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
    code = _QUOTED.sub(lambda match: " " * len(match.group()), text)
    found = next((index for index, mark in enumerate(code) if mark in _SMART), None)
    if found is None:
        return None
    start, end = max(0, found - 15), found + 25
    excerpt = text[start:end].strip()
    return (
        f"typographic quote {text[found]} in “…{excerpt}…”: write {excerpt.translate(_STRAIGHT)} with straight quotes"
        " (a spreadsheet replaced them)"
    )
