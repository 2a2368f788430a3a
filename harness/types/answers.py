"""What a target gave back: the raw reply with its measurements, and the answer read from it."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from harness.types.frozen import Frozen

NoQueryReason = Literal[
    "transport",
    "empty",
    "unparseable",
    "truncated",
    "content_filter",
    "unexpected_refusal",
    "not_a_read",
    "multiple_statements",
    "target_crashed",
]
"""Why there is no query to grade: the closed list behind the grade ERROR."""


class SqlAnswer(Frozen):
    """A SQL query, as text, with the values bound to its parameters (by position or by name)."""

    kind: Literal["sql"] = "sql"
    text: str
    args: tuple[JsonValue, ...] | dict[str, JsonValue] = ()


class MongoAnswer(Frozen):
    """A MongoDB filter, envelope or pipeline, as JSON or mongosh text."""

    kind: Literal["mongo"] = "mongo"
    text: str


class Refusal(Frozen):
    """The system declined.

    Attributes:
        message: what it said.
        by: `structure` (an envelope, the API's refusal field, a typed refusal) or `words` (no query, only prose).
    """

    kind: Literal["refusal"] = "refusal"
    message: str
    by: Literal["structure", "words"] = "structure"


class NoQuery(Frozen):
    """Nothing that could be graded came back."""

    kind: Literal["none"] = "none"
    reason: NoQueryReason
    message: str


Answer = Annotated[SqlAnswer | MongoAnswer | Refusal | NoQuery, Field(discriminator="kind")]


class Usage(Frozen):
    """Tokens as the endpoint reported them; `None` = not reported. Nothing is estimated."""

    prompt: int | None = None
    completion: int | None = None
    total: int | None = None


class Call(Frozen):
    """One model call of an attempt, as it went.

    Attributes:
        latency_ms: from the start of the last try to its last byte, in milliseconds.
        tries: HTTP requests made for it, the first included.
        usage: tokens.
        finish: the endpoint's finish reason, where it gave one.
    """

    latency_ms: float
    tries: int = Field(ge=1)
    usage: Usage = Usage()
    finish: str | None = None


class Reply(Frozen):
    """What a target gave back for one attempt.

    Attributes:
        answer: what was read from it.
        raw: the model's own text (the AST, the SQL in its dressing), or the program's output.
        cut: what was cut away to read the answer (think blocks, prose, fences), "" if nothing.
        calls: the model calls it took, in order; the second and later ones are repairs.
        notices: things the user should know of, once per run (`today line absent`, `temperature not accepted`).
    """

    answer: Answer
    raw: str = ""
    cut: str = ""
    calls: tuple[Call, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def repairs(self) -> int:
        """Model calls beyond the first."""
        return max(0, len(self.calls) - 1)

    @property
    def retries(self) -> int:
        """Transport retries over all calls."""
        return sum(call.tries - 1 for call in self.calls)
