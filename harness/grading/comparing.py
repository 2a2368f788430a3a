"""Asks canon about a pair, and the witness search where canon cannot decide."""

from canon.errors import ReadError
from canon.verdict import Comparison, Problem, Refuted, Undecided
from harness.grading.seams import MongoPair, SqlPair, WitnessSearch


def compare(pair: SqlPair | MongoPair) -> Comparison:
    """Ask canon about a pair; whatever keeps it from an answer comes back as an undecided comparison."""
    try:
        return _compare_sql(pair) if isinstance(pair, SqlPair) else _compare_mongo(pair)
    except ReadError as error:
        return Undecided(problem=error.problem(None))
    except Exception as error:
        # A fault of canon on one pair must not end a run whose other answers are paid for; it never passes the pair.
        return Undecided(problem=Problem(kind="unsupported", side=None, message=_fault(error)))


def _fault(error: Exception) -> str:
    return f"comparing the two failed, which is a bug in rung: {type(error).__name__}: {error}"[:500]


def _compare_sql(pair: SqlPair) -> Comparison:
    from canon.sql import compare_sql

    return compare_sql(
        pair.expected,
        pair.actual,
        dialect=pair.dialect,
        schema=pair.schema,
        expected_args=pair.expected_args,
        actual_args=pair.actual_args,
        now=pair.now,
        rules=pair.rules,
    )


def _compare_mongo(pair: MongoPair) -> Comparison:
    from canon.mongo import compare_mongo

    return compare_mongo(pair.expected, pair.actual, fields=pair.fields, now=pair.now, rules=pair.rules)


def witnessed(
    pair: SqlPair | MongoPair, found: Refuted | Undecided, witness: WitnessSearch | None
) -> Refuted | Undecided:
    """Let an undecided difference become a refutation, where data that shows it can be found."""
    if witness is None or isinstance(found, Refuted) or _is_of_one_side(found):
        return found
    shown = witness.search(pair)
    if shown is None:
        return found
    return Refuted(differences=found.differences, witness=shown, absorbed=found.absorbed)


def _is_of_one_side(found: Undecided) -> bool:
    """Whether one text was not understood, so that no search can say anything of the pair."""
    return found.problem is not None and found.problem.side is not None


def contradicted(pair: SqlPair | MongoPair, found: Comparison, witness: WitnessSearch | None) -> Comparison:
    """Hold an equivalence against the search: data that tells the two apart shows a bug, and neither verdict stands."""
    shown = witness.search(pair) if witness is not None else None
    if shown is None:
        return found
    message = f"CONTRADICTION, a bug in rung: found equivalent ({found.basis}), and yet {shown.reading}"
    return Undecided(problem=Problem(kind="unsupported", side=None, message=message))
