"""Golden files: what loads, and for each thing that can be wrong the exact message."""

import codecs
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.corpus.columns import COLUMNS
from harness.corpus.expectations import EXPECTATIONS
from harness.corpus.golden_csv import MAX_PROBLEMS, MAX_WARNINGS, Corpus, open_corpus
from harness.corpus.query_texts import sql_problem
from harness.errors import GoldenError, UsageError
from harness.types.cases import ExpectMongo, ExpectRefusal, ExpectSql, ResultRules

CONFIG = '{"entity": "Order", "fields": [{"name": "status", "type": "string"}]}'


@pytest.fixture
def golden(tmp_path: Path):
    """Writes a golden file and opens it."""
    (tmp_path / "config.json").write_text(CONFIG)
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (a INTEGER);")
    (tmp_path / "data.db").write_bytes(b"")

    def open_text(text: str | bytes, **options: object) -> Corpus:
        path = tmp_path / "golden.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return open_corpus(path, **options)  # type: ignore[arg-type]

    return open_text


def problems(golden, text: str | bytes, **options: object) -> list[str]:
    with pytest.raises(GoldenError) as caught:
        golden(text, **options)
    places = []
    for problem in caught.value.problems:
        place = f"{problem.line}" if problem.line is not None else "-"
        places.append(f"{place}: {problem.column or '-'}: {problem.message}")
    return places


HEAD = "id,nl,expect_sql\n"
ONE_OF = "fill exactly one of `expect_sql`, `expect_mongo`, `expect_error`, `expect_rows`, `expect_suite`"
SAVE = "save the file as UTF-8 (in Excel: “CSV UTF-8”)"

WRONG: dict[str, tuple[str | bytes, list[str]]] = {
    "empty file": ("", ["-: -: the file is empty; it needs a header row and a case"]),
    "only blank lines": ("\r\n\n  \n", ["-: -: the file is empty; it needs a header row and a case"]),
    "only a header": (HEAD, ["1: -: the file has a header but no case"]),
    "unknown column": (
        "id,nl,expect_sql,expect_sqll\nA,a,SELECT 1,\n",
        ["1: expect_sqll: unknown column; did you mean `expect_sql`?"],
    ),
    "unknown column under another name": (
        "id,question,expect_sql,nl\nA,a,SELECT 1,a\n",
        ["1: question: unknown column; did you mean `nl`?"],
    ),
    "unknown column that resembles nothing": (
        "id,nl,expect_sql,zzz\nA,a,SELECT 1,\n",
        ["1: zzz: unknown column"],
    ),
    "header in capitals": (
        "ID,nl,expect_sql\nA,a,SELECT 1\n",
        [
            "1: ID: unknown column; did you mean `id`?",
            "1: id: the header lacks this column, which every golden file has",
        ],
    ),
    "duplicate header": (
        "id,nl,expect_sql,nl\nA,a,SELECT 1,b\n",
        ["1: nl: the header names this column twice"],
    ),
    "no expectation column": (
        "id,nl\nA,a\n",
        ["1: -: the header has none of `expect_sql`, `expect_mongo`, `expect_error`, `expect_rows`, `expect_suite`"],
    ),
    "duplicate id": (
        HEAD + "A,a,SELECT 1\nB,b,SELECT 1\nA,c,SELECT 1\n",
        ["4: id: `A` is used already on line 2; ids are unique"],
    ),
    "duplicate id after an embedded newline": (
        HEAD + 'A,"a\nb\nc",SELECT 1\n\nA,c,SELECT 1\n',
        ["6: id: `A` is used already on line 2; ids are unique"],
    ),
    "missing id": (HEAD + ",a,SELECT 1\n", ["2: id: is required in every row"]),
    "missing sentence": (HEAD + "A, ,SELECT 1\n", ["2: nl: is required in every row"]),
    "no expectation": (HEAD + "A,a,\n", [f"2: -: no expectation: {ONE_OF}"]),
    "two expectations": (
        "id,nl,expect_sql,expect_error\nA,a,SELECT 1,unsupported\n",
        [f"2: -: {ONE_OF}, not expect_sql and expect_error"],
    ),
    "an error that is none": (
        "id,nl,expect_error\nA,a,unsuported\n",
        ["2: expect_error: takes `unsupported`, not `unsuported`; did you mean `unsupported`?"],
    ),
    "more cells than the header": (
        HEAD + "A,orders, please,SELECT 1\n",
        ["2: -: 4 cells, the header has 3; a cell with a delimiter in it needs quotes"],
    ),
    "unknown backend": (
        "id,nl,backend,expect_sql\nA,a,postgrez,SELECT 1\n",
        ["2: backend: no backend is called `postgrez`; did you mean `postgres`?"],
    ),
    "SQL for MongoDB": (
        "id,nl,backend,expect_sql\nA,a,mongo,SELECT 1\n",
        ["2: expect_sql: is for another backend than `mongo`; set `backend` to `sql` or a SQL dialect"],
    ),
    "MongoDB for SQL": (
        "id,nl,expect_mongo\nA,a,{}\n",
        ["2: expect_mongo: is for another backend than `postgres`; set `backend` to `mongo`"],
    ),
    "SQL that does not read": (
        HEAD + "A,a,SELEC 1\n",
        ["2: expect_sql: not postgres: Invalid expression / Unexpected token (line 1, column 7 near `1`)"],
    ),
    "two statements": (
        HEAD + "A,a,SELECT 1; SELECT 2\n",
        ["2: expect_sql: the text has 2 statements; one query is expected"],
    ),
    "no read": (
        HEAD + "A,a,DELETE FROM orders\n",
        ["2: expect_sql: the statement is a DELETE, no query"],
    ),
    "smart quotes in SQL": (
        HEAD + "A,a,SELECT * FROM orders WHERE status = ‘OPEN’\n",
        [
            "2: expect_sql: typographic quote ‘ in “…WHERE status = ‘OPEN’…”: write WHERE status = 'OPEN' with"
            " straight quotes (a spreadsheet replaced them)"
        ],
    ),
    "smart quotes in MongoDB": (
        "id,nl,backend,expect_mongo\nA,a,mongo,{“a”: 1}\n",
        [
            '2: expect_mongo: typographic quote “ in “…{“a”: 1}…”: write {"a": 1} with'
            " straight quotes (a spreadsheet replaced them)"
        ],
    ),
    "bad JSON in scope": (
        "id,nl,expect_sql,scope\nA,a,SELECT 1,{tenant: 1}\n",
        ["2: scope: not JSON: expecting property name enclosed in double quotes at character 2"],
    ),
    "scope that is no object": (
        "id,nl,expect_sql,scope\nA,a,SELECT 1,[1]\n",
        ['2: scope: takes a JSON object, such as {"tenantId": "acme"}, not `[1]`'],
    ),
    "scope with a key twice": (
        'id,nl,expect_sql,scope\nA,a,SELECT 1,"{""a"":1,""a"":2}"\n',
        ["2: scope: the key 'a' is written twice in one object"],
    ),
    "scope with a nested value": (
        'id,nl,expect_sql,scope\nA,a,SELECT 1,"{""a"":{""b"":2}}"\n',
        ["2: scope: 'a' takes a string, number, boolean or a list of those"],
    ),
    "args that are no array": (
        "id,nl,expect_sql,expect_args\nA,a,SELECT $1,5\n",
        ['2: expect_args: takes a JSON array, such as ["CANCELLED", 500], not `5`'],
    ),
    "args without SQL": (
        "id,nl,expect_error,expect_args\nA,a,unsupported,[1]\n",
        ["2: expect_args: goes with `expect_sql` only"],
    ),
    "bad date": (
        "id,nl,expect_sql,now\nA,a,SELECT 1,04.08.2026\n",
        ["2: now: `04.08.2026` is no ISO 8601 date; write it as 2026-08-04 or 2026-08-04T09:30:00Z"],
    ),
    "a day that does not exist": (
        "id,nl,expect_sql,now\nA,a,SELECT 1,2026-02-30\n",
        ["2: now: `2026-02-30` is no ISO 8601 date; write it as 2026-08-04 or 2026-08-04T09:30:00Z"],
    ),
    "missing config": (
        "id,nl,expect_sql,config\nA,a,SELECT 1,nowhere.json\n",
        ["2: config: no such file: `nowhere.json` (looked for beside the golden file)"],
    ),
    "missing fixture": (
        "id,nl,expect_sql,fixture\nA,a,SELECT 1,nowhere.db\n",
        ["2: fixture: no such file: `nowhere.db` (looked for beside the golden file)"],
    ),
    "default projection without a config": (
        HEAD + "A,a,SELECT <default> FROM orders\n",
        ["2: expect_sql: `<default>` needs a vocabulary config; name one in `config` or with --config"],
    ),
    "default projection with DDL": (
        "id,nl,expect_sql,config\nA,a,SELECT <default> FROM orders,schema.sql\n",
        ["2: expect_sql: `<default>` needs a vocabulary config; name one in `config` or with --config"],
    ),
    "default projection in a dialect that the engine lacks": (
        "id,nl,backend,expect_sql,config\nA,a,sqlite,SELECT <default> FROM orders,config.json\n",
        [
            "2: expect_sql: `<default>` is what QueryForge compiles, and it does not compile for sqlite;"
            " write the columns out"
        ],
    ),
    "parameter without a value": (
        HEAD + "A,a,SELECT * FROM t WHERE a = $1\n",
        [
            "2: expect_sql: the parameter $1 has no value; give the values in `expect_args`, or write them inline",
        ],
    ),
    "too few values": (
        "id,nl,expect_sql,expect_args\nA,a,SELECT * FROM t WHERE a = $1 AND b = $2,[5]\n",
        ["2: expect_sql: the query's parameters are 2, the values in `expect_args` are 1"],
    ),
    "values for nothing": (
        "id,nl,expect_sql,expect_args\nA,a,SELECT 1,[5]\n",
        ["2: expect_sql: the query's parameters are 0, the values in `expect_args` are 1"],
    ),
    "accept that does not read": (
        'id,nl,expect_sql,accept\nA,a,SELECT 1,"[""SELECT 2"", ""SELEC 3""]"\n',
        ["2: accept: query 2: not postgres: Invalid expression / Unexpected token (line 1, column 7 near `3`)"],
    ),
    "accept that is no query": (
        "id,nl,expect_sql,accept\nA,a,SELECT 1,[1]\n",
        ["2: accept: takes a JSON array of queries; 1 is none"],
    ),
    "accept beside a refusal": (
        'id,nl,expect_error,accept\nA,a,unsupported,"[""SELECT 2""]"\n',
        ["2: accept: goes with an expected query only"],
    ),
    "order_matters": (
        "id,nl,expect_sql,order_matters\nA,a,SELECT 1,maybe\n",
        ["2: order_matters: takes true or false, not `maybe`"],
    ),
    "float_tolerance": (
        'id,nl,expect_sql,float_tolerance\nA,a,SELECT 1,"0,01"\n',
        ["2: float_tolerance: takes a number, not `0,01`; write a decimal point, not a comma"],
    ),
    "weight": (
        "id,nl,expect_sql,weight\nA,a,SELECT 1,0\n",
        ["2: weight: takes a number above 0, not `0`"],
    ),
    "infinite weight": (
        "id,nl,expect_sql,weight\nA,a,SELECT 1,inf\n",
        ["2: weight: takes a number above 0, not `inf`"],
    ),
    "unterminated quote": (
        HEAD + 'A,a,SELECT 1\nB,b,"SELECT 1\nC,c,SELECT 1\n',
        [
            "3: -: a quote that opens in this row is never closed, so that the rest of the file is one cell; close it",
            "3: -: the rows after it were not read",
        ],
    ),
    "text after a closing quote": (
        HEAD + 'A,a,"SELECT" 1\nB,,SELECT 1\n',
        [
            '2: -: text follows a closing quote; write a quote inside a quoted cell twice ("")',
            "3: nl: is required in every row",
        ],
    ),
    "NUL byte": (HEAD + "A,a\x00b,SELECT 1\n", ["2: nl: holds a NUL byte; the file is damaged, or is no text"]),
    "cp1252 bytes": (
        (HEAD + "A,café,SELECT 1\n").encode("cp1252"),
        [f"2: nl: byte 0xE9 is not UTF-8 (in Windows-1252 it would read “café”); {SAVE}"],
    ),
    "cp1252 quotes in SQL": (
        HEAD.encode() + b"A,a,SELECT * FROM t WHERE a = \x91x\x92\n",
        [f"2: expect_sql: byte 0x91 is not UTF-8 (in Windows-1252 it would read “* FROM t WHERE a = ‘x’”); {SAVE}"],
    ),
    "bytes of no known encoding": (
        HEAD.encode() + b"A,\x81,SELECT 1\n",
        ["2: nl: byte 0x81 is not UTF-8; save the file as UTF-8"],
    ),
    "bytes in the header": (
        b"id,nl,expect_sql,notes\x85\nA,a,SELECT 1,\n",
        [f"1: notes?: byte 0x85 is not UTF-8 (in Windows-1252 it would read “notes…”); {SAVE}"],
    ),
    "UTF-16": (
        codecs.BOM_UTF16_LE + "id,nl\n".encode("utf-16-le"),
        ["-: -: this is UTF-16; save it as UTF-8 (in Excel: “CSV UTF-8 (Comma delimited)”)"],
    ),
    "a spreadsheet": (
        b"PK\x03\x04rest",
        ["-: -: this is a spreadsheet (.xlsx) or a ZIP archive, not text; save it as CSV UTF-8"],
    ),
    "a nameless column that is filled": (
        "id,nl,expect_sql,,\nA,a,SELECT 1,,\nB,b,SELECT 1,,x\n",
        ["3: -: column 5 has no name in the header, but this row fills it"],
    ),
    "everything at once": (
        "id,nl,expect_sql,now,expct_args\nA,,SELECT 1,soon,\n\n\nB,b,,,\n",
        [
            "1: expct_args: unknown column; did you mean `expect_args`?",
            "2: nl: is required in every row",
            "2: now: `soon` is no ISO 8601 date; write it as 2026-08-04 or 2026-08-04T09:30:00Z",
            f"5: -: no expectation: {ONE_OF}",
        ],
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.values(), ids=WRONG.keys())
def test_wrong_file_is_named_with_line_column_and_fix(golden, text, expected):
    assert problems(golden, text) == expected


RIGHT: dict[str, str | bytes] = {
    "plain": HEAD + "A,a,SELECT 1\nB,b,SELECT 2\n",
    "byte order mark": codecs.BOM_UTF8 + (HEAD + "A,a,SELECT 1\nB,b,SELECT 2\n").encode(),
    "CRLF": (HEAD + "A,a,SELECT 1\nB,b,SELECT 2\n").replace("\n", "\r\n"),
    "CR": (HEAD + "A,a,SELECT 1\nB,b,SELECT 2\n").replace("\n", "\r"),
    "semicolons": "id;nl;expect_sql\nA;a;SELECT 1\nB;b;SELECT 2\n",
    "tabs": "id\tnl\texpect_sql\nA\ta\tSELECT 1\nB\tb\tSELECT 2\n",
    "Excel's delimiter hint": "sep=;\r\nid;nl;expect_sql\r\nA;a;SELECT 1\r\nB;b;SELECT 2\r\n",
    "trailing empty columns": "id,nl,expect_sql,,,\nA,a,SELECT 1,,,\nB,b,SELECT 2,,,\n",
    "blank lines": "\n\n" + HEAD + "\n,,\n  , ,\nA,a,SELECT 1\n\n\nB,b,SELECT 2\n\n",
    "no newline at the end": HEAD + "A,a,SELECT 1\nB,b,SELECT 2",
    "short rows": "id,nl,expect_sql,notes,now\nA,a,SELECT 1\nB,b,SELECT 2,\n",
    "blanks around names": " id , nl , expect_sql\n A ,a,SELECT 1\nB , b ,SELECT 2\n",
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_files_that_people_really_have_load(golden, text):
    cases = list(golden(text).cases())
    assert [(case.id, case.nl, case.expectation) for case in cases] == [
        ("A", "a", ExpectSql(text="SELECT 1")),
        ("B", "b", ExpectSql(text="SELECT 2")),
    ]


def test_every_column_is_read(golden, tmp_path):
    corpus = golden(
        "id,nl,backend,config,tags,expect_sql,expect_mongo,expect_error,expect_args,scope,now,notes,accept,fixture,"
        "order_matters,float_tolerance,match_key,weight,group\n"
        'A,"two\nlines",sql,config.json, a; b ;;a,"SELECT $1, $2, $3",,,"[""x"", 5, null]","{""t"": [1, ""y""]}",'
        '2026-08-04T02:30:00+02:00,ignored,"[""SELECT 2""]",data.db,yes,0.5,k1;k2,2.5,g\n'
        'B,b,mongo,,,,{a: 1},,,,2026-08-04,,"[{""a"": {""$eq"": 1}}]",mongodb://localhost/x,,,,,\n'
        "C,c,mysql,,,,,unsupported,,,,,,,no,,,,\n"
    )
    first, second, third = corpus.cases()
    assert (first.line, second.line, third.line) == (2, 4, 5)
    assert first.nl == "two\nlines"
    assert (first.backend, second.backend, third.backend) == ("postgres", "mongo", "mysql")
    assert first.config == tmp_path / "config.json"
    assert second.config is None
    assert first.tags == ("a", "b")
    assert first.expectation == ExpectSql(text="SELECT $1, $2, $3", args=("x", 5, None))
    assert second.expectation == ExpectMongo(text="{a: 1}")
    assert third.expectation == ExpectRefusal()
    assert first.scope == {"t": [1, "y"]}
    assert first.now == datetime(2026, 8, 4, 0, 30, tzinfo=UTC)
    assert second.now == datetime(2026, 8, 4, tzinfo=UTC)
    assert first.accept == ("SELECT 2",)
    assert second.accept == ('{"a":{"$eq":1}}',)
    assert first.fixture == str(tmp_path / "data.db")
    assert second.fixture == "mongodb://localhost/x"
    assert first.result_rules == ResultRules(order_matters=True, float_tolerance=0.5, match_key=("k1", "k2"))
    assert (first.weight, first.group, third.weight, third.group) == (2.5, "g", 1.0, None)
    assert list(corpus.configs) == [tmp_path / "config.json"]


def test_defaults_come_from_the_caller(golden, tmp_path):
    corpus = golden("id,nl,expect_mongo\nA,a,{}\n", backend="mongo", config=tmp_path / "config.json")
    (case,) = corpus.cases()
    assert (case.backend, case.config) == ("mongo", tmp_path / "config.json")


def test_problems_of_a_named_config_are_reported_with_the_rest(golden, tmp_path):
    (tmp_path / "bad.json").write_text('{\n  "entity": "Order",\n  fields: []\n}')
    with pytest.raises(GoldenError) as caught:
        golden("id,nl,expect_sql,config\nA,,SELECT 1,bad.json\nB,b,SELECT 1,bad.json\n")
    assert [(problem.path.name, problem.line) for problem in caught.value.problems] == [
        ("golden.csv", 2),
        ("bad.json", 3),
    ]


def test_missing_default_config_is_reported(golden, tmp_path):
    with pytest.raises(GoldenError) as caught:
        golden(HEAD + "A,a,SELECT 1\n", config=tmp_path / "none.json")
    assert str(caught.value) == f"{tmp_path / 'none.json'}: no such file"


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(GoldenError, match="no such file"):
        open_corpus(tmp_path / "none.csv")
    with pytest.raises(GoldenError, match="this is a folder, not a file"):
        open_corpus(tmp_path)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t WHERE name = 'O’Brien “Bob”'",
        "SELECT * FROM t WHERE path = 'C:\\' AND name = 'O’Brien'",
        'SELECT "“quoted” name" FROM t',
        "SELECT a -- “as he said”\nFROM t /* ‘x’ */",
        "SELECT * FROM t WHERE name = 'it''s ‘here’'",
    ],
)
def test_typographic_quotes_inside_a_string_are_meant(golden, sql):
    quoted = sql.replace('"', '""')
    (case,) = golden(f'{HEAD}A,a,"{quoted}"\n').cases()
    assert case.expectation == ExpectSql(text=sql)


def test_typographic_quotes_are_found_in_no_time_in_hostile_text():
    text = "’" + "\\'" * 200_000
    assert (sql_problem(text, "mysql", None) or "").startswith("typographic quote ’")
    assert (sql_problem("é" + "\\'" * 200_000, "mysql", None) or "").startswith("not mysql")


def test_cells_of_ten_megabytes_load(golden):
    (case,) = golden(f"id,nl,expect_sql,notes\nA,{'x' * 10_000_000},SELECT 1,{'y' * 10_000_000}\n").cases()
    assert len(case.nl) == 10_000_000


def test_relative_dates_without_a_clock_are_warned_of(golden):
    corpus = golden(
        "id,nl,expect_sql,now\nA,orders of last week,SELECT 1,\nB,orders of last week,SELECT 1,2026-08-04\n"
        "C,all orders,SELECT 1,\n"
    )
    assert corpus.unpinned == 1
    (warning,) = corpus.warnings
    assert (warning.line, warning.column, warning.severity) == (2, "now", "warning")
    assert warning.message == "says “last week” but pins no clock; set `now`, or the expectation goes stale"


def test_many_problems_and_many_warnings_are_counted(golden):
    found = problems(golden, HEAD + "".join(f"{number},,SELECT 1\n" for number in range(MAX_PROBLEMS + 5)))
    assert found[-1] == "-: -: … and 5 more problems"
    assert len(found) == MAX_PROBLEMS + 1
    corpus = golden(HEAD + "".join(f"{number},orders today,SELECT 1\n" for number in range(MAX_WARNINGS + 3)))
    assert corpus.unpinned == MAX_WARNINGS + 3
    assert corpus.warnings[-1].message == "… and 3 more cases with relative dates and no `now`"


SELECTABLE = "id,nl,tags,expect_sql\nA,a,x;y,SELECT 1\nB,b today,x,SELECT 1\nC,c,,SELECT 1\nD,d,y,SELECT 1\n"


@pytest.mark.parametrize(
    ("options", "ids", "tags"),
    [
        ({}, "ABCD", {"x": 2, "y": 2}),
        ({"only": ("x",)}, "AB", {"x": 2, "y": 1}),
        ({"only": ("x", "y")}, "ABD", {"x": 2, "y": 2}),
        ({"ids": ("D", "A")}, "AD", {"x": 1, "y": 2}),
        ({"limit": 2}, "AB", {"x": 2, "y": 1}),
        ({"only": ("y",), "limit": 1}, "A", {"x": 1, "y": 1}),
        ({"only": ("y",), "ids": ("B", "D")}, "D", {"y": 1}),
    ],
)
def test_selection(golden, options, ids, tags):
    chosen = golden(SELECTABLE).select(**options)
    assert "".join(case.id for case in chosen.cases()) == ids
    assert chosen.count == len(chosen) == len(ids)
    assert dict(chosen.tags) == tags
    assert chosen.unpinned == ("B" in ids)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": ("z",)}, "has the tag `z`"),
        ({"only": ("X",)}, "did you mean `x`"),
        ({"ids": ("A", "E")}, "has the id `E`"),
        ({"limit": 0}, "--limit takes a number from 1, not 0"),
        ({"only": ("x",), "ids": ("C",)}, "is left by"),
    ],
)
def test_selection_of_what_is_not_there_is_refused(golden, options, message):
    with pytest.raises(UsageError, match=message):
        golden(SELECTABLE).select(**options)


def test_a_file_that_changes_under_way_is_noticed(golden):
    corpus = golden(SELECTABLE)
    corpus.path.write_text(SELECTABLE + "E,e,,SELECT 1\n")
    with pytest.raises(GoldenError, match="changed while it was being used"):
        list(corpus.cases())


def test_digest_is_of_the_bytes(golden):
    import hashlib

    assert golden(SELECTABLE).digest == hashlib.sha256(SELECTABLE.encode()).hexdigest()


def test_every_kind_of_expectation_is_a_column():
    assert set(EXPECTATIONS) <= set(COLUMNS)
