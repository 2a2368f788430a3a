"""One chat-completions request as a JSON body and what came of it: what the client, the tape and the gateway share."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from harness.endpoint.chat import Chat, Origin
from harness.endpoint.settings import EndpointSettings

OnPiece = Callable[[bytes], Awaitable[None]]
"""Takes the bytes of a streamed reply as they come."""


class Exchange(NamedTuple):
    """What came of a request.

    Attributes:
        chat: read and judged.
        payload: the endpoint's own `chat.completion` object (put together where it was streamed), for an application
            that wants the whole of it; `None` where there was none.
        streamed: whether bytes were given to `on_piece`.
    """

    chat: Chat
    payload: dict[str, Any] | None = None
    streamed: bool = False


class Exchanger(Protocol):
    """Answers request bodies: the client, or the client behind a tape."""

    @property
    def settings(self) -> EndpointSettings:
        """The endpoint it speaks for."""
        ...

    async def exchange(self, body: Mapping[str, Any], origin: Origin, on_piece: OnPiece | None = None) -> Exchange:
        """Answer one request.

        Args:
            body: the request. A `stream` in it is heeded where `on_piece` is given.
            origin: the attempt.
            on_piece: takes a streamed reply's bytes as they come. Once it got some, the request is not tried again.

        Raises:
            BudgetReached: the run's budget is spent. Everything else that goes wrong is an `Unanswered`.
        """
        ...

    async def aclose(self) -> None:
        """Give back connections. Idempotent."""
        ...
