"""Marks the parts in which two query texts differ, for the eye; it decides nothing."""

import re
from difflib import SequenceMatcher
from typing import NamedTuple

_TOKEN = re.compile(r"\s+|\w+(?:\.\w+)*|'(?:[^']|'')*'|\"[^\"]*\"|[<>=!]+|\$\w+|.", re.DOTALL)
_LONGEST = 600
"""Tokens past which only the common ends are taken off: the full match is quadratic."""


class Segment(NamedTuple):
    """A stretch of text, and whether the other side lacks it."""

    text: str
    differs: bool


def mark(expected: str, actual: str) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
    """Split both texts into segments that the other has and segments that it lacks.

    Letter case and the amount of white space are overlooked. Joined, the segments of a side are its text.
    """
    left, right = _TOKEN.findall(expected), _TOKEN.findall(actual)
    left_keys, right_keys = [_key(token) for token in left], [_key(token) for token in right]
    head = _common(left_keys, right_keys)
    tail = _common(left_keys[head:][::-1], right_keys[head:][::-1])
    left_flags = [False] * len(left)
    right_flags = [False] * len(right)
    left_middle, right_middle = left_keys[head : len(left) - tail], right_keys[head : len(right) - tail]
    if max(len(left_middle), len(right_middle)) > _LONGEST:
        unequal = [(0, len(left_middle), 0, len(right_middle))]
    else:
        codes = SequenceMatcher(None, left_middle, right_middle, autojunk=False).get_opcodes()
        unequal = [(i, j, k, m) for code, i, j, k, m in codes if code != "equal"]
    for start, stop, other_start, other_stop in unequal:
        left_flags[head + start : head + stop] = [True] * (stop - start)
        right_flags[head + other_start : head + other_stop] = [True] * (other_stop - other_start)
    return _joined(left, left_flags), _joined(right, right_flags)


def _key(token: str) -> str:
    return " " if token.isspace() else token.lower()


def _common(left: list[str], right: list[str]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


def _joined(tokens: list[str], flags: list[bool]) -> tuple[Segment, ...]:
    """Neighbouring tokens of one kind as one segment; white space at the edge of a mark is not part of it."""
    segments: list[Segment] = []
    start = 0
    for end in range(1, len(tokens) + 1):
        if end < len(tokens) and flags[end] == flags[start]:
            continue
        text = "".join(tokens[start:end])
        if flags[start]:
            inner = text.strip()
            before, _, after = text.partition(inner) if inner else (text, "", "")
            parts = [(before, False), (inner, True), (after, False)]
        else:
            parts = [(text, False)]
        segments += [Segment(part, differs) for part, differs in parts if part]
        start = end
    return tuple(segments)
