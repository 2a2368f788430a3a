"""The `command` target: real programs, well-behaved and not."""

import asyncio
import json
import os
import sys
import time
from datetime import UTC, datetime

import pytest

from harness.endpoint.client import ModelClient
from harness.endpoint.gateway import Gateway
from harness.endpoint.scripted.script import Script, ScriptLine
from harness.endpoint.scripted.server import ScriptedServer
from harness.endpoint.settings import EndpointSettings
from harness.errors import TargetError
from harness.targets import command as command_module
from harness.targets.command import CommandTarget
from harness.types.answers import MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Case, ExpectSql

NOW = datetime(2026, 8, 4, tzinfo=UTC)
CASE = Case(id="A 1", nl="orders “today”", backend="postgres", expectation=ExpectSql(text="SELECT 1"), scope={"t": 1})


def ask(program, *, timeout_s=20.0, arguments=(), **options):
    """Run Python source as the program."""

    async def once():
        target = CommandTarget((sys.executable, "-c", program, *arguments), timeout_s=timeout_s, **options)
        try:
            return await target.answer(CASE, now=NOW, repeat=2)
        finally:
            await target.aclose()

    return asyncio.run(once())


def test_the_request_is_the_contract():
    reply = ask("import sys, json; print(json.dumps({'sql': sys.stdin.read()}))")
    assert isinstance(reply.answer, SqlAnswer)
    assert json.loads(reply.answer.text) == {
        "nl": "orders “today”",
        "now": "2026-08-04T00:00:00Z",
        "backend": "postgres",
        "scope": {"t": 1},
        "case_id": "A 1",
        "repeat": 2,
        "config": None,
        "base_url": None,
    }
    assert len(reply.calls) == 1
    assert reply.calls[0].latency_ms > 0


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        (
            'print(\'{"sql": "SELECT $1", "args": [5]}\')',
            SqlAnswer(text="SELECT $1", args=(5,)),
        ),
        ('print(\'{"mongo": {"a": 1}}\')', MongoAnswer(text='{"a":1}')),
        ('print(\'{"unsupported": "no such field"}\')', Refusal(message="no such field")),
        ('print(\'{"error": "asleep"}\')', NoQuery(reason="target_crashed", message="asleep")),
        ("", NoQuery(reason="empty", message="the answer is empty; it should be one JSON object")),
        (
            'import sys; sys.stdin.close(); print(\'{"sql": "SELECT 1"}\')',
            SqlAnswer(text="SELECT 1"),
        ),
        (
            "import sys; sys.stderr.write('warming up\\n' * 100000); print('{\"sql\": \"SELECT 1\"}')",
            SqlAnswer(text="SELECT 1"),
        ),
    ],
)
def test_what_programs_say(program, answer):
    assert ask(program).answer == answer


@pytest.mark.parametrize(
    ("program", "reason", "message"),
    [
        ("import sys; sys.exit('no database')", "target_crashed", "exited 1; its standard error ends: no database"),
        ("1/0", "target_crashed", "ZeroDivisionError: division by zero"),
        ("import os; os.kill(os.getpid(), 11)", "target_crashed", "was ended by signal 11"),
        ("print('SELECT 1')", "unparseable", "the answer is no JSON"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "unparseable", "the answer is no JSON"),
    ],
)
def test_what_programs_do_wrong(program, reason, message):
    answer = ask(program).answer
    assert isinstance(answer, NoQuery)
    assert answer.reason == reason
    assert message in answer.message


def gone(pid):
    """Whether a process has ended; one that was killed may stay a zombie until its new parent reaps it."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(holds):
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until


def wait_until_gone(pid):
    wait_until(lambda: gone(pid))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc to see that a process has ended")
def test_a_program_that_hangs_is_killed_with_all_it_started(tmp_path):
    pids = tmp_path / "pids"
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
        "print('working', file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    started = time.monotonic()
    reply = ask(program, timeout_s=2.0, arguments=(str(pids),))
    assert time.monotonic() - started < 15
    assert isinstance(reply.answer, NoQuery)
    assert reply.answer.reason == "target_crashed"
    assert reply.answer.message.endswith("did not answer within 2 s and was killed; its standard error ends: working")
    for pid in pids.read_text().split():
        wait_until_gone(int(pid))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="reads /proc to see that a process has ended")
def test_what_a_program_leaves_running_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(command_module, "_GRACE_S", 0.2)
    pids = tmp_path / "pids"
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid))\n"
        'print(\'{"sql": "SELECT 1"}\')\n'
    )
    assert ask(program, arguments=(str(pids),)).answer == SqlAnswer(text="SELECT 1")
    wait_until_gone(int(pids.read_text()))


def test_endless_output_is_cut_off(monkeypatch):
    monkeypatch.setattr(command_module, "MAX_OUTPUT", 100_000)
    answer = ask("import sys\nwhile True: sys.stdout.write('x' * 65536)").answer
    assert isinstance(answer, NoQuery)
    assert "and was killed" in answer.message


def test_cancelling_kills_the_program(tmp_path):
    pids = tmp_path / "pids"
    program = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"

    async def cancelled():
        target = CommandTarget((sys.executable, "-c", program, str(pids)))
        task = asyncio.create_task(target.answer(CASE, now=NOW, repeat=0))
        await asyncio.to_thread(wait_until, lambda: pids.exists() and pids.read_text())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    wait_until_gone(int(pids.read_text()))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "the command is empty"),
        (("no-such-program-here",), "no program is called `no-such-program-here`"),
    ],
)
def test_a_program_that_is_not_there(argv, message):
    with pytest.raises(TargetError, match=message):
        CommandTarget(argv)


def test_a_changed_script_changes_the_facts(tmp_path):
    script = tmp_path / "answer.py"
    script.write_text("print(1)")
    first = CommandTarget((sys.executable, str(script))).facts(CASE)
    assert first["argv"] == [sys.executable, str(script)]
    script.write_text("print(2)")
    assert CommandTarget((sys.executable, str(script))).facts(CASE) != first


def test_model_calls_through_the_gateway_are_accounted_for():
    program = (
        "import json, sys, urllib.request\n"
        "request = json.load(sys.stdin)\n"
        "body = {'messages': [{'role': 'user', 'content': 'Today is 2020-01-01. ' + request['nl']}]}\n"
        "asked = urllib.request.Request(request['base_url'] + '/chat/completions', json.dumps(body).encode())\n"
        "reply = json.load(urllib.request.urlopen(asked))\n"
        "print(json.dumps({'sql': reply['choices'][0]['message']['content']}))\n"
    )
    line = {
        "id": "A 1",
        "match": {"sentence": "orders"},
        "responses": [{"content": "SELECT 7", "usage": {"prompt_tokens": 3}}],
    }

    async def through():
        with ScriptedServer(Script([ScriptLine.model_validate(line, strict=False)])) as server:
            client = ModelClient(EndpointSettings.of(server.base_url, "m"))
            async with Gateway(client) as gateway:
                target = CommandTarget((sys.executable, "-c", program), gateway=gateway)
                reply = await target.answer(CASE, now=NOW, repeat=0)
            await client.aclose()
            return reply, server.received[-1].body["messages"][0]["content"]

    reply, prompt = asyncio.run(through())
    assert reply.answer == SqlAnswer(text="SELECT 7")
    assert [call.usage.prompt for call in reply.calls] == [3]
    assert prompt == "Today is 2026-08-04. orders “today”"
