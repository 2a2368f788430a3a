"""Text from outside, made fit to be stored: valid Unicode, and short where it is only quoted."""

import html
import re

_TAGS = re.compile(r"<(?:script|style)\b.*?</(?:script|style)\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)


def unicode_text(text: str) -> str:
    """Put U+FFFD for lone surrogates, which no UTF-8 file can hold; surrogate pairs become their character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def one_line(text: str, limit: int = 300) -> str:
    """White space runs as one blank, cut after `limit` characters."""
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def page_text(page: str) -> str:
    """What an HTML page says: its title, else its text."""
    page = page[:20_000]
    title = _TITLE.search(page)
    return one_line(html.unescape(title.group(1) if title else _TAGS.sub(" ", page)))
