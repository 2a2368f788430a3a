"""Everything of rung that talks to a model, a database, a file or a person.

The public names are loaded when they are asked for, so that importing the package costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import GradedAnswer, Json, Run, arun, grade, load_golden, run
    from harness.corpus.golden_csv import Corpus
    from harness.errors import (
        EndpointError,
        GoldenError,
        InputError,
        JournalError,
        MissingExtraError,
        RungError,
        SandboxError,
        TargetError,
        UsageError,
        VocabularyError,
    )
    from harness.grading.identities import Identity
    from harness.report.reporter import Reporter, RunView
    from harness.sandbox import Policy, Sandbox, SandboxResult, compare_results
    from harness.targets.registry import TargetSettings
    from harness.targets.target import Target
    from harness.testing import EvalFailed, assert_eval, eval_case, evaluate
    from harness.testing.scorers import (
        ExpectationSuiteScorer,
        FirstDecisive,
        LadderScorer,
        ResultSetScorer,
        Scorer,
        SemanticScorer,
    )
    from harness.types.answers import Answer, Call, MongoAnswer, NoQuery, Refusal, Reply, SqlAnswer, Usage
    from harness.types.cases import Case, Expectation, ExpectMongo, ExpectRefusal, ExpectSql, ResultRules
    from harness.types.error import Error
    from harness.types.evaluation import EvalCase, PlatformRef
    from harness.types.expectations import (
        ColumnType,
        ExpectationResult,
        ExpectationSuite,
        ExpectRows,
        ExpectTypedRows,
        GoldQuery,
        HasColumns,
        NotNull,
        ResultExpectation,
        RowCount,
        Unique,
    )
    from harness.types.outcomes import CaseResult, Execution, Grade, Judgement, Outcome
    from harness.types.problems import FileProblem
    from harness.types.results import (
        Budget,
        Column,
        ColumnTypeMismatch,
        ColumnValueMismatch,
        ComparisonConfig,
        ExecutionError,
        ExecutionResult,
        ResultDiff,
        ResultSchema,
        SqlType,
        UntypedSchema,
    )
    from harness.types.run import RunFacts, Summary
    from harness.types.scores import ScoreResult, SemanticVerdict, SolverError, SolverOutput

_HOMES = {
    "harness.api": (
        "GradedAnswer",
        "Json",
        "Run",
        "arun",
        "grade",
        "load_golden",
        "run",
    ),
    "harness.corpus.golden_csv": ("Corpus",),
    "harness.errors": (
        "EndpointError",
        "GoldenError",
        "InputError",
        "JournalError",
        "MissingExtraError",
        "RungError",
        "SandboxError",
        "TargetError",
        "UsageError",
        "VocabularyError",
    ),
    "harness.grading.identities": ("Identity",),
    "harness.report.reporter": (
        "Reporter",
        "RunView",
    ),
    "harness.sandbox": (
        "Policy",
        "Sandbox",
        "SandboxResult",
        "compare_results",
    ),
    "harness.targets.registry": ("TargetSettings",),
    "harness.targets.target": ("Target",),
    "harness.testing": (
        "EvalFailed",
        "assert_eval",
        "eval_case",
        "evaluate",
    ),
    "harness.testing.scorers": (
        "ExpectationSuiteScorer",
        "FirstDecisive",
        "LadderScorer",
        "ResultSetScorer",
        "Scorer",
        "SemanticScorer",
    ),
    "harness.types.answers": (
        "Answer",
        "Call",
        "MongoAnswer",
        "NoQuery",
        "Refusal",
        "Reply",
        "SqlAnswer",
        "Usage",
    ),
    "harness.types.cases": (
        "Case",
        "Expectation",
        "ExpectMongo",
        "ExpectRefusal",
        "ExpectSql",
        "ResultRules",
    ),
    "harness.types.error": ("Error",),
    "harness.types.evaluation": (
        "EvalCase",
        "PlatformRef",
    ),
    "harness.types.expectations": (
        "ColumnType",
        "ExpectRows",
        "ExpectTypedRows",
        "ExpectationResult",
        "ExpectationSuite",
        "GoldQuery",
        "HasColumns",
        "NotNull",
        "ResultExpectation",
        "RowCount",
        "Unique",
    ),
    "harness.types.outcomes": (
        "CaseResult",
        "Execution",
        "Grade",
        "Judgement",
        "Outcome",
    ),
    "harness.types.problems": ("FileProblem",),
    "harness.types.results": (
        "Budget",
        "Column",
        "ColumnTypeMismatch",
        "ColumnValueMismatch",
        "ComparisonConfig",
        "ExecutionError",
        "ExecutionResult",
        "ResultDiff",
        "ResultSchema",
        "SqlType",
        "UntypedSchema",
    ),
    "harness.types.run": (
        "RunFacts",
        "Summary",
    ),
    "harness.types.scores": (
        "ScoreResult",
        "SemanticVerdict",
        "SolverError",
        "SolverOutput",
    ),
}

__all__ = [
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
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
