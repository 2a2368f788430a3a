"""Foreign text in Markdown: shown as it is, never read as Markdown or HTML, never out of its line or cell."""

import re

from harness.report import words

_SPECIAL = re.compile(r"([\\`*_\[\]#|~$@]|:(?=[\w/])|\A(?:[-+>=]|\d+(?=[.)])))")
"""What Markdown reads as its own: marks of emphasis, links, cells and mentions, and what starts a list in a line."""

_MEANS_SOMETHING = re.compile(r"[\\`*_\[\]#|~$@<>&]|:(?=[\w/])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def inline(text: str, limit: int = 300) -> str:
    """Text in a line or a table cell: one line, clipped, every character that means something escaped."""
    plain = _CONTROL.sub("\ufffd", words.one_line(text, limit))
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(_escape, escaped)


def _escape(found: re.Match[str]) -> str:
    return f"\\{found[0]}" if not found[0].isdigit() else f"{found[0]}\\"


def code(text: str, limit: int = 300) -> str:
    """Text as code in a line or a table cell, where back quotes cannot be trusted to end it."""
    plain = _CONTROL.sub("\ufffd", words.one_line(text, limit))
    return f"<code>{_MEANS_SOMETHING.sub(lambda found: f'&#{ord(found[0])};', plain)}</code>"


def fenced(text: str, language: str = "", limit: int = 4_000) -> str:
    """Text as a block of code, in a fence longer than any run of back quotes in it."""
    plain = _CONTROL.sub("\ufffd", words.clip(text, limit).replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain}\n{fence}"


def bar(share: float, width: int = 20) -> str:
    """A share as a bar of blocks; empty only for nothing, full only for all."""
    filled = round(share * width)
    if 0 < share < 1:
        filled = min(width - 1, max(1, filled))
    return "█" * filled + "░" * (width - filled)


def table(header: list[str], rows: list[list[str]], right: frozenset[int] = frozenset()) -> str:
    """A table whose cells are Markdown already; the columns in `right` are aligned to the right."""
    rule = ["---:" if index in right else "---" for index in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def folded(summary: str, body: str) -> str:
    """A part that opens on a click; `summary` is HTML already."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def html(text: str, limit: int = 300) -> str:
    """Text inside an HTML tag of a Markdown file."""
    plain = _CONTROL.sub("\ufffd", words.one_line(text, limit))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
