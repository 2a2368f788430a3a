"""The folder of a run: what was asked, what came back, what it came to. Read again without holding it in memory.

==============  ====================================================================================
file            holds
==============  ====================================================================================
facts.json      `RunFacts`
cases.jsonl     one `Question` a line, in the golden's order, as they were asked
journal.jsonl   one `Entry` a finished attempt, in the order of finishing
summary.json    `Summary`, once the run has ended or was interrupted
==============  ====================================================================================
"""

import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import JournalError, UsageError
from harness.runs.attempts import Question, key_of
from harness.runs.journal import Entry, entry_at, read_journal
from harness.runs.summary import summarise
from harness.types.cases import Case
from harness.types.outcomes import CaseResult
from harness.types.run import RunFacts, Summary, Warned

Model = TypeVar("Model", bound=BaseModel)
_NONE = -1


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.facts = path / "facts.json"
        self.cases = path / "cases.jsonl"
        self.journal = path / "journal.jsonl"
        self.summary = path / "summary.json"

    def exists(self) -> bool:
        """Whether a run has been started here."""
        return self.facts.is_file()

    def write_facts(self, facts: RunFacts) -> None:
        """Write what is run, making the folder where there is none."""
        self.path.mkdir(parents=True, exist_ok=True)
        _replace(self.facts, [facts.model_dump_json(indent=2)])

    def write_questions(self, questions: Iterable[Question]) -> int:
        """Write what is asked, in order, and return how many there are."""
        count = 0

        def lines() -> Iterator[str]:
            nonlocal count
            for question in questions:
                count += 1
                yield question.model_dump_json() + "\n"

        self.path.mkdir(parents=True, exist_ok=True)
        _replace(self.cases, lines())
        return count

    def write_summary(self, summary: Summary) -> None:
        """Write what the run came to."""
        _replace(self.summary, [summary.model_dump_json(indent=2), "\n"])

    def read_facts(self) -> RunFacts:
        """Read what was run.

        Raises:
            JournalError: there is no run here, or its facts cannot be read.
        """
        return _read(self.facts, RunFacts)

    def read_summary(self) -> Summary:
        """Read what the run came to.

        Raises:
            JournalError: the run has not ended, or its summary cannot be read.
        """
        return _read(self.summary, Summary)

    def questions(self) -> Iterator[Question]:
        """What is asked, in order; each call reads anew."""
        try:
            with self.cases.open("rb") as file:
                for line in file:
                    yield Question.model_validate_json(line)
        except (OSError, ValidationError) as error:
            raise JournalError(f"{self.cases}: cannot be read: {error}") from error


class Finished:
    """Where the finished attempts of a run stand in its journal: one number an attempt, whatever its length."""

    def __init__(self, cases: int, repeat: int) -> None:
        self._repeat = repeat
        self._offsets = array("q", [_NONE]) * (cases * repeat)

    def __len__(self) -> int:
        return sum(1 for offset in self._offsets if offset != _NONE)

    def mark(self, place: int, repeat: int, offset: int | None) -> None:
        """Remember where an attempt stands; `None` = it is to be made again."""
        self._offsets[place * self._repeat + repeat] = _NONE if offset is None else offset

    def has(self, place: int, repeat: int) -> bool:
        """Whether an attempt is finished."""
        return self._offsets[place * self._repeat + repeat] != _NONE

    def at(self, place: int, repeat: int) -> int | None:
        """Where an attempt stands, `None` where it is not finished."""
        offset = self._offsets[place * self._repeat + repeat]
        return None if offset == _NONE else offset

    def of_case(self, place: int) -> list[int]:
        """Where the attempts of a case stand, by repeat."""
        slots = self._offsets[place * self._repeat : (place + 1) * self._repeat]
        return [offset for offset in slots if offset != _NONE]


class Places:
    """From an attempt's entry to its place in the run, by the key of what was asked."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._place: dict[int, int] = {}
        self._digests: list[str] = []
        self._case_digests: list[str] = []
        for place, question in enumerate(questions):
            self._place[hash(question.case.id)] = place
            self._digests.append(question.digest)
            self._case_digests.append(question.case.digest)

    def __len__(self) -> int:
        return len(self._digests)

    def find(self, entry: Entry) -> int | None:
        """The place of the question that this entry answers; `None` where the run asks no such question."""
        outcome = entry.outcome
        place = self._place.get(hash(outcome.case_id))
        if place is None:
            return None
        return place if key_of(self._digests[place], outcome.repeat) == outcome.key else None

    def case_digest(self, place: int) -> str:
        """The digest of the case at a place."""
        return self._case_digests[place]


class StoredRun:
    """A run in its folder: a `RunView`."""

    def __init__(self, folder: RunFolder, facts: RunFacts, finished: Finished, summary: Summary | None = None) -> None:
        self.folder = folder
        self.facts = facts
        self.finished = finished
        self._summary = summary

    @property
    def summary(self) -> Summary:
        """The counts, as written, or counted now where the run has not ended."""
        if self._summary is None:
            self._summary = summarise(self, interrupted=True)
        return self._summary

    def count(self, *, interrupted: bool, told: tuple[Warned, ...] = ()) -> None:
        """Count the run as it stands and write its summary."""
        self._summary = summarise(self, interrupted=interrupted, told=told)
        self.folder.write_summary(self._summary)

    def results(self) -> Iterator[tuple[Case, CaseResult]]:
        """Every case with at least one finished attempt, in the golden's order."""
        with self.folder.journal.open("rb") as file:
            for place, question in enumerate(self.folder.questions()):
                outcomes = tuple(entry_at(file, offset).outcome for offset in self.finished.of_case(place))
                if outcomes:
                    yield question.case, CaseResult(outcomes=outcomes)

    def cases(self) -> Iterator[Case]:
        """Every case that was asked for, finished or not."""
        return (question.case for question in self.folder.questions())


def open_run(path: Path) -> StoredRun:
    """Open the folder of a run to read it.

    Raises:
        JournalError: there is no run, or it cannot be read.
    """
    folder = RunFolder(path)
    if not folder.exists():
        raise JournalError(f"{path}: no run here (facts.json is missing); name a folder such as runs/<name>")
    facts = folder.read_facts()
    places = Places(folder.questions())
    finished = Finished(len(places), facts.repeat)
    if folder.journal.is_file():
        for kept in read_journal(folder.journal):
            place = places.find(kept.entry)
            if place is not None and kept.entry.outcome.repeat < facts.repeat:
                finished.mark(place, kept.entry.outcome.repeat, kept.offset)
    summary = folder.read_summary() if folder.summary.is_file() else None
    return StoredRun(folder, facts, finished, summary)


def latest_run(runs: Path) -> RunFolder:
    """The run of a folder of runs that was started last.

    Raises:
        UsageError: there is none.
    """
    started = [
        (RunFolder(path).read_facts().started_at, path) for path in runs.glob("*") if (path / "facts.json").is_file()
    ]
    if not started:
        raise UsageError(f"{runs}: no run to resume; name one with --name")
    return RunFolder(max(started)[1])


def _read(path: Path, model: type[Model]) -> Model:
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        raise JournalError(f"{path}: cannot be read: {error.errors()[0]['msg']}") from error


def _replace(path: Path, parts: Iterable[str]) -> None:
    """Write a file so that a reader sees the old or the new, never a half."""
    new = path.with_name(f".{path.name}.new")
    with new.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
