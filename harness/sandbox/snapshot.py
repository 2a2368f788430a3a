"""Exact bytes of a fixture file, read once, checked, hashed, and held in sealed memory that engines are given.

The engine never opens the file itself. A file that is in use (write-ahead log, journal beside it) or changes while it
is read is refused, not mended.
"""

import hashlib
import os
import stat
import sys
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_HEADER = b"SQLite format 3\x00"
_DUCKDB_MAGIC = slice(8, 12)
_KEPT = 8
# A file that changed this recently could change again within the same tick of its clock.
_SETTLED_NS = 2_000_000_000


class SnapshotError(Exception):
    """The file cannot be used; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Snapshot:
    """A fixture's bytes in memory.

    Attributes:
        descriptor: open file of a sealed memory file.
        size: bytes.
        sha256: of the bytes.
    """

    descriptor: int
    size: int
    sha256: str

    def copy(self) -> "Snapshot":
        """The same bytes under a descriptor of one's own."""
        return replace(self, descriptor=os.dup(self.descriptor))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)


class Snapshots:
    """Takes snapshots and keeps the last few, as long as their files stay the same. Safe for threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, tuple[int, ...]], Snapshot] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, path: Path, max_bytes: int, *, sqlite: bool) -> Snapshot:
        """The bytes of a file; the caller closes what it gets.

        Args:
            path: of a regular file.
            max_bytes: the largest file.
            sqlite: hold it to the rules of a SQLite snapshot, else to those of a DuckDB file.

        Raises:
            SnapshotError: it cannot be used.
        """
        with self._lock:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError as problem:
                raise SnapshotError("database_missing") from problem
            except OSError as problem:
                raise SnapshotError("database_not_regular") from problem
            try:
                return self._read(descriptor, path, max_bytes, sqlite=sqlite)
            finally:
                os.close(descriptor)

    def _read(self, descriptor: int, path: Path, max_bytes: int, *, sqlite: bool) -> Snapshot:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise SnapshotError("database_not_regular")
        if before.st_size > max_bytes:
            raise SnapshotError("database_too_large")
        _refuse_companions(path, sqlite=sqlite)
        key = (str(path.absolute()), _identity(before))
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept.copy()
        data = _read_all(descriptor, before.st_size)
        _refuse_companions(path, sqlite=sqlite)
        if len(data) != before.st_size or _identity(os.fstat(descriptor)) != _identity(before):
            raise SnapshotError("database_changed")
        _check_header(data, sqlite=sqlite)
        snapshot = _seal(data)
        if time.time_ns() - before.st_mtime_ns > _SETTLED_NS:
            self._kept[key] = snapshot.copy()
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)[1].close()
        return snapshot

    def close(self) -> None:
        """Give the memory back."""
        with self._lock:
            while self._kept:
                self._kept.popitem()[1].close()


def _identity(facts: os.stat_result) -> tuple[int, ...]:
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _read_all(descriptor: int, size: int) -> bytes:
    parts = []
    left = size + 1  # one more, to see a file that grew
    while left and (part := os.read(descriptor, min(left, 1 << 22))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _refuse_companions(path: Path, *, sqlite: bool) -> None:
    for suffix, code in (("-wal", "database_wal"), ("-shm", "database_wal"), ("-journal", "database_journal")):
        if sqlite and path.with_name(path.name + suffix).exists():
            raise SnapshotError(code)
    if not sqlite and path.with_name(path.name + ".wal").exists():
        raise SnapshotError("database_wal")


def _check_header(data: bytes, *, sqlite: bool) -> None:
    if not sqlite:
        if data[_DUCKDB_MAGIC] != b"DUCK":
            raise SnapshotError("database_unreadable")
        return
    if not data:
        return  # an empty file is an empty database
    if len(data) < 100 or not data.startswith(_HEADER):
        raise SnapshotError("database_unreadable")
    if data[18] == 2 or data[19] == 2:
        raise SnapshotError("database_wal")


def _seal(data: bytes) -> Snapshot:
    descriptor = os.memfd_create("fixture", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return Snapshot(descriptor, len(data), hashlib.sha256(data).hexdigest())
