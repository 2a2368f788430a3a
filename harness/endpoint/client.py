"""The model client: the one thing in rung that speaks HTTP to a model."""

import asyncio
import base64
import dataclasses
import json
import random
import time
import uuid
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.request import getproxies

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt

from harness.endpoint.adaptation import Adaptations
from harness.endpoint.bodies import ErrorBody, Said, read_completion, read_error, read_json, text_error
from harness.endpoint.budget import Budget
from harness.endpoint.chat import Chat, Completed, Message, Origin, Unanswered
from harness.endpoint.durations import requested_wait
from harness.endpoint.events import Assembly, EventReader, assemble
from harness.endpoint.exchange import Exchange, OnPiece
from harness.endpoint.failures import Failure, failure_of_error, failure_of_said
from harness.endpoint.gate import Gate
from harness.endpoint.lanes import LaneTransport
from harness.endpoint.logs import log_event
from harness.endpoint.origins import HEADER, format_origin
from harness.endpoint.redaction import Redactor
from harness.endpoint.settings import EndpointSettings
from harness.endpoint.texts import one_line
from harness.types.answers import Usage

_LONGEST_BACKOFF = 30.0
_KEPT = 30.0
"""Seconds that an idle connection is kept."""
# What the wire can throw: httpx maps nearly everything; broken headers and encodings come as ValueError or zlib.error.
_WIRE_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError, zlib.error, RecursionError)


@dataclass(slots=True)
class _Progress:
    """Counts what one call took."""

    origin: Origin
    tries: int = 0
    turns: int = 0
    wait: float = 0.0
    latency_ms: float = 0.0
    fresh_connection: bool = False
    sending: bool = False
    answered: bool = False
    reconnected: bool = False
    streamed: bool = False
    usage: Usage = field(default_factory=Usage)
    finish: str | None = None
    payload: dict[str, Any] | None = None


@dataclass(slots=True)
class _Response:
    """A response, read to its end; `assembly` where it was a stream."""

    status: int
    headers: dict[str, str]
    raw: bytes = b""
    assembly: Assembly | None = None


@dataclass(slots=True)
class _Judged:
    """What came of one HTTP request, and the error body behind a failure, for adapting the next request."""

    result: Exchange | Failure
    error: ErrorBody | None = None


class ModelClient:
    """Completes conversations at one endpoint, in one event loop.

    Args:
        settings: the endpoint.
        gate: paces every request, retries and adaptations included; shared by everything the run sends.
        budget: the run's money and time.
        redactor: cleans every message; the settings' own if not given.
        jitter: spreads waits; seeded in tests.
        sleep: waits that many seconds between tries.
        transport: httpx's transport, for tests.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        gate: Gate | None = None,
        *,
        budget: Budget | None = None,
        redactor: Redactor | None = None,
        jitter: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._gate = gate or Gate()
        self._budget = budget or Budget()
        self._redactor = redactor or settings.redactor()
        self._jitter = jitter or random.Random()  # noqa: S311  spreads retries, guards nothing
        self._sleep = sleep
        self._adaptations = Adaptations()
        if settings.host == "mistral.ai" or settings.host.endswith(".mistral.ai"):
            self._adaptations.assume_random_seed()
        self._run = uuid.uuid4().hex[:12]
        query = settings.query.get_secret_value()
        self._url = f"{settings.base_url}/chat/completions{'?' + query if query else ''}"
        # Without TLS no certificates are loaded, which would take longer than the rest of the start.
        secure = settings.base_url.startswith("https:")
        self._http = httpx.AsyncClient(
            headers=_headers(settings),
            # First byte and total are bounded around the request; httpx's read timeout would restart with every byte.
            timeout=httpx.Timeout(None, connect=settings.connect_timeout),
            follow_redirects=False,
            # A proxy of the environment must not take calls to this machine.
            trust_env=not settings.is_local,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEPT),
            verify=secure,
            transport=transport or _lanes(settings, secure),
        )

    def __repr__(self) -> str:
        return f"ModelClient({self._settings.base_url!r}, {self._settings.model!r})"

    @property
    def settings(self) -> EndpointSettings:
        """The endpoint it asks."""
        return self._settings

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know of the run so far: parameters adapted, pace slowed down, calls without usage."""
        return (*self._adaptations.notices, *self._gate.notices, *self._budget.notices)

    async def complete(self, messages: tuple[Message, ...], origin: Origin) -> Chat:
        """Complete once.

        Raises:
            BudgetReached: the run's budget is spent.
        """
        return (await self.exchange(self._settings.body(messages), origin)).chat

    async def exchange(self, body: Mapping[str, Any], origin: Origin, on_piece: OnPiece | None = None) -> Exchange:
        """Answer one request body; see `Exchanger.exchange`."""
        progress = _Progress(origin)
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._settings.retries + 1),
            retry=retry_if_result(
                lambda result: isinstance(result, Failure) and result.again and not progress.streamed
            ),
            wait=lambda state: progress.wait,
            sleep=self._sleep,
            before_sleep=lambda state: _log_retry(state, progress, self._redactor),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome is not None else None,
        )
        async with self._budget.within():
            result: Exchange | Failure = await retrying(self._try, body, progress, on_piece)
        if isinstance(result, Failure):
            result = Exchange(self._unanswered(result, progress), progress.payload, streamed=progress.streamed)
        log_event(
            "debug", "call ended", origin, outcome=result.chat.kind, tries=progress.tries, ms=round(progress.latency_ms)
        )
        return result

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _try(self, body: Mapping[str, Any], progress: _Progress, on_piece: OnPiece | None) -> Exchange | Failure:
        """One try, with those further requests that cost no retry: as the endpoint turns out to want its parameters."""
        progress.turns += 1
        asked = dict(body)
        if on_piece is None:
            asked.pop("stream", None)
            asked.pop("stream_options", None)
        while True:
            known = self._adaptations.known()
            sent = self._adaptations.applied(asked)
            judged = await self._request(sent, progress, on_piece if asked.get("stream") else None, asked)
            if judged.error is None or not isinstance(judged.result, Failure) or judged.result.status not in (400, 422):
                return judged.result
            notice = self._adaptations.learn(sent, judged.error)
            if notice is not None:
                log_event("warning", "request adapted", progress.origin, notice=notice)
            elif known == self._adaptations.known():
                # Neither this call nor, meanwhile, another one has found a change that could help.
                return judged.result

    async def _request(
        self, sent: Mapping[str, Any], progress: _Progress, on_piece: OnPiece | None, asked: Mapping[str, Any]
    ) -> _Judged:
        """One HTTP request, from the gate to its judgement."""
        self._budget.check()
        started = await self._gate.start()
        progress.tries += 1
        progress.fresh_connection = progress.sending = progress.answered = False
        progress.usage, progress.finish, progress.payload = Usage(), None, None
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(self._settings.timeout):
                response = await self._transfer(sent, progress, on_piece)
        except TimeoutError:
            what = "no whole reply" if progress.answered else "no reply"
            return self._settle(
                _Judged(_broken(f"{what} in time (--timeout {self._settings.timeout:g} s)")), progress, started
            )
        except _WIRE_ERRORS as error:
            if _is_stale(error, progress):
                progress.reconnected = True
                progress.tries -= 1
                return await self._request(sent, progress, on_piece, asked)
            return self._settle(_Judged(_broken(_describe(error))), progress, started)
        finally:
            progress.latency_ms = (time.perf_counter() - begun) * 1000
        return self._settle(self._judge(response, progress, asked), progress, started)

    async def _transfer(self, sent: Mapping[str, Any], progress: _Progress, on_piece: OnPiece | None) -> _Response:
        """Send the request and read the response to its end."""

        async def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.started":
                progress.fresh_connection = True
            elif event == "http11.send_request_headers.started":
                progress.sending = True

        content = json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        headers = {"Content-Type": "application/json"}
        if self._settings.is_local:
            headers[HEADER] = format_origin(self._run, progress.origin)
        request = self._http.build_request(
            "POST", self._url, content=content, headers=headers, extensions={"trace": trace}
        )
        async with asyncio.timeout(self._settings.connect_timeout + self._settings.first_byte_timeout):
            got = await self._http.send(request, stream=True)
        progress.answered = True
        try:
            headers = {name.lower(): value for name, value in got.headers.items()}
            response = _Response(status=got.status_code, headers=headers)
            if got.status_code == 200 and headers.get("content-type", "").lower().startswith("text/event-stream"):
                response.assembly = await self._read_stream(got, progress, on_piece)
            else:
                response.raw = await self._read_body(got)
            return response
        finally:
            await got.aclose()

    async def _read_body(self, got: httpx.Response) -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for piece in got.aiter_bytes():
            size += len(piece)
            if size > self._settings.largest_reply:
                raise ValueError(f"the reply is larger than {self._settings.largest_reply} bytes")
            pieces.append(piece)
        return b"".join(pieces)

    async def _read_stream(self, got: httpx.Response, progress: _Progress, on_piece: OnPiece | None) -> Assembly:
        reader, assembly = EventReader(), Assembly()
        held: list[bytes] = []
        size = 0
        async for piece in got.aiter_bytes():
            size += len(piece)
            if size > self._settings.largest_reply:
                raise ValueError(f"the reply is larger than {self._settings.largest_reply} bytes")
            for data in reader.feed(piece):
                assembly.add(data)
            if on_piece is not None:
                # Held back until the first real chunk: a stream that begins with an error can still be tried again.
                held.append(piece)
                if assembly.chunks:
                    progress.streamed = True
                    await on_piece(b"".join(held))
                    held.clear()
            if assembly.done:
                break
        for data in reader.close():
            assembly.add(data)
        return assembly

    def _judge(self, response: _Response, progress: _Progress, asked: Mapping[str, Any]) -> _Judged:
        """Tell a completion from a failure."""
        assembly = response.assembly
        if assembly is None and response.status == 200 and response.raw.lstrip()[:6] in (b"data: ", b"data:{"):
            assembly = assemble(response.raw)
        payload: Any = None
        if assembly is not None:
            payload = assembly.payload()
        elif response.raw.strip():
            try:
                payload = read_json(response.raw)
            except ValueError:
                payload = None
        if not 200 <= response.status < 300:
            return _judge_status(response, payload)
        error = read_error(payload)
        if error is not None:
            return _Judged(failure_of_error(response.status, error, requested_wait(response.headers)), error)
        said = read_completion(payload)
        if said is None:
            return _Judged(_no_completion(response, payload))
        progress.usage, progress.finish = said.usage, said.finish
        if assembly is not None and not assembly.whole:
            failure = _broken("the stream ended before the reply was whole")
            return _Judged(dataclasses.replace(failure, partial=said.content))
        progress.payload = payload
        failed = failure_of_said(said)
        return _Judged(failed if failed is not None else self._completed(said, payload, progress, asked), said.error)

    def _settle(self, judged: _Judged, progress: _Progress, started: float) -> _Judged:
        """Tell the gate and the budget, and fix how long to wait before a further try."""
        result, usage = judged.result, progress.usage
        if isinstance(result, Exchange) or usage != Usage():
            self._budget.charge(usage)
        if isinstance(result, Exchange) or not result.again:
            self._gate.good(usage.total if usage.total is not None else (usage.prompt or 0) + (usage.completion or 0))
            return judged
        backoff = self._settings.first_wait * 2 ** min(progress.turns - 1, 10)
        backoff = min(_LONGEST_BACKOFF, backoff) * self._jitter.uniform(0.5, 1.0)
        if result.wait is not None and result.wait > self._settings.longest_wait:
            message = (
                f"{result.message} (it asks to wait {result.wait:.0f} s, longer than {self._settings.longest_wait:g} s)"
            )
            judged.result = dataclasses.replace(result, again=False, message=message)
            return judged
        progress.wait = backoff if result.wait is None else max(result.wait, backoff / 10)
        if result.status == 429 or result.wait is not None:
            self._gate.too_many(started, progress.wait, repeated=result.status == 429)
        return judged

    def _completed(
        self, said: Said, payload: dict[str, Any], progress: _Progress, asked: Mapping[str, Any]
    ) -> Exchange:
        masked = self._redactor.known_only
        chat = Completed(
            content=masked(said.content),
            refusal=masked(said.refusal) if said.refusal is not None else None,
            tool_arguments=masked(said.tool_arguments) if said.tool_arguments is not None else None,
            reasoning=masked(said.reasoning) if said.reasoning is not None else None,
            finish=masked(said.finish) if said.finish is not None else None,
            usage=said.usage,
            latency_ms=progress.latency_ms,
            tries=progress.tries,
            model=masked(said.model) if said.model is not None else None,
            notices=(*self._adaptations.notices_for(asked), *self._gate.notices),
        )
        return Exchange(chat, payload, streamed=progress.streamed)

    def _unanswered(self, failure: Failure, progress: _Progress) -> Unanswered:
        message = one_line(self._redactor.clean(failure.message), 500)
        log_event(
            "warning", "call given up", progress.origin, reason=failure.reason, tries=progress.tries, message=message
        )
        return Unanswered(
            reason=failure.reason,
            message=message,
            status=failure.status,
            tries=progress.tries,
            latency_ms=progress.latency_ms,
            partial=self._redactor.known_only(failure.partial),
            usage=progress.usage,
            finish=progress.finish,
        )


def _lanes(settings: EndpointSettings, secure: bool) -> LaneTransport | None:
    """The connections; `None` = httpx's own, which go through the environment's proxies where there are any."""
    if not settings.is_local and getproxies():
        return None
    return LaneTransport(verify=secure, keepalive_expiry=_KEPT)


def _headers(settings: EndpointSettings) -> dict[str, str]:
    headers = {"User-Agent": "rung", "Accept": "application/json, text/event-stream"}
    if settings.api_key is not None:
        headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
    elif user_info := settings.user_info.get_secret_value():
        headers["Authorization"] = f"Basic {base64.b64encode(user_info.encode()).decode()}"
    return headers


def _judge_status(response: _Response, payload: Any) -> _Judged:
    status = response.status
    if 300 <= status < 400:
        place = one_line(response.headers.get("location", "elsewhere"), 200)
        message = f"HTTP {status}: the endpoint has moved to {place}; set --base-url to it"
        return _Judged(Failure(reason="transport", message=message, again=False, status=status))
    error = read_error(payload) or text_error(response.raw)
    return _Judged(failure_of_error(status, error, requested_wait(response.headers)), error)


def _no_completion(response: _Response, payload: Any) -> Failure:
    """A body under HTTP 200 that is neither a completion nor an error."""
    if payload is None:
        # A proxy's page, or nothing: the model has not spoken, and the next try may reach it.
        page = text_error(response.raw).message
        message = f"HTTP {response.status} with a body that is no JSON: {page}"
        return Failure(reason="transport", message=message, again=True, status=response.status)
    message = f"HTTP {response.status} with JSON that is no chat completion: is the base URL right?"
    return Failure(reason="transport", message=message, again=False, status=response.status)


def _broken(message: str) -> Failure:
    return Failure(reason="transport", message=message, again=True)


def _is_stale(error: Exception, progress: _Progress) -> bool:
    """Whether the request was sent into a kept connection that the server had closed meanwhile."""
    broke = isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError)
    kept = progress.sending and not progress.fresh_connection
    return broke and kept and not progress.answered and not progress.reconnected


def _describe(error: Exception) -> str:
    kinds: dict[type[Exception], str] = {
        httpx.ConnectError: "no connection",
        httpx.ConnectTimeout: "no connection in time",
        httpx.RemoteProtocolError: "the connection broke",
        httpx.ReadError: "the connection broke",
        httpx.WriteError: "the connection broke",
        httpx.DecodingError: "the reply's encoding is broken",
    }
    kind = kinds.get(type(error), type(error).__name__)
    return f"{kind}: {error}" if str(error) else kind


def _log_retry(state: RetryCallState, progress: _Progress, redactor: Redactor) -> None:
    failure = state.outcome.result() if state.outcome is not None else None
    if isinstance(failure, Failure):
        message = one_line(redactor.clean(failure.message))
        log_event(
            "warning",
            "trying again",
            progress.origin,
            tries=progress.tries,
            status=failure.status,
            wait_s=round(progress.wait, 3),
            message=message,
        )
