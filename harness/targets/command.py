"""The `command` target: the user's own program, one process for each attempt, JSON on stdin and JSON on stdout."""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from harness.endpoint.gateway import Gateway
from harness.errors import TargetError
from harness.targets.accounts import with_account
from harness.targets.contract import read_contract, request_document
from harness.types.answers import Call, NoQuery, Reply
from harness.types.cases import Case

MAX_OUTPUT = 16 * 1024 * 1024
"""Bytes of standard output that are read."""

_TAIL = 4096
_GRACE_S = 2.0


class CommandTarget:
    """Runs a program for each attempt, in a process group of its own that does not outlive it.

    Args:
        argv: the program and its arguments; no shell is involved.
        timeout_s: how long one attempt may take, in seconds.
        gateway: takes the program's model calls, at a base URL that the request names; `None` without one.

    Raises:
        TargetError: the program cannot be found.
    """

    name = "command"

    def __init__(self, argv: tuple[str, ...], *, timeout_s: float = 120.0, gateway: Gateway | None = None) -> None:
        if not argv:
            raise TargetError("the command is empty; name a program, such as --command 'python answer.py'")
        program = shutil.which(argv[0])
        if program is None:
            raise TargetError(f"no program is called `{argv[0]}` (looked for in PATH); is it installed and executable?")
        self._argv = argv
        self._program = program
        self._timeout_s = timeout_s
        self._gateway = gateway
        self._digests = _digests(program, argv)

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """The command line, and digests of the files it names, so that a changed program is asked again."""
        return {"argv": list(self._argv), "files": dict(self._digests)}

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Run the program once."""
        if self._gateway is None:
            return await self._run(request_document(case, now=now, repeat=repeat))
        with self._gateway.case(case.id, repeat, now) as ledger:
            reply = await self._run(request_document(case, now=now, repeat=repeat, base_url=ledger.base_url))
        return with_account(reply, ledger)

    async def aclose(self) -> None:
        """Nothing is held: each attempt ends its own process."""

    async def _run(self, request: dict[str, JsonValue]) -> Reply:
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        words = (self._program, *self._argv[1:])
        try:
            _, said = await loop.subprocess_exec(_Conversation, *words, start_new_session=True)
        except OSError as error:
            raise TargetError(f"cannot start {self._argv[0]}: {error.strerror or error}") from error
        try:
            async with asyncio.timeout(self._timeout_s):
                await said.hold(json.dumps(request).encode() + b"\n")
        except TimeoutError:
            return _crashed(f"{self._argv[0]} did not answer within {self._timeout_s:g} s and was killed", said)
        finally:
            await said.end()
        return _reply(self._argv[0], said, (time.monotonic() - started) * 1000)


class _Conversation(asyncio.SubprocessProtocol):
    """One process: what it is told, what it says, and its end."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.errors = bytearray()
        self.overflow = False
        self._exited = asyncio.Event()
        self._closed = asyncio.Event()
        self._transport: asyncio.SubprocessTransport

    @property
    def code(self) -> int | None:
        """The exit status; negative = the signal that ended it."""
        return self._transport.get_returncode()

    async def hold(self, request: bytes) -> None:
        """Tell it the request and listen until it has ended; what it leaves running is not waited for."""
        stdin = self._transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        stdin.write(request)
        stdin.write_eof()
        await self._exited.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await self._closed.wait()  # what it said may still be on its way, or held open by a child of its own
        self._kill_group()
        await self._closed.wait()

    async def end(self) -> None:
        """Kill whatever of its process group is left, and reap it."""
        self._kill_group()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await self._exited.wait()
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process runs."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It said something: what is kept of the output is bounded, of the errors it is the end."""
        if fd == 1:
            self.output += data[: MAX_OUTPUT - len(self.output)]
            if len(self.output) == MAX_OUTPUT:
                self.overflow = True
                self._kill_group()
        else:
            self.errors += data
            del self.errors[:-_TAIL]

    def process_exited(self) -> None:
        """It has ended."""
        self._exited.set()

    def connection_lost(self, error: Exception | None) -> None:
        """It has ended, and so has everything that held its pipes."""
        self._closed.set()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left of it
            os.killpg(self._transport.get_pid(), signal.SIGKILL)


def _reply(program: str, said: _Conversation, latency_ms: float) -> Reply:
    if said.overflow:
        return _crashed(f"{program} wrote more than {MAX_OUTPUT // 1024**2} MiB and was killed", said)
    if said.code != 0:
        ended = (
            f"was ended by signal {-said.code}" if said.code is not None and said.code < 0 else f"exited {said.code}"
        )
        return _crashed(f"{program} {ended}", said)
    read = read_contract(said.output.decode("utf-8", "replace"))
    call = Call(latency_ms=latency_ms, tries=1, usage=read.usage)
    return Reply(answer=read.answer, raw=read.raw, calls=(call,), notices=read.notices)


def _crashed(message: str, said: _Conversation) -> Reply:
    tail = said.errors.decode("utf-8", "replace").strip()
    raw = said.output[:_TAIL].decode("utf-8", "replace")
    said_last = f"; its standard error ends: {tail[-500:]}" if tail else ""
    return Reply(answer=NoQuery(reason="target_crashed", message=message + said_last), raw=raw)


def _digests(program: str, argv: tuple[str, ...]) -> dict[str, str]:
    """Digests of the arguments that are files, scripts above all; an interpreter or binary is known by its path."""
    digests: dict[str, str] = {}
    for word in argv[1:]:
        path = Path(word)
        if path.is_file():
            digests[word] = hashlib.sha256(path.read_bytes()).hexdigest()
    path = Path(program)
    if path.stat().st_size < MAX_OUTPUT and path.read_bytes()[:2] == b"#!":
        digests[argv[0]] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests
