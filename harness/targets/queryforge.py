"""The `queryforge` target: the real QueryForge engine, whose model calls go through rung's gateway.

The engine writes the prompt, reads the model's reply, asks for repairs and compiles the query. Rung gives it a
sentence, a scope and a base URL on loopback; pinning, pacing, retries and recording happen behind that URL. Dates that
the model gave relative to now are resolved at the pinned clock (`harness.targets.ast_dates`).
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import queryforge
from pydantic import JsonValue

from harness.corpus.configs import DdlConfig, load_config
from harness.corpus.vocabulary import Vocabulary
from harness.endpoint.gateway import Gateway, Ledger
from harness.errors import TargetError
from harness.targets.ast_dates import DateRangeError
from harness.targets.engine import ENGINE_BACKENDS, EngineThreads, config_zone, engine_version, pin_dates, translate
from harness.types.answers import Answer, NoQuery, Refusal, Reply
from harness.types.cases import Case

_BROKEN = (queryforge.InvalidConfigError, queryforge.BinaryNotFoundError, queryforge.InvalidRequestError)


STOPPING_S = 10.0
"""How long an attempt whose engine was interrupted waits to be cancelled, in seconds."""

_INTERRUPTED = re.compile(r"exited with code -(2|15)\b")


class _EngineInterruptedError(Exception):
    """The engine was ended by SIGINT or SIGTERM.

    A terminal sends Ctrl-C to every process of the foreground group: the run was told as well and will cancel what is
    in flight. Such an attempt has no answer, not a wrong one, so that it waits for that.
    """


class QueryForgeTarget:
    """Asks the engine.

    Args:
        gateway: where the engine's model calls go; it serves already, and is closed by its owner.
        model: the model's name, as the engine writes it into its requests.
        endpoint_facts: what of the endpoint determines answers.
        max_repairs: how often the engine may show the model what is wrong with its reply.
        parallel: how many cases may be under way at once.

    Raises:
        TargetError: the engine is not installed, or does not run.
    """

    name = "queryforge"

    def __init__(
        self,
        gateway: Gateway,
        *,
        model: str,
        endpoint_facts: Mapping[str, JsonValue] | None = None,
        max_repairs: int = 2,
        parallel: int = 64,
    ) -> None:
        self._gateway = gateway
        self._model = model
        self._endpoint_facts = dict(endpoint_facts or {})
        self._max_repairs = max_repairs
        self._threads = EngineThreads(parallel)
        self._configs: dict[Path, Vocabulary] = {}
        self._digests: dict[Path, str] = {}
        self.engine_version = engine_version()

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """Engine, endpoint, model, and a digest of the config without its endpoints and keys."""
        vocabulary = self._vocabulary(case)
        path = vocabulary.path
        if path not in self._digests:
            asked = {key: value for key, value in vocabulary.source.items() if key not in ("model", "models")}
            self._digests[path] = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        return {
            "engine": self.engine_version,
            "model": self._model,
            "endpoint": self._endpoint_facts,
            "max_repairs": self._max_repairs,
            "config": self._digests[path],
        }

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Have the engine translate the sentence once, repairs included."""
        vocabulary = self._vocabulary(case)
        if case.backend not in ENGINE_BACKENDS:
            said = f"QueryForge compiles for {', '.join(ENGINE_BACKENDS)}, not for {case.backend}"
            return Reply(answer=NoQuery(reason="target_crashed", message=said))
        # The prompt's "today" line is in the config's time zone: the gateway is given what the clock on the wall shows.
        wall = now.astimezone(config_zone(vocabulary)).replace(tzinfo=UTC)
        with self._gateway.case(case.id, repeat, wall) as ledger:
            try:
                answer = await self._threads.run(lambda: self._ask(vocabulary, case, now, ledger))
            except _EngineInterruptedError as interrupted:
                await asyncio.sleep(STOPPING_S)
                answer = NoQuery(reason="target_crashed", message=str(interrupted))
        if (failure := ledger.last_failure) is not None and not isinstance(answer, Refusal):
            answer = NoQuery(reason=failure.reason, message=failure.message)
        raw = ledger.raw_replies[-1] if ledger.raw_replies else ""
        return Reply(answer=answer, raw=raw, calls=tuple(ledger.calls), notices=tuple(ledger.notices))

    async def aclose(self) -> None:
        """Let the threads end."""
        self._threads.close()

    def _vocabulary(self, case: Case) -> Vocabulary:
        if case.config is None:
            raise TargetError(f"case {case.id} names no vocabulary config, which QueryForge needs: --config FILE")
        if case.config not in self._configs:
            loaded = load_config(case.config)
            if isinstance(loaded, DdlConfig):
                raise TargetError(f"{case.config} is a schema (DDL); QueryForge needs a vocabulary config in JSON")
            self._configs[case.config] = loaded
        return self._configs[case.config]

    def _ask(self, vocabulary: Vocabulary, case: Case, now: datetime, ledger: Ledger) -> Answer:
        """Translate and pin; runs on a thread of its own."""
        try:
            result = translate(
                vocabulary,
                case.backend,
                case.nl,
                base_url=ledger.base_url,
                model=self._model,
                scope=case.scope,
                max_repairs=self._max_repairs,
            )
            return pin_dates(vocabulary, case.backend, result, now=now, scope=case.scope)
        except DateRangeError as error:
            return NoQuery(reason="unparseable", message=str(error))
        except (queryforge.UnsupportedRequestError, queryforge.PolicyViolationError) as error:
            return Refusal(message=error.message)
        except _BROKEN as error:
            raise TargetError(f"QueryForge refuses {vocabulary.path}: {error.message}") from error
        except queryforge.QueryForgeError as error:
            if isinstance(error, queryforge.ProtocolError) and _INTERRUPTED.search(error.message):
                raise _EngineInterruptedError(error.message) from error
            return _no_query(error)


def _no_query(error: queryforge.QueryForgeError) -> NoQuery:
    """Why the engine gave no query. What the wire did wrong is told by the gateway's account, which goes first."""
    match error:
        case queryforge.ModelTransportError() | queryforge.TimeoutError():
            return NoQuery(reason="transport", message=error.message)
        case queryforge.ValidationError() | queryforge.ModelOutputError() | queryforge.GenerateError():
            return NoQuery(reason="unparseable", message=error.message)
        case _:  # a scope the config does not take, an engine that crashed
            return NoQuery(reason="target_crashed", message=str(error))
