"""JUnit XML: valid by the usual schema, one testcase a case, FAIL a failure, ERROR an error."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import xmlschema

from harness.report.junit import JUnitReporter
from tests import synthetic_runs as made

RUNS = {
    "one attempt": made.sample_run,
    "repeats": lambda: made.sample_run(3),
    "hostile": made.hostile_run,
    "empty": lambda: made.memory_run([]),
    "scripted": lambda: made.sample_run(scripted=True),
}


@pytest.fixture(scope="module")
def schema():
    return xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))


def written(run, path):
    JUnitReporter().write(run, path)
    return ET.parse(path).getroot()


@pytest.mark.parametrize("name", RUNS)
def test_it_is_valid(schema, tmp_path, name):
    JUnitReporter().write(RUNS[name](), tmp_path / "r.xml")
    assert [str(error) for error in schema.iter_errors(str(tmp_path / "r.xml"))] == []


def test_the_schema_is_no_rubber_stamp(schema, tmp_path):
    JUnitReporter().write(made.sample_run(), tmp_path / "r.xml")
    text = (tmp_path / "r.xml").read_text("utf-8")
    for good, bad in (('tests="22"', 'tests="many"'), ("<failure ", "<fault "), (' classname="golden.sort"', "")):
        broken = tmp_path / "broken.xml"
        broken.write_text(text.replace(good, bad).replace("</failure>", "</fault>" if "fault" in bad else "</failure>"))
        assert not schema.is_valid(str(broken)), bad


def test_counts_are_of_cases_and_agree_with_what_follows(tmp_path):
    root = written(made.sample_run(3), tmp_path / "r.xml")
    suite = root[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "22",
        "failures": "7",
        "errors": "2",
        "skipped": "0",
    }
    assert (len(suite.findall("testcase")), len(list(suite.iter("failure"))), len(list(suite.iter("error")))) == (
        22,
        7,
        2,
    )
    assert float(root.get("time")) == pytest.approx(
        sum(float(case.get("time")) for case in suite.iter("testcase")), abs=0.01
    )


def test_a_failure_says_what_why_and_shows_the_rows(tmp_path):
    suite = written(made.sample_run(), tmp_path / "r.xml")[0]
    case = next(case for case in suite.iter("testcase") if case.get("name").startswith("S20:"))
    failure = case.find("failure")
    assert (case.get("classname"), failure.get("type")) == ("golden.negation", "wrong_field")
    assert failure.get("message").startswith("wrong field on status (WHERE)")
    assert "expected: SELECT * FROM orders WHERE status NOT IN" in failure.text
    assert "actual:   SELECT * FROM orders WHERE refunded = FALSE" in failure.text
    assert '"kind":"rows"' in failure.text


def test_repeats_are_properties(tmp_path):
    suite = written(made.sample_run(3), tmp_path / "r.xml")[0]
    case = next(case for case in suite.iter("testcase") if case.get("name").startswith("S21:"))
    properties = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert properties["passes"] == "2/3"
    assert [properties[f"repeat.{n}"] for n in (1, 2, 3)] == ["FAIL", "EXACT", "EXACT"]
    assert properties["flaky"] == "true"


def test_where_the_answers_came_from_is_a_property(tmp_path):
    for facts, said in (({"replayed": True}, "replayed from a tape"), ({"scripted": True}, "scripted"), ({}, None)):
        suite = written(made.sample_run(**facts), tmp_path / "r.xml")[0]
        properties = {each.get("name"): each.get("value") for each in suite.find("properties")}
        assert properties.get("answers") == said


def test_what_xml_cannot_hold_is_replaced_and_the_rest_kept(tmp_path):
    suite = written(made.hostile_run(), tmp_path / "r.xml")[0]
    text = suite.find("testcase").find("failure").text
    assert "<script>window.pwned = 1</script>" in text
    assert "]]>" in text
    assert "\ufffd\ufffd[31m" in text
    assert (tmp_path / "r.xml").stat().st_size < 300_000
