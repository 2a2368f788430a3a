"""A run as JUnit XML, for the test view of a CI server: one testcase a case, FAIL a failure, ERROR an error.

The shape is the one that Ant wrote first and that Surefire, Jenkins, GitLab and GitHub read: `testsuites` with one
`testsuite`, `testcase` with `properties`, then at most one of `failure` and `error`, then `system-out`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from harness.report import words
from harness.report.replacing import replacing
from harness.report.reporter import RunView
from harness.types.cases import Case
from harness.types.outcomes import CaseResult, Failed, basis_of
from harness.types.run import RunFacts, Summary

LONGEST = 20_000
"""Characters of one text; a test view is no archive."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnitReporter:
    """Writes a run as JUnit XML."""

    def write(self, run: RunView, path: Path) -> None:
        """Write the report to `path`, replacing what is there only once it is whole."""
        with replacing(path) as file:
            file.writelines(_document(run))


def _document(run: RunView) -> Iterator[str]:
    facts, counted = run.facts, _counted(run)
    cases, failures, errors, seconds = counted
    name = attribute(facts.name)
    totals = f'tests="{cases}" failures="{failures}" errors="{errors}" time="{seconds:.3f}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites name={name} {totals}>\n"
    started = facts.started_at.strftime("%Y-%m-%dT%H:%M:%S")
    yield f'  <testsuite name={name} {totals} skipped="0" timestamp="{started}">\n'
    yield from _properties("    ", _suite_properties(facts, run.summary))
    for case, result in run.results():
        yield from _testcase(facts, case, result)
    yield "  </testsuite>\n</testsuites>\n"


def _counted(run: RunView) -> tuple[int, int, int, float]:
    """Cases, failures, errors and seconds: they stand before the cases, so the run is read once for them."""
    cases = failures = errors = 0
    seconds = 0.0
    for _, result in run.results():
        cases += 1
        failures += result.grade == "FAIL"
        errors += result.grade == "ERROR"
        seconds += _seconds(result)
    return cases, failures, errors, seconds


def _suite_properties(facts: RunFacts, summary: Summary) -> list[tuple[str, str]]:
    rows = [
        ("golden", facts.golden),
        ("golden_digest", facts.golden_digest),
        ("target", facts.target),
        ("model", facts.model or ""),
        ("clock", facts.now.isoformat()),
        ("repeats", str(facts.repeat)),
        ("answers", "replayed from a tape" if facts.replayed else "scripted" if facts.scripted else ""),
        ("score", f"{summary.score:.6f}"),
        *((f"grade.{grade}", str(number)) for grade, number in summary.grades.items()),
        *((f"version.{name}", version) for name, version in facts.versions.items()),
    ]
    return [(name, value) for name, value in rows if value]


def _testcase(facts: RunFacts, case: Case, result: CaseResult) -> Iterator[str]:
    worst = result.worst
    name, group = attribute(f"{case.id}: {words.one_line(case.nl, 160)}"), attribute(_class_name(facts, case))
    yield f'    <testcase name={name} classname={group} time="{_seconds(result):.3f}">\n'
    yield from _properties("      ", _case_properties(case, result))
    if not result.passed:
        tag = "error" if worst.grade == "ERROR" else "failure"
        lines = words.failure_lines(worst.judgement)
        kind = attribute(" ".join(words.kinds_of(worst.judgement)) or worst.grade)
        yield f"      <{tag} message={attribute(words.one_line(lines[0], 300))} type={kind}>"
        yield f"{_text(_explained(case, result, lines))}</{tag}>\n"
    if worst.reply.raw:
        yield f"      <system-out>{_text(words.clip(worst.reply.raw, LONGEST))}</system-out>\n"
    yield "    </testcase>\n"


def _case_properties(case: Case, result: CaseResult) -> list[tuple[str, str]]:
    worst = result.worst
    rows = [
        ("grade", worst.grade),
        ("basis", basis_of(worst.judgement)),
        ("backend", case.backend),
        ("digest", worst.case_digest),
        ("tags", ";".join(case.tags)),
        ("group", case.group or ""),
        ("flaky", "true" if result.flaky else ""),
        ("execution", worst.execution.outcome if worst.execution else ""),
    ]
    if len(result.outcomes) > 1:
        rows.append(("passes", f"{sum(outcome.passed for outcome in result.outcomes)}/{len(result.outcomes)}"))
        rows += [(f"repeat.{outcome.repeat + 1}", outcome.grade) for outcome in result.outcomes]
    return [(name, value) for name, value in rows if value]


def _explained(case: Case, result: CaseResult, lines: tuple[str, ...]) -> str:
    worst = result.worst
    parts = [
        f"sentence: {words.clip(case.nl, 2_000)}",
        f"expected: {words.clip(words.expected_text(case.expectation), LONGEST)}",
        f"actual:   {words.clip(words.answer_text(worst.reply.answer), LONGEST)}",
        *(f"- {words.clip(line, 2_000)}" for line in lines[:20]),
    ]
    judgement = worst.judgement
    if isinstance(judgement, Failed) and judgement.evidence is not None and judgement.evidence.basis == "refuted":
        parts.append(f"witness: {words.clip(judgement.evidence.witness.model_dump_json(), LONGEST)}")
    return "\n".join(parts)


def _class_name(facts: RunFacts, case: Case) -> str:
    """What test views group by: the golden file, then the first tag."""
    stem = Path(facts.golden.replace("\\", "/")).stem.replace(".", "_") or "golden"
    return f"{stem}.{words.one_line(case.tags[0], 60).replace('.', '_')}" if case.tags else stem


def _seconds(result: CaseResult) -> float:
    return sum(call.latency_ms for outcome in result.outcomes for call in outcome.reply.calls) / 1000


def _properties(indent: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    yield f"{indent}<properties>\n"
    for name, value in rows:
        yield f"{indent}  <property name={attribute(name)} value={attribute(words.clip(value, 1_000))}/>\n"
    yield f"{indent}</properties>\n"


def attribute(text: str) -> str:
    """Text as a quoted XML attribute; what XML cannot hold becomes U+FFFD."""
    return quoteattr(_NOT_XML.sub("\ufffd", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(text: str) -> str:
    """Text between tags; what XML cannot hold becomes U+FFFD."""
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})
