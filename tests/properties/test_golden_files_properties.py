"""Golden files of any content: what is written is read, with its line; whatever is wrong is a `GoldenError`."""

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.corpus.golden_csv import open_corpus
from harness.corpus.vocabulary import read_vocabulary
from harness.errors import InputError
from harness.targets.recorded import RecordedTarget
from harness.types.cases import ExpectSql

QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30).filter(
    lambda text: text.strip() != ""
)
ROWS = st.lists(st.tuples(TEXT, st.sampled_from(["", "a", "a;b"])), min_size=1, max_size=8)
PIECES = st.sampled_from(
    [
        *("id", "nl", "expect_sql", "expect_mongo", "expect_error", "backend", "scope", "now", "accept", "weight"),
        *(
            ",",
            ";",
            "\t",
            "\n",
            "\r\n",
            "\r",
            '"',
            '""',
            " ",
            "\x00",
            "\ufeff",
            "é",
            "“",
            "SELECT 1",
            "SELECT",
            "{",
            "}",
        ),
        *("[", "]", "unsupported", "mongo", "2026-08-04", "1e999", "NaN", "sep=;\n", "\u2028", "\x85", "\x1a"),
    ]
)


def made_or_refused(make):
    """What is made, or `None` where it is refused with problems that can be written anywhere."""
    try:
        return make()
    except InputError as error:
        refused = error
    assert refused.problems
    assert str(refused).encode()
    return None


@QUICK
@given(
    rows=ROWS, delimiter=st.sampled_from([",", ";", "\t"]), newline=st.sampled_from(["\n", "\r\n"]), mark=st.booleans()
)
def test_what_is_written_is_read_with_its_line(tmp_path, rows, delimiter, newline, mark):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "nl", "tags", "expect_sql"])
    starts = []
    for number, (sentence, tags) in enumerate(rows):
        written = text.getvalue()
        # A physical line ends with \n, \r\n or \r, also inside quotes; nothing else ends one.
        starts.append(written.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1)
        writer.writerow([f"row {number}", sentence, tags, f"SELECT {number}"])
    path = tmp_path / "golden.csv"
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.getvalue().encode())
    cases = list(open_corpus(path).cases())
    assert [case.line for case in cases] == starts
    assert [case.nl for case in cases] == [sentence.strip() for sentence, _ in rows]
    assert [";".join(case.tags) for case in cases] == [tags for _, tags in rows]
    assert [case.expectation for case in cases] == [ExpectSql(text=f"SELECT {number}") for number in range(len(rows))]


@QUICK
@given(content=st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=40).map("".join).map(str.encode)))
def test_any_bytes_are_read_or_refused_with_problems(tmp_path, content):
    path = tmp_path / "golden.csv"
    for start in (b"", b"id,nl,expect_sql\n", b"id,nl,backend,expect_mongo,scope,now,accept,weight\n"):
        path.write_bytes(start + content)
        corpus = made_or_refused(lambda: open_corpus(path))
        if corpus is not None:
            assert len(list(corpus.cases())) == corpus.count > 0


@QUICK
@given(content=st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=40).map("".join).map(str.encode)))
@pytest.mark.parametrize("name", ["answers.csv", "answers.jsonl"])
def test_any_bytes_are_answers_or_refused_with_problems(tmp_path, name, content):
    path = Path(tmp_path / name)
    for start in (b"", b"id,sql\n", b'{"id": "A"}\n'):
        path.write_bytes(start + content)
        target = made_or_refused(lambda: RecordedTarget(path))
        if target is not None:
            asyncio.run(target.aclose())


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "entity",
                    "fields",
                    "name",
                    "type",
                    "values",
                    "mapping",
                    "model",
                    "path",
                    "source",
                    "digest",
                    "x",
                    "sql",
                ]
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)


@QUICK
@given(value=JSON)
def test_any_json_is_a_vocabulary_or_refused_with_problems(value):
    vocabulary = made_or_refused(lambda: read_vocabulary(json.dumps(value), path=Path("c.json")))
    if vocabulary is not None:
        assert vocabulary.schema("postgres").tables
        assert vocabulary.unknown_keys is not None
