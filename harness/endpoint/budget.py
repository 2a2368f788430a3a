"""What a run may spend: money by the reported tokens, and time. A spent budget stops the run cleanly, to be resumed."""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import Literal

from pydantic import Field

from harness.errors import RungError, UsageError
from harness.types.answers import Usage
from harness.types.frozen import Frozen

_PRICE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(?:[/,:]\s*(\d+(?:\.\d+)?|\.\d+))?\s*", re.ASCII)


class BudgetReached(RungError):
    """The run's budget is spent.

    `Chatter.complete` and `Target.answer` raise this and nothing else for it: no attempt was made, or one in flight was
    dropped at the deadline. The runner catches it, writes no outcome for the attempt, stops asking, reports what
    finished, and leaves a journal that `--resume` goes on with.

    Attributes:
        kind: `cost` or `deadline`.
    """

    def __init__(self, kind: Literal["cost", "deadline"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Price(Frozen):
    """What tokens cost, per million, in the currency of `--max-cost`."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)

    @classmethod
    def parse(cls, text: str) -> "Price":
        """Read `IN/OUT`, such as `0.15/0.60`; one number alone holds for both.

        Raises:
            UsageError: the text is no price.
        """
        found = _PRICE.fullmatch(text)
        if found is None:
            raise UsageError(f"--price {text!r} is no price; write IN/OUT per million tokens, such as 0.15/0.60")
        prompt = float(found[1])
        return cls(prompt=prompt, completion=float(found[2]) if found[2] else prompt)

    def cost(self, usage: Usage) -> float | None:
        """What a call cost, `None` where the endpoint did not report both counts."""
        if usage.prompt is None or usage.completion is None:
            return None
        # Thinking tokens that only the total shows are paid for as completion.
        hidden = max(0, (usage.total or 0) - usage.prompt - usage.completion)
        return (usage.prompt * self.prompt + (usage.completion + hidden) * self.completion) / 1_000_000


class Budget:
    """Keeps the account of one run.

    Calls that are in flight when the money runs out are finished and paid for: nothing is estimated beforehand.

    Args:
        max_cost: stop once this much is spent.
        price: what tokens cost; needed for `max_cost`.
        deadline: seconds the run may take from now.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        *,
        max_cost: float | None = None,
        price: Price | None = None,
        deadline: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_cost is not None and price is None:
            raise UsageError("--max-cost needs --price IN/OUT: without it nobody knows what a call costs")
        self._max_cost = max_cost
        self._price = price
        self._clock = clock
        self._ends_at = clock() + deadline if deadline is not None else None
        self._deadline = deadline
        self.spent = 0.0
        self.unpriced = 0

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know of the account."""
        if self._price is None or not self.unpriced:
            return ()
        return (f"{self.unpriced} calls reported no usage: their cost is unknown and --max-cost does not count them",)

    def charge(self, usage: Usage) -> None:
        """Enter one call."""
        if self._price is None:
            return
        cost = self._price.cost(usage)
        if cost is None:
            self.unpriced += 1
        else:
            self.spent += cost

    def check(self) -> None:
        """Refuse a further call once the budget is spent.

        Raises:
            BudgetReached: it is.
        """
        if self._max_cost is not None and self.spent >= self._max_cost:
            message = f"--max-cost {self._max_cost:g} is reached: {self.spent:.4f} spent; --resume goes on"
            raise BudgetReached("cost", message)
        if self._ends_at is not None and self._clock() >= self._ends_at:
            raise BudgetReached("deadline", self._deadline_message)

    @contextlib.asynccontextmanager
    async def within(self) -> AsyncIterator[None]:
        """Bound what is done inside by the deadline.

        Raises:
            BudgetReached: the deadline passed first.
        """
        self.check()
        if self._ends_at is None:
            yield
            return
        try:
            async with asyncio.timeout(self._ends_at - self._clock()) as bound:
                yield
        except TimeoutError as error:
            if not bound.expired():
                raise
            raise BudgetReached("deadline", self._deadline_message) from error

    @property
    def _deadline_message(self) -> str:
        return f"--deadline {self._deadline:g} s is reached; --resume goes on"
