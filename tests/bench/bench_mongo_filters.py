"""How many filter pairs a second the canonical path and the decision take: `python tests/bench/bench_mongo_filters.py`.

Prints pairs per second and their ratio, measured in one run on one core.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from canon.mongo import compare_mongo

PAIRS = Path(__file__).parent.parent / "canon" / "mongo" / "filter-pairs.jsonl"
SECONDS = 3.0


def rate(pairs: Sequence[tuple[str, str]]) -> float:
    """Pairs per second over a few seconds."""
    done, start = 0, perf_counter()
    while perf_counter() - start < SECONDS:
        for one, two in pairs:
            compare_mongo(one, two)
        done += len(pairs)
    return done / (perf_counter() - start)


def main() -> None:
    """Measure both paths."""
    rows = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    pairs = [(row["a"], row["b"]) for row in rows]
    canonical = [pair for pair in pairs if compare_mongo(*pair).basis == "canonical"]
    decided = [pair for pair in pairs if pair not in canonical]
    one, two = rate(canonical), rate(decided)
    sys.stdout.write(f"canonical path {one:,.0f} pairs/s, decision {two:,.0f} pairs/s, {one / two:.1f} times\n")


if __name__ == "__main__":
    main()
