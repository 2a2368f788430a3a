"""Runs the witness search in a process of its own, which is killed when a query does not let go of it."""

import json
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import Annotated, Self

from pydantic import Field, JsonValue, TypeAdapter

from canon.schema import Schema
from canon.verdict import Difference, RowWitness
from harness.witness.search import Args, Columns, NotFound, find_witness

GRACE = 0.5
"""Seconds beyond the budget after which the process is killed."""
START = 30.0
"""Seconds that the process may take to start."""
ADDRESS_SPACE = 4 * 1024**3
MAX_ANSWER = 16 * 1024**2

_ANSWER: TypeAdapter[RowWitness | NotFound] = TypeAdapter(RowWitness | NotFound)
_SCHEMA: TypeAdapter[Schema | str | None] = TypeAdapter(Schema | str | None)
_DIFFERENCES: TypeAdapter[tuple[Difference, ...]] = TypeAdapter(tuple[Difference, ...])
_Budget = Annotated[int, Field(gt=0)]


class SearchProcess:
    """`find_witness` behind a process boundary: the same question, the same answer, and a hard end.

    One process serves question after question; after a kill the next question starts another. Safe for threads, which
    wait for each other.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(
        self,
        expected: str,
        actual: str,
        *,
        dialect: str,
        schema: Schema | str | None,
        now: datetime | None = None,
        seed: int = 0,
        budget_ms: int = 2000,
        differences: tuple[Difference, ...] = (),
        fixture_rows: Mapping[str, list[dict[str, JsonValue]]] | None = None,
        columns: Columns = "any",
        expected_args: Args = (),
        actual_args: Args = (),
    ) -> RowWitness | NotFound:
        """Ask as `find_witness` is asked; a search that overruns its budget by half a second is killed."""
        question = {
            "expected": expected,
            "actual": actual,
            "dialect": dialect,
            "schema": _SCHEMA.dump_python(schema, mode="json"),
            "now": now.isoformat() if now is not None else None,
            "seed": seed,
            "budget_ms": budget_ms,
            "differences": _DIFFERENCES.dump_python(differences, mode="json"),
            "fixture_rows": fixture_rows,
            "columns": columns,
            "expected_args": expected_args,
            "actual_args": actual_args,
        }
        with self._lock:
            line = self._asked(json.dumps(question).encode("utf-8", "surrogatepass"), budget_ms)
        if line is None:
            return NotFound(reason="budget", detail="a query did not end within the budget and was killed")
        return _ANSWER.validate_json(line)

    def _asked(self, question: bytes, budget_ms: int) -> bytes | None:
        process = self._running()
        assert process.stdin is not None
        deadline = time.monotonic() + budget_ms / 1000 + GRACE
        try:
            process.stdin.write(question + b"\n")
            process.stdin.flush()
            line = self._line(process, deadline)
        except BrokenPipeError:
            line = None
        if line is None:
            self.close()
        return line

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "harness.witness.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            if self._line(self._process, time.monotonic() + START) is None:
                self.close()
                raise OSError("the process of the witness search did not start")
        return self._process

    @staticmethod
    def _line(process: "subprocess.Popen[bytes]", deadline: float) -> bytes | None:
        """The next line that the process writes; `None` when it ends or the deadline passes first."""
        assert process.stdout is not None
        descriptor, text = process.stdout.fileno(), b""
        while not text.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return None
            part = os.read(descriptor, 1 << 16)
            if not part or len(text) > MAX_ANSWER:
                return None
            text += part
        return text

    def close(self) -> None:
        """Kill the process, if it runs. Idempotent."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                # What was still to be written has no reader any more.
                with suppress(BrokenPipeError):
                    stream.close()


def _answer(question: dict[str, JsonValue]) -> RowWitness | NotFound:
    now = question["now"]
    return find_witness(
        str(question["expected"]),
        str(question["actual"]),
        dialect=str(question["dialect"]),
        schema=_SCHEMA.validate_json(json.dumps(question["schema"])),
        now=datetime.fromisoformat(str(now)) if now is not None else None,
        seed=TypeAdapter(int).validate_python(question["seed"]),
        budget_ms=TypeAdapter(_Budget).validate_python(question["budget_ms"]),
        differences=_DIFFERENCES.validate_json(json.dumps(question["differences"])),
        fixture_rows=TypeAdapter(dict[str, list[dict[str, object]]] | None).validate_python(question["fixture_rows"]),
        columns="ordered" if question["columns"] == "ordered" else "any",
        expected_args=_args(question["expected_args"]),
        actual_args=_args(question["actual_args"]),
    )


def _args(value: JsonValue) -> Args:
    if isinstance(value, dict):
        return value
    return tuple(value) if isinstance(value, list) else ()


def serve() -> None:
    """Answer questions, one JSON line each, until the other end is closed."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    out = sys.stdout
    out.write("ready\n")
    out.flush()
    for line in sys.stdin:
        try:
            found = _answer(json.loads(line))
        except MemoryError:
            found = NotFound(reason="budget", detail="a query asked for more memory than it may have")
        out.write(found.model_dump_json() + "\n")
        out.flush()


if __name__ == "__main__":
    serve()
