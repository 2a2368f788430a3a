"""The pytest plugin: `case` fixtures, golden files as tests, a report and a table; it costs nothing where it is unused.

=========================  ==================================================================================
`@eval_case(…)`            gives a test its `case`; several run it once for each
`--rung-golden F`          one test per row of a golden file, its tags as markers (`-m`, `-k`)
`--rung-target T`          what those rows are asked of: `module:function`, or `recorded`; else the fixture
                           `rung_target` of a conftest.py that is visible from the golden file
`--rung-answers F`         for `--rung-target recorded`
`--rung-config F`          vocabulary config or DDL of rows that name none
`--rung-exec F`            data of rows that name none
`--rung-repeat N`          attempts per row; a row passes only if every one does
`--rung-report F`          a report of all that was evaluated (`.html .md .csv .jsonl .xml`)
=========================  ==================================================================================
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.testing.asserting import Evaluated
    from harness.types.cases import Case

MARK = "rung_case"
_UNFIT = re.compile(r"[^\w.+-]")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("rung", "rung: evaluate natural-language-to-query systems")
    group.addoption("--rung-golden", action="append", default=[], metavar="F", help="collect a golden file as tests")
    group.addoption("--rung-target", metavar="T", help="what its rows are asked of: module:function, or recorded")
    group.addoption("--rung-answers", metavar="F", help="answers, for --rung-target recorded")
    group.addoption("--rung-config", metavar="F", help="vocabulary config or DDL of rows that name none")
    group.addoption("--rung-exec", metavar="F", help="data of rows that name none")
    group.addoption("--rung-repeat", type=int, default=1, metavar="N", help="attempts per row")
    group.addoption("--rung-report", metavar="F", help="write a report of what was evaluated")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and gather results where this process is the one that reports."""
    config.addinivalue_line("markers", f"{MARK}(case): the case that the fixture `case` gives (set by @eval_case)")
    config.pluginmanager.register(_Results(config), "rung-results")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test its cases."""
    marks = list(metafunc.definition.iter_markers(MARK))
    if not marks or "case" not in metafunc.fixturenames:
        return
    params = []
    for mark in reversed(marks):
        case: Case = mark.args[0]
        names = [_marker(metafunc.config, tag) for tag in case.tags]
        params.append(pytest.param(case, id=case.id, marks=[getattr(pytest.mark, name) for name in names]))
    metafunc.parametrize("case", params)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> "Case":
    """The case that `@eval_case` puts on a test."""
    raise pytest.UsageError(f"{request.node.name} asks for `case`: put @eval_case(…) on it")


@pytest.fixture
def rung_target(request: pytest.FixtureRequest) -> Any:
    """What the rows of `--rung-golden` are asked of; override it in a conftest.py, or name it with `--rung-target`."""
    return _target(request.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the rows of golden files before -m and -k choose."""
    for name in config.getoption("rung_golden"):
        path = (config.invocation_params.dir / name).resolve()
        if not path.is_file():
            raise pytest.UsageError(f"--rung-golden {name}: no such file")
        above = [node for item in items for node in item.listchain() if isinstance(node, pytest.Directory)]
        nearest = max(
            (node for node in above if node.path in path.parents),
            key=lambda node: len(node.path.parts),
            default=session,
        )
        items.extend(GoldenFile.from_parent(nearest, path=path).collect())


class GoldenFile(pytest.File):
    """A golden file as a file of tests."""

    def collect(self) -> Iterator["GoldenRow"]:
        """One test per row."""
        from harness.api import load_golden
        from harness.errors import RungError
        from harness.runs.session import resolved_cases

        config = self.config.getoption("rung_config")
        try:
            corpus = load_golden(self.path, config=config)
            cases = list(resolved_cases(corpus))
        except RungError as error:
            raise pytest.UsageError(f"--rung-golden {self.path.name}:\n{error}") from error
        fixture = self.config.getoption("rung_exec")
        for each in cases:
            if fixture is not None and each.fixture is None:
                each = each.model_copy(update={"fixture": str(fixture)})  # noqa: PLW2901
            yield GoldenRow.from_parent(self, name=each.id, case=each)


class GoldenRow(pytest.Item):
    """A row of a golden file as a test."""

    def __init__(self, *, case: "Case", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        for tag in case.tags:
            self.add_marker(_marker(self.config, tag))
            self.extra_keyword_matches.add(tag)
        # The fixture `rung_target` is found as a test function would find it.
        self.fixturenames: list[str] = []
        if self.config.getoption("rung_target") is None:
            manager = self.session._fixturemanager
            self._fixtureinfo = manager.getfixtureinfo(node=self, func=_asks_target, cls=None)
            self.fixturenames = self._fixtureinfo.names_closure
            self.funcargs: dict[str, Any] = {}
            self._request = _request_of(self)

    def setup(self) -> None:
        """Make the target."""
        if self.fixturenames:
            self._request._fillfixtures()

    def runtest(self) -> None:
        """Ask, and assert."""
        from harness.testing.asserting import assert_eval

        target = self.funcargs["rung_target"] if self.fixturenames else _target(self.config)
        assert_eval(self.case, target, repeat=self.config.getoption("rung_repeat"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Differences and witness instead of a traceback."""
        from harness.errors import RungError
        from harness.testing.asserting import EvalFailed

        if isinstance(excinfo.value, EvalFailed | RungError | pytest.UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the row stands."""
        return self.path, max(0, self.case.line - 1), f"{self.path.name}: {self.case.id}"


def _asks_target(rung_target: Any) -> None:
    """Name the fixture that a row needs."""


def _request_of(item: GoldenRow) -> Any:
    from _pytest.fixtures import TopRequest

    return TopRequest(item, _ispytest=True)  # type: ignore[arg-type]  # any item with a fixtureinfo will do


def _marker(config: pytest.Config, tag: str) -> str:
    """A tag as a marker that `--strict-markers` knows."""
    name = _UNFIT.sub("_", tag).lstrip("_") or "tag"
    config.addinivalue_line("markers", f"{name}: a tag of a case")
    return name


def _target(config: pytest.Config) -> Any:
    from harness.targets.python_callable import PythonTarget, load_callable
    from harness.targets.registry import TargetSettings, create_target

    name: str | None = config.getoption("rung_target")
    answers = config.getoption("rung_answers")
    if name is None and answers is not None:
        name = "recorded"
    if name is None:
        said = "say what the golden file is asked of: --rung-target module:function, or a fixture `rung_target`"
        raise pytest.UsageError(said)
    if ":" in name:
        return PythonTarget(load_callable(name), label=name)
    return create_target(name, TargetSettings(answers=None if answers is None else Path(answers)))


class _Results:
    """Gathers what was evaluated, across the processes of xdist, and reports it in the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._gathered: list[str] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Keep what is evaluated while a test runs."""
        if not (isinstance(item, GoldenRow) or item.get_closest_marker(MARK) or self._config.getoption("rung_report")):
            yield
            return
        from harness.testing.asserting import RECORDED

        kept: list[Evaluated] = []
        token = RECORDED.set(kept)
        yield
        RECORDED.reset(token)
        item.stash[_KEPT] = kept

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Put it on the test's report, which travels to the process that reports."""
        outcome = yield
        kept = item.stash.get(_KEPT, None)
        if call.when == "call" and kept:
            outcome.get_result().rung = [each.model_dump_json() for each in kept]  # type: ignore[attr-defined]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test evaluated."""
        self._gathered.extend(getattr(report, "rung", ()))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table; write the report."""
        if not self._gathered or hasattr(self._config, "workerinput"):
            return
        from harness.testing.asserting import Evaluated
        from harness.testing.reporting import summary_lines, write_report

        evaluated = [Evaluated.model_validate_json(text) for text in self._gathered]
        terminalreporter.section("rung")
        for line in summary_lines(evaluated):
            terminalreporter.write_line(line)
        if (name := self._config.getoption("rung_report")) is not None:
            path = self._config.invocation_params.dir / name
            write_report(evaluated, path)
            terminalreporter.write_line(f"report: {name}")


_KEPT: pytest.StashKey[Any] = pytest.StashKey()
