"""What the sandbox says of one query: its rows or why there are none, and how it was held."""

from typing import Literal

from pydantic import Field

from harness.sandbox.policy import Policy
from harness.types.frozen import Frozen
from harness.types.outcomes import ExecutionOutcome
from harness.types.results import Column, ResultCell, ResultDiff, SqlType, UntypedSchema
from harness.types.results import ResultSchema as TypedSchema

Status = Literal["success", "truncated", "validation_rejected", "timeout", "resource_limit", "execution_error"]
Wall = Literal[
    "parse",
    "authorizer",
    "grants",
    "read_only",
    "limits",
    "deadline",
    "kernel",
    "kill",
    "engine",
    "comparison",
    "setup",
]
"""Which wall stopped a query: its text, the engine's authorizer or grants, the read-only session, the engine's limits,
the engine's clock, the kernel's limits, the kill from outside, the engine itself, the comparison, or the setup."""

VALIDATION_VERSION = "rung.validation/1"

MESSAGES: dict[str, str] = {
    "empty": "The query is empty.",
    "too_long": "The query is longer than the policy allows.",
    "too_complex": "The query is nested or chained more deeply than is safe to parse.",
    "unparseable": "The query cannot be parsed in this dialect.",
    "multiple_statements": "The query holds more than one statement.",
    "not_a_read": "Only one read-only SELECT (with CTEs and set operations) is run.",
    "write": "The query would write.",
    "locking": "The query would lock rows.",
    "function_not_allowed": "The query calls a function that is not on the list of allowed functions.",
    "type_not_allowed": "The query casts to a type that is not allowed.",
    "operator_not_allowed": "The query uses an operator that is not allowed.",
    "table_not_allowed": "The query reads something that is not an ordinary table of the fixture.",
    "unknown_table": "The query reads a table that the fixture does not have.",
    "unbound_parameter": "The query has a parameter without a value.",
    "stage_not_allowed": "The query uses a pipeline stage that is not allowed.",
    "validation_failed": "The validation that was handed over did not accept the query.",
    "validation_version": "The validation that was handed over is of another version.",
    "validation_hash": "The validation that was handed over is of another query.",
    "virtual_tables": "Databases with virtual tables are not supported.",
    "not_authorized": "The engine refused a part of the query that is not allowed.",
    "read_only": "The engine refused a write.",
    "row_limit": "The query returns more rows than the policy allows.",
    "byte_limit": "The result is larger than the policy allows.",
    "value_too_large": "A value of the result, or of a step to it, is larger than the policy allows.",
    "memory_limit": "The query needs more memory than the policy allows.",
    "disk_limit": "The query needs more temporary storage than the policy allows.",
    "deadline": "The query did not finish in time.",
    "comparison_timeout": "The comparison of the results did not finish in time.",
    "worker_killed": "The query did not stop at its deadline and was killed.",
    "worker_terminated": "The process that ran the query ended abnormally.",
    "report_too_large": "The process that ran the query answered with more than is allowed.",
    "query_failed": "The query failed.",
    "engine_failed": "The engine failed.",
    "engine_lost": "The connection to the database was lost.",
    "database_unreadable": "The file is no database of this kind, or is damaged.",
    "database_missing": "The database file does not exist.",
    "database_not_regular": "The database is not a regular file.",
    "database_too_large": "The database file is larger than the policy allows.",
    "database_wal": "The database is in WAL mode; export a snapshot in rollback-journal format.",
    "database_journal": "The database has a journal beside it; it may be in use or half-written.",
    "database_changed": "The database file changed while it was read.",
    "rules_do_not_fit": "The comparison rules name columns that the results do not have, or not once.",
}
"""Every code and the fixed sentence that stands for it. No sentence holds SQL, paths, values or driver text."""


class Validation(Frozen):
    """What reading a query found, and what a later step may rely on.

    Attributes:
        version: of the rules it was read by.
        accepted: whether the query is one allowed read.
        code: why it is not, "" if it is.
        dialect: the dialect it was read in.
        sql_sha256: of the text that was validated.
        tables: ordinary tables that it reads, as the fixture names them.
        functions: functions that it calls.
        deterministic: whether it calls nothing that answers differently each time.
    """

    version: str = VALIDATION_VERSION
    accepted: bool
    code: str = ""
    dialect: str
    sql_sha256: str
    tables: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    deterministic: bool = True

    @property
    def message(self) -> str:
        """The fixed sentence for `code`."""
        return MESSAGES.get(self.code, "")


class SandboxError(Frozen):
    """Why there is no complete result.

    Attributes:
        code: what happened, a key of `MESSAGES`.
        message: the fixed sentence for it.
        wall: which wall stopped the query.
        sqlstate: SQLSTATE, where the engine gave one.
        condition: the engine's own name of the error, where it has one.
    """

    code: str
    message: str
    wall: Wall
    sqlstate: str | None = None
    condition: str | None = None


class SandboxResult(Frozen):
    """One query, run under a policy. Only `success` may be scored; a truncated result is a preview.

    Attributes:
        status: how it ended.
        error: why there is no complete result, `None` on success.
        columns: names and types of the columns (no types from SQLite).
        rows: the rows; blobs and non-finite floats are tagged.
        truncated: there is more than `rows`.
        duration_seconds: from the call to the answer.
        policy: the limits that were in force.
        sql_sha256: of the submitted text.
        snapshot_sha256: of the fixture's bytes, where it is a file; `None` where it was not read.
        schema_sha256: of the fixture's schema, `None` where it was not read.
        validation: what reading the query found, `None` where it was not read.
        engine: engine and version, "" where none was reached.
        layers: the walls that stood around the process.
        warnings: walls that this system does not have.
    """

    status: Status
    error: SandboxError | None = None
    columns: tuple[Column, ...] | tuple[str, ...] = ()
    rows: tuple[tuple[ResultCell, ...], ...] = ()
    truncated: bool = False
    duration_seconds: float = Field(ge=0)
    policy: Policy
    sql_sha256: str
    snapshot_sha256: str | None = None
    schema_sha256: str | None = None
    validation: Validation | None = None
    engine: str = ""
    layers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the result is complete and may be scored."""
        return self.status == "success"

    @property
    def schema_(self) -> TypedSchema | UntypedSchema:
        """The columns as a schema."""
        typed = tuple(column for column in self.columns if isinstance(column, Column))
        if typed or not self.columns:
            return TypedSchema(typed)
        return UntypedSchema(tuple(str(name) for name in self.columns))


class PairResult(Frozen):
    """Two queries, run on one fixture and compared.

    Attributes:
        outcome: how the results stand to each other, or what went wrong with which query.
        error: what went wrong, `None` on match and mismatch.
        diff: how the results differ; holds rows only where that was asked for.
        diff_truncated: rows were asked for and did not fit.
        duration_seconds: from the call to the answer.
        engine: engine and version.
        layers: the walls that stood.
        warnings: walls that this system does not have.
    """

    outcome: ExecutionOutcome
    error: SandboxError | None = None
    diff: ResultDiff | None = None
    diff_truncated: bool = False
    duration_seconds: float = Field(ge=0)
    engine: str = ""
    layers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def columns_of(described: list[dict[str, str]], dialect: str) -> tuple[Column, ...] | tuple[str, ...]:
    """Columns from what a worker reported; plain names where it knows no types."""
    if any(column["type"] for column in described):
        return tuple(
            Column(name=column["name"], type=SqlType.parse(column["type"] or "unknown", dialect))
            for column in described
        )
    return tuple(column["name"] for column in described)
