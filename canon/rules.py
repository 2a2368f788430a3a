"""What the caller allows a comparison to overlook, and how long it may take."""

from typing import Literal

from pydantic import Field

from canon.verdict import Frozen


class Rules(Frozen):
    """The rules of one comparison.

    Attributes:
        star: `strict` keeps `SELECT *` apart from a column list; `expand` reads it as the columns of a known schema.
        columns: `any` lets two projections differ by a permutation; `ordered` compares them by position.
        budget_ms: how long one pair may take, in milliseconds; past it the verdict is undecided.
        max_regions: how many rows the region decision may try.
    """

    star: Literal["strict", "expand"] = "strict"
    columns: Literal["any", "ordered"] = "any"
    budget_ms: int = Field(default=2000, gt=0)
    max_regions: int = Field(default=200_000, gt=0)
