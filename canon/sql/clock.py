"""Replaces clock calls in a query's text by literals of the pinned instant, and leaves every other character alone."""

from collections.abc import Iterator
from datetime import datetime

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from canon.clock import utc
from canon.errors import ReadError
from canon.sql.dialects import dialect_of

DAYS = frozenset({"current_date", "curdate", "today", "utc_date"})
TIMES = frozenset({"current_time", "curtime", "utc_time", "localtime"})
INSTANTS = frozenset(
    {
        "current_timestamp",
        "now",
        "getdate",
        "getutcdate",
        "sysdate",
        "sysdatetime",
        "sysutcdatetime",
        "utc_timestamp",
        "statement_timestamp",
        "transaction_timestamp",
        "clock_timestamp",
        "current_datetime",
        "localtimestamp",
        "systimestamp",
    }
)
BARE = frozenset(
    {
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "current_datetime",
        "utc_date",
        "utc_time",
        "utc_timestamp",
    }
)
SQLITE_CALLS = frozenset({"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"})


def pin_clock(text: str, *, dialect: str, now: datetime) -> str:
    """The query with its clock calls replaced by literals.

    Args:
        text: the query.
        dialect: of the query.
        now: the instant; must be aware.

    Raises:
        ReadError: the text cannot be cut into tokens (`unparseable`).
        ValueError: `now` has no time zone.
    """
    moment = utc(now)
    name = dialect_of(dialect).name
    try:
        tokens = list(sqlglot.tokenize(text, dialect=name))
    except SqlglotError as error:
        raise ReadError("unparseable", f"not {name}: {str(error).splitlines()[0]}") from None
    pieces: list[str] = []
    done = 0
    for start, end, literal in _replacements(tokens, name, moment):
        pieces += [text[done:start], literal]
        done = end
    return "".join([*pieces, text[done:]])


def _replacements(tokens: list[Token], dialect: str, now: datetime) -> Iterator[tuple[int, int, str]]:
    """The stretches to replace, as (start, end, literal)."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        word = token.text.lower()
        qualified = index > 0 and tokens[index - 1].text == "."
        plain = token.token_type.name not in {"STRING", "IDENTIFIER"}
        following = [other.text for other in tokens[index + 1 : index + 3]]
        if plain and not qualified and word in DAYS | TIMES | INSTANTS:
            last = index + 2 if following == ["(", ")"] else index if word in BARE and following[:1] != ["("] else None
            if last is not None and not (dialect == "oracle" and word == "sysdate" and last == index):
                yield token.start, tokens[last].end + 1, _literal(word, dialect, now)
                index = last + 1
                continue
        if dialect == "oracle" and plain and not qualified and word in {"sysdate", "systimestamp"}:
            yield token.start, token.end + 1, _literal(word, dialect, now)
        if dialect == "sqlite" and plain and not qualified and word in SQLITE_CALLS and following[:1] == ["("]:
            yield from _sqlite_call(tokens, index, now)
        index += 1


def _sqlite_call(tokens: list[Token], index: int, now: datetime) -> Iterator[tuple[int, int, str]]:
    """`date('now', …)` and `date()`: the instant as text in place of `'now'`."""
    word = tokens[index].text.lower()
    at = index + 2
    if word == "strftime":
        at += 2
    literal = f"'{now:%Y-%m-%d %H:%M:%S}'"
    if at < len(tokens) and tokens[at].token_type.name == "STRING" and tokens[at].text.lower() == "now":
        yield tokens[at].start, tokens[at].end + 1, literal
    elif at < len(tokens) and tokens[at].text == ")" and at == index + 2:
        yield tokens[at].start, tokens[at].start, literal


def _literal(word: str, dialect: str, now: datetime) -> str:
    day, moment, time = f"'{now:%Y-%m-%d}'", f"'{now:%Y-%m-%d %H:%M:%S}'", f"'{now:%H:%M:%S}'"
    if now.microsecond and dialect != "sqlite":
        moment = f"'{now:%Y-%m-%d %H:%M:%S.%f}'"
    kind, text = ("DATE", day) if word in DAYS else ("TIME", time) if word in TIMES else ("TIMESTAMP", moment)
    if dialect == "sqlite":
        return text
    if dialect in {"tsql", "spark", "clickhouse", "snowflake", "bigquery"}:
        kind = {"tsql": "DATETIME2", "clickhouse": "DateTime"}.get(dialect, kind) if kind == "TIMESTAMP" else kind
        return f"CAST({text} AS {kind})"
    if kind == "TIMESTAMP" and dialect in {"postgres", "duckdb"} and word not in {"localtimestamp"}:
        return f"TIMESTAMPTZ {text[:-1]}+00'"
    return f"{kind} {text}"
