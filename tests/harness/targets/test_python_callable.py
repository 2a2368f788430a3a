"""The `python` target: functions of the user's own, sync and async, well-behaved and not."""

import asyncio
import sys
import threading
from datetime import UTC, datetime

import pytest

from harness.errors import TargetError
from harness.targets.python_callable import PythonTarget, load_callable
from harness.types.answers import MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectSql

NOW = datetime(2026, 8, 4, tzinfo=UTC)
SQL = Case(id="A", nl="a", backend="postgres", expectation=ExpectSql(text="SELECT 1"))
MONGO = Case(id="B", nl="b", backend="mongo", expectation=ExpectMongo(text="{}"))


def ask(function, case=SQL, timeout_s=10.0):
    target = PythonTarget(function, label="mine:answer", timeout_s=timeout_s)
    return asyncio.run(target.answer(case, now=NOW, repeat=1))


async def later(request):
    await asyncio.sleep(0)
    return {"sql": f"SELECT '{request['nl']}' -- {request['repeat']}"}


def raising(request):
    raise KeyError("status")


@pytest.mark.parametrize(
    ("function", "case", "answer"),
    [
        (lambda request: {"sql": request["now"]}, SQL, SqlAnswer(text="2026-08-04T00:00:00Z")),
        (lambda request: "SELECT 1", SQL, SqlAnswer(text="SELECT 1")),
        (lambda request: "{a: 1}", MONGO, MongoAnswer(text="{a: 1}")),
        (lambda request: {"mongo": {"a": 1}}, MONGO, MongoAnswer(text='{"a":1}')),
        (lambda request: {"unsupported": "no"}, SQL, Refusal(message="no")),
        (lambda request: later({**request, "nl": "b"}), SQL, SqlAnswer(text="SELECT 'b' -- 1")),
        (later, SQL, SqlAnswer(text="SELECT 'a' -- 1")),
        (raising, SQL, NoQuery(reason="target_crashed", message="mine:answer raised KeyError: 'status'")),
        (
            lambda request: {"sql": object()},
            SQL,
            NoQuery(
                reason="unparseable",
                message="the function's answer is no JSON: Object of type object is not JSON serializable",
            ),
        ),
    ],
)
def test_what_functions_say(function, case, answer):
    assert ask(function, case).answer == answer


def test_a_function_that_hangs_is_given_up():
    release = threading.Event()
    target = PythonTarget(lambda request: release.wait(60), label="mine:answer", timeout_s=0.2)

    async def given_up():
        try:
            return await target.answer(SQL, now=NOW, repeat=0)
        finally:
            release.set()

    assert asyncio.run(given_up()).answer == NoQuery(
        reason="target_crashed", message="mine:answer did not answer within 0.2 s"
    )


def test_functions_are_loaded_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_answers.py").write_text(
        "class Inner:\n    @staticmethod\n    def answer(r): return 'x'\nvalue = 5\n"
    )
    (tmp_path / "my_broken.py").write_text("import no_such_module_here\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert load_callable("my_answers:Inner.answer")({}) == "x"
    for name, message in (
        ("my_answers", "write it as module:function"),
        ("my_answers:value", "is a int, no function"),
        ("my_answers:valu", "did you mean my_answers:value?"),
        ("my_answers:Inner.gone", "has no `Inner.gone`"),
        ("my_broken:f", "cannot import my_broken: ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("my_missing:f", "cannot import my_missing"),
    ):
        with pytest.raises(TargetError) as caught:
            load_callable(name)
        assert message in str(caught.value)


def test_a_changed_function_changes_the_facts():
    first = PythonTarget(later, label="f").facts(SQL)
    assert first["function"] == "f"
    assert PythonTarget(raising, label="f").facts(SQL) != first
