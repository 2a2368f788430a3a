"""What the packages offer by name, and what importing them loads."""

import subprocess
import sys

import pytest

import canon
import harness

HARNESS = (
    "Answer",
    "Budget",
    "Call",
    "Case",
    "CaseResult",
    "Column",
    "ColumnType",
    "ColumnTypeMismatch",
    "ColumnValueMismatch",
    "ComparisonConfig",
    "Corpus",
    "EndpointError",
    "Error",
    "EvalCase",
    "EvalFailed",
    "Execution",
    "ExecutionError",
    "ExecutionResult",
    "ExpectMongo",
    "ExpectRefusal",
    "ExpectRows",
    "ExpectSql",
    "ExpectTypedRows",
    "Expectation",
    "ExpectationResult",
    "ExpectationSuite",
    "ExpectationSuiteScorer",
    "FileProblem",
    "FirstDecisive",
    "GoldQuery",
    "GoldenError",
    "Grade",
    "GradedAnswer",
    "HasColumns",
    "Identity",
    "InputError",
    "JournalError",
    "Json",
    "Judgement",
    "LadderScorer",
    "MissingExtraError",
    "MongoAnswer",
    "NoQuery",
    "NotNull",
    "Outcome",
    "PlatformRef",
    "Policy",
    "Refusal",
    "Reply",
    "Reporter",
    "ResultDiff",
    "ResultExpectation",
    "ResultRules",
    "ResultSchema",
    "ResultSetScorer",
    "RowCount",
    "Run",
    "RunFacts",
    "RunView",
    "RungError",
    "Sandbox",
    "SandboxError",
    "SandboxResult",
    "ScoreResult",
    "Scorer",
    "SemanticScorer",
    "SemanticVerdict",
    "SolverError",
    "SolverOutput",
    "SqlAnswer",
    "SqlType",
    "Summary",
    "Target",
    "TargetError",
    "TargetSettings",
    "Unique",
    "UntypedSchema",
    "Usage",
    "UsageError",
    "VocabularyError",
    "arun",
    "assert_eval",
    "compare_results",
    "eval_case",
    "evaluate",
    "grade",
    "load_golden",
    "run",
)
CANON = (
    "Canonical",
    "Comparison",
    "Difference",
    "DocumentWitness",
    "Identical",
    "Problem",
    "Proved",
    "ReadError",
    "Refuted",
    "RowWitness",
    "Rules",
    "Schema",
    "Undecided",
    "compare_mongo",
    "compare_sql",
    "read_mongo",
    "read_schema",
    "read_sql",
)
HEAVY = {"sqlglot", "pydantic", "scipy", "httpx", "pymongo", "rich", "typer", "asyncio"}


def test_the_names_are_the_ones_that_people_rely_on() -> None:
    assert tuple(sorted(harness.__all__)) == HARNESS
    assert tuple(sorted(canon.__all__)) == CANON


@pytest.mark.parametrize("module", [canon, harness])
def test_every_name_loads_and_is_listed(module: object) -> None:
    names = module.__all__  # type: ignore[attr-defined]
    assert [name for name in names if getattr(module, name, None) is None] == []
    assert set(names) <= set(dir(module))


@pytest.mark.parametrize("name", ["canon", "harness", "harness.pytest_plugin"])
def test_importing_loads_nothing_heavy(name: str) -> None:
    # pytest is there already where the plugin is loaded.
    code = f"import sys, pytest; before = set(sys.modules); import {name}; print(*(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY & {module.split(".")[0] for module in loaded} == set()
    assert name in loaded
