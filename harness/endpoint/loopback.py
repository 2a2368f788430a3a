"""An HTTP server on loopback, in the running event loop or in a thread of its own, on a free port."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Self

import uvicorn

from harness.errors import UsageError

HOST = "127.0.0.1"


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: Ctrl-C belongs to the run."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self.at_end: Callable[[], Awaitable[None]] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Clients may hang on purpose: connections are dropped and handlers cancelled, nothing is waited for.
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        running = list(self.server_state.tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await super().shutdown(sockets)
        if self.at_end is not None:
            await self.at_end()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class LoopbackServer:
    """Serves one ASGI application.

    `async with` serves in the running event loop, `with` in a thread of its own.

    Args:
        app: the ASGI application.
        port: 0 = a free one.
        protocol: uvicorn's HTTP protocol: a name or a class.
        at_thread_end: closes what belongs to the thread's event loop, before that one ends.
    """

    def __init__(
        self,
        app: Any,
        *,
        port: int = 0,
        protocol: Any = "h11",
        at_thread_end: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._config = uvicorn.Config(
            app,
            http=protocol,
            interface="asgi3",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="critical",
            server_header=False,
            timeout_keep_alive=75,
            backlog=4096,
        )
        self._wanted_port = port
        self._at_thread_end = at_thread_end
        self._socket: socket.socket | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port it listens on, once it is started."""
        if self._socket is None:
            raise RuntimeError("the server is not started")
        return int(self._socket.getsockname()[1])

    @property
    def origin(self) -> str:
        """Scheme, host and port as a URL."""
        return f"http://{HOST}:{self.port}"

    def __enter__(self) -> Self:
        server = self._open()
        server.at_end = self._at_thread_end
        self._thread = threading.Thread(target=server.run, args=([self._socket],), name="rung-loopback", daemon=True)
        self._thread.start()
        if not server.ready.wait(timeout=30):
            raise RuntimeError("the loopback server did not start within 30 s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ask_to_stop()
        if self._thread is not None:
            self._thread.join(timeout=30)
        self._closed()

    async def __aenter__(self) -> Self:
        server = self._open()
        assert self._socket is not None
        self._task = asyncio.create_task(server.serve([self._socket]), name="rung-loopback")
        while not server.ready.is_set() and not self._task.done():  # noqa: ASYNC110  a threading event, ready within a loop turn or two
            await asyncio.sleep(0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ask_to_stop()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self._closed()

    async def serve_until_stopped(self) -> None:
        """Wait for the end of a server that was started with `async with`."""
        assert self._task is not None
        await asyncio.shield(self._task)

    def _open(self) -> _Server:
        # The protocol is named because asyncio sets TCP_NODELAY only then; without it each answer takes 40 ms more.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, self._wanted_port))
        except OSError as error:
            listener.close()
            raise UsageError(
                f"port {self._wanted_port} on {HOST} cannot be used: {error.strerror}; choose another or 0"
            ) from error
        listener.set_inheritable(False)
        self._socket = listener
        self._server = _Server(self._config)
        return self._server

    def _ask_to_stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
            self._server.force_exit = True

    def _closed(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._server, self._thread, self._task = None, None, None
