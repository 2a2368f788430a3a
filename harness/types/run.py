"""What a run was, and what it came to."""

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from canon.verdict import DifferenceKind
from harness.types.answers import NoQueryReason
from harness.types.frozen import Frozen
from harness.types.outcomes import Grade


class RunFacts(Frozen):
    """What is needed to read a run, and to make it again. Holds no secret.

    Attributes:
        name: the run's folder name.
        started_at: wall clock, aware UTC.
        now: the run's clock for cases that pin none, aware UTC.
        golden: the golden file as the user named it.
        golden_digest: sha256 of its bytes.
        target: the target's name.
        model: the model's name, where there is one.
        scripted: the answers came from a script, not from a model; every report says so.
        replayed: the answers came from a tape.
        repeat: attempts per case.
        flags: the options of the run, secrets left out.
        versions: rung, sqlglot, engine, … by name.
        target_facts: what the target says of itself.
    """

    name: str
    started_at: datetime
    now: datetime
    golden: str
    golden_digest: str
    target: str
    model: str | None = None
    scripted: bool = False
    replayed: bool = False
    repeat: int = Field(default=1, ge=1)
    flags: dict[str, JsonValue] = {}
    versions: dict[str, str] = {}
    target_facts: dict[str, JsonValue] = {}


class TagCount(Frozen):
    """Cases of one tag and how many passed."""

    tag: str
    passed: int
    total: int


class Latency(Frozen):
    """Latency per model call in milliseconds."""

    minimum: float
    median: float
    p95: float
    maximum: float


class Warned(Frozen):
    """One warning of the run and the cases it concerns (at most 50 ids; `count` is exact)."""

    kind: Literal["flaky", "steady", "unpinned", "today_line_absent", "adapted_parameter", "contradiction", "other"]
    message: str
    cases: tuple[str, ...] = ()
    count: int = 0


class Summary(Frozen):
    """The counts of a run. `grades` counts cases by their case grade; every grade has an entry.

    Attributes:
        format: version of this layout.
        cases: cases of the corpus that were asked for.
        finished: cases with all their repeats done.
        passed: cases that passed every repeat.
        score: weighted share of passed cases over all asked, 0 to 1.
        grades: cases per grade.
        bases: cases per basis.
        tags: per tag, in order of first appearance.
        differences: failed cases per kind of difference.
        reasons: ERROR cases per reason.
        flaky: ids of cases that passed some repeats.
        steady: ids of cases that were wrong the same way every time.
        undecided: cases that failed without a proof or a witness.
        attempts: attempts made.
        calls: model calls made.
        repairs: calls beyond the first of an attempt.
        retries: transport retries.
        prompt_tokens: as reported, `None` = never reported.
        completion_tokens: as reported, `None` = never reported.
        latency: over all calls, `None` = no call was made.
        executions: attempts per execution outcome.
        warnings: what the user should know.
        interrupted: the run was stopped before its end.
    """

    format: Literal["rung.summary/1"] = "rung.summary/1"
    cases: int
    finished: int
    passed: int
    score: float
    grades: dict[Grade, int]
    bases: dict[str, int] = {}
    tags: tuple[TagCount, ...] = ()
    differences: dict[DifferenceKind, int] = {}
    reasons: dict[NoQueryReason, int] = {}
    flaky: tuple[str, ...] = ()
    steady: tuple[str, ...] = ()
    undecided: int = 0
    attempts: int = 0
    calls: int = 0
    repairs: int = 0
    retries: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency: Latency | None = None
    executions: dict[str, int] = {}
    warnings: tuple[Warned, ...] = ()
    interrupted: bool = False
