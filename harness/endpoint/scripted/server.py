"""The scripted endpoint: a real HTTP server on loopback that plays scripted replies and scenarios by name."""

import asyncio
import json
import socket
import struct
import time
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from harness.endpoint.completions import as_events, completion
from harness.endpoint.loopback import LoopbackServer
from harness.endpoint.origins import parse_origin
from harness.endpoint.scripted.scenarios import CloseIdle, Events, Hang, Scenario, Wire
from harness.endpoint.scripted.script import Script, ScriptedResponse

KEPT_ATTEMPTS = 20_000
KEPT_REQUESTS = 2_000


@dataclass(frozen=True)
class Received:
    """A request as the server received it.

    Attributes:
        path: the URL's path.
        headers: lower-case names.
        body: the parsed JSON body, `None` where it was none.
        at: `time.monotonic()` on arrival.
    """

    path: str
    headers: dict[str, str]
    body: Any
    at: float


class ScriptedServer:
    """A chat-completions endpoint on loopback that answers from a script.

    `with` serves in a thread of its own, `async with` in the running event loop.

    * `/v1`: the scripted replies of a file.
    * `/scenario/NAME/v1`: a scenario.

    Args:
        script: the scripted replies, or their file.
        scenarios: the scenarios that can be asked for by name.
        latency_ms: every answer waits this long, in milliseconds.
        port: 0 = a free one.
    """

    def __init__(
        self,
        script: Script | Path | None = None,
        *,
        scenarios: Iterable[Scenario] = (),
        latency_ms: float = 0,
        port: int = 0,
    ) -> None:
        self._script = Script.read(script) if isinstance(script, Path) else script
        self._scenarios = {scenario.name: scenario for scenario in scenarios}
        self._latency = latency_ms / 1000
        self._connections: dict[tuple[str, int], asyncio.Transport] = {}
        self._server = LoopbackServer(self._app, port=port, protocol=self._protocol())
        self._positions: OrderedDict[tuple[str, ...], int] = OrderedDict()
        self.received: deque[Received] = deque(maxlen=KEPT_REQUESTS)
        self.count = 0

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
        """Base URL of the scripted replies."""
        return f"{self._server.origin}/v1"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    async def serve_until_stopped(self) -> None:
        """Wait for the end of a server that was started with `async with`."""
        await self._server.serve_until_stopped()

    def scenario_url(self, scenario: str | Scenario) -> str:
        """Base URL of a scenario; one that is not known yet is added."""
        if isinstance(scenario, Scenario):
            self._scenarios[scenario.name] = scenario
            scenario = scenario.name
        if scenario not in self._scenarios:
            raise KeyError(f"no scenario is called {scenario!r}; there are {', '.join(sorted(self._scenarios))}")
        return f"{self._server.origin}/scenario/{scenario}/v1"

    def _protocol(self) -> type[H11Protocol]:
        connections = self._connections

        class Protocol(H11Protocol):
            """Lets a scenario reach the connection under a request."""

            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                if self.client is not None:
                    connections[self.client] = transport

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                if self.client is not None:
                    connections.pop(self.client, None)

        return Protocol

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            raw = await request.body()
        except ClientDisconnect:
            return
        try:
            body: Any = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        got = Received(path=request.url.path, headers=headers, body=body, at=time.monotonic())
        self.received.append(got)
        self.count += 1
        if self._latency:
            await asyncio.sleep(self._latency)
        await self._answer(request, got, send)

    async def _answer(self, request: Request, got: Received, send: Send) -> None:
        scenario = None
        path = got.path
        if path.startswith("/scenario/"):
            name, _, rest = path.removeprefix("/scenario/").partition("/")
            scenario, path = self._scenarios.get(unquote(name)), f"/{rest}"
            if scenario is None:
                await self._send(request, send, _error(404, f"no scenario is called {name}"))
                return
        if request.method == "GET" and path == "/v1/models":
            models = {
                "object": "list",
                "data": [{"id": "scripted", "object": "model", "owned_by": "rung"}],
            }
            await self._send(request, send, JSONResponse(models))
        elif request.method != "POST" or path != "/v1/chat/completions" or not isinstance(got.body, dict):
            await self._send(request, send, _error(404, f"{request.method} {path} is not served here"))
        elif scenario is not None:
            await self._play(request, scenario, got, send)
        else:
            await self._reply(request, got, send)

    async def _reply(self, request: Request, got: Received, send: Send) -> None:
        origin = parse_origin(got.headers.get("x-rung-origin"))
        line = self._script.find(got.body, origin.case_id if origin else None) if self._script else None
        if line is None:
            await self._send(request, send, _error(404, "the script has no sentence that this request holds"))
            return
        if origin is not None:
            position = self._next((line.id, origin.run, origin.case_id, str(origin.repeat)))
            response = line.responses[min(position, len(line.responses) - 1)]
        else:
            response = line.responses[self._next((line.id,)) % len(line.responses)]
        await self._respond(request, response, got.body, send)

    async def _play(self, request: Request, scenario: Scenario, got: Received, send: Send) -> None:
        for name, refusal in scenario.refuses.items():
            if name in got.body:
                await self._send(request, send, JSONResponse(refusal, status_code=scenario.refuse_status))
                return
        if scenario.streams_only and not got.body.get("stream"):
            await self._send(request, send, _error(400, "This model only supports stream mode, please set stream=true"))
            return
        origin = parse_origin(got.headers.get("x-rung-origin"))
        attempt = (origin.run, origin.case_id, str(origin.repeat)) if origin else ()
        step = scenario.steps[min(self._next((scenario.name, "scenario", *attempt)), len(scenario.steps) - 1)]
        match step:
            case ScriptedResponse():
                await self._respond(request, step, got.body, send)
            case CloseIdle(response=response):
                await self._respond(request, response, got.body, send)
                await asyncio.sleep(0)
                self._connections[_client(request)].close()
            case Events(text=text):
                await self._send(request, send, Response(text.encode(), media_type="text/event-stream"))
            case Wire(raw=raw, then=then):
                await self._wire(request, raw, then)
            case Hang(after=after):
                await self._hang(request, after, send)

    def _next(self, key: tuple[str, ...]) -> int:
        position = self._positions.pop(key, 0)
        self._positions[key] = position + 1
        if len(self._positions) > KEPT_ATTEMPTS:
            self._positions.popitem(last=False)
        return position

    async def _respond(self, request: Request, response: ScriptedResponse, body: dict[str, Any], send: Send) -> None:
        if response.delay_ms:
            await asyncio.sleep(response.delay_ms / 1000)
        if response.is_completion and body.get("stream"):
            answer: Response = Response(as_events(_payload(response, body)), media_type="text/event-stream")
        elif response.is_completion:
            answer = JSONResponse(_payload(response, body), status_code=response.status)
        elif isinstance(response.body, str):
            answer = Response(response.body.encode("utf-8", "surrogatepass"), status_code=response.status)
        else:
            answer = JSONResponse(response.body, status_code=response.status)
        for name, value in response.headers.items():
            answer.headers[name] = value
        await self._send(request, send, answer)

    async def _send(self, request: Request, send: Send, response: Response) -> None:
        await response(request.scope, request.receive, send)

    async def _wire(self, request: Request, raw: bytes, then: str) -> None:
        transport = self._connections[_client(request)]
        transport.write(raw)
        if then == "rst":
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()
        await _disconnected(request)

    async def _hang(self, request: Request, after: str, send: Send) -> None:
        if after != "request":
            headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
        if after == "chunk":
            await send({"type": "http.response.body", "body": b'{"choices": [', "more_body": True})
        await _disconnected(request)


def _client(request: Request) -> tuple[str, int]:
    assert request.client is not None
    return (request.client.host, request.client.port)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _error(status: int, message: str) -> JSONResponse:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return JSONResponse(body, status_code=status)


def _payload(response: ScriptedResponse, request: dict[str, Any]) -> dict[str, Any]:
    return completion(
        response.model or str(request.get("model", "scripted")),
        response.content,
        finish=response.finish_reason,
        refusal=response.refusal,
        reasoning=response.reasoning,
        tool_arguments=response.tool_arguments,
        usage=response.usage,
    )
