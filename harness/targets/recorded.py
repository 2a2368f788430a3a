"""The `recorded` target: answers that exist already, in a CSV or JSONL file, one row for each attempt.

| column or key | meaning |
|---|---|
| `id` | the case; `case_id` is read as well |
| `repeat` | which repeat it answers, from 0; without it the rows of one case count up in the order of the file |
| `sql`, `mongo`, `unsupported`, `error` | as in the contract of the `command` target; `args` and `reason` beside them |
| `answer` | a query in the case's own language, as text |
| `raw` | the model's own words; where none of the above is filled, they are read as the `prompt` target reads a reply |
| `latency_ms`, `usage` | what the answer took, where it is known |

Exactly one of `sql`, `mongo`, `unsupported`, `error`, `answer` is filled, or `raw` alone. Other columns are ignored. An
attempt that no row answers is an ERROR, never left out.
"""

import csv
import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from datetime import datetime
from io import BufferedReader
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.corpus.delimited import MAX_CELL
from harness.corpus.json_text import JsonTextError, parse_json
from harness.endpoint.chat import Completed
from harness.errors import InputError
from harness.targets.contract import ANSWER_KEYS, read_contract
from harness.targets.replies import read_reply
from harness.types.answers import Answer, Call, MongoAnswer, NoQuery, Reply, SqlAnswer, Usage
from harness.types.cases import Case
from harness.types.problems import FileProblem

MAX_PROBLEMS = 1000
_JSON_CELLS = ("args", "usage")
_READ_KEYS = frozenset({*ANSWER_KEYS, "args", "reason", "raw", "usage", "notices"})
_OFFSET_BITS = 48


class RecordedTarget:
    """Answers from a file. The file is indexed when it is opened and read row by row as it is asked.

    Args:
        path: a `.csv` or `.jsonl` file; anything but `.csv` is read as JSONL.
        words_refuse: words without any query are a refusal.

    Raises:
        InputError: with every line that cannot be used.
    """

    name = "recorded"

    def __init__(self, path: Path, *, words_refuse: bool = True) -> None:
        self._words_refuse = words_refuse
        try:
            self._stream: BufferedReader = path.open("rb")
        except OSError as error:
            raise InputError((_problem(path, None, f"cannot be read: {error.strerror}"),)) from error
        self._path = path
        self._csv = path.suffix.lower() == ".csv"
        self._names: tuple[str, ...] = ()
        try:
            self._digest = hashlib.file_digest(self._stream, "sha256").hexdigest()
            self._index = self._build_index()
        except InputError:
            self._stream.close()
            raise
        self.repeats = self._longest_run()

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """The digest of the file."""
        return {"answers": self._digest, **({} if self._words_refuse else {"words_refuse": False})}

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Look the attempt up."""
        document = self._find(case.id, repeat)
        if document is None:
            said = f"{self._path.name} has no answer for case {case.id}, repeat {repeat}"
            return Reply(answer=NoQuery(reason="empty", message=said))
        return _reply(document, case, words_refuse=self._words_refuse)

    async def aclose(self) -> None:
        """Close the file."""
        self._stream.close()

    def _build_index(self) -> list[int]:
        """One number for each row, sorted: the hash of its id above, the offset of its first byte below."""
        entries: list[int] = []
        explicit: array[int] = array("q")
        problems: list[FileProblem] = []
        for line, offset, document in self._rows(0):
            said = document if isinstance(document, str) else _row_problem(document)
            if said is not None:
                problems.append(_problem(self._path, line, said))
                if len(problems) == MAX_PROBLEMS:
                    break
                continue
            assert not isinstance(document, str)
            case_id, repeat = _id_of(document), _repeat_of(document)
            entries.append((hash(case_id) % (1 << 64)) << _OFFSET_BITS | offset)
            if repeat is not None:
                explicit.append(hash((case_id, repeat)))
        if not problems and len(set(explicit)) < len(explicit):
            problems = list(self._repeated())
        if not problems and not entries:
            problems = [_problem(self._path, None, "the file holds no answer")]
        if problems:
            raise InputError(tuple(problems))
        entries.sort()
        return entries

    def _repeated(self) -> Iterator[FileProblem]:
        first: dict[tuple[str, int], int] = {}
        for line, _, document in self._rows(0):
            if isinstance(document, str) or (repeat := _repeat_of(document)) is None:
                continue
            key = (_id_of(document), repeat)
            if key in first:
                yield _problem(
                    self._path, line, f"case {key[0]}, repeat {repeat} is answered already on line {first[key]}"
                )
            first.setdefault(key, line)

    def _longest_run(self) -> int:
        """How many rows the best answered case has."""
        longest = run = 0
        last = None
        for entry in self._index:
            run = run + 1 if entry >> _OFFSET_BITS == last else 1
            last = entry >> _OFFSET_BITS
            longest = max(longest, run)
        return longest

    def _find(self, case_id: str, repeat: int) -> dict[str, Any] | None:
        key = hash(case_id) % (1 << 64)
        counted = 0
        for position in range(bisect_left(self._index, key << _OFFSET_BITS), len(self._index)):
            entry = self._index[position]
            if entry >> _OFFSET_BITS != key:
                return None
            _, _, document = next(self._rows(entry & ((1 << _OFFSET_BITS) - 1)))
            if isinstance(document, str) or _id_of(document) != case_id:
                continue
            given = _repeat_of(document)
            if (counted if given is None else given) == repeat:
                return document
            counted += given is None
        return None

    def _rows(self, offset: int) -> Iterator[tuple[int, int, dict[str, Any] | str]]:
        """Rows from a byte offset on: line (counted from `offset`), offset, and the row or what is wrong with it."""
        self._stream.seek(offset)
        return self._csv_rows(offset) if self._csv else self._json_rows(offset)

    def _json_rows(self, offset: int) -> Iterator[tuple[int, int, dict[str, Any] | str]]:
        for line, data in enumerate(self._stream, start=1):
            start, offset = offset, offset + len(data)
            if data.strip():
                yield line, start, _json_row(data)

    def _csv_rows(self, offset: int) -> Iterator[tuple[int, int, dict[str, Any] | str]]:
        if csv.field_size_limit() < MAX_CELL:
            csv.field_size_limit(MAX_CELL)
        lines = _Lines(self._stream, offset)
        reader = csv.reader(lines, strict=True)
        if offset == 0:
            try:
                self._names = tuple(name.strip() for name in next(reader, []))
            except (csv.Error, UnicodeDecodeError) as error:
                yield 1, 0, f"not CSV in UTF-8: {error}"
                return
            if not {"id", "case_id"} & set(self._names):
                yield 1, 0, "the header has no column `id`"
                return
        while True:
            line, start = reader.line_num + 1, lines.offset
            try:
                cells = next(reader)
            except StopIteration:
                return
            except (csv.Error, UnicodeDecodeError) as error:
                yield line, start, f"not CSV in UTF-8: {error}"
                return
            if any(cell.strip() for cell in cells):
                yield line, start, _csv_row(self._names, cells)


class _Lines:
    """Lines of a file as text; `offset` is where the next one starts."""

    def __init__(self, stream: BufferedReader, offset: int) -> None:
        self._stream = stream
        self.offset = offset

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        data = self._stream.readline()
        if not data:
            raise StopIteration
        text = data.decode("utf-8-sig" if self.offset == 0 else "utf-8")
        self.offset += len(data)
        return text


def _json_row(data: bytes) -> dict[str, Any] | str:
    try:
        document = parse_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start + 1} of the line"
    except JsonTextError as error:
        return error.message
    return document if isinstance(document, dict) else "a line is a JSON object"


def _csv_row(names: tuple[str, ...], cells: list[str]) -> dict[str, Any] | str:
    if len(cells) > len(names):
        return f"{len(cells)} cells, the header has {len(names)}; a cell with a comma in it needs quotes"
    document: dict[str, Any] = {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()}
    for name in _JSON_CELLS:
        if name in document:
            try:
                document[name] = parse_json(document[name])
            except JsonTextError as error:
                return f"{name}: {error.message}"
    return document


def _row_problem(document: dict[str, Any]) -> str | None:
    if not _id_of(document):
        return "`id` is missing"
    repeat = document.get("repeat")
    if repeat is not None and _repeat_of(document) is None:
        return f"`repeat` takes a whole number from 0, not {json.dumps(repeat)}"
    given = [key for key in (*ANSWER_KEYS, "answer") if document.get(key) is not None]
    if len(given) > 1:
        return f"fill one of {', '.join(given)}, not more"
    return None


def _id_of(document: Mapping[str, Any]) -> str:
    value = document.get("id", document.get("case_id"))
    return str(value).strip() if isinstance(value, str | int) else ""


def _repeat_of(document: Mapping[str, Any]) -> int | None:
    value = document.get("repeat")
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if type(value) is int and value >= 0 else None


def _reply(document: dict[str, Any], case: Case, *, words_refuse: bool) -> Reply:
    raw = document.get("raw")
    if any(document.get(key) is not None for key in ANSWER_KEYS):
        read = read_contract(json.dumps({key: document[key] for key in _READ_KEYS if key in document}))
        calls = _calls(document, read.usage)
        text = raw if isinstance(raw, str) else ""
        return Reply(answer=read.answer, raw=text, calls=calls, notices=read.notices)
    calls = _calls(document, Usage())
    if isinstance(query := document.get("answer"), str) and query.strip():
        return Reply(answer=_own_language(query, case), raw=raw if isinstance(raw, str) else "", calls=calls)
    if isinstance(raw, str) and raw.strip():
        said = Completed(content=raw, latency_ms=0.0, tries=1)
        reading = read_reply(said, case.backend, words_refuse=words_refuse)
        return Reply(answer=reading.answer, raw=raw, cut=reading.cut, calls=calls)
    return Reply(answer=NoQuery(reason="empty", message="the recorded row holds no answer"), calls=calls)


def _own_language(query: str, case: Case) -> Answer:
    return MongoAnswer(text=query) if case.backend == "mongo" else SqlAnswer(text=query)


def _calls(document: Mapping[str, Any], usage: Usage) -> tuple[Call, ...]:
    try:
        latency = float(document["latency_ms"])
    except (KeyError, TypeError, ValueError):
        return ()
    return (Call(latency_ms=latency, tries=1, usage=usage),)


def _problem(path: Path, line: int | None, message: str) -> FileProblem:
    return FileProblem(path=path, line=line, column=None, message=message)
