"""rung from Python: load a golden file, run it against a target, grade one answer.

run = harness.run("golden.csv", target=my_function)
assert run.passed, run.text()

graded = harness.grade("SELECT a FROM t WHERE b = 1", answer, schema="CREATE TABLE t (a INT, b INT)")
"""

import asyncio
import shutil
import tempfile
import weakref
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

from pydantic import JsonValue

from canon.rules import Rules
from canon.schema import Schema
from canon.verdict import Difference, Witness
from harness.corpus.golden_csv import Corpus, open_corpus
from harness.errors import UsageError
from harness.grading.execution import ExecutionMode
from harness.grading.grader import Grader
from harness.grading.identities import installed
from harness.grading.seams import NothingKnown
from harness.runs.folder import StoredRun
from harness.runs.options import RunOptions
from harness.runs.session import Session
from harness.targets.python_callable import PythonTarget
from harness.targets.target import Target
from harness.types.answers import Answer, MongoAnswer, Reply, SqlAnswer
from harness.types.cases import Case, Expectation, ExpectMongo, ExpectSql, ResultRules
from harness.types.frozen import Frozen
from harness.types.outcomes import PASSES, Basis, CaseResult, Execution, Failed, Grade, Judgement, basis_of
from harness.types.run import RunFacts, Summary
from harness.types.texts import differences_of, failure_lines

Json = JsonValue
"""What JSON can say: the values of a request, and of an answer."""

Answering = Callable[[dict[str, JsonValue]], object] | Callable[[dict[str, JsonValue]], Awaitable[object]]
"""A function of one's own, sync or async: the request as a dict to the query as text, or the answer as a dict."""


class RunKeywords(TypedDict, total=False):
    """The options of `run`; `arun` says what each means."""

    config: str | Path | None
    backend: str | None
    model: str | None
    base_url: str | None
    api_key_env: str | None
    answers: str | Path | None
    now: datetime | None
    repeat: int
    parallel: int
    timeout: float | None
    only: tuple[str, ...]
    ids: tuple[str, ...]
    limit: int | None
    fixture: str | Path | None
    exec_mode: ExecutionMode
    columns: Literal["any", "ordered"]
    witness: bool
    keep: str | Path | None
    name: str | None
    resume: bool


class GradeKeywords(TypedDict, total=False):
    """The options of `grade`; `agrade` says what each means."""

    backend: str
    schema: str | Schema | None
    fields: dict[str, str] | None
    accept: tuple[str, ...]
    now: datetime | None
    columns: Literal["any", "ordered"]
    witness: bool
    fixture: str | Path | None
    exec_mode: ExecutionMode
    result_rules: ResultRules | None


def load_golden(path: str | Path, *, backend: str | None = None, config: str | Path | None = None) -> Corpus:
    """Check a golden file and everything it names.

    Args:
        path: the golden file.
        backend: the backend of rows that name none; `sql` (postgres) unless given.
        config: the config of rows that name none.

    Raises:
        GoldenError: with every problem found, in the order of the file.
    """
    return open_corpus(Path(path), backend=backend, config=None if config is None else Path(config))


class Run:
    """A run that was made. It can be read again and again, and reported; a `RunView`.

    Where the run was not kept in a folder of the caller's, its files go with this object.
    """

    def __init__(self, stored: StoredRun) -> None:
        self._stored = stored

    @property
    def facts(self) -> RunFacts:
        """What was run, on what, when, how."""
        return self._stored.facts

    @property
    def summary(self) -> Summary:
        """The counts."""
        return self._stored.summary

    @property
    def folder(self) -> Path:
        """Where the run is kept."""
        return self._stored.folder.path

    @property
    def passed(self) -> bool:
        """Whether every case that was asked for passed every repeat."""
        return self.summary.passed == self.summary.cases

    @property
    def score(self) -> float:
        """The weighted share of cases that passed, 0 to 1."""
        return self.summary.score

    def results(self) -> Iterator[tuple[Case, CaseResult]]:
        """Every case that has an outcome, in the golden's order; each call starts anew."""
        return self._stored.results()

    def failures(self) -> Iterator[tuple[Case, CaseResult]]:
        """The cases that did not pass."""
        return ((case, result) for case, result in self.results() if not result.passed)

    def text(self) -> str:
        """The report as text, as the terminal shows it."""
        from harness.report.terminal import report_text

        return report_text(self)

    def write(self, *paths: str | Path) -> None:
        """Write reports; the extension says which (`.csv .jsonl .html .md .xml`).

        Raises:
            UsageError: no report has such an extension, or a file cannot be written.
        """
        from harness.report.formats import write_reports

        write_reports(self, tuple(Path(path) for path in paths))


async def arun(
    corpus: str | Path | Corpus,
    *,
    target: str | Target | Answering,
    config: str | Path | None = None,
    backend: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    answers: str | Path | None = None,
    now: datetime | None = None,
    repeat: int = 1,
    parallel: int = 4,
    timeout: float | None = None,  # noqa: ASYNC109 (of one answer, not of this call)
    only: tuple[str, ...] = (),
    ids: tuple[str, ...] = (),
    limit: int | None = None,
    fixture: str | Path | None = None,
    exec_mode: ExecutionMode = "annotate",
    columns: Literal["any", "ordered"] = "any",
    witness: bool = True,
    keep: str | Path | None = None,
    name: str | None = None,
    resume: bool = False,
) -> Run:
    """Ask a target every case of a golden file, and grade what comes back.

    Args:
        corpus: a golden file, or what `load_golden` gave.
        target: a function of your own (sync or async), a `Target`, or the name of one (`recorded`, `prompt`, …).
        config: vocabulary config or DDL of rows that name none.
        backend: backend of rows that name none.
        model: for a target that asks a model, its name.
        base_url: the endpoint.
        api_key_env: the environment variable that holds the key.
        answers: for the target `recorded`, the file.
        now: clock of cases that pin none, aware; `None` = the start of the run.
        repeat: attempts per case.
        parallel: attempts in flight at a time.
        timeout: seconds that one answer may take.
        only: cases with one of these tags.
        ids: cases of these ids.
        limit: at most so many cases.
        fixture: data of cases that name none, to run queries on.
        exec_mode: what running them may do to a grade.
        columns: whether the order of columns counts.
        witness: look for rows that tell an undecided pair apart.
        keep: the folder that holds runs; `None` = the run's files go with the `Run`.
        name: the run's name in it.
        resume: go on with the run of that name.

    Raises:
        RungError: the golden file, the target or the fixture cannot be used.
    """
    if now is not None and now.tzinfo is None:
        raise UsageError("now needs a time zone: datetime(2026, 8, 4, tzinfo=UTC)")
    if resume and (keep is None or name is None):
        raise UsageError("to resume a run, say where it is: keep=FOLDER, name=NAME")
    runs = Path(tempfile.mkdtemp(prefix="rung-")) if keep is None else Path(keep)
    options = RunOptions(
        golden=corpus.path if isinstance(corpus, Corpus) else Path(corpus),
        config=None if config is None else Path(config),
        backend=backend,
        target=target if isinstance(target, str) else None,
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        answers=None if answers is None else Path(answers),
        now=now,
        repeat=repeat if repeat != 1 else None,
        parallel=parallel,
        timeout=timeout,
        only=tuple(only),
        ids=tuple(ids),
        limit=limit,
        exec_url=None if fixture is None else str(fixture),
        exec_mode=exec_mode,
        columns=columns,
        witness=witness,
        name=name,
        runs=runs,
        resume=resume,
    )
    chosen = corpus if isinstance(corpus, Corpus) else None
    if chosen is not None and (only or ids or limit is not None):
        chosen = chosen.select(only=options.only, ids=options.ids, limit=limit)
    asked = None if isinstance(target, str) else as_target(target, timeout)
    try:
        made = Run(await Session(options=options, target=asked, corpus=chosen, signals=False).run())
    except BaseException:
        if keep is None:
            shutil.rmtree(runs, ignore_errors=True)
        raise
    if keep is None:
        weakref.finalize(made, shutil.rmtree, runs, ignore_errors=True)
    return made


def run(corpus: str | Path | Corpus, *, target: str | Target | Answering, **options: Unpack[RunKeywords]) -> Run:
    """`arun` for callers without an event loop; also inside one (a notebook), where it blocks."""
    return cast("Run", blocking(lambda: arun(corpus, target=target, **options)))


def blocking(work: Callable[[], Any]) -> Any:
    """Run a coroutine to its end, in a thread of its own where this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


def as_target(target: Target | Answering, timeout: float | None = None) -> Target:
    """A target as it is, a function as a target."""
    if hasattr(target, "answer") and hasattr(target, "facts"):
        return cast("Target", target)
    if not callable(target):
        raise UsageError(f"a target is a function, a Target or the name of one, not a {type(target).__name__}")
    label = f"{getattr(target, '__module__', '')}:{getattr(target, '__qualname__', type(target).__name__)}"
    return PythonTarget(target, label=label, timeout_s=timeout or 120.0)


class GradedAnswer(Frozen):
    """One answer in its place on the ladder.

    Attributes:
        judgement: the grade with its evidence.
        execution: what running both queries showed, where there is data.
    """

    judgement: Judgement
    execution: Execution | None = None

    @property
    def grade(self) -> Grade:
        """The rung."""
        return self.judgement.grade

    @property
    def passed(self) -> bool:
        """Whether the grade counts as a pass."""
        return self.grade in PASSES

    @property
    def basis(self) -> Basis:
        """What the grade rests on."""
        return basis_of(self.judgement)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What is wrong, in field terms; none for a pass."""
        return differences_of(self.judgement)

    @property
    def witness(self) -> Witness | None:
        """The smallest rows found on which the two differ."""
        evidence = self.judgement.evidence if isinstance(self.judgement, Failed) else None
        return evidence.witness if evidence is not None and evidence.basis == "refuted" else None

    @property
    def lines(self) -> tuple[str, ...]:
        """What went wrong, one line each; none for a pass."""
        return failure_lines(self.judgement)


class _Told(NothingKnown):
    """What the caller says of the data."""

    def __init__(self, schema: Schema | None, fields: Any) -> None:
        self._schema, self._fields = schema, fields

    def schema(self, case: Case) -> Schema | None:
        return self._schema

    def fields(self, case: Case) -> Any:
        return self._fields


async def agrade(
    expected: str | Expectation,
    answer: str | Answer,
    *,
    backend: str = "postgres",
    schema: str | Schema | None = None,
    fields: dict[str, str] | None = None,
    accept: tuple[str, ...] = (),
    now: datetime | None = None,
    columns: Literal["any", "ordered"] = "any",
    witness: bool = True,
    fixture: str | Path | None = None,
    exec_mode: ExecutionMode = "annotate",
    result_rules: ResultRules | None = None,
) -> GradedAnswer:
    """Place one answer on the ladder.

    Args:
        expected: the golden query as text, or an expectation.
        answer: the answer as text, or as it was read.
        backend: `mongo` or a SQL dialect.
        schema: the tables, as DDL or a `Schema`; it unlocks identities.
        fields: for MongoDB, declared types by path.
        accept: further queries that are right.
        now: the instant that clock functions fold to, aware; `None` = now.
        columns: whether the order of columns counts.
        witness: look for rows that tell an undecided pair apart.
        fixture: data to run the queries on; expected rows and suites need it.
        exec_mode: what running may do to the grade.
        result_rules: how results are compared.

    Raises:
        RungError: the schema cannot be read, or the fixture cannot be used.
    """
    mongo = backend == "mongo"
    if isinstance(expected, str):
        expected = ExpectMongo(text=expected) if mongo else ExpectSql(text=expected)
    if isinstance(answer, str):
        answer = MongoAnswer(text=answer) if mongo else SqlAnswer(text=answer)
    case = Case(
        id="answer",
        nl="answer",
        backend=backend,
        expectation=expected,
        accept=accept,
        now=now,
        fixture=None if fixture is None else str(fixture),
        result_rules=result_rules or ResultRules(),
    )
    grader = open_grader(
        columns=columns, witness=witness, exec_mode=exec_mode, schema=_read(schema, backend), fields=fields
    )
    try:
        graded = await grader.grade(case, Reply(answer=answer), now=now or datetime.now(UTC))
    finally:
        await grader.aclose()
    return GradedAnswer(judgement=graded.judgement, execution=graded.execution)


def grade(expected: str | Expectation, answer: str | Answer, **options: Unpack[GradeKeywords]) -> GradedAnswer:
    """`agrade` for callers without an event loop; also inside one, where it blocks."""
    return cast("GradedAnswer", blocking(lambda: agrade(expected, answer, **options)))


def open_grader(
    *,
    columns: Literal["any", "ordered"] = "any",
    witness: bool = True,
    exec_mode: ExecutionMode = "annotate",
    schema: Schema | None = None,
    fields: Any = None,
    folder: Path | None = None,
) -> Grader:
    """A grader of cases that bring their own fixture, with the identities that are installed."""
    from harness.grading.fixtures import ExecutionOnDemand
    from harness.grading.witnesses import RunningSearch

    return Grader(
        rules=Rules(columns=columns),
        knowledge=_Told(schema, fields),
        witness=RunningSearch() if witness else None,
        executor=ExecutionOnDemand(None, folder or Path()),
        mode=exec_mode,
        identities=installed(),
    )


def _read(schema: str | Schema | None, dialect: str) -> Schema | None:
    if not isinstance(schema, str):
        return schema
    from canon.errors import ReadError
    from canon.sql import read_schema

    try:
        read = read_schema(schema, dialect)
    except ReadError as error:
        raise UsageError(f"the schema is no {dialect} DDL: {error.message}") from error
    if not read.tables:
        raise UsageError(f"the schema is no {dialect} DDL: it creates no table")
    return read
