"""`rung gateway` as a user starts it: serves, refuses what cannot be meant, ends at Ctrl-C."""

import os
import signal
import subprocess
import sys

import httpx
import pytest

from harness.endpoint.scripted import SCENARIOS, ScriptedServer

RUNG = [sys.executable, "-m", "harness", "gateway"]
BODY = {"model": "m", "messages": [{"role": "user", "content": "Today: 2026-11-30"}]}


def start(*arguments: str, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [*RUNG, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def stop(process: subprocess.Popen) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    return process.returncode, errors


def test_it_pins_records_and_replays(tmp_path):
    tape = str(tmp_path / "tape")
    with ScriptedServer(scenarios=SCENARIOS.values()) as server:
        recording = start(
            *(
                "--upstream",
                server.scenario_url("status-503"),
                "--now",
                "2026-08-04",
                "--record",
                tape,
                "-retries",
                "1",
            ),
            *("--log-level", "info"),
            RUNG_API_KEY="canary-key-123456",
        )
        url = recording.stdout.readline().strip()
        got = httpx.post(f"{url}/chat/completions", json=BODY, timeout=20)
        assert got.json()["choices"][0]["message"]["content"] == "SELECT 1"
        assert server.received[-1].body["messages"][0]["content"] == "Today: 2026-08-04"
        assert server.received[-1].headers["authorization"] == "Bearer canary-key-123456"
    status, errors = stop(recording)
    assert status == 0
    assert 'event="trying again" case=- repeat=0 call=0 tries=1 status=503' in errors
    assert "canary" not in errors
    replaying = start("--replay", tape, "--now", "2026-08-04")
    url = replaying.stdout.readline().strip()
    assert httpx.post(f"{url}/chat/completions", json=BODY, timeout=20).json() == got.json()
    missing = httpx.post(f"{url}/chat/completions", json={**BODY, "temperature": 1}, timeout=20)
    assert (missing.status_code, missing.json()["error"]["code"]) == (424, "transport")
    assert stop(replaying)[0] == 0


def test_it_serves_the_scripted_endpoint():
    process = start("--scripted")
    lines = [process.stdout.readline().split("  ")[0].strip() for _ in range(len(SCENARIOS) + 1)]
    hanging = next(line for line in lines if line.endswith("/scenario/hang/v1"))
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{hanging}/chat/completions", json=BODY, timeout=0.2)
    assert httpx.post(f"{lines[0]}/chat/completions", json=BODY, timeout=20).status_code == 404
    assert stop(process)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: no endpoint is named: --upstream URL (or --replay TAPE, or --scripted)"),
        (["--upstream", "http://h/v1", "--api-key", "sk-canary"], "usage: --api-key is refused: a key on the command"),
        (["--upstream", "ftp://h/v1"], "usage: the endpoint should look like https://host/v1"),
        (["--upstream", "http://h/v1", "--record", "a", "--replay", "b"], "usage: --record and --replay exclude"),
        (["--upstream", "http://h/v1", "--rpm", "0"], "usage: --rpm 0 is no rate"),
        (["--upstream", "http://h/v1", "--max-cost", "1"], "usage: --max-cost needs --price"),
        (["--upstream", "http://h/v1", "--log-level", "loud"], "usage: --log-level 'loud': choose one of"),
        (["--upstream", "http://h/v1", "--pin", "("], "usage: the clock pattern '(' is no regular expression"),
        (["--replay", "/none/such"], "usage: --replay /none/such: No such file"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, message):
    done = subprocess.run([*RUNG, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert "canary" not in done.stderr
