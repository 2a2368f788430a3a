"""What is said to a model and what comes back, as values: the seam that every target shares."""

from typing import Annotated, Literal, Protocol

from pydantic import Field

from harness.types.answers import Usage
from harness.types.frozen import Frozen


class Message(Frozen):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Origin(Frozen):
    """Which attempt a call belongs to: for accounting, logs and the tape's key.

    Attributes:
        case_id: the case.
        repeat: 0-based.
        call: 0-based number of the model call within the attempt (repairs count on).
    """

    case_id: str
    repeat: int = Field(default=0, ge=0)
    call: int = Field(default=0, ge=0)


class Completed(Frozen):
    """The model said something whole.

    Attributes:
        content: the text (parts joined, stream joined), think blocks still in it; may be "" beside `tool_arguments`.
        refusal: the API's own refusal field, where it was used.
        tool_arguments: the arguments of the first tool call as text, where the model called one.
        reasoning: separate reasoning text, where the endpoint gave it.
        finish: the finish reason.
        usage: tokens as reported.
        latency_ms: of the last try, start to last byte.
        tries: HTTP requests made.
        model: the model that the endpoint says answered.
        notices: parameters adapted, fallbacks taken.
    """

    kind: Literal["completed"] = "completed"
    content: str
    refusal: str | None = None
    tool_arguments: str | None = None
    reasoning: str | None = None
    finish: str | None = None
    usage: Usage = Usage()
    latency_ms: float
    tries: int = Field(ge=1)
    model: str | None = None
    notices: tuple[str, ...] = ()


class Unanswered(Frozen):
    """No usable completion: the reason is the endpoint's or the wire's, and says so.

    Attributes:
        reason: which rung-level reason it becomes.
        message: one line for a person, secrets redacted.
        status: the last HTTP status, `None` where none came.
        tries: HTTP requests made.
        latency_ms: of the last try.
        partial: the text that did come (truncated, filtered), "" if none.
    """

    kind: Literal["unanswered"] = "unanswered"
    reason: Literal["transport", "empty", "truncated", "content_filter", "unparseable"]
    message: str
    status: int | None = None
    tries: int = Field(ge=0)
    latency_ms: float = 0.0
    partial: str = ""
    usage: Usage = Usage()
    finish: str | None = None


Chat = Annotated[Completed | Unanswered, Field(discriminator="kind")]


class Chatter(Protocol):
    """Anything that completes a conversation: the client, the client behind a tape, a test's stand-in."""

    async def complete(self, messages: tuple[Message, ...], origin: Origin) -> Chat:
        """Complete once; what goes wrong on the way comes back as `Unanswered`, never as an exception."""
        ...

    async def aclose(self) -> None:
        """Give back connections. Idempotent."""
        ...
