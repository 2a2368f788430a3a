"""How fast the sandbox is, beside a fresh interpreter doing the same, in one run; and that 5,000 cases leak nothing."""

# ruff: noqa: E501, T201 - a bench prints what it measured

import os
import sqlite3
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from harness.sandbox.fixtures import open_fixture
from harness.sandbox.postgresfixture import load_script
from harness.sandbox.sandbox import Sandbox

QUERY = "SELECT a, b FROM t WHERE a = 1"
# What a fresh worker does for one case: start, load the parser, parse, set limits, open the bytes, run, print.
FRESH = """
import json, resource, sqlite3, sys
import sqlglot
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
assert isinstance(sqlglot.parse_one(sys.argv[2], dialect="sqlite"), sqlglot.exp.Select)
connection = sqlite3.connect(":memory:")
connection.deserialize(open(sys.argv[1], "rb").read())
connection.execute("PRAGMA query_only = ON")
print(json.dumps(connection.execute(sys.argv[2]).fetchall()))
"""


@pytest.fixture(scope="module")
def fixture_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "fixture.db"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    connection.close()
    os.utime(path, (1, 1))
    return path


def timed(work, count):
    times = []
    for _ in range(count):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return times


def fresh(path):
    done = subprocess.run(
        [sys.executable, "-I", "-c", FRESH, str(path), QUERY], capture_output=True, text=True, check=True
    )
    assert done.stdout == '[[1, "x"]]\n'


def test_a_trivial_case_beside_a_fresh_interpreter(fixture_file):
    def case():
        assert sandbox.execute(fixture_file, QUERY).rows == ((1, "x"),)

    with Sandbox(workers=2) as sandbox, ThreadPoolExecutor(2) as two, ThreadPoolExecutor(8) as many:
        case()
        alone = timed(case, 500)
        fresh_alone = timed(lambda: fresh(fixture_file), 20)
        started = time.perf_counter()
        list(many.map(lambda _: case(), range(2000)))
        rate = 2000 / (time.perf_counter() - started)
        started = time.perf_counter()
        list(two.map(lambda _: fresh(fixture_file), range(30)))
        fresh_rate = 30 / (time.perf_counter() - started)
    median, fresh_median = statistics.median(alone) * 1000, statistics.median(fresh_alone) * 1000
    print(
        f"\nSQLite trivial case: median {median:.2f} ms, p95 {sorted(alone)[474] * 1000:.2f} ms, {rate:.0f} cases/s on 2 slots"
    )
    print(
        f"fresh interpreter: median {fresh_median:.1f} ms, {fresh_rate:.1f} cases/s with 2; latency x{fresh_median / median:.1f}, rate x{rate / fresh_rate:.1f}"
    )
    assert rate / fresh_rate >= 25


def test_pooled_postgres(embedded_postgres):
    url = load_script(embedded_postgres, "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x')", "script")
    with Sandbox(workers=1) as sandbox:
        sandbox.execute(url, QUERY)
        times = timed(lambda: sandbox.execute(url, QUERY), 500)
        assert sandbox.execute(url, QUERY).rows == ((1, "x"),)
    print(f"\nPostgreSQL pooled trivial case: median {statistics.median(times) * 1000:.2f} ms")


def test_duckdb(tmp_path):
    (tmp_path / "f.sql").write_text("CREATE TABLE t (a INTEGER, b VARCHAR); INSERT INTO t VALUES (1, 'x')")
    with Sandbox(workers=1) as sandbox:
        fixture = open_fixture(tmp_path / "f.sql", "duckdb")
        sandbox.execute(fixture, QUERY)
        times = timed(lambda: sandbox.execute(fixture, QUERY), 50)
    print(f"\nDuckDB trivial case: median {statistics.median(times) * 1000:.2f} ms")


COMPARE = """
import resource, sys, time
from harness.sandbox.comparison import compare_results
from harness.types.results import ComparisonConfig
def rows(order):
    return ((i, i * 0.37, f"name {i}") for i in order)
order = range(1_000_000) if sys.argv[1] == "same" else range(999_999, -1, -1)
started = time.perf_counter()
found = compare_results(rows(range(1_000_000)), rows(order), ComparisonConfig(float_tolerance=1e-9))
print(found is None, time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.parametrize("order", ["same", "reversed"])
def test_a_million_rows(order):
    done = subprocess.run([sys.executable, "-c", COMPARE, order], capture_output=True, text=True, check=True)
    equal, seconds, megabytes = done.stdout.split()
    print(f"\n1,000,000 rows x 3 columns, {order} order: {float(seconds):.2f} s, {float(megabytes):.0f} MB at most")
    assert equal == "True"
    assert float(megabytes) <= 400


def test_five_thousand_cases_leak_nothing(fixture_file):
    with Sandbox(workers=1) as sandbox:

        def run(count):
            for n in range(count):
                sandbox.execute(
                    fixture_file, (QUERY, "SELEC", "SELECT load_extension('x')", "SELECT nosuch FROM t")[n % 4]
                )
            processes = [psutil.Process(pid) for pid in (os.getpid(), *sandbox.processes)]
            return [process.num_fds() for process in processes], [
                process.memory_info().rss >> 20 for process in processes
            ]

        files, memory = run(500)
        files_later, memory_later = run(5000)
    print(f"\n5,000 cases: open files {files} -> {files_later}, MiB {memory} -> {memory_later}")
    assert files_later == files
    assert all(later <= earlier + 8 for earlier, later in zip(memory, memory_later, strict=True))
