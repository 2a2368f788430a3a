"""The witness search as grading asks for it: by running both queries on small data, behind a process boundary."""

import hashlib
import weakref
from dataclasses import replace

from canon.verdict import Witness
from harness.grading.seams import MongoPair, SqlPair
from harness.witness.worker import SearchProcess

_KEPT = 500
"""Pairs whose result is remembered: the repeats of a case come one after another and often ask the same again."""

_MONGO_BUDGET_MS = 300
"""What canon's own decision has left open is seldom found by trying; the search gives up early."""


class RunningSearch:
    """Looks for the smallest data on which two queries differ.

    SQL is run in a process of its own, which is killed when a query does not let go of it within the budget.

    Args:
        budget_ms: how long one pair may take, at most; a pair's own rules may allow less.
        seed: the same seed finds the same witness.
    """

    def __init__(self, *, budget_ms: int = 2000, seed: int = 0) -> None:
        self._budget_ms = budget_ms
        self._seed = seed
        self._found: dict[bytes, Witness | None] = {}
        self._process = SearchProcess()
        weakref.finalize(self, self._process.close)

    def search(self, pair: SqlPair | MongoPair) -> Witness | None:
        """Return the smallest witness found, `None` where none was within the budget."""
        # The budget left differs from time to time and is no part of the question.
        asked = replace(pair, rules=pair.rules.model_copy(update={"budget_ms": self._budget_ms}))
        key = hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).digest()
        if key not in self._found:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[key] = self._search(pair)
        return self._found[key]

    def _search(self, pair: SqlPair | MongoPair) -> Witness | None:
        from harness.witness.search import NotFound

        budget_ms = min(self._budget_ms, pair.rules.budget_ms)
        if isinstance(pair, MongoPair):
            from harness.witness.documents import find_document_witness

            shown = find_document_witness(
                pair.expected,
                pair.actual,
                fields=pair.fields,
                now=pair.now,
                seed=self._seed,
                budget_ms=min(budget_ms, _MONGO_BUDGET_MS),
            )
            return None if isinstance(shown, NotFound) else shown
        found = self._process.find(
            pair.expected,
            pair.actual,
            dialect=pair.dialect,
            schema=pair.schema,
            now=pair.now,
            seed=self._seed,
            budget_ms=budget_ms,
            differences=pair.differences,
            columns=pair.rules.columns,
            expected_args=pair.expected_args,
            actual_args=pair.actual_args,
        )
        return None if isinstance(found, NotFound) else found
