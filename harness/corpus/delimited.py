"""Reads delimited text row by row, with the physical line on which each row starts; nothing is skipped in silence."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

MAX_CELL = 64 * 1024 * 1024
"""Characters in one cell. Past it a quote that was never closed is likelier than a cell of that size."""

Delimiter = Literal[",", ";", "\t"]
DELIMITERS: tuple[Delimiter, ...] = (",", ";", "\t")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Row:
    """One row that is not blank; `line` is the physical line on which it starts, counted from 1."""

    line: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read; `final` = nothing after it was read either."""

    line: int
    message: str
    final: bool


@dataclass(frozen=True, slots=True)
class Header:
    """The first row that is not blank, and how the rows after it are delimited; `next_line` follows it."""

    line: int
    names: tuple[str, ...]
    delimiter: Delimiter
    next_line: int


class DelimitedFile:
    """A delimited file that is read from its beginning as often as wanted, in memory of one row.

    Args:
        path: the file.
        marks: column names by which a header is known; a delimiter other than `,` is used only if the header has
            all of them when split by it.
    """

    def __init__(self, path: Path, marks: tuple[str, ...]) -> None:
        self._path = path
        self._marks = frozenset(marks)

    def whole_file_problem(self) -> str | None:
        """Say why the file cannot be read as text at all, `None` if it can."""
        try:
            with self._path.open("rb") as stream:
                start = stream.read(4)
        except FileNotFoundError:
            return "no such file"
        except IsADirectoryError:
            return "this is a folder, not a file"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        if start.startswith(_UTF16_MARKS):
            return "this is UTF-16; save it as UTF-8 (in Excel: “CSV UTF-8 (Comma delimited)”)"
        if start.startswith(b"PK\x03\x04"):
            return "this is a spreadsheet (.xlsx) or a ZIP archive, not text; save it as CSV UTF-8"
        return None

    def header(self) -> Header | BadRow | None:
        """Read the header; `None` if the file holds no row at all."""
        with self._open() as stream:
            return self._read_header(_Replay(stream))

    def rows(self) -> Iterator[Row | BadRow]:
        """Read the rows after the header; blank rows, which say nothing, are left out."""
        with self._open() as stream:
            lines = _Replay(stream)
            header = self._read_header(lines)
            if isinstance(header, Header):
                yield from _read_rows(lines.rest(), header.delimiter, header.next_line)

    def _open(self) -> TextIO:
        # Bytes that are not UTF-8 come through as lone surrogates, so that the cell they are in can be named.
        return self._path.open("r", encoding="utf-8-sig", errors="surrogateescape", newline="")

    def _read_header(self, lines: "_Replay") -> Header | BadRow | None:
        delimiters = DELIMITERS
        skipped = 0
        for text in lines:
            if skipped == 0 and (hinted := _excel_hint(text)) is not None:
                delimiters = (hinted,)
            elif text.strip(" \t\r\n;,"):
                break
            skipped += 1
        else:
            return None
        lines.start_here(again=1)
        tried = [_split_header(lines, delimiter, skipped + 1) for delimiter in delimiters]
        found = next(
            (header for header in tried if isinstance(header, Header) and self._marks <= set(header.names)), None
        )
        chosen = found if found is not None else tried[0]
        lines.start_here(skip=chosen.next_line - skipped - 1 if isinstance(chosen, Header) else 0)
        return chosen


def _excel_hint(line: str) -> Delimiter | None:
    """The delimiter that Excel's own first line `sep=;` names."""
    return next((mark for mark in DELIMITERS if line.lower().rstrip("\r\n") == f"sep={mark}"), None)


def _split_header(lines: "_Replay", delimiter: Delimiter, line: int) -> Header | BadRow:
    lines.rewind()
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        names = tuple(name.strip() for name in next(reader))
    except csv.Error as error:
        return BadRow(line, _quoting_message(str(error)), final=True)
    return Header(line, names, delimiter, next_line=line + reader.line_num)


class _Replay:
    """The lines of a stream, the first of which can be read again: a header is split in more than one way."""

    def __init__(self, stream: TextIO) -> None:
        self._kept: list[str] = []
        self._stream = stream
        self._next = 0

    def start_here(self, *, again: int = 0, skip: int = 0) -> None:
        """Forget the lines read so far but the last `again`, or all kept lines up to `skip` of them."""
        del self._kept[: skip or self._next - again]
        self._next = 0

    def rewind(self) -> None:
        """Read the kept lines again."""
        self._next = 0

    def rest(self) -> Iterator[str]:
        """Kept lines, then the stream itself."""
        yield from self._kept
        self._kept.clear()
        yield from self._stream

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._next == len(self._kept):
            self._kept.append(next(self._stream))
        self._next += 1
        return self._kept[self._next - 1]


def _read_rows(lines: Iterator[str], delimiter: Delimiter, first_line: int) -> Iterator[Row | BadRow]:
    """Read rows from lines, the first of which is physical line `first_line`."""
    if csv.field_size_limit() < MAX_CELL:
        csv.field_size_limit(MAX_CELL)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # One line quoted wrongly leaves the reader at the next; a row over several lines leaves it anywhere.
            final = reader.line_num - start > 1 or "end of data" in str(error)
            yield BadRow(first_line + start, _quoting_message(str(error)), final)
            if final:
                return
            continue
        if any(cell.strip() for cell in cells):
            yield Row(first_line + start, cells)


def _quoting_message(error: str) -> str:
    if "end of data" in error:
        return "a quote that opens in this row is never closed, so that the rest of the file is one cell; close it"
    if "field larger" in error:
        return f"a cell of this row is larger than {MAX_CELL:,} characters; a quote in it may never be closed"
    if "expected after" in error:
        return 'text follows a closing quote; write a quote inside a quoted cell twice ("")'
    return f"this row is not delimited text: {error}"
