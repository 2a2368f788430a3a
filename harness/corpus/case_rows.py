"""Turns one row of a golden file into a case, or into everything that is wrong with it."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from canon.sql.dialects import ALIASES
from harness.corpus.columns import (
    CellError,
    did_you_mean,
    not_utf8,
    printable,
    read_accept,
    read_flag,
    read_instant,
    read_json_array,
    read_list,
    read_number,
    read_scope,
)
from harness.corpus.configs import Config, DdlConfig, load_config
from harness.corpus.default_projection import ENGINE_SQL, uses_default
from harness.corpus.delimited import Row
from harness.corpus.expectations import COMPANIONS, EXPECTATIONS, ExpectationColumn
from harness.corpus.expected_results import Beside, read_schema
from harness.corpus.query_texts import Args, dialects
from harness.errors import VocabularyError
from harness.types.cases import Case, Expectation, ResultRules
from harness.types.problems import FileProblem

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # reported of the cell as such
_NOTHING: tuple[str, ...] = ()
_Value = TypeVar("_Value")


class ConfigShelf:
    """The configs that a golden file names, each loaded once; `problems` is what is wrong with the files themselves."""

    def __init__(self) -> None:
        self._loaded: dict[Path, Config | None] = {}
        self.problems: list[FileProblem] = []

    def get(self, path: Path) -> Config | None:
        """The config, or `None` where it cannot be used."""
        if path not in self._loaded:
            try:
                self._loaded[path] = load_config(path)
            except VocabularyError as error:
                self._loaded[path] = None
                self.problems.extend(error.problems)
        return self._loaded[path]

    @property
    def loaded(self) -> Mapping[Path, Config]:
        """The usable configs by path, in order of first use."""
        return {path: config for path, config in self._loaded.items() if config is not None}


class CaseReader:
    """Reads rows under one header.

    Args:
        path: the golden file.
        names: the header's names, in order.
        backend: the backend of rows that name none (`sql` = postgres).
        config: the config of rows that name none.
        shelf: where configs are loaded.
        check: also check that queries read in their dialect, that files exist, that bytes are text.
    """

    def __init__(
        self, path: Path, names: tuple[str, ...], *, backend: str, config: Path | None, shelf: ConfigShelf, check: bool
    ) -> None:
        self._path = path
        self._names = names
        self._index = {name: index for index, name in enumerate(names) if name}
        self._backend = backend
        self._config = config
        self._shelf = shelf
        self._check = check
        self._problems: list[FileProblem] = []
        self._row = Row(0, [])

    def read(self, row: Row) -> tuple[Case | None, list[FileProblem]]:
        """Read a row: the case, or `None` with its problems."""
        self._row, self._problems = row, []
        if len(row.cells) > len(self._names):
            said = (
                f"{len(row.cells)} cells, the header has {len(self._names)}; a cell with a delimiter in it needs quotes"
            )
            self._report(None, said)
            return None, self._problems
        if self._check:
            self._check_bytes()
        case_id, nl = self._required("id"), self._required("nl").strip()
        backend = self._read_backend()
        kind, expectation = self._read_expectation(backend)
        config = self._read_config(expectation, backend)
        facts: dict[str, Any] = {
            "tags": self._cell("tags", read_list, _NOTHING),
            "accept": self._read_accept(kind, backend),
            "scope": self._cell("scope", read_scope, None),
            "now": self._cell("now", read_instant, None),
            "fixture": self._read_fixture(),
            "result_rules": ResultRules(
                order_matters=self._cell("order_matters", read_flag, False),
                float_tolerance=self._cell("float_tolerance", _tolerance, 1e-9),
                match_key=self._cell("match_key", read_list, _NOTHING),
            ),
            "weight": self._cell("weight", _weight, 1.0),
            "group": self._text("group").strip() or None,
        }
        known = bool(case_id and nl)  # a header without one of them is reported once, not in each row
        if self._problems or expectation is None or backend is None or not known:
            return None, self._problems
        head: dict[str, Any] = {"id": case_id.strip(), "nl": nl, "line": row.line, "backend": backend}
        return Case(**head, config=config, expectation=expectation, **facts), []

    def _report(self, column: str | None, message: str) -> None:
        named = printable(column) if column is not None else None
        problem = FileProblem(path=self._path, line=self._row.line, column=named, message=printable(message))
        self._problems.append(problem)

    def _text(self, column: str) -> str:
        """A cell, "" where the row or the file has none; white space alone says nothing."""
        index = self._index.get(column)
        if index is None or index >= len(self._row.cells):
            return ""
        cell = self._row.cells[index]
        return cell if cell and not cell.isspace() else ""

    def _cell(self, column: str, read: Callable[[str], _Value], default: _Value) -> _Value:
        text = self._text(column)
        if not text:
            return default
        try:
            return read(text)
        except CellError as error:
            self._report(column, str(error))
            return default

    def _required(self, column: str) -> str:
        text = self._text(column)
        if not text and column in self._index:
            self._report(column, "is required in every row")
        return text

    def _check_bytes(self) -> None:
        for index, cell in enumerate(self._row.cells):
            name = self._names[index] or f"(column {index + 1})"
            if not self._names[index] and cell.strip():
                self._report(None, f"column {index + 1} has no name in the header, but this row fills it")
            if "\x00" in cell:
                self._report(name, "holds a NUL byte; the file is damaged, or is no text")
            if not cell.isascii() and (said := not_utf8(cell)) is not None:
                self._report(name, said)

    def _read_backend(self) -> str | None:
        name = self._text("backend").strip() or self._backend
        known = ALIASES.get(name.lower(), name.lower())
        if known == "mongo" or known in dialects():
            return known
        names = frozenset({"sql", "mongo"}) | dialects()
        self._report("backend", f"no backend is called `{name[:60]}`{did_you_mean(name, names)}")
        return None

    def _read_expectation(self, backend: str | None) -> tuple[ExpectationColumn | None, Expectation | None]:
        if self._index.keys().isdisjoint(EXPECTATIONS):
            return None, None  # reported of the header
        filled = [column for column in EXPECTATIONS if self._text(column)]
        if len(filled) != 1:
            wanted = ", ".join(f"`{column}`" for column in EXPECTATIONS)
            said = f"fill exactly one of {wanted}"
            self._report(None, f"{said}, not {' and '.join(filled)}" if filled else f"no expectation: {said}")
            return None, None
        column, kind = filled[0], EXPECTATIONS[filled[0]]
        args = self._cell("expect_args", read_json_array, None)
        for companion in COMPANIONS:
            if self._text(companion) and companion not in kind.companions:
                owner = next(name for name, each in EXPECTATIONS.items() if companion in each.companions)
                self._report(companion, f"goes with `{owner}` only")
        if backend is None:
            return kind, None
        if kind.backend != "any" and (kind.backend == "mongo") != (backend == "mongo"):
            fix = "`mongo`" if kind.backend == "mongo" else "`sql` or a SQL dialect"
            self._report(column, f"is for another backend than `{backend}`; set `backend` to {fix}")
            return kind, None
        schema = self._cell("expect_schema", lambda cell: read_schema(cell, backend), None)
        if schema is None and self._text("expect_schema") and "expect_schema" in kind.companions:
            return kind, None  # reported of that cell
        beside = Beside(args=args, schema=schema, dialect=backend, folder=self._path.parent)
        expectation = self._cell(column, lambda cell: kind.build(cell, beside), None)
        if expectation is not None and (args is not None or not self._text("expect_args")):
            self._check_query(kind, self._text(column), backend, args, column=column)
        return kind, expectation

    def _read_accept(self, kind: ExpectationColumn | None, backend: str | None) -> tuple[str, ...]:
        accept = self._cell("accept", read_accept, _NOTHING)
        if accept and kind is not None and kind.problem is None:
            self._report("accept", "goes with an expected query only")
        elif kind is not None and backend is not None:
            for number, query in enumerate(accept, start=1):
                self._check_query(kind, query, backend, None, column="accept", label=f"query {number}: ")
        return accept

    def _check_query(
        self, kind: ExpectationColumn, query: str, backend: str, args: Args, *, column: str, label: str = ""
    ) -> None:
        if not self._check or kind.problem is None or _NO_TEXT.search(query):
            return
        if (said := kind.problem(query, backend, args)) is not None:
            self._report(column, label + said)

    def _read_config(self, expectation: Expectation | None, backend: str | None) -> Path | None:
        named = self._text("config").strip()
        path = self._path.parent / named if named else self._config
        if not self._check:
            return path
        config: Config | None = None
        if path is not None:
            if named and not path.is_file():
                self._report("config", f"no such file: `{named}` (looked for beside the golden file)")
                return path
            config = self._shelf.get(path)
        projects_default = expectation is not None and expectation.kind == "sql" and uses_default(expectation.text)
        if projects_default and (path is None or isinstance(config, DdlConfig)):
            self._report("expect_sql", "`<default>` needs a vocabulary config; name one in `config` or with --config")
        elif projects_default and backend not in ENGINE_SQL:
            said = (
                f"`<default>` is what QueryForge compiles, and it does not compile for {backend}; write the columns out"
            )
            self._report("expect_sql", said)
        return path

    def _read_fixture(self) -> str | None:
        named = self._text("fixture").strip()
        if not named or _URL.match(named):
            return named or None
        path = self._path.parent / named
        if self._check and not path.exists():
            self._report("fixture", f"no such file: `{named}` (looked for beside the golden file)")
        return str(path)


def _tolerance(cell: str) -> float:
    return read_number(cell, minimum=0, exclusive=False)


def _weight(cell: str) -> float:
    return read_number(cell, minimum=0, exclusive=True)
