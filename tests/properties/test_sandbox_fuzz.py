"""Bytes that are hardly SQL, thrown at the whole sandbox: each ends in one of the six ways, and the fixture stays."""

import hashlib
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.sandbox.policy import Policy
from harness.sandbox.result import MESSAGES
from harness.sandbox.sandbox import Sandbox

STATUSES = {"success", "truncated", "validation_rejected", "timeout", "resource_limit", "execution_error"}
pieces = st.sampled_from(
    [
        *"()[]{},;.*+-/%<>=|&~'\"`@$?:!\\",
        *("SELECT", "FROM", "t", "a", "WHERE", "UNION ALL", "WITH RECURSIVE", "AS", "VALUES", "ORDER BY", "LIMIT"),
        *("NULL", "1", "'x'", "x'00'", "9e999", "json_each", "printf", "group_concat", "count(*)", "OVER", "CASE"),
        *("ATTACH", "PRAGMA", "DELETE", "CREATE", "load_extension", "--", "/*", "*/", "\x00", "\ufeff", "\ud800", "é"),
    ]
)
texts = (
    st.lists(pieces, max_size=30).map(" ".join)
    | st.binary(max_size=80).map(lambda data: data.decode("latin-1"))
    | st.lists(pieces, min_size=1, max_size=12).map(lambda words: "SELECT " + " ".join(words) + " FROM t")
)


@pytest.fixture(scope="module")
def fixture_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "fixture.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (NULL, x'ff')")
    connection.close()
    return path


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(Policy(deadline_seconds=1), workers=1) as opened:
        yield opened


@given(text=texts)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_ends_in_a_known_way(sandbox, fixture_file, text):
    before = hashlib.sha256(fixture_file.read_bytes()).digest()
    result = sandbox.execute(fixture_file, text)
    assert result.status in STATUSES
    assert (result.error is None) == (result.status == "success")
    if result.error is not None:
        assert result.error.message == MESSAGES[result.error.code]
        assert result.error.code != "worker_terminated"
    assert hashlib.sha256(fixture_file.read_bytes()).digest() == before
    result.model_dump_json()
