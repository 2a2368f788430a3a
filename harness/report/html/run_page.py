"""The HTML report of one run."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from markupsafe import Markup
from pydantic import JsonValue

from harness.report import words
from harness.report.html.case import CaseView, text_lengths, view_case
from harness.report.html.pages import template
from harness.report.laws import law_of
from harness.report.overview import Gathering, Overview
from harness.report.replacing import replacing
from harness.report.reporter import RunView
from harness.report.story import headline, notices, stability, story
from harness.types.run import RunFacts

PAGE_BYTES = 9_500_000
"""What all cases together may take; long texts are clipped so that a large run still opens at once."""

SAVED_BYTES = 1_200_000.0
"""What the first cases may take beyond their share. What a case leaves is saved for those that follow."""

RESERVED = SAVED_BYTES / 2
"""What of it is kept for the failures: where it is touched, passes give up their raw replies and attempts."""

LONGEST = 20_000
"""Characters of one text that are shown where there is room."""

SHORTEST = 90
"""Characters of one text that are shown whatever the size of the run."""

SPARSE = -300_000.0
"""Bytes overdrawn at which texts are cut to half of the shortest: a run of nothing but failures."""

EXAMPLE = 4_000
"""Characters of one text of the failure that is shown before the lists."""

FRAME = 1_000
"""Characters that a case takes besides its long texts."""

PER_GROUP = 40
"""Cases listed under one kind of failure; the table of cases holds all of them."""


class HtmlReporter:
    """Writes a run as one HTML file."""

    def write(self, run: RunView, path: Path) -> None:
        """Write the report to `path`, replacing what is there only once it is whole.

        The run is read once: each case is rendered as it comes and set aside, the counts above the cases are known when
        the last has come.
        """
        gathering = Gathering(run.facts, run.summary)
        with SpooledTemporaryFile(max_size=16_000_000, mode="w+", encoding="utf-8", errors="replace") as cases:
            _render_cases(run, gathering, cases)
            overview = gathering.finish()
            clearest = gathering.clearest
            example = view_case(*clearest, EXAMPLE, clock=run.facts.now) if clearest else None
            cases.seek(0)
            with replacing(path) as file:
                file.writelines(_page(overview, example, _chunks(cases)))


def _render_cases(run: RunView, gathering: Gathering, cases: IO[str]) -> None:
    """Render every case within the room that the run leaves it."""
    row = template("parts.html").module.row  # type: ignore[attr-defined]
    fair = PAGE_BYTES / max(1, run.summary.cases, run.summary.finished)
    saved = SAVED_BYTES
    for case, result in run.results():
        gathering.add(case, result)
        limit = (
            longest_that_fits(text_lengths(case, result), fair + saved / 10 - FRAME)
            if saved > SPARSE
            else SHORTEST // 2
        )
        lean = saved < (RESERVED if result.passed else 0)
        text = str(row(view_case(case, result, limit, clock=run.facts.now, lean=lean)))
        cases.write(text)
        saved += fair - len(text.encode(errors="replace"))


def longest_that_fits(lengths: list[int], room: float) -> int:
    """The limit under which texts of these lengths, each clipped to it, fit into `room` characters."""
    limit, left = 0.0, room
    for index, length in enumerate(sorted(lengths)):
        limit = left / (len(lengths) - index)
        if length > limit:
            break
        left -= length
        limit = LONGEST
    return int(min(LONGEST, max(SHORTEST, limit)))


def _page(overview: Overview, example: CaseView | None, cases: Iterator[Markup]) -> Iterator[str]:
    latencies = sorted(overview.latencies)
    return template("run.html").generate(
        title=f"{words.one_line(overview.facts.name, 80)}: {headline(overview)}",
        o=overview,
        headline=headline(overview),
        story=story(overview),
        notices=notices(overview),
        stability=stability(overview),
        example=example,
        per_group=PER_GROUP,
        cases=cases,
        laws=[(words.identity(words.clip(name, 80)), law_of(name), count) for name, count in overview.absorbed[:80]],
        facts=run_facts(overview.facts),
        median=latencies[len(latencies) // 2] if latencies else None,
        p95=latencies[min(len(latencies) - 1, int(len(latencies) * 0.95))] if latencies else None,
    )


def _chunks(cases: IO[str]) -> Iterator[Markup]:
    while chunk := cases.read(1 << 18):
        yield Markup(chunk)  # noqa: S704 - rendered by the templates, which escaped it


def run_facts(facts: RunFacts) -> list[tuple[str, str]]:
    """The facts of a run as names and values for a person."""

    def flat(prefix: str, values: dict[str, JsonValue]) -> list[tuple[str, str]]:
        return [
            (f"{prefix} {name}", words.clip(value if isinstance(value, str) else json.dumps(value), 400))
            for name, value in values.items()
        ]

    rows = [
        ("run", facts.name),
        ("started", f"{facts.started_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("clock", f"{facts.now:%Y-%m-%d %H:%M:%S} UTC, where a case pins none"),
        ("model", facts.model or ""),
        ("target", facts.target),
        ("golden file", facts.golden),
        ("golden digest", facts.golden_digest),
        ("attempts per case", str(facts.repeat)),
        ("answers from", "a tape" if facts.replayed else "a script" if facts.scripted else ""),
        *flat("option", facts.flags),
        *flat("target", facts.target_facts),
        *flat("version", dict(facts.versions)),
    ]
    return [(name, value) for name, value in rows if value]
