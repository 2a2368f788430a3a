"""Writes a file so that a reader sees the old one or the new one, never half of either."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from harness.errors import UsageError


@contextmanager
def replacing(path: Path, *, newline: str = "\n") -> Iterator[TextIO]:
    """Open a text file beside `path` that takes its place when the block ends well, and vanishes when it does not.

    Args:
        path: the file to write; its folder is made where it is missing.
        newline: how lines end.

    Raises:
        UsageError: the file cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline=newline) as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
