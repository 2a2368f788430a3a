"""What can be said of pass rates, and of the difference between runs on the same cases.

The unit is always the case, never the attempt: repeats of one sentence are not independent, and neither are paraphrases
of one question. So each case enters with the mean of its repeats, and whole cases (or whole groups of paraphrases) are
what is resampled or flipped. Every test is for paired data, because the runs that are compared answered the same cases.

scipy and numpy are imported inside the functions that need them: a run that is not compared never pays for them.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from harness.types.frozen import Frozen

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

LEVEL = 0.95
"""Confidence level where none is asked for."""

ALPHA = 0.05
"""Error rate of a test where none is asked for."""

POWER = 0.8
"""Chance of seeing a true difference that a minimum detectable difference promises."""

DRAWS = 2000
"""Bootstrap resamples; the Monte Carlo error of a 95 % limit is then about a tenth of the standard error."""

FLIPS = 9999
"""Random sign assignments of a permutation test; with the observed one they make 10,000."""

IntervalMethod = Literal["wilson", "newcombe", "cluster bootstrap", "wilson over clusters"]


class Interval(Frozen):
    """A confidence interval, both ends included.

    Attributes:
        low: lower limit.
        high: upper limit.
        level: confidence level, 0 to 1.
        method: how it was found.
    """

    low: float
    high: float
    level: float = LEVEL
    method: IntervalMethod = "wilson"


class Rate(Frozen):
    """A mean over cases with its interval.

    Attributes:
        value: the mean, 0 to 1.
        interval: where the true mean plausibly is.
        cases: cases it is taken over, the ones that ended in ERROR included.
        clusters: independent units among them.
    """

    value: float
    interval: Interval
    cases: int
    clusters: int


class PairedTest(Frozen):
    """The outcome of a two-sided test on paired cases.

    Attributes:
        method: `exact McNemar`, or `cluster sign-flip` where cases have repeats or groups.
        p_value: chance of a difference at least this large if neither side were better.
        gained: discordant units that speak for the second side.
        lost: discordant units that speak for the first side.
    """

    method: Literal["exact McNemar", "cluster sign-flip"]
    p_value: float
    gained: int
    lost: int


def wilson_interval(passed: float, total: int, level: float = LEVEL) -> Interval:
    """Interval of a proportion that behaves at 0, at 1 and for few cases.

    With p = passed/total, n = total and z the normal quantile of (1 + level)/2:
    centre = (p + z^2/2n) / (1 + z^2/n), half width = z / (1 + z^2/n) * sqrt(p(1-p)/n + z^2/4n^2).
    No case at all leaves the whole of [0, 1].

    Source: E. B. Wilson, JASA 22 (1927) 209-212; recommended by Brown, Cai and DasGupta, Statistical Science 16 (2001).

    Args:
        passed: successes, 0 to `total`; a sum of case means may be a fraction.
        total: cases.
        level: confidence level, between 0 and 1.

    Raises:
        ValueError: counts that are no counts.
    """
    if total < 0 or not 0 <= passed <= total:
        raise ValueError(f"{passed} of {total} is no proportion")
    if total == 0:
        return Interval(low=0.0, high=1.0, level=level)
    share = passed / total
    z = NormalDist().inv_cdf((1 + level) / 2)
    shrink = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / shrink
    half = z / shrink * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == total else min(1.0, centre + half)
    return Interval(low=low, high=high, level=level)


def mcnemar_exact(lost: int, gained: int) -> PairedTest:
    """Exact McNemar test: are the cases that changed sides split like fair coins?

    Only discordant cases speak: `lost` passed in the first run alone, `gained` in the second alone. Under the null
    hypothesis lost ~ Binomial(lost + gained, 1/2); the p-value is two-sided, 2 * P(X <= min(lost, gained)), at most 1.

    Source: Q. McNemar, Psychometrika 12 (1947) 153-157; exact form by Mosteller, Biometrics 8 (1952).
    """
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    p_value = 1.0 if lost + gained == 0 else float(binomtest(lost, lost + gained, 0.5).pvalue)
    return PairedTest(method="exact McNemar", p_value=min(1.0, p_value), gained=gained, lost=lost)


def cluster_sign_flip(differences: Sequence[float], clusters: Sequence[Hashable], *, seed: int = 0) -> PairedTest:
    """Paired permutation test with clusters: under the null hypothesis the two runs' labels may be swapped per cluster.

    The statistic is the sum of the differences; every cluster's sum keeps or changes its sign as a whole. All 2^C
    assignments are tried where they are at most 10,000, else 9,999 random ones, p = (1 + hits)/(1 + 9,999). With one
    attempt a case and no groups this is the exact McNemar test.

    Source: Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010), for the random form; Good, Permutation,
    Parametric and Bootstrap Tests (2005) 3.2 for paired data.

    Args:
        differences: second minus first, one per case.
        clusters: the cluster of each case.
        seed: of the random assignments; the same seed gives the same p-value.
    """
    import numpy as np

    sums = np.array([value for value in _sum_by_cluster(differences, clusters) if abs(value) > 1e-12])
    gained, lost = int((sums > 0).sum()), int((sums < 0).sum())
    if sums.size == 0:
        return PairedTest(method="cluster sign-flip", p_value=1.0, gained=0, lost=0)
    observed = abs(float(sums.sum())) - 1e-9
    if 2**sums.size <= FLIPS + 1:
        codes = np.arange(2**sums.size)[:, None]
        totals = np.where((codes >> np.arange(sums.size)) & 1, 1.0, -1.0) @ sums
        p_value = float((np.abs(totals) >= observed).mean())
    else:
        random = np.random.default_rng(seed)
        hits = 0
        for size in _batches(FLIPS, sums.size):
            signs = random.integers(0, 2, size=(size, sums.size), dtype=np.int8)
            totals = (2.0 * signs - 1.0) @ sums
            hits += int((np.abs(totals) >= observed).sum())
        p_value = (1 + hits) / (1 + FLIPS)
    return PairedTest(method="cluster sign-flip", p_value=p_value, gained=gained, lost=lost)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down correction: p-values that may be read together at one error rate.

    Sorted ascending, the i-th of m (from 0) becomes max over j <= i of min(1, (m - j) * p_j); returned in the order
    given. Controls the chance of even one false alarm, whatever the dependence.

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for step, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = running
    return tuple(adjusted)


def slice_test(passed: int, total: int, passed_elsewhere: int, total_elsewhere: int) -> float:
    """Two-sided p-value that a slice of the cases passes at another rate than the rest: Fisher's exact test.

    Given both margins of the 2 x 2 table, the number of passes in the slice is hypergeometric; p is the sum over all
    tables no likelier than the observed one. One test a slice needs `holm` over the slices.

    Source: R. A. Fisher, JRSS 85 (1922) 87-94.
    """
    from scipy.stats import fisher_exact

    table = [[passed, total - passed], [passed_elsewhere, total_elsewhere - passed_elsewhere]]
    return float(fisher_exact(table).pvalue)


def pass_at_k(attempts: int, passed: int, k: int) -> float:
    """Chance that at least one of `k` attempts passes, unbiased: 1 - C(n-c, k)/C(n, k).

    Source: Chen et al., Evaluating Large Language Models Trained on Code (2021), equation 1.

    Raises:
        ValueError: `k` is not between 1 and `attempts`, or `passed` not between 0 and `attempts`.
    """
    _check_draw(attempts, passed, k)
    return 1 - math.comb(attempts - passed, k) / math.comb(attempts, k)


def pass_hat_k(attempts: int, passed: int, k: int) -> float:
    """Chance that all of `k` attempts pass, unbiased: pass^k = C(c, k)/C(n, k).

    Source: Yao et al., tau-bench (2024), section 3.

    Raises:
        ValueError: `k` is not between 1 and `attempts`, or `passed` not between 0 and `attempts`.
    """
    _check_draw(attempts, passed, k)
    return math.comb(passed, k) / math.comb(attempts, k)


def flakiness(attempts: int, passed: int) -> float:
    """Chance that two attempts of a case disagree, unbiased: c(n-c)/C(n, 2); 0 with a single attempt.

    0 = always the same side; a fair coin tends to 1/2. Equals pass@2 - pass^2. The mean over cases is the flakiness of
    a run: how often asking again would turn a case.

    Source: the U-statistic of the pair kernel 1[x != y] (Hoeffding, Ann. Math. Stat. 19, 1948); Gini-Simpson index.

    Raises:
        ValueError: `passed` is not between 0 and `attempts`, or there is no attempt.
    """
    _check_draw(attempts, passed, 1)
    return passed * (attempts - passed) / math.comb(attempts, 2) if attempts > 1 else 0.0


def clustered_standard_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Standard error of a mean whose values are correlated within clusters.

    With n values, mean m and C clusters: sqrt(C/(C-1) * sum over clusters of (sum of (x - m))^2) / n. Each value its
    own cluster gives the usual s/sqrt(n). Infinite with fewer than two clusters, from which no error can be told.

    Source: Liang and Zeger, Biometrika 73 (1986); with the small-sample factor of Cameron and Miller, Journal of Human
    Resources 50 (2015), equation 12; for evaluations Miller, Adding Error Bars to Evals (2024), section 2.2.
    """
    _check_clusters(values, clusters)
    mean = math.fsum(values) / len(values)
    sums = _sum_by_cluster([value - mean for value in values], clusters)
    if len(sums) < 2:
        return math.inf
    return math.sqrt(len(sums) / (len(sums) - 1) * math.fsum(value * value for value in sums)) / len(values)


def cluster_bootstrap(
    values: Sequence[float], clusters: Sequence[Hashable], *, seed: int = 0, level: float = LEVEL, draws: int = DRAWS
) -> Interval:
    """Percentile interval of a mean by resampling whole clusters with replacement.

    Each resample draws C of the C clusters and takes (sum of values)/(number of values); the interval runs between the
    (1 - level)/2 and (1 + level)/2 quantiles of the means. The same seed gives the same interval.

    Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), 3.8 and 5.3; Field and Welsh, JRSS B 69
    (2007) for clusters.
    """
    import numpy as np

    _check_clusters(values, clusters)
    sums = np.array(_sum_by_cluster(values, clusters))
    sizes = np.array(_sum_by_cluster([1.0] * len(values), clusters))
    random = np.random.default_rng(seed)
    means: list[NDArray[float64]] = []
    for size in _batches(draws, sums.size):
        drawn = random.integers(0, sums.size, size=(size, sums.size))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level, method="cluster bootstrap")


def rate(values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, seed: int = 0) -> Rate:
    """Mean over cases with the interval that suits the data.

    Cases that passed or failed outright and stand alone get the Wilson interval. Means of repeats, or groups of
    paraphrases, get the cluster bootstrap; where no cluster differs from another, resampling sees no spread at all, and
    the Wilson interval over the number of clusters stands in.

    Args:
        values: the mean of each case's repeats, 0 to 1; an ERROR counts 0.
        clusters: the cluster of each case; `None` = every case stands alone.
        seed: of the bootstrap.
    """
    names = list(clusters) if clusters is not None else list(range(len(values)))
    count = len(set(names))
    if not values:
        return Rate(value=0.0, interval=wilson_interval(0, 0), cases=0, clusters=0)
    mean = math.fsum(values) / len(values)
    if count == len(values) and all(value in (0, 1) for value in values):
        interval = wilson_interval(round(math.fsum(values)), len(values))
    elif clustered_standard_error(values, names) in (0.0, math.inf):
        plain = wilson_interval(min(mean * count, count), count)
        interval = plain.model_copy(update={"method": "wilson over clusters"})
    else:
        interval = cluster_bootstrap(values, names, seed=seed)
    return Rate(value=mean, interval=interval, cases=len(values), clusters=count)


def paired_test(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable] | None = None, *, seed: int = 0
) -> PairedTest:
    """Is the second better or worse than the first on the same cases, or is that noise?

    One attempt a case and no groups: exact McNemar. Repeats or groups: the sign-flip test over clusters.

    Args:
        first: the mean of each case's repeats in the first run.
        second: the same cases, in the same order, in the second run.
        clusters: the cluster of each case; `None` = every case stands alone.
        seed: of the random sign flips.

    Raises:
        ValueError: the two do not have the same number of cases.
    """
    names = list(clusters) if clusters is not None else list(range(len(first)))
    differences = [after - before for before, after in zip(first, second, strict=True)]
    if len(set(names)) == len(first) and all(value in (0, 1) for value in (*first, *second)):
        return mcnemar_exact(sum(value < 0 for value in differences), sum(value > 0 for value in differences))
    return cluster_sign_flip(differences, names, seed=seed)


def newcombe_interval(both: int, lost: int, gained: int, neither: int, level: float = LEVEL) -> Interval:
    """Interval of the difference of two paired proportions, second minus first.

    Wilson limits of each proportion are combined by square-and-add with the correlation phi of the 2 x 2 table (its
    positive values corrected for continuity): with p the second rate in [l, u] and q the first in [l', u'],
    low = p - q - sqrt((p-l)^2 - 2 phi (p-l)(u'-q) + (u'-q)^2), and high likewise with the other ends.

    Source: R. G. Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10.

    Args:
        both: cases that pass in both.
        lost: cases that pass in the first alone.
        gained: cases that pass in the second alone.
        neither: cases that pass in neither.
        level: confidence level, between 0 and 1.
    """
    total = both + lost + gained + neither
    first, second = wilson_interval(both + lost, total, level), wilson_interval(both + gained, total, level)
    if total == 0:
        return Interval(low=-1.0, high=1.0, level=level, method="newcombe")
    before, after = (both + lost) / total, (both + gained) / total
    margins = (both + lost) * (gained + neither) * (both + gained) * (lost + neither)
    excess = both * neither - lost * gained
    corrected = max(0.0, excess - total / 2) if excess > 0 else excess
    phi = corrected / math.sqrt(margins) if margins else 0.0
    below, above = after - second.low, first.high - before
    low = after - before - math.sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2))
    above, below = second.high - after, before - first.low
    high = after - before + math.sqrt(max(0.0, above**2 - 2 * phi * above * below + below**2))
    return Interval(low=max(-1.0, low), high=min(1.0, high), level=level, method="newcombe")


def paired_interval(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable] | None = None, *, seed: int = 0
) -> Interval:
    """Interval of the mean difference, second minus first, on the same cases.

    One attempt a case and no groups: Newcombe's interval. Repeats or groups: the cluster bootstrap over paired cases;
    where no cluster differs from another, resampling sees no spread, and the Wilson limit of 0 of C clusters to either
    side stands in.

    Args:
        first: the mean of each case's repeats in the first run.
        second: the same cases, in the same order, in the second run.
        clusters: the cluster of each case; `None` = every case stands alone.
        seed: of the bootstrap.
    """
    names = list(clusters) if clusters is not None else list(range(len(first)))
    pairs = list(zip(first, second, strict=True))
    if len(set(names)) == len(pairs) and all(value in (0, 1) for pair in pairs for value in pair):
        return newcombe_interval(*(pairs.count(kind) for kind in ((1, 1), (1, 0), (0, 1), (0, 0))))
    differences = [after - before for before, after in pairs]
    if clustered_standard_error(differences, names) in (0.0, math.inf):
        mean = math.fsum(differences) / len(differences)
        reach = wilson_interval(0, len(set(names))).high
        low, high = max(-1.0, mean - reach), min(1.0, mean + reach)
        return Interval(low=low, high=high, method="wilson over clusters")
    return cluster_bootstrap(differences, names, seed=seed)


def mcnemar_power(cases: int, discordance: float, difference: float, alpha: float = ALPHA) -> float:
    """Chance that the exact McNemar test sees a true difference.

    D of the `cases` are discordant, D ~ Binomial(cases, discordance); of these Binomial(D, (1 + difference /
    discordance)/2) speak for the better side. The power is the sum over D of P(D) * P(the test rejects given D).

    Source: the unconditional exact power of Duffy, Biometrics 40 (1984) 1005-1015.

    Args:
        cases: paired cases.
        discordance: share of cases on which the two disagree.
        difference: true difference of the pass rates, at most `discordance`.
        alpha: error rate of the test, two-sided.
    """
    import numpy as np
    from scipy.stats import binom

    counts = np.arange(cases + 1)
    weights = binom.pmf(counts, cases, discordance)
    kept = weights > 1e-12
    counts, weights = counts[kept], weights[kept]
    # The largest k with 2 * P(X <= k) <= alpha; -1 where even k = 0 is too likely.
    limits = binom.ppf(alpha / 2, counts, 0.5)
    limits = np.where(binom.cdf(limits, counts, 0.5) <= alpha / 2, limits, limits - 1)
    better = min(1.0, (1 + difference / discordance) / 2) if discordance > 0 else 0.5
    rejects = binom.cdf(limits, counts, better) + binom.sf(counts - limits - 1, counts, better)
    return float((weights * rejects).sum())


def minimum_detectable_difference(
    cases: int, discordance: float = 0.2, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Smallest true difference of two pass rates that so many paired cases show with the wanted power.

    The smallest d at which `mcnemar_power(cases, max(discordance, d), d)` reaches `power`, to a hundredth of a point.
    `None` where even a difference of 100 points would be missed (no result of five cases is significant at .05).

    Source: bisection over `mcnemar_power`, which rises with d; the normal approximation of the same quantity is Connor,
    Biometrics 43 (1987) 207-211.

    Args:
        cases: paired cases.
        discordance: share of cases on which the two are expected to disagree.
        alpha: error rate of the test, two-sided.
        power: chance of seeing it.
    """
    if cases < 1 or mcnemar_power(cases, 1.0, 1.0, alpha) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > 0.00005:
        middle = (low + high) / 2
        reached = mcnemar_power(cases, max(discordance, middle), middle, alpha) >= power
        low, high = (low, middle) if reached else (middle, high)
    return high


def not_distinguishable(
    names: Sequence[str], values: Sequence[float], p_values: dict[tuple[str, str], float], alpha: float = ALPHA
) -> tuple[tuple[str, ...], ...]:
    """Groups of models that the corpus cannot tell apart, best first.

    Each group is a maximal set in which no pair differs significantly; groups may overlap, since "not told apart" is
    not transitive. A model that differs from every other stands in a group of its own.

    Source: the compact letter display of Piepho, J. Comput. Graph. Stat. 13 (2004) 456-466, with every maximal clique
    of the graph of insignificant pairs as one letter.

    Args:
        names: the models, unique.
        values: their rates, in the same order.
        p_values: corrected p-value by pair, in either order of the pair.
        alpha: error rate.
    """
    ranked = [name for name, _ in sorted(zip(names, values, strict=True), key=lambda item: -item[1])]

    def together(one: str, other: str) -> bool:
        return p_values.get((one, other), p_values.get((other, one), 1.0)) >= alpha

    neighbours = {one: frozenset(x for x in ranked if x != one and together(one, x)) for one in ranked}
    cliques = _maximal_cliques(frozenset(), frozenset(ranked), frozenset(), neighbours)
    ordered = [tuple(sorted(clique, key=ranked.index)) for clique in cliques]
    return tuple(sorted(ordered, key=lambda clique: [ranked.index(name) for name in clique]))


def _maximal_cliques(
    clique: frozenset[str],
    candidates: frozenset[str],
    excluded: frozenset[str],
    neighbours: dict[str, frozenset[str]],
) -> list[frozenset[str]]:
    """Bron and Kerbosch (CACM 16, 1973) with a pivot; the graphs here have as many nodes as models."""
    if not candidates and not excluded:
        return [clique]
    found: list[frozenset[str]] = []
    pivot = max(sorted(candidates | excluded), key=lambda node: len(neighbours[node] & candidates))
    for node in sorted(candidates - neighbours[pivot]):
        near = neighbours[node]
        found += _maximal_cliques(clique | {node}, candidates & near, excluded & near, neighbours)
        candidates, excluded = candidates - {node}, excluded | {node}
    return found


def _sum_by_cluster(values: Iterable[float], clusters: Sequence[Hashable]) -> list[float]:
    """Sum of the values of each cluster, clusters in order of first appearance."""
    sums: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value
    return list(sums.values())


def _batches(draws: int, width: int) -> Iterable[int]:
    """Split `draws` rows of `width` numbers so that no batch holds more than about two million of them."""
    size = max(1, min(draws, 2_000_000 // max(1, width)))
    for start in range(0, draws, size):
        yield min(size, draws - start)


def _check_clusters(values: Sequence[float], clusters: Sequence[Hashable]) -> None:
    if not values or len(values) != len(clusters):
        raise ValueError(
            f"{len(values)} values and {len(clusters)} clusters: one cluster per value, at least one value"
        )


def _check_draw(attempts: int, passed: int, k: int) -> None:
    if attempts < 1 or not 0 <= passed <= attempts:
        raise ValueError(f"{passed} of {attempts} attempts passed: no such case")
    if not 1 <= k <= attempts:
        raise ValueError(f"k = {k} with {attempts} attempts: k must be between 1 and the number of attempts")
