"""What happens when a process of the sandbox dies: the case is reported, the next one runs, nothing hangs or leaks."""

# ruff: noqa: E501 - a table reads best with one row a line

import os
import signal
import sqlite3
import threading
import time

import psutil
import psycopg
import pytest

from harness.errors import SandboxError
from harness.sandbox import slots
from harness.sandbox.policy import Policy
from harness.sandbox.postgresfixture import load_script
from harness.sandbox.sandbox import Sandbox

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture(scope="module")
def fixture_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("recovery") / "x.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    connection.close()
    return path


def process_of(sandbox, word):
    for pid in sandbox.processes:
        if word in " ".join(psutil.Process(pid).cmdline()):
            return psutil.Process(pid)
    raise AssertionError(f"no process of {word}")


def wait_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        os.sched_yield()


@pytest.mark.parametrize("word", ["zygote", "parser"])
def test_a_process_that_died_between_cases_is_started_anew(fixture_file, word):
    with Sandbox(workers=1) as sandbox:
        assert sandbox.execute(fixture_file, "SELECT a FROM t").rows == ((1,),)
        victim = process_of(sandbox, word)
        victim.kill()
        wait_for(lambda: victim.status() == psutil.STATUS_ZOMBIE)
        assert sandbox.execute(fixture_file, "SELECT a FROM t").rows == ((1,),)


@pytest.mark.parametrize("whom", ["zygote", "child"])
def test_a_process_killed_in_the_middle_of_a_case(fixture_file, whom):
    with Sandbox(Policy(deadline_seconds=20), workers=1) as sandbox:
        sandbox.execute(fixture_file, "SELECT a FROM t")
        zygote = process_of(sandbox, "zygote")
        found = []
        caller = threading.Thread(target=lambda: found.append(sandbox.execute(fixture_file, ENDLESS)))
        caller.start()
        wait_for(zygote.children)
        child = zygote.children()[0]
        (zygote if whom == "zygote" else child).send_signal(signal.SIGKILL)
        caller.join(10)
        assert not caller.is_alive()
        assert (found[0].status, found[0].error.code) == ("resource_limit", "worker_terminated")
        wait_for(lambda: not child.is_running())
        assert sandbox.execute(fixture_file, "SELECT a FROM t").rows == ((1,),)


def test_postgres_killed_in_the_middle_of_a_case(embedded_postgres):
    url = load_script(embedded_postgres, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)", "script")
    many = "SELECT count(*) FROM " + ", ".join(f"t t{n}, generate_series(1, 1000) g{n}" for n in range(4))
    with (
        Sandbox(Policy(deadline_seconds=20), workers=1) as sandbox,
        psycopg.connect(embedded_postgres.url, autocommit=True) as admin,
    ):
        sandbox.engine(url)
        found = []
        caller = threading.Thread(target=lambda: found.append(sandbox.execute(url, many)))
        caller.start()
        active = "SELECT pid FROM pg_stat_activity WHERE usename = 'rung_reader' AND state = 'active' AND query LIKE 'FETCH%'"
        wait_for(lambda: admin.execute(active).fetchall())
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rung_reader'")
        caller.join(10)
        assert not caller.is_alive()
        assert (found[0].status, found[0].error.code) == ("execution_error", "engine_lost")
        assert sandbox.execute(url, "SELECT a FROM t").rows == ((1,),)


def test_nothing_is_left_when_the_sandbox_closes(fixture_file):
    before = set(os.listdir("/proc/self/fd"))
    with Sandbox(workers=2) as sandbox:
        for _ in range(4):
            sandbox.execute(fixture_file, "SELECT a FROM t")
        pids = sandbox.processes
        assert len(pids) >= 2
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert set(os.listdir("/proc/self/fd")) == before


def test_neither_files_nor_memory_leak(fixture_file):
    with Sandbox(workers=1) as sandbox:

        def run(count):
            for n in range(count):
                sandbox.execute(fixture_file, ["SELECT a FROM t", "SELEC", "SELECT load_extension('x')"][n % 3])
            everyone = [psutil.Process(pid) for pid in (os.getpid(), *sandbox.processes)]
            return [process.num_fds() for process in everyone], [process.memory_info().rss for process in everyone]

        files, memory = run(60)
        files_later, memory_later = run(300)
        assert files_later == files
        assert all(later < earlier + 8 * 1024 * 1024 for earlier, later in zip(memory, memory_later, strict=True))


@pytest.mark.parametrize("data", [b"", b'{"status":"jail","code":"seccomp: refused"}', b'{"status":"success","layers":[],"facts":{}}',
    b'{"status":"success","layers":["rlimits","no_new_privs","seccomp","closed_files","not_dumpable","death_signal"],"facts":{"file":false}}'])  # fmt: skip
def test_walls_that_do_not_stand_stop_everything(data):
    with pytest.raises(SandboxError, match="nothing is run"):
        slots.Slot._check_walls(data)


def test_a_kernel_without_landlock_is_taken_with_a_warning_or_refused(monkeypatch):
    class Bare(slots.Zygote):
        def __init__(self, *args):
            super().__init__(*args)
            self.landlock = 0

    monkeypatch.setattr(slots, "Zygote", Bare)
    with pytest.raises(SandboxError, match="Landlock"), Sandbox(Policy(allow_missing_landlock=False), workers=1):
        pass
    with Sandbox(workers=1) as sandbox:
        assert sandbox.processes
