"""Calls the QueryForge engine through its own SDK: one short process for each call, on threads of its own.

Measured on engine 1.2.7: a call that asks no model takes 3 to 5 ms, most of it the start of the process. A pool of
processes would have nothing to keep, for the engine answers one request and ends.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import queryforge
from pydantic import JsonValue
from queryforge import QueryForge, Result

from harness.corpus.vocabulary import Vocabulary
from harness.errors import TargetError
from harness.targets.ast_dates import depends_on_clock, resolve_dates
from harness.types.answers import Answer, MongoAnswer, SqlAnswer

ENGINE_BACKENDS: Mapping[str, str] = MappingProxyType({"postgres": "sql", "mysql": "mysql", "mongo": "mongo"})
"""The backends of rung that the engine compiles for, and what it calls them."""

_HOURS_S = 24 * 3600
_KEPT_MODEL_KEYS = ("temperature", "maxTokens", "jsonMode")
_Value = TypeVar("_Value")


class EngineThreads:
    """Threads on which the engine is called; the SDK waits for its process, and the event loop must not.

    Args:
        size: how many calls may be under way at once.
    """

    def __init__(self, size: int = 64) -> None:
        self._executor = ThreadPoolExecutor(max_workers=size, thread_name_prefix="queryforge")

    async def run(self, call: Callable[[], _Value]) -> _Value:
        """Run a call on a thread and wait for it without holding up the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        """Let the threads end once their calls have. Idempotent."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def engine_version() -> str:
    """The version of the engine.

    Raises:
        TargetError: it is not installed, or does not run.
    """
    try:
        return str(queryforge.engine_version().get("version", "unknown"))
    except queryforge.QueryForgeError as error:
        raise TargetError(f"the QueryForge engine does not run: {error.message}") from error


def engine_problem(vocabulary: Vocabulary) -> str | None:
    """Why the engine refuses a config, in its own words; `None` if it takes it."""
    probe = {"version": "1.0", "entity": vocabulary.entity}
    try:
        QueryForge(_config(vocabulary, None), "sql").validate(probe)
    except queryforge.InvalidConfigError as error:
        return error.message.removeprefix("config: ")
    except queryforge.QueryForgeError:
        return None  # the probe may break a policy; the config itself was taken
    return None


def compile_ast(
    vocabulary: Vocabulary, backend: str, ast: Mapping[str, Any], *, scope: Mapping[str, Any] | None = None
) -> Result:
    """Compile an AST, dates as the engine's own clock has them; no model is asked.

    Raises:
        queryforge.QueryForgeError: as the SDK does.
    """
    return QueryForge(_config(vocabulary, None), ENGINE_BACKENDS[backend]).generate(ast, scope=scope)


def translate(
    vocabulary: Vocabulary,
    backend: str,
    sentence: str,
    *,
    base_url: str,
    model: str,
    scope: Mapping[str, Any] | None,
    max_repairs: int,
) -> Result:
    """Have the engine ask the model and compile its answer, dates as the engine's own clock has them.

    Raises:
        queryforge.QueryForgeError: as the SDK does.
    """
    block: dict[str, Any] = {"provider": "rung", "protocol": "openai", "baseURL": base_url, "model": model}
    # Retries, timeouts and pacing are the gateway's: the engine asks once and waits.
    block |= {"maxRetries": 0, "timeoutSeconds": _HOURS_S}
    forge = QueryForge(_config(vocabulary, block), ENGINE_BACKENDS[backend], timeout=_HOURS_S, max_repairs=max_repairs)
    pending = forge.query(sentence).include_raw()
    return (pending.scope(scope) if scope else pending).result()


def pin_dates(
    vocabulary: Vocabulary, backend: str, result: Result, *, now: datetime, scope: Mapping[str, Any] | None
) -> Answer:
    """The query of a result, with its dates as a pinned clock has them.

    Raises:
        DateRangeError: a date lies outside the years 1 to 9999.
        queryforge.QueryForgeError: as the SDK does.
    """
    if result.ast is None or not depends_on_clock(result.ast):
        return _answer(backend, result.sql, result.args, result.doc)
    zone = config_zone(vocabulary)
    while True:
        began = datetime.now(UTC)
        resolved = resolve_dates(result.ast, now=now, zone=zone, engine_now=began)
        compiled = compile_ast(vocabulary, backend, resolved.ast, scope=scope)
        if began.astimezone(zone).year == datetime.now(UTC).astimezone(zone).year:  # else the markers have moved
            return _answer(backend, compiled.sql, resolved.complete(compiled.args), resolved.complete(compiled.doc))


def default_projection(vocabulary: Vocabulary, backend: str) -> str:
    """The projection that the engine compiles an empty query to, as SQL text (`*`, or columns).

    Raises:
        TargetError: the engine does not compile one.
    """
    try:
        sql = compile_ast(vocabulary, backend, {"version": "1.0", "entity": vocabulary.entity}).sql
    except queryforge.QueryForgeError as error:
        said = f"{vocabulary.path}: the QueryForge engine compiles no empty query, so `<default>` has no meaning"
        raise TargetError(f"{said}: {error.message}") from error
    head, found, _ = sql.partition(" FROM ")
    if not found or not head.startswith("SELECT "):
        raise TargetError(f"{vocabulary.path}: cannot read the projection of `{sql}`")
    return head.removeprefix("SELECT ")


def _answer(backend: str, sql: str, args: Any, doc: Any) -> Answer:
    if backend == "mongo":
        return MongoAnswer(text=json.dumps(doc, ensure_ascii=False, separators=(",", ":")))
    bound: tuple[JsonValue, ...] = tuple(args)
    return SqlAnswer(text=sql, args=bound)


def config_zone(vocabulary: Vocabulary) -> ZoneInfo:
    """The time zone in which the engine begins days, weeks, months and years.

    Raises:
        TargetError: there is no such time zone.
    """
    try:
        return ZoneInfo(vocabulary.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise TargetError(f"{vocabulary.path}: timezone: no time zone is called {vocabulary.timezone!r}") from error


def _config(vocabulary: Vocabulary, model: dict[str, Any] | None) -> dict[str, Any]:
    """The config as written but for its endpoints: the engine is to speak to the gateway alone, and to hold no key."""
    config = {key: value for key, value in vocabulary.source.items() if key not in ("model", "models")}
    if model is None:
        return config
    written = vocabulary.source.get("model")
    kept = {key: written[key] for key in _KEPT_MODEL_KEYS if key in written} if isinstance(written, dict) else {}
    return config | {"model": kept | model}
