"""What an audit of a golden file finds, and how bad it is."""

from typing import Literal

from harness.audit.adequacy import Adequacy
from harness.types.frozen import Frozen

Check = Literal[
    "runs",
    "returns_rows",
    "deterministic",
    "pinned",
    "itself",
    "accept",
    "same_meaning",
    "contradiction",
    "refusal",
    "domain",
    "named_column",
    "adequacy",
]
"""The closed list of what is looked at."""

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


class Finding(Frozen):
    """One thing that the author of a golden file should look at.

    Attributes:
        line: physical line of the golden file on which the row starts; 0 = the file.
        case_id: the case, "" = the file.
        check: what was looked at.
        severity: `error` = the golden is wrong, `warning` = it may let wrong answers pass, `note` = look once.
        message: what is the matter and, where one is likely, what to do.
    """

    line: int
    case_id: str
    check: Check
    severity: Severity
    message: str


class Audit(Frozen):
    """All that an audit found.

    Attributes:
        golden: the golden file as the user named it.
        cases: cases looked at.
        executed: cases that ran on a fixture.
        findings: in the order of the file, the worst first within a row.
        adequacy: of the fixture, where one was given and it was asked for.
    """

    format: Literal["rung.audit/1"] = "rung.audit/1"
    golden: str
    cases: int
    executed: int
    findings: tuple[Finding, ...]
    adequacy: Adequacy | None = None

    @property
    def failed(self) -> bool:
        """Whether there is something to mend: an error or a warning."""
        return any(finding.severity != "note" for finding in self.findings)
