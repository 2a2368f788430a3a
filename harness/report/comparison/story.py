"""The story of a comparison in sentences: which is better, whether that is noise, what was left out."""

from harness.comparison.alignment import Alignment
from harness.comparison.comparing import Pair, RunComparison, SideFigures
from harness.report import words


def headline(comparison: RunComparison) -> str:
    """The verdict in one line."""
    if len(comparison.sides) > 2:
        return _ranking(comparison)
    pair = comparison.pairs[0]
    first, second = words.one_line(pair.first, 60), words.one_line(pair.second, 60)
    match pair.verdict:
        case "better":
            return f"{second} is better than {first}"
        case "worse":
            return f"{second} is worse than {first}"
        case "not told apart":
            return f"No difference shown between {first} and {second}"


def _ranking(comparison: RunComparison) -> str:
    best = comparison.indistinguishable[0]
    if len(best) == 1:
        return f"{words.one_line(best[0], 60)} is best"
    if len(best) == len(comparison.sides):
        return f"The {len(best)} runs cannot be told apart"
    return f"{words.listed([words.one_line(label, 60) for label in best])} lead; they cannot be told apart"


def story(comparison: RunComparison) -> tuple[str, ...]:
    """A few sentences below the headline."""
    if len(comparison.sides) > 2:
        return (_field(comparison), _reach(comparison))
    pair = comparison.pairs[0]
    return (pair_sentence(comparison, pair), _noise(comparison, pair), _reach(comparison))


def pair_sentence(comparison: RunComparison, pair: Pair) -> str:
    """Two rates, their difference, and its interval."""
    first, second = side(comparison, pair.first), side(comparison, pair.second)
    measure = "of attempts" if comparison.clustered else "of cases"
    low, high = words.points(pair.interval.low), words.points(pair.interval.high)
    return (
        f"{words.one_line(second.label, 60)} passes {words.percent(second.rate.value, 1)} {measure}, "
        f"{words.one_line(first.label, 60)} {words.percent(first.rate.value, 1)}: {words.points(pair.difference)} "
        f"points, plausibly {low} to {high}."
    )


def _noise(comparison: RunComparison, pair: Pair) -> str:
    changed = len(pair.gained) + len(pair.lost)
    sides = (
        f"{words.count(changed, 'case')} changed sides, {len(pair.gained):,} for the better and {len(pair.lost):,} for "
        "the worse"
    )
    how = f"{pair.test.method} test, {words.p_value(pair.test.p_value)}"
    if not changed and pair.difference == 0:
        return f"No case changed sides ({how})."
    if pair.verdict == "not told apart":
        apart = pair.interval.low > 0 or pair.interval.high < 0
        close = " The interval, which is approximate, just leaves out zero; the test decides." if apart else ""
        return f"{sides}: chance alone could well do that ({how}), so this is no evidence that either is better.{close}"
    return f"{sides}: chance alone would hardly do that ({how})."


def _field(comparison: RunComparison) -> str:
    ranked = sorted(comparison.sides, key=lambda figures: -figures.rate.value)
    rates = [f"{words.one_line(figures.label, 60)} {words.percent(figures.rate.value, 1)}" for figures in ranked]
    groups = [
        " = ".join(words.one_line(label, 60) for label in group)
        for group in comparison.indistinguishable
        if len(group) > 1
    ]
    apart = f" Not told apart: {'; '.join(groups)}." if groups else " Every one differs from every other."
    return (
        f"{', '.join(rates)}.{apart} Each pair was tested on the same cases, corrected by Holm for "
        f"{words.count(len(comparison.pairs), 'pair')}."
    )


def _reach(comparison: RunComparison) -> str:
    cases = words.count(comparison.alignment.compared, "case")
    if comparison.detectable is None:
        return f"With {cases} in common no difference, however large, could be shown."
    reach = max(1, round(comparison.detectable * 100))
    return f"With {cases} in common, a true difference of about {reach} points would be seen four times in five."


def side(comparison: RunComparison, label: str) -> SideFigures:
    """The figures of a run by its label."""
    return next(figures for figures in comparison.sides if figures.label == label)


def notices(comparison: RunComparison) -> tuple[str, ...]:
    """What a reader must know before believing the numbers."""
    return (*_left_out(comparison.alignment), *_circumstances(comparison))


def _left_out(alignment: Alignment) -> list[str]:
    found: list[str] = []
    if alignment.changed:
        shown = words.listed([f"{words.one_line(case.id, 60)} ({case.what})" for case in alignment.changed])
        found.append(
            f"{words.count(len(alignment.changed), 'case')} left out because the golden row was edited between the "
            f"runs: {shown}."
        )
    for label, ids in alignment.missing.items():
        found.append(f"{words.count(len(ids), 'case')} left out because {label} has no result: {_ids(ids)}.")
    for label, ids in alignment.duplicated.items():
        found.append(
            f"{words.count(len(ids), 'id')} left out because {label} has more than one result for it: {_ids(ids)}."
        )
    for label in alignment.undigested:
        found.append(f"{label} holds no case digests: its cases were matched by id, sentence and golden text.")
    return found


def _circumstances(comparison: RunComparison) -> list[str]:
    found: list[str] = []
    for figures in comparison.sides:
        if figures.scripted:
            found.append(f"{figures.label}: the answers came from a script, not from a model.")
        if figures.replayed:
            found.append(f"{figures.label}: the answers were replayed from a tape.")
    errors = [
        f"{figures.grades['ERROR']:,} of {figures.label}" for figures in comparison.sides if figures.grades["ERROR"]
    ]
    if errors:
        found.append(
            f"Cases that ended in ERROR count as failed: {words.listed(errors)}. Look whether the endpoint rather than "
            "the model is to blame."
        )
    attempts = {figures.attempts / comparison.alignment.compared for figures in comparison.sides}
    if len(attempts) > 1:
        found.append("The runs differ in attempts per case; each case counts with the mean of its attempts.")
    return found


def _ids(ids: tuple[str, ...]) -> str:
    return words.listed([words.one_line(each, 60) for each in ids], 8)


def money(cost: float | None) -> str:
    """A cost in the user's currency: two decimals, more where that would be nothing."""
    if cost is None:
        return "–"
    return f"{cost:,.2f}" if cost >= 1 or cost == 0 else f"{cost:.4f}"


def number(value: int | None) -> str:
    """A count, or a dash where it is not known."""
    return "–" if value is None else f"{value:,}"


def measurements(comparison: RunComparison) -> list[tuple[str, list[str]]]:
    """The rows of the table side by side: a name and one text per run. Rows nobody knows anything of are left out."""
    sides = comparison.sides
    rows: list[tuple[str, list[str]]] = [
        ("pass rate", [words.percent(figures.rate.value, 1) for figures in sides]),
        ("95 % interval", [words.interval(figures.rate.interval) for figures in sides]),
        ("cases passed", [f"{figures.passed:,} of {comparison.alignment.compared:,}" for figures in sides]),
        *((grade, [f"{figures.grades[grade]:,}" for figures in sides]) for grade in words.MEANINGS),
        ("flaky cases", [number(figures.flaky) for figures in sides] if comparison.clustered else []),
        ("latency, median", [words.milliseconds(figures.latency_median) for figures in sides]),
        ("latency, 95 % within", [words.milliseconds(figures.latency_p95) for figures in sides]),
        ("tokens in", [number(figures.prompt_tokens) for figures in sides]),
        ("tokens out", [number(figures.completion_tokens) for figures in sides]),
        ("cost", [money(figures.cost) for figures in sides]),
    ]
    return [(name, cells) for name, cells in rows if any(cell != "–" for cell in cells)]
