"""The words and numbers that all reports share, so that they tell one story."""

import math
import re
from collections.abc import Sequence

from canon.messages import TITLES
from canon.verdict import DifferenceKind
from harness.statistics import Interval
from harness.types.answers import NoQueryReason
from harness.types.cases import Case
from harness.types.outcomes import Basis, Equivalent, Exact, Failed, Grade, Judgement, NoAnswer, Refused, Unmet
from harness.types.texts import answer_text as answer_text  # noqa: PLC0414 - offered with the other words
from harness.types.texts import differences_of as differences_of  # noqa: PLC0414 - offered with the other words
from harness.types.texts import expected_text as expected_text  # noqa: PLC0414 - offered with the other words
from harness.types.texts import failure_lines as failure_lines  # noqa: PLC0414 - offered with the other words

MEANINGS: dict[Grade, str] = {
    "EXACT": "the golden query, byte for byte",
    "EQUIVALENT": "other text, same meaning",
    "REFUSED": "rightly declined the impossible",
    "FAIL": "a query, but the wrong one",
    "ERROR": "no query at all",
}
"""What a grade means, in the space of a label."""

REASONS: dict[NoQueryReason, str] = {
    "transport": "the endpoint could not be reached",
    "empty": "the reply was empty",
    "unparseable": "the reply could not be read as a query",
    "truncated": "the reply was cut off",
    "content_filter": "a content filter stopped the reply",
    "unexpected_refusal": "declined although the request can be expressed",
    "not_a_read": "the query would change data",
    "multiple_statements": "several statements instead of one",
    "target_crashed": "the program under test crashed",
}
"""Why there was no query, as a heading."""

BASES: dict[Basis, str] = {
    "identical": "same bytes",
    "canonical": "both normalise to the same form",
    "proved": "no row can tell the two apart",
    "observed": "same rows on the fixture",
    "refused": "declined, as it should",
    "refuted": "shown by rows on which the results differ",
    "undecided": "neither a proof nor a counterexample was found",
    "none": "nothing to compare",
}
"""What a basis says."""

ANSWERED_INSTEAD = "answered where it should have declined"
OTHER_RESULT = "another result on the fixture than expected"
NOT_TOLD_APART = "not shown to be the same, nor to differ"


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage that never rounds up to 100 or down to 0."""
    if not math.isfinite(share):
        return "–"
    value = share * 100
    shown = f"{value:.{digits}f}"
    if shown == f"{100:.{digits}f}" and value < 100:
        return f"{value:.{digits + 1}f} %" if digits < 2 else f"< {shown} %"
    if float(shown) == 0 and value > 0:
        return f"{value:.{digits + 1}f} %" if digits < 2 else f"> {shown} %"
    return f"{shown} %"


def interval(limits: Interval) -> str:
    """The limits of a rate, as `80 % to 99 %`."""
    return f"{percent(limits.low)} to {percent(limits.high)}"


def points(difference: float) -> str:
    """A signed difference of two rates, in percentage points."""
    value = round(difference * 100, 1)
    if value == 0:
        return "0.0"
    return f"{'+' if value > 0 else '−'}{abs(value):.1f}"


def milliseconds(value: float | None) -> str:
    """A latency for a person."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.0f} ms" if value < 9_999.5 else f"{value / 1000:.1f} s"


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 case`, `1,024 cases`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def p_value(p: float) -> str:
    """A p-value to two significant digits, as `p = 0.070` or `p < 0.001`."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def absorbed_of(judgement: Judgement) -> tuple[str, ...]:
    """The identities that made both sides one, by name."""
    if isinstance(judgement, Equivalent) and judgement.evidence.basis in ("canonical", "proved"):
        return judgement.evidence.absorbed
    return ()


def identity(name: str) -> str:
    """The name of an identity as words: `between_to_bounds` is `between to bounds`."""
    return re.sub(r"[_.:/-]+", " ", name).strip()


def kind_title(kind: str) -> str:
    """The heading of a failure group: a kind of difference, or what stands for one."""
    ours = {"answered": ANSWERED_INSTEAD, "result": OTHER_RESULT, "undecided": NOT_TOLD_APART}
    for titles in (TITLES, REASONS, ours):
        found = next((title for name, title in titles.items() if name == kind), None)
        if found is not None:
            return found
    return kind.replace("_", " ")


def kinds_of(judgement: Judgement) -> tuple[str, ...]:
    """The groups that a failure belongs to, each once, the first difference first."""
    match judgement:
        case Failed(evidence=None):
            return ("answered",)
        case Failed(evidence=Unmet()):
            return ("result",)
        case Failed():
            kinds: list[DifferenceKind] = [difference.kind for difference in differences_of(judgement)]
            return tuple(dict.fromkeys(kinds)) or ("undecided",)
        case NoAnswer(reason=reason):
            return (reason,)
        case Exact() | Equivalent() | Refused():
            return ()


def why(judgement: Judgement) -> str:
    """One line that says what a judgement rests on."""
    match judgement:
        case Exact():
            return "The same bytes as the golden query."
        case Equivalent(accepted=0):
            return f"The same meaning: {BASES[judgement.evidence.basis]}."
        case Equivalent(accepted=accepted):
            return f"The same meaning as acceptable alternative {accepted}: {BASES[judgement.evidence.basis]}."
        case Refused(by="words"):
            return "Declined in words, as it should."
        case Refused():
            return "Declined, as it should."
        case Failed(evidence=None):
            return "A query came back where the request should have been declined."
        case Failed(evidence=Unmet()):
            return "Run on the fixture, the answer does not give what is expected."
        case Failed(evidence=evidence) if evidence is not None and evidence.basis == "refuted":
            return "Another meaning: the rows below give different results."
        case Failed():
            return "Not the same as far as can be told: neither a proof nor a counterexample was found."
        case NoAnswer(reason=reason):
            return f"No query: {REASONS[reason]}."


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, and a note of how many there are where that is not all."""
    head, note = clipped(text, limit)
    return head + note


def clipped(text: str, limit: int) -> tuple[str, str]:
    """The beginning of a text, and a note of its length where that is not all of it."""
    if len(text) <= limit:
        return text, ""
    return text[:limit], f"… [{len(text):,} characters in all]"


def one_line(text: str, limit: int = 200) -> str:
    """White space folded to single blanks, clipped."""
    folded = " ".join(text[: limit * 4].split())
    return folded if len(folded) <= limit and len(text) <= limit * 4 else f"{folded[: limit - 1]}…"


def cluster_of(case: Case) -> str:
    """The independent unit of a case: its group of paraphrases, else itself."""
    return f"group {case.group}" if case.group else f"case {case.id}"


def listed(items: Sequence[str], limit: int = 5) -> str:
    """`a, b and c`, or `a, b, c and 4 more`."""
    if len(items) > limit:
        return f"{', '.join(items[:limit])} and {len(items) - limit:,} more"
    return " and ".join(part for part in (", ".join(items[:-1]), *items[-1:]) if part)
