"""Runs one server as a child, as another user and under limits, and takes it down when the one who asked is gone.

This file is executed by path (`python -I -S supervisor.py SPEC`), so it uses the standard library alone. It reads its
standard input: the end of it, or the word `stop`, ends the server. That holds even when the parent is killed, for the
kernel closes its end of the pipe. It writes `started PID` first, then `exited STATUS` if the server ends by
itself.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38


def _become_server(spec: dict[str, Any]) -> None:
    """In the child: limits, user, death signal, then the server's program. Does not return."""
    os.setsid()
    log = os.open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 4096)
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if spec["address_space"]:
        resource.setrlimit(resource.RLIMIT_AS, (spec["address_space"],) * 2)
    if spec["uid"] is not None:
        os.setgroups([])
        os.setresgid(spec["gid"], spec["gid"], spec["gid"])
        os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # After the change of user, which clears it.
        libc.prctl(PR_SET_PDEATHSIG, spec["death_signal"], 0, 0, 0)
    os.chdir(spec["cwd"])
    os.execve(spec["argv"][0], spec["argv"], spec["env"])  # noqa: S606 - the whole point


def _end(pid: int, spec: dict[str, Any]) -> None:
    """Ask the server to stop, and kill it with its whole session when it has not within the grace."""
    deadline = time.monotonic() + spec["grace"]
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, spec["stop_signal"])
    while time.monotonic() < deadline:
        done, _ = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def main(spec: dict[str, Any]) -> int:
    """Start the server, watch both it and standard input, and remove its folder at the end."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # the pipe says when it is over, not the terminal
    pid = os.fork()
    if pid == 0:
        try:
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(name, signal.SIG_DFL)
            _become_server(spec)
        finally:
            os._exit(127)
    os.write(1, f"started {pid}\n".encode())
    status = 0
    while True:
        ready, _, _ = select.select([0], [], [], 0.1)
        if ready and os.read(0, 64) is not None:
            _end(pid, spec)
            break
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = 3
            with contextlib.suppress(BrokenPipeError):
                os.write(1, f"exited {os.waitstatus_to_exitcode(code)}\n".encode())
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            os.read(0, 64)  # the folder holds the log, which the parent may still want
            break
    if spec["remove"]:
        shutil.rmtree(spec["remove"], ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
