"""The process that reads queries: it holds the SQL parser, is locked in like the ones that run them, and runs nothing.

It speaks `frames` with the sandbox. A text that makes the parser overflow its stack or its memory kills this process
alone; the sandbox then starts another and reports the text as too complex.
"""

import gc
import importlib
import os
import signal
import socket
import sys
from datetime import datetime
from typing import Any

from harness.sandbox.frames import ClosedError, receive, send
from harness.sandbox.jail import Jail, Limits
from harness.sandbox.sortkeys import with_sort_keys
from harness.sandbox.validation import Read, Rejected, SqlDialect, Tables, read

_MEMORY = 2048 * 1024 * 1024
_CPU_SECONDS = 24 * 3600


class Parser:
    """Answers requests to read a text."""

    def __init__(self) -> None:
        self._schemas: dict[str, Tables | None] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read one text, or learn the tables of a fixture."""
        if request["op"] == "schema":
            self._schemas[request["id"]] = _tables(request["tables"])
            return {"ok": True}
        tables = self._schemas.get(request["schema"]) if request["schema"] else None
        if request["schema"] and request["schema"] not in self._schemas:
            return {"unknown_schema": True}
        try:
            return self._read(request, tables)
        except Rejected as rejected:
            return {"accepted": False, "code": rejected.code}
        except (RecursionError, MemoryError):
            return {"accepted": False, "code": "too_complex"}

    @staticmethod
    def _read(request: dict[str, Any], tables: Tables | None) -> dict[str, Any]:
        dialect: SqlDialect = request["dialect"]
        text = request["text"]
        source: str = request["source"]
        if source != dialect:
            # First by the rules of its own dialect, so that nothing can hide in the translation.
            read(text, "postgres" if source == "postgres" else dialect, None, max_characters=request["max_characters"])
        if request["now"] is not None:
            text = _pinned(text, source, datetime.fromisoformat(request["now"]))
        if source != dialect:
            text = _translated(text, source, dialect)
        accepted: Read = read(text, dialect, tables, max_characters=request["max_characters"])
        answer: dict[str, Any] = {
            "accepted": True,
            "text": accepted.text,
            "tables": accepted.tables,
            "functions": accepted.functions,
            "deterministic": accepted.deterministic,
        }
        if request["sort_keys"]:
            sorted_read = with_sort_keys(accepted)
            answer |= {
                "text": sorted_read.text,
                "sort_key": sorted_read.positions,
                "hidden": sorted_read.hidden,
            }
        return answer


def _tables(data: dict[str, Any] | None) -> Tables | None:
    if data is None:
        return None
    return Tables(names=data["names"], refused=frozenset(data["refused"]), default_schema=data["default_schema"])


def _pinned(text: str, dialect: str, now: datetime) -> str:
    from canon.errors import ReadError
    from canon.sql.clock import pin_clock

    try:
        return pin_clock(text, dialect=dialect, now=now)
    except ReadError as problem:
        raise Rejected("unparseable") from problem


def _translated(text: str, source: str, dialect: str) -> str:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return sqlglot.transpile(text, read=source, write=dialect)[0]
    except (SqlglotError, ValueError, IndexError) as problem:
        raise Rejected("unparseable") from problem


def _warm_up(parser: Parser) -> None:
    """Load everything that is loaded on first use: inside the walls no file can be opened."""
    importlib.import_module("canon.sql.clock")
    importlib.import_module("encodings.idna")
    dialects: tuple[SqlDialect, ...] = ("sqlite", "duckdb", "postgres")
    request: dict[str, Any] = {"op": "read", "schema": None, "max_characters": 1000, "sort_keys": True}
    for source in dialects:
        for dialect in dialects:
            if source == dialect or (source == "postgres" and dialect == "duckdb"):
                text = (
                    "WITH c AS (SELECT 1 AS a) SELECT a, date('now'), current_date FROM c ORDER BY a, -a LIMIT 1 -- x"
                )
                pinned = {"text": text, "source": source, "dialect": dialect, "now": "2026-01-01T00:00:00+00:00"}
                parser.answer(request | pinned)
        parser.answer(request | {"text": "SELECT FROM WHERE (", "source": source, "dialect": source, "now": None})


def main() -> None:
    """Serve on the socket whose number and user stand on the command line."""
    descriptor, uid = int(sys.argv[1]), sys.argv[2]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    parser = Parser()
    _warm_up(parser)
    jail = Jail(uid=int(uid) if uid != "-" else None, conversation=True)
    with socket.socket(fileno=descriptor) as channel:
        layers = jail.lock(
            Limits(address_space=_MEMORY, cpu_seconds=_CPU_SECONDS), os.getppid(), (descriptor,), follow_parent=False
        )
        gc.freeze()
        send(channel, {"ready": True, "layers": layers})
        while True:
            try:
                request, _ = receive(channel)
                send(channel, parser.answer(request))
            except ClosedError:
                return
