"""A run from the user's options to its folder: the corpus, the target, the grader, and the record of all three."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from canon.rules import Rules
from harness.corpus.golden_csv import Corpus, open_corpus
from harness.corpus.vocabulary import Vocabulary
from harness.errors import GoldenError
from harness.grading.fixtures import ExecutionOnDemand
from harness.grading.grader import Grader
from harness.grading.identities import installed
from harness.grading.knowledge import ConfigKnowledge
from harness.runs.carrying_out import Plan, carry_out
from harness.runs.folder import RunFolder, StoredRun, latest_run
from harness.runs.interrupt import stopping_on_signals
from harness.runs.options import RunOptions
from harness.runs.runner import Unwatched, Watcher
from harness.runs.targets import Opened, open_target
from harness.targets.default_projections import DefaultProjections
from harness.targets.target import Target
from harness.types.cases import Case
from harness.types.expectations import ExpectationSuite, ExpectRows, ExpectTypedRows
from harness.types.problems import FileProblem
from harness.types.run import RunFacts, Warned

_VERSIONS = ("rung", "sqlglot", "queryforge-ai", "pymongo")
_SLUG = re.compile(r"[^A-Za-z0-9.]+")


def _nobody(text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """One run to be made.

    Attributes:
        options: what the user asked for.
        watcher: is told of finished attempts.
        say: tells the user something beside the report.
        scripted: the answers come from a script; every report says so.
        target: what to ask, where it is not made from the options.
        corpus: the cases, where they were read already.
        signals: whether Ctrl-C ends the run early; not for a caller whose event loop it is.
        stop: ends the run when set.
    """

    options: RunOptions
    watcher: Watcher = field(default_factory=Unwatched)
    say: Callable[[str], None] = _nobody
    scripted: bool = False
    target: Target | None = None
    corpus: Corpus | None = None
    signals: bool = True
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> StoredRun:
        """Make the run; the first Ctrl-C ends it early, the second ends the process.

        Raises:
            RungError: it cannot be made, or not be gone on with.
        """
        options = self.options
        corpus = self.corpus or open_selected(options)
        with stopping_on_signals(self.stop, self.say) if self.signals else nullcontext():
            async with nullcontext(Opened(self.target)) if self.target else open_target(options, corpus) as opened:
                folder, facts = self._folder_and_facts(corpus, opened)
                grader = self._grader()
                try:
                    return await carry_out(
                        self._plan(corpus, opened, folder, facts), opened.target, grader, self.watcher
                    )
                finally:
                    await grader.aclose()

    def _folder_and_facts(self, corpus: Corpus, opened: Opened) -> tuple[RunFolder, RunFacts]:
        options = self.options
        started = datetime.now(UTC)
        folder = _folder(options, started, opened)
        earlier = folder.read_facts() if options.resume and folder.exists() else None
        now = options.now or (earlier.now if earlier is not None else started.replace(microsecond=0))
        facts = RunFacts(
            name=folder.path.name,
            started_at=earlier.started_at if earlier is not None else started,
            now=now,
            golden=str(options.golden),
            golden_digest=corpus.digest,
            target=opened.target.name,
            model=opened.model,
            scripted=self.scripted,
            replayed=options.replay is not None,
            repeat=options.repeat or getattr(opened.target, "repeats", None) or 1,
            flags=options.flags(),
            versions=_versions(),
            target_facts=dict(opened.target.facts(next(resolved_cases(corpus)))),
        )
        return folder, facts

    def _grader(self) -> Grader:
        from harness.grading.witnesses import RunningSearch

        options, knowledge = self.options, ConfigKnowledge()
        return Grader(
            rules=Rules(columns=options.columns),
            knowledge=knowledge,
            witness=RunningSearch() if options.witness else None,
            executor=ExecutionOnDemand(
                options.exec_url,
                options.golden.parent,
                collection=knowledge.collection,
                any_order=options.columns == "any",
                unavailable=self.say if self.scripted else None,
            ),
            mode=options.exec_mode,
            identities=installed(),
        )

    def _plan(self, corpus: Corpus, opened: Opened, folder: RunFolder, facts: RunFacts) -> Plan:
        options = self.options
        graded = (options.columns, options.witness, options.exec_url, options.exec_mode, facts.versions.get("rung"))
        return Plan(
            folder=folder,
            facts=facts,
            cases=(checked_fixture(case, options) for case in resolved_cases(corpus)),
            graded=repr(graded),
            parallel=options.parallel,
            paid=opened.paid,
            resume=options.resume,
            retry_errors=options.retry_errors,
            told=tuple(told_of(corpus)),
            stop=self.stop,
        )


def checked_fixture(case: Case, options: RunOptions) -> Case:
    """The case, if it can be judged: one that expects a result needs data to run the answer on.

    Raises:
        GoldenError: it has none.
    """
    needs = isinstance(case.expectation, ExpectRows | ExpectTypedRows | ExpectationSuite)
    if needs and case.fixture is None and options.exec_url is None:
        column = "expect_suite" if isinstance(case.expectation, ExpectationSuite) else "expect_rows"
        said = (
            f"case {case.id} expects a result, which only running the answer can show: name its data with "
            "--exec FIXTURE or in the column `fixture`"
        )
        raise GoldenError((FileProblem(path=options.golden, line=case.line, column=column, message=said),))
    return case


def open_selected(options: RunOptions) -> Corpus:
    """The cases that the user asked for.

    Raises:
        GoldenError: with every problem of the golden file and its configs.
        UsageError: the selection names what does not exist, or leaves nothing.
    """
    corpus = open_corpus(options.golden, backend=options.backend, config=options.config)
    if options.only or options.ids or options.limit is not None:
        return corpus.select(only=options.only, ids=options.ids, limit=options.limit)
    return corpus


def resolved_cases(corpus: Corpus) -> Iterator[Case]:
    """The cases with `<default>` projections in place."""
    projections = DefaultProjections()
    return (projections.resolve(case) for case in corpus.cases())


def told_of(corpus: Corpus) -> Iterator[Warned]:
    """What the user should know of the corpus, beside what the run itself shows."""
    for path, config in corpus.configs.items():
        if isinstance(config, Vocabulary) and (unknown := config.unknown_keys):
            message = f"{path}: keys unknown to rung, kept for the engine: {', '.join(unknown[:10])}"
            yield Warned(kind="other", message=message)


def _folder(options: RunOptions, started: datetime, opened: Opened) -> RunFolder:
    if options.name:
        return RunFolder(options.runs / options.name)
    if options.resume:
        return latest_run(options.runs)
    parts = [f"{started:%Y%m%d-%H%M%S}", opened.target.name, opened.model or ""]
    name = "-".join(_SLUG.sub("-", part).strip("-") for part in parts if part)
    number = 1
    while (folder := RunFolder(options.runs / (name if number == 1 else f"{name}-{number}"))).exists():
        number += 1
    return folder


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _VERSIONS:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
