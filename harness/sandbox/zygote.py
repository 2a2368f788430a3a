"""The process that children are forked from: small, single-threaded, with the fixture in memory and no SQL read.

It speaks `frames` with the sandbox over one socket. For each case it forks a child, which locks itself in, works and
writes its report into a pipe that came with the request; the zygote kills it when its time is over or when the sandbox
says so or is gone, reaps it and tells how it ended. Standard library alone, but for the engine of its kind.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from harness.sandbox.difference import Rules
from harness.sandbox.frames import ClosedError, receive, send
from harness.sandbox.jail import Jail, JailError, Limits, close_all_but
from harness.sandbox.values import encode
from harness.sandbox.work import Failure, Pair, QueryLimits, compare, execute

_CACHED_IMAGES = 4
_CACHED_BYTES = 32 * 1024 * 1024


class Zygote:
    """Forks one child per request.

    Args:
        channel: the socket to the sandbox.
        engine: `sqlite` or `duckdb`.
        uid: the user that children become, `None` = stay.
    """

    def __init__(self, channel: socket.socket, engine: str, uid: int | None) -> None:
        self._channel = channel
        self._kind = engine
        self._engine: Any
        if engine == "duckdb":
            from harness.sandbox.engines import duckdb

            self._engine = duckdb
        else:
            from harness.sandbox.engines import sqlite

            self._engine = sqlite
        self._jail = Jail(uid=uid, database_file=engine == "duckdb")
        self._images: dict[str, tuple[int, Any]] = {}

    def serve(self) -> None:
        """Answer requests until the sandbox is gone."""
        gc.collect()
        gc.freeze()
        gc.disable()
        send(self._channel, {"version": self._engine.version(), "landlock": self._jail.landlock_abi})
        while True:
            try:
                request, files = receive(self._channel, max_files=2)
                if request["op"] == "stop":
                    continue  # it crossed with the end of the child that it was meant for
                answer = self._handle(request, files)
                send(self._channel, answer)
            except ClosedError:
                return

    def _handle(self, request: dict[str, Any], files: list[int]) -> dict[str, Any]:
        started = time.monotonic()
        try:
            image = self._image(request, files)
            pid = os.fork()
            if pid == 0:
                self._child(request, files, image)
        finally:
            for descriptor in files:
                os.close(descriptor)
        return self._attend(pid, started + request["kill_after"])

    def _image(self, request: dict[str, Any], files: list[int]) -> Any:
        """What the child works on: for SQLite a connection that is laid down once and shared by fork."""
        if "image" not in request:
            return None
        if self._kind != "sqlite":
            return files[1]
        key, size = request["image"], request["image_bytes"]
        if key not in self._images:
            # A big image stands alone, so that it does not eat the address space of cases on another one.
            while self._images and (
                len(self._images) >= _CACHED_IMAGES
                or sum(held for held, _ in self._images.values()) + size > _CACHED_BYTES
            ):
                self._images.pop(next(iter(self._images)))[1].close()
            self._images[key] = (size, self._engine.lay_down(os.pread(files[1], size, 0)))
        self._images[key] = self._images.pop(key)  # the last used is the last to go
        return self._images[key][1]

    def _attend(self, pid: int, deadline: float) -> dict[str, Any]:
        """Wait for the child, kill it when it is time to, and say how it ended."""
        handle = os.pidfd_open(pid)
        killed = False
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            poll.register(self._channel.fileno(), select.POLLIN)
            ready = dict(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
            if handle not in ready:
                # Its time is over, or the sandbox says stop, or is gone: either way it ends.
                killed = True
                os.kill(pid, signal.SIGKILL)
                if self._channel.fileno() in ready:
                    with contextlib.suppress(ClosedError):
                        receive(self._channel)
            _, status = os.waitpid(pid, 0)
        finally:
            os.close(handle)
        return {"ended": os.waitstatus_to_exitcode(status), "killed": killed}

    def _child(self, request: dict[str, Any], files: list[int], image: Any) -> None:
        """In the child: does not return."""
        code = 1
        try:
            out = files[0]
            report = self._work(request, out, files, image)
            rows = report.pop("rows", "[]") if isinstance(report.get("rows"), str) else ""
            _write(out, (encode(report) + "\n" + rows + "\n").encode())
            code = 0
        except MemoryError:
            code = 3
        finally:
            os._exit(code)

    def _work(self, request: dict[str, Any], out: int, files: list[int], image: Any) -> dict[str, Any]:
        limits = Limits(address_space=request["address_space"], cpu_seconds=request["kill_after"] + 1)
        parent = os.getppid()
        reader = None
        try:
            if self._kind == "duckdb" and image is not None:
                close_all_but((out,))
                reader = self._engine.open_reader(request)
                keep = self._open_files()
            else:
                keep = (out,)
            layers = self._jail.lock(limits, parent, keep)
        except JailError as problem:
            return {"status": "jail", "code": str(problem), "layers": []}
        except Failure as failure:
            return {**failure.report(), "layers": []}
        if request["op"] == "probe":
            return {"status": "success", "layers": layers, "facts": _probe(request["what"], request["address_space"])}
        try:
            if reader is None:
                reader = self._engine.open_reader(image, request)
            return {**_serve_case(request, reader, out), "layers": layers}
        except Failure as failure:
            return {**failure.report(), "layers": layers}

    @staticmethod
    def _open_files() -> tuple[int, ...]:
        return tuple(int(name) for name in os.listdir("/proc/self/fd"))


def _serve_case(request: dict[str, Any], reader: Any, out: int) -> dict[str, Any]:
    limits = QueryLimits(
        seconds=request.get("seconds", 0.0),
        max_rows=request.get("max_rows", 0),
        max_value_bytes=request["value_bytes"],
        max_result_bytes=request.get("result_bytes", 0),
    )
    if request["op"] == "schema":
        try:
            return dict(reader.describe())
        except Exception as error:
            raise (reader.failure(error) or error) from error
    if request["op"] == "compare":
        pair = Pair(request["reference"], request["generated"], Rules.read(request["rules"]), request["show_diff"])
        return compare(reader, pair, limits, lambda stage: _write(out, stage.encode() + b"\n"))
    return execute(reader, request["query"], limits)


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


def _probe(what: str, address_space: int) -> dict[str, Any]:
    """Try, inside the walls, what must not be possible; each answer is `True` where the wall held."""
    if what == "fork":
        os.fork()
        return {"fork": False}
    if what == "hang":
        while True:
            time.perf_counter()
    facts = {"file": _refused(lambda: os.open("/etc/passwd", os.O_RDONLY))}
    facts["stat"] = _refused(lambda: os.stat("/"))
    facts["write"] = _refused(lambda: os.open("/rung-probe", os.O_WRONLY | os.O_CREAT))
    facts["socket"] = _refused(socket.socket)
    try:
        facts["memory"] = not bytearray(address_space)
    except MemoryError:
        facts["memory"] = True
    return facts


def _refused(attempt: Any) -> bool:
    try:
        attempt()
    except PermissionError:
        return True
    return False


def main() -> None:
    """Serve on the socket whose number, engine and children's user stand on the command line."""
    descriptor, engine, uid = sys.argv[1:4]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # the socket says when it is over, not the terminal
    os.environ["TZ"] = "UTC0"  # no time zone file is looked for inside the walls
    time.tzset()
    with socket.socket(fileno=int(descriptor)) as channel:
        Zygote(channel, engine, int(uid) if uid != "-" else None).serve()
