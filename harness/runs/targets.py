"""The target of a run, opened with what it needs: an endpoint, the gateway in front of it, a program, a file."""

import dataclasses
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from harness.corpus.golden_csv import Corpus
from harness.corpus.vocabulary import Vocabulary
from harness.endpoint.gateway import Gateway
from harness.runs.earlier import EARLIER, open_earlier
from harness.runs.endpoint import endpoint_settings, open_client
from harness.runs.options import RunOptions
from harness.targets.registry import TargetSettings, create_target, default_target, target_entry
from harness.targets.target import Target

_FREE = frozenset({"recorded", EARLIER})


class Opened(NamedTuple):
    """A target that can be asked.

    Attributes:
        target: the target.
        model: the model behind it, where there is one that rung knows of.
        paid: whether an attempt costs something.
    """

    target: Target
    model: str | None = None
    paid: bool = True


def vocabulary_of(corpus: Corpus) -> Vocabulary | None:
    """The vocabulary whose model block counts for the run: the first that has one, else the first."""
    vocabularies = [config for config in corpus.configs.values() if isinstance(config, Vocabulary)]
    with_model = (each for each in vocabularies if each.model is not None or each.models)
    return next(with_model, next(iter(vocabularies), None))


def target_name(options: RunOptions, corpus: Corpus) -> str:
    """The target that the user named, or that the other options and the corpus suggest."""
    if options.target:
        return options.target
    if options.function:
        return "python"
    if options.url:
        return "http"
    config = options.config or next(iter(corpus.configs), None)
    return default_target(config, answers=options.answers, command=_argv(options), url=options.url)


@asynccontextmanager
async def open_target(options: RunOptions, corpus: Corpus) -> AsyncIterator[Opened]:
    """Open the target of a run and what it stands on, and close them in the end.

    Raises:
        UsageError: the target is unknown, or lacks what it needs.
        TargetError: it cannot be started.
    """
    name = target_name(options, corpus)
    async with AsyncExitStack() as stack:
        if name == EARLIER and options.answers is not None:
            opened = Opened(open_earlier(options.answers), paid=False)
        else:
            settings = await _settings(name, options, corpus, stack)
            paid = name not in _FREE and options.replay is None
            opened = Opened(create_target(name, settings), settings.model, paid)
        stack.push_async_callback(opened.target.aclose)
        yield opened


async def _settings(name: str, options: RunOptions, corpus: Corpus, stack: AsyncExitStack) -> TargetSettings:
    """What the target may draw on; an endpoint only where it asks a model, or the user names one for their program."""
    settings = TargetSettings(
        answers=options.answers,
        command=_argv(options),
        function=options.function,
        url=options.url,
        timeout_s=options.timeout or TargetSettings.timeout_s,
        max_repairs=TargetSettings.max_repairs if options.max_repairs is None else options.max_repairs,
        parallel=options.parallel,
        words_refuse=options.words_refuse,
    )
    needs = target_entry(name).needs
    if needs == "nothing" and (name in _FREE or options.base_url is None):
        return settings
    endpoint = endpoint_settings(options, vocabulary_of(corpus))
    client = await stack.enter_async_context(open_client(options, endpoint))
    gateway = None if needs == "chatter" else await stack.enter_async_context(Gateway(client))
    return dataclasses.replace(
        settings, model=endpoint.model, chatter=client, gateway=gateway, endpoint_facts=endpoint.facts()
    )


def _argv(options: RunOptions) -> tuple[str, ...]:
    return tuple(shlex.split(options.command)) if options.command else ()
