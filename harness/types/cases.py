"""A case: one sentence, what it should become, and the conditions under which it is asked."""

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from harness.types.expectations import ExpectationSuite, ExpectRows, ExpectTypedRows
from harness.types.frozen import Frozen

Backend = str
"""`mongo`, or the sqlglot name of a SQL dialect. `sql` in a golden file is read as `postgres`."""


class ExpectSql(Frozen):
    """The sentence should become this SQL. `args` asserts the parameterised form with these bound values."""

    kind: Literal["sql"] = "sql"
    text: str
    args: tuple[JsonValue, ...] | None = None


class ExpectMongo(Frozen):
    """The sentence should become this MongoDB filter, envelope or pipeline (JSON or mongosh text)."""

    kind: Literal["mongo"] = "mongo"
    text: str


class ExpectRefusal(Frozen):
    """The sentence asks for what cannot be expressed: the system should decline."""

    kind: Literal["refusal"] = "refusal"
    error: Literal["unsupported"] = "unsupported"


Expectation = Annotated[
    ExpectSql | ExpectMongo | ExpectRefusal | ExpectRows | ExpectTypedRows | ExpectationSuite,
    Field(discriminator="kind"),
]


class ResultRules(Frozen):
    """How results are compared when a case is executed.

    Attributes:
        order_matters: rows must come in the golden's order (ties that its ORDER BY leaves open may differ).
        float_tolerance: absolute tolerance between finite floats.
        match_key: columns on which rows are aligned; empty = compare rows as a multiset.
    """

    order_matters: bool = False
    float_tolerance: float = Field(default=1e-9, ge=0, allow_inf_nan=False)
    match_key: tuple[str, ...] = ()


class Case(Frozen):
    """One row of a golden file, validated.

    Attributes:
        id: unique in its file.
        nl: the sentence.
        line: physical line of the golden file on which the row starts, 1-based (0 = not from a file).
        backend: `mongo` or a SQL dialect.
        expectation: what the sentence should become.
        config: the vocabulary config, resolved; `None` where the target needs none.
        tags: labels, in the file's order.
        accept: further acceptable queries in the same language.
        scope: filters that the caller imposes, by field name.
        now: the pinned instant, aware, UTC; `None` = the run's clock.
        fixture: URL or path of the data to execute on; `None` = the run's `--exec`.
        result_rules: how executed results are compared.
        weight: weight in the score.
        group: cluster of paraphrases, for statistics.
    """

    id: str = Field(min_length=1)
    nl: str = Field(min_length=1)
    line: int = Field(default=0, ge=0)
    backend: Backend
    expectation: Expectation
    config: Path | None = None
    tags: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    scope: dict[str, JsonValue] | None = None
    now: datetime | None = None
    fixture: str | None = None
    result_rules: ResultRules = ResultRules()
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    group: str | None = None

    @property
    def digest(self) -> str:
        """Hex digest of everything that says what is asked and what is expected; a changed row changes it."""
        text = self.model_dump_json(exclude={"line", "config", "fixture"})
        return hashlib.sha256(text.encode()).hexdigest()[:16]
