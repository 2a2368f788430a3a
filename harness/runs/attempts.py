"""What is asked in a run: questions, one attempt per repeat, and the keys by which a finished one is known again."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from harness.types.cases import Case
from harness.types.frozen import Frozen


class Question(Frozen):
    """A case of a run with the digest of everything that determines what is asked.

    Attributes:
        case: the case, its `<default>` projection resolved.
        now: the clock of its attempts, aware UTC.
        digest: of sentence, backend, scope, clock, target and the target's facts; the expectation is not part of it,
            so that a corrected golden is graded anew and not paid for anew.
    """

    case: Case
    now: datetime
    digest: str

    def key(self, repeat: int) -> str:
        """The key of one attempt."""
        return key_of(self.digest, repeat)


def key_of(question: str, repeat: int) -> str:
    """The key of one attempt at a question; the repeat is part of it, so that no repeat is answered by another."""
    return hashlib.sha256(f"{question}:{repeat}".encode()).hexdigest()[:32]


class Attempt(NamedTuple):
    """One asking of a question. `place` is the question's position in the run."""

    place: int
    question: Question
    repeat: int

    @property
    def key(self) -> str:
        """The key under which the journal keeps it."""
        return self.question.key(self.repeat)


def pose(case: Case, *, target: str, facts: Mapping[str, JsonValue], run_now: datetime) -> Question:
    """Make the question of a case.

    Args:
        case: what to ask.
        target: the target's name.
        facts: what the target says determines its answer to this case.
        run_now: the run's clock, for a case that pins none.
    """
    now = (case.now or run_now).astimezone(UTC)
    asked = {
        "id": case.id,
        "nl": case.nl,
        "backend": case.backend,
        "scope": case.scope,
        "now": now.isoformat(),
        "target": target,
        "facts": dict(facts),
    }
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    return Question(case=case, now=now, digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
