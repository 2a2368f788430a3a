"""Finds fenced code in a reply: three or more backticks or tildes, any info string, closed or not."""

import re
from typing import NamedTuple

_OPEN = re.compile(
    r"^(?P<indent>[ \t]*(?:[-*>][ \t]+|\d+[.)][ \t]+)?)(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE
)
_INLINE = re.compile(r"(?<![\w'\"`])(?P<mark>`{3,})(?P<body>(?:(?!`{3})[^\n])+)(?P=mark)(?!`)")
_WORD = re.compile(r"[\s{.]*([A-Za-z][A-Za-z0-9_+#-]*)\}?(.*)", re.DOTALL)


class Fence(NamedTuple):
    """One fenced block.

    Attributes:
        language: first word of the info string, lower case; "" if there is none.
        content: what is between the fences, without the line ends next to them.
        start: where the opening fence starts.
        end: where the closing fence ends.
        block: whether the fences stand on lines of their own.
    """

    language: str
    content: str
    start: int
    end: int
    block: bool = True


def find_fences(text: str, languages: frozenset[str]) -> list[Fence]:
    """All fences, in order.

    Args:
        text: the reply.
        languages: words that are languages where they stand before the query on the line of the opening fence
            (` ```sql SELECT 1``` `); anything else there belongs to the content.
    """
    fences: list[Fence] = []
    at = 0
    while opened := _OPEN.search(text, at):
        mark, info = opened["mark"], opened["info"]
        if mark[0] == "`" and "`" in info:
            # Opened and closed on one line: no block.
            at = opened.end()
            continue
        fence = _block(text, opened, mark, info, languages)
        fences.append(fence)
        at = fence.end
    if not fences:
        for inline in _INLINE.finditer(text):
            language, content = _split_info(inline["body"], languages)
            fences.append(Fence(language, content.strip(), inline.start(), inline.end(), block=False))
    return fences


def _block(text: str, opened: re.Match[str], mark: str, info: str, languages: frozenset[str]) -> Fence:
    closing = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE)
    start = min(opened.end() + 1, len(text))
    closed = closing.search(text, start)
    body = text[start : closed.start()] if closed else text[start:]
    language, rest = _split_info(info, languages)
    if rest.strip() and language in languages and _is_attribute(rest):
        rest = ""
    if rest.strip():
        body = f"{rest.strip()}\n{body}"
    return Fence(language, body.removesuffix("\n"), opened.start(), closed.end() if closed else len(text))


def _split_info(info: str, languages: frozenset[str]) -> tuple[str, str]:
    """The language and what follows it; words that begin with no known language are another one, or content."""
    word = _WORD.fullmatch(info)
    if word is None:
        return "", info
    name, rest = word[1].lower(), word[2]
    if name in languages:
        return name, rest
    # `SELECT a FROM t`: several words of which the first is no language.
    return ("", info) if rest.strip() and not _is_attribute(rest) else (name, "")


def _is_attribute(rest: str) -> bool:
    return re.match(r"\s*(?:[\w-]+=|\{|:|//|#|title\b|$)", rest) is not None
