"""Reads a MongoDB query out of a model's reply, by structure."""

import re

from harness.endpoint.chat import Completed
from harness.endpoint.texts import one_line, unicode_text
from harness.targets.replies.envelopes import Envelope, whole_envelope
from harness.targets.replies.fences import Fence, find_fences
from harness.targets.replies.reading import EXTRA_KEYS, REFUSAL_KEYS, Reading, in_words, no_query, refusal_in
from harness.targets.replies.shell import end_of_query
from harness.targets.replies.thoughts import without_thoughts
from harness.types.answers import MongoAnswer, Refusal

MONGO_LANGUAGES = frozenset(
    [
        "js",
        "javascript",
        "json",
        "jsonc",
        "json5",
        "mongo",
        "mongodb",
        "mongosh",
        "mongo-shell",
        "bson",
        "ejson",
        "nosql",
        "mql",
        "typescript",
        "ts",
    ]
)
_OTHER_LANGUAGES = frozenset(
    ["python", "text", "txt", "plaintext", "bash", "sh", "shell", "sql", "xml", "yaml", "markdown", "md", "html", "csv"]
)
_START = re.compile(r"\s*(?:db\s*[.\[]|\{|\[)")
_AT_LINE_START = re.compile(
    r"^[ \t]{0,40}(?:(?:const|let|var)\s+\w+\s*=\s*|return\s+|await\s+)?(?P<query>db[.\[]|\{|\[(?=\s*\{))", re.MULTILINE
)
_AFTER_COLON = re.compile(r"(?:(?<=:)[ \t]{1,10}|`)(?P<query>db[.\[]|\{)")
_LABEL = re.compile(
    r"\s*(?:#{1,6}\s*)?(?:[*_]{1,3})?(?:(?:final|the)\s+)?"
    r"(?:mongo(?:db|sh)?(?:\s*(?:query|filter|pipeline))?|query|filter|answer|output|result|pipeline|json)"
    r"(?:[*_]{1,3})?\s*(?::|\n)\s*(?:[*_]{1,3})?\s*",
    re.IGNORECASE,
)
_TAIL = re.compile(r"\s*;?(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*", re.DOTALL)


def read_mongo_reply(chat: Completed, *, words_refuse: bool = True) -> Reading:
    """Read the MongoDB query, the refusal, or why there is neither.

    Think blocks are taken out first. Then, the first that applies:

    1. a JSON envelope (`{"mongo": …}`, `{"unsupported": "…"}`, or `{"query": …}` beside nothing but explanations): the
       whole text or a fence; any other JSON object is itself the query;
    2. the arguments of a tool call, read as such an envelope, else as the query;
    3. the API's refusal field;
    4. the one fence of a fitting language (`js`, `json`, `mongodb`, …);
    5. the only fence (or the only one without a language);
    6. the whole text, from where an object, a list or `db.` starts at a line's start, to its balanced end;
    7. words without any query: see `in_words`.

    Several queries are `multiple_statements`, never the first of them. Whether the text is readable is for grading to
    say.

    Args:
        chat: a whole completion.
        words_refuse: whether prose without a query is a refusal.
    """
    if (chat.finish or "").lower() in ("length", "max_tokens"):
        return no_query("truncated", "the reply was cut off at the token limit").beside(chat.content)
    text, thoughts = without_thoughts(unicode_text(chat.content), _last_word)
    if chat.tool_arguments and chat.tool_arguments.strip() and _has_no_query(text):
        reading = _text(unicode_text(chat.tool_arguments), words_refuse=words_refuse).beside(text)
    elif chat.refusal and not text.strip():
        reading = Reading(Refusal(message=chat.refusal))
    else:
        reading = _text(text, words_refuse=words_refuse)
    if chat.refusal and not isinstance(reading.answer, MongoAnswer):
        reading = Reading(Refusal(message=chat.refusal), reading.cut)
    return reading.beside(thoughts)


def _has_no_query(text: str) -> bool:
    return whole_envelope(text) is None and not find_fences(text, frozenset())


def _text(text: str, *, words_refuse: bool, depth: int = 0) -> Reading:
    envelope = whole_envelope(text)
    if envelope is not None:
        return _envelope(envelope, text, words_refuse=words_refuse, depth=depth)
    # Backticks inside a query's strings are no fences.
    fences = [] if _START.match(text) else find_fences(text, MONGO_LANGUAGES | _OTHER_LANGUAGES)
    if fences:
        return _fences(text, fences, words_refuse=words_refuse, depth=depth)
    return _bare(text, words_refuse=words_refuse)


def _envelope(envelope: Envelope, text: str, *, words_refuse: bool, depth: int) -> Reading:
    """Read a JSON object: an envelope around the query, a refusal, or the query itself."""
    keys = {key.lower(): key for key in envelope.members}
    only_extras = keys.keys() <= EXTRA_KEYS
    inner = (
        keys.get("mongo") or (keys.get("query") if only_extras and _wraps(envelope, keys["query"]) else None)
        if ("mongo" in keys or "query" in keys)
        else None
    )
    refusal = refusal_in(envelope) if only_extras and keys.keys() & set(REFUSAL_KEYS) else None
    value = envelope.members[inner] if inner is not None else None
    if refusal is not None:
        if value not in (None, "", [], {}):
            return no_query("unparseable", "the envelope holds both a query and a refusal").beside(text)
        return Reading(Refusal(message=unicode_text(refusal)))
    if inner is None:
        return Reading(MongoAnswer(text=text.strip()))
    rest = [unicode_text(words) for key, words in envelope.texts.items() if key != inner]
    if isinstance(value, dict | list):
        return Reading(MongoAnswer(text=unicode_text(envelope.texts[inner]))).beside(*rest)
    if isinstance(value, str) and value.strip() and depth < 3:
        return _text(unicode_text(value), words_refuse=words_refuse, depth=depth + 1).beside(*rest)
    return no_query("empty", "the envelope's query is empty").beside(text)


def _wraps(envelope: Envelope, key: str) -> bool:
    """Whether `query` holds a query, and is no field of that name in a filter."""
    value = envelope.members[key]
    if isinstance(value, str):
        return _START.match(value) is not None
    return isinstance(value, list | dict) and not (
        isinstance(value, dict) and value and all(k.startswith("$") for k in value)
    )


def _fences(text: str, fences: list[Fence], *, words_refuse: bool, depth: int) -> Reading:
    right = _distinct([fence for fence in fences if fence.language in MONGO_LANGUAGES and fence.content.strip()])
    if len(right) > 1:
        return _several(len(right), text)
    unlabelled = _distinct([fence for fence in fences if not fence.language and fence.content.strip()])
    holding = _distinct([fence for fence in fences if _START.match(fence.content)])
    if right:
        chosen = right[0]
    elif len(unlabelled) == 1:
        chosen = unlabelled[0]
    elif len(holding) == 1:
        chosen = holding[0]
    elif holding:
        return _several(len(holding), text)
    else:
        return no_query("unparseable", f"no fence holds a query: {one_line(text, 200)}").beside(text)
    around = (text[: chosen.start], text[chosen.end :])
    envelope = whole_envelope(chosen.content)
    if envelope is not None:
        return _envelope(envelope, chosen.content, words_refuse=words_refuse, depth=depth).beside(*around)
    start = _START.match(chosen.content)
    if start is not None:
        return _from(chosen.content, 0, strict=True).beside(*around)
    found = _AT_LINE_START.search(chosen.content)
    if found is not None:
        return _from(chosen.content, found.start("query"), strict=True).beside(*around)
    return Reading(MongoAnswer(text=chosen.content.strip())).beside(*around)


def _bare(text: str, *, words_refuse: bool) -> Reading:
    label = _LABEL.match(text)
    if label is not None and _START.match(text, label.end()):
        return _from(text, label.end(), strict=False)
    if _START.match(text):
        return _from(text, 0, strict=False)
    found = _AT_LINE_START.search(text) or _AFTER_COLON.search(text)
    if found is not None:
        return _from(text, found.start("query"), strict=False)
    return in_words(text, words_refuse=words_refuse)


def _from(text: str, start: int, *, strict: bool) -> Reading:
    """The query that starts there, the rest cut away if it is comments or (unless `strict`) prose."""
    start += len(text[start:]) - len(text[start:].lstrip())
    end = end_of_query(text, start)
    if end is None:
        return Reading(MongoAnswer(text=text[start:].strip()), text[:start].strip())
    tail = _TAIL.match(text, end)
    rest = tail.end() if tail is not None else end
    if rest < len(text):
        if text[rest] == "," or (strict and not _START.match(text, rest)):
            # More than one value, or something that this reader has no name for: grading shall see all of it.
            return Reading(MongoAnswer(text=text[start:].strip()), text[:start].strip())
        if _START.match(text, rest) or _AT_LINE_START.search(text, rest):
            return _several(2, text)
    query = text[start:end]
    if text[end : end + 1] == ";" and not text[end + 1 :].strip():
        query += ";"
        end += 1
    return Reading(MongoAnswer(text=query)).beside(text[:start], text[end:])


def _distinct(fences: list[Fence]) -> list[Fence]:
    return list({fence.content.strip(): fence for fence in reversed(fences)}.values())[::-1]


def _several(count: int, text: str) -> Reading:
    return no_query("multiple_statements", f"the reply holds {count} queries; one is wanted").beside(text)


def _last_word(text: str) -> int | None:
    """Where an answer starts that ends the text: a fence, or an object or a call from a line's start."""
    stripped = text.rstrip()
    fences = find_fences(stripped, MONGO_LANGUAGES | _OTHER_LANGUAGES)
    if fences and fences[-1].end >= len(stripped) and fences[-1].language in MONGO_LANGUAGES | {""}:
        return fences[-1].start
    for _, found in zip(range(50), _AT_LINE_START.finditer(stripped), strict=False):
        start = found.start("query")
        if start and end_of_query(stripped, start) in (len(stripped), len(stripped.rstrip(";"))):
            return start
    return None
