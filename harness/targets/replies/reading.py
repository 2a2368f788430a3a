"""What reading a reply gives, and what the SQL and the Mongo reader share: refusals, envelopes' extras, words."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from harness.endpoint.texts import one_line
from harness.targets.replies.envelopes import Envelope
from harness.types.answers import Answer, NoQuery, NoQueryReason, Refusal

REFUSAL_KEYS = ("unsupported", "refusal", "refused", "error")
EXTRA_KEYS = frozenset(
    {
        *REFUSAL_KEYS,
        *(
            "explanation",
            "reason",
            "reasoning",
            "rationale",
            "notes",
            "note",
            "comment",
            "comments",
            "message",
            "thought",
        ),
        *("thoughts", "confidence", "language", "dialect", "type", "title", "description", "assumptions", "warnings"),
        *("args", "params", "parameters", "sql", "mongo", "query", "analysis", "summary"),
    }
)
_WORDS = re.compile(r"[^\W\d_]{2,}")


class Reading(NamedTuple):
    """What was read from a reply.

    Attributes:
        answer: the query, the refusal, or why there is none.
        cut: what was cut away to get it, "" if nothing.
    """

    answer: Answer
    cut: str = ""

    def beside(self, *cut: str) -> "Reading":
        """The same, with more that was cut away."""
        return Reading(self.answer, joined([*cut, self.cut]))


def joined(pieces: Iterable[str]) -> str:
    """Pieces that were cut away, as one text."""
    return "\n".join(piece.strip() for piece in pieces if piece.strip())


def no_query(reason: NoQueryReason, message: str) -> Reading:
    """There is nothing to grade."""
    return Reading(NoQuery(reason=reason, message=message))


def refusal_in(envelope: Envelope) -> str | None:
    """What an envelope says in declining; `None` where it does not decline."""
    for key, value in envelope.members.items():
        if key.lower() in REFUSAL_KEYS and value not in (None, False, "", [], {}):
            if isinstance(value, str):
                explained = envelope.members.get("message") or envelope.members.get("reason")
                return f"{value}: {explained}" if isinstance(explained, str) and explained != value else value
            return envelope.texts[key] if value is not True else _explanation(envelope)
    return None


def in_words(text: str, *, words_refuse: bool) -> Reading:
    """Judge a reply without any query: the one rule by which words alone are a refusal.

    Words are a refusal if there is prose (two words or more), with no code, no JSON, no fence, and no colon at the end
    (which announces what then did not come); no list of phrases is asked. `words_refuse` switches the rule off.
    """
    prose = text.strip()
    if not prose:
        return no_query("empty", "the reply has no text")
    codelike = prose[0] in "{[<`" or "```" in prose or "~~~" in prose
    if codelike or prose.endswith(":") or len(_WORDS.findall(prose[:2000])) < 2:
        return no_query("unparseable", f"no query was found in the reply: {one_line(prose, 200)}")
    if not words_refuse:
        message = f"no query, only words, and refusals by words are switched off: {one_line(prose, 200)}"
        return no_query("unparseable", message)
    return Reading(Refusal(message=prose, by="words"))


def _explanation(envelope: Envelope) -> str:
    for key in ("message", "reason", "explanation"):
        if isinstance(envelope.members.get(key), str):
            return str(envelope.members[key])
    return "true"
