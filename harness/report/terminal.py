"""The report in the terminal: the ladder, the tags, each failure with its grounds, and what else one should know."""

import io
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from harness.report import screen, words
from harness.report.reporter import RunView
from harness.report.screen import WIDTH, safe
from harness.types.cases import Case
from harness.types.outcomes import LADDER, CaseResult, Failed, Grade, basis_of
from harness.types.run import RunFacts, Summary, TagCount, Warned

COLOURS: dict[Grade, str] = {
    "EXACT": "green",
    "EQUIVALENT": "green",
    "REFUSED": "cyan",
    "FAIL": "red",
    "ERROR": "magenta",
}
FAILURES_SHOWN = 40
"""Failures shown in full unless all are asked for."""
_BAR = 25
_TAG_BAR = 20
_TAGS_SHOWN = 40
_WARNINGS = {
    "flaky": "FLAKY",
    "steady": "STEADY MISREADING",
    "unpinned": "UNPINNED CLOCK",
    "today_line_absent": "CLOCK NOT PINNED IN THE PROMPT",
    "adapted_parameter": "PARAMETER ADAPTED",
    "contradiction": "CONTRADICTION",
    "other": "NOTE",
}


def console_on(stream: TextIO) -> Console:
    """A console as wide as the terminal, at most `WIDTH`; off a terminal, `WIDTH` and without colour."""
    console = Console(file=stream, highlight=False, soft_wrap=False, emoji=False, markup=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def write_report(run: RunView, stream: TextIO, *, verbose: bool = False) -> None:
    """Print the report of a run to a stream; off a terminal no line ends in blanks."""
    console = console_on(stream)
    if console.is_terminal:
        print_report(run, console, verbose=verbose)
        return
    with console.capture() as captured:
        print_report(run, console, verbose=verbose)
    stream.writelines(line.rstrip() + "\n" for line in captured.get().splitlines())


def report_text(run: RunView, *, width: int = WIDTH, verbose: bool = False) -> str:
    """The report as plain text."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, emoji=False, markup=False, color_system=None)
    print_report(run, console, verbose=verbose)
    return stream.getvalue()


def print_report(run: RunView, console: Console, *, verbose: bool = False) -> None:
    """Print the report of a run.

    Args:
        run: what to report.
        console: where to.
        verbose: list every case, and every failure in full.
    """
    facts, summary = run.facts, run.summary
    console.print(_heading(facts))
    if facts.scripted:
        console.print(Text("Scripted answers: this run shows the program, it measures no model.", style="yellow"))
    if facts.replayed:
        console.print(Text("Replayed from a tape: no model was called.", style="yellow"))
    console.print()
    _print_ladder(summary, console)
    if summary.tags:
        _print_tags(summary.tags, console)
    if verbose:
        _print_cases(run, console)
    _print_failures(run, console, FAILURES_SHOWN if not verbose else None)
    _print_warnings(summary.warnings, console)
    _print_measurements(summary, facts, console)


def _heading(facts: RunFacts) -> Text:
    parts = [facts.golden, f"target {facts.target}"]
    if facts.model:
        parts.append(f"model {facts.model}")
    if facts.repeat > 1:
        parts.append(f"{facts.repeat} repeats")
    return Text("rung  ", style="bold") + safe(" · ".join(parts))


def _print_ladder(summary: Summary, console: Console) -> None:
    whole = max(1, sum(summary.grades.values()))
    digits = len(str(whole))
    roomy = console.width >= 80
    for grade in LADDER:
        number = summary.grades.get(grade, 0)
        line = Text(f"  {grade:<12}", style=COLOURS[grade] if number else "dim")
        line += screen.bar(number / whole, _BAR, console, COLOURS[grade])
        line.append(f"  {number:>{digits}}", style="bold" if number else "dim")
        if roomy:
            line.append(f"  {words.MEANINGS[grade]}", style="dim")
        console.print(line)
    done = summary.finished
    style = "bold green" if summary.passed == done == summary.cases else "bold"
    share = words.percent(summary.passed / done) if done else "–"
    console.print(Text(f"  {summary.passed} of {words.count(done, 'case')} passed, {share}", style=style))
    if done != summary.cases:
        missing = f"  {summary.cases - done} of {summary.cases} cases are not finished"
        console.print(Text(missing + (": the run was interrupted" if summary.interrupted else ""), style="yellow"))
    if summary.undecided:
        said = f"  {summary.undecided} of the FAIL undecided: {words.NOT_TOLD_APART}"
        console.print(Text(said, style="dim"))
    console.print()


def _print_tags(tags: tuple[TagCount, ...], console: Console) -> None:
    console.print(Text("By tag", style="bold"))
    ranked = sorted(tags, key=lambda tag: (-tag.total, tag.tag))
    name_width = min(max(len(screen.visible(tag.tag)) for tag in ranked[:_TAGS_SHOWN]), console.width // 3)
    for tag in ranked[:_TAGS_SHOWN]:
        share = tag.passed / tag.total
        style = "green" if share == 1 else "yellow" if share else "red"
        line = Text("  ") + safe(f"{words.one_line(tag.tag, name_width):<{name_width}}  ")
        line += screen.bar(share, _TAG_BAR, console, style)
        line.append(f"  {tag.passed}/{tag.total}")
        console.print(line)
    if len(ranked) > _TAGS_SHOWN:
        console.print(Text(f"  and {len(ranked) - _TAGS_SHOWN} more tags", style="dim"))
    console.print()


def _print_cases(run: RunView, console: Console) -> None:
    console.print(Text("All cases", style="bold"))
    for case, result in run.results():
        line = Text("  ") + Text(f"{result.grade:<11}", style=COLOURS[result.grade])
        line += safe(f"{case.id}  ", "bold") + safe(words.one_line(case.nl, 120))
        if len(result.outcomes) > 1:
            passes = sum(outcome.passed for outcome in result.outcomes)
            line.append(f"  {passes}/{len(result.outcomes)}", style="dim")
        console.print(line, no_wrap=True, overflow="ellipsis")
    console.print()


def _print_failures(run: RunView, console: Console, at_most: int | None) -> None:
    shown = hidden = 0
    for case, result in run.results():
        if result.passed:
            continue
        if at_most is not None and shown >= at_most:
            hidden += 1
            continue
        if not shown:
            console.print(Text("Failures", style="bold"))
        shown += 1
        for part in _failure(case, result):
            console.print(part)
        console.print()
    if hidden:
        console.print(Text(f"  and {words.count(hidden, 'more failure')}: --verbose shows all", style="dim"))
        console.print()


def _failure(case: Case, result: CaseResult) -> Iterable[RenderableType]:
    worst = result.worst
    head = Text("  ") + safe(case.id, "bold") + Text(f"  {worst.grade}", style=COLOURS[worst.grade])
    basis = basis_of(worst.judgement)
    if basis != "none":
        head.append(f" · {basis}", style=COLOURS[worst.grade])
    if len(result.outcomes) > 1:
        passes = sum(outcome.passed for outcome in result.outcomes)
        head.append(f" · passed {passes} of {len(result.outcomes)} repeats")
        head.append(f" · {words.count(result.distinct_answers, 'distinct answer')}", style="dim")
    if case.tags:
        head += safe(f"  [{', '.join(case.tags)}]", "dim")
    yield head
    yield Padding(_facts_of(case, result), (0, 0, 0, 4), expand=False)
    evidence = worst.judgement.evidence if isinstance(worst.judgement, Failed) else None
    if evidence is not None and evidence.basis == "refuted":
        yield Padding(Text("data on which the two differ", style="bold"), (0, 0, 0, 4), expand=False)
        for part in screen.witness_lines(evidence.witness):
            yield Padding(part, (0, 0, 0, 6), expand=False)


def _facts_of(case: Case, result: CaseResult) -> Grid:
    """Sentence, both queries, and what is wrong, labelled."""
    worst = result.worst
    rows: list[tuple[str, Text]] = [("sentence", safe(words.clip(case.nl, screen.LONGEST_QUERY)))]
    expected, actual = words.expected_text(case.expectation), words.answer_text(worst.reply.answer)
    if worst.reply.answer.kind in ("sql", "mongo") and case.expectation.kind != "refusal":
        left, right = screen.side_by_side(expected, actual)
    else:
        left, right = safe(expected), safe(words.clip(actual, screen.LONGEST_QUERY))
    rows += [("expected", left), ("actual", right)]
    lines = words.failure_lines(worst.judgement)
    for label, line in zip(["why", *[""] * len(lines)], lines, strict=False):
        if worst.grade == "FAIL" or line not in actual:
            rows.append((label, safe(words.clip(line, 600))))
    if worst.execution is not None:
        detail = f": {worst.execution.detail}" if worst.execution.detail else ""
        rows.append(("execution", safe(f"{worst.execution.outcome} on {worst.execution.engine}{detail}")))
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in rows:
        grid.add_row(label, value)
    return grid


def _print_warnings(warnings: tuple[Warned, ...], console: Console) -> None:
    if not warnings:
        return
    console.print(Text("Warnings", style="bold"))
    for warned in warnings:
        loud = warned.kind in ("contradiction", "today_line_absent")
        line = Text("  ! ", style="red" if loud else "yellow")
        line.append(_WARNINGS[warned.kind], style="bold red" if loud else "bold yellow")
        line += safe(f"  {warned.message}")
        if warned.cases:
            more = warned.count - len(warned.cases)
            ids = [*warned.cases, *([f"and {more} more"] if more > 0 else [])]
            line += safe(f" ({words.listed(ids, 10)})", "dim")
        console.print(line)
    console.print()


def _print_measurements(summary: Summary, facts: RunFacts, console: Console) -> None:
    calls = [words.count(summary.attempts, "attempt"), words.count(summary.calls, "model call")]
    calls += [
        words.count(summary.repairs, "repair"),
        words.count(summary.retries, "transport retry", "transport retries"),
    ]
    rows = [("calls", ", ".join(calls))]
    if summary.latency is not None:
        at = summary.latency
        named = (("min", at.minimum), ("median", at.median), ("p95", at.p95), ("max", at.maximum))
        rows.append(("latency", ", ".join(f"{name} {words.milliseconds(value)}" for name, value in named)))
    if summary.calls:
        rows.append(("tokens", _tokens(summary)))
    if summary.executions:
        rows.append(("execution", ", ".join(f"{name} {number:,}" for name, number in summary.executions.items())))
    rows.append(("clock", f"{facts.now.isoformat().replace('+00:00', 'Z')} where a case pins none"))
    for label, value in rows:
        console.print(Text(f"  {label:<10}", style="dim") + safe(value))


def _tokens(summary: Summary) -> str:
    if summary.prompt_tokens is None and summary.completion_tokens is None:
        return "not reported by the endpoint"
    prompt, completion = summary.prompt_tokens or 0, summary.completion_tokens or 0
    return f"{prompt:,} prompt, {completion:,} completion"
