"""Any query comes back exactly out of any dressing, and no text makes a reader raise."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.endpoint.chat import Completed
from harness.targets.replies import read_mongo_reply, read_sql_reply
from harness.types.answers import MongoAnswer, SqlAnswer


def said(content: str, **fields) -> Completed:
    return Completed(content=content, latency_ms=1.0, tries=1, **fields)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=12)
NAME = st.sampled_from(["id", "status", "total", '"Order Id"', "t.amount", "créé"])
STRING = TEXT.map(lambda text: "'" + text.replace("'", "''") + "'")
VALUE = st.one_of(STRING, st.integers(-999, 999).map(str), st.just("NULL"), st.just("'a;b -- c'"), st.just("'/* x */'"))
PREDICATE = st.builds("{} {} {}".format, NAME, st.sampled_from(["=", "<>", ">", "LIKE"]), VALUE)
WHERE = st.lists(PREDICATE, min_size=1, max_size=3).map("\n  AND ".join)
COMMENT = st.sampled_from(["", " -- it's; a note\n", " /* one; two's */ ", "\n"])


@st.composite
def sql(draw) -> str:
    columns = ", ".join(draw(st.lists(st.one_of(NAME, VALUE), min_size=1, max_size=3)))
    query = f"SELECT{draw(COMMENT) or ' '} {columns} FROM orders{draw(COMMENT)} WHERE {draw(WHERE)}"
    kind = draw(st.sampled_from(["plain", "cte", "union", "nested", "order"]))
    if kind == "cte":
        return f"WITH x AS (\n\n{query}\n\n)\nSELECT * FROM x"
    if kind == "union":
        return f"{query}\n\nUNION ALL\n\n{query}"
    if kind == "nested":
        return f"SELECT count(*) FROM ({query}) AS s"
    return f"{query}\nORDER BY 1 LIMIT 5" if kind == "order" else query


def fence(mark: str, info: str):
    return lambda query: f"{mark}{info}\n{query}\n{mark}"


def longest(query: str) -> str:
    return "`" * max(
        3, max((len(run) for run in query.replace("\n", " ").split(" ") if set(run) == {"`"}), default=0) + 1
    )


SQL_DRESSINGS = {
    "bare": str,
    "blank": lambda query: f"\n\n{query}\n\n",
    "backticks": lambda query: fence(longest(query), "sql")(query),
    "many backticks": fence("`" * 9, " SQL"),
    "tildes": fence("~~~~", "postgresql"),
    "info": fence("`" * 9, 'sql title="x"'),
    "no language": fence("`" * 9, ""),
    "prose around": lambda query: f"Sure; here's it:\n\n{fence('`' * 9, 'sql')(query)}\n\nIt's done; enjoy.",
    "earlier fence": lambda query: f"```text\nlook at 'orders;\n```\n{fence('`' * 9, 'sql')(query)}",
    "label": lambda query: f"SQL: {query}",
    "envelope": lambda query: json.dumps({"sql": query}),
    "envelope, unescaped": lambda query: json.dumps({"query": query, "explanation": "x; y"}, ensure_ascii=False),
    "envelope in a fence": lambda query: fence("```", "json")(json.dumps({"sql": query})),
    "envelope after prose": lambda query: f"Here:\n{json.dumps({'sql': query})}",
    "fence in an envelope": lambda query: json.dumps({"sql": fence("`" * 9, "sql")(query)}),
    "think": lambda query: f"<think>\nSELECT 1; it's 'odd\n</think>\n\n{query}",
    "think before a fence": lambda query: f"<think>hm ```sql\nSELECT 2\n``` </think>{fence('`' * 9, 'sql')(query)}",
    "lone close": lambda query: f"it's thinking\n</think>\n{fence('`' * 9, 'sql')(query)}",
    "unclosed think": lambda query: f"<think>it's like this\n\n{fence('`' * 9, 'sql')(query)}",
    "trailing comment": lambda query: f"{query};\n-- that's it; done",
    "prose after": lambda query: f"{query};\n\nThis query's result lists the orders; enjoy.",
    "prose before": lambda query: f"Here is what you asked for:\n\n{query}",
}


@settings(max_examples=300, deadline=None)
@given(sql(), st.sampled_from(sorted(SQL_DRESSINGS)))
def test_sql_comes_back_exactly(query, dressing):
    answer = read_sql_reply(said(SQL_DRESSINGS[dressing](query))).answer
    assert isinstance(answer, SqlAnswer)
    assert answer.text.removesuffix(";").strip() == query.strip()


@settings(max_examples=100, deadline=None)
@given(sql())
def test_sql_comes_back_exactly_out_of_a_tool_call(query):
    answer = read_sql_reply(said("", tool_arguments=json.dumps({"sql": query}))).answer
    assert answer == SqlAnswer(text=query.strip())


@settings(max_examples=100, deadline=None)
@given(sql(), sql(), st.sampled_from(["; ", ";\n\n", ";\n-- and; this\n", "\n```\nor\n```sql\n"]))
def test_two_statements_are_never_the_first(first, second, between):
    text = f"{first}{between}{second}"
    if "```" in between:
        text = f"```sql\n{text}\n```"
    answer = read_sql_reply(said(text)).answer
    same = first.strip() == second.strip() and "```" in between
    assert answer.kind == ("sql" if same else "none")
    assert same or answer.reason == "multiple_statements"


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXT, st.just("}); // '"), st.just("```")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=8,
)
FILTER = st.dictionaries(st.sampled_from(["status", "total", "a.b", "$or", "créé"]), JSON, max_size=3)
FILTER_TEXT = st.builds(json.dumps, FILTER, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 2]))
MONGO = st.one_of(
    FILTER_TEXT,
    FILTER_TEXT.map("db.orders.find({}).sort({{at: -1}}).limit(5)".format),
    FILTER_TEXT.map('db.getCollection("o").find(/* it\'s */ {}, {{a: /x\\/}}]/i}})'.format),
    FILTER_TEXT.map("[{{$match: {}}}, {{$count: 'n'}}]".format),
)

MONGO_DRESSINGS = {
    "bare": lambda query: query,
    "fence": fence("`" * 9, "javascript"),
    "json fence": fence("`" * 9, "json"),
    "tildes": fence("~~~~", "mongosh"),
    "no language": fence("`" * 9, ""),
    "prose around": lambda query: f"Sure; here's it:\n\n{fence('`' * 9, 'js')(query)}\n\nIt's done; enjoy.",
    "envelope": lambda query: json.dumps({"mongo": query}),
    "think": lambda query: f"<think>\n{{a: 1}} it's db.x.find()\n</think>\n\n{query}",
    "unclosed think": lambda query: f"<think>it's like this\n\n{fence('`' * 9, 'js')(query)}",
    "prose before": lambda query: f"Here is what you asked for:\n\n{query}",
    "prose after": lambda query: f"{query}\n\nThis query's result lists the orders; enjoy.",
    "comment after": lambda query: f"{query}; // that's it",
}


@settings(max_examples=300, deadline=None)
@given(MONGO, st.sampled_from(sorted(MONGO_DRESSINGS)))
def test_mongo_comes_back_exactly(query, dressing):
    assert read_mongo_reply(said(MONGO_DRESSINGS[dressing](query))).answer == MongoAnswer(text=query)


SHARDS = st.sampled_from(
    ["```", "```sql\n", "~~~", "<think>", "</think>", '{"sql":', '"', "'", "SELECT ", "db.", "{", "}", "[", "]", ";",
     "--", "/*", "*/",
     "\n", "\n\n", "SQL:", "WITH x AS (", ")", "$$", "\\", "unsupported", ": ", ",", "/", "x",
     "<|channel|>final<|message|>"]
)  # fmt: skip
HOSTILE = st.one_of(
    st.text(max_size=200),
    st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")),
    st.binary(max_size=200).map(lambda raw: raw.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()),
    st.lists(SHARDS, max_size=30).map("".join),
)


@settings(max_examples=400, deadline=None)
@given(HOSTILE, st.sampled_from(["postgres", "mysql", "sqlite", "tsql", "nonsense"]), st.booleans())
def test_no_text_makes_a_reader_raise(text, dialect, words_refuse):
    for reading in (
        read_sql_reply(said(text), dialect=dialect, words_refuse=words_refuse),
        read_mongo_reply(said(text), words_refuse=words_refuse),
        read_sql_reply(said("", tool_arguments=text), dialect=dialect),
        read_mongo_reply(said("", tool_arguments=text)),
    ):
        assert reading.answer.kind in ("sql", "mongo", "refusal", "none")
        assert isinstance(reading.cut, str)
