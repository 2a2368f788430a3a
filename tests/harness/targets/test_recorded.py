"""The `recorded` target: answers from CSV and JSONL, found by case and repeat; wrong files are named."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.targets.recorded import RecordedTarget
from harness.types.answers import Call, MongoAnswer, NoQuery, Refusal, SqlAnswer, Usage
from harness.types.cases import Case, ExpectMongo, ExpectSql

NOW = datetime(2026, 8, 4, tzinfo=UTC)


def case(case_id, backend="postgres"):
    expectation = ExpectMongo(text="{}") if backend == "mongo" else ExpectSql(text="SELECT 1")
    return Case(id=case_id, nl="a", backend=backend, expectation=expectation)


def replies(path: Path, *asked):
    """The replies to (case id, repeat[, backend])."""

    async def ask():
        target = RecordedTarget(path)
        try:
            return [
                await target.answer(case(case_id, *backend), now=NOW, repeat=repeat)
                for case_id, repeat, *backend in asked
            ]
        finally:
            await target.aclose()
            await target.aclose()

    return asyncio.run(ask())


def opened(path: Path, use):
    """What `use` makes of the target, which is closed afterwards."""
    target = RecordedTarget(path)
    try:
        return use(target)
    finally:
        asyncio.run(target.aclose())


def jsonl(tmp_path, *rows):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def table(tmp_path, text):
    path = tmp_path / "answers.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("row", "backend", "answer"),
    [
        ({"sql": "SELECT $1", "args": [1, "x"]}, "postgres", SqlAnswer(text="SELECT $1", args=(1, "x"))),
        ({"mongo": {"a": 1}}, "mongo", MongoAnswer(text='{"a":1}')),
        ({"unsupported": "no such field"}, "postgres", Refusal(message="no such field")),
        ({"error": "timed out", "reason": "transport"}, "postgres", NoQuery(reason="transport", message="timed out")),
        ({"answer": "SELECT 2"}, "sqlite", SqlAnswer(text="SELECT 2")),
        ({"answer": "{a: 1}"}, "mongo", MongoAnswer(text="{a: 1}")),
        ({"raw": "Sure:\n```sql\nSELECT 3;\n```"}, "postgres", SqlAnswer(text="SELECT 3;")),
        ({"raw": '{"unsupported": "no"}'}, "postgres", Refusal(message="no")),
        ({}, "postgres", NoQuery(reason="empty", message="the recorded row holds no answer")),
    ],
)
def test_what_a_row_says(tmp_path, row, backend, answer):
    (reply,) = replies(jsonl(tmp_path, {"id": "A"} | row), ("A", 0, backend))
    assert reply.answer == answer


def test_what_an_answer_took_is_kept_where_it_is_known(tmp_path):
    rows = [
        {"id": "A", "sql": "SELECT 1", "latency_ms": 12.5, "usage": {"prompt_tokens": 7}, "raw": "SELECT 1 -- said"},
        {"id": "B", "sql": "SELECT 1"},
    ]
    first, second = replies(jsonl(tmp_path, *rows), ("A", 0), ("B", 0))
    assert first.calls == (Call(latency_ms=12.5, tries=1, usage=Usage(prompt=7)),)
    assert first.raw == "SELECT 1 -- said"
    assert (second.calls, second.raw) == ((), "")


def test_repeats_by_number_and_by_order(tmp_path):
    path = table(
        tmp_path,
        "id,repeat,sql,ignored\nA,1,SELECT 'a1',x\nB,,SELECT 'b0',x\nA,0,SELECT 'a0',x\n"
        "C,,SELECT 'c0',x\nB,,SELECT 'b1',x\n",
    )
    asked = [("A", 0), ("A", 1), ("B", 0), ("B", 1), ("C", 0)]
    texts = [reply.answer.text for reply in replies(path, *asked)]
    assert texts == ["SELECT 'a0'", "SELECT 'a1'", "SELECT 'b0'", "SELECT 'b1'", "SELECT 'c0'"]
    missing, unknown = (reply.answer for reply in replies(path, ("C", 1), ("D", 0)))
    assert missing == NoQuery(reason="empty", message="answers.csv has no answer for case C, repeat 1")
    assert unknown == NoQuery(reason="empty", message="answers.csv has no answer for case D, repeat 0")
    assert opened(path, lambda target: target.repeats) == 2


def test_cells_over_lines_marks_and_blank_rows(tmp_path):
    path = table(
        tmp_path,
        '\ufeffcase_id,answer,args\r\n"A","SELECT ""é"",\r\n 1",\r\n\r\n,,\r\nB,SELECT 2,\r\n"Ä, 1","SELECT 3",\r\n',
    )
    texts = [reply.answer.text for reply in replies(path, ("B", 0), ("A", 0), ("Ä, 1", 0))]
    assert texts == ["SELECT 2", 'SELECT "é",\r\n 1', "SELECT 3"]


def test_a_file_is_asked_in_any_order_and_at_once(tmp_path):
    path = jsonl(tmp_path, *({"id": str(number), "sql": f"SELECT {number}"} for number in range(500)))

    async def ask(target):
        asked = [target.answer(case(str(number)), now=NOW, repeat=0) for number in reversed(range(500))]
        return [reply.answer.text for reply in await asyncio.gather(*asked)]

    assert opened(path, lambda target: asyncio.run(ask(target))) == [
        f"SELECT {number}" for number in reversed(range(500))
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.jsonl", "", ["-: the file holds no answer"]),
        ("a.csv", "", ["1: the header has no column `id`"]),
        ("a.csv", "name,sql\nA,SELECT 1\n", ["1: the header has no column `id`"]),
        ("a.csv", "id,sql\n", ["-: the file holds no answer"]),
        ("a.csv", "id,sql\n,SELECT 1\n", ["2: `id` is missing"]),
        ("a.csv", "id,sql\nA,SELECT 1, 2\n", ["2: 3 cells, the header has 2; a cell with a comma in it needs quotes"]),
        ("a.csv", 'id,sql\nA,"SELECT 1\n', ["2: not CSV in UTF-8: unexpected end of data"]),
        ("a.csv", "id,sql,mongo\nA,SELECT 1,{}\n", ["2: fill one of sql, mongo, not more"]),
        ("a.csv", "id,sql,args\nA,SELECT 1,[\n", ["2: args: not JSON: expecting value at character 2"]),
        ("a.csv", "id,repeat,sql\nA,x,SELECT 1\n", ['2: `repeat` takes a whole number from 0, not "x"']),
        (
            "a.csv",
            "id,repeat,sql\nA,0,SELECT 1\nB,0,SELECT 1\n\nA,0,SELECT 2\n",
            ["5: case A, repeat 0 is answered already on line 2"],
        ),
        (
            "a.jsonl",
            '{"id": "A"}\n\n[1]\n{"id": 5, "repeat": -1}\nnope\n{"id": "A", "id": "B"}\n',
            [
                "3: a line is a JSON object",
                "4: `repeat` takes a whole number from 0, not -1",
                "5: not JSON: expecting value at character 1",
                "6: the key 'id' is written twice in one object",
            ],
        ),
    ],
)
def test_wrong_files_are_named(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        RecordedTarget(path)
    said = [f"{problem.line or '-'}: {problem.message}" for problem in caught.value.problems]
    assert said == expected


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        RecordedTarget(tmp_path / "none.csv")


def test_another_file_is_another_key(tmp_path):
    first = opened(jsonl(tmp_path, {"id": "A", "sql": "SELECT 1"}), lambda target: target.facts(case("A")))
    second = opened(jsonl(tmp_path, {"id": "A", "sql": "SELECT 2"}), lambda target: target.facts(case("A")))
    assert first != second
