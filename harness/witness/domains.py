"""The values that are worth trying in each column: constants of the queries, their neighbours, a few plain ones."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from canon.schema import Column
from harness.witness.conditions import Demands, Place
from harness.witness.database import Layout, Relation, Value

_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_MOMENT = re.compile(r"\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}(:\d{2})?")
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?\s*")
BASE_DATE = date(2012, 6, 15)
MAX_POOL = 40
_PLAIN: dict[str, tuple[Value, ...]] = {
    "integer": (1, 2, 3, 0, -1, 4),
    "real": (1.0, 2.0, 0.5, 0.0, -1.5, 3.0),
    "decimal": (1.0, 2.0, 0.5, 0.0, -1.5, 3.0),
    "text": ("a", "b", "c", "A", "", "d"),
    "boolean": (1, 0),
    "time": ("10:00:00", "10:00:01", "23:59:59", "00:00:00"),
    "blob": (b"a", b"b"),
    "json": ("{}", "1"),
    "uuid": ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"),
}
LIMITS = {"integer": (-(2**31), 2**31 - 1), "real": (-1e12, 1e12), "decimal": (-1e9, 1e9)}


@dataclass(frozen=True)
class Domain:
    """The values of one column, the ones that a query names first.

    Attributes:
        named: constants of the queries and what is made of them.
        near: their neighbours.
        plain: values of the type that no query names.
    """

    named: tuple[Value, ...]
    near: tuple[Value, ...]
    plain: tuple[Value, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """All of them, each once."""
        return tuple(_distinct((*self.named, *self.near, *self.plain)))[:MAX_POOL]


def domains_of(
    demands: Demands,
    layout: Layout,
    tables: Iterable[Relation],
    *,
    allowed: Callable[[Relation, int, Value], bool],
    fixture: Mapping[Place, tuple[Value, ...]],
    declared: Mapping[Place, list[Value]],
    folds: bool = False,
) -> tuple[dict[Place, Domain], dict[Place, Place]]:
    """Gather a domain for every column of the tables; columns that are compared share their values.

    Args:
        demands: what the queries ask.
        layout: the schema.
        tables: the tables that may hold rows.
        allowed: whether a CHECK condition lets a column hold a value.
        fixture: values that the columns hold in the user's fixture.
        declared: constants that CHECK conditions name.
        folds: texts that differ in case or trailing blanks only are equal, and must not meet.

    Returns:
        The domain of each column, and for each column the one that stands for all those it is compared with.
    """
    classes = _classes(demands, layout, tables)
    shared: dict[Place, list[Value]] = {}
    for place, root in classes.items():
        shared.setdefault(root, []).extend(demands.literals.get(place, ()))
        shared[root] += demands.examples.get(place, ())
    found: dict[Place, Domain] = {}
    for relation in tables:
        for index, column in enumerate(relation.columns):
            place = Place(relation.name, index)
            raw = [*shared.get(classes.get(place, place), ()), *fixture.get(place, ())]
            kind = kind_of(column, place, demands)
            domain = _with_declared(_domain(column, kind, raw, demands), declared.get(place, []), kind, column)
            domain = _apart(domain) if folds else domain
            if column.type == "integer" and index in _identifying(relation):
                # A negative number identifies nothing in practice; a reader would not believe the witness.
                domain = _kept(domain, lambda value: not (isinstance(value, int) and value < 0))
            found[place] = _kept(domain, lambda v, r=relation, i=index: allowed(r, i, v))  # type: ignore[misc]
    return found, classes


def _identifying(relation: Relation) -> set[int]:
    return {i for key in relation.keys for i in key} | {i for ref in relation.references for i in ref.columns}


def kind_of(column: Column, place: Place, demands: Demands) -> str:
    """What values a column is given: its type, or what the queries use it as where the type leaves that open."""
    if column.type == "any":
        literals = demands.literals.get(place, ())
        if place in demands.dated:
            return "date text"
        if any(isinstance(value, str) for value in literals) or demands.examples.get(place):
            return "text"
        return "integer"
    if column.type == "text":
        if place in demands.dated:
            return "date text"
        return "number text" if place in demands.numeric else "text"
    return column.type


def telling_values(content: list[Value]) -> tuple[Value, ...]:
    """A few values of a column that stand for all: the ends and what lies beyond them, the mean, some others."""
    held = list(dict.fromkeys(value for value in content if value is not None))
    if any(isinstance(value, tuple) for value in held):
        return tuple(held[:6])
    numbers = [n for value in content if (n := _as_number(value)) is not None and not isinstance(value, bool)]
    if numbers and len(numbers) == sum(value is not None for value in content):
        mean = sum(numbers) / len(numbers)
        found: list[Value] = [max(numbers), max(numbers) + 1, min(numbers), min(numbers) - 1, round(mean, 2), mean]
        return tuple(_distinct(found))
    texts = sorted(value for value in held if isinstance(value, str))
    if texts and (day := _as_date(texts[-1])) is not None:
        return (*texts[-1:], *_near_dates(texts[-1], day, "timestamp")[:3], *texts[:1], *texts[1:3])
    return (
        *texts[-1:],
        *(f"{text}z" for text in texts[-1:]),
        *(value for value in held[:5] if value not in texts[-1:]),
    )


def _classes(demands: Demands, layout: Layout, tables: Iterable[Relation]) -> dict[Place, Place]:
    """The representative of each column under "is compared with" and "refers to"."""
    parent: dict[Place, Place] = {}

    def root(place: Place) -> Place:
        while (above := parent.setdefault(place, place)) != place:
            parent[place] = parent[above]
            place = above
        return place

    for one, other in demands.alike:
        parent[root(other)] = root(one)
    for relation in tables:
        for reference in relation.references:
            for here, there in zip(reference.columns, reference.parent_columns, strict=True):
                parent[root(Place(relation.name, here))] = root(Place(reference.parent, there))
    return {
        place: root(place)
        for relation in tables
        for place in (Place(relation.name, index) for index in range(len(relation.columns)))
    }


def _domain(column: Column, kind: str, raw: list[Value], demands: Demands) -> Domain:
    if column.values is not None:
        return Domain((), (), column.values)
    if kind == "array":
        return _arrays(raw, column.item)
    named = [value for item in raw for value in fitting(item, kind, column)]
    near = [value for item in named for value in _neighbours(item, kind)]
    plain: list[Value]
    if kind in {"date", "timestamp", "timestamptz", "date text"}:
        plain = _dates(named, kind, demands.steps)
    elif kind == "number text":
        plain = ["1", "2", "10", "9", "0", "1.5"]
    else:
        plain = list(_PLAIN.get(kind, _PLAIN["text"]))
    return Domain(
        tuple(_distinct(named))[:MAX_POOL],
        tuple(_distinct(v for item in near for v in fitting(item, kind, column)))[:MAX_POOL],
        tuple(_distinct(v for item in plain for v in fitting(item, kind, column))),
    )


def _apart(domain: Domain) -> Domain:
    """The domain without a second form of a text that a folding collation holds equal to the first."""
    seen: set[Value] = set()
    parts: list[tuple[Value, ...]] = []
    for part in (domain.named, domain.near, domain.plain):
        kept: list[Value] = []
        for value in part:
            form = value.casefold().rstrip() if isinstance(value, str) else value
            if form not in seen:
                seen.add(form)
                kept.append(value)
        parts.append(tuple(kept))
    return Domain(*parts)


def _arrays(raw: list[Value], item: str) -> Domain:
    """Arrays of the named elements: each alone, all, all but one, with another, none."""
    elements: list[str | int] = []
    for value in raw:
        elements += value if isinstance(value, tuple) else [value] if isinstance(value, str | int) else []
    elements = list(dict.fromkeys(elements))[:5]
    other: str | int = 7 if item == "integer" else "z"
    named = [(element,) for element in elements]
    whole = tuple(elements)
    near = [whole, *(tuple(e for e in whole if e != left) for left in whole[:3]), (*whole, other), whole[::-1]]
    return Domain(tuple(named), tuple(dict.fromkeys(near)), ((), (other,)))


def _with_declared(domain: Domain, constants: list[Value], kind: str, column: Column) -> Domain:
    """The domain, its plain values led by those that the schema itself names and their neighbours."""
    named = [value for item in constants for value in fitting(item, kind, column)]
    near = [value for item in named for raw in _neighbours(item, kind) for value in fitting(raw, kind, column)]
    return Domain(domain.named, domain.near, tuple(_distinct((*named, *domain.plain, *near))))


def _kept(domain: Domain, allowed: Callable[[Value], bool]) -> Domain:
    return Domain(
        tuple(v for v in domain.named if allowed(v)),
        tuple(v for v in domain.near if allowed(v)),
        tuple(v for v in domain.plain if allowed(v)),
    )


def _distinct(values: Iterable[Value]) -> list[Value]:
    # 1 and 1.0 and True are one dictionary key, and one value of a column: the first form stays.
    return list(dict.fromkeys(values))


def fitting(value: Value, kind: str, column: Column) -> list[Value]:
    """The value in the form that a column of this kind holds; none where it can hold nothing like it."""
    if value is None:
        return []
    if isinstance(value, tuple) or kind == "array":
        return [value] if isinstance(value, tuple) and kind == "array" else []
    if kind == "integer":
        number = _as_number(value)
        if number is None or not LIMITS["integer"][0] <= number <= LIMITS["integer"][1]:
            return []
        return [int(number)] if number == int(number) else [int(number // 1), int(number // 1) + 1]
    if kind in {"real", "decimal"}:
        number = _as_number(value)
        if number is None or not LIMITS[kind][0] <= number <= LIMITS[kind][1]:
            return []
        scale = _scale(column.declared)
        return [float(number) if scale is None else round(float(number), scale)]
    if kind == "boolean":
        said: dict[str, list[Value]] = {"t": [1], "f": [0]}
        return [int(value == 1)] if value in {0, 1} else said.get(str(value).lower()[:1], [])
    if kind == "date":
        return [found] if (found := _as_date(value)) is not None else []
    if kind in {"timestamp", "timestamptz"}:
        return _as_moment(value)
    if kind == "date text":
        text = str(value)
        return [text] if _DATE.match(text) else []
    if kind == "blob":
        return [value] if isinstance(value, bytes) else [str(value).encode()]
    if kind in {"text", "number text", "any"}:
        text = value if isinstance(value, str) else _as_text(value)
        room = _room(column.declared)
        return [text] if room is None or len(text) <= room else []
    if kind in {"json", "uuid", "time"}:
        return (
            [value] if value in _PLAIN[kind] or (kind == "time" and re.fullmatch(r"\d\d:\d\d:\d\d", str(value))) else []
        )
    return []


def _as_text(value: Value) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value == int(value):
        return str(value)
    return str(int(value)) if isinstance(value, bool) else str(value)


def _as_number(value: Value) -> int | float | None:
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return None


def _room(declared: str) -> int | None:
    found = re.search(r"\(\s*(\d+)\s*\)", declared)
    return int(found.group(1)) if found is not None else None


def _scale(declared: str) -> int | None:
    """The digits after the point that a declared decimal keeps."""
    found = re.search(r"\(\s*\d+\s*(?:,\s*(\d+)\s*)?\)", declared)
    return int(found.group(1) or 0) if found is not None else None


def _as_date(value: Value) -> str | None:
    found = _DATE.match(str(value))
    if found is None:
        return None
    try:
        return date(*map(int, found.groups())).isoformat()
    except ValueError:
        return None


def _as_moment(value: Value) -> list[Value]:
    text = str(value).strip()
    day = _as_date(text)
    if day is None:
        return []
    found = re.search(r"[ T](\d{1,2}):(\d{2})(?::(\d{2}))?", text)
    if found is None:
        return [f"{day} 00:00:00"]
    hour, minute, second = (int(part or 0) for part in found.groups())
    return [f"{day} {hour:02}:{minute:02}:{second:02}"] if hour < 24 and minute < 60 and second < 60 else []


def _neighbours(value: Value, kind: str) -> list[Value]:
    if isinstance(value, bool | int):
        return [value - 1, value + 1]
    if isinstance(value, float):
        return [value - 1, value + 1, value + 0.25]
    if not isinstance(value, str):
        return []
    if (day := _as_date(value)) is not None:
        return _near_dates(value, day, kind)
    if _NUMBER.fullmatch(value) and kind in {"text", "number text"}:
        number = float(value)
        return [_as_text(int(number) - 1), _as_text(int(number) + 1)]
    return [value.swapcase(), f"{value}x", f"x{value}"] if value else ["a"]


def _near_dates(value: str, day: str, kind: str) -> list[Value]:
    moment = date.fromisoformat(day)
    try:
        near = [moment - timedelta(1), moment + timedelta(1), moment.replace(day=1, year=moment.year + 1)]
    except (OverflowError, ValueError):
        return []
    days: list[Value] = [item.isoformat() for item in near]
    if kind == "date":
        return days
    times: list[Value] = [f"{day} 00:00:00", f"{day} 10:30:00", f"{day} 23:59:59"]
    if _MOMENT.match(value):
        try:
            exact = datetime.fromisoformat(value.replace("T", " "))
            times += [(exact + timedelta(seconds=s)).strftime("%Y-%m-%d %H:%M:%S") for s in (-1, 1)]
        except (ValueError, OverflowError):
            return [*days, *times]
    return [*days, *times]


def _years_from(anchor: date, years: int) -> list[date]:
    """The same day so many years earlier, for ages; and the first day of that year."""
    year = anchor.year - years
    return [date(year, anchor.month, min(anchor.day, 28)), date(year, 1, 1)] if year > 0 else []


def _around(step: int) -> tuple[int, ...]:
    return (step, step - 1, step + 1, -step, 1 - step, -step - 1)


def _dates(named: list[Value], kind: str, steps: list[int]) -> list[Value]:
    anchors = [date.fromisoformat(found) for value in named if (found := _as_date(value)) is not None][:3]
    anchors = anchors or [BASE_DATE]
    wanted = [0, 1, -1, 2, *(offset for step in dict.fromkeys(steps[:4]) for offset in _around(step))]
    days: list[date] = []
    for anchor in anchors:
        for offset in wanted:
            try:
                days.append(anchor + timedelta(offset))
            except OverflowError:
                continue
            days += _years_from(anchor, offset) if 0 < offset <= 150 else []
    days += [date(2011, 12, 31), date(2013, 1, 1)]
    if kind in {"date", "date text"}:
        return [day.isoformat() for day in days]
    return [f"{day.isoformat()} {'10:30:00' if index % 3 == 1 else '00:00:00'}" for index, day in enumerate(days)]
