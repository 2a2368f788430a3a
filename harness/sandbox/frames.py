"""Messages between the processes of the sandbox: a length, then JSON, over a Unix socket that can carry open files."""

import array
import json
import socket
import struct
from typing import Any

_HEADER = struct.Struct("!I")
MAX_FRAME = 64 * 1024 * 1024


class ClosedError(Exception):
    """The other side is gone, or what it sent is no message."""


def send(channel: socket.socket, message: dict[str, Any], files: tuple[int, ...] = ()) -> None:
    """Send one message, with copies of open files.

    Raises:
        ClosedError: the other side is gone.
    """
    body = json.dumps(message, separators=(",", ":")).encode()
    data = _HEADER.pack(len(body)) + body
    try:
        sent = 0
        if files:
            # The files travel with the first bytes.
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))
            sent = channel.sendmsg([data], [rights])
        channel.sendall(data[sent:])
    except TimeoutError:
        raise
    except OSError as problem:
        raise ClosedError(str(problem)) from problem


def receive(channel: socket.socket, max_files: int = 0) -> tuple[dict[str, Any], list[int]]:
    """Receive one message and the files that came with it.

    Raises:
        ClosedError: the other side is gone, or sent something else.
        TimeoutError: the channel has a timeout, and it passed.
    """
    files: list[int] = []
    data = b""
    while len(data) < _HEADER.size:
        data += _read(channel, _HEADER.size - len(data), files, max_files)
    (length,) = _HEADER.unpack(data)
    if length > MAX_FRAME:
        raise ClosedError("the message is too long")
    body = bytearray()
    while len(body) < length:
        body += _read(channel, length - len(body), files, max_files)
    try:
        message = json.loads(bytes(body))
    except ValueError as problem:
        raise ClosedError("the message is no JSON") from problem
    if not isinstance(message, dict):
        raise ClosedError("the message is no object")
    return message, files


def _read(channel: socket.socket, size: int, files: list[int], max_files: int) -> bytes:
    size = min(size, 1 << 20)
    try:
        if max_files:
            data, descriptors, _, _ = socket.recv_fds(channel, size, max_files)
            files.extend(descriptors)
        else:
            data = channel.recv(size)
    except TimeoutError:
        raise
    except OSError as problem:
        raise ClosedError(str(problem)) from problem
    if not data:
        raise ClosedError("the other side closed the channel")
    return data
