"""Reading MongoDB queries out of replies: every dressing, every kind of answer."""

import json

import pytest

from harness.endpoint.chat import Completed, Unanswered
from harness.targets.replies import read_mongo_reply, read_reply
from harness.types.answers import MongoAnswer, NoQuery, Refusal


def said(content: str, **fields) -> Completed:
    return Completed(content=content, latency_ms=1.0, tries=1, **fields)


J = '{"status": "OPEN", "total": {"$gt": 5}}'
S = "db.orders.find({status: 'OPEN', at: ISODate(\"2026-01-01\")}).sort({at: -1}).limit(5)"
FIND = '{"collection": "orders", "filter": {"a": 1}, "limit": 5}'
NUMBERS = '{"a": 1.50, "b": 12345678901234567890, "c": 1e2}'
GET = 'db.getCollection("x").find({a: /b}c/i, d: "}"})'

QUERIES = [
    ("json", J, J),
    ("json in a fence", f"```json\n{J}\n```", J),
    ("find envelope", FIND, FIND),
    ("pipeline", '[{"$match": {"a": 1}}, {"$count": "n"}]', '[{"$match": {"a": 1}}, {"$count": "n"}]'),
    ("envelope", f'{{"mongo": {J}}}', J),
    ("envelope with text", json.dumps({"mongo": S}), S),
    ("envelope called query", f'{{"query": {J}, "explanation": "open"}}', J),
    ("envelope called query, text", json.dumps({"query": S}), S),
    ("envelope keeps numbers as written", f'{{"mongo": {NUMBERS}}}', NUMBERS),
    ("a field called query", '{"query": "shoes"}', '{"query": "shoes"}'),
    ("a field called query with an operator", '{"query": {"$regex": "x"}}', '{"query": {"$regex": "x"}}'),
    ("a field called sql", '{"sql": 1, "status": "OPEN"}', '{"sql": 1, "status": "OPEN"}'),
    ("a field called error", '{"error": "E1", "status": "OPEN"}', '{"error": "E1", "status": "OPEN"}'),
    ("shell", S, S),
    ("shell with semicolon", f"{S};", f"{S};"),
    ("shell with comment after", f"{S}; // newest first", S),
    ("shell in a fence", f"```javascript\n{S}\n```", S),
    ("shell in a mongosh fence", f"~~~~mongosh\n{S}\n~~~~", S),
    ("fence without language", f"```\n{S}\n```", S),
    ("chain over lines", "db.orders\n  .find({a: 1})\n  .sort({b: 1})", "db.orders\n  .find({a: 1})\n  .sort({b: 1})"),
    ("getCollection", GET, GET),
    ("index", 'db["x"].find({})', 'db["x"].find({})'),
    ("comments inside", "{a: 1, // it's } one\n b: 2 /* } */}", "{a: 1, // it's } one\n b: 2 /* } */}"),
    ("unquoted keys and trailing commas", "{status: 'OPEN', tags: ['a',],}", "{status: 'OPEN', tags: ['a',],}"),
    ("assigned", f"const cursor = {S};", f"{S};"),
    ("prose before", f"Here is the query:\n\n{S}", S),
    ("prose before, same line", f"Use this: {S}", S),
    ("inline code", f"Run `{S}` to get them.", S),
    ("prose after", f"{S}\n\nIt lists open orders.", S),
    ("prose around json", f"Filter:\n{J}\nThat is all, folks.", J),
    ("label", f"MongoDB query: {S}", S),
    ("think block", f"<think>{{a: 1}}\ndb.x.find({{}})</think>\n{S}", S),
    ("earlier fence of another language", f"```text\nplan\n```\n```js\n{S}\n```", S),
    ("fence inside an envelope", json.dumps({"mongo": f"```js\n{S}\n```"}), S),
    ("use before the query", f"use shop\n{S}", S),
]  # fmt: skip


@pytest.mark.parametrize(("content", "query"), [row[1:] for row in QUERIES], ids=[row[0] for row in QUERIES])
def test_query_is_found_in_its_dressing(content, query):
    assert read_mongo_reply(said(content)).answer == MongoAnswer(text=query)


REASONS = [
    ("two calls", "db.a.find({});\ndb.b.find({})", "multiple_statements"),
    ("two objects", '{"a": 1}\n{"b": 1}', "multiple_statements"),
    ("two calls with prose between", "db.a.find({})\n\nOr:\n\ndb.b.find({})", "multiple_statements"),
    ("two fences", '```json\n{"a": 1}\n```\nor\n```json\n{"b": 1}\n```', "multiple_statements"),
    ("nothing", "", "empty"),
    ("only thinking", "<think>{a: 1}", "empty"),
    ("empty envelope", '{"mongo": null}', "empty"),
    ("query and refusal", '{"mongo": {"a": 1}, "unsupported": "no"}', "unparseable"),
    ("python", "```python\nprint(1)\n```\n```bash\nls\n```", "unparseable"),
    ("one word", "OK", "unparseable"),
]


@pytest.mark.parametrize(("content", "reason"), [row[1:] for row in REASONS], ids=[row[0] for row in REASONS])
def test_reason_is_told_where_there_is_no_query(content, reason):
    answer = read_mongo_reply(said(content)).answer
    assert isinstance(answer, NoQuery)
    assert answer.reason == reason


REFUSALS = [
    ("envelope", '{"unsupported": "no warehouse field"}', "no warehouse field", "structure"),
    ("envelope in a fence", '```json\n{"unsupported": "no field"}\n```', "no field", "structure"),
    ("envelope with mongo null", '{"mongo": null, "unsupported": "no field"}', "no field", "structure"),
    ("words", "There is no warehouse field.", "There is no warehouse field.", "words"),
]


@pytest.mark.parametrize(("content", "message", "by"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refusal_is_told_from_a_query(content, message, by):
    assert read_mongo_reply(said(content)).answer == Refusal(message=message, by=by)


def test_tool_call_holds_the_query_or_an_envelope():
    assert read_mongo_reply(said("", tool_arguments=f'{{"mongo": {J}}}')).answer == MongoAnswer(text=J)
    assert read_mongo_reply(said("", tool_arguments=J)).answer == MongoAnswer(text=J)
    assert read_mongo_reply(said("", tool_arguments='{"unsupported": "no"}')).answer == Refusal(message="no")


def test_unbalanced_text_is_left_to_grading():
    assert read_mongo_reply(said("{a: 1")).answer == MongoAnswer(text="{a: 1")


def test_two_values_are_both_kept_for_grading():
    assert read_mongo_reply(said("{a: 1}, {b: 1}")).answer == MongoAnswer(text="{a: 1}, {b: 1}")


def test_backend_chooses_the_reader_and_a_failed_call_is_its_reason():
    assert read_reply(said(J), "mongo").answer == MongoAnswer(text=J)
    assert read_reply(said("SELECT 1"), "mysql").answer.kind == "sql"
    failed = Unanswered(reason="truncated", message="cut", tries=1, partial="SEL")
    reading = read_reply(failed, "postgres")
    assert reading.answer == NoQuery(reason="truncated", message="cut")
    assert reading.cut == "SEL"
