"""The bundled corpora pass their own audit, and their fixtures show what can go wrong."""

from pathlib import Path

import pytest

from harness.audit.auditing import Auditor, resolved
from harness.corpus.golden_csv import open_corpus

GOLDENS = Path(__file__).resolve().parents[3] / "goldens"


@pytest.mark.parametrize(
    ("golden", "fixtures", "config"),
    [
        ("shop/golden.csv", ("shop/fixture.sql",), None),
        ("orders/golden.csv", ("orders/fixture.sql", "orders/fixture.jsonl"), "orders/config.json"),
    ],
)
def test_a_bundled_corpus_is_clean_and_its_fixture_adequate(
    golden: str, fixtures: tuple[str, ...], config: str | None
) -> None:
    corpus = open_corpus(GOLDENS / golden, config=GOLDENS / config if config else None)
    auditor = Auditor(fixtures=tuple(str(GOLDENS / fixture) for fixture in fixtures))
    found = auditor.audit(golden, resolved(corpus.cases()))
    assert [finding for finding in found.findings if finding.severity != "note"] == []
    assert found.adequacy is not None
    assert found.adequacy.share is not None
    assert found.adequacy.share >= 0.95
