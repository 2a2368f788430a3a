"""An audit as text for the terminal."""

from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.audit.adequacy import Adequacy
from harness.audit.findings import SEVERITIES, Audit

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def print_audit(audit: Audit, stream: TextIO) -> None:
    """Write the findings in the order of the file, then the adequacy, then one line that sums up."""
    console = Console(file=stream, highlight=False, soft_wrap=True)
    for finding in audit.findings:
        place = f"{audit.golden}:{finding.line}" if finding.line else audit.golden
        line = Text(f"{place}: ")
        line.append(finding.severity, style=_STYLES[finding.severity])
        line.append(f": {finding.case_id}: {finding.message} [{finding.check}]")
        console.print(line)
    if audit.adequacy is not None:
        _print_adequacy(audit.adequacy, console)
    counts = [(severity, sum(f.severity == severity for f in audit.findings)) for severity in SEVERITIES]
    said = ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts if count)
    console.print(f"{audit.cases} cases, {audit.executed} run on a fixture: {said or 'nothing to mend'}")


def _print_adequacy(adequacy: Adequacy, console: Console) -> None:
    share = adequacy.share
    if share is None:
        return
    killed = sum(case.killed for case in adequacy.cases)
    killable = sum(case.killable for case in adequacy.cases)
    table = Table(
        title=f"The fixture shows {killed} of {killable} ways to be wrong ({share:.1%})", title_justify="left"
    )
    table.add_column("tag")
    table.add_column("shown", justify="right")
    for tag, part in adequacy.by_tag().items():
        table.add_row(Text(tag), f"{part:.0%}")
    console.print(table)
    same = sum(case.equivalent for case in adequacy.cases)
    open_ = sum(survivor.witness is None for case in adequacy.cases for survivor in case.survivors)
    console.print(f"left out: {same} proved to mean the same, {open_} that no database was found for")
