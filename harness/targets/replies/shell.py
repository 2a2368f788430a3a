"""Finds where a MongoDB query ends: balanced brackets, knowing strings, comments and regular expressions."""

import re

_SPECIAL = re.compile(r"[\"'`/()\[\]{};]")
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CHAIN = re.compile(r"(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/)){0,2000}\*/)*(?=[.\[(])")
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]{0,8}")
_WORD = re.compile(r"[\w$.]*")


def end_of_query(text: str, start: int) -> int | None:
    """Behind the query that starts there: an object, a list, a chain of calls on `db`; `None` where it never ends."""
    at = start
    if text.startswith("db", at):
        word = _WORD.match(text, at)
        at = word.end() if word is not None else at
        chained = _CHAIN.match(text, at)
        if chained is None:
            return at
        at = chained.end()
    while True:
        if at < len(text) and text[at] in _OPENING:
            closing = _end_of_brackets(text, at)
            if closing is None:
                return None
            at = closing
        else:
            word = _WORD.match(text, at)
            at = word.end() if word is not None else at
        if not text.startswith("db", start):
            return at
        chained = _CHAIN.match(text, at)
        if chained is None or chained.end() >= len(text):
            return at
        if chained.end() == at and text[at] == "." and not _WORD.fullmatch(text, at, at + 1):
            return at
        at = chained.end()


def _end_of_brackets(text: str, start: int) -> int | None:
    stack: list[str] = []
    at = start
    before = ""
    while special := _SPECIAL.search(text, at):
        gap = text[at : special.start()].rstrip()
        before = gap[-1] if gap else before
        at, sign = special.end(), special.group()
        if sign in _OPENING:
            stack.append(_OPENING[sign])
        elif sign in ")]}":
            if not stack or stack.pop() != sign:
                return None
            if not stack:
                return at
        elif sign in "\"'`":
            at = _end_of_string(text, at, sign)
        elif sign == "/":
            at = _end_of_slash(text, special.start(), before)
        before = sign
    return None


def _end_of_string(text: str, at: int, sign: str) -> int:
    while True:
        closing = text.find(sign, at)
        if closing < 0:
            return len(text)
        backslashes = 0
        while closing - 1 - backslashes >= at and text[closing - 1 - backslashes] == "\\":
            backslashes += 1
        if backslashes % 2 == 0:
            return closing + 1
        at = closing + 1


def _end_of_slash(text: str, start: int, before: str) -> int:
    """Behind a comment or a regular expression; a regular expression stands only where a value may."""
    if text.startswith("//", start):
        line_end = text.find("\n", start)
        return len(text) if line_end < 0 else line_end
    if text.startswith("/*", start):
        closing = text.find("*/", start + 2)
        return len(text) if closing < 0 else closing + 2
    pattern = _REGEX.match(text, start) if before in ("", ":", ",", "(", "[", "{", "=") else None
    return pattern.end() if pattern is not None else start + 1
