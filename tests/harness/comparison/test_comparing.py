"""Rates, paired tests, tags, flips, latency, tokens and cost of runs on the same cases."""

import pytest

from harness.comparison.comparing import compare
from harness.comparison.prices import read_prices
from harness.comparison.sides import CaseSide, Side, side_of_run
from harness.errors import UsageError
from harness.statistics import mcnemar_exact
from tests import synthetic_runs as made


def run_side(label, grades, *, tags=None, groups=None, attempts=1, **changes):
    cases = []
    for index, grade in enumerate(grades):
        passes = grade if isinstance(grade, int) else attempts * (grade in ("EXACT", "EQUIVALENT", "REFUSED"))
        name = grade if isinstance(grade, str) else ("EXACT" if passes == attempts else "FAIL")
        cases.append(
            CaseSide(
                id=f"c{index}",
                digest="d",
                grade=name,
                passes=passes,
                attempts=attempts,
                tags=tags[index] if tags else (),
                group=groups[index] if groups else None,
                **changes,
            )
        )
    return Side(label=label, source=label, cases=tuple(cases), model=label)


OK, NO, ER = "EXACT", "FAIL", "ERROR"


def test_one_lost_and_seven_gained_is_no_evidence():
    before = [OK] * 10 + [OK] + [NO] * 7 + [NO] * 7
    after = [OK] * 10 + [NO] + [OK] * 7 + [NO] * 7
    comparison = compare([run_side("a", before), run_side("b", after)])
    pair = comparison.pairs[0]
    assert pair.test == mcnemar_exact(1, 7)
    assert pair.p_value == pytest.approx(0.0703125)
    assert pair.verdict == "not told apart"
    assert pair.difference == pytest.approx(6 / 25)
    assert (pair.lost, pair.gained) == (("c10",), tuple(f"c{i}" for i in range(11, 18)))
    assert comparison.indistinguishable == (("b", "a"),)
    assert not comparison.second_is_worse


def test_a_real_difference_is_called_one_both_ways():
    before, after = [OK] * 20 + [NO] * 12, [OK] * 32
    better = compare([run_side("a", before), run_side("b", after)])
    worse = compare([run_side("b", after), run_side("a", before)])
    assert (better.pairs[0].verdict, better.second_is_worse) == ("better", False)
    assert (worse.pairs[0].verdict, worse.second_is_worse) == ("worse", True)
    assert better.pairs[0].interval.low > 0
    assert worse.indistinguishable == (("b",), ("a",))
    assert compare([run_side("b", after), run_side("a", before)], alpha=1e-9).second_is_worse is False


def test_errors_stay_in_the_denominator_and_are_counted_apart():
    figures = compare([run_side("a", [OK, ER, ER, NO]), run_side("b", [OK, OK, OK, OK])]).sides[0]
    assert figures.rate.value == 0.25
    assert figures.grades == {"EXACT": 1, "EQUIVALENT": 0, "REFUSED": 0, "FAIL": 1, "ERROR": 2}


def test_transitions_count_every_case_once():
    pair = compare([run_side("a", [OK, OK, NO, ER]), run_side("b", [OK, NO, OK, ER])]).pairs[0]
    assert pair.transitions["EXACT"]["EXACT"] == 1
    assert pair.transitions["EXACT"]["FAIL"] == 1
    assert pair.transitions["FAIL"]["EXACT"] == 1
    assert sum(sum(row.values()) for row in pair.transitions.values()) == 4


def test_with_repeats_the_case_is_the_unit():
    before, after = [5, 4, 3, 5, 0, 2] * 4, [5, 5, 4, 5, 1, 3] * 4
    comparison = compare([run_side("a", before, attempts=5), run_side("b", after, attempts=5)])
    assert comparison.clustered
    assert comparison.pairs[0].test.method == "cluster sign-flip"
    assert comparison.sides[0].rate.value == pytest.approx(sum(before) / (5 * 24))
    assert comparison.sides[0].rate.interval.method == "cluster bootstrap"
    assert comparison.sides[0].flaky == 12
    assert comparison.pairs[0].gained == ("c1", "c7", "c13", "c19")


def test_paraphrases_of_one_question_are_one_piece_of_evidence():
    groups = ["one question"] * 10
    grouped = compare([run_side("a", [NO] * 10, groups=groups), run_side("b", [OK] * 10, groups=groups)])
    alone = compare([run_side("a", [NO] * 10), run_side("b", [OK] * 10)])
    assert alone.pairs[0].verdict == "better"
    assert grouped.pairs[0].p_value == 1.0
    assert grouped.pairs[0].verdict == "not told apart"


def test_several_runs_are_tested_pair_by_pair_with_holm():
    grades = {"a": [OK] * 10 + [NO] * 20, "b": [OK] * 18 + [NO] * 12, "c": [OK] * 30}
    comparison = compare([run_side(label, each) for label, each in grades.items()])
    assert [(pair.first, pair.second) for pair in comparison.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    raw = [mcnemar_exact(0, 8).p_value, mcnemar_exact(0, 20).p_value, mcnemar_exact(0, 12).p_value]
    assert [pair.test.p_value for pair in comparison.pairs] == pytest.approx(raw)
    assert [pair.p_value for pair in comparison.pairs] == pytest.approx([raw[0], 3 * raw[1], 2 * raw[2]])
    assert comparison.indistinguishable == (("c",), ("b",), ("a",))


def test_tags_are_tested_within_and_corrected_over_all_of_them():
    tags = [("x", "all")] * 12 + [("y", "all", "all")] * 12
    before, after = [NO] * 9 + [OK] * 15, [OK] * 24
    rows = {row.tag: row for row in compare([run_side("a", before, tags=tags), run_side("b", after, tags=tags)]).tags}
    assert list(rows) == ["x", "all", "y"]
    assert [rows[tag].cases for tag in rows] == [12, 24, 12]
    assert rows["x"].p_value == pytest.approx(3 * mcnemar_exact(0, 9).p_value)
    assert (rows["x"].verdict, rows["y"].verdict) == ("better", "not told apart")
    assert (rows["x"].rates[0].value, rows["x"].rates[1].value) == (0.25, 1.0)


def test_latency_tokens_and_cost_side_by_side():
    sides = [
        run_side("small", [OK] * 4, latencies=(100.0, 300.0), prompt_tokens=1000, completion_tokens=50),
        run_side("large", [OK] * 4, latencies=(900.0,)),
    ]
    small, large = compare(sides, prices=read_prices(["small=0.10,0.40", "large=2,8"])).sides
    assert (small.latency_median, small.latency_p95, large.latency_median) == (300.0, 300.0, 900.0)
    assert (small.prompt_tokens, small.completion_tokens) == (4000, 200)
    assert small.cost == pytest.approx((4000 * 0.10 + 200 * 0.40) / 1e6)
    assert (large.prompt_tokens, large.cost) == (None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["small"], "write model=in,out"),
        (["small=1"], "write model=in,out"),
        (["small=1,x"], "write model=in,out"),
        (["small=-1,2"], "write model=in,out"),
        (["small=nan,2"], "write model=in,out"),
        (["=1,2"], "write model=in,out"),
        (["small=1,2,3"], "write model=in,out"),
        (["small=1,2", "small=1,2"], "has a price already"),
    ],
)
def test_a_price_that_is_none_says_how_to_write_one(options, message):
    with pytest.raises(UsageError, match=message):
        read_prices(options)


def test_a_model_name_may_hold_an_equals_sign():
    assert read_prices(["provider/model=v2=1,2"])["provider/model=v2"].completion == 2.0


@pytest.mark.parametrize(
    ("sides", "options", "message"),
    [
        ([run_side("a", [OK])], {}, "two runs or more"),
        ([run_side("a", [OK]), run_side("b", [OK])], {"alpha": 0.0}, "--alpha 0.0"),
        ([run_side("a", [OK]), run_side("b", [OK])], {"prices": read_prices(["c=1,2"])}, "no run of that model"),
        ([run_side("a", [OK]), run_side("b", [])], {}, "no case is the same in all"),
    ],
)
def test_what_cannot_be_compared_says_why(sides, options, message):
    with pytest.raises(UsageError, match=message):
        compare(sides, **options)


def test_the_same_seed_gives_the_same_figures():
    runs = [made.large_run(60, repeats=3, seed=seed, model=f"m{seed}") for seed in (1, 2)]
    sides = [side_of_run(run.facts.name, run.facts, run.results()) for run in runs]
    assert compare(sides, seed=4) == compare(sides, seed=4)


def test_what_a_run_knows_reaches_its_side():
    run = made.sample_run(3)
    side = side_of_run("runs/nightly", run.facts, run.results())
    flaky = next(case for case in side.cases if case.id == "S21")
    assert (side.label, flaky.grade, flaky.passes, flaky.attempts) == ("gemini-3.1-flash-lite", "FAIL", 2, 3)
    assert flaky.lines[0].startswith("bound inclusive")
    assert flaky.latencies == (900.0, 640.0, 640.0)
    assert (flaky.prompt_tokens, flaky.completion_tokens) == (3 * 812, 3 * 64)
