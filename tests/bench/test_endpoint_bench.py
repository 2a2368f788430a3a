"""How fast the client, the gate and the gateway are, each against something measured in the same run."""

import asyncio
import itertools
import logging
import random
import statistics
import subprocess
import sys
import time

import httpx
import pytest

from harness.endpoint.chat import Message, Origin
from harness.endpoint.client import ModelClient
from harness.endpoint.gate import Gate
from harness.endpoint.gateway import Gateway
from harness.endpoint.settings import EndpointSettings

MESSAGES = (Message(role="system", content="x" * 2000), Message(role="user", content="how many orders?"))
SERVE = """
import sys, time
from harness.endpoint.scripted import Scenario, ScriptedResponse, ScriptedServer
usage = {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520}
answer = ScriptedResponse(content="SELECT count(*) FROM orders", usage=usage)
with ScriptedServer(scenarios=[Scenario("fast", "", (answer,))], latency_ms=float(sys.argv[1])) as server:
    print(server.scenario_url("fast"), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _quiet():
    logging.getLogger("rung").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("rung").setLevel(logging.NOTSET)


@pytest.fixture
def endpoint(request):
    """A scripted endpoint in a process of its own; the parameter is its latency in milliseconds."""
    command = [sys.executable, "-c", SERVE, str(request.param)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


async def spread(count: int, parallel: int, call) -> float:
    """Seconds that `count` calls take, `parallel` at a time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await call(number)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(parallel)))
    return time.perf_counter() - started


async def bare(url: str, count: int, parallel: int) -> float:
    body = EndpointSettings.of(url, "m").body(MESSAGES)
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None), verify=False) as http:

        async def call(number: int) -> None:
            (await http.post(f"{url}/chat/completions", json=body)).json()

        await spread(parallel, parallel, call)
        return await spread(count, parallel, call)


async def ours(url: str, count: int, parallel: int, gate: Gate | None = None) -> float:
    client = ModelClient(EndpointSettings.of(url, "m"), gate)

    async def call(number: int) -> None:
        chat = await client.complete(MESSAGES, Origin(case_id=str(number)))
        assert chat.kind == "completed"

    try:
        if gate is None:
            await spread(parallel, parallel, call)
        return await spread(count, parallel, call)
    finally:
        await client.aclose()


@pytest.mark.parametrize("endpoint", [0], indirect=True)
@pytest.mark.parametrize("parallel", [1, 16])
def test_client_reaches_60_percent_of_a_bare_loop(endpoint, parallel):
    count = 1000
    shares = []
    for _ in range(3):
        bare_s = asyncio.run(bare(endpoint, count, parallel))
        ours_s = asyncio.run(ours(endpoint, count, parallel))
        shares.append(bare_s / ours_s)
        print(  # noqa: T201  a bench prints its figures
            f"\nparallel {parallel}: bare {count / bare_s:.0f}/s, client {count / ours_s:.0f}/s, {shares[-1]:.0%}",
            end="",
        )
    assert statistics.median(shares) >= 0.60


@pytest.mark.parametrize("endpoint", [900], indirect=True)
def test_slow_endpoint_is_kept_busy(endpoint):
    took = asyncio.run(ours(endpoint, 256, 16, Gate()))
    ideal = 256 / 16 * 0.9
    print(f"\n256 calls of 900 ms, 16 at a time: {took:.2f} s = {took / ideal:.3f} x ideal", end="")  # noqa: T201  a bench prints its figures
    assert took <= 1.05 * ideal


def test_600_a_minute_is_even_and_exact():
    async def run():
        gate = Gate(600)
        return await asyncio.gather(*(gate.start() for _ in range(100)))

    times = asyncio.run(run())
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    total = times[-1] - times[0]
    print(f"\n--rpm 600: smallest gap {min(gaps) * 1000:.2f} ms, total {total:.3f} s of 9.9 s", end="")  # noqa: T201  a bench prints its figures
    assert min(gaps) >= 0.099
    assert total == pytest.approx(9.9, rel=0.02)


@pytest.mark.parametrize("endpoint", [0], indirect=True)
def test_gateway_adds_at_most_3_ms(endpoint):
    body = EndpointSettings.of(endpoint, "m").body(MESSAGES)

    async def run():
        client = ModelClient(EndpointSettings.of(endpoint, "m"))
        direct, through = [], []
        async with Gateway(client) as gateway, httpx.AsyncClient() as http:
            for number in range(500):
                for url, taken in ((endpoint, direct), (gateway.case_url(str(number)), through)):
                    started = time.perf_counter()
                    await http.post(f"{url}/chat/completions", json=body)
                    taken.append((time.perf_counter() - started) * 1000)
        await client.aclose()
        return statistics.median(direct), statistics.median(through)

    direct, through = asyncio.run(run())
    print(  # noqa: T201  a bench prints its figures
        f"\nmedian: direct {direct:.2f} ms, through the gateway {through:.2f} ms, added {through - direct:.2f} ms",
        end="",
    )
    assert through - direct <= 3.0


def test_50_000_fuzzed_bodies_and_headers():
    seed = 7
    chance = random.Random(seed)

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(chance.choice(STATUSES), headers=_headers(chance), content=_body(chance))

    async def no_wait(seconds: float) -> None:
        pass

    async def run():
        given = {"retries": 0, "longest_wait": 0.0, "seed": 1, "max_tokens": 5, "first_wait": 0.0}
        outcomes: dict[str, int] = {}
        # A new client every 500, since adaptations are remembered.
        for start in range(0, 50_000, 500):
            settings = EndpointSettings.of("http://127.0.0.1/v1", "m", **given)
            # A gate whose clock runs away: pauses and slowdowns are over as soon as they begin.
            gate = Gate(clock=itertools.count(step=1000.0).__next__, sleep=no_wait)
            client = ModelClient(settings, gate, sleep=no_wait, transport=httpx.MockTransport(respond))
            for number in range(start, start + 500):
                chat = await client.complete(MESSAGES[1:], Origin(case_id=str(number)))
                chat.model_dump_json().encode()
                outcome = chat.kind if chat.kind == "completed" else chat.reason
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
            await client.aclose()
        return outcomes

    outcomes = asyncio.run(run())
    print(f"\n50,000 fuzzed responses (seed {seed}): {outcomes}", end="")  # noqa: T201  a bench prints its figures
    assert sum(outcomes.values()) == 50_000
    assert set(outcomes) == {"completed", "transport", "empty", "truncated", "content_filter"}


STATUSES = [200] * 8 + [201, 204, 301, 308, 400, 401, 404, 409, 422, 429, 500, 503, 529, 599]
WORDS = [
    "error",
    "message",
    "choices",
    "content",
    "stop",
    "length",
    "content_filter",
    "usage",
    "delta",
    "detail",
    "code",
]
WHOLE = (
    b'{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"SELECT 1","refusal":null},'
    b'"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}'
)
ERROR = b'{"error":{"message":"temperature is not supported","type":"x","param":"temperature","code":429}}'
STREAM = b'data: {"choices":[{"index":0,"delta":{"content":"SEL"},"finish_reason":null}]}\n\ndata: [DONE]\n\n'


def _headers(chance: random.Random) -> list[tuple[bytes, bytes]]:
    names = [b"retry-after", b"retry-after-ms", b"x-ratelimit-reset-tokens", b"content-type", b"date", b"location"]
    values = [
        b"0",
        b"-1",
        b"1e999",
        b"text/event-stream",
        b"application/json",
        b"text/html; charset=\xff",
        b"6m0s",
        b"\xff\xfe",
    ]
    return [(chance.choice(names), chance.choice(values)) for _ in range(chance.randrange(4))]


def _body(chance: random.Random) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(80))
    raw = bytearray(chance.choice([WHOLE, ERROR, STREAM, b"[" + ERROR + b"]", b"\n\n" + WHOLE]))
    if kind == 1:
        return bytes(raw)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(raw) + 1)
        change = chance.randrange(5)
        if change == 0:
            raw[at : at + chance.randrange(20)] = b""
        elif change == 1:
            raw[at:at] = chance.randbytes(chance.randrange(1, 4))
        elif change == 2:
            raw[at : at + 1] = chance.choice([b"null", b"[]", b"{}", b'"', b"1e400", b"\\ud800", b"true"])
        elif change == 3:
            raw = bytearray(raw.replace(b"SELECT 1", chance.choice([b"", b"\\u0000", b"<think>", b"\xff"])))
        else:
            word = chance.choice(WORDS).encode()
            raw = bytearray(raw.replace(word, chance.choice(WORDS).encode()))
    return bytes(raw)
