"""The append-only record of a run: one line a finished attempt, on the disk before the next call is paid for.

A crash can leave at most a cut last line, which is dropped when the journal is next opened. Anything else that cannot
be read is no crash's work and is an error.
"""

import asyncio
import fcntl
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from harness.errors import JournalError
from harness.types.frozen import Frozen
from harness.types.outcomes import Outcome

_AT_ONCE = 256
"""Lines that may wait for the disk where nobody waits for them."""
_LONGEST_TAIL = 64 * 1024 * 1024
"""Bytes without a whole line at the end of a journal, beyond which it is not taken for one."""


class Entry(Frozen):
    """One line of the journal.

    Attributes:
        graded: digest of the rules by which the outcome was graded.
        outcome: the finished attempt.
    """

    graded: str
    outcome: Outcome


class Kept(NamedTuple):
    """An entry and where its line starts."""

    offset: int
    entry: Entry


def read_journal(path: Path) -> Iterator[Kept]:
    """Read the whole lines of a journal, in the order in which attempts finished.

    Raises:
        JournalError: a line other than the last cannot be read.
    """
    torn: int | None = None
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(file, start=1):
            entry = _whole(line)
            if entry is None:
                torn = torn or number
            elif torn is not None:
                raise JournalError(
                    f"{path}:{torn}: not a journal line, and whole lines follow it, so that no crash cut it. "
                    "Remove the line to lose that attempt and keep the rest."
                )
            else:
                yield Kept(offset, entry)
            offset += len(line)


def encode(entry: Entry) -> bytes:
    """One line of the journal.

    A lone surrogate, which a reply may hold and UTF-8 cannot, becomes U+FFFD.
    """
    try:
        return entry.model_dump_json().encode() + b"\n"
    except PydanticSerializationError:
        return json.dumps(_storable(entry.model_dump()), default=_as_json, ensure_ascii=False).encode() + b"\n"


def _storable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_storable(key): _storable(item) for key, item in value.items()}
        case list() | tuple():
            return [_storable(item) for item in value]
        case _:
            return value


def _as_json(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()


def entry_at(file: BinaryIO, offset: int) -> Entry:
    """Read the entry whose line starts at `offset`."""
    file.seek(offset)
    entry = _whole(file.readline())
    if entry is None:
        raise JournalError(f"{file.name}: no whole line at byte {offset}: the journal was changed while it was read")
    return entry


def _whole(line: bytes) -> Entry | None:
    if not line.endswith(b"\n"):
        return None
    try:
        return Entry.model_validate_json(line)
    except ValidationError:
        return None


class Journal:
    """The journal of a run that is being made. One writer at a time, which a lock on the file sees to."""

    def __init__(self, path: Path) -> None:
        """Open or create the journal, and drop a line that a crash cut.

        Raises:
            JournalError: another process writes it, or it cannot be read.
        """
        self.path = path
        self._file = path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise JournalError(f"{path}: another rung is writing this run") from error
        self._drop_torn_line()
        _sync_folder(path.parent)
        self._pending: list[bytes] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._syncing: asyncio.Task[None] | None = None
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")

    def _drop_torn_line(self) -> None:
        end = size = self.path.stat().st_size
        with self.path.open("rb") as file:
            while end:
                start = _line_start(file, end)
                file.seek(start)
                if _whole(file.read(end - start)) is not None:
                    break
                end = start
                if end != size and size - end > _LONGEST_TAIL:
                    raise JournalError(
                        f"{self.path}: its last {size - end:,} bytes are no journal; is it the right file?"
                    )
        if end != size:
            self._file.truncate(end)
        self._end = end

    async def append(self, entry: Entry, *, durable: bool = True) -> int:
        """Write one line and return where it starts.

        Lines of attempts that finish while the disk is busy go to it together.

        Args:
            entry: the line.
            durable: return only when the line is on the disk. Without it the line follows soon; that is for attempts
                that cost nothing to make again.

        Raises:
            JournalError: the line could not be written.
        """
        line = encode(entry)
        offset, self._end = self._end, self._end + len(line)
        self._pending.append(line)
        if durable or len(self._pending) >= _AT_ONCE:
            await self._settled()
        return offset

    async def _settled(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        if self._syncing is None:
            self._syncing = asyncio.create_task(self._sync())
        await waiter

    async def _sync(self) -> None:
        """Bring what is pending to the disk, and what came meanwhile, until nothing is left."""
        loop = asyncio.get_running_loop()
        try:
            while self._pending:
                lines, self._pending = self._pending, []
                waiting, self._waiting = self._waiting, []
                try:
                    await loop.run_in_executor(self._disk, self._write, b"".join(lines))
                except OSError as error:
                    failure = JournalError(f"{self.path}: {error.strerror or error}: the run cannot be kept")
                    _release(waiting + self._waiting, failure)
                    self._waiting = []
                    return
                _release(waiting, None)
        finally:
            self._syncing = None

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())

    async def aclose(self) -> None:
        """Bring the last lines to the disk and let the file go. Idempotent."""
        if self._file.closed:
            return
        if self._pending:
            await self._settled()
        if self._syncing is not None:
            await self._syncing
        self._disk.shutdown()
        self._file.close()


def _line_start(file: BinaryIO, end: int) -> int:
    """Where the last line before `end` starts, its own line feed not counted."""
    step = 65_536
    at = end - 1
    while at > 0:
        low = max(0, at - step)
        file.seek(low)
        found = file.read(at - low).rfind(b"\n")
        if found >= 0:
            return low + found + 1
        at = low
    return 0


def _release(waiting: list[asyncio.Future[None]], failure: JournalError | None) -> None:
    for waiter in waiting:
        if waiter.done():
            continue
        if failure is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(failure)


def _sync_folder(folder: Path) -> None:
    """Make the file's name durable too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
