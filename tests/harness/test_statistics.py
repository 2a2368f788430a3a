"""Intervals, paired tests and pass@k: published values, scipy's own answers, and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from harness import statistics as st


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        (5, 5, 0.566, 1.0),
        (45, 50, 0.786, 0.957),
        (0, 5, 0.0, 0.434),
        (24, 25, 0.805, 0.993),
        (1, 1, 0.207, 1.0),
    ],
)
def test_wilson_has_the_published_values(passed, total, low, high):
    interval = st.wilson_interval(passed, total)
    assert interval.low == pytest.approx(low, abs=6e-4)
    assert interval.high == pytest.approx(high, abs=6e-4)


def test_wilson_agrees_with_scipy_for_every_small_table_and_level():
    for total, level in itertools.product((1, 2, 7, 25, 100), (0.8, 0.95, 0.99)):
        for passed in range(total + 1):
            theirs = stats.binomtest(passed, total).proportion_ci(level, method="wilson")
            ours = st.wilson_interval(passed, total, level)
            assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_of_nothing_says_nothing():
    interval = st.wilson_interval(0, 0)
    assert (interval.low, interval.high) == (0.0, 1.0)


@pytest.mark.parametrize(("passed", "total"), [(-1, 5), (6, 5), (0, -1)])
def test_wilson_refuses_counts_that_are_none(passed, total):
    with pytest.raises(ValueError, match="is no proportion"):
        st.wilson_interval(passed, total)


@pytest.mark.parametrize(
    ("lost", "gained", "p_value"),
    [
        (1, 7, 0.0703125),
        (7, 1, 0.0703125),
        (0, 0, 1.0),
        (0, 5, 0.0625),
        (0, 6, 0.03125),
        (4, 4, 1.0),
        (10, 30, 0.0022217),
    ],
)
def test_mcnemar_has_the_exact_values(lost, gained, p_value):
    test = st.mcnemar_exact(lost, gained)
    assert test.p_value == pytest.approx(p_value, abs=1e-6)
    assert (test.lost, test.gained, test.method) == (lost, gained, "exact McNemar")


@pytest.mark.parametrize(("lost", "gained"), [(1, 7), (3, 9), (0, 6), (5, 5), (2, 12)])
def test_sign_flip_without_repeats_or_groups_is_the_exact_mcnemar_test(lost, gained):
    differences = [-1.0] * lost + [1.0] * gained + [0.0] * 20
    flipped = st.cluster_sign_flip(differences, list(range(len(differences))))
    expected = st.mcnemar_exact(lost, gained).p_value
    tolerance = 1e-12 if lost + gained <= 13 else 0.01
    assert flipped.p_value == pytest.approx(expected, abs=tolerance)


def test_sign_flip_agrees_with_scipy_permutation_test():
    random = np.random.default_rng(5)
    differences = random.integers(-3, 6, size=11)
    theirs = stats.permutation_test(
        (differences,),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert st.cluster_sign_flip(list(differences), list(range(11))).p_value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_sign_flip_moves_a_whole_cluster_at_a_time():
    # Ten paraphrases of one question are one piece of evidence, not ten.
    assert st.cluster_sign_flip([1.0] * 10, ["one question"] * 10).p_value == 1.0
    assert st.cluster_sign_flip([1.0] * 10, list(range(10))).p_value == pytest.approx(2 / 1024)


def test_random_sign_flips_are_seeded_and_never_zero():
    differences = [1.0] * 200
    one = st.cluster_sign_flip(differences, list(range(200)), seed=3)
    assert one == st.cluster_sign_flip(differences, list(range(200)), seed=3)
    assert one.p_value == pytest.approx(1 / 10_000)


def test_holm_has_the_textbook_values():
    assert st.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert st.holm([]) == ()
    assert st.holm([0.5, 0.6]) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize(
    ("attempts", "passed", "k", "any_pass", "all_pass"),
    [(5, 3, 2, 0.9, 0.3), (5, 5, 3, 1.0, 1.0), (5, 0, 2, 0.0, 0.0), (5, 2, 1, 0.4, 0.4), (10, 1, 10, 1.0, 0.0)],
)
def test_pass_at_k_and_pass_hat_k(attempts, passed, k, any_pass, all_pass):
    assert st.pass_at_k(attempts, passed, k) == pytest.approx(any_pass)
    assert st.pass_hat_k(attempts, passed, k) == pytest.approx(all_pass)


def test_pass_at_k_is_the_mean_over_every_draw():
    for attempts, passed in ((6, 2), (5, 3), (4, 4)):
        results = [True] * passed + [False] * (attempts - passed)
        for k in range(1, attempts + 1):
            draws = list(itertools.combinations(results, k))
            assert st.pass_at_k(attempts, passed, k) == pytest.approx(sum(map(any, draws)) / len(draws))
            assert st.pass_hat_k(attempts, passed, k) == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize("arguments", [(5, 3, 0), (5, 3, 6), (5, 6, 1), (0, 0, 1), (5, -1, 1)])
def test_pass_at_k_refuses_what_cannot_be_drawn(arguments):
    with pytest.raises(ValueError, match="attempts"):
        st.pass_at_k(*arguments)
    with pytest.raises(ValueError, match="attempts"):
        st.pass_hat_k(*arguments)


@pytest.mark.parametrize(
    ("attempts", "passed", "chance"), [(5, 3, 0.6), (5, 5, 0.0), (5, 0, 0.0), (2, 1, 1.0), (1, 1, 0.0)]
)
def test_flakiness_is_the_chance_that_two_attempts_disagree(attempts, passed, chance):
    assert st.flakiness(attempts, passed) == pytest.approx(chance)
    if attempts > 1:
        by_definition = st.pass_at_k(attempts, passed, 2) - st.pass_hat_k(attempts, passed, 2)
        assert st.flakiness(attempts, passed) == pytest.approx(by_definition)


def test_clustered_error_of_single_cases_is_the_usual_one():
    values = [0.0, 1.0, 1.0, 0.5, 0.2, 1.0]
    usual = float(stats.sem(values))
    assert st.clustered_standard_error(values, list(range(6))) == pytest.approx(usual)


def test_clustered_error_counts_a_duplicated_case_once():
    # Two copies of every case carry no more information than one.
    values = [0.0, 1.0, 1.0, 0.0, 1.0]
    doubled = st.clustered_standard_error([*values, *values], [*range(5), *range(5)])
    assert doubled == pytest.approx(st.clustered_standard_error(values, list(range(5))))


def test_clustered_error_by_hand():
    # Clusters (1, 1), (0): mean 2/3, sums of deviations 2/3 and -2/3; sqrt(2/1 * 8/9)/3 = 4/9.
    assert st.clustered_standard_error([1.0, 1.0, 0.0], ["a", "a", "b"]) == pytest.approx(4 / 9)
    assert st.clustered_standard_error([1.0, 0.0], ["a", "a"]) == math.inf


def test_bootstrap_is_seeded_and_near_the_normal_interval():
    values = [float(index % 4 > 0) for index in range(400)]
    interval = st.cluster_bootstrap(values, list(range(400)), seed=11)
    assert interval == st.cluster_bootstrap(values, list(range(400)), seed=11)
    half = 1.96 * st.clustered_standard_error(values, list(range(400)))
    assert (interval.low, interval.high) == pytest.approx((0.75 - half, 0.75 + half), abs=0.006)


@pytest.mark.parametrize(
    ("values", "clusters", "method"),
    [
        ([1.0, 0.0, 1.0], None, "wilson"),
        ([1.0, 0.4, 1.0], None, "cluster bootstrap"),
        ([1.0, 0.0, 1.0], ["a", "a", "b"], "cluster bootstrap"),
        ([1.0, 1.0, 1.0], ["a", "a", "b"], "wilson over clusters"),
        ([], None, "wilson"),
    ],
)
def test_a_rate_takes_the_interval_that_suits_the_data(values, clusters, method):
    rate = st.rate(values, clusters)
    assert rate.interval.method == method
    assert rate.interval.low <= rate.value <= rate.interval.high
    assert rate.cases == len(values)


def test_all_passing_groups_do_not_claim_certainty():
    rate = st.rate([1.0] * 20, [index // 4 for index in range(20)])
    assert rate.interval.low == pytest.approx(0.566, abs=6e-4)
    assert (rate.interval.high, rate.clusters) == (1.0, 5)


def test_newcombe_by_hand():
    # 20 both, 2 first only, 12 second only, 16 neither: rates .44 and .64, phi = (320 - 24 - 25)/sqrt(22*28*32*18).
    interval = st.newcombe_interval(both=20, lost=2, gained=12, neither=16)
    phi = 271 / math.sqrt(22 * 28 * 32 * 18)
    first, second = st.wilson_interval(22, 50), st.wilson_interval(32, 50)
    below, above = 0.64 - second.low, first.high - 0.44
    assert interval.low == pytest.approx(0.2 - math.sqrt(below**2 - 2 * phi * below * above + above**2))
    assert 0.05 < interval.low < 0.07
    assert 0.31 < interval.high < 0.35
    mirrored = st.newcombe_interval(both=20, lost=12, gained=2, neither=16)
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))


def test_paired_interval_and_test_choose_by_the_data():
    plain = ([1.0, 0.0, 1.0], [1.0, 1.0, 0.0])
    repeats = ([1.0, 0.6, 1.0, 0.0], [1.0, 1.0, 0.8, 0.2])
    assert st.paired_interval(*plain).method == "newcombe"
    assert st.paired_test(*plain).method == "exact McNemar"
    assert st.paired_interval(*repeats).method == "cluster bootstrap"
    assert st.paired_test(*repeats).method == "cluster sign-flip"
    same = st.paired_interval([0.5] * 8, [0.5] * 8)
    assert (same.low, same.high) == pytest.approx((-st.wilson_interval(0, 8).high, st.wilson_interval(0, 8).high))
    with pytest.raises(ValueError, match="zip"):
        st.paired_test([1.0], [1.0, 0.0])


def test_power_against_enumeration_of_every_table():
    cases, discordance, difference = 12, 0.6, 0.5
    better = (discordance + difference) / 2
    power = 0.0
    for gained in range(cases + 1):
        for lost in range(cases + 1 - gained):
            chance = stats.multinomial.pmf(
                [gained, lost, cases - gained - lost], cases, [better, discordance - better, 1 - discordance]
            )
            power += chance * (st.mcnemar_exact(lost, gained).p_value <= 0.05)
    assert st.mcnemar_power(cases, discordance, difference) == pytest.approx(power, abs=1e-9)


def test_minimum_detectable_difference_reaches_its_power_and_no_less():
    for cases in (10, 25, 100, 1000):
        smallest = st.minimum_detectable_difference(cases)
        assert st.mcnemar_power(cases, max(0.2, smallest), smallest) >= 0.8
        less = smallest - 0.002
        assert st.mcnemar_power(cases, max(0.2, less), less) < 0.8
    assert st.minimum_detectable_difference(25) == pytest.approx(0.298, abs=0.002)
    assert st.minimum_detectable_difference(5) is None
    assert st.minimum_detectable_difference(0) is None


def test_minimum_detectable_difference_is_near_the_normal_approximation():
    # Connor 1987: n = (1.96 sqrt(psi) + 0.84 sqrt(psi - d^2))^2 / d^2.
    # The exact test is conservative, so it needs a few more cases; ever fewer, relatively, as they grow.
    cases, discordance = 20_000, 0.2
    found = st.minimum_detectable_difference(cases, discordance)
    approximate = (1.96 * math.sqrt(discordance) + 0.8416 * math.sqrt(discordance - found**2)) ** 2 / found**2
    assert 0.95 * cases < approximate < cases


def test_models_that_cannot_be_told_apart_form_overlapping_groups():
    p_values = {
        ("a", "c"): 0.01,
        ("a", "b"): 0.2,
        ("b", "c"): 0.3,
        ("d", "a"): 0.001,
        ("d", "b"): 0.001,
        ("d", "c"): 0.02,
    }
    groups = st.not_distinguishable(["d", "c", "a", "b"], [0.2, 0.7, 0.9, 0.8], p_values)
    assert groups == (("a", "b"), ("b", "c"), ("d",))
    assert st.not_distinguishable(["x"], [1.0], {}) == (("x",),)


def test_simulated_coverage_of_the_wilson_interval():
    random = np.random.default_rng(1)
    for truth, cases in ((0.5, 25), (0.9, 25), (0.96, 50), (0.8, 200)):
        passed = random.binomial(cases, truth, size=4000)
        limits = {count: st.wilson_interval(count, cases) for count in set(passed.tolist())}
        covered = np.mean([limits[count].low <= truth <= limits[count].high for count in passed.tolist()])
        assert 0.92 <= covered <= 0.985, (truth, cases, covered)


def test_simulated_coverage_of_the_cluster_bootstrap():
    """Groups of four paraphrases that stand or fall together: an interval that ignores it covers too rarely."""
    random = np.random.default_rng(2)
    groups, size, covered, ignored = 60, 4, 0, 0
    for trial in range(300):
        chances = random.beta(2, 1, size=groups).repeat(size)
        values = (random.random(groups * size) < chances).astype(float).tolist()
        clusters = [index // size for index in range(groups * size)]
        interval = st.cluster_bootstrap(values, clusters, seed=trial, draws=400)
        covered += interval.low <= 2 / 3 <= interval.high
        naive = st.wilson_interval(sum(values), len(values))
        ignored += naive.low <= 2 / 3 <= naive.high
    assert 0.90 <= covered / 300 <= 0.98
    assert ignored < covered


def test_simulated_coverage_of_the_paired_interval():
    random = np.random.default_rng(3)
    for gained, lost in ((0.15, 0.05), (0.02, 0.02), (0.3, 0.0)):
        chances = [0.6, lost, gained, 0.4 - gained - lost]
        tables = random.multinomial(60, chances, size=2000)
        intervals = [st.newcombe_interval(*map(int, table)) for table in tables]
        covered = np.mean([each.low <= gained - lost <= each.high for each in intervals])
        assert 0.93 <= covered <= 1.0, (gained, lost, covered)


def test_simulated_size_of_the_paired_tests_stays_under_alpha():
    """Under the null hypothesis a test at 5 % may cry wolf in 5 % of the corpora, no more."""
    random = np.random.default_rng(4)
    tables = random.multinomial(100, [0.7, 0.1, 0.1, 0.1], size=3000)
    cached = {pair: st.mcnemar_exact(*pair).p_value for pair in {(int(t[1]), int(t[2])) for t in tables}}
    exact = np.mean([cached[int(t[1]), int(t[2])] <= 0.05 for t in tables])
    assert 0.005 <= exact <= 0.055
    false_alarms = 0
    for trial in range(300):
        # Ten groups of three cases; within a group both runs share luck.
        luck = random.normal(size=10).repeat(3)
        first = (random.random(30) + 0.2 * luck > 0.5).astype(float)
        second = (random.random(30) + 0.2 * luck > 0.5).astype(float)
        clusters = [index // 3 for index in range(30)]
        false_alarms += st.cluster_sign_flip(list(second - first), clusters, seed=trial).p_value <= 0.05
    assert false_alarms / 300 <= 0.08


def test_simulated_power_is_what_the_minimum_detectable_difference_promises():
    random = np.random.default_rng(6)
    difference = st.minimum_detectable_difference(100)
    better = (0.2 + difference) / 2
    tables = random.multinomial(100, [0.7, 0.2 - better, better, 0.1], size=3000)
    cached = {pair: st.mcnemar_exact(*pair).p_value for pair in {(int(t[1]), int(t[2])) for t in tables}}
    seen = np.mean([cached[int(t[1]), int(t[2])] <= 0.05 for t in tables])
    assert 0.77 <= seen <= 0.84


@pytest.mark.parametrize(
    ("table", "p_value"),
    [((8, 10, 2, 10), 0.0230141), ((3, 4, 1, 4), 0.4857143), ((5, 5, 45, 50), 1.0), ((0, 4, 21, 21), 7.905e-05)],
)
def test_a_slice_against_the_rest_by_fisher(table, p_value):
    assert st.slice_test(*table) == pytest.approx(p_value, rel=1e-4)
