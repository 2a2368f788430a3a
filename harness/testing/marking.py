"""The case of a test, written on it: `@eval_case("cancelled orders", expect_sql="SELECT …")`."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import UsageError
from harness.types.cases import Case, Expectation, ExpectMongo, ExpectRefusal, ExpectSql, ResultRules
from harness.types.evaluation import EvalCase

MARK = "rung_case"
Test = TypeVar("Test", bound=Callable[..., Any])


def eval_case(
    nl: str | Case | EvalCase,
    *,
    expect_sql: str | None = None,
    expect_mongo: str | None = None,
    expect_refusal: bool = False,
    expect: Expectation | None = None,
    id: str | None = None,
    backend: str = "postgres",
    config: str | Path | None = None,
    tags: tuple[str, ...] = (),
    accept: tuple[str, ...] = (),
    now: datetime | None = None,
    fixture: str | Path | None = None,
    result_rules: ResultRules | None = None,
) -> Callable[[Test], Test]:
    """Put a case on a test: its fixture `case` is the case then. Several make the test run once for each.

    Args:
        nl: the sentence, or a case that was made elsewhere.
        expect_sql: the query it should become.
        expect_mongo: the MongoDB query it should become.
        expect_refusal: it should be declined.
        expect: any other expectation (rows, a suite).
        id: what reports call it; `None` = the sentence.
        backend: `mongo` or a SQL dialect.
        config: vocabulary config or DDL.
        tags: labels; each is a marker of the test as well.
        accept: further queries that are right.
        now: the pinned instant, aware.
        fixture: data to run queries on.
        result_rules: how results are compared.

    Raises:
        UsageError: not exactly one expectation.
    """
    import pytest

    if isinstance(nl, EvalCase):
        case = nl.case
    elif isinstance(nl, Case):
        case = nl
    else:
        given: list[Expectation] = [] if expect is None else [expect]
        if expect_sql is not None:
            given.append(ExpectSql(text=expect_sql))
        if expect_mongo is not None:
            given.append(ExpectMongo(text=expect_mongo))
            backend = "mongo"
        if expect_refusal:
            given.append(ExpectRefusal())
        if len(given) != 1:
            raise UsageError("a case has one expectation: expect_sql, expect_mongo, expect_refusal or expect")
        case = Case(
            id=id or nl,
            nl=nl,
            backend=backend,
            expectation=given[0],
            config=None if config is None else Path(config),
            tags=tuple(tags),
            accept=tuple(accept),
            now=now,
            fixture=None if fixture is None else str(fixture),
            result_rules=result_rules or ResultRules(),
        )
    mark = getattr(pytest.mark, MARK)
    decorated: Callable[[Test], Test] = mark(case)
    return decorated
