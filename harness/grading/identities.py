"""Identities of the user's own: rewritings that their author vouches for, asked only where nothing else decides.

An identity joins a pair only if canon could neither join nor refute it and no data was found on which the two differ.
Where it does, its name stands in `absorbed` as `user:NAME`, so that every report shows what the grade rests on. It can
never overrule a refutation, a witness, or a pair of which one side cannot be read.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from canon.verdict import Canonical, Identical, Proved, Undecided
from harness import plugins
from harness.errors import UsageError
from harness.grading.comparing import compare
from harness.grading.seams import MongoPair, SqlPair

PREFIX = "user:"


@dataclass(frozen=True)
class Identity:
    """One rewriting.

    Attributes:
        name: what `absorbed` calls it, after `user:`.
        law: the law in one line, for its reader.
        rewrite: from a query's text and dialect (`mongo`, or a SQL dialect) to the text that means the same; the text
            itself where the law does not apply.
    """

    name: str
    law: str
    rewrite: Callable[[str, str], str]

    def __post_init__(self) -> None:
        if not self.name or any(letter.isspace() for letter in self.name) or not self.law.strip():
            raise UsageError("an identity has a name without blanks, and a law in words")


def installed() -> tuple[Identity, ...]:
    """The identities of the entry points `rung.identities`, by name.

    Raises:
        UsageError: one cannot be loaded, or is no `Identity`.
    """
    found = []
    for name in plugins.names(plugins.IDENTITIES):
        identity = plugins.load(plugins.IDENTITIES, name)
        if not isinstance(identity, Identity):
            raise UsageError(f"the entry point {name} of {plugins.IDENTITIES} is no harness.Identity")
        found.append(identity)
    return tuple(found)


def joined(pair: SqlPair | MongoPair, found: Undecided, identities: Sequence[Identity]) -> Canonical | None:
    """What the identities make of an undecided pair: the evidence if they join it, else `None`."""
    if found.problem is not None or any(each.kind in ("vacuous", "nondeterministic") for each in found.differences):
        return None
    dialect = "mongo" if isinstance(pair, MongoPair) else pair.dialect
    expected, actual, used = pair.expected, pair.actual, []
    for identity in identities:
        ours, theirs = identity.rewrite(expected, dialect), identity.rewrite(actual, dialect)
        if (ours, theirs) != (expected, actual):
            expected, actual = ours, theirs
            used.append(PREFIX + identity.name)
    if not used:
        return None
    verdict = compare(dataclasses.replace(pair, expected=expected, actual=actual))
    match verdict:
        case Identical():
            return Canonical(absorbed=tuple(used))
        case Canonical(absorbed=absorbed) | Proved(absorbed=absorbed):
            return Canonical(absorbed=(*absorbed, *used))
        case _:
            return None
