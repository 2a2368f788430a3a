"""Reads a SQL query out of a model's reply, by structure."""

import re
from collections.abc import Mapping
from typing import Any

from harness.endpoint.chat import Completed
from harness.endpoint.texts import one_line, unicode_text
from harness.targets.replies.envelopes import Envelope, envelopes_in, whole_envelope
from harness.targets.replies.fences import Fence, find_fences
from harness.targets.replies.reading import REFUSAL_KEYS, Reading, in_words, no_query, refusal_in
from harness.targets.replies.statements import Mark, marks, without_comments
from harness.targets.replies.thoughts import without_thoughts
from harness.types.answers import Refusal, SqlAnswer

SQL_LANGUAGES = frozenset(
    [
        "sql",
        "postgresql",
        "postgres",
        "pgsql",
        "plpgsql",
        "psql",
        "mysql",
        "mariadb",
        "sqlite",
        "sqlite3",
        "duckdb",
        "tsql",
        "t-sql",
        "mssql",
        "sqlserver",
        "oracle",
        "plsql",
        "bigquery",
        "snowflake",
        "redshift",
        "clickhouse",
        "spark",
        "sparksql",
        "databricks",
        "hive",
        "presto",
        "trino",
        "athena",
        "sql-query",
        "postgres-sql",
    ]
)
_OTHER_LANGUAGES = frozenset(
    [
        "json",
        "jsonc",
        "python",
        "text",
        "txt",
        "plaintext",
        "bash",
        "sh",
        "shell",
        "javascript",
        "js",
        "xml",
        "yaml",
        "markdown",
        "md",
        "html",
        "csv",
    ]
)
_QUERY_KEYS = ("sql", "query", "sql_query", "sqlquery", "statement")
_WRAPPERS = ("result", "response", "output", "answer", "data")
_DEEPEST = 3

_NAME = r"(?:\"[^\"\n]+\"|`[^`\n]+`|\[[^\]\n]+\]|[\w$]+)"
_READS = (
    r"SELECT\b(?=\s|[*(\"'`\[@$:+-]|\d)"
    rf"|WITH\s+(?:RECURSIVE\s+)?{_NAME}\s*(?:\([^()]{0, 2000}\)\s*)?AS\s*(?:NOT\s+)?(?:MATERIALIZED\s*)?\("
    r"|VALUES\s*\(|EXPLAIN\s+(?:ANALY[SZ]E\s+|\()?[A-Z(]|PRAGMA\s+\w|SHOW\s+(?:TABLES|DATABASES|COLUMNS|CREATE|INDEX)"
    r"|DESCRIBE\s+\w+\s*;?\s*$"
)
_WRITES = (
    rf"INSERT\s+(?:OR\s+\w+\s+)?INTO\s|UPDATE\s+(?:ONLY\s+)?{_NAME}(?:\.{_NAME})?(?:\s+(?:AS\s+)?\w+)?\s+SET\s|DELETE\s+FROM\s|MERGE\s+INTO\s"
    r"|REPLACE\s+INTO\s|CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+|UNIQUE\s+|MATERIALIZED\s+|VIRTUAL\s+)*"
    r"(?:TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|DATABASE|SCHEMA|USER|ROLE|EXTENSION|TRIGGER|SEQUENCE|TYPE)\s"
    r"|DROP\s+(?:TABLE|VIEW|INDEX|FUNCTION|DATABASE|SCHEMA|USER|ROLE|MATERIALIZED|TRIGGER|COLUMN)\s"
    r"|ALTER\s+(?:TABLE|DATABASE|USER|ROLE|SCHEMA|VIEW)\s"
    rf"|TRUNCATE\s+(?:TABLE\s+)?{_NAME}\s*;?\s*$|GRANT\s+\w+.*\sTO\s|REVOKE\s+\w+.*\sFROM\s|COPY\s+(?:\(|{_NAME}\s+(?:FROM|TO)\s)|ATTACH\s+(?:DATABASE\s+)?'"
    rf"|SET\s+(?:SESSION\s+|LOCAL\s+|GLOBAL\s+)?[@\w.]+\s*(?:=|TO\s)|BEGIN\s*(?:TRANSACTION|WORK)?\s*;|COMMIT\s*;|ROLLBACK\s*;|VACUUM\b\s*;?|CALL\s+{_NAME}\s*\("
    r"|EXEC(?:UTE)?\s+\w|DO\s+\$|DECLARE\s+@?\w+\s|USE\s+\w+\s*;"
)
# Comments before a statement belong to it. Every repetition is bounded, so that no text can make the search quadratic.
_LEAD = (
    r"(?:[ \t]{0,40}--[^\n]{0,500}\n|[ \t]{0,40}/\*(?:[^*]|\*(?!/)){0,1000}\*/\s{0,40}){0,20}"
    r"[ \t]{0,200}\({0,20}\s{0,40}"
)
_WORD = f"{_READS}|{_WRITES}".replace(r"\s+", r"\s{1,40}").replace(r"\s*", r"\s{0,40}")
_STATEMENT = re.compile(rf"\s*{_LEAD}(?:{_WORD})", re.IGNORECASE)
_AT_LINE_START = re.compile(rf"^{_LEAD}(?:{_WORD})", re.IGNORECASE | re.MULTILINE)
# In the middle of a line only in capitals, and only after a colon: "Here is the query: SELECT …"
_AFTER_COLON = re.compile(rf"(?<=:)[ \t*_`]{{1,10}}(?P<query>\({{0,20}}(?:{_WORD}))")
_LABEL = re.compile(
    r"\s*(?:#{1,6}\s*)?(?:[*_]{1,3})?(?:(?:final|the|corrected|generated|resulting)\s+)?"
    r"(?:(?:postgres(?:ql)?|mysql|sqlite|duckdb|sql)(?:\s*query|\s*statement)?|sqlquery|query|answer|output|result|statement)"
    r"(?:[*_]{1,3})?\s*(?::|\n)\s*(?:[*_]{1,3})?\s*",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")
_CONTINUES = frozenset(
    [
        "from",
        "where",
        "and",
        "or",
        "not",
        "group",
        "order",
        "having",
        "limit",
        "offset",
        "fetch",
        "union",
        "intersect",
        "except",
        "minus",
        "join",
        "left",
        "right",
        "inner",
        "outer",
        "full",
        "cross",
        "natural",
        "lateral",
        "on",
        "using",
        "window",
        "qualify",
        "for",
        "select",
        "with",
        "values",
        "case",
        "when",
        "then",
        "else",
        "end",
        "as",
        "asc",
        "desc",
        "in",
        "is",
        "like",
        "ilike",
        "between",
        "returning",
        "tablesample",
        "exists",
        "distinct",
        "all",
        "null",
        "nulls",
        "set",
        "over",
        "partition",
        "rows",
        "range",
        "option",
        "into",
        "sample",
        "top",
        "unpivot",
        "pivot",
        "cluster",
        "distribute",
        "sort",
        "settings",
        "format",
    ]
)
_FIRST_WORDS = re.compile(r"([A-Za-z']+)(\s+[A-Za-z'’]+)?")


def read_sql_reply(chat: Completed, *, dialect: str = "postgres", words_refuse: bool = True) -> Reading:
    """Read the SQL query, the refusal, or why there is neither.

    Think blocks are taken out first. Then, the first that applies:

    1. a JSON envelope (`{"sql": …}`, `{"query": …}`, `{"unsupported": …}`): the whole text, in a fence, or from the
       start of a line;
    2. the arguments of a tool call, read as such an envelope, else as text;
    3. the API's refusal field;
    4. the one fence of a SQL language;
    5. the only fence (or the only one without a language, or the only one that holds a query);
    6. the whole text, from where a statement starts, without the prose before and after it;
    7. words without any query: see `in_words`.

    Several statements are `multiple_statements`, never the first of them. Whether the text parses, and whether it is a
    read, is for grading to say: `DROP TABLE x` comes back as text.

    Args:
        chat: a whole completion.
        dialect: whose strings and comments the text has.
        words_refuse: whether prose without a query is a refusal.
    """
    if (chat.finish or "").lower() in ("length", "max_tokens"):
        return no_query("truncated", "the reply was cut off at the token limit").beside(chat.content)
    text, thoughts = without_thoughts(unicode_text(chat.content), _last_word)
    reading = _Reader(dialect, words_refuse).read(text, chat)
    return reading.beside(thoughts)


class _Reader:
    def __init__(self, dialect: str, words_refuse: bool) -> None:
        self._dialect = dialect
        self._words_refuse = words_refuse

    def read(self, text: str, chat: Completed) -> Reading:
        if (reading := self._envelopes(text)) is not None:
            return reading
        if chat.tool_arguments and chat.tool_arguments.strip():
            return self._tool_call(unicode_text(chat.tool_arguments)).beside(text)
        if chat.refusal and not text.strip():
            return Reading(Refusal(message=chat.refusal))
        reading = self.text(text)
        if chat.refusal and not isinstance(reading.answer, SqlAnswer):
            return Reading(Refusal(message=chat.refusal), reading.cut)
        return reading

    def text(self, text: str, depth: int = 0) -> Reading:
        """Read a text that is no envelope."""
        fences = find_fences(text, SQL_LANGUAGES | _OTHER_LANGUAGES)
        # Backticks inside the strings of a bare statement are no fences.
        if not fences or (_STATEMENT.match(text) and not any(fence.block for fence in fences)):
            return self._bare(text)
        return self._fences(text, fences)

    def _envelopes(self, text: str, depth: int = 0) -> Reading | None:
        whole = whole_envelope(text)
        if whole is not None:
            return self._envelope(whole, depth)
        if _STATEMENT.match(text.strip()):
            return None
        fences = find_fences(text, SQL_LANGUAGES | _OTHER_LANGUAGES)
        if any(fence.language in SQL_LANGUAGES for fence in fences):
            return None
        if fences:
            inner = [(fence, whole_envelope(fence.content)) for fence in fences]
            found = [
                (fence, reading)
                for fence, envelope in inner
                if envelope is not None and (reading := self._envelope(envelope, depth)) is not None
            ]
            if len(found) == 1:
                fence, reading = found[0]
                return reading.beside(text[: fence.start], text[fence.end :])
            return _several(len(found), text) if found else None
        readings = [
            (envelope, reading)
            for envelope in envelopes_in(text)
            if (reading := self._envelope(envelope, depth)) is not None
        ]
        if len(readings) == 1:
            envelope, reading = readings[0]
            return reading.beside(text[: envelope.start], text[envelope.end :])
        return _several(len(readings), text) if readings else None

    def _envelope(self, envelope: Envelope, depth: int) -> Reading | None:
        """Read an envelope; `None` where the object is none."""
        members = {key.lower(): (key, value) for key, value in envelope.members.items()}
        given = [members[key] for key in _QUERY_KEYS if key in members]
        refusal = refusal_in(envelope)
        queries = [value for _, value in given if value not in (None, "", [], {})]
        if queries and refusal is not None:
            return no_query("unparseable", "the envelope holds both a query and a refusal").beside(_slice(envelope))
        if refusal is not None:
            return Reading(Refusal(message=unicode_text(refusal)))
        if queries:
            return self._value(queries[0], envelope, depth)
        if given:
            return no_query("empty", "the envelope's query is empty").beside(_slice(envelope))
        for key in _WRAPPERS:
            inner = whole_envelope(envelope.texts[members[key][0]]) if key in members and depth < _DEEPEST else None
            if inner is not None and (reading := self._envelope(inner, depth + 1)) is not None:
                return reading
        return None

    def _value(self, value: object, envelope: Envelope, depth: int) -> Reading:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            if len(value) > 1:
                return _several(len(value), _slice(envelope))
            value = value[0]
        if isinstance(value, Mapping) and depth < _DEEPEST:
            text = next(
                text for key, text in envelope.texts.items() if key.lower() in _QUERY_KEYS and text.startswith("{")
            )
            inner = whole_envelope(text)
            reading = self._envelope(inner, depth + 1) if inner is not None else None
            if reading is not None:
                return reading
        if not isinstance(value, str):
            return no_query("unparseable", "the envelope's query is no text").beside(_slice(envelope))
        reading = self.text(unicode_text(value))
        rest = [unicode_text(text) for key, text in envelope.texts.items() if key.lower() not in _QUERY_KEYS]
        if isinstance(reading.answer, SqlAnswer):
            answer = SqlAnswer(text=reading.answer.text, args=_args(envelope.members))
            return Reading(answer, reading.cut).beside(*rest)
        return reading.beside(*rest)

    def _tool_call(self, arguments: str) -> Reading:
        envelope = whole_envelope(arguments)
        if envelope is None:
            return self.text(arguments)
        reading = self._envelope(envelope, 0)
        if reading is not None:
            return reading
        return no_query("unparseable", "the tool call's arguments hold no `sql` and no `query`").beside(arguments)

    def _fences(self, text: str, fences: list[Fence]) -> Reading:
        right = _distinct([fence for fence in fences if fence.language in SQL_LANGUAGES and fence.content.strip()])
        if len(right) > 1:
            return _several(len(right), text)
        chosen = right[0] if right else self._likely(fences)
        if chosen is None:
            if any(fence.language in SQL_LANGUAGES for fence in fences):
                return no_query("empty", "the fence is empty").beside(text)
            holding = [fence for fence in fences if _STATEMENT.match(fence.content)]
            if len(holding) > 1:
                return _several(len(holding), text)
            return no_query("unparseable", f"no fence holds a query: {one_line(text, 200)}").beside(text)
        reading = self._statement(chosen.content, strict=True)
        if isinstance(reading.answer, SqlAnswer):
            return reading.beside(text[: chosen.start], text[chosen.end :])
        return reading

    def _likely(self, fences: list[Fence]) -> Fence | None:
        if len(fences) == 1 and not fences[0].language and fences[0].content.strip():
            return fences[0]
        unlabelled = _distinct([fence for fence in fences if not fence.language and fence.content.strip()])
        holding = _distinct([fence for fence in fences if _STATEMENT.match(_unlabelled(fence.content))])
        if len(holding) == 1:
            return holding[0]
        return unlabelled[0] if len(unlabelled) == 1 and not holding else None

    def _bare(self, text: str) -> Reading:
        """Read a text without fences."""
        stripped = _without_ticks(text.strip())
        label = _LABEL.match(stripped)
        if label is not None and _STATEMENT.match(stripped, label.end()):
            return self._statement(_without_ticks(stripped[label.end() :]), strict=False).beside(label.group())
        if _STATEMENT.match(stripped):
            return self._if_query(stripped, "", text)
        found = _AT_LINE_START.search(stripped)
        if found is not None and (reading := self._found(stripped, found.start())) is not None:
            return reading
        inline = _AFTER_COLON.search(stripped)
        if inline is not None:
            start = inline.start("query")
            query = stripped[start:]
            if stripped[start - 1] == "`":
                query = query.partition("`")[0]
            return self._statement(query, strict=False).beside(stripped[:start])
        return in_words(text, words_refuse=self._words_refuse)

    def _found(self, text: str, start: int) -> Reading | None:
        reading = self._if_query(text[start:], text[:start], text)
        return reading if not isinstance(reading.answer, Refusal) else None

    def _if_query(self, text: str, before: str, whole: str) -> Reading:
        """Read a statement, unless it is a sentence that merely begins like one."""
        reading = self._statement(text, strict=False)
        if isinstance(reading.answer, SqlAnswer) and _is_sentence(reading.answer.text, self._dialect):
            return in_words(whole, words_refuse=self._words_refuse)
        return reading.beside(before)

    def _statement(self, text: str, *, strict: bool) -> Reading:
        """One statement, out of a text that starts with it.

        Args:
            text: the text.
            strict: whether anything but comments after its semicolon is a further statement, or may be prose.
        """
        label = _LABEL.match(text)
        if label is not None and _STATEMENT.match(text, label.end()):
            return self._statement(text[label.end() :], strict=strict).beside(label.group())
        text = text.strip()
        found = marks(text, self._dialect)
        ends = [mark for mark in found if mark.kind == ";"]
        start = 0
        stretches = []
        for end in [*(mark.end for mark in ends), len(text)]:
            if without_comments(text, found, start, end).strip(" \t\r\n;\f\v\ufeff\xa0"):
                stretches.append((start, end))
            start = end
        if not stretches:
            return no_query("empty", "the reply has no statement").beside(text)
        first_start, first_end = stretches[0]
        if len(stretches) > 1:
            rest = text[first_end:]
            if strict or _AT_LINE_START.search(rest) or _STATEMENT.match(rest):
                return _several(len(stretches), text)
            return self._answer(text[first_start:first_end], rest)
        if ends and first_end < len(text):
            return self._answer(text[first_start:first_end], text[first_end:])
        if strict:
            return self._answer(text[first_start:], "")
        query, prose = _without_prose(
            text[first_start:], found if first_start == 0 else marks(text[first_start:], self._dialect)
        )
        if prose and _AT_LINE_START.search(prose):
            return _several(2, text)
        return self._answer(query, prose)

    def _answer(self, query: str, rest: str) -> Reading:
        return Reading(SqlAnswer(text=query.strip()), rest.strip())


def _several(count: int, text: str) -> Reading:
    return no_query("multiple_statements", f"the reply holds {count} statements; one is wanted").beside(text)


def _slice(envelope: Envelope) -> str:
    return "{" + ", ".join(f'"{key}": {text}' for key, text in envelope.texts.items()) + "}"


def _args(members: Mapping[str, Any]) -> tuple[Any, ...] | dict[str, Any]:
    for key in ("args", "params", "parameters"):
        value = members.get(key)
        if isinstance(value, list) and all(_is_plain(item) for item in value):
            return tuple(value)
        if isinstance(value, dict) and all(_is_plain(item) for item in value.values()):
            return value
    return ()


def _is_plain(value: object) -> bool:
    return (
        value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and unicode_text(value) == value)
    )


def _distinct(fences: list[Fence]) -> list[Fence]:
    return list({fence.content.strip(): fence for fence in reversed(fences)}.values())[::-1]


def _unlabelled(text: str) -> str:
    label = _LABEL.match(text)
    return text[label.end() :] if label is not None else text


def _without_ticks(text: str) -> str:
    inner = text[1:-1]
    return inner if len(text) > 2 and text[0] == text[-1] == "`" and _STATEMENT.match(inner) else text


def _without_prose(text: str, found: list[Mark]) -> tuple[str, str]:
    """Part a statement without semicolon from the paragraphs of prose after it."""
    depth, behind, at = 0, 0, 0
    for gap in _PARAGRAPH.finditer(text):
        while at < len(found) and found[at].start < gap.start():
            depth += (found[at].kind == "(") - (found[at].kind == ")")
            behind = found[at].end
            at += 1
        if behind <= gap.start() and depth <= 0 and _is_prose(text[gap.end() : gap.end() + 2000]):
            return text[: gap.start()], text[gap.end() :]
    return text, ""


def _is_prose(paragraph: str) -> bool:
    first = re.match(r"[*_#>\-\s]*", paragraph)
    words = _FIRST_WORDS.match(paragraph, first.end() if first is not None else 0)
    if words is None or paragraph.startswith("--"):
        return False
    word = words[1]
    if word.lower() not in _CONTINUES:
        return words[2] is not None or paragraph.partition("\n")[0].rstrip().endswith((":", ".", "!"))
    sentence = paragraph.partition("\n\n")[0].rstrip()
    return word.istitle() and len(word) > 1 and sentence.endswith((".", ":", "!"))


def _is_sentence(text: str, dialect: str) -> bool:
    """Whether a text that begins like a statement is a sentence: it ends like one and no parser takes it."""
    if not text.rstrip().endswith((".", "!", "?")):
        return False
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        sqlglot.parse_one(text[:5000], read=dialect)
    except (SqlglotError, ValueError, RecursionError):
        return True
    return False


def _last_word(text: str) -> int | None:
    """Where an answer starts that ends the text: a fence, an envelope, or a last paragraph that is a statement."""
    stripped = text.rstrip()
    fences = find_fences(stripped, SQL_LANGUAGES | _OTHER_LANGUAGES)
    if fences and fences[-1].end >= len(stripped) and fences[-1].language in SQL_LANGUAGES | {"", "json"}:
        return fences[-1].start
    envelopes = envelopes_in(stripped)
    if envelopes and envelopes[-1].end == len(stripped):
        keys = {key.lower() for key in envelopes[-1].members}
        return envelopes[-1].start if envelopes[-1].start and keys & {*_QUERY_KEYS, *REFUSAL_KEYS} else None
    gaps = list(_PARAGRAPH.finditer(stripped))
    if gaps and _STATEMENT.match(stripped, gaps[-1].end()):
        return gaps[-1].end()
    return None
