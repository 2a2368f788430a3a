"""A comparison as one JSON object, for programs."""

import json

from pydantic import JsonValue

from harness.comparison.alignment import ComparedCase
from harness.comparison.comparing import RunComparison
from harness.report.comparison.story import headline

FORMAT = "rung.comparison/1"


def as_json(comparison: RunComparison) -> dict[str, JsonValue]:
    """Everything of a comparison; cases that changed sides with both answers, the others by grade."""
    moved = {identity for pair in comparison.pairs for identity in (*pair.gained, *pair.lost)}
    return {
        "format": FORMAT,
        "headline": headline(comparison),
        "alpha": comparison.alpha,
        "clustered": comparison.clustered,
        "detectable_difference": comparison.detectable,
        "sides": [figures.model_dump(mode="json") for figures in comparison.sides],
        "alignment": comparison.alignment.model_dump(mode="json"),
        "pairs": [pair.model_dump(mode="json") for pair in comparison.pairs],
        "tags": [row.model_dump(mode="json") for row in comparison.tags],
        "indistinguishable": [list(group) for group in comparison.indistinguishable],
        "cases": [_case(case, full=case.id in moved) for case in comparison.cases],
    }


def dumps(comparison: RunComparison) -> str:
    """The object as text."""
    return json.dumps(as_json(comparison), ensure_ascii=False, allow_nan=False, indent=2)


def _case(case: ComparedCase, *, full: bool) -> dict[str, JsonValue]:
    answers: list[JsonValue] = []
    for side in case.sides:
        answer: dict[str, JsonValue] = {"grade": side.grade, "passes": side.passes, "attempts": side.attempts}
        if full:
            answer.update(actual=side.actual, differences=list(side.lines))
        answers.append(answer)
    document: dict[str, JsonValue] = {"id": case.id, "tags": list(case.tags), "sides": answers}
    if full:
        document.update(nl=case.nl, expected=case.expected)
    return document
