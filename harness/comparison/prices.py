"""Prices that the user gives, and what a run cost by them. No price is built in: they change by the week."""

from collections.abc import Mapping, Sequence

from harness.comparison.sides import CaseSide
from harness.errors import UsageError
from harness.types.frozen import Frozen


class Price(Frozen):
    """Money per million tokens, in whatever currency the user thinks in."""

    prompt: float
    completion: float


def read_prices(options: Sequence[str]) -> dict[str, Price]:
    """Read `--price model=in,out` options.

    Raises:
        UsageError: an option is no price, or a model has two.
    """
    prices: dict[str, Price] = {}
    for option in options:
        model, _, rest = option.rpartition("=")
        amounts = rest.split(",")
        try:
            prompt, completion = (float(amount) for amount in amounts)
        except ValueError:
            raise UsageError(_wrong(option)) from None
        if not model or not (0 <= prompt < float("inf") and 0 <= completion < float("inf")):
            raise UsageError(_wrong(option))
        if model in prices:
            raise UsageError(f"--price {option}: {model} has a price already")
        prices[model] = Price(prompt=prompt, completion=completion)
    return prices


def price_of(names: Sequence[str | None], prices: Mapping[str, Price]) -> Price | None:
    """The price of the first name that has one."""
    return next((prices[name] for name in names if name is not None and name in prices), None)


def cost(cases: Sequence[CaseSide], price: Price | None) -> float | None:
    """What the cases cost, `None` without a price or where an endpoint did not report its tokens."""
    if price is None:
        return None
    total = 0.0
    for case in cases:
        if case.prompt_tokens is None or case.completion_tokens is None:
            return None
        total += case.prompt_tokens * price.prompt + case.completion_tokens * price.completion
    return total / 1_000_000


def _wrong(option: str) -> str:
    return f"--price {option}: write model=in,out with the prices per million tokens, such as small-model=0.10,0.40"
