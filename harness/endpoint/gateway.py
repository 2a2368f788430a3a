"""The client offered as an OpenAI-compatible server on loopback, for any application under test.

It pins the clock in the application's prompts, paces, retries and records as the client behind it does, and keeps
account of the calls of each case: `/case/ID/REPEAT/v1` (or `/case/ID/v1`) is the base URL of one attempt.
"""

import asyncio
import contextlib
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from harness.endpoint.budget import BudgetReached
from harness.endpoint.chat import Chat, Completed, Origin, Unanswered
from harness.endpoint.completions import as_events, event
from harness.endpoint.exchange import Exchange, Exchanger
from harness.endpoint.logs import log_event
from harness.endpoint.loopback import LoopbackServer
from harness.endpoint.origins import is_loopback
from harness.endpoint.pins import ClockPins
from harness.endpoint.tape import payload_of, tape_key
from harness.types.answers import Call

TODAY_ABSENT = "today line absent: no date was found in the request to pin the clock to"
# Given up is given up: clients of OpenAI's API try 408, 409, 429 and 5xx again, and 424 never.
GIVEN_UP = 424
_KEPT_COUNTERS = 10_000
_UNNAMED = "-"


@dataclass
class Ledger:
    """The account of one attempt behind the gateway.

    Attributes:
        base_url: what the application is given as its base URL.
        case_id: the case.
        repeat: 0-based.
        now: the pinned clock, `None` = not pinned.
        calls: the model calls that were made, in the order they ended.
        chats: what came of each, in the same order; contents are the raw replies.
        failures: those that were `Unanswered`.
        notices: what the user should know, each once.
        budget_reached: the run's budget ran out during this attempt.
    """

    base_url: str
    case_id: str
    repeat: int
    now: datetime | None
    calls: list[Call] = field(default_factory=list)
    chats: list[Chat] = field(default_factory=list)
    failures: list[Unanswered] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    budget_reached: BudgetReached | None = None
    started: int = 0

    @property
    def raw_replies(self) -> tuple[str, ...]:
        """The model's own words, call by call; of a failed call what did come."""
        return tuple(chat.content if isinstance(chat, Completed) else chat.partial for chat in self.chats)

    @property
    def last_failure(self) -> Unanswered | None:
        """The failure of the last call, `None` where that one went well or there was none."""
        last = self.chats[-1] if self.chats else None
        return last if isinstance(last, Unanswered) else None

    def enter(self, chat: Chat) -> None:
        """Enter what came of a call."""
        self.chats.append(chat)
        if chat.tries:
            self.calls.append(Call(latency_ms=chat.latency_ms, tries=chat.tries, usage=chat.usage, finish=chat.finish))
        if isinstance(chat, Unanswered):
            self.failures.append(chat)
        else:
            self.notice(*chat.notices)

    def notice(self, *notices: str) -> None:
        """Note what the user should know, each once."""
        self.notices += [notice for notice in dict.fromkeys(notices) if notice not in self.notices]


class _Place(NamedTuple):
    """What a request's path says."""

    case_id: str | None
    repeat: int
    resource: str


class Gateway:
    """An OpenAI-compatible server on loopback in front of a client.

    `async with` serves in the running event loop, to which the client must belong. `with` serves in a thread of its
    own, to which the client then belongs: nobody else may use it, and it is closed with the gateway.

    Args:
        upstream: what answers.
        now: pinned in every request that no ledger says otherwise for; `None` = not pinned.
        pins: how dates are found in prompts.
        port: 0 = a free one.
    """

    def __init__(
        self, upstream: Exchanger, *, now: datetime | None = None, pins: ClockPins | None = None, port: int = 0
    ) -> None:
        self._upstream = upstream
        self._now = now
        self._pins = pins or ClockPins()
        self._server = LoopbackServer(self._app, port=port, at_thread_end=upstream.aclose)
        self._ledgers: dict[tuple[str, int], Ledger] = {}
        self._counters: OrderedDict[str, int] = OrderedDict()
        self._warned = False

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    @property
    def base_url(self) -> str:
        """Base URL for calls that belong to no case."""
        return f"{self._server.origin}/v1"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    def case_url(self, case_id: str, repeat: int = 0) -> str:
        """Base URL for the calls of one attempt."""
        return f"{self._server.origin}/case/{quote(case_id, safe='')}/{repeat}/v1"

    async def serve_until_stopped(self) -> None:
        """Wait for the end of a gateway that was started with `async with`."""
        await self._server.serve_until_stopped()

    @contextlib.contextmanager
    def case(self, case_id: str, repeat: int = 0, now: datetime | None = None) -> Iterator[Ledger]:
        """Keep account of one attempt.

        Args:
            case_id: the case.
            repeat: 0-based.
            now: the pinned clock; the gateway's own if not given.

        Raises:
            BudgetReached: on leaving, where the run's budget ran out meanwhile; it wins over what the application made
                of the refused call.
        """
        key = (case_id, repeat)
        if key in self._ledgers:
            raise ValueError(f"case {case_id!r}, repeat {repeat}, has an open ledger already")
        ledger = Ledger(self.case_url(case_id, repeat), case_id, repeat, now if now is not None else self._now)
        self._ledgers[key] = ledger
        try:
            yield ledger
        except Exception as error:
            if ledger.budget_reached is not None:
                raise ledger.budget_reached from error
            raise
        finally:
            del self._ledgers[key]
        if ledger.budget_reached is not None:
            raise ledger.budget_reached

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response | None:
        place = _place(request.scope)
        if not _from_this_machine(request):
            return _error(403, "the gateway answers programs of this machine only", "forbidden")
        if place is not None and place.resource == "models" and request.method == "GET":
            model = {"id": self._upstream.settings.model, "object": "model", "created": 0, "owned_by": "rung"}
            return JSONResponse({"object": "list", "data": [model]})
        if place is None or place.resource != "chat/completions":
            return _error(
                404, f"{request.url.path} is not served; there are /v1/chat/completions and /v1/models", "not_found"
            )
        if request.method != "POST":
            return _error(405, "chat completions want POST", "method_not_allowed")
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return _error(400, "the body should be a JSON object", "invalid_request_error")
        return await self._complete(request, place, body)

    async def _complete(self, request: Request, place: _Place, body: dict[str, Any]) -> Response | None:
        body.setdefault("model", self._upstream.settings.model)
        ledger = self._ledgers.get((place.case_id, place.repeat)) if place.case_id is not None else None
        now = ledger.now if ledger is not None else self._now
        if now is not None:
            body, pinned = self._pins.pin_body(body, now)
            if not pinned:
                self._warn_unpinned(ledger)
        origin = self._origin(place, ledger, body)
        return await _Passage(self._upstream, body, origin, ledger).respond(request)

    def _warn_unpinned(self, ledger: Ledger | None) -> None:
        if ledger is not None:
            ledger.notice(TODAY_ABSENT)
        if not self._warned:
            self._warned = True
            log_event("warning", TODAY_ABSENT)

    def _origin(self, place: _Place, ledger: Ledger | None, body: Mapping[str, Any]) -> Origin:
        """Name the call. Calls of one attempt are counted; those that name none are told apart by what they send."""
        if ledger is not None:
            ledger.started += 1
            return Origin(case_id=ledger.case_id, repeat=ledger.repeat, call=ledger.started - 1)
        case_id = place.case_id or _UNNAMED
        unnamed = tape_key(body, Origin(case_id=_UNNAMED))
        counter = f"{place.case_id}\0{place.repeat}" if place.case_id is not None else unnamed
        call = self._counters.pop(counter, 0)
        self._counters[counter] = call + 1
        if len(self._counters) > _KEPT_COUNTERS:
            self._counters.popitem(last=False)
        return Origin(case_id=case_id, repeat=place.repeat, call=call)


class _Passage:
    """One call on its way through the gateway: whole, or streamed as it comes."""

    def __init__(self, upstream: Exchanger, body: Mapping[str, Any], origin: Origin, ledger: Ledger | None) -> None:
        self._upstream = upstream
        self._body = body
        self._origin = origin
        self._ledger = ledger
        # Bytes of a streamed reply, then None once the exchange has ended.
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def respond(self, request: Request) -> Response | None:
        """The response; `None` where the application has hung up, which ends the call to the model, too."""
        exchange = asyncio.create_task(self._exchange())
        first = asyncio.create_task(self._pieces.get())
        gone = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                await _end(exchange)
                return None
            piece = first.result()
            if piece is None:
                return self._whole(await exchange)
            return StreamingResponse(self._stream(piece, exchange), media_type="text/event-stream")
        except asyncio.CancelledError:
            exchange.cancel()
            raise
        finally:
            first.cancel()
            gone.cancel()

    async def _exchange(self) -> Exchange | BudgetReached:
        ended: Exchange | BudgetReached
        wants_stream = bool(self._body.get("stream"))
        try:
            ended = await self._upstream.exchange(self._body, self._origin, self._pieces.put if wants_stream else None)
            if self._ledger is not None:
                self._ledger.enter(ended.chat)
        except BudgetReached as reached:
            ended = reached
            if self._ledger is not None:
                self._ledger.budget_reached = reached
        except asyncio.CancelledError:
            if self._ledger is not None:
                message = "the application hung up before the reply was whole"
                self._ledger.enter(Unanswered(reason="transport", message=message, tries=0))
            raise
        finally:
            self._pieces.put_nowait(None)
        return ended

    async def _stream(self, piece: bytes, exchange: asyncio.Task[Exchange | BudgetReached]) -> AsyncIterator[bytes]:
        try:
            yield piece
            while (following := await self._pieces.get()) is not None:
                yield following
            failed = _failure(await exchange)
            if failed is not None:
                yield event(_error_body(*failed))
        finally:
            await _end(exchange)

    def _whole(self, ended: Exchange | BudgetReached) -> Response:
        failed = _failure(ended)
        if failed is not None:
            return _error(GIVEN_UP, *failed)
        assert isinstance(ended, Exchange)
        payload = ended.payload
        if payload is None:
            assert isinstance(ended.chat, Completed)
            payload = payload_of(ended.chat)
        if self._body.get("stream"):
            return Response(as_events(payload), media_type="text/event-stream")
        return JSONResponse(payload)


def _failure(ended: Exchange | BudgetReached) -> tuple[str, str] | None:
    """Message and code where the application cannot be given what the model said.

    A truncated, filtered or empty reply is passed on as it came: the application should meet what it would meet
    without us.
    """
    if isinstance(ended, BudgetReached):
        return str(ended), "budget_reached"
    if isinstance(ended.chat, Completed) or (ended.payload is not None and ended.chat.reason != "transport"):
        return None
    return ended.chat.message, ended.chat.reason


def _error(status: int, message: str, code: str) -> JSONResponse:
    return JSONResponse(_error_body(message, code), status_code=status)


def _error_body(message: str, code: str) -> dict[str, Any]:
    return {"error": {"message": f"rung gateway: {message}", "type": "rung_gateway", "param": None, "code": code}}


async def _end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _place(scope: Scope) -> _Place | None:
    """Read the path: `/v1/…`, `/case/ID/v1/…`, `/case/ID/REPEAT/v1/…`; ids are percent-encoded."""
    raw = scope.get("raw_path") or scope["path"].encode()
    parts = [unquote(part) for part in raw.decode("latin-1").partition("?")[0].split("/")[1:]]
    case_id, repeat = None, 0
    if len(parts) > 2 and parts[0] == "case":
        case_id, parts = parts[1], parts[2:]
        if parts[0].isascii() and parts[0].isdigit() and len(parts[0]) < 10:
            repeat, parts = int(parts[0]), parts[1:]
    if not parts or parts[0] != "v1" or case_id == "":
        return None
    return _Place(case_id, repeat, "/".join(parts[1:]).rstrip("/"))


def _from_this_machine(request: Request) -> bool:
    """Refuse what a web page in a browser could send: a foreign `Origin`, or a `Host` that was made to point here."""
    origin = request.headers.get("origin")
    hosts = [request.headers.get("host", "127.0.0.1")]
    if origin is not None:
        hosts.append(urlsplit(origin).netloc)
    return all(is_loopback(urlsplit(f"//{host}").hostname or "") for host in hosts)
