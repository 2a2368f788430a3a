"""Drawings: numbers in, SVG out."""

import xml.etree.ElementTree as ET

import pytest

from harness.report.html import drawings


def parts(markup, tag):
    return [element.attrib for element in ET.fromstring(str(markup)).iter(tag)]


def test_a_bar_is_as_long_as_its_share_and_bears_its_interval():
    drawn = drawings.bar(0.8, "plain", 0.7, 0.9)
    assert [each["width"] for each in parts(drawn, "rect")] == ["100", "80"]
    assert [each["d"] for each in parts(drawn, "path")] == ["M70 5H90M70 2v6M90 2v6"] * 2


def test_a_stack_joins_the_grades_end_to_end():
    drawn = parts(drawings.stack({"EXACT": 1, "EQUIVALENT": 2, "REFUSED": 0, "FAIL": 1, "ERROR": 0}), "rect")
    assert [(each["class"], each["x"], each["width"]) for each in drawn] == [
        ("exact", "0", "25"),
        ("equivalent", "25", "50"),
        ("fail", "75", "25"),
    ]
    assert parts(drawings.stack(dict.fromkeys(("EXACT", "FAIL"), 0)), "rect") == []


def test_a_strip_has_a_square_an_attempt_and_tells_failures_by_height():
    drawn = parts(drawings.strip(("EXACT", "FAIL", "REFUSED")), "rect")
    assert [(each["class"], each["x"], each["height"]) for each in drawn] == [
        ("exact", "0", "10"),
        ("fail", "12", "5"),
        ("refused", "24", "10"),
    ]


@pytest.mark.parametrize("values", [[5.0], [1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 100.0], [float(n) for n in range(1000)]])
def test_a_histogram_loses_no_value_and_stays_in_its_frame(values):
    drawn = parts(drawings.histogram(values, [values[0]]), "rect")
    heights = [float(each["height"]) for each in drawn]
    assert max(heights) == 38
    assert all(0 <= float(each["x"]) <= 100 and float(each["x"]) + float(each["width"]) <= 100.01 for each in drawn)


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(0.01, 0.2, "better"), (-0.2, -0.01, "worse"), (-0.1, 0.1, "unclear"), (0.0, 0.1, "unclear")],
)
def test_a_difference_is_coloured_by_its_interval(low, high, kind):
    drawn = parts(drawings.difference((low + high) / 2, low, high, 0.25), "path")
    assert {each["class"] for each in drawn} == {"grid", "zero", f"reach {kind}", f"dot {kind}"}


def test_dots_stay_on_their_axis():
    drawn = parts(drawings.dot(1.0, -5.0, 7.0, "plain"), "path")
    assert [each["d"] for each in drawn if each["class"].startswith(("reach", "dot"))] == ["M1 8H99", "M99 8h0"]
    assert parts(drawings.paired_dots(0.0, 1.0), "path")[1]["d"] == "M1 8H99"
