"""Reading SQL out of replies: every dressing, every kind of answer."""

import json

import pytest

from harness.endpoint.chat import Completed
from harness.targets.replies import read_sql_reply
from harness.types.answers import NoQuery, Refusal, SqlAnswer


def said(content: str, **fields) -> Completed:
    return Completed(content=content, latency_ms=1.0, tries=1, **fields)


Q = "SELECT id FROM orders WHERE status = 'OPEN'"
SPACED = "SELECT id\n\nFROM orders\n\nWHERE a = 1\n\nORDER BY id"
CTE = "WITH a AS (\n\n  SELECT 1 AS x\n\n)\nSELECT x FROM a"
SORRY = "I cannot answer this: there is no warehouse field."
CHOOSE = "Select another field, there is no warehouse."

QUERIES = [
    ("bare", Q, Q),
    ("bare with semicolon", f"{Q};", f"{Q};"),
    ("blanks around", f"\n\n  {Q}  \n", Q),
    ("trailing comment", f"{Q}; -- done", f"{Q};"),
    ("trailing comment lines", f"{Q};\n-- all open orders\n/* ok; fine */", f"{Q};"),
    ("semicolons in strings and comments", "SELECT 'a;b' -- x; y", "SELECT 'a;b' -- x; y"),
    ("doubled quote", "SELECT 'it''s; ok' FROM t; ", "SELECT 'it''s; ok' FROM t;"),
    ("leading comment", f"-- open orders\n{Q}", f"-- open orders\n{Q}"),
    ("label", f"SQL: {Q}", Q),
    ("label on its own line", f"SQL\n{Q}", Q),
    ("bold label", f"**SQL Query:** {Q}", Q),
    ("single backticks", f"`{Q}`", Q),
    ("fence", f"```sql\n{Q}\n```", Q),
    ("fence in capitals", f"```SQL\n{Q};\n```", f"{Q};"),
    ("fence with info", f'```sql title="answer.sql"\n{Q}\n```', Q),
    ("braced info", f"```{{.sql}}\n{Q}\n```", Q),
    ("postgresql fence", f"```postgresql\n{Q}\n```", Q),
    ("five backticks", f"`````sql\n{Q}\n`````", Q),
    ("tildes", f"~~~sql\n{Q}\n~~~", Q),
    ("fence without language", f"```\n{Q}\n```", Q),
    ("fence that says its language inside", f"```\nsql\n{Q}\n```", Q),
    ("unknown language", f"```oracle11g\n{Q}\n```", Q),
    ("unclosed fence", f"```sql\n{Q}", Q),
    ("fence on one line", f"```sql {Q}```", Q),
    ("fence on one line, no language", f"```{Q}```", Q),
    ("query on the line of the fence", f"```sql {Q}\n```", Q),
    ("indented fence", f"1. Here:\n   ```sql\n   {Q}\n   ```", Q),
    ("prose around a fence", f"Sure! Here is the query:\n\n```sql\n{Q}\n```\n\nIt selects open orders; enjoy.", Q),
    ("prose with a semicolon before a fence", f"First I look at orders; then:\n```sql\n{Q}\n```", Q),
    ("earlier fence of another kind", f"Schema:\n```json\n{{\"t\": 1}}\n```\nQuery:\n```sql\n{Q}\n```", Q),
    ("earlier text fence", f"```text\nplan: filter\n```\n```sql\n{Q}\n```", Q),
    ("python before an unlabelled fence", f"```python\nprint(1)\n```\n\n```\n{Q}\n```", Q),
    ("the same fence twice", f"```sql\n{Q}\n```\nAgain:\n```sql\n{Q}\n```", Q),
    ("prose before", f"Here is the query you asked for:\n\n{Q}", Q),
    ("prose before, same line", f"The query is: {Q}", Q),
    ("prose after a semicolon", f"{Q};\n\nThis returns all open orders. It's quick.", f"{Q};"),
    ("prose after, no semicolon", f"{Q}\n\nThis returns all open orders.", Q),
    ("prose before and after", f"Query:\n\n{Q}\n\n**Note:** statuses are upper case.", Q),
    ("blank lines in the query", SPACED, SPACED),
    ("cte", CTE, CTE),
    ("union over blank lines", "SELECT 1\n\nUNION ALL\n\nSELECT 2", "SELECT 1\n\nUNION ALL\n\nSELECT 2"),
    ("parenthesised", "(SELECT 1) UNION (SELECT 2)", "(SELECT 1) UNION (SELECT 2)"),
    ("envelope", json.dumps({"sql": Q}), Q),
    ("envelope called query", json.dumps({"query": Q, "explanation": "open; orders"}), Q),
    ("envelope in a fence", f"```json\n{json.dumps({'sql': Q})}\n```", Q),
    ("envelope after prose", f"Here you go:\n{json.dumps({'sql': Q})}\nDone.", Q),
    ("fence inside an envelope", json.dumps({"sql": f"```sql\n{Q}\n```"}), Q),
    ("envelope with raw line ends", '{"sql": "SELECT id\nFROM t"}', "SELECT id\nFROM t"),
    ("envelope with refusal null", json.dumps({"sql": Q, "unsupported": None}), Q),
    ("envelope in an envelope", json.dumps({"result": {"sql": Q}}), Q),
    ("envelope with a list of one", json.dumps({"sql": [Q]}), Q),
    ("think block", f"<think>\nmaybe SELECT 1; or DROP TABLE x\n```sql\nSELECT 2\n```\n</think>\n\n{Q}", Q),
    ("think block, lone close", f"I could use SELECT 1.\n</think>\n{Q}", Q),
    ("think block with blanks and case", f"  <Thinking>a\n</Thinking>\n```sql\n{Q}\n```", Q),
    ("unclosed think, answer last in a fence", f"<think>\nfilter by status\n\n```sql\n{Q}\n```", Q),
    ("unclosed think, answer last", f"<think>\nfilter by status\n\n{Q}", Q),
    ("think tag as data", "SELECT '<think>' AS a, '</think>' AS b", "SELECT '<think>' AS a, '</think>' AS b"),
    ("final channel", f"<|channel|>analysis<|message|>SELECT 1?<|end|><|channel|>final<|message|>{Q}<|return|>", Q),
    ("a write is for grading to refuse", "DELETE FROM orders", "DELETE FROM orders"),
    ("a drop in a fence is for grading to refuse", "```sql\nDROP TABLE orders\n```", "DROP TABLE orders"),
    ("crlf", f"```sql\r\n{Q}\r\n```\r\n", Q),
]  # fmt: skip


@pytest.mark.parametrize(("content", "query"), [row[1:] for row in QUERIES], ids=[row[0] for row in QUERIES])
def test_query_is_found_in_its_dressing(content, query):
    assert read_sql_reply(said(content)).answer == SqlAnswer(text=query)


REASONS = [
    ("two statements", "SELECT 1; SELECT 2", "multiple_statements"),
    ("two statements in a fence", "```sql\nSELECT 1;\nSELECT 2;\n```", "multiple_statements"),
    ("two sql fences", "```sql\nSELECT 1\n```\nor\n```sql\nSELECT 2\n```", "multiple_statements"),
    ("a read and a drop", f"{Q}; DROP TABLE orders", "multiple_statements"),
    ("two with prose between", "SELECT 1;\n\nOr, if you prefer:\n\nSELECT 2;", "multiple_statements"),
    ("two with prose between, no semicolons", "SELECT 1\n\nAlternatively:\n\nSELECT 2", "multiple_statements"),
    ("set, then select", "SET search_path = x; SELECT 1", "multiple_statements"),
    ("list in an envelope", json.dumps({"sql": ["SELECT 1", "SELECT 2"]}), "multiple_statements"),
    ("garbage after the semicolon in a fence", "```sql\nSELECT 1; foo\n```", "multiple_statements"),
    ("nothing", "", "empty"),
    ("blanks", " \n\t ", "empty"),
    ("only thinking", "<think>hmm</think>", "empty"),
    ("thinking without end", "<think>hmm, let me see", "empty"),
    ("empty fence", "```sql\n```", "empty"),
    ("only a semicolon in a fence", "```sql\n;\n```", "empty"),
    ("only a comment in a fence", "```sql\n-- nothing\n```", "empty"),
    ("empty envelope", '{"sql": ""}', "empty"),
    ("null envelope", '{"sql": null}', "empty"),
    ("query and refusal", json.dumps({"sql": Q, "unsupported": "no"}), "unparseable"),
    ("number for a query", '{"sql": 5}', "unparseable"),
    ("other json", '{"foo": 1}', "unparseable"),
    ("python", "```python\nprint(1)\n```", "unparseable"),
    ("announced and not given", "Sure, here is the query you asked for:", "unparseable"),
    ("one word", "Hello", "unparseable"),
    ("html", "<html><body>Bad gateway today</body></html>", "unparseable"),
]


@pytest.mark.parametrize(("content", "reason"), [row[1:] for row in REASONS], ids=[row[0] for row in REASONS])
def test_reason_is_told_where_there_is_no_query(content, reason):
    answer = read_sql_reply(said(content)).answer
    assert isinstance(answer, NoQuery)
    assert answer.reason == reason


REFUSALS = [
    ("envelope", '{"unsupported": "no warehouse field"}', "no warehouse field", "structure"),
    ("envelope in a fence", '```json\n{"unsupported": "no warehouse field"}\n```', "no warehouse field", "structure"),
    ("envelope with sql null", '{"sql": null, "unsupported": "no such field"}', "no such field", "structure"),
    ("envelope with true", '{"unsupported": true, "reason": "no such field"}', "no such field", "structure"),
    ("error envelope", '{"error": "unsupported", "message": "no field"}', "unsupported: no field", "structure"),
    ("envelope after thinking", '<think>SELECT 1</think>{"unsupported": "x y"}', "x y", "structure"),
    ("envelope after prose", 'Sorry.\n{"unsupported": "no field"}', "no field", "structure"),
    ("words", SORRY, SORRY, "words"),
    ("words with a keyword", CHOOSE, CHOOSE, "words"),
    ("words about SELECT", "SELECT statements cannot express this.", "SELECT statements cannot express this.", "words"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message", "by"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_refusal_is_told_from_a_query(content, message, by):
    assert read_sql_reply(said(content)).answer == Refusal(message=message, by=by)


def test_words_are_no_refusal_where_that_rule_is_off():
    answer = read_sql_reply(said("I cannot answer this one."), words_refuse=False).answer
    assert isinstance(answer, NoQuery)
    assert answer.reason == "unparseable"


def test_api_refusal_field_is_a_refusal():
    assert read_sql_reply(said("", refusal="I can't.")).answer == Refusal(message="I can't.")
    assert read_sql_reply(said("no can do", refusal="I can't.")).answer == Refusal(message="I can't.")
    assert read_sql_reply(said(Q, refusal="I can't.")).answer == SqlAnswer(text=Q)


def test_tool_call_is_read_like_an_envelope_then_like_text():
    assert read_sql_reply(said("", tool_arguments=json.dumps({"sql": Q}))).answer == SqlAnswer(text=Q)
    assert read_sql_reply(said("Calling.", tool_arguments=json.dumps({"query": Q}))).answer == SqlAnswer(text=Q)
    assert read_sql_reply(said("", tool_arguments=Q)).answer == SqlAnswer(text=Q)
    assert read_sql_reply(said("", tool_arguments='{"unsupported": "no"}')).answer == Refusal(message="no")
    assert read_sql_reply(said("", tool_arguments='{"x": 1}')).answer.reason == "unparseable"


def test_envelope_binds_arguments():
    reading = read_sql_reply(said(json.dumps({"sql": "SELECT $1", "args": [5, None, "x"]})))
    assert reading.answer == SqlAnswer(text="SELECT $1", args=(5, None, "x"))
    named = read_sql_reply(said(json.dumps({"sql": "SELECT :a", "params": {"a": 1}})))
    assert named.answer == SqlAnswer(text="SELECT :a", args={"a": 1})


def test_what_was_cut_is_kept():
    reading = read_sql_reply(said(f"<think>hm</think>Sure:\n```sql\n{Q}; -- done\n```\nBye."))
    assert reading.answer == SqlAnswer(text=f"{Q};")
    assert [piece in reading.cut for piece in ("<think>hm</think>", "Sure:", "-- done", "Bye.")] == [True] * 4


def test_cut_off_reply_is_never_a_query():
    assert read_sql_reply(said(Q, finish="length")).answer.reason == "truncated"


DIALECTS = [
    ("mysql", "SELECT 'it\\'s; x'; # done; now", "SELECT 'it\\'s; x';"),
    ("mysql", "SELECT `a;b` FROM t", "SELECT `a;b` FROM t"),
    ("mysql", "SELECT 5--3; -- x", "SELECT 5--3;"),
    ("postgres", "SELECT '\\'; -- x", "SELECT '\\';"),
    ("postgres", "SELECT E'\\';', a #> '{b}' FROM t;", "SELECT E'\\';', a #> '{b}' FROM t;"),
    ("postgres", "SELECT $$a;b$$, $x$;$x$; /* a /* b; */ c */", "SELECT $$a;b$$, $x$;$x$;"),
    ("sqlite", 'SELECT "a;b", [c;d] FROM t; -- e', 'SELECT "a;b", [c;d] FROM t;'),
    ("tsql", "SELECT TOP 5 [a;b] FROM t", "SELECT TOP 5 [a;b] FROM t"),
]


@pytest.mark.parametrize(("dialect", "content", "query"), DIALECTS)
def test_semicolons_are_read_as_the_dialect_does(dialect, content, query):
    assert read_sql_reply(said(content), dialect=dialect).answer == SqlAnswer(text=query)
