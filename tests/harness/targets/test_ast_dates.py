"""The calendar of the QueryForge engine, mirrored: checked against what the engine itself prints at its own time."""

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import queryforge

from harness.targets.ast_dates import DateRangeError, depends_on_clock, period_bounds, resolve_dates, rfc3339, shift

CONFIG = {"entity": "E", "fields": [{"name": "at", "type": "date"}]}
UNITS = ("minute", "hour", "day", "week", "month", "year")
ZONE = ZoneInfo("UTC")


def comparison(operator, **value):
    return {"type": "comparison", "field": "at", "operator": operator, "value": value}


def ast(*children, op="AND"):
    return {"version": "1.0", "entity": "E", "filter": {"type": "logical", "op": op, "children": list(children)}}


def ask_engine(values, operator, zone=""):
    """What the engine makes of many values, and between which instants it did."""
    config = CONFIG | ({"timezone": zone} if zone else {})
    tree = ast(*(comparison(operator, **value) for value in values))
    before = datetime.now(UTC)
    args = queryforge.QueryForge.postgres(config).generate(tree).args
    return before, datetime.now(UTC), args


def instant(text):
    """The engine writes nanoseconds; Python reads microseconds."""
    head, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{fraction[:6].ljust(6, '0')}+00:00")


def test_instants_are_shifted_as_the_engine_does():
    amounts = (-25, -14, -13, -12, -11, -6, -3, -2, -1, 0, 1, 2, 3, 5, 11, 12, 13, 100, -1999)
    values = [
        {"kind": "relative_date", "unit": unit, "amount": amount} for unit, amount in itertools.product(UNITS, amounts)
    ]
    before, after, args = ask_engine(values, "after")
    assert len(args) == len(values)
    for value, text in zip(values, args, strict=True):
        earliest, latest = (shift(moment, value["unit"], value["amount"]) for moment in (before, after))
        assert earliest - timedelta(microseconds=1) <= instant(text) <= latest, value


@pytest.mark.parametrize("zone", ["", "America/New_York", "Asia/Kolkata", "Pacific/Auckland", "Asia/Kathmandu"])
def test_periods_are_bounded_as_the_engine_does(zone):
    spans = [(0, 0), (-1, -1), (-1, 0), (-30, -1), (1, 1), (-13, -12), (-60, 5), (3, 40), (-250, -249)]
    values = [
        {"kind": "period", "unit": unit, "from": first, "to": last}
        for unit, (first, last) in itertools.product(UNITS, spans)
    ]
    while True:
        before, after, args = ask_engine(values, "between", zone)
        if before.replace(second=0, microsecond=0) == after.replace(second=0, microsecond=0):
            break  # else a unit began between the two readings of the clock
    expected = []
    for value in values:
        bounds = period_bounds(before, value["unit"], value["from"], value["to"], ZoneInfo(zone or "UTC"))
        expected.extend(map(rfc3339, bounds))
    assert list(args) == expected


@pytest.mark.parametrize(
    ("now", "unit", "amount", "expected"),
    [
        ("2026-03-31T10:00:00Z", "month", -1, "2026-03-03T10:00:00Z"),
        ("2024-03-31T10:00:00Z", "month", -1, "2024-03-02T10:00:00Z"),
        ("2026-01-31T10:00:00Z", "month", 1, "2026-03-03T10:00:00Z"),
        ("2024-02-29T10:00:00Z", "year", -1, "2023-03-01T10:00:00Z"),
        ("2026-03-01T00:00:00Z", "day", -1, "2026-02-28T00:00:00Z"),
        ("2026-08-04T00:00:00Z", "day", -30, "2026-07-05T00:00:00Z"),
        ("2026-08-04T00:00:00Z", "hour", -5, "2026-08-03T19:00:00Z"),
        ("2026-08-04T00:00:00.500Z", "minute", 1, "2026-08-04T00:01:00.5Z"),
        ("2026-08-04T02:00:00+02:00", "week", 1, "2026-08-11T00:00:00Z"),
    ],
)
def test_instants_at_a_pinned_clock(now, unit, amount, expected):
    assert rfc3339(shift(datetime.fromisoformat(now), unit, amount)) == expected


@pytest.mark.parametrize(
    ("now", "unit", "span", "zone", "expected"),
    [
        ("2026-09-14T08:30:00Z", "month", (-1, -1), "UTC", ("2026-08-01T00:00:00Z", "2026-09-01T00:00:00Z")),
        ("2026-01-05T08:30:00Z", "month", (-1, -1), "UTC", ("2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z")),
        ("2026-09-13T08:30:00Z", "week", (0, 0), "UTC", ("2026-09-07T00:00:00Z", "2026-09-14T00:00:00Z")),
        ("2026-09-14T00:00:00Z", "week", (0, 0), "UTC", ("2026-09-14T00:00:00Z", "2026-09-21T00:00:00Z")),
        ("2026-09-14T08:30:59Z", "minute", (-1, 0), "UTC", ("2026-09-14T08:29:00Z", "2026-09-14T08:31:00Z")),
        ("2026-09-14T02:30:00Z", "day", (0, 0), "America/New_York", ("2026-09-13T04:00:00Z", "2026-09-14T04:00:00Z")),
        ("2026-11-02T12:00:00Z", "day", (-1, -1), "America/New_York", ("2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z")),
    ],
)
def test_periods_at_a_pinned_clock(now, unit, span, zone, expected):
    assert tuple(map(rfc3339, period_bounds(datetime.fromisoformat(now), unit, *span, ZoneInfo(zone)))) == expected


@pytest.mark.parametrize("backend", ["sql", "mysql", "mongo"])
@pytest.mark.parametrize("op", ["AND", "OR", "NOT"])
def test_pinned_to_the_present_the_engine_compiles_the_same(backend, op):
    """What we resolve at the engine's own time is byte for byte what the engine resolves by itself."""
    forge = queryforge.QueryForge(CONFIG, backend)
    children = [
        comparison("between", kind="period", unit="month", **{"from": -2, "to": -1}),
        comparison("between", kind="period", unit="year", **{"from": -1, "to": -1}),
        comparison("between", kind="array", v=["2020-01-01", "2020-02-01"]),
        comparison("before", kind="date", v="2030-01-01T00:00:00Z"),
    ]
    tree = ast(ast(*children[:1], op=op)["filter"] if op == "NOT" else ast(*children, op=op)["filter"])
    while True:
        now = datetime.now(UTC)
        own = forge.generate(tree)
        resolved = resolve_dates(tree, now=now, zone=ZONE, engine_now=now)
        compiled = forge.generate(resolved.ast)
        if now.date() == datetime.now(UTC).date():
            break
    assert compiled.sql == own.sql
    assert tuple(resolved.complete(compiled.args)) == own.args
    assert resolved.complete(compiled.doc) == own.doc
    assert resolved.bounds


def test_the_ast_itself_is_left_alone():
    tree = ast(comparison("after", kind="relative_date", unit="day", amount=-1))
    before = repr(tree)
    resolved = resolve_dates(tree, now=datetime(2026, 1, 2, tzinfo=UTC), zone=ZONE, engine_now=datetime.now(UTC))
    assert repr(tree) == before
    assert resolved.ast["filter"]["children"][0]["value"] == {"kind": "date", "v": "2026-01-01T00:00:00Z"}


def test_only_relative_values_depend_on_the_clock():
    assert not depends_on_clock({"entity": "E"})
    assert not depends_on_clock(ast(comparison("after", kind="date", v="2026-01-01")))
    assert depends_on_clock(ast(ast(comparison("after", kind="relative_date", unit="day"))["filter"]))
    assert depends_on_clock(ast(comparison("between", kind="period", unit="day", **{"from": 0, "to": 0})))


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "relative_date", "unit": "year", "amount": -1_000_000},
        {"kind": "relative_date", "unit": "day", "amount": 1_000_000_000},
        {"kind": "period", "unit": "month", "from": -1_000_000, "to": 0},
        {"kind": "period", "unit": "year", "from": 0, "to": 9000},
    ],
)
def test_dates_beyond_the_calendar_are_refused(value):
    with pytest.raises(DateRangeError, match="out of range"):
        resolve_dates(ast(comparison("after", **value)), now=datetime.now(UTC), zone=ZONE, engine_now=datetime.now(UTC))
