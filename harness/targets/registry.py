"""The targets by name. To add one: a file with the class, a factory here, and its line in `TARGETS`.

Factories import what they need when they are called, so that naming the targets costs nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

from harness import plugins
from harness.errors import UsageError
from harness.targets.target import Target

if TYPE_CHECKING:
    from harness.endpoint.chat import Chatter
    from harness.endpoint.gateway import Gateway


@dataclass(frozen=True)
class TargetSettings:
    """What a factory may draw on; each target says what it lacks.

    Attributes:
        model: the model's name.
        chatter: completes conversations.
        gateway: takes the model calls of engines and programs; it serves already.
        endpoint_facts: what of the endpoint determines answers.
        answers: a file of recorded answers.
        command: a program and its arguments.
        function: `module:function`.
        url: a service's URL.
        timeout_s: how long one answer of a program, function or service may take, in seconds.
        max_repairs: how often QueryForge may ask the model again.
        parallel: attempts under way at once.
        words_refuse: words without any query are a refusal.
    """

    model: str | None = None
    chatter: "Chatter | None" = None
    gateway: "Gateway | None" = None
    endpoint_facts: Mapping[str, JsonValue] = field(default_factory=dict)
    answers: Path | None = None
    command: tuple[str, ...] = ()
    function: str | None = None
    url: str | None = None
    timeout_s: float = 120.0
    max_repairs: int = 2
    parallel: int = 64
    words_refuse: bool = True


@dataclass(frozen=True)
class TargetEntry:
    """A target by name.

    Attributes:
        build: makes it; raises `UsageError` where a setting that it needs is missing.
        needs: what of the endpoint it cannot do without.
        summary: one line for `--help`.
    """

    build: Callable[[TargetSettings], Target]
    needs: Literal["gateway", "chatter", "nothing"]
    summary: str


def _queryforge(settings: TargetSettings) -> Target:
    from harness.targets.queryforge import QueryForgeTarget

    if settings.gateway is None or settings.model is None:
        raise UsageError("--target queryforge asks a model: name it with --model")
    return QueryForgeTarget(
        settings.gateway,
        model=settings.model,
        endpoint_facts=settings.endpoint_facts,
        max_repairs=settings.max_repairs,
        parallel=settings.parallel,
    )


def _prompt(settings: TargetSettings) -> Target:
    from harness.targets.prompt import PromptTarget

    if settings.chatter is None:
        raise UsageError("--target prompt asks a model: name it with --model")
    return PromptTarget(settings.chatter, endpoint_facts=settings.endpoint_facts, words_refuse=settings.words_refuse)


def _recorded(settings: TargetSettings) -> Target:
    from harness.targets.recorded import RecordedTarget

    if settings.answers is None:
        raise UsageError("--target recorded reads answers from a file: name it with --answers FILE")
    return RecordedTarget(settings.answers, words_refuse=settings.words_refuse)


def _command(settings: TargetSettings) -> Target:
    from harness.targets.command import CommandTarget

    if not settings.command:
        raise UsageError("--target command runs a program: name it with --command 'PROGRAM ARGUMENTS'")
    return CommandTarget(settings.command, timeout_s=settings.timeout_s, gateway=settings.gateway)


def _http(settings: TargetSettings) -> Target:
    from harness.targets.http import HttpTarget

    if settings.url is None:
        raise UsageError("--target http asks a service: name it with --url http://127.0.0.1:8000/query")
    return HttpTarget(settings.url, timeout_s=settings.timeout_s, gateway=settings.gateway)


def _python(settings: TargetSettings) -> Target:
    from harness.targets.python_callable import PythonTarget, load_callable

    if settings.function is None:
        raise UsageError("--target python calls a function: name it with --function module:function")
    return PythonTarget(load_callable(settings.function), label=settings.function, timeout_s=settings.timeout_s)


TARGETS: Mapping[str, TargetEntry] = MappingProxyType(
    {
        "queryforge": TargetEntry(_queryforge, "gateway", "the QueryForge engine (needs a vocabulary config)"),
        "prompt": TargetEntry(_prompt, "chatter", "the model writes the query itself, from a config or DDL"),
        "recorded": TargetEntry(_recorded, "nothing", "answers from a CSV or JSONL file"),
        "command": TargetEntry(_command, "nothing", "a program: JSON on stdin, JSON on stdout"),
        "http": TargetEntry(_http, "nothing", "a service: JSON in a POST, JSON in its answer"),
        "python": TargetEntry(_python, "nothing", "a Python function, module:function"),
    }
)


def target_entry(name: str) -> TargetEntry:
    """Look a target up.

    Raises:
        UsageError: there is none of that name.
    """
    if name in TARGETS:
        return TARGETS[name]
    build = plugins.load(plugins.TARGETS, name)
    if build is not None:
        return TargetEntry(build, "nothing", f"a target of another package, {name}")
    known = (*TARGETS, *plugins.names(plugins.TARGETS))
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
    raise UsageError(f"no target is called {name}{hint}")


def create_target(name: str, settings: TargetSettings) -> Target:
    """Make a target.

    Raises:
        UsageError: there is none of that name, or it lacks a setting.
        TargetError: its surroundings are broken (program not found, engine missing).
        InputError: its file cannot be used.
    """
    return target_entry(name).build(settings)


def default_target(
    config: Path | None,
    *,
    answers: Path | None = None,
    command: tuple[str, ...] = (),
    function: str | None = None,
    url: str | None = None,
) -> str:
    """The target that is meant where none is named: what the other options point to, else what the config is for."""
    from harness.corpus.configs import DDL_SUFFIXES

    pointed = {"recorded": answers, "command": command, "python": function, "http": url}
    for name, option in pointed.items():
        if option:
            return name
    return "prompt" if config is None or config.suffix.lower() in DDL_SUFFIXES else "queryforge"
