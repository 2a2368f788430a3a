"""The `prompt` target: what the model is told, and how what it says is read."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from harness.corpus.configs import load_config
from harness.endpoint.chat import Completed, Unanswered
from harness.errors import TargetError
from harness.targets.prompt import PromptTarget
from harness.targets.prompt_text import PROMPT_VERSION, prompt_digest, write_prompt
from harness.types.answers import Call, MongoAnswer, NoQuery, Refusal, SqlAnswer, Usage
from harness.types.cases import Case, ExpectMongo, ExpectSql

NOW = datetime(2026, 9, 14, 8, 30, tzinfo=UTC)
VOCABULARY = {
    "entity": "Order",
    "backends": {"sql": {"table": "orders"}, "mongo": {"collection": "order_docs"}},
    "fields": [
        {"name": "status", "type": "enum", "values": ["OPEN", "DONE"], "synonyms": ["state"]},
        {"name": "createdAt", "type": "date", "mapping": {"sql": "created_at"}, "description": "when it was made"},
        {"name": "tenantId", "type": "string", "mapping": {"sql": "tenant_id", "mongo": "tenant.id"}},
        {"name": "secretNote", "type": "string", "queryable": False, "returnable": False},
    ],
    "defaults": {"limit": 50, "maxLimit": 500},
}


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(VOCABULARY))
    return path


@pytest.fixture
def ddl(tmp_path):
    path = tmp_path / "schema.sql"
    path.write_text("CREATE TABLE t (a INTEGER);\n")
    return path


def case(config, backend="postgres", **facts):
    expectation = ExpectMongo(text="{}") if backend == "mongo" else ExpectSql(text="SELECT 1")
    return Case(id="A", nl="open orders", backend=backend, expectation=expectation, config=config, **facts)


class Says:
    """A stand-in for a model that says one thing and remembers what it was told."""

    def __init__(self, chat):
        self.chat = chat
        self.told = []

    async def complete(self, messages, origin):
        self.told.append((messages, origin))
        return self.chat

    async def aclose(self):
        raise AssertionError("the chatter belongs to its owner")


def ask(chat, asked, repeat=0):
    model = Says(chat)
    target = PromptTarget(model, endpoint_facts={"model": "m"})

    async def once():
        try:
            return await target.answer(asked, now=NOW, repeat=repeat)
        finally:
            await target.aclose()

    return asyncio.run(once()), model


def said(text, **rest):
    return Completed(content=text, latency_ms=5.0, tries=2, usage=Usage(prompt=9), finish="stop", **rest)


def test_the_prompt_for_sql_from_a_vocabulary(vocabulary):
    system, user = write_prompt(
        case(vocabulary, scope={"tenantId": ["a", "b"], "other": 5}), load_config(vocabulary), NOW
    )
    assert (system.role, user.role, user.content) == ("system", "user", "Request: open orders")
    assert system.content.startswith("You translate a request in natural language into one PostgreSQL query.")
    for line in (
        "Table orders (Order):",
        '- status (enum); one of "OPEN", "DONE"; also called state',
        "- created_at (date); also called createdAt; when it was made",
        "A request that names no columns gets: status, created_at, tenant_id",
        "A request that names no number of rows gets at most 50, and never more than 500",
        '- tenant_id is one of ["a", "b"]',
        "- other is 5",
        "Current time (UTC): 2026-09-14T08:30:00Z, a Monday.",
        '{"unsupported": "<reason>"}',
    ):
        assert line in system.content.splitlines()
    assert "secretNote" not in system.content


def test_the_prompt_for_mongo(vocabulary):
    system, _ = write_prompt(case(vocabulary, "mongo"), load_config(vocabulary), NOW)
    lines = system.content.splitlines()
    assert lines[0] == "You translate a request in natural language into one MongoDB query."
    assert "Collection order_docs (Order):" in lines
    assert "- tenant.id (string); also called tenantId" in lines
    assert (
        '- Write one JSON object that reads, for find: {"collection": …, "filter": {…}}, with "projection", "sort",'
        in (system.content)
    )


def test_the_prompt_from_ddl(ddl):
    system, _ = write_prompt(case(ddl, "sqlite"), load_config(ddl), NOW)
    assert "into one SQLite query" in system.content
    assert "Schema:\n```sql\nCREATE TABLE t (a INTEGER);\n```" in system.content
    assert ", or the schema says so" not in system.content


@pytest.mark.parametrize(
    ("chat", "backend", "answer"),
    [
        (said("```sql\nSELECT 1;\n```"), "postgres", SqlAnswer(text="SELECT 1;")),
        (said('```json\n{"filter": {"a": 1}}\n```'), "mongo", MongoAnswer(text='{"filter": {"a": 1}}')),
        (said('{"unsupported": "no such field"}'), "postgres", Refusal(message="no such field")),
        (said("", refusal="I cannot do that"), "postgres", Refusal(message="I cannot do that")),
        (
            Unanswered(reason="truncated", message="cut at 10 tokens", tries=1, partial="SELECT"),
            "postgres",
            NoQuery(reason="truncated", message="cut at 10 tokens"),
        ),
    ],
)
def test_what_is_said_is_read(vocabulary, chat, backend, answer):
    reply, _ = ask(chat, case(vocabulary, backend))
    assert reply.answer == answer


def test_the_reply_keeps_words_and_costs(vocabulary):
    reply, model = ask(said("Here:\n```sql\nSELECT 1\n```", notices=("note",)), case(vocabulary), repeat=3)
    assert reply.raw == "Here:\n```sql\nSELECT 1\n```"
    assert "Here:" in reply.cut
    assert reply.calls == (Call(latency_ms=5.0, tries=2, usage=Usage(prompt=9), finish="stop"),)
    assert reply.notices == ("note",)
    ((_, origin),) = model.told
    assert (origin.case_id, origin.repeat, origin.call) == ("A", 3, 0)
    unanswered, _ = ask(Unanswered(reason="transport", message="gone", tries=0, partial="par"), case(vocabulary))
    assert (unanswered.calls, unanswered.raw) == ((), "par")


def test_facts_name_prompt_endpoint_and_config(vocabulary, ddl):
    target = PromptTarget(Says(said("")), endpoint_facts={"model": "m"})
    facts = target.facts(case(vocabulary))
    assert facts["endpoint"] == {"model": "m"}
    assert facts["prompt"] == {"version": PROMPT_VERSION, "digest": prompt_digest()}
    assert facts["config"] != target.facts(case(ddl))["config"]


def test_a_case_without_a_config_cannot_be_asked():
    with pytest.raises(TargetError, match="case A names no config"):
        ask(said("SELECT 1"), case(None))


def test_the_prompt_is_the_one_of_its_version():
    """A change of the prompt's text is a new version: raise `PROMPT_VERSION` and pin its digest here."""
    assert (PROMPT_VERSION, prompt_digest()) == ("rung.prompt/1", "898549b24010aa3f")
