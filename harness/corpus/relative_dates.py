"""Finds words whose meaning depends on today, so that a sentence without a pinned clock can be pointed out."""

import re

_UNIT = (
    r"(?:second|minute|hour|day|night|morning|evening|week|weekend|fortnight|month|quarter|season|year|decade"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|spring|summer|autumn|fall|winter)s?"
)
_COUNT = r"(?:\d+|few|couple(?:\s+of)?|several|one|two|three|four|five|six|seven|eight|nine|ten|twelve|thirty|ninety)"
_RELATIVE = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|nowadays|recent(?:ly)?|ago|ytd|mtd|qtd|so\s+far\s+this"
    rf"|(?:year|month|quarter|week)[\s-]to[\s-]date"
    r"|right\s+now|as\s+of\s+now|until\s+now|up\s+to\s+now|from\s+now"
    rf"|(?:last|past|previous|preceding|prior|this|current|next|coming|upcoming|following|rolling|trailing|latest)"
    rf"\s+(?:{_COUNT}\s+)?{_UNIT})\b",
    re.IGNORECASE,
)


def relative_words(sentence: str) -> tuple[str, ...]:
    """The words of a sentence that only a clock gives a meaning to, in order, each once."""
    found = (re.sub(r"\s+", " ", match.group()).lower() for match in _RELATIVE.finditer(sentence))
    return tuple(dict.fromkeys(found))
