"""Decides whether two SQL queries mean the same: by their normal forms, then by regions; else it says what differs."""

from datetime import datetime
from time import monotonic

from canon.errors import ReadError
from canon.rules import Rules
from canon.schema import Schema
from canon.sql.context import Arguments, BudgetError
from canon.sql.query import SqlQuery, read_sql
from canon.verdict import Canonical, Comparison, Difference, Identical, Problem, Undecided


def compare_sql(
    expected: str,
    actual: str,
    *,
    dialect: str = "postgres",
    schema: Schema | str | None = None,
    expected_args: Arguments = (),
    actual_args: Arguments = (),
    now: datetime | None = None,
    rules: Rules = Rules(),  # noqa: B008  (immutable)
) -> Comparison:
    """Decide whether two queries give the same rows on every database that the schema allows.

    Args:
        expected: the golden query.
        actual: the answer.
        dialect: the dialect of both.
        schema: the tables, as a `Schema` or as DDL text; without one fewer identities hold.
        expected_args: what the parameters of `expected` are bound to.
        actual_args: what the parameters of `actual` are bound to.
        now: the instant that clock calls fold to.
        rules: what may be overlooked, and the budget.

    Returns:
        The verdict with its evidence. A text that cannot be read gives `Undecided` with a `problem`; nothing is raised.
    """
    deadline = monotonic() + rules.budget_ms / 1000
    if _trimmed(expected) == _trimmed(actual) and _equal_args(expected_args, actual_args):
        same = True
    else:
        same = False
    queries: list[SqlQuery] = []
    for side, text, args in (("expected", expected, expected_args), ("actual", actual, actual_args)):
        try:
            queries.append(read_sql(text, dialect=dialect, schema=schema, args=args, now=now, deadline=deadline))
        except ReadError as error:
            return Undecided(problem=error.problem("expected" if side == "expected" else "actual"))
        except RecursionError:
            return Undecided(problem=Problem(kind="too_large", side="expected" if side == "expected" else "actual",
                                             message="the query is nested too deeply to be read"))  # fmt: skip
    ours, theirs = queries
    volatile = _nondeterministic(ours, theirs)
    if volatile is not None:
        return volatile
    if same:
        return Identical()
    try:
        return _decide(ours, theirs, rules, deadline)
    except BudgetError:
        return Undecided(problem=Problem(kind="budget", side=None, message=f"not decided within {rules.budget_ms} ms"))
    except RecursionError:
        return Undecided(problem=Problem(kind="too_large", side=None, message="nested too deeply to be compared"))


def _trimmed(text: str) -> str:
    return text.strip().removesuffix(";").rstrip()


def _equal_args(ours: Arguments, theirs: Arguments) -> bool:
    return repr(ours) == repr(theirs)


def _nondeterministic(ours: SqlQuery, theirs: SqlQuery) -> Undecided | None:
    for query in (ours, theirs):
        if query.nondeterminism is not None:
            difference = Difference(kind="nondeterministic", where="query", actual=query.nondeterminism)
            return Undecided(differences=(difference,))
    return None


def _decide(ours: SqlQuery, theirs: SqlQuery, rules: Rules, deadline: float) -> Comparison:
    from canon.sql.differences import differences

    any_order = rules.columns == "any"
    absorbed = tuple(sorted(ours.ctx.used | theirs.ctx.used))
    if ours.surface(any_column_order=any_order) == theirs.surface(any_column_order=any_order):
        if _same_stars(ours, theirs, rules):
            return Canonical(absorbed=absorbed)
    elif ours.normal_text(any_column_order=any_order) == theirs.normal_text(any_column_order=any_order):
        if _same_stars(ours, theirs, rules):
            return Canonical(absorbed=tuple(sorted(ours.ctx.used | theirs.ctx.used)))
    return Undecided(differences=differences(ours, theirs), absorbed=absorbed)


def _same_stars(ours: SqlQuery, theirs: SqlQuery, rules: Rules) -> bool:
    """Whether the outputs that a star brought in are the same ones, where that matters."""
    if rules.star == "expand":
        return True
    if rules.columns == "any":
        return sorted(ours.starred) == sorted(theirs.starred)
    return ours.starred == theirs.starred
