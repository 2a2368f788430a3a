"""The base of errors that are values: a kind, a message, and a cause that stays in the process."""

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from harness.types.frozen import Frozen


class Error(Frozen):
    """A typed failure. Kinds of failure narrow `kind` and add fields of their own.

    Attributes:
        kind: what kind of failure.
        message: one line for a person.
        cause: the exception, for debugging in the same process; it is never written anywhere.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    kind: str = Field(min_length=1)
    message: str = Field(min_length=1)
    cause: SkipJsonSchema[Exception | None] = Field(default=None, exclude=True, repr=False)
