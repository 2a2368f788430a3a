"""A slot: the processes that one case at a time uses, started when first needed and anew when they are gone."""

import contextlib
import importlib
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

from harness.errors import MissingExtraError, SandboxError
from harness.sandbox.policy import Policy
from harness.sandbox.processes import LostError, Process, Zygote

_MUST_STAND = frozenset({"rlimits", "no_new_privs", "seccomp", "closed_files", "not_dumpable", "death_signal"})
_SIGSYS = -31


class Slot:
    """The processes of one case.

    Args:
        uid: the user that they become where this is root.
    """

    def __init__(self, uid: int | None) -> None:
        self._uid = uid
        self._parser: Process | None = None
        self._zygotes: dict[str, Zygote] = {}
        self._workers: dict[str, Process] = {}

    @property
    def processes(self) -> tuple[int, ...]:
        """Ids of the processes that stand."""
        parser = () if self._parser is None else (self._parser.pid,)
        servers = tuple(worker.pid for worker in self._workers.values())
        return parser + tuple(zygote.pid for zygote in self._zygotes.values()) + servers

    def zygote(self, engine: str) -> Zygote:
        """The zygote of an engine."""
        zygote = self._zygotes.get(engine)
        if zygote is not None and zygote.alive:
            return zygote
        if zygote is not None:
            zygote.kill()
        packages = _duckdb_packages() if engine == "duckdb" else []
        self._zygotes[engine] = Zygote(engine, self._uid, packages)
        return self._zygotes[engine]

    def worker(self, key: str, start: Callable[[], Process]) -> Process:
        """The worker that is connected to a server."""
        worker = self._workers.get(key)
        if worker is not None and worker.alive:
            return worker
        if worker is not None:
            worker.kill()
            del self._workers[key]
        self._workers[key] = start()
        return self._workers[key]

    def read(
        self, request: dict[str, Any], seconds: float, schema: tuple[str, dict[str, Any]] | None
    ) -> dict[str, Any]:
        """Have the parser read a text.

        Args:
            request: see `harness.sandbox.parser`.
            seconds: it may take.
            schema: id and tables of the fixture.

        Raises:
            LostError: the parser ended over it, or did not answer in time.
        """
        parser = self._parser
        if parser is None or not parser.alive:
            if parser is not None:
                parser.kill()
            packages = [importlib.import_module(name) for name in ("sqlglot", "pydantic", "pydantic_core")]
            extra = ("annotated_types", "typing_extensions", "typing_inspection")
            packages += [importlib.import_module(name) for name in extra]
            parser = self._parser = Process(
                "harness.sandbox.parser", ["-" if self._uid is None else str(self._uid)], packages
            )
        message = {"op": "read", "schema": None if schema is None else schema[0], **request}
        answer = parser.ask(message, seconds)
        if answer.get("unknown_schema") and schema is not None:
            parser.ask({"op": "schema", "id": schema[0], "tables": schema[1]}, seconds)
            answer = parser.ask(message, seconds)
        return answer

    def prove_walls(self, policy: Policy) -> None:
        """Try every wall once, with children that attack it.

        Raises:
            SandboxError: a wall that must stand does not; nothing may be run.
        """
        zygote = self.zygote("sqlite")
        if not zygote.landlock and not policy.allow_missing_landlock:
            raise SandboxError("this kernel has no Landlock, and the policy demands it")
        probe = {"op": "probe", "kill_after": 5.0, "stage_seconds": 5.0, "address_space": policy.address_space_bytes}
        try:
            report = zygote.run({**probe, "what": "walls"}, None, 65536)
            self._check_walls(report.data)
            fork = zygote.run({**probe, "what": "fork"}, None, 65536)
            if fork.data or fork.ended != _SIGSYS:
                raise SandboxError("a child could start another process: seccomp does not hold; nothing is run")
            hang = zygote.run({**probe, "what": "hang", "kill_after": 0.05}, None, 65536)
        except LostError as problem:
            raise SandboxError(f"the sandbox could not be tried out: {problem}") from problem
        if not hang.killed:
            raise SandboxError("a child that hangs was not killed; nothing is run")

    @staticmethod
    def _check_walls(data: bytes) -> None:
        try:
            facts = json.loads(data)
        except ValueError:
            raise SandboxError("a child could not lock itself in; nothing is run") from None
        if facts["status"] == "jail":
            raise SandboxError(f"a wall could not be put up ({facts['code']}); nothing is run")
        missing = sorted(_MUST_STAND - set(facts["layers"]))
        broken = sorted(name for name, held in facts["facts"].items() if not held)
        if missing or broken:
            raise SandboxError(f"walls that must stand do not: {', '.join(missing + broken)}; nothing is run")

    def drop_worker(self, key: str) -> None:
        """End a worker."""
        worker = self._workers.pop(key, None)
        if worker is not None:
            worker.kill()

    def close(self) -> None:
        """End every process."""
        processes: list[Process | Zygote] = [*self._zygotes.values(), *self._workers.values()]
        if self._parser is not None:
            processes.append(self._parser)
        self._parser, self._zygotes, self._workers = None, {}, {}
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


def _duckdb_packages() -> list[ModuleType]:
    try:
        return [importlib.import_module(name) for name in ("duckdb", "tzdata")]
    except ImportError as problem:
        raise MissingExtraError("duckdb", "duckdb", "a DuckDB fixture") from problem
