"""Foreign text made inert: what a model or a golden file says is shown, never run, and never turns the page around."""

from collections.abc import Iterable
from urllib.parse import quote

from markupsafe import Markup

from harness.report.marking import Segment

_VISIBLE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{
        code: f"⟨U+{code:04X}⟩"
        for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029)
    },
    **{code: f"⟨U+{code:04X}⟩" for code in range(0x80, 0xA0)},
}
"""Control characters as their pictures; what would reverse or break lines as its code point."""

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ATTRIBUTE = str.maketrans({'"': "&#34;", "'": "&#39;"})


def content(text: str) -> Markup:
    """Text for between tags. Quotes stay as they are: between tags they mean nothing, and replies are full of them."""
    shown = text if text.isascii() and text.isprintable() else text.translate(_VISIBLE)
    return Markup(shown.translate(_MARKUP))  # noqa: S704 - escaped here


def attribute(text: str) -> Markup:
    """Text for a quoted attribute."""
    return Markup(content(text).translate(_ATTRIBUTE))  # noqa: S704 - escaped here


def marked(segments: Iterable[Segment]) -> Markup:
    """Text with the parts that the other side lacks marked."""
    parts = (f"<mark>{content(part)}</mark>" if differs else content(part) for part, differs in segments)
    return Markup("".join(parts))  # noqa: S704 - each part is escaped


def anchor(case_id: str) -> str:
    """The fragment of a case: its id, percent-encoded, the same in `id=` and in links, stable between reports."""
    return f"case-{quote(case_id, safe='')}"
