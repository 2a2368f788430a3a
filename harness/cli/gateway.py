"""`rung gateway`: an OpenAI-compatible server on loopback that pins, paces, retries and records for any application."""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import flags

if TYPE_CHECKING:
    from harness.endpoint.exchange import Exchanger
    from harness.endpoint.pins import ClockPins

Upstream = Annotated[str | None, typer.Option(help="The endpoint to ask, as far as /v1.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1 (default: a free one).")]
Pin = Annotated[list[str] | None, typer.Option(help="Regular expression whose group `date` is pinned; repeatable.")]
Scripted = Annotated[bool, typer.Option("--scripted", help="Serve a scripted endpoint: habits of real ones by name.")]
Replies = Annotated[Path | None, typer.Option(help="With --scripted: a file of scripted replies.")]
LogLevel = Annotated[str, typer.Option(help="debug, info, warning or error, on stderr.")]
PinnedNow = Annotated[
    str | None, typer.Option(help="Instant that prompts are pinned to, ISO 8601 (default: not pinned).")
]


def gateway(
    *,
    upstream: Upstream = None,
    model: flags.Model = None,
    now: PinnedNow = None,
    pin: Pin = None,
    port: Port = 0,
    api_key_env: flags.ApiKeyEnv = None,
    api_key: flags.ApiKey = None,
    timeout: flags.Timeout = None,
    retries: flags.Retries = None,
    rpm: flags.Rpm = None,
    tpm: flags.Tpm = None,
    price: flags.Price = None,
    max_cost: flags.MaxCost = None,
    deadline: flags.Deadline = None,
    record: flags.Record = None,
    replay: flags.Replay = None,
    scripted: Scripted = False,
    replies: Replies = None,
    log_level: LogLevel = "warning",
) -> None:
    """Serve an OpenAI-compatible endpoint on loopback, until Ctrl-C.

    The base URL is printed on stdout. `/case/ID/v1` in place of `/v1` ties calls to a case.
    """
    from harness.endpoint.budget import Budget, Price
    from harness.endpoint.client import ModelClient
    from harness.endpoint.gate import Gate
    from harness.endpoint.logs import configure_logging
    from harness.endpoint.pins import DEFAULT_PATTERNS, ClockPins
    from harness.endpoint.redaction import Redactor
    from harness.endpoint.settings import EndpointSettings, read_api_key, refuse_key_argument
    from harness.endpoint.tape import RecordingClient, ReplayingClient, Tape
    from harness.errors import UsageError
    from harness.runs.options import read_instant

    refuse_key_argument(api_key)
    if scripted or replies is not None:
        configure_logging(log_level, Redactor())
        _until_interrupted(_serve_scripted(replies, port))
        return
    if upstream is None and replay is None:
        raise UsageError("no endpoint is named: --upstream URL (or --replay TAPE, or --scripted)")
    if record is not None and replay is not None:
        raise UsageError("--record and --replay exclude each other")
    given = {"timeout": timeout, "retries": retries, "api_key": None if replay else read_api_key(api_key_env)}
    settings = EndpointSettings.of(
        upstream or "http://127.0.0.1/v1",
        model or "default",
        **{name: value for name, value in given.items() if value is not None},
    )
    configure_logging(log_level, settings.redactor())
    instant = read_instant("--now", now) if now is not None else None
    pins = ClockPins(tuple(pin) if pin else DEFAULT_PATTERNS)
    budget = Budget(max_cost=max_cost, price=Price.parse(price) if price else None, deadline=deadline)
    gate = Gate(rpm, tpm)
    replayed = Tape(replay, "replay") if replay is not None else None
    recorded = Tape(record, "record") if record is not None else None

    def make() -> "Exchanger":
        if replayed is not None:
            return ReplayingClient(settings, replayed)
        client = ModelClient(settings, gate, budget=budget)
        return RecordingClient(client, recorded, settings.redactor()) if recorded is not None else client

    _until_interrupted(_serve(make, instant, pins, port))


def _until_interrupted(serving: Coroutine[None, None, None]) -> None:
    """Serve until Ctrl-C, which is how a server is meant to end."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serving)


async def _serve(make: "Callable[[], Exchanger]", now: datetime | None, pins: "ClockPins", port: int) -> None:
    from harness.endpoint.gateway import Gateway

    upstream = make()
    try:
        async with Gateway(upstream, now=now, pins=pins, port=port) as serving:
            _say(serving.base_url)
            await serving.serve_until_stopped()
    finally:
        await upstream.aclose()


async def _serve_scripted(replies: Path | None, port: int) -> None:
    from harness.endpoint.scripted import SCENARIOS, ScriptedServer

    async with ScriptedServer(replies, scenarios=SCENARIOS.values(), port=port) as server:
        _say(server.base_url)
        for name, scenario in SCENARIOS.items():
            _say(f"{server.scenario_url(name)}  {scenario.says}")
        await server.serve_until_stopped()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
