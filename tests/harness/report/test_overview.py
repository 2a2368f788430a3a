"""What reports say of a run above its single cases."""

import pytest

from harness.report.laws import law_of
from harness.report.overview import Gathering
from harness.report.story import headline, notices, stability, story
from tests import synthetic_runs as made


def overview_of(run):
    gathering = Gathering(run.facts, run.summary)
    for case, result in run.results():
        gathering.add(case, result)
    return gathering.finish()


def passes(count, of, **facts):
    pairs = []
    for number in range(of):
        case = made.sql_case(number, "n", "SELECT 1", "all", "first" if number < of // 2 else "second")
        pairs.append((case, made.result(case, made.exact(case) if number < count else made.error("empty", "nothing"))))
    return made.memory_run(pairs, made.facts(**facts))


def test_counts_and_interval():
    overview = overview_of(passes(45, 50))
    assert (overview.cases, overview.passed, overview.failed) == (50, 45, 5)
    assert overview.rate.interval.low == pytest.approx(0.786, abs=6e-4)
    assert overview.grades == {"EXACT": 45, "EQUIVALENT": 0, "REFUSED": 0, "FAIL": 0, "ERROR": 5}
    assert overview.answered.value == 1.0
    assert headline(overview) == "45 of 50 cases passed"
    assert story(overview) == (
        "With 50 cases the true rate plausibly lies between 79 % and 96 %; another model would have to differ by about "
        "18 points for this corpus to show it.",
        "5 cases with no query at all. The commonest trouble: the reply was empty (5 cases).",
    )


@pytest.mark.parametrize(
    ("count", "of", "text"),
    [
        (5, 5, "All 5 cases passed"),
        (1, 1, "The one case passed"),
        (0, 1, "0 of 1 case passed"),
        (0, 0, "No case has finished"),
    ],
)
def test_headline(count, of, text):
    assert headline(overview_of(passes(count, of))) == text


def test_a_tag_is_called_weaker_only_where_the_correction_holds():
    tags = {row.tag: row for row in overview_of(passes(40, 60)).tags}
    assert tags["second"].below
    assert not tags["first"].below
    assert tags["all"].p_value is None
    weak = {row.tag: row for row in overview_of(passes(17, 20)).tags}
    assert not weak["second"].below
    assert weak["second"].p_value == pytest.approx(2 * 0.2105263, rel=1e-5)


def test_failures_stand_in_each_of_their_kinds():
    overview = overview_of(made.sample_run())
    groups = {kind: [failing.id for failing in members] for kind, members in overview.groups}
    assert groups["sort_direction"] == ["S22"]
    assert groups["limit"] == ["S22"]
    assert groups["answered"] == ["R02"]
    assert groups["undecided"] == ["S24"]
    assert groups["transport"] == ["S25"]
    assert sum(len(ids) for ids in groups.values()) == overview.failed + 1


def test_the_failure_to_read_first_is_one_that_rows_show():
    assert overview_of(made.sample_run()).clearest == "S20"
    assert overview_of(passes(3, 3)).clearest is None


def test_stability_of_repeats():
    overview = overview_of(made.sample_run(5))
    assert overview.unstable_count == 1
    assert [(case.id, case.grades) for case in overview.unstable] == [
        ("S21", ("FAIL", "EXACT", "EXACT", "FAIL", "EXACT"))
    ]
    # One of 22 cases passed 3 of 5: it disagrees with itself with chance .6; 13 always pass.
    assert overview.flakiness == pytest.approx(0.6 / 22)
    assert overview.mean.value == pytest.approx((13 + 0.6) / 22)
    assert overview.of_k[0] == pytest.approx((1, (13 + 0.6) / 22, (13 + 0.6) / 22))
    assert overview.of_k[1] == pytest.approx((2, (13 + 0.3) / 22, (13 + 0.9) / 22))
    assert stability(overview).endswith("6 cases were wrong the same way every time: misread, not noisy.")


def test_without_repeats_nothing_is_said_of_stability():
    overview = overview_of(made.sample_run())
    assert (overview.flakiness, overview.of_k, stability(overview)) == (None, (), "")


@pytest.mark.parametrize(
    ("facts", "changes", "text"),
    [
        ({"scripted": True}, {}, "The answers came from a script, not from a model."),
        ({"replayed": True}, {}, "The answers were replayed from a tape; no model was called."),
        ({}, {"cases": 40}, "Unfinished: 40 cases were asked for, 22 finished. The figures are of the finished ones."),
        ({}, {"score": 0.75}, "Weighted by the cases' weights, the score is 75.0 %."),
    ],
)
def test_what_a_reader_must_know_first(facts, changes, text):
    run = made.memory_run(made.sample_pairs(), made.facts(**facts), **changes)
    assert notices(overview_of(run)) == (text,)


def test_groups_of_paraphrases_widen_the_interval():
    pairs = [pair for pair in made.large_run(40, seed=3, pass_share=0.8).pairs]
    grouped = []
    for index, (case, result) in enumerate(pairs):
        grouped.append((case.model_copy(update={"group": f"g{index // 10}"}), result))
    overview = overview_of(made.memory_run(grouped))
    assert overview.rate.clusters == 4
    assert overview.rate.interval.method == "cluster bootstrap"
    assert overview.detectable is None


def test_identities_are_counted_by_the_cases_that_rest_on_them():
    absorbed = dict(overview_of(made.sample_run(3)).absorbed)
    assert absorbed["clause_order"] == 2
    assert absorbed["shell_text"] == 1


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("shell_text", "mongosh, Node or PyMongo text  =  the Extended JSON of the same values"),
        ("null-test", "x IS NOT NULL AND x > 1  =  x > 1"),
        ("mirror_comparison", "mirror comparison"),
    ],
)
def test_an_identity_is_told_by_its_law_else_by_its_name(name, law):
    assert law_of(name) == law
