"""Whether two queries can give the same result: rows as a bag, ties and free choices taken as what they are."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import permutations

ResultRow = tuple[object, ...]
MAX_ARRANGEMENTS = 720


@dataclass(frozen=True)
class Run:
    """Rows that stand together in the order of a result, of which `take` are returned: any that many of them."""

    rows: tuple[ResultRow, ...]
    take: int


@dataclass(frozen=True)
class Outcome:
    """What a query may return on one database.

    Attributes:
        runs: in the query's order; the rows of one run may come in any order. One run = no order.
        width: number of columns.
    """

    runs: tuple[Run, ...]
    width: int

    @property
    def size(self) -> int:
        """Number of rows that are returned."""
        return sum(run.take for run in self.runs)


def settled(value: object) -> object:
    """A result's cell in the form that is compared: floats to 9 digits, truth values as numbers, text as it is."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        if math.isnan(value):
            return ("nan",)
        if math.isinf(value):
            return value
        rounded = float(f"{value:.9g}")
        # A sum that should be zero, and is not for the order in which it was added up.
        return 0.0 if abs(rounded) < 1e-9 else rounded
    if isinstance(value, Decimal):
        whole = value.is_finite() and value == int(value)
        return int(value) if whole else settled(float(value))
    if isinstance(value, list):
        return tuple(settled(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((str(key), settled(item)) for key, item in value.items()))
    return value


def settled_rows(rows: Sequence[Sequence[object]]) -> tuple[ResultRow, ...]:
    """Every cell of a result in the form that is compared."""
    return tuple(tuple(settled(value) for value in row) for row in rows)


def outcome_of(
    rows: Sequence[ResultRow], width: int, keys: Sequence[ResultRow] | None, limit: int | None, offset: int
) -> Outcome:
    """Cut a whole result, as sorted, into runs of equal sort keys, and those by LIMIT and OFFSET.

    Args:
        rows: every row that the query has before LIMIT and OFFSET.
        width: number of columns.
        keys: the sort key of each row; `None` = the query has no order.
        limit: at most so many rows; `None` = all.
        offset: so many rows are skipped first.
    """
    groups: list[list[ResultRow]] = []
    for index, row in enumerate(rows):
        if groups and (keys is None or keys[index] == keys[index - 1]):
            groups[-1].append(row)
        else:
            groups.append([row])
    end = len(rows) if limit is None or limit < 0 else offset + limit
    runs, start = [], 0
    for group in groups:
        take = min(end, start + len(group)) - max(offset, start)
        if take > 0:
            # The order within a run says nothing: one form for all keeps equal outcomes equal.
            runs.append(Run(tuple(sorted(group, key=repr)) if len(group) > 1 else tuple(group), take))
        start += len(group)
    return Outcome(tuple(runs), width)


def may_agree(one: Outcome, other: Outcome, *, ordered: bool, columns: str) -> bool:
    """Whether some result of one query is a result of the other; in doubt yes.

    Args:
        one: what the first query may return.
        other: what the second query may return.
        ordered: both queries ask for an order, so that it counts.
        columns: `any` lets the columns be permuted, the same way in every row.
    """
    if one.size != other.size:
        return False
    if one.size == 0:
        return True
    if one.width != other.width:
        return False
    return any(_agree(one, arranged, ordered) for arranged in _arrangements(one, other, columns))


def _arrangements(one: Outcome, other: Outcome, columns: str) -> Iterator[Outcome]:
    yield other
    if columns != "any" or other.width < 2:
        return
    for count, order in enumerate(_orders(one, other)):
        if count > MAX_ARRANGEMENTS:
            # Too many ways to look through: claim nothing.
            yield one
            return
        if order != tuple(range(other.width)):
            runs = tuple(Run(tuple(tuple(row[i] for i in order) for row in run.rows), run.take) for run in other.runs)
            yield Outcome(runs, other.width)


def _orders(one: Outcome, other: Outcome) -> Iterator[tuple[int, ...]]:
    """Permutations of the other's columns under which each column could hold what the first's column holds."""
    if other.width <= 5:
        yield from permutations(range(other.width))
        return
    exact = all(run.take == len(run.rows) for outcome in (one, other) for run in outcome.runs)
    left, right = _columns(one), _columns(other)
    options = [[j for j in range(other.width) if not exact or left[i] == right[j]] for i in range(one.width)]
    yield from _matchings(options, [])


def _matchings(options: list[list[int]], chosen: list[int]) -> Iterator[tuple[int, ...]]:
    if len(chosen) == len(options):
        yield tuple(chosen)
        return
    for candidate in options[len(chosen)]:
        if candidate not in chosen:
            yield from _matchings(options, [*chosen, candidate])


def _columns(outcome: Outcome) -> list[Counter[object]]:
    rows = [row for run in outcome.runs for row in run.rows]
    return [Counter(row[index] for row in rows) for index in range(outcome.width)]


def _agree(one: Outcome, other: Outcome, ordered: bool) -> bool:
    if not ordered:
        return _share_bag(one.runs, other.runs)
    left, right = list(one.runs), list(other.runs)
    while left and right:
        lefts, rights = [left.pop(0)], [right.pop(0)]
        gap = lefts[0].take - rights[0].take
        while gap:
            run = right.pop(0) if gap > 0 else left.pop(0)
            (rights if gap > 0 else lefts).append(run)
            gap += -run.take if gap > 0 else run.take
        if not _share_bag(lefts, rights):
            return False
    return True


def _share_bag(lefts: Sequence[Run], rights: Sequence[Run]) -> bool:
    """Whether both can return the same bag of rows; each run is free in which of its rows it returns."""
    low_left, high_left = _bounds(lefts)
    low_right, high_right = _bounds(rights)
    total = sum(run.take for run in lefts)
    least = most = 0
    for row in high_left.keys() | high_right.keys():
        low = max(low_left[row], low_right[row])
        high = min(high_left[row], high_right[row])
        if low > high:
            return False
        least, most = least + low, most + high
    return least <= total <= most


def _bounds(runs: Sequence[Run]) -> tuple[Counter[ResultRow], Counter[ResultRow]]:
    low: Counter[ResultRow] = Counter()
    high: Counter[ResultRow] = Counter()
    for run in runs:
        counted = Counter(run.rows)
        spare = len(run.rows) - run.take
        for row, count in counted.items():
            high[row] += min(count, run.take)
            low[row] += max(0, count - spare)
    return low, high


def nearly_same(left: Sequence[ResultRow], right: Sequence[ResultRow]) -> bool:
    """Whether two bags differ by nothing but the last digits of floats."""
    if len(left) != len(right) or not left or len(left[0]) != len(right[0]):
        return len(left) == len(right) == 0
    return all(
        all(_near(a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(sorted(left, key=_sorting), sorted(right, key=_sorting), strict=True)
    )


def _near(a: object, b: object) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float) and (isinstance(a, float) or isinstance(b, float)):
        return math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9)
    return a == b


def _sorting(row: ResultRow) -> tuple[tuple[str, str], ...]:
    return tuple(
        ("n", f"{value:+.6e}") if isinstance(value, int | float) else (type(value).__name__, str(value))
        for value in row
    )
