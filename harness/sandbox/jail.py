"""Locks the calling process in: limits, another user, no new privileges, Landlock, and a list of allowed system calls.

Standard library alone and no state: this runs in a freshly forked child between `fork` and the first byte of SQL. The
order matters (each step takes away what an earlier one needed) and is the order of `lock`.
"""

import ctypes
import errno
import math
import os
import platform
import signal
import struct
import sys
from dataclasses import dataclass
from typing import Literal

if sys.platform != "win32":  # importable everywhere; only a Linux kernel is ever asked for walls
    import resource

Layer = Literal[
    "rlimits", "no_new_privs", "seccomp", "landlock", "user", "death_signal", "not_dumpable", "closed_files", "kill"
]

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_PR_GET_NO_NEW_PRIVS = 39
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_RESTRICT_SELF = 446

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_KILL = 0x80000000
_X32_BIT = 0x40000000
_PROT_EXEC = 4


class JailError(Exception):
    """A layer that must be there could not be put up; nothing may run."""


@dataclass(frozen=True)
class Limits:
    """What the kernel holds the process to.

    Attributes:
        address_space: bytes of virtual memory.
        cpu_seconds: CPU time.
        open_files: highest number of open files.
    """

    address_space: int
    cpu_seconds: float
    open_files: int = 32


# System calls by name: x86-64 and arm64 numbers (None = the call does not exist there).
_RUN: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "getpid": (39, 172),
    "exit": (60, 93),
    "gettimeofday": (96, 169),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "time": (201, None),
    "futex": (202, 98),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "exit_group": (231, 94),
    "getrandom": (318, 278),
    "rseq": (334, 293),
    "poll": (7, None),
    "ppoll": (271, 73),
}
_WITHOUT_EXECUTION = {"mmap": (9, 222), "mprotect": (10, 226)}
# What a thread pool and a reader of one already open file need besides; a process cannot be made with them.
_DATABASE_FILE: dict[str, tuple[int | None, int | None]] = {
    "pread64": (17, 67),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "getrusage": (98, 165),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "fcntl": (72, 25),
    "flock": (73, 32),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "membarrier": (324, 283),
    "set_robust_list": (273, 99),
}
# What a process needs besides that talks over one socket that is open already; it cannot make another one.
_CONVERSATION: dict[str, tuple[int | None, int | None]] = {"sendto": (44, 206), "recvfrom": (45, 207)}
# Calls that honest libraries try and do without: they get "not permitted" instead of death.
_SHY: dict[str, tuple[int | None, int | None]] = {
    "open": (2, None),
    "stat": (4, None),
    "lstat": (6, None),
    "ioctl": (16, 29),
    "access": (21, None),
    "socket": (41, 198),
    "uname": (63, 160),
    "getcwd": (79, 17),
    "mkdir": (83, None),
    "unlink": (87, None),
    "readlink": (89, None),
    "getrlimit": (97, 163),
    "sysinfo": (99, 179),
    "getdents64": (217, 61),
    "openat": (257, 56),
    "mkdirat": (258, 34),
    "newfstatat": (262, 79),
    "unlinkat": (263, 35),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "prlimit64": (302, 261),
    "statx": (332, 291),
    "openat2": (437, 437),
    "faccessat2": (439, 439),
}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}


def _statement(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, jump_true, jump_false, k)


def filter_program(*, database_file: bool = False, conversation: bool = False) -> bytes:
    """The seccomp program: a list of allowed calls, a few that are refused softly, death for everything else.

    Args:
        database_file: also allow what an engine needs that reads one already open file with a thread pool.
        conversation: also allow to send and receive on a socket that is open already.

    Raises:
        JailError: the processor's system calls are not known here.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise JailError(f"no list of system calls for the processor {machine}")
    audit, column = _ARCHITECTURES[machine]
    allowed = _RUN | (_DATABASE_FILE if database_file else {}) | (_CONVERSATION if conversation else {})
    allow = [pair[column] for pair in allowed.values() if pair[column] is not None]
    refuse = [pair[column] for name, pair in _SHY.items() if pair[column] is not None and name not in allowed]
    guarded = [pair[column] for pair in _WITHOUT_EXECUTION.values()]
    load, equal, greater, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    lines = [
        _statement(load, 4),  # the architecture: the same number means another call on another one
        _statement(equal, audit, 1, 0),
        _statement(answer, _KILL),
        _statement(load, 0),
        _statement(greater, _X32_BIT, 0, 1),
        _statement(answer, _KILL),
    ]
    for number in allow:
        lines += [_statement(equal, number or 0, 0, 1), _statement(answer, _ALLOW)]
    for number in refuse:
        lines += [_statement(equal, number or 0, 0, 1), _statement(answer, _REFUSE)]
    for number in guarded:
        # The third argument is the protection; executable memory is refused.
        lines += [
            _statement(equal, number or 0, 0, 4),
            _statement(load, 32),
            _statement(any_bit, _PROT_EXEC, 0, 1),
            _statement(answer, _REFUSE),
            _statement(answer, _ALLOW),
        ]
    lines.append(_statement(answer, _KILL))
    return b"".join(lines)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


class Jail:
    """The layers, ready to be put up by a child. Made once in the parent of the children, before any fork.

    Args:
        uid: the user that a child becomes when the process is root's, `None` = stay.
        database_file: see `filter_program`.
        conversation: see `filter_program`.

    Raises:
        JailError: this is not Linux, or the processor is not known.
    """

    def __init__(self, *, uid: int | None = None, database_file: bool = False, conversation: bool = False) -> None:
        if sys.platform != "linux":
            raise JailError("queries are executed on Linux only; reading and comparing work everywhere")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._program = filter_program(database_file=database_file, conversation=conversation)
        self._number = _SECCOMP[platform.machine()]
        self._uid = uid if os.geteuid() == 0 else None
        self.landlock_abi = max(0, self._libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1))

    def lock(
        self, limits: Limits, parent: int, keep: tuple[int, ...], *, follow_parent: bool = True
    ) -> tuple[Layer, ...]:
        """Put every layer up; after this the process can compute, write to `keep`, and end.

        Args:
            limits: what the kernel holds it to.
            parent: process id of the parent, which must still be there.
            keep: the file descriptors that stay open.
            follow_parent: die with the thread that forked this process (no good where that thread may end first).

        Returns:
            The layers that stand. Only `landlock` and `user` may be missing.

        Raises:
            JailError: a layer that must be there could not be put up.
        """
        layers: list[Layer] = ["closed_files"]
        close_all_but(keep)
        if self._uid is not None and self._become(self._uid):
            layers.append("user")
        if follow_parent:
            self._call("the death signal", self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
            if os.getppid() != parent:
                raise JailError("the parent is gone")
            layers.append("death_signal")
        self._call("dumpable", self._libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
        layers.append("not_dumpable")
        self._limit(limits)
        layers.append("rlimits")
        self._call("no_new_privs", self._libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        if self._libc.prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
            raise JailError("no_new_privs did not take")
        layers.append("no_new_privs")
        if self._landlock():
            layers.append("landlock")
        self._seccomp()
        layers.append("seccomp")
        return tuple(layers)

    def restrain(self, limits: Limits) -> None:
        """The layers that a process can carry that must reach a server: limits, no new privileges, no core, no tracing.

        Raises:
            JailError: one of them could not be put up.
        """
        self._call("dumpable", self._libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))
        self._limit(limits, processes=None)
        self._call("no_new_privs", self._libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))

    def _call(self, what: str, result: int) -> None:
        if result != 0:
            raise JailError(f"{what}: {os.strerror(ctypes.get_errno())}")

    @staticmethod
    def _become(uid: int) -> bool:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except OSError:
            return False
        return True

    @staticmethod
    def _limit(limits: Limits, *, processes: int | None = 0) -> None:
        seconds = math.ceil(limits.cpu_seconds)
        wanted = [
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, limits.open_files),
            (resource.RLIMIT_AS, limits.address_space),
            (resource.RLIMIT_CPU, seconds),
        ]
        if processes is not None:
            wanted.append((resource.RLIMIT_NPROC, processes))
        for kind, value in wanted:
            try:
                resource.setrlimit(kind, (value, value))
            except (OSError, ValueError) as problem:
                raise JailError(f"resource limit {kind}: {problem}") from problem

    def _landlock(self) -> bool:
        """Forbid every file and TCP access; `False` where the kernel has no Landlock."""
        abi = self.landlock_abi
        if abi < 1:
            return False
        files = 0x1FFF | (0x2000 if abi >= 2 else 0) | (0x4000 if abi >= 3 else 0) | (0x8000 if abi >= 5 else 0)
        attributes = struct.pack("QQQ", files, 3, 3)[: 8 if abi < 4 else 16 if abi < 6 else 24]
        ruleset = self._libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
        if ruleset < 0:
            return False
        stands = self._libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
        os.close(ruleset)
        return bool(stands)

    def _seccomp(self) -> None:
        program = _Program(len(self._program) // 8, self._program)
        every_thread = 1  # an engine may have started some
        self._call("seccomp", self._libc.syscall(self._number, 1, every_thread, ctypes.byref(program)))


def close_all_but(keep: tuple[int, ...]) -> None:
    """Close every open file but these."""
    start = 0
    for descriptor in sorted(set(keep)):
        if start < descriptor:  # an empty range from 0 would close everything
            os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, 65536)


def unprivileged_uid() -> int | None:
    """The user that children become where this is root: `nobody`, by its number; `None` where this is not root."""
    if os.geteuid() != 0:
        return None
    return 65534
