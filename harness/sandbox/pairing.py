"""The largest one-to-one pairing of two sets of rows that agree within a tolerance.

Standard library alone: it runs inside the walls. Within a tolerance, agreement is not transitive, so neither rounding
nor sorting nor cancelling equal rows first decides whether a pairing exists; it is an assignment problem. It stays
nearly linear: rows are grouped by their exact values, groups are cut wherever no row can reach across, and the pieces
are paired in sorted order where that works, which is always when the rows differ in one column and nearly always
otherwise. What is left goes through augmenting paths (Hopcroft and Karp), with neighbours looked up in a window.
"""

import sys
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import Any

from harness.sandbox.agreement import Row, exact, holds_float, is_finite, is_number, near, rows_agree

_NESTED = (list, tuple, dict)


class Pairing:
    """Pairs rows that agree.

    Args:
        floats: positions of columns in which finite floats occur.
        tolerance: absolute tolerance between finite floats.
        tick: called with an amount of work done; may raise to stop.
    """

    def __init__(self, floats: list[int], tolerance: float, tick: Callable[[int], None]) -> None:
        self._floats = floats
        self._tolerance = tolerance
        self._tick = tick

    def group(self, row: Row) -> Hashable:
        """What of a row must be exactly equal in its partner; a number in a float column must only be near."""
        part: list[Hashable] = [len(row)]
        for position, value in enumerate(row):
            if type(value) in _NESTED:
                loose = holds_float(value)
            else:
                loose = position in self._floats and is_number(value) and is_finite(value)
            part.append("≈" if loose else ("=", exact(value)))
        return tuple(part)

    def alone(self, wanted: list[Row], found: list[Row]) -> tuple[list[Row], list[Row]]:
        """The rows of one group, of either side, that stay without a partner in a largest pairing."""
        lonely: tuple[list[Row], list[Row]] = ([], [])
        for left, right in self._pieces(wanted, found):
            self._tick(len(left) + len(right))
            rest = self._pair(left, right)
            lonely[0].extend(rest[0])
            lonely[1].extend(rest[1])
        return lonely

    def _pieces(self, wanted: list[Row], found: list[Row]) -> list[tuple[list[Row], list[Row]]]:
        """Cut a group along each float column in turn, wherever two neighbours are further apart than the tolerance."""
        pieces = [(wanted, found)]
        for position in self._floats:
            pieces = [part for left, right in pieces for part in self._cut(left, right, position)]
        return pieces

    def _cut(self, wanted: list[Row], found: list[Row], position: int) -> Iterator[tuple[list[Row], list[Row]]]:
        rows = [(row, 0) for row in wanted] + [(row, 1) for row in found]
        if not all(_measurable(row, position) for row, _ in rows):
            yield wanted, found
            return
        self._tick(len(rows))
        rows.sort(key=lambda pair: pair[0][position])
        piece: tuple[list[Row], list[Row]] = ([], [])
        last: Any = None
        for row, side in rows:
            if last is not None and not near(last, row[position], self._tolerance):
                yield piece
                piece = ([], [])
            piece[side].append(row)
            last = row[position]
        yield piece

    def _pair(self, wanted: list[Row], found: list[Row]) -> tuple[list[Row], list[Row]]:
        if not wanted or not found:
            return wanted, found
        if len(wanted) == len(found) and self._sorted_agree(wanted, found):
            return [], []
        if (position := self._on_a_line(wanted + found)) is not None:
            return self._pair_on_a_line(wanted, found, position)
        return _Augmentation(wanted, found, self._widest(wanted + found), self._tolerance, self._tick).run()

    def _sorted_agree(self, wanted: list[Row], found: list[Row]) -> bool:
        """Whether pairing in sorted order happens to agree everywhere (which settles it, and usually does)."""

        def key(row: Row) -> list[Any]:
            return [row[position] if _measurable(row, position) else 0 for position in self._floats]

        pairs = zip(sorted(wanted, key=key), sorted(found, key=key), strict=True)
        return all(rows_agree(one, other, self._tolerance) for one, other in pairs)

    def _on_a_line(self, rows: list[Row]) -> int | None:
        """The one column in which the rows of a piece differ, if there is just one and it holds floats only."""
        if any(type(value) in _NESTED for value in rows[0]):
            return None
        first = rows[0]
        loose = [position for position in self._floats if _measurable(first, position)]
        moving = [position for position in loose if any(row[position] != first[position] for row in rows)]
        if len(moving) != 1 or any(type(row[moving[0]]) is not float for row in rows):
            return None
        return moving[0]

    def _pair_on_a_line(self, wanted: list[Row], found: list[Row], position: int) -> tuple[list[Row], list[Row]]:
        """In one dimension the pairing that always takes the leftmost two that agree is the largest."""
        wanted = sorted(wanted, key=lambda row: row[position])
        found = sorted(found, key=lambda row: row[position])
        lonely: tuple[list[Row], list[Row]] = ([], [])
        left = right = 0
        while left < len(wanted) and right < len(found):
            one, other = wanted[left][position], found[right][position]
            if abs(one - other) <= self._tolerance:
                left, right = left + 1, right + 1
            elif one < other:
                lonely[0].append(wanted[left])
                left += 1
            else:
                lonely[1].append(found[right])
                right += 1
        lonely[0].extend(wanted[left:])
        lonely[1].extend(found[right:])
        return lonely

    def _widest(self, rows: list[Row]) -> int | None:
        """The float column whose values are spread the furthest: the best one to look neighbours up by."""
        spans = {}
        for position in self._floats:
            if all(_measurable(row, position) for row in rows):
                values = [row[position] for row in rows]
                spans[position] = Fraction(max(values)) - Fraction(min(values))
        return max(spans, key=lambda position: spans[position]) if spans else None


def _measurable(row: Row, position: int) -> bool:
    return position < len(row) and is_number(row[position]) and is_finite(row[position])


class _Augmentation:
    """A largest matching by augmenting paths; neighbours of a row are looked up in a window along one column."""

    def __init__(
        self,
        wanted: list[Row],
        found: list[Row],
        position: int | None,
        tolerance: float,
        tick: Callable[[int], None],
    ) -> None:
        def where(row: Row) -> Fraction:
            return Fraction(0) if position is None else Fraction(row[position])

        self._wanted = sorted(wanted, key=where)
        self._found = sorted(found, key=where)
        self._from = [where(row) for row in self._wanted]
        self._places = [where(row) for row in self._found]
        # A float difference is rounded: look a little further than the tolerance, the rows decide.
        self._slack = Fraction(tolerance) * Fraction(1000001, 1000000)
        self._tolerance = tolerance
        self._tick = tick
        self._partner = [-1] * len(wanted)
        self._owner = [-1] * len(found)

    def run(self) -> tuple[list[Row], list[Row]]:
        """Pair as many as can be; the rows left over on either side."""
        self._guess()
        while (level := self._levels()) is not None:
            for index, partner in enumerate(self._partner):
                if partner < 0:
                    self._augment(index, level)
        return (
            [self._wanted[index] for index, partner in enumerate(self._partner) if partner < 0],
            [self._found[index] for index, owner in enumerate(self._owner) if owner < 0],
        )

    def _neighbours(self, index: int) -> Iterator[int]:
        place = self._from[index]
        low = bisect_left(self._places, place - self._slack)
        high = bisect_right(self._places, place + self._slack)
        for other in range(low, high):
            self._tick(1)
            if rows_agree(self._wanted[index], self._found[other], self._tolerance):
                yield other

    def _guess(self) -> None:
        """Start with the same place in sorted order, then with whatever is free."""
        for index in range(min(len(self._wanted), len(self._found))):
            if rows_agree(self._wanted[index], self._found[index], self._tolerance):
                self._partner[index], self._owner[index] = index, index
        for index, partner in enumerate(self._partner):
            for other in self._neighbours(index) if partner < 0 else ():
                if self._owner[other] < 0:
                    self._partner[index], self._owner[other] = other, index
                    break

    def _levels(self) -> list[int] | None:
        """Each expected row's distance from a free one along alternating edges; `None` = no free partner is reached."""
        level = [sys.maxsize] * len(self._partner)
        queue: deque[int] = deque()
        for index, partner in enumerate(self._partner):
            if partner < 0:
                level[index] = 0
                queue.append(index)
        reached = False
        while queue:
            index = queue.popleft()
            for other in self._neighbours(index):
                owner = self._owner[other]
                if owner < 0:
                    reached = True
                elif level[owner] == sys.maxsize:
                    level[owner] = level[index] + 1
                    queue.append(owner)
        return level if reached else None

    def _augment(self, start: int, level: list[int]) -> None:
        """Look for a path from a free expected row to a free actual row (depth first, by levels) and flip it."""
        path: list[tuple[int, Iterator[int]]] = [(start, self._neighbours(start))]
        taken: list[int] = []
        while path:
            index, options = path[-1]
            for other in options:
                owner = self._owner[other]
                if owner < 0:
                    taken.append(other)
                    for (one, _), two in zip(path, taken, strict=True):
                        self._partner[one], self._owner[two] = two, one
                    return
                if level[owner] == level[index] + 1:
                    taken.append(other)
                    path.append((owner, self._neighbours(owner)))
                    break
            else:
                level[index] = sys.maxsize
                path.pop()
                if taken:
                    taken.pop()
