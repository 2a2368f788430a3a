"""MongoDB-wire servers for differential tests: SecantusDB as its own process, and one that the environment names."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pymongo
import pytest
from pymongo.errors import PyMongoError

STARTS_WITHIN = 60.0


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _answers(client: pymongo.MongoClient) -> bool:
    try:
        return client.admin.command("ping")["ok"] == 1
    except PyMongoError:
        return False


@pytest.fixture(scope="session")
def emulator(tmp_path_factory):
    """A client of an embedded server; the server is killed, should it not end when asked."""
    program = shutil.which("secantusd-py", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("the extra mongo-embedded (SecantusDB) is not installed")
    home, port = tmp_path_factory.mktemp("mongo"), _free_port()
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--storage-path", str(home / "data"), "--standalone"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen([program, *arguments, "--cache-size", "64M"], cwd=home, stdout=log, stderr=log)
    client = pymongo.MongoClient(
        f"mongodb://127.0.0.1:{port}/?directConnection=true", serverSelectionTimeoutMS=300, tz_aware=True
    )
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not _answers(client):
            log_text = (home / "log").read_text("utf-8", "replace")[-2000:]
            assert process.poll() is None, f"the server has ended: {log_text}"
            assert time.monotonic() < deadline, f"the server does not answer: {log_text}"
        yield client
    finally:
        client.close()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def mongodb():
    """A client of the real MongoDB that `RUNG_TEST_MONGODB_URI` names."""
    uri = os.environ.get("RUNG_TEST_MONGODB_URI")
    if not uri:
        pytest.skip("RUNG_TEST_MONGODB_URI names no MongoDB server")
    client = pymongo.MongoClient(uri, tz_aware=True)
    yield client
    client.close()


@pytest.fixture(params=["emulator", "mongodb"])
def server(request):
    """Each server that there is; its name, and a client of it."""
    return request.param, request.getfixturevalue(request.param)


@pytest.fixture
def collection(server):
    """A collection of its own on each server."""
    name, client = server
    database = client[f"rung_conformance_{os.getpid()}"]
    database.drop_collection("documents")
    yield name, database["documents"]
    client.drop_database(database.name)
