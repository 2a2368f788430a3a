"""The example service of the documentation, as it stands there, answers the `http` target."""

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.endpoint.loopback import LoopbackServer
from harness.targets.http import HttpTarget
from harness.types.answers import MongoAnswer, Refusal, SqlAnswer
from harness.types.cases import Case, ExpectSql

GUIDE = Path(__file__).parents[3] / "docs" / "pages" / "endpoints.md"


@pytest.mark.parametrize(
    ("nl", "backend", "answer"),
    [
        (
            "cancelled orders",
            "postgres",
            SqlAnswer(text="SELECT * FROM orders WHERE status = $1", args=("CANCELLED",)),
        ),
        ("cancelled orders", "mongo", MongoAnswer(text='{"status":"CANCELLED"}')),
        ("orders from the Ohio warehouse", "postgres", Refusal(message="there is no warehouse field")),
    ],
)
def test_example_service_answers(nl, backend, answer):
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]
    module: dict = {}
    exec(compile(code, str(GUIDE), "exec"), module)

    async def ask():
        async with LoopbackServer(module["app"]) as server:
            target = HttpTarget(f"{server.origin}/query")
            case = Case(id="S1", nl=nl, backend=backend, expectation=ExpectSql(text="SELECT 1"))
            reply = await target.answer(case, now=datetime(2026, 8, 4, tzinfo=UTC), repeat=0)
            await target.aclose()
            return reply.answer

    assert asyncio.run(ask()) == answer
