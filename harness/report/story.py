"""The story of a run in sentences: the verdict first, then how sure it is, then where to look."""

from harness.report import words
from harness.report.overview import Overview


def headline(overview: Overview) -> str:
    """The verdict in one line."""
    if not overview.cases:
        return "No case has finished"
    total = words.count(overview.cases, "case")
    if overview.failed == 0:
        return "The one case passed" if overview.cases == 1 else f"All {total} passed"
    return f"{overview.passed:,} of {total} passed"


def story(overview: Overview) -> tuple[str, ...]:
    """Two or three sentences below the headline."""
    if not overview.cases:
        return ()
    return tuple(part for part in (_certainty(overview), _failures(overview)) if part)


def _certainty(overview: Overview) -> str:
    low, high = overview.rate.interval.low, overview.rate.interval.high
    cases = words.count(overview.cases, "case")
    text = f"With {cases} the true rate plausibly lies between {words.percent(low)} and {words.percent(high)}"
    if overview.detectable is None:
        return f"{text}; these are too few cases to tell two models apart."
    return (
        f"{text}; another model would have to differ by about {overview.detectable * 100:.0f} points for this corpus "
        "to show it."
    )


def _failures(overview: Overview) -> str:
    if not overview.failed:
        return ""
    wrong, errors = overview.grades["FAIL"], overview.grades["ERROR"]
    parts = []
    if wrong:
        parts.append(f"{words.count(wrong, 'case')} came back with the wrong query")
    if errors:
        parts.append(f"{words.count(errors, 'case')} with no query at all")
    kind, failing = overview.groups[0]
    if len(failing) == 1:
        return f"{' and '.join(parts)}."
    return (
        f"{' and '.join(parts)}. The commonest trouble: {words.kind_title(kind)} ({words.count(len(failing), 'case')})."
    )


def notices(overview: Overview) -> tuple[str, ...]:
    """What a reader must know before believing the numbers."""
    facts, summary = overview.facts, overview.summary
    found: list[str] = []
    if facts.scripted:
        found.append("The answers came from a script, not from a model.")
    if facts.replayed:
        found.append("The answers were replayed from a tape; no model was called.")
    if summary.interrupted or summary.finished < summary.cases:
        found.append(
            f"Unfinished: {words.count(summary.cases, 'case')} were asked for, {summary.finished:,} finished. "
            "The figures are of the finished ones."
        )
    if abs(summary.score - overview.rate.value) > 0.0005 and summary.finished == summary.cases:
        found.append(f"Weighted by the cases' weights, the score is {words.percent(summary.score, 1)}.")
    found += [
        f"{warning.message}{f' ({words.listed(warning.cases)})' if warning.cases else ''}"
        for warning in summary.warnings
    ]
    return tuple(words.clip(note, 1_000) for note in found)


def stability(overview: Overview) -> str:
    """What the repeats say, "" without repeats."""
    if overview.flakiness is None or overview.mean is None:
        return ""
    low, high = overview.mean.interval.low, overview.mean.interval.high
    flaky, steady = len(overview.summary.flaky), len(overview.summary.steady)
    return (
        f"A single attempt passes {words.percent(overview.mean.value)} of the time (plausibly {words.percent(low)} to "
        f"{words.percent(high)}); asked twice, a case changes sides with a chance of "
        f"{words.percent(overview.flakiness, 1)}. {words.count(flaky, 'case')} passed some attempts and failed others; "
        f"{words.count(steady, 'case')} {'was' if steady == 1 else 'were'} wrong the same way every time: misread, not "
        "noisy."
    )
