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
from typing import Any

from pydantic import JsonValue

from harness.errors import TargetError
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
        base_url: where the program finds the gateway, passed on in the request; `None` without one.

    Raises:
        TargetError: the program cannot be found.
    """

    name = "command"

    def __init__(self, argv: tuple[str, ...], *, timeout_s: float = 120.0, base_url: str | None = None) -> None:
        if not argv:
            raise TargetError("the command is empty; name a program, such as --command 'python answer.py'")
        program = shutil.which(argv[0])
        if program is None:
            raise TargetError(f"no program is called `{argv[0]}` (looked for in PATH); is it installed and executable?")
        self._argv = argv
        self._program = program
        self._timeout_s = timeout_s
        self._base_url = base_url
        self._digests = _digests(program, argv)

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """The command line, and digests of the files it names, so that a changed program is asked again."""
        return {"argv": list(self._argv), "files": dict(self._digests)}

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Run the program once."""
        request = request_document(case, now=now, repeat=repeat, base_url=self._base_url)
        started = time.monotonic()
        try:
            process = await asyncio.create_subprocess_exec(
                self._program,
                *self._argv[1:],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise TargetError(f"cannot start {self._argv[0]}: {error.strerror or error}") from error
        conversation = _Conversation(process, json.dumps(request).encode() + b"\n")
        try:
            async with asyncio.timeout(self._timeout_s):
                await conversation.hold()
        except TimeoutError:
            said = f"{self._argv[0]} did not answer within {self._timeout_s:g} s and was killed"
            return _crashed(said, conversation)
        finally:
            await conversation.end()
        return _reply(self._argv[0], conversation, (time.monotonic() - started) * 1000)

    async def aclose(self) -> None:
        """Nothing is held: each attempt ends its own process."""


class _Conversation:
    """One process: what it is told, what it says, and its end."""

    def __init__(self, process: asyncio.subprocess.Process, request: bytes) -> None:
        self._process = process
        self._request = request
        self.output = bytearray()
        self.errors = bytearray()
        self.overflow = False

    @property
    def code(self) -> int | None:
        """The exit status; negative = the signal that ended it."""
        return self._process.returncode

    async def hold(self) -> None:
        """Tell it the request and listen until it has ended; what it leaves running is not waited for."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tell())
            listening = asyncio.gather(self._listen_output(), self._listen_errors())
            ended: set[asyncio.Future[Any]] = {listening, tasks.create_task(self._process.wait())}
            try:
                await asyncio.wait(ended, return_when="FIRST_COMPLETED")
                if not listening.done():
                    await asyncio.wait({listening}, timeout=_GRACE_S)
                    self._kill_group()
                await listening
            finally:
                listening.cancel()

    async def end(self) -> None:
        """Kill whatever of its process group is left, and reap it."""
        self._kill_group()
        if self._process.returncode is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _GRACE_S)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left of it
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _tell(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read the request to answer
            stdin.write(self._request)
            await stdin.drain()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin.close()
            await stdin.wait_closed()

    async def _listen_output(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while data := await stream.read(65536):
            self.output += data[: MAX_OUTPUT - len(self.output)]
            if len(self.output) == MAX_OUTPUT:
                self.overflow = True
                self._kill_group()
                return

    async def _listen_errors(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        while data := await stream.read(65536):
            self.errors += data
            del self.errors[:-_TAIL]


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
