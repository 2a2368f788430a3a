"""The base of every data type here: immutable, closed, validated without coercion."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable value; an unknown field or a value of another type is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=True)
