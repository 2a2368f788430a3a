"""The `python` target: a function of the user's own, sync or async, given as `module:function`.

The function takes the request of the `command` target's contract as one dict and returns its answer as a dict; a string
is taken as a query in the case's own language.
"""

import asyncio
import hashlib
import importlib
import inspect
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Any, cast

from pydantic import JsonValue

from harness.errors import TargetError
from harness.targets.contract import read_contract, request_document
from harness.types.answers import Call, MongoAnswer, NoQuery, Reply, SqlAnswer
from harness.types.cases import Case

Answering = Callable[[dict[str, JsonValue]], object | Awaitable[object]]


def load_callable(name: str) -> Answering:
    """Import `module:function`; the working directory is searched as well, as with `python -m`.

    Raises:
        TargetError: there is no such module or function.
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise TargetError(f"`{name}` is no Python function; write it as module:function")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for step in path.split("."):
            found = getattr(found, step)
    except AttributeError:
        near = get_close_matches(path, dir(importlib.import_module(module_name)), n=1)
        hint = f"; did you mean {module_name}:{near[0]}?" if near else ""
        raise TargetError(f"the module {module_name} has no `{path}`{hint}") from None
    except Exception as error:  # an import runs the user's own code, which may raise anything
        raise TargetError(f"cannot import {module_name}: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise TargetError(f"{name} is a {type(found).__name__}, no function")
    return cast("Answering", found)


class PythonTarget:
    """Asks a function. A sync function runs in a thread, so that it does not hold up the others.

    Args:
        function: takes the request as a dict, returns the answer.
        label: what reports and the key of an attempt call it.
        timeout_s: how long one answer may take, in seconds.
    """

    name = "python"

    def __init__(self, function: Answering, *, label: str, timeout_s: float = 120.0) -> None:
        self._function = function
        self._label = label
        self._timeout_s = timeout_s
        self._source = _digest_of(function)

    def facts(self, case: Case) -> Mapping[str, JsonValue]:
        """The function's name and a digest of its source, so that a changed function is asked again."""
        return {"function": self._label, "source": self._source}

    async def answer(self, case: Case, *, now: datetime, repeat: int) -> Reply:
        """Call the function once."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout_s):
                value = await self._call(request_document(case, now=now, repeat=repeat))
        except TimeoutError:
            said = f"{self._label} did not answer within {self._timeout_s:g} s"
            return Reply(answer=NoQuery(reason="target_crashed", message=said))
        except Exception as error:  # the user's own code may raise anything
            said = f"{self._label} raised {type(error).__name__}: {error}"
            return Reply(answer=NoQuery(reason="target_crashed", message=said[:2000]))
        return _reply(value, case, (time.monotonic() - started) * 1000)

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _call(self, request: dict[str, JsonValue]) -> object:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(request)
        value = await asyncio.to_thread(self._function, request)
        return await value if inspect.isawaitable(value) else value


def _digest_of(function: Answering) -> str | None:
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()
    except (OSError, TypeError):  # Python cannot show the source of everything that can be called
        return None


def _reply(value: object, case: Case, latency_ms: float) -> Reply:
    if isinstance(value, str):
        answer = MongoAnswer(text=value) if case.backend == "mongo" else SqlAnswer(text=value)
        return Reply(answer=answer, raw=value, calls=(Call(latency_ms=latency_ms, tries=1),))
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        said = f"the function's answer is no JSON: {error}"
        return Reply(answer=NoQuery(reason="unparseable", message=said))
    read = read_contract(text)
    call = Call(latency_ms=latency_ms, tries=1, usage=read.usage)
    return Reply(answer=read.answer, raw=read.raw, calls=(call,), notices=read.notices)
