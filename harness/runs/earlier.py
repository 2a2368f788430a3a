"""An earlier run as a source of answers: its replies, asked again without asking anybody."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.errors import UsageError
from harness.runs.folder import StoredRun, open_run
from harness.runs.journal import entry_at
from harness.types.answers import NoQuery, Reply
from harness.types.cases import Case

EARLIER = "earlier"
"""The name of the target that is an earlier run."""


def asked_earlier(answers: Path, golden: Path | None) -> dict[str, Any]:
    """Options for grading answers: a file is read as predictions, a run's folder brings what it was asked.

    Raises:
        JournalError: the folder is no run.
        UsageError: predictions without a golden file.
    """
    if not answers.is_dir():
        if golden is None:
            raise UsageError("no golden file: rung grade PREDICTIONS --in FILE")
        return {"answers": answers, "target": "recorded"}
    facts = open_run(answers).facts
    kept = {"config": facts.flags.get("config"), "backend": facts.flags.get("backend")}
    paths = {name: Path(str(value)) if name == "config" else value for name, value in kept.items() if value is not None}
    return {
        "golden": golden or Path(facts.golden),
        "answers": answers,
        "target": EARLIER,
        "now": facts.now.isoformat(),
        **paths,
    }


class EarlierTarget:
    """Answers with the replies of an earlier run. A reply belongs to its case id, sentence and repeat."""

    name = EARLIER

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._place = {_asked(question.case): place for place, question in enumerate(run.folder.questions())}
        self._file = run.folder.journal.open("rb")
        self.repeats = run.facts.repeat

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """Which run the replies are of, and what that run says of its own target."""
        facts = self._run.facts
        return {"run": facts.name, "target": facts.target, "target_facts": facts.target_facts}

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Look the reply up."""
        place = self._place.get(_asked(case))
        offset = self._run.finished.at(place, repeat) if place is not None and repeat < self.repeats else None
        if offset is None:
            said = f"the run {self._run.facts.name} has no reply for case {case.id}, repeat {repeat}"
            return Reply(answer=NoQuery(reason="empty", message=said))
        return entry_at(self._file, offset).outcome.reply

    async def aclose(self) -> None:
        """Close the journal."""
        self._file.close()


def _asked(case: Case) -> int:
    """What a reply answers. A number is kept instead of the texts, for there may be very many."""
    return hash((case.id, case.nl, case.backend))


def open_earlier(path: Path) -> EarlierTarget:
    """Open a run's folder as a target.

    Raises:
        JournalError: it is no run.
    """
    return EarlierTarget(open_run(path))
