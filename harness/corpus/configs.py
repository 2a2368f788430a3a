"""Loads what a case's `config` names: a QueryForge vocabulary (JSON) or a schema (DDL)."""

import hashlib
from pathlib import Path
from typing import Literal

from harness.corpus.vocabulary import Vocabulary, read_vocabulary
from harness.errors import VocabularyError
from harness.types.frozen import Frozen
from harness.types.problems import FileProblem

DDL_SUFFIXES = frozenset({".sql", ".ddl"})


class DdlConfig(Frozen):
    """A schema as DDL text.

    Attributes:
        path: where it came from.
        text: the statements, in the dialect of the case.
        digest: sha256 of the file's bytes, hex.
    """

    kind: Literal["ddl"] = "ddl"
    path: Path
    text: str
    digest: str


Config = Vocabulary | DdlConfig


def load_config(path: Path) -> Config:
    """Load a config: DDL by the suffix `.sql` or `.ddl`, else a vocabulary.

    Raises:
        VocabularyError: it cannot be read or used; carries every problem found in it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        said = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise VocabularyError((FileProblem(path=path, line=None, column=None, message=said),)) from error
    if path.suffix.lower() in DDL_SUFFIXES:
        return DdlConfig(path=path, text=_utf8(path, data), digest=hashlib.sha256(data).hexdigest())
    return read_vocabulary(_utf8(path, data), path=path)


def _utf8(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        said = f"byte 0x{data[error.start]:02X} is not UTF-8; save the file as UTF-8"
        raise VocabularyError((FileProblem(path=path, line=line, column=None, message=said),)) from error
