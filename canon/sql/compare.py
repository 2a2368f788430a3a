"""Decides whether two SQL queries mean the same: by their normal forms, then by regions; else it says what differs."""

from datetime import datetime
from itertools import permutations
from time import monotonic

from canon.errors import ReadError
from canon.rules import Rules
from canon.schema import Schema
from canon.sql.algebra import Block, Expr, Rel, SetOp, rewrite
from canon.sql.checks import check_conditions, unread_checks
from canon.sql.context import Arguments, BudgetError
from canon.sql.ddl import read_schema
from canon.sql.differences import differences
from canon.sql.filters import Decision, aligned, decide_filters
from canon.sql.query import SqlQuery, read_sql
from canon.sql.rendering import canonical_text
from canon.sql.witnesses import row_witness
from canon.verdict import Canonical, Comparison, Difference, Identical, Problem, Proved, Refuted, Side, Undecided

MAX_PERMUTED = 5
INTERNAL = "the comparison met a case that it does not know; please report the two queries"


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
        now: the instant that clock calls fold to; aware.
        rules: what may be overlooked, and the budget.

    Returns:
        The verdict with its evidence. A text that cannot be read gives `Undecided` with a `problem`; nothing is raised.
    """
    deadline = monotonic() + rules.budget_ms / 1000
    try:
        known = read_schema(schema, dialect) if isinstance(schema, str) else schema
    except ReadError as error:
        return Undecided(problem=error.problem(None))
    queries: list[SqlQuery] = []
    sides: tuple[tuple[Side, str, Arguments], ...] = (
        ("expected", expected, expected_args),
        ("actual", actual, actual_args),
    )
    for side, text, args in sides:
        try:
            queries.append(read_sql(text, dialect=dialect, schema=known, args=args, now=now, deadline=deadline))
        except ReadError as error:
            return Undecided(problem=error.problem(side))
        except Exception as error:
            return Undecided(problem=_internal(error, side))
    ours, theirs = queries
    volatile = _nondeterministic(ours, theirs)
    if volatile is not None:
        return volatile
    if _trimmed(expected) == _trimmed(actual) and repr(expected_args) == repr(actual_args):
        return Identical()
    try:
        return _decide(ours, theirs, rules, deadline)
    except BudgetError:
        return Undecided(problem=Problem(kind="budget", side=None, message=f"not decided within {rules.budget_ms} ms"))
    except RecursionError:
        return Undecided(problem=Problem(kind="too_large", side=None, message="nested too deeply to be compared"))
    except Exception as error:
        return Undecided(problem=_internal(error, None))


def _internal(error: Exception, side: Side | None) -> Problem:
    return Problem(kind="unsupported", side=side, message=f"{INTERNAL}: {type(error).__name__}: {error}")


def _trimmed(text: str) -> str:
    return text.strip().removesuffix(";").rstrip()


def _nondeterministic(ours: SqlQuery, theirs: SqlQuery) -> Undecided | None:
    for query, side in ((ours, "expected"), (theirs, "actual")):
        reason = query.nondeterminism
        if reason is not None:
            found = {side: reason}
            return Undecided(differences=(Difference(kind="nondeterministic", where="query", **found),))
    return None


def _decide(ours: SqlQuery, theirs: SqlQuery, rules: Rules, deadline: float) -> Comparison:
    any_order = rules.columns == "any"
    stars = _same_stars(ours, theirs, rules)
    if stars:
        if ours.surface(any_column_order=any_order) == theirs.surface(any_column_order=any_order):
            return Canonical(absorbed=_absorbed(ours, theirs))
        decision = _by_regions(ours, theirs, ours.rel, theirs.rel, rules, deadline)
        settled = _settled(decision, ours, theirs)
        if settled is not None:
            return settled
    normal = ours.normal_text(any_column_order=any_order) == theirs.normal_text(any_column_order=any_order)
    if stars and (normal or (any_order and _permuted(ours, theirs))):
        return Canonical(absorbed=_absorbed(ours, theirs))
    if stars:
        decision = _by_regions(ours, theirs, ours.normal(), theirs.normal(), rules, deadline)
        if decision.kind == "proved":
            return Proved(absorbed=_absorbed(ours, theirs), assumptions=decision.assumptions)
    return Undecided(differences=differences(ours, theirs, rules), absorbed=_absorbed(ours, theirs))


def _absorbed(ours: SqlQuery, theirs: SqlQuery) -> tuple[str, ...]:
    return tuple(sorted(ours.ctx.used | theirs.ctx.used))


def _settled(decision: Decision, ours: SqlQuery, theirs: SqlQuery) -> Comparison | None:
    """What the regions said of the two conditions as they were written."""
    absorbed = _absorbed(ours, theirs)
    if decision.kind == "proved":
        return Proved(absorbed=tuple(sorted({*absorbed, "regions"})), assumptions=decision.assumptions)
    if decision.kind == "vacuous":
        return Undecided(differences=(Difference(kind="vacuous", where="WHERE"),), absorbed=absorbed)
    if (
        decision.kind == "refuted"
        and isinstance(ours.rel, Block)
        and isinstance(theirs.rel, Block)
        and decision.row is not None
    ):
        if unread_checks(ours.rel, ours.ctx):
            return None
        witness = row_witness(ours.rel, theirs.rel, decision.row, decision.kept, (ours.names, theirs.names), ours.ctx)
        if witness is not None:
            return Refuted(differences=differences(ours, theirs), witness=witness, absorbed=absorbed)
    return None


def _by_regions(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
    ours: SqlQuery, theirs: SqlQuery, first: Rel | None, second: Rel | None, rules: Rules, deadline: float
) -> Decision:
    if not isinstance(first, Block) or not isinstance(second, Block) or first.where == second.where:
        return Decision("open")
    if ours.ctx.loose or theirs.ctx.loose:
        return Decision("open")
    renamed = aligned(first, second)
    if renamed is None:
        return Decision("open")
    checks = check_conditions(first, ours.ctx)
    return decide_filters(first, renamed, ours.ctx, checks, limit=rules.max_regions, deadline=deadline)


def _same_stars(ours: SqlQuery, theirs: SqlQuery, rules: Rules) -> bool:
    """Whether the outputs that a star brought in are the same ones, where that matters."""
    if rules.star == "expand":
        return True
    if rules.columns == "any":
        return sorted(ours.starred) == sorted(theirs.starred)
    return ours.starred == theirs.starred


def _permuted(ours: SqlQuery, theirs: SqlQuery) -> bool:
    """Whether the outputs of two set operations are one under a permutation of the columns."""
    first, second = ours.normal(), theirs.normal()
    if not isinstance(first, SetOp) or not isinstance(second, SetOp):
        return False
    text = canonical_text(first)
    width = len(ours.names)
    if width != len(theirs.names) or not 1 < width <= MAX_PERMUTED:
        return False
    for order in permutations(range(width)):
        moved = _reordered(second, order)
        if moved is not None and canonical_text(moved) == text:
            return True
    return False


def _reordered(rel: Rel, order: tuple[int, ...]) -> Rel | None:
    """A query with its output columns in another order."""
    if isinstance(rel, Block):
        if len(rel.select) != len(order):
            return None
        return rel._replace(select=tuple([rel.select[position] for position in order]))
    branches = [_reordered(branch, order) for branch in rel.branches]
    known = [branch for branch in branches if branch is not None]
    if len(known) < len(branches):
        return None
    back = {Expr("out", old, ()): Expr("out", new, ()) for new, old in enumerate(order)}
    keys = tuple([key._replace(expr=rewrite(key.expr, back.get)) for key in rel.order])
    return rel._replace(branches=tuple(known), order=keys)
