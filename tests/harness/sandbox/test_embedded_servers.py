"""The embedded servers start, answer, refuse, and are gone with whoever started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from harness.errors import SandboxError
from harness.sandbox.embedded import EmbeddedMongo, EmbeddedPostgres


def gone(pid: int, seconds: float = 10) -> bool:
    try:
        psutil.Process(pid).wait(seconds)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def test_postgres_answers_and_leaves_nothing_behind():
    with EmbeddedPostgres() as server:
        pid = server.pid
        folder = Path(psutil.Process(pid).cwd()).parent
        if os.geteuid() == 0:
            assert 0 not in psutil.Process(pid).uids()
        with psycopg.connect(server.create_database()) as connection:
            assert connection.execute("SELECT 1 + 1, upper('é'), 'B' < 'a'").fetchone() == (2, "É", True)
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
    assert gone(pid)
    assert not folder.exists()
    with pytest.raises(SandboxError, match="not running"):
        _ = server.url


def test_postgres_answers_out_of_memory_at_once(postgres_url):
    with psycopg.connect(postgres_url) as connection, pytest.raises(psycopg.errors.OutOfMemory):
        connection.execute("SELECT string_agg(repeat('x', 100000000), '') FROM generate_series(1, 9)")


def test_databases_of_one_server_are_apart(embedded_postgres):
    first, second = embedded_postgres.create_database(), embedded_postgres.create_database()
    assert first != second
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE t (a int)")
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT to_regclass('t')").fetchone() == (None,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs the programs copied")
def test_postgres_is_copied_where_the_unprivileged_user_cannot_reach_it(monkeypatch):
    import harness.sandbox.embedded as module

    monkeypatch.setattr(module, "_reachable", lambda path: "pginstall" not in str(path))
    with EmbeddedPostgres() as server:
        assert psutil.Process(server.pid).exe().startswith(str(Path(psutil.Process(server.pid).cwd()).parent))
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 7").fetchone() == (7,)


@pytest.mark.parametrize("kind", ["EmbeddedPostgres", "EmbeddedMongo"])
def test_the_server_dies_with_a_killed_parent(kind):
    code = f"""
import sys, time
from harness.sandbox.embedded import {kind}
with {kind}() as server:
    print(server.pid, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        folder = Path(psutil.Process(pid).cwd())
        assert folder.exists()
        parent.send_signal(signal.SIGKILL)
    assert gone(pid)
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        os.sched_yield()
    assert not folder.exists()


def test_mongo_answers_and_leaves_nothing_behind():
    with EmbeddedMongo() as server:
        pid = server.pid
        folder = Path(psutil.Process(pid).cwd())
        with MongoClient(server.uri) as client:
            client.shop.items.insert_many([{"_id": 1, "n": 5}, {"_id": 2, "n": 7}])
            assert list(client.shop.items.find({"n": {"$gt": 5}})) == [{"_id": 2, "n": 7}]
    assert gone(pid)
    assert not folder.exists()


def test_mongo_with_logins_lets_the_reader_only_read_its_fixture():
    with EmbeddedMongo(auth=True) as server:
        with MongoClient(server.uri) as admin:
            admin.fixture.items.insert_one({"_id": 1})
            admin.other.items.insert_one({"_id": 2})
        with MongoClient(server.reader_uri) as reader:
            assert list(reader.fixture.items.find()) == [{"_id": 1}]
            with pytest.raises(OperationFailure):
                list(reader.other.items.find())
            with pytest.raises(OperationFailure):
                reader.fixture.items.insert_one({"_id": 3})
            with pytest.raises(OperationFailure):
                list(reader.fixture.items.aggregate([{"$out": "copy"}]))
        nobody = f"mongodb://{server.uri.partition('@')[2].partition('/')[0]}"
        with MongoClient(nobody) as stranger, pytest.raises(OperationFailure):
            list(stranger.fixture.items.find())
