"""The witness search as grading asks for it: by running both queries on small databases."""

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from canon.verdict import Witness
from harness.grading.seams import MongoPair, SqlPair

if TYPE_CHECKING:
    from canon.verdict import RowWitness

_KEPT = 500
"""Pairs whose result is remembered: the repeats of a case come one after another and often ask the same again."""


class RunningSearch:
    """Looks for a database on which two SQL queries differ; a MongoDB pair is decided by canon alone.

    Args:
        budget_ms: how long one pair may take, at most; a pair's own rules may allow less.
        seed: the same seed finds the same witness.
    """

    def __init__(self, *, budget_ms: int = 2000, seed: int = 0) -> None:
        self._budget_ms = budget_ms
        self._seed = seed
        self._found: dict[bytes, RowWitness | None] = {}

    def search(self, pair: SqlPair | MongoPair) -> Witness | None:
        """Return the smallest witness found, `None` where none was within the budget."""
        if isinstance(pair, MongoPair):
            return None
        # The budget left differs from time to time and is no part of the question.
        asked = replace(pair, rules=pair.rules.model_copy(update={"budget_ms": self._budget_ms}))
        key = hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).digest()
        if key not in self._found:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[key] = self._search(pair)
        return self._found[key]

    def _search(self, pair: SqlPair) -> "RowWitness | None":
        from harness.witness.search import NotFound, find_witness

        found = find_witness(
            pair.expected,
            pair.actual,
            dialect=pair.dialect,
            schema=pair.schema,
            now=pair.now,
            seed=self._seed,
            budget_ms=min(self._budget_ms, pair.rules.budget_ms),
            differences=pair.differences,
            columns=pair.rules.columns,
            expected_args=pair.expected_args,
            actual_args=pair.actual_args,
        )
        return None if isinstance(found, NotFound) else found
