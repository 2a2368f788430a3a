"""Connections in lanes: each lane holds one, and a request takes a lane to itself until its response is closed.

One pool of many connections looks at each of them for each request that starts or ends, and asks the system about each
idle one: with many calls in flight that is most of what a call costs on this side.
"""

import contextlib
import ssl
from collections.abc import AsyncIterator

import httpx


class LaneTransport(httpx.AsyncBaseTransport):
    """As many lanes as there are requests at a time; the lane that was free last is taken first.

    Args:
        verify: whether certificates are loaded and checked.
        keepalive_expiry: seconds that an idle connection is kept.
    """

    def __init__(self, *, verify: bool, keepalive_expiry: float) -> None:
        # One for all lanes: loading the certificates takes long.
        self._context: ssl.SSLContext | bool = httpx.create_ssl_context() if verify else False
        self._limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=keepalive_expiry)
        self._lanes: list[httpx.AsyncHTTPTransport] = []
        self._free: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request on a lane of its own."""
        lane = self._free.pop() if self._free else self._new()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._free.append(lane)
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Held(response.stream, lane, self._free)
        return response

    def _new(self) -> httpx.AsyncHTTPTransport:
        lane = httpx.AsyncHTTPTransport(verify=self._context, trust_env=False, limits=self._limits)
        self._lanes.append(lane)
        return lane

    async def aclose(self) -> None:
        """Close every connection."""
        lanes, self._lanes, self._free = self._lanes, [], []
        async with contextlib.AsyncExitStack() as stack:
            for lane in lanes:
                stack.push_async_callback(lane.aclose)


class _Held(httpx.AsyncByteStream):
    """A response's body; closing it frees the lane."""

    def __init__(
        self, stream: httpx.AsyncByteStream, lane: httpx.AsyncHTTPTransport, free: list[httpx.AsyncHTTPTransport]
    ) -> None:
        self._stream = stream
        self._lane = lane
        self._free: list[httpx.AsyncHTTPTransport] | None = free

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        """Close the body. Idempotent."""
        free, self._free = self._free, None
        try:
            await self._stream.aclose()
        finally:
            if free is not None:
                free.append(self._lane)
