"""How long reports and comparisons take, and how large they are: figures against their bars, in one run each."""

import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from harness.report.html import HtmlReporter
from harness.runs.folder import open_run
from tests import synthetic_runs as made


@contextmanager
def told(what, bar):
    start, busy = time.perf_counter(), time.process_time()
    yield
    used = f"{time.perf_counter() - start:.2f} s, {time.process_time() - busy:.2f} s of it computing in this process"
    sys.stdout.write(f"\n{what}: {used} (bar: {bar} s)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


@pytest.mark.parametrize(("pass_share", "repeats"), [(0.9, 1), (0.0, 1), (0.8, 5)])
def test_html_of_ten_thousand_cases(folder, pass_share, repeats):
    made.stored(
        made.large_run(10_000, pass_share=pass_share, repeats=repeats), folder / f"large-{pass_share}-{repeats}"
    )
    run = open_run(folder / f"large-{pass_share}-{repeats}")
    with told(f"HTML of 10,000 cases, {pass_share:.0%} passing, {repeats} attempts each, from the run's folder", 5):
        HtmlReporter().write(run, folder / "large.html")
    size = (folder / "large.html").stat().st_size
    sys.stdout.write(f"\n  {size / 1e6:.1f} MB (bar: 12 MB)")
    assert size < 12_000_000


def test_comparison_of_a_thousand_cases(folder):
    for seed in (1, 2):
        made.stored(made.large_run(1_000, seed=seed, model=f"model-{seed}", name=f"r{seed}"), folder / f"r{seed}")
    command = [sys.executable, "-m", "harness", "compare", str(folder / "r1"), str(folder / "r2"), "--quiet"]
    with told("rung compare of two runs of 1,000 cases, the whole command", 2):
        subprocess.run(command, check=True)
    with told("the same with an HTML report", 2):
        subprocess.run([*command, "--out", str(folder / "c.html")], check=True)
