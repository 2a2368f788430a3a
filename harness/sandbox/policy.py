"""How much a query may take and give: every limit of the sandbox, with its default."""

from typing import Self

from pydantic import Field, model_validator

from harness.types.frozen import Frozen

KIB = 1024
MIB = 1024 * KIB

SQL_LIMIT = 100_000


class Policy(Frozen):
    """The limits of one case. Values outside their ranges are refused; nothing in a case can raise them.

    Attributes:
        deadline_seconds: for everything: validation, execution, encoding and collecting the answer.
        max_rows: rows returned; one more is fetched, to tell a full result from a cut one.
        max_result_bytes: columns and rows as compact JSON.
        max_value_bytes: one string, blob or row inside the engine.
        max_image_bytes: a SQLite or DuckDB fixture.
        address_space_bytes: virtual memory of the process that runs the query.
        heap_bytes: memory of the SQLite engine beyond the fixture.
        max_sql_characters: length of a query.
        grace_seconds: how long after its deadline a query that does not answer to its engine's clock is killed.
        allow_missing_landlock: run, with a warning in every result, where the kernel has no Landlock.
    """

    deadline_seconds: float = Field(default=10.0, gt=0, le=300, allow_inf_nan=False)
    max_rows: int = Field(default=1000, ge=1, le=1_000_000)
    max_result_bytes: int = Field(default=MIB, ge=KIB, le=64 * MIB)
    max_value_bytes: int = Field(default=256 * KIB, ge=KIB, le=16 * MIB)
    max_image_bytes: int = Field(default=64 * MIB, ge=KIB, le=512 * MIB)
    address_space_bytes: int = Field(default=256 * MIB, ge=128 * MIB, le=4096 * MIB)
    heap_bytes: int = Field(default=96 * MIB, ge=8 * MIB, le=2048 * MIB)
    max_sql_characters: int = Field(default=SQL_LIMIT, ge=1, le=SQL_LIMIT)
    grace_seconds: float = Field(default=0.5, ge=0.05, le=5, allow_inf_nan=False)
    allow_missing_landlock: bool = True

    @model_validator(mode="after")
    def _room_for_the_image(self) -> Self:
        if self.address_space_bytes < self.max_image_bytes + 64 * MIB:
            raise ValueError("address_space_bytes must leave 64 MiB beside the largest fixture (max_image_bytes)")
        return self

    @classmethod
    def for_checks(cls, *, timeout_ms: int = 5000, max_rows: int = 10_000) -> "Policy":
        """The limits of `rung sql check`: per query, with 8 MiB of result and 1 MiB a value.

        Args:
            timeout_ms: of each query, 1 to 300,000.
            max_rows: of each query, 1 to 100,000.
        """
        return cls(
            deadline_seconds=timeout_ms / 1000,
            max_rows=max_rows,
            max_result_bytes=8 * MIB,
            max_value_bytes=MIB,
            address_space_bytes=512 * MIB,
        )
