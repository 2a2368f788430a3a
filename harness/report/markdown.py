"""A run as Markdown, for the summary of a CI job: verdict, ladder, tags, failures folded."""

from collections.abc import Iterator
from pathlib import Path

from harness.report import words
from harness.report.html.case import cell_text
from harness.report.markdown_text import bar, code, fenced, folded, html, inline, table
from harness.report.overview import Gathering, Overview
from harness.report.replacing import replacing
from harness.report.reporter import RunView
from harness.report.story import headline, notices, stability, story
from harness.types.cases import Case
from harness.types.outcomes import CaseResult, Failed, Judgement

FAILURES_SHOWN = 100
"""Failures shown in full; a job summary holds a megabyte, and the HTML report holds the rest."""

ROOM = 700_000
"""Characters that the failures may take together."""


class MarkdownReporter:
    """Writes a run as Markdown."""

    def write(self, run: RunView, path: Path) -> None:
        """Write the report to `path`, replacing what is there only once it is whole."""
        text = as_markdown(run)
        with replacing(path) as file:
            file.write(text)


def as_markdown(run: RunView) -> str:
    """The report of a run as Markdown."""
    gathering = Gathering(run.facts, run.summary)
    failures: list[str] = []
    room = ROOM
    for case, result in run.results():
        gathering.add(case, result)
        if not result.passed and len(failures) < FAILURES_SHOWN:
            failure = _failure(case, result)
            room -= len(failure)
            if room > 0:
                failures.append(failure)
    return "\n\n".join(_parts(gathering.finish(), failures)) + "\n"


def _parts(overview: Overview, failures: list[str]) -> Iterator[str]:
    facts = overview.facts
    yield f"## {headline(overview)}{f' ({words.percent(overview.rate.value)})' if overview.cases else ''}"
    asked = [f"model {code(facts.model)}" if facts.model else "", f"target {code(facts.target)}", code(facts.golden)]
    yield " · ".join(part for part in asked if part)
    yield from (inline(sentence, 2_000) for sentence in story(overview))
    yield from (f"> {inline(note, 2_000)}" for note in notices(overview))
    if overview.cases:
        yield _ladder(overview)
    if overview.tags:
        yield from ("### By tag", _tags(overview))
    if overview.flakiness is not None:
        yield from ("### Stability", stability(overview))
    if overview.groups:
        yield from ("### What went wrong", _kinds(overview))
        yield from failures
        if len(failures) < overview.failed:
            yield f"… and {overview.failed - len(failures):,} more failures; the HTML report shows all of them."


def _ladder(overview: Overview) -> str:
    rows = [
        [f"**{grade}**", f"`{bar(number / overview.cases)}`", f"{number:,}", words.MEANINGS[grade]]
        for grade, number in overview.grades.items()
    ]
    return table(["grade", "", "cases", ""], rows, frozenset({2}))


def _tags(overview: Overview) -> str:
    rows = [
        [
            inline(row.tag, 60),
            f"`{bar(row.rate.value)}`",
            f"{row.passed:,}/{row.rate.cases:,}",
            words.interval(row.rate.interval),
            "weaker than the rest" if row.below else "",
        ]
        for row in overview.tags
    ]
    return table(["tag", "", "passed", "95 % interval", ""], rows, frozenset({2, 3}))


def _kinds(overview: Overview) -> str:
    rows = [
        [words.kind_title(kind), f"{len(failing):,}", inline(words.listed([case.id for case in failing], 6))]
        for kind, failing in overview.groups
    ]
    return table(["kind", "cases", ""], rows, frozenset({1}))


def _failure(case: Case, result: CaseResult) -> str:
    worst = result.worst
    passed = sum(outcome.passed for outcome in result.outcomes)
    repeats = f" {passed}/{len(result.outcomes)}" if len(result.outcomes) > 1 else ""
    language = "json" if case.backend == "mongo" else "sql"
    parts = [words.why(worst.judgement)]
    parts.append("\n".join(f"* {inline(line)}" for line in words.failure_lines(worst.judgement)[:12]))
    parts += ["Expected", fenced(words.expected_text(case.expectation), language)]
    parts += ["Actual", fenced(words.answer_text(worst.reply.answer), language)]
    parts += _witness(worst.judgement)
    if worst.execution is not None:
        parts.append(f"Executed: {inline(worst.execution.outcome)} on {inline(worst.execution.engine)}")
    title = f"<b>{worst.grade}{repeats}</b> {html(case.id, 60)} {html(case.nl)}"
    return folded(title, "\n\n".join(part for part in parts if part))


def _witness(judgement: Judgement) -> list[str]:
    """The witness as tables."""
    if not isinstance(judgement, Failed) or judgement.evidence is None or judgement.evidence.basis != "refuted":
        return []
    witness = judgement.evidence.witness
    parts = [inline(witness.reading, 1_000)] if witness.reading else []
    if witness.kind == "documents":
        listings = [(name or "documents", documents) for name, documents in witness.collections.items()]
        listings += [("the expected query gives", witness.expected), ("the answer gives", witness.actual)]
        for name, documents in listings:
            shown = "\n".join(words.one_line(cell_text(document), 300) for document in documents[:8])
            parts += [f"{inline(name, 60)}:", fenced(shown or "(nothing)", "json")]
        return parts
    tables = [(table.name, table) for table in witness.tables]
    for name, data in (*tables, ("the expected query gives", witness.expected), ("the answer gives", witness.actual)):
        rows = [[code(cell_text(cell), 120) for cell in row] for row in data.rows[:8]]
        header = [inline(column, 60) for column in data.columns]
        parts += [f"{inline(name, 60)}:", table(header, rows) if rows else "(no rows)"]
    return parts
