"""The `http` target: the user's own service, one POST of JSON for each attempt."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlsplit

import httpx
from pydantic import JsonValue
from tenacity import AsyncRetrying, retry_if_result, stop_after_attempt, wait_exponential, wait_random

from harness.endpoint.bodies import read_error, read_json, text_error
from harness.endpoint.gateway import Gateway
from harness.endpoint.logs import log_event
from harness.endpoint.origins import is_loopback
from harness.endpoint.redaction import Redactor
from harness.endpoint.texts import one_line
from harness.errors import TargetError
from harness.targets.accounts import with_account
from harness.targets.contract import Contracted, read_contract, request_document
from harness.types.answers import Call, NoQuery, NoQueryReason, Reply
from harness.types.cases import Case

LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of a service's answer that are read."""

# The service was not reached, or says that it is not ready: what it would answer is still unknown.
_NOT_READY = frozenset({429, 502, 503, 504})


class _Failed(Exception):
    """One request came to nothing; `again` = a further one may do better."""

    def __init__(self, reason: NoQueryReason, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.reason = reason
        self.again = again


class HttpTarget:
    """Asks a service: the request and the answer are described in `harness.targets.contract`.

    Args:
        url: where to POST.
        timeout_s: how long one answer may take, in seconds.
        gateway: takes the service's model calls, at a base URL that the request names; `None` without one.
        retries: further tries where the service cannot be reached or is not ready (429, 502, 503, 504).
        first_wait_s: before the first further try, in seconds; doubles from one to the next.
        redactor: cleans messages.

    Raises:
        TargetError: the URL is none.
    """

    name = "http"

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 120.0,
        gateway: Gateway | None = None,
        retries: int = 2,
        first_wait_s: float = 0.5,
        redactor: Redactor | None = None,
    ) -> None:
        with contextlib.suppress(ValueError):
            self._parts = urlsplit(url)
        if not hasattr(self, "_parts") or self._parts.scheme not in ("http", "https") or not self._parts.hostname:
            raise TargetError("the service's URL should look like http://127.0.0.1:8000/query")
        self._url = url
        self._timeout_s = timeout_s
        self._gateway = gateway
        self._retries = retries
        self._first_wait_s = first_wait_s
        self._redactor = redactor or Redactor([self._parts.password] if self._parts.password else [])
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=10.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30),
            headers={"User-Agent": "rung"},
            trust_env=not is_loopback(self._parts.hostname),
            verify=self._parts.scheme == "https",
        )

    def __repr__(self) -> str:
        return f"HttpTarget({self._parts.hostname!r})"

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """The service's address, without credentials and query."""
        host = self._parts.netloc.rpartition("@")[2]
        return {"url": f"{self._parts.scheme}://{host}{self._parts.path}"}

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Ask the service once.

        Raises:
            BudgetReached: the run's budget ran out in a model call behind the gateway.
        """
        if self._gateway is None:
            return await self._ask(case, request_document(case, now=now, repeat=repeat))
        with self._gateway.case(case.id, repeat, now) as ledger:
            request = request_document(case, now=now, repeat=repeat, base_url=ledger.base_url)
            reply = await self._ask(case, request)
        return with_account(reply, ledger)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, case: Case, request: dict[str, JsonValue]) -> Reply:
        tries = 0
        latency_ms = 0.0

        async def once() -> Contracted | _Failed:
            nonlocal tries, latency_ms
            tries += 1
            started = time.perf_counter()
            try:
                return await self._post(request)
            except _Failed as failed:
                log_event("warning", "service did not answer", case=case.id, attempt=tries, message=str(failed))
                return failed
            finally:
                latency_ms = (time.perf_counter() - started) * 1000

        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._retries + 1),
            wait=wait_exponential(multiplier=self._first_wait_s, max=30.0) + wait_random(0, self._first_wait_s),
            retry=retry_if_result(lambda result: isinstance(result, _Failed) and result.again),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome is not None else None,
        )
        result: Contracted | _Failed = await retrying(once)
        if isinstance(result, _Failed):
            call = Call(latency_ms=latency_ms, tries=tries)
            return Reply(answer=NoQuery(reason=result.reason, message=str(result)), calls=(call,))
        call = Call(latency_ms=latency_ms, tries=tries, usage=result.usage)
        return Reply(answer=result.answer, raw=result.raw, calls=(call,), notices=result.notices)

    async def _post(self, request: dict[str, JsonValue]) -> Contracted:
        try:
            async with asyncio.timeout(self._timeout_s):
                status, raw = await self._transfer(request)
        except TimeoutError as error:
            message = f"the service did not answer within {self._timeout_s:g} s"
            raise _Failed("target_crashed", message, again=False) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as error:
            again = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise _Failed("transport", self._cleaned(f"{type(error).__name__}: {error}"), again=again) from error
        if status == 200:
            return read_contract(raw.decode("utf-8-sig", "replace"))
        raise _Failed(
            "transport" if status in _NOT_READY else "target_crashed",
            self._cleaned(f"the service answered HTTP {status}: {_said(raw)}"),
            again=status in _NOT_READY,
        )

    async def _transfer(self, request: dict[str, JsonValue]) -> tuple[int, bytes]:
        async with self._http.stream("POST", self._url, json=request) as got:
            pieces: list[bytes] = []
            size = 0
            async for piece in got.aiter_bytes():
                size += len(piece)
                if size > LARGEST_ANSWER:
                    raise ValueError(f"the answer is larger than {LARGEST_ANSWER // 2**20} MiB")
                pieces.append(piece)
            return got.status_code, b"".join(pieces)

    def _cleaned(self, message: str) -> str:
        return one_line(self._redactor.clean(message), 500)


def _said(raw: bytes) -> str:
    try:
        error = read_error(read_json(raw))
    except ValueError:
        error = None
    return (error or text_error(raw)).message
