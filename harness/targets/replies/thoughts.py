"""Takes a model's visible thinking out of its reply: think blocks, closed or not."""

import re
from collections.abc import Callable
from typing import NamedTuple

_NAMES = r"(?:think(?:ing)?|thought|reasoning|reflection)"
# A tag counts at the start of a line only: inside a query's string it is data.
_OPEN = re.compile(rf"^[ \t]*<({_NAMES})\b[^>\n]{{0,80}}>", re.IGNORECASE | re.MULTILINE)
_LONE_CLOSE = re.compile(rf"</{_NAMES}>[ \t]*(?:\n|\Z)|^[ \t]*</{_NAMES}>", re.IGNORECASE | re.MULTILINE)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final[^<\n]{0,40}<\|message\|>")
_CHANNEL_END = re.compile(r"<\|(?:return|end|start|channel)\|>")


class Thoughtless(NamedTuple):
    """A reply without its thinking, and the thinking."""

    text: str
    cut: str


def without_thoughts(text: str, last_word: Callable[[str], int | None]) -> Thoughtless:
    """Take think blocks out.

    `<think>…</think>` at the start of a line goes. A lone `</think>` takes all before it (templates that open the
    block in
    the prompt). A block that is never closed takes the rest of the text, but for an answer that stands at its very end.
    Of channels (`<|channel|>final<|message|>`) the final one stays.

    Args:
        text: the reply.
        last_word: finds where an answer starts that ends the text, `None` if none does.
    """
    cut: list[str] = []
    if channel := _FINAL_CHANNEL.search(text):
        end = _CHANNEL_END.search(text, channel.end())
        stop = end.start() if end else len(text)
        cut += [text[: channel.end()], text[stop:]]
        text = text[channel.end() : stop]
    kept: list[str] = []
    at = 0
    while opened := _OPEN.search(text, at):
        kept.append(text[at : opened.start()])
        closed = re.compile(rf"</{re.escape(opened[1])}\s*>", re.IGNORECASE).search(text, opened.end())
        if closed is not None:
            at = closed.end()
        else:
            answer = last_word(text[opened.end() :])
            at = len(text) if answer is None else opened.end() + answer
        cut.append(text[opened.start() : at])
    text = "".join([*kept, text[at:]])
    closes = list(_LONE_CLOSE.finditer(text))
    if closes:
        cut.append(text[: closes[-1].end()])
        text = text[closes[-1].end() :]
    return Thoughtless(text, "\n".join(piece for piece in cut if piece.strip()))
