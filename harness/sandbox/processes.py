"""Starts the processes of the sandbox and talks with them: the one that reads queries, and the zygotes."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import SandboxError
from harness.sandbox.frames import ClosedError, receive, send

_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 60.0


class LostError(Exception):
    """The process ended, or did not answer in time and was killed."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


def require_linux() -> None:
    """Refuse to execute where the walls cannot stand.

    Raises:
        SandboxError: this is not Linux.
    """
    if sys.platform != "linux":
        raise SandboxError(
            "queries are executed on Linux (or WSL) only, because the walls around them are Linux's; "
            "reading queries and comparing results work here"
        )


def _environment(keep: tuple[str, ...], *, with_packages: bool) -> dict[str, str]:
    """Nothing of the parent's environment (no keys, no paths, no proxies) but what is asked for by prefix."""
    env = {name: value for name, value in os.environ.items() if keep and name.startswith(keep)}
    env |= {"LC_ALL": "C.UTF-8", "TZ": "UTC0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if with_packages:
        env["PYTHONHASHSEED"] = "0"
    return env


def _search_path(modules: Sequence[ModuleType]) -> list[str]:
    """The folders that hold this package and the modules given."""
    folders = [str(_ROOT)]
    for module in modules:
        origin = module.__file__
        if origin is not None:
            place = Path(origin).resolve().parent
            folders.append(str(place.parent if Path(origin).name == "__init__.py" else place))
    return list(dict.fromkeys(folders))


class Process:
    """A process of ours at the other end of a socket.

    Args:
        module: whose `main` it runs.
        arguments: for its command line, after the socket's number.
        packages: installed modules it needs; the standard library and this package are always there.
        keep_environment: prefixes of environment variables that it is given.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        packages: Sequence[ModuleType] = (),
        *,
        keep_environment: tuple[str, ...] = (),
    ) -> None:
        require_linux()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.channel = ours
        code = f"import sys; sys.path[:0] = {_search_path(packages)!r}; from {module} import main; main()"
        try:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter with our own code
                [sys.executable, "-I", "-S", "-c", code, str(theirs.fileno()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                env=_environment(keep_environment, with_packages=bool(packages)),
                pass_fds=(theirs.fileno(),),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.hello = self._greet()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def _greet(self) -> dict[str, Any]:
        self.channel.settimeout(_START_SECONDS)
        try:
            hello, _ = receive(self.channel)
        except (ClosedError, TimeoutError) as problem:
            said = self._last_words()
            self.kill()
            raise SandboxError(f"a process of the sandbox could not be started: {said or problem}") from problem
        # From here on nothing it writes there is of interest, and a full pipe must not block it.
        if self._process.stderr is not None:
            self._process.stderr.close()
        return hello

    def _last_words(self) -> str:
        if self._process.stderr is None:
            return ""
        ready, _, _ = select.select([self._process.stderr], [], [], 1)
        text = os.read(self._process.stderr.fileno(), 65536).decode("utf-8", "replace") if ready else ""
        return text.strip().splitlines()[-1] if text.strip() else ""

    def ask(self, request: dict[str, Any], seconds: float, files: tuple[int, ...] = ()) -> dict[str, Any]:
        """Send a request and wait for the answer.

        Raises:
            LostError: it ended, or was killed because it did not answer in time.
        """
        try:
            self.channel.settimeout(max(0.001, seconds))
            send(self.channel, request, files)
            answer, _ = receive(self.channel)
        except TimeoutError as problem:
            self.kill()
            raise LostError("no answer in time", timed_out=True) from problem
        except ClosedError as problem:
            self.kill()
            raise LostError("the process ended") from problem
        return answer

    def kill(self) -> None:
        """End it and everything it forked."""
        with contextlib.suppress(OSError):
            self.channel.close()  # a zygote kills its child and ends when this closes
        if self._process.stderr is not None and not self._process.stderr.closed:
            self._process.stderr.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class Zygote:
    """A zygote of one engine and the collection of its children's reports."""

    def __init__(self, engine: str, uid: int | None, packages: Sequence[ModuleType] = ()) -> None:
        self._process = Process("harness.sandbox.zygote", [engine, "-" if uid is None else str(uid)], packages)
        self.version = str(self._process.hello["version"])
        self.landlock = int(self._process.hello["landlock"])

    @property
    def pid(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.alive

    def run(self, request: dict[str, Any], image: int | None, max_bytes: int) -> "Report":
        """Have one child work.

        Args:
            request: see `harness.sandbox.zygote`; each stage of the work is stopped after `stage_seconds`, and the
                zygote kills on its own after `kill_after`.
            image: open file with the fixture, `None` where it needs none.
            max_bytes: the longest report.

        Raises:
            LostError: the zygote ended, or did not even kill its child in time.
        """
        reading, writing = os.pipe2(os.O_CLOEXEC)
        last = time.monotonic() + request["kill_after"] + 1.0
        try:
            try:
                self._process.channel.settimeout(5)
                send(self._process.channel, request, (writing,) if image is None else (writing, image))
            except (ClosedError, TimeoutError) as problem:
                self.kill()
                raise LostError("the zygote is gone") from problem
            finally:
                os.close(writing)
            stages, data, state = self._collect(reading, request["stage_seconds"], max_bytes)
        finally:
            os.close(reading)
        if state == "too_long":
            self.kill()
            return Report(stages, b"", ended=-signal.SIGKILL, too_long=True)
        return self._await_end(stages, data, last, stop=state == "late")

    def _await_end(self, stages: str, data: bytes, last: float, *, stop: bool) -> "Report":
        try:
            self._process.channel.settimeout(max(1.0, last - time.monotonic()))
            if stop:
                send(self._process.channel, {"op": "stop"})
            answer, _ = receive(self._process.channel)
        except (ClosedError, TimeoutError) as problem:
            self.kill()
            raise LostError("the zygote is gone", timed_out=isinstance(problem, TimeoutError)) from problem
        return Report(stages, data, ended=answer["ended"], killed=answer["killed"])

    @staticmethod
    def _collect(reading: int, stage_seconds: float, max_bytes: int) -> tuple[str, bytes, str]:
        """Read the pipe to its end: the stages that were reached, the report, and `done`, `late` or `too_long`."""
        stages = ""
        data = bytearray()
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        deadline = time.monotonic() + stage_seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return stages, b"", "late"
            part = os.read(reading, 1 << 18)
            if not part:
                return stages, bytes(data), "done"
            data += part
            while data.startswith((b"R\n", b"G\n")):
                stages += chr(data[0])
                del data[:2]
                deadline = time.monotonic() + stage_seconds
            if len(data) > max_bytes:
                return stages, b"", "too_long"

    def kill(self) -> None:
        """End the zygote and its child."""
        self._process.kill()


@dataclass(frozen=True)
class Report:
    """What came out of a child.

    Attributes:
        stages: the stages it reached (`R` the reference has run, `G` the generated query has).
        data: its report, complete or not.
        ended: exit status, negative for a signal.
        killed: whether it was killed because its time was over.
        too_long: it wrote more than it may.
    """

    stages: str
    data: bytes
    ended: int
    killed: bool = False
    too_long: bool = False
