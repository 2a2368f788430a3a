"""A comparison in the terminal, as Markdown, as JSON, and the sentences they share."""

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from harness.comparison.alignment import Alignment, Changed
from harness.comparison.comparing import compare
from harness.comparison.prices import read_prices
from harness.comparison.sides import CaseSide, Side, side_of_run
from harness.report.comparison.as_json import FORMAT, dumps
from harness.report.comparison.markdown import as_markdown
from harness.report.comparison.story import headline, money, notices, story
from harness.report.comparison.terminal import print_comparison
from tests import synthetic_runs as made

SNAPSHOTS = Path(__file__).parent / "snapshots"


def snapshot(name, text):
    """Compare with the file; `RUNG_WRITE_SNAPSHOTS=1` writes it anew."""
    path = SNAPSHOTS / name
    if os.environ.get("RUNG_WRITE_SNAPSHOTS"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def run(model, seed=1, share=0.8, cases=40, **options):
    return made.large_run(cases, seed=seed, pass_share=share, model=model, name=f"run-{model}", **options)


def compared(*runs, **options):
    return compare([side_of_run(f"runs/{each.facts.name}", each.facts, each.results()) for each in runs], **options)


def printed(comparison, width=100, **options):
    stream = io.StringIO()
    print_comparison(comparison, Console(file=stream, width=width, color_system=None, markup=False), **options)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


@pytest.fixture(scope="module")
def two():
    prices = read_prices(["small=0.1,0.4", "large=1.25,10"])
    return compared(run("small", 1, 0.6), run("large", 2, 0.95), prices=prices)


@pytest.fixture(scope="module")
def three():
    return compared(run("small", 1, 0.4), run("medium", 2, 0.9), run("large", 3, 0.92))


@pytest.mark.parametrize("width", [100, 60])
def test_terminal_snapshot(two, width):
    text = printed(two, width)
    assert max(map(len, text.splitlines())) <= width
    snapshot(f"comparison-{width}.txt", text)


def test_terminal_snapshot_of_three(three):
    snapshot("comparison-three.txt", printed(three))


def test_markdown_snapshot(two):
    snapshot("comparison.md", as_markdown(two))


def test_markdown_snapshot_of_three(three):
    snapshot("comparison-three.md", as_markdown(three))


def test_json_holds_every_case_and_both_answers_of_those_that_changed(two):
    document = json.loads(dumps(two))
    assert document["format"] == FORMAT
    assert document["headline"] == "large is better than small"
    assert len(document["cases"]) == 40
    changed = {case["id"]: case for case in document["cases"] if "expected" in case}
    assert set(changed) == {*document["pairs"][0]["gained"], *document["pairs"][0]["lost"]}
    one = changed[document["pairs"][0]["gained"][0]]
    assert [side["grade"] in ("EXACT", "EQUIVALENT") for side in one["sides"]] == [False, True]
    assert one["sides"][0]["differences"] != []


def test_sentences_of_a_real_difference(two):
    first, second, third = story(two)
    assert first == "large passes 97.5 % of cases, small 70.0 %: +27.5 points, plausibly +10.9 to +43.3."
    assert second == (
        "13 cases changed sides, 12 for the better and 1 for the worse: chance alone would hardly do that "
        "(exact McNemar test, p = 0.003)."
    )
    assert third == "With 40 cases in common, a true difference of about 20 points would be seen four times in five."


def test_sentences_of_noise():
    comparison = compared(run("a", 1), run("b", 2))
    assert headline(comparison) == "No difference shown between a and b"
    assert "chance alone could well do that" in story(comparison)[1]
    same = compared(run("a", 1), run("b", 1))
    assert story(same)[1] == "No case changed sides (exact McNemar test, p = 1.00)."


@pytest.mark.parametrize(("lost", "said"), [(5, True), (1, False)])
def test_an_interval_without_zero_beside_a_test_that_tells_nothing_apart_is_explained(lost, said):
    def side(label, passed):
        cases = (
            CaseSide(id=str(n), grade="EXACT" if n < passed else "FAIL", passes=int(n < passed), attempts=1)
            for n in range(25)
        )
        return Side(label=label, source=label, cases=tuple(cases))

    sentence = story(compare([side("one", 17), side("two", 17 - lost)]))[1]
    assert "no evidence that either is better" in sentence
    assert sentence.endswith("just leaves out zero; the test decides.") is said


def test_worse_is_said_of_the_second():
    comparison = compared(run("large", 2, 0.95), run("small", 1, 0.6))
    assert headline(comparison) == "small is worse than large"


def test_sentences_of_three(three):
    assert headline(three) == "large and medium lead; they cannot be told apart"
    assert story(three)[0].endswith(
        "Not told apart: large = medium. Each pair was tested on the same cases, corrected by Holm for 3 pairs."
    )
    apart = compared(run("a", 1, 0.05, 80), run("b", 2, 0.5, 80), run("c", 3, 1.0, 80))
    assert headline(apart) == "c is best"
    assert "Every one differs from every other." in story(apart)[0]
    alike = compared(*(run(name, 4) for name in "abc"))
    assert headline(alike) == "The 3 runs cannot be told apart"


def test_what_was_left_out_is_said():
    alignment = Alignment(
        compared=10,
        changed=(Changed(id="S1", what="the golden query", labels=("b",)),),
        missing={"b": ("S2", "S3")},
        duplicated={"a": ("S4",)},
        undigested=("a",),
    )
    comparison = compared(run("a", 1, 1.0), run("b", 1, 1.0))
    object.__setattr__(comparison, "alignment", alignment)
    assert notices(comparison) == (
        "1 case left out because the golden row was edited between the runs: S1 (the golden query).",
        "2 cases left out because b has no result: S2 and S3.",
        "1 id left out because a has more than one result for it: S4.",
        "a holds no case digests: its cases were matched by id, sentence and golden text.",
    )


def test_scripts_tapes_errors_and_uneven_repeats_are_said():
    one, two = run("a", 1, 1.0), run("b", 7, 0.5, repeats=2)
    scripted = made.MemoryRun(one.facts.model_copy(update={"scripted": True}), one.pairs, one.summary)
    replayed = made.MemoryRun(two.facts.model_copy(update={"replayed": True}), two.pairs, two.summary)
    found = notices(compared(scripted, replayed))
    assert found[0] == "a: the answers came from a script, not from a model."
    assert found[1] == "b: the answers were replayed from a tape."
    assert found[2].startswith("Cases that ended in ERROR count as failed: ")
    assert found[3] == "The runs differ in attempts per case; each case counts with the mean of its attempts."


def test_few_flips_are_listed_and_all_with_verbose():
    comparison = compared(run("a", 1, 0.05, 80), run("b", 2, 1.0, 80))
    gained = len(comparison.pairs[0].gained)
    assert f"and {gained - 20} more (--verbose shows all)" in printed(comparison)
    assert (
        printed(comparison, verbose=True).count("    a: FAIL") + printed(comparison, verbose=True).count("    a: ERROR")
        == gained
    )


@pytest.mark.parametrize(
    ("cost", "text"), [(None, "–"), (0.0, "0.00"), (0.00213, "0.0021"), (1.5, "1.50"), (12_345.678, "12,345.68")]
)
def test_money(cost, text):
    assert money(cost) == text


def test_hostile_text_is_inert_in_the_terminal_and_in_markdown():
    hostile = made.hostile_run()
    comparison = compared(
        hostile, made.memory_run([pair for pair in hostile.pairs], made.facts(name="other", model="m"))
    )
    text = printed(comparison, verbose=True)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<script>" not in as_markdown(comparison).replace("`", "")
