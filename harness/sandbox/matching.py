"""Whether two result sets are the same: as multisets, in order, or aligned on a key, with streaming and bounded memory.

Standard library alone: it runs inside the walls, next to the engine, so that rows never leave them. Columns stand by
position. A row is one thing; its values are never compared apart from it. When two values agree says `agreement`; how
rows are paired within a tolerance says `pairing`.
"""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice

from harness.sandbox.agreement import PLAIN, Row, agree, holds_float, row_key, rows_agree
from harness.sandbox.pairing import Pairing

SAMPLE = 5
BLOCK = 4096
_DECEPTIVE = frozenset({bool, list, tuple, dict})


class DeadlineError(Exception):
    """The comparison could not be finished in time."""


class _Clock:
    """Looks at the time now and then."""

    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline
        self._count = 0

    def tick(self, work: int = 1) -> None:
        """Count some work; raise when the time is over."""
        self._count += work
        if self._deadline is not None and self._count >= 4096:
            self._count = 0
            if time.monotonic() > self._deadline:
                raise DeadlineError


class Verdict:
    """How two row sets stand to each other.

    Attributes:
        equal: whether they are the same.
        expected_count: rows on the expected side.
        actual_count: rows on the actual side.
        missing_count: expected rows that no actual row pairs with.
        extra_count: actual rows that no expected row pairs with.
        missing: the first few of the missing rows.
        extra: the first few of the extra rows.
        first_difference: with an order, the 0-based row at which the two part.
    """

    __slots__ = (
        "actual_count",
        "equal",
        "expected_count",
        "extra",
        "extra_count",
        "first_difference",
        "missing",
        "missing_count",
    )

    def __init__(self) -> None:
        self.equal = True
        self.expected_count = 0
        self.actual_count = 0
        self.missing_count = 0
        self.extra_count = 0
        self.missing: list[Row] = []
        self.extra: list[Row] = []
        self.first_difference: int | None = None

    def lacks(self, row: Row, times: int = 1) -> None:
        """Note an expected row without a partner."""
        self.equal = False
        self.missing_count += times
        self.missing.extend([row] * min(times, SAMPLE - len(self.missing)))

    def exceeds(self, row: Row, times: int = 1) -> None:
        """Note an actual row without a partner."""
        self.equal = False
        self.extra_count += times
        self.extra.extend([row] * min(times, SAMPLE - len(self.extra)))


def compare_ordered(
    expected: Iterable[Row],
    actual: Iterable[Row],
    tolerance: float,
    *,
    sort_key: Callable[[Row], Row] | None = None,
    visible: int | None = None,
    deadline: float | None = None,
) -> Verdict:
    """Compare row by row, in order.

    Args:
        expected: rows of the reference; may carry more columns than are compared (see `visible`).
        actual: rows to check.
        tolerance: absolute tolerance between finite floats.
        sort_key: the values by which the reference is ordered, from one of its rows; neighbours with the same ones are
            a tie, and within a tie the order is open. `None` = the order is total.
        visible: how many leading columns of an expected row are compared, `None` = all.
        deadline: `time.monotonic()` at which to give up.

    Raises:
        DeadlineError: not finished in time.
    """
    verdict = Verdict()
    clock = _Clock(deadline)
    rows = map(tuple, actual)
    for tie in _ties(map(tuple, expected), sort_key):
        wanted = [row[:visible] for row in tie] if visible is not None else tie
        found = list(islice(rows, len(wanted)))
        clock.tick(len(wanted))
        if len(wanted) > 1 or not found or not rows_agree(wanted[0], found[0], tolerance):
            part = compare_unordered(wanted, found, tolerance, deadline=deadline)
            if not part.equal:
                _note(verdict, part)
        verdict.expected_count += len(wanted)
        verdict.actual_count += len(found)
    for row in rows:
        clock.tick()
        if verdict.first_difference is None:
            verdict.first_difference = verdict.expected_count
        verdict.actual_count += 1
        verdict.exceeds(row)
    return verdict


def _note(verdict: Verdict, part: Verdict) -> None:
    """Add what one tie lacks and exceeds to the whole."""
    if verdict.first_difference is None:
        verdict.first_difference = verdict.expected_count
    verdict.equal = False
    verdict.missing_count += part.missing_count
    verdict.extra_count += part.extra_count
    verdict.missing.extend(part.missing[: SAMPLE - len(verdict.missing)])
    verdict.extra.extend(part.extra[: SAMPLE - len(verdict.extra)])


def _ties(rows: Iterable[Row], sort_key: Callable[[Row], Row] | None) -> Iterator[list[Row]]:
    if sort_key is None:
        for row in rows:
            yield [row]
        return
    tie: list[Row] = []
    last: Row | None = None
    for row in rows:
        key = row_key(sort_key(row))
        if tie and key != last:
            yield tie
            tie = []
        tie.append(row)
        last = key
    if tie:
        yield tie


def compare_unordered(
    expected: Iterable[Row], actual: Iterable[Row], tolerance: float, *, deadline: float | None = None
) -> Verdict:
    """Compare as multisets.

    Rows that are the same on both sides are counted off as they stream by. That alone can say "equal". It cannot say
    "unequal" where floats are near each other (a row counted off might have had to pair with another one), so then the
    rows counted off are taken into the assignment: by a second pass over sequences, from memory for one-shot iterators.

    Raises:
        DeadlineError: not finished in time.
    """
    clock = _Clock(deadline)
    twice = isinstance(expected, Sequence) and isinstance(actual, Sequence)
    balance = _Balance(tolerance, keep=tolerance > 0 and not twice)
    balance.read(expected, actual, clock)
    if balance.difference and balance.floats and tolerance > 0:
        if twice:
            balance = _Balance(tolerance, keep=True)
            balance.read(expected, actual, clock)
        return _assign(balance, clock)
    verdict = Verdict()
    verdict.expected_count, verdict.actual_count = balance.counts
    for count, row in balance.difference.values():
        if count > 0:
            verdict.lacks(row, count)
        else:
            verdict.exceeds(row, -count)
    return verdict


class _Balance:
    """What two streams of rows have over against each other.

    Attributes:
        difference: by key, how many more times the row is expected than found (never 0), and the row.
        kept: rows that were counted off, where they are kept.
        floats: positions of columns in which a finite float was seen.
        counts: rows read on the expected and on the actual side.
    """

    def __init__(self, tolerance: float, *, keep: bool) -> None:
        self.tolerance = tolerance
        self.difference: dict[Hashable, tuple[int, Row]] = {}
        self.kept: list[Row] = []
        self.floats: set[int] = set()
        self.counts = [0, 0]
        self._keep = keep
        # From a tolerance of 1 on, two integers may be near and yet not agree: the type is a part of the key.
        self._typed = tolerance >= 1

    def read(self, expected: Iterable[Row], actual: Iterable[Row], clock: _Clock) -> None:
        """Read both sides to their ends, a block at a time."""
        left, right = iter(expected), iter(actual)
        while True:
            wanted = list(map(tuple, islice(left, BLOCK)))
            found = list(map(tuple, islice(right, BLOCK)))
            if not wanted and not found:
                return
            clock.tick(len(wanted) + len(found))
            self.counts[0] += len(wanted)
            self.counts[1] += len(found)
            if not self._typed and blocks_equal(wanted, found):
                if self._keep:
                    self.kept.extend(wanted)
                continue
            for row in wanted:
                self._add(row, 1)
            for row in found:
                self._add(row, -1)

    def _add(self, row: Row, change: int) -> None:
        plain = True
        for position, value in enumerate(row):
            kind = type(value)
            if kind is float:
                plain = False
                if math.isfinite(value):
                    self.floats.add(position)
            elif kind not in PLAIN:
                plain = False
                if holds_float(value):
                    self.floats.add(position)
        key: Hashable = row if plain else row_key(row)
        if self._typed:
            key = (key, tuple(type(value) is float for value in row))
        count, first = self.difference.get(key, (0, row))
        if self._keep and count * change < 0:
            self.kept.append(row)
        if count + change:
            self.difference[key] = (count + change, first)
        else:
            del self.difference[key]


def blocks_equal(one: list[Row], other: list[Row]) -> bool:
    """Whether two blocks are the same row by row, by the fast check alone (`False` = look closer)."""
    if one != other:
        return False
    kinds = set(map(type, chain.from_iterable(one)))
    # Python finds True equal to 1, also within nested values; those need the slow look.
    return kinds.isdisjoint(_DECEPTIVE) and kinds == set(map(type, chain.from_iterable(other)))


def _assign(balance: _Balance, clock: _Clock) -> Verdict:
    """Pair the rows that are left over, and those counted off near them; note the rows that stay alone."""
    verdict = Verdict()
    verdict.expected_count, verdict.actual_count = balance.counts
    pairing = Pairing(sorted(balance.floats), balance.tolerance, clock.tick)
    groups: dict[Hashable, tuple[list[Row], list[Row]]] = {}
    for count, row in balance.difference.values():
        clock.tick(abs(count))
        sides = groups.setdefault(pairing.group(row), ([], []))
        sides[0 if count > 0 else 1].extend([row] * abs(count))
    for row in balance.kept:
        clock.tick()
        if (group := groups.get(pairing.group(row))) is not None:
            group[0].append(row)
            group[1].append(row)
    for wanted, found in groups.values():
        missing, extra = pairing.alone(wanted, found)
        for row in missing:
            verdict.lacks(row)
        for row in extra:
            verdict.exceeds(row)
    return verdict


def compare_keyed(
    expected: Iterable[Row],
    actual: Iterable[Row],
    key: Sequence[int],
    tolerance: float,
    *,
    null_equals_null: bool = True,
    deadline: float | None = None,
) -> "KeyedVerdict":
    """Align rows on key columns and compare the others column by column.

    NULL keys and keys that occur more than once cannot align; they are counted and make the two unequal.

    Raises:
        DeadlineError: not finished in time.
    """
    verdict = KeyedVerdict()
    clock = _Clock(deadline)
    left = _index(expected, key, verdict, clock, 0)
    right = _index(actual, key, verdict, clock, 1)
    key_set = set(key)
    for values, row in left.items():
        clock.tick()
        other = right.get(values)
        if other is None:
            verdict.lacks(row)
            continue
        unlike = _unlike(row, other, tolerance, null_equals_null) - key_set
        if unlike:
            verdict.equal = False
            for position in unlike:
                verdict.column_counts[position] = verdict.column_counts.get(position, 0) + 1
            if len(verdict.changed) < SAMPLE:
                verdict.changed.append((row, other))
    for values, row in right.items():
        if values not in left:
            verdict.exceeds(row)
    return verdict


class KeyedVerdict(Verdict):
    """A verdict of a keyed comparison.

    Attributes:
        column_counts: rows whose value differs, by column position.
        null_keys: rows with a NULL in their key, on the expected and on the actual side.
        duplicate_keys: rows beyond the first of their key, on either side.
        changed: the first few pairs of aligned rows that differ.
    """

    __slots__ = ("changed", "column_counts", "duplicate_keys", "null_keys")

    def __init__(self) -> None:
        super().__init__()
        self.column_counts: dict[int, int] = {}
        self.null_keys = [0, 0]
        self.duplicate_keys = [0, 0]
        self.changed: list[tuple[Row, Row]] = []


def _index(rows: Iterable[Row], key: Sequence[int], verdict: KeyedVerdict, clock: _Clock, side: int) -> dict[Row, Row]:
    index: dict[Row, Row] = {}
    note = verdict.exceeds if side else verdict.lacks
    for row in map(tuple, rows):
        clock.tick()
        if side:
            verdict.actual_count += 1
        else:
            verdict.expected_count += 1
        values = row_key(tuple(row[position] for position in key))
        if None in values:
            verdict.null_keys[side] += 1
            note(row)
        elif values in index:
            verdict.duplicate_keys[side] += 1
            note(row)
        else:
            index[values] = row
    return index


def _unlike(row: Row, other: Row, tolerance: float, null_equals_null: bool) -> set[int]:
    """Positions at which two aligned rows differ."""
    return {
        position
        for position, (one, two) in enumerate(zip(row, other, strict=True))
        if not (null_equals_null if one is None and two is None else agree(one, two, tolerance))
    }
