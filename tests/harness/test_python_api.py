"""rung from Python, and what other packages add to it by entry points."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import harness
from harness import Identity, Reply, SqlAnswer, TargetSettings, UsageError
from harness.report.formats import reporter_for

GOLDEN = """id,nl,expect_sql,tags
A,cancelled,SELECT id FROM t WHERE s = 'x',enum
B,big,SELECT id FROM t WHERE a > 3,numeric
C,impossible,,
"""


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.csv"
    path.write_text(GOLDEN.replace("C,impossible,,\n", ""))
    return path


def sync_answer(request: dict[str, Any]) -> str:
    return "SELECT id FROM t WHERE 'x' = s" if request["nl"] == "cancelled" else "SELECT id FROM t WHERE a >= 3"


async def async_answer(request: dict[str, Any]) -> dict[str, Any]:
    return {"sql": sync_answer(request)}


class OwnTarget:
    """A target that is no function."""

    name = "own"

    def facts(self, case: harness.Case) -> dict[str, Any]:
        return {}

    async def answer(self, case: harness.Case, *, now: datetime, repeat: int) -> Reply:
        return Reply(answer=SqlAnswer(text=sync_answer({"nl": case.nl})))

    async def aclose(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("target", [sync_answer, async_answer, OwnTarget()], ids=["sync", "async", "target"])
def test_a_run(golden: Path, target: Any) -> None:
    run = harness.run(golden, target=target, repeat=2)
    assert {case.id: result.grade for case, result in run.results()} == {"A": "EQUIVALENT", "B": "FAIL"}
    assert (run.passed, run.score, run.summary.attempts) == (False, 0.5, 4)
    assert [case.id for case, _ in run.failures()] == ["B"]
    assert "1 of 2 cases passed" in run.text()


def test_a_run_inside_a_loop_and_awaited(golden: Path) -> None:
    async def both() -> tuple[float, float]:
        return (await harness.arun(golden, target=async_answer)).score, harness.run(golden, target=sync_answer).score

    assert asyncio.run(both()) == (0.5, 0.5)


def test_a_run_is_kept_and_resumed_where_the_caller_says(golden: Path, tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(request: dict[str, Any]) -> str:
        asked.append(request["nl"])
        return sync_answer(request)

    kept = tmp_path / "runs"
    harness.run(golden, target=counting, keep=kept, name="first", repeat=1)
    harness.run(golden, target=counting, keep=kept, name="first", repeat=2, resume=True)
    assert sorted(asked) == ["big", "big", "cancelled", "cancelled"]
    run = harness.run(golden, target=sync_answer)
    folder = run.folder
    assert folder.is_dir()
    del run
    assert not folder.exists()


def test_a_corpus_that_was_loaded_and_a_selection(golden: Path) -> None:
    corpus = harness.load_golden(golden)
    assert (len(corpus), [case.id for case in corpus]) == (2, ["A", "B"])
    assert harness.run(corpus, target=sync_answer, only=("enum",)).passed
    recorded = golden.parent / "answers.csv"
    recorded.write_text("id,sql\nA,SELECT id FROM t WHERE s = 'x'\nB,SELECT id FROM t WHERE a > 3\n")
    assert harness.run(golden, target="recorded", answers=recorded).summary.grades["EXACT"] == 2


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "a naive clock": (lambda path: harness.run(path, target=sync_answer, now=datetime(2026, 1, 1)), "time zone"),  # noqa: DTZ001
    "a target that is none": (lambda path: harness.run(path, target=3), "a target is a function"),  # type: ignore[arg-type]
    "an unknown target": (lambda path: harness.run(path, target="recordd"), "did you mean recorded"),
    "a resume of nothing": (lambda path: harness.run(path, target=sync_answer, resume=True), "say where it is"),
    "a schema that is none": (lambda path: harness.grade("SELECT 1", "SELECT 1", schema="CREATE"), "no postgres DDL"),
    "a report that is none": (lambda path: harness.run(path, target=sync_answer).write("x.doc"), "no report has"),
}


@pytest.mark.parametrize(("call", "said"), WRONG.values(), ids=WRONG.keys())
def test_mistakes_are_named(golden: Path, call: Callable[[Path], object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call(golden)


def test_grading_one_answer() -> None:
    schema = "CREATE TABLE t (a INTEGER NOT NULL, b TEXT)"
    same = harness.grade("SELECT b FROM t WHERE a > 3", "SELECT b FROM t WHERE a >= 4", schema=schema)
    assert (same.grade, same.basis, same.passed, same.lines) == ("EQUIVALENT", "canonical", True, ())
    wrong = harness.grade("SELECT b FROM t WHERE a > 3", "SELECT b FROM t WHERE a >= 3", schema=schema)
    assert wrong.witness is not None
    assert [difference.kind for difference in wrong.differences] == ["bound_inclusivity"]
    mongo = harness.grade('{"a": 1}', "{a: {$eq: 1}}", backend="mongo")
    assert (mongo.grade, mongo.basis) == ("EQUIVALENT", "canonical")
    pinned = harness.grade(
        "SELECT a FROM t WHERE d = '2026-08-04'", "SELECT a FROM t WHERE d = CURRENT_DATE",
        now=datetime(2026, 8, 4, tzinfo=UTC), schema="CREATE TABLE t (a INT, d DATE)",
    )  # fmt: skip
    assert pinned.passed


# -- entry points -----------------------------------------------------------------------------------------------------


class LineReporter:
    """Writes one line."""

    def write(self, run: harness.RunView, path: Path) -> None:
        path.write_text(f"{run.summary.passed}/{run.summary.cases}")


def own_target(settings: TargetSettings) -> OwnTarget:
    return OwnTarget()


def _without_status(text: str, dialect: str) -> str:
    return text.replace("status_code(s)", "s")


STATUS = Identity("status_code", "status_code(x) = x, for codes are stored", _without_status)
BOUNDS = Identity("inclusive", "a >= 3 = a > 3, wrongly", lambda text, dialect: text.replace(">=", ">"))
RANDOM = Identity("random", "random() = 1, wrongly", lambda text, dialect: text.replace("random()", "1"))


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    here = f"{__name__}:"
    offered = [
        EntryPoint("lines", f"{here}LineReporter", "rung.reporters"),
        EntryPoint("own", f"{here}own_target", "rung.targets"),
        EntryPoint("broken", "no_such_module:x", "rung.targets"),
        EntryPoint("twice", f"{here}own_target", "rung.targets"),
        EntryPoint("twice", f"{here}OwnTarget", "rung.targets"),
        EntryPoint("status_code", f"{here}STATUS", "rung.identities"),
        EntryPoint("inclusive", f"{here}BOUNDS", "rung.identities"),
        EntryPoint("random", f"{here}RANDOM", "rung.identities"),
    ]

    def entry_points(*, group: str, name: str | None = None) -> list[EntryPoint]:
        return [each for each in offered if each.group == group and name in (None, each.name)]

    monkeypatch.setattr("harness.plugins.entry_points", entry_points)
    return None


@pytest.mark.usefixtures("installed")
class TestEntryPoints:
    """What other packages add."""

    def test_targets_and_reporters(self, golden: Path, tmp_path: Path) -> None:
        run = harness.run(golden, target="own")
        run.write(tmp_path / "report.lines")
        assert (tmp_path / "report.lines").read_text() == "1/2"
        assert run.facts.target == "own"

    def test_what_cannot_be_loaded_is_named(self, golden: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"entry point broken of rung.targets \(no_such_module:x\) fails"):
            harness.run(golden, target="broken")
        with pytest.raises(UsageError, match="two packages offer `twice`"):
            harness.run(golden, target="twice")
        with pytest.raises(UsageError, match=r"use one of .*\.lines"):
            reporter_for(tmp_path / "report.doc")

    def test_an_identity_joins_what_nothing_decides_and_shows_its_name(self) -> None:
        graded = harness.grade("SELECT id FROM t WHERE s = 'x'", "SELECT id FROM t WHERE status_code(s) = 'x'")
        assert graded.grade == "EQUIVALENT"
        assert "user:status_code" in graded.judgement.evidence.absorbed  # type: ignore[union-attr]

    def test_an_identity_overrules_no_refutation(self) -> None:
        graded = harness.grade("SELECT id FROM t WHERE a > 3", "SELECT id FROM t WHERE a >= 3")
        assert (graded.grade, graded.basis) == ("FAIL", "refuted")

    def test_an_identity_makes_no_random_query_right(self) -> None:
        graded = harness.grade("SELECT random() FROM t", "SELECT 1 FROM t")
        assert graded.grade == "FAIL"

    def test_an_identity_that_no_one_could_read_is_refused(self) -> None:
        with pytest.raises(UsageError, match="without blanks"):
            Identity("two words", "law", lambda text, dialect: text)
