"""How fast pairs are refuted, and how fast the audit of a bundled corpus is: printed, and held against each other."""

import statistics
import time
from pathlib import Path

from canon.verdict import RowWitness
from harness.audit.auditing import Auditor, resolved
from harness.corpus.golden_csv import open_corpus
from harness.witness.search import find_witness

DDL = """
CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER, name TEXT, made DATE);
CREATE TABLE b (id INTEGER PRIMARY KEY, a_id INTEGER NOT NULL REFERENCES a (id), x REAL, tag TEXT);
"""
PAIRS = [
    (
        f"SELECT {what} FROM a JOIN b ON b.a_id = a.id WHERE {one}",
        f"SELECT {what} FROM a JOIN b ON b.a_id = a.id WHERE {other}",
    )
    for what in ("a.name", "COUNT(*)", "a.name, b.tag", "SUM(b.x)")
    for one, other in (
        ("a.n > 7", "a.n >= 7"),
        ("b.tag = 'x' AND a.n = 3", "b.tag = 'x'"),
        ("b.tag = 'x' OR a.n = 3", "b.tag = 'x' AND a.n = 3"),
        ("a.made >= '2026-01-01'", "a.made > '2026-01-01'"),
        ("b.tag LIKE 'x%'", "b.tag LIKE '%x%'"),
    )
]


def test_time_to_refute() -> None:
    times = []
    for expected, actual in PAIRS:
        started = time.perf_counter()
        assert isinstance(find_witness(expected, actual, dialect="sqlite", schema=DDL), RowWitness)
        times.append((time.perf_counter() - started) * 1000)
    print(f"\n{len(PAIRS)} pairs refuted: median {statistics.median(times):.1f} ms, slowest {max(times):.1f} ms")  # noqa: T201


def test_time_to_audit_the_shop() -> None:
    shop = Path(__file__).resolve().parents[2] / "goldens" / "shop"
    started = time.perf_counter()
    found = Auditor(fixtures=(str(shop / "fixture.sql"),)).audit(
        "shop", resolved(open_corpus(shop / "golden.csv").cases())
    )
    seconds = time.perf_counter() - started
    assert found.adequacy is not None
    killable = sum(case.killable for case in found.adequacy.cases)
    print(f"\nthe shop's audit: {killable} mutants in {seconds:.1f} s, {found.adequacy.share or 0:.1%} shown")  # noqa: T201
