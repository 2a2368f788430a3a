"""The model endpoint of a run, put together from what the user said, what the config says, and the defaults."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from harness.corpus.vocabulary import ModelBlock, Vocabulary
from harness.endpoint.budget import Budget, Price
from harness.endpoint.client import ModelClient
from harness.endpoint.gate import Gate
from harness.endpoint.settings import EndpointSettings, read_api_key
from harness.endpoint.tape import RecordingClient, ReplayingClient, Tape
from harness.errors import UsageError
from harness.runs.options import RunOptions

Value = TypeVar("Value")
Client = ModelClient | RecordingClient | ReplayingClient
_OPENAI = "https://api.openai.com/v1"


def endpoint_settings(options: RunOptions, vocabulary: Vocabulary | None) -> EndpointSettings:
    """Where to ask and with what: flag before config before default.

    Raises:
        UsageError: no model is named, or the URL or the key cannot be used.
    """
    block = _block(vocabulary)
    base_url = options.base_url or (block.base_url if block is not None else "")
    model = options.model or (block.model if block is not None else "")
    if not model:
        raise UsageError("no model is named: --model NAME, or `model` in the vocabulary config")
    variable = vocabulary.api_key_env if vocabulary is not None else None
    chosen: dict[str, object] = {
        # A temperature of 0 is the default of an evaluation, not of a product: the config's own wins over it.
        "temperature": _first(options.temperature, block.temperature if block else None, 0.0),
        "seed": options.seed,
        "max_tokens": _first(options.max_tokens, block.max_tokens if block else None),
        "timeout": _first(options.timeout, _seconds(block)),
        "retries": _first(options.retries, block.max_retries if block else None),
        # A replay asks nobody and needs no key.
        "api_key": None if options.replay else read_api_key(options.api_key_env, variable),
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    return EndpointSettings.of(base_url or _OPENAI, model, **given)


@asynccontextmanager
async def open_client(options: RunOptions, settings: EndpointSettings) -> AsyncIterator[Client]:
    """The client of a run, behind a tape where the user wants one.

    Raises:
        UsageError: rate, price or tape cannot be used.
    """
    if options.record and options.replay:
        raise UsageError("--record and --replay exclude each other")
    if options.replay:
        with Tape(options.replay, "replay") as tape:
            yield ReplayingClient(settings, tape)
        return
    price = Price.parse(options.price) if options.price else None
    budget = Budget(max_cost=options.max_cost, price=price, deadline=options.deadline)
    client = ModelClient(settings, Gate(options.rpm, options.tpm), budget=budget)
    try:
        if options.record is None:
            yield client
            return
        with Tape(options.record, "record") as tape:
            yield RecordingClient(client, tape, settings.redactor())
    finally:
        await client.aclose()


def _block(vocabulary: Vocabulary | None) -> ModelBlock | None:
    if vocabulary is None:
        return None
    return vocabulary.model if vocabulary.model is not None else next(iter(vocabulary.models), None)


def _seconds(block: ModelBlock | None) -> float | None:
    return float(block.timeout_seconds) if block is not None and block.timeout_seconds else None


def _first(*values: Value | None) -> Value | None:
    return next((value for value in values if value is not None), None)
