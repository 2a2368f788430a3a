"""Brings the cases of several runs together: only what asked the same and expected the same is ever compared."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.comparison.sides import CaseSide, Side
from harness.types.frozen import Frozen


class Changed(Frozen):
    """A case that is not the same in all runs: left out of the comparison.

    Attributes:
        id: the case.
        what: what differs, in words.
        labels: the sides that differ from the first that has the case.
    """

    id: str
    what: str
    labels: tuple[str, ...]


class Alignment(Frozen):
    """What could be compared, and what could not.

    Attributes:
        compared: cases that every run has, unchanged.
        changed: cases whose golden row was edited between the runs.
        missing: ids that a run lacks though another has them, by label.
        duplicated: ids that stand more than once in one run, by label; which of them counts cannot be known.
        undigested: sides without case digests: their cases are matched by id, sentence and golden text.
    """

    compared: int
    changed: tuple[Changed, ...] = ()
    missing: dict[str, tuple[str, ...]] = {}
    duplicated: dict[str, tuple[str, ...]] = {}
    undigested: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether every case of every run is compared."""
        return not (self.changed or self.missing or self.duplicated)


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A case that every run has: one side a run, in the order of the runs."""

    sides: tuple[CaseSide, ...]

    @property
    def id(self) -> str:
        """The case."""
        return self.sides[0].id

    @property
    def nl(self) -> str:
        """The sentence, from the first side that has it."""
        return next((side.nl for side in self.sides if side.nl), "")

    @property
    def expected(self) -> str:
        """The golden, from the first side that has it."""
        return next((side.expected for side in self.sides if side.expected), "")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags, from the first side that has any."""
        return next((side.tags for side in self.sides if side.tags), ())

    @property
    def cluster(self) -> str:
        """The independent unit that the case belongs to."""
        group = next((side.group for side in self.sides if side.group), None)
        return f"group {group}" if group else f"case {self.id}"


def align(sides: Sequence[Side]) -> tuple[tuple[ComparedCase, ...], Alignment]:
    """Bring the cases together by id, and compare only those that are the same on every side."""
    counts = [Counter(case.id for case in side.cases) for side in sides]
    duplicated = {
        side.label: tuple(identity for identity, count in counted.items() if count > 1)
        for side, counted in zip(sides, counts, strict=True)
        if any(count > 1 for count in counted.values())
    }
    doubtful = {identity for ids in duplicated.values() for identity in ids}
    by_id = [{case.id: case for case in side.cases} for side in sides]
    order = list(dict.fromkeys(case.id for side in sides for case in side.cases))
    missing = {
        side.label: absent
        for side, cases in zip(sides, by_id, strict=True)
        if (absent := tuple(identity for identity in order if identity not in cases))
    }
    compared: list[ComparedCase] = []
    changed: list[Changed] = []
    labels = [side.label for side in sides]
    for identity in order:
        present = [(label, cases[identity]) for label, cases in zip(labels, by_id, strict=True) if identity in cases]
        change = _change(present)
        if change is not None:
            changed.append(change)
        elif len(present) == len(sides) and identity not in doubtful:
            compared.append(ComparedCase(tuple(case for _, case in present)))
    undigested = tuple(side.label for side in sides if any(case.digest is None for case in side.cases))
    return tuple(compared), Alignment(
        compared=len(compared),
        changed=tuple(changed),
        missing=missing,
        duplicated=duplicated,
        undigested=undigested,
    )


def _change(present: Sequence[tuple[str, CaseSide]]) -> Changed | None:
    """How a case differs between the runs that have it, `None` where it does not."""
    (_, first), rest = present[0], present[1:]
    found = [(label, what) for label, other in rest if (what := _what_changed(first, other))]
    if not found:
        return None
    reasons = tuple(dict.fromkeys(what for _, what in found))
    return Changed(id=first.id, what="; ".join(reasons), labels=tuple(label for label, _ in found))


def _what_changed(one: CaseSide, other: CaseSide) -> str:
    """What differs between two sightings of a case, "" where nothing does."""
    if one.digest is not None and one.digest == other.digest:
        return ""
    parts = [
        name
        for name, before, after in (
            ("the sentence", one.nl, other.nl),
            ("the golden query", one.expected, other.expected),
        )
        if before is not None and after is not None and before != after
    ]
    if one.digest is None or other.digest is None:
        return " and ".join(parts)
    if one.tags != other.tags:
        parts.append("the tags")
    if one.group != other.group:
        parts.append("the group")
    return " and ".join(parts) or "its clock, scope, alternatives or rules"
