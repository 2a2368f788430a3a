"""Money and time that are spent stop the run, and nothing else does."""

import asyncio

import pytest

from harness.endpoint.budget import Budget, BudgetReached, Price
from harness.endpoint.chat import Message, Origin
from harness.endpoint.client import ModelClient
from harness.endpoint.scripted import Hang, Scenario, ScriptedResponse, ScriptedServer
from harness.endpoint.settings import EndpointSettings
from harness.errors import UsageError
from harness.types.answers import Usage

MESSAGES = (Message(role="user", content="x"),)


@pytest.mark.parametrize(
    ("text", "prompt", "completion"),
    [("0.15/0.60", 0.15, 0.6), (" 3 / 15 ", 3, 15), ("2", 2, 2), (".5:1", 0.5, 1), ("1,2", 1, 2)],
)
def test_price_is_read(text, prompt, completion):
    assert Price.parse(text) == Price(prompt=prompt, completion=completion)


@pytest.mark.parametrize("text", ["", "x", "1/2/3", "-1", "1/", "1e5", "٣"])
def test_what_is_no_price_is_refused(text):
    with pytest.raises(UsageError, match="is no price; write IN/OUT"):
        Price.parse(text)


def test_cost_counts_thinking_tokens_that_only_the_total_shows():
    price = Price(prompt=1.0, completion=10.0)
    assert price.cost(Usage(prompt=1000, completion=100, total=1100)) == pytest.approx(0.002)
    assert price.cost(Usage(prompt=1000, completion=100, total=1600)) == pytest.approx(0.007)
    assert price.cost(Usage(total=1600)) is None


def test_money_needs_a_price():
    with pytest.raises(UsageError, match="--max-cost needs --price"):
        Budget(max_cost=1.0)


def test_run_stops_once_the_money_is_spent():
    usage = {"prompt_tokens": 1000, "completion_tokens": 0, "total_tokens": 1000}
    with ScriptedServer() as server:
        url = server.scenario_url(Scenario("paid", "", (ScriptedResponse(content="SELECT 1", usage=usage),)))

        async def spend():
            client = ModelClient(
                EndpointSettings.of(url, "m"), budget=Budget(max_cost=0.0025, price=Price(prompt=1, completion=1))
            )
            kinds = []
            try:
                for number in range(10):
                    kinds.append((await client.complete(MESSAGES, Origin(case_id=str(number)))).kind)
            except BudgetReached as reached:
                return kinds, reached
            finally:
                await client.aclose()
            return kinds, None

        kinds, reached = asyncio.run(spend())
        assert kinds == ["completed"] * 3
        assert reached.kind == "cost"
        assert str(reached) == "--max-cost 0.0025 is reached: 0.0030 spent; --resume goes on"
        assert server.count == 3


def test_calls_without_usage_are_told():
    budget = Budget(max_cost=1.0, price=Price(prompt=1, completion=1))
    budget.charge(Usage())
    budget.check()
    assert budget.notices == ("1 calls reported no usage: their cost is unknown and --max-cost does not count them",)


def test_deadline_ends_a_hanging_call():
    with ScriptedServer() as server:
        url = server.scenario_url(Scenario("hangs", "", (Hang(),)))

        async def wait():
            client = ModelClient(EndpointSettings.of(url, "m"), budget=Budget(deadline=0.4))
            try:
                with pytest.raises(BudgetReached) as reached:
                    await client.complete(MESSAGES, Origin(case_id="a"))
                with pytest.raises(BudgetReached):
                    await client.complete(MESSAGES, Origin(case_id="b"))
            finally:
                await client.aclose()
            return reached.value.kind

        assert asyncio.run(wait()) == "deadline"
        assert server.count == 1
