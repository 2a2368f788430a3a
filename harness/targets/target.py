"""The seam between rung and what it scores."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from pydantic import JsonValue

from harness.types.answers import Reply
from harness.types.cases import Case


class Target(Protocol):
    """What is being scored. It turns (case, pinned clock) into a reply and knows nothing of grading."""

    @property
    def name(self) -> str:
        """How reports call it (`prompt`, `queryforge`, `command`, …)."""
        ...

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """Everything beside case, repeat and clock that determines the answer.

        Model, parameters, prompt version, digests of the config or program: it enters the key of an attempt, so it
        holds no secret and no measurement.
        """
        ...

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Ask once. Whatever the model or program does wrong comes back as a `NoQuery` answer, never as an exception.

        Args:
            case: what to ask; only sentence, backend, config and scope are the target's business.
            now: the pinned clock, aware UTC.
            repeat: 0-based; part of every cache or tape key.

        Raises:
            TargetError: the surroundings are broken (program not found, engine missing): no case can be asked.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections and processes. Idempotent."""
        ...
