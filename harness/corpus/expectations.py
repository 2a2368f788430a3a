"""The columns that say what a sentence should become; exactly one of them is filled in each row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from harness.corpus.columns import CellError, did_you_mean
from harness.corpus.expected_results import Beside, read_rows, read_suite
from harness.corpus.query_texts import Args, mongo_problem, sql_problem
from harness.types.cases import Expectation, ExpectMongo, ExpectRefusal, ExpectSql


@dataclass(frozen=True)
class ExpectationColumn:
    """One kind of expectation.

    Attributes:
        build: reads the cell and what goes with it; raises `CellError`.
        backend: `sql`, `mongo`, or `any`: which backends it can be asked of.
        problem: what is wrong with a query of this kind (text, backend, args), `None` if nothing is; `None` in its
            place = this kind has no queries, so that `accept` cannot go with it.
        companions: further columns that may go with it.
    """

    build: Callable[[str, Beside], Expectation]
    backend: str
    problem: Callable[[str, str, Args], str | None] | None
    companions: tuple[str, ...] = ()


def _sql(cell: str, beside: Beside) -> Expectation:
    return ExpectSql(text=cell, args=beside.args)


def _mongo(cell: str, beside: Beside) -> Expectation:
    return ExpectMongo(text=cell)


def _refusal(cell: str, beside: Beside) -> Expectation:
    if cell.strip() != "unsupported":
        raise CellError(f"takes `unsupported`, not `{cell.strip()[:60]}`{did_you_mean(cell.strip(), ('unsupported',))}")
    return ExpectRefusal()


EXPECTATIONS: Mapping[str, ExpectationColumn] = MappingProxyType(
    {
        "expect_sql": ExpectationColumn(_sql, "sql", sql_problem, ("expect_args",)),
        "expect_mongo": ExpectationColumn(_mongo, "mongo", lambda text, backend, args: mongo_problem(text)),
        "expect_error": ExpectationColumn(_refusal, "any", None),
        "expect_rows": ExpectationColumn(read_rows, "sql", None, ("expect_schema",)),
        "expect_suite": ExpectationColumn(read_suite, "sql", None),
    }
)

COMPANIONS = ("expect_args", "expect_schema")
"""Columns that go with some kinds of expectation only."""
