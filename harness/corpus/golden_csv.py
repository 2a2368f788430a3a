"""Opens a golden file: checks all of it, names every problem with its line, and streams its cases."""

import hashlib
import itertools
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.corpus.case_rows import CaseReader, ConfigShelf
from harness.corpus.columns import COLUMNS, column_hint, did_you_mean, not_utf8, printable
from harness.corpus.configs import Config
from harness.corpus.delimited import BadRow, DelimitedFile, Header
from harness.corpus.expectations import EXPECTATIONS
from harness.corpus.relative_dates import relative_words
from harness.errors import GoldenError, UsageError
from harness.types.cases import Case
from harness.types.problems import FileProblem

MAX_PROBLEMS = 1000
"""Problems reported in full; past it the rest is counted."""

MAX_WARNINGS = 50
"""Warnings kept in full; past it the rest is counted."""


@dataclass(frozen=True)
class Selection:
    """Which cases of a corpus are meant; empty = all.

    Attributes:
        only: cases with at least one of these tags.
        ids: cases with one of these ids.
        limit: at most so many of what is left, from the top of the file.
    """

    only: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    limit: int | None = None

    def takes(self, case: Case) -> bool:
        """Whether tags and ids let a case through."""
        tagged = not self.only or not set(self.only).isdisjoint(case.tags)
        return tagged and (not self.ids or case.id in self.ids)


@dataclass(frozen=True)
class Facts:
    """What is known of a checked golden file; `size` and `mtime_ns` tell whether it has changed since."""

    digest: str
    size: int
    mtime_ns: int
    count: int
    unpinned: int
    tags: Mapping[str, int]
    configs: Mapping[Path, Config]
    warnings: tuple[FileProblem, ...]


class Corpus:
    """The cases of a golden file that has been checked: they are read anew each time, one at a time.

    Attributes:
        path: the golden file as the user named it.
        count: cases selected.
        unpinned: selected cases whose sentence has relative date words and that pin no clock.
        tags: how many selected cases have each tag, in order of first appearance.
        configs: the configs that the file's rows name, loaded.
        digest: sha256 of the file's bytes, hex.
        warnings: what the user should know, at most `MAX_WARNINGS` in full.
    """

    def __init__(
        self, path: Path, facts: Facts, *, backend: str, config: Path | None, selection: Selection | None = None
    ) -> None:
        self.path = path
        self.count = facts.count
        self.unpinned = facts.unpinned
        self.tags = facts.tags
        self.configs = facts.configs
        self.digest = facts.digest
        self.warnings = facts.warnings
        self._facts = facts
        self._backend = backend
        self._config = config
        self._selection = selection or Selection()

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Case]:
        return self.cases()

    def cases(self) -> Iterator[Case]:
        """Read the selected cases, in the order of the file, in memory of one case.

        Raises:
            GoldenError: the file is not the one that was checked.
        """
        taken = 0
        for case in self._all_cases():
            if taken == self._selection.limit:
                return
            if self._selection.takes(case):
                taken += 1
                yield case

    def select(self, *, only: tuple[str, ...] = (), ids: tuple[str, ...] = (), limit: int | None = None) -> "Corpus":
        """Narrow the corpus down; see `Selection`.

        Raises:
            UsageError: a tag or an id that no case has, a limit below 1, or nothing is left.
        """
        if limit is not None and limit < 1:
            raise UsageError(f"--limit takes a number from 1, not {limit}")
        for tag in only:
            if tag not in self.tags:
                hint = did_you_mean(tag, tuple(self.tags))
                raise UsageError(f"no case of {self.path} has the tag `{tag}`{hint}")
        selection = Selection(only, ids, limit)
        narrowed = Corpus(self.path, self._facts, backend=self._backend, config=self._config, selection=selection)
        tags: dict[str, int] = {}
        unseen = dict.fromkeys(ids)
        count = unpinned = 0
        for case in narrowed.cases():
            count += 1
            unpinned += case.now is None and bool(relative_words(case.nl))
            unseen.pop(case.id, None)
            for tag in case.tags:
                tags[tag] = tags.get(tag, 0) + 1
        if unseen and limit is None:
            self._refuse_ids(tuple(unseen), only)
        if count == 0:
            raise UsageError(f"no case of {self.path} is left by --only {','.join(only)} --ids {','.join(ids)}")
        narrowed.count, narrowed.unpinned, narrowed.tags = count, unpinned, tags
        return narrowed

    def _refuse_ids(self, unseen: tuple[str, ...], only: tuple[str, ...]) -> None:
        known = frozenset(case.id for case in self._all_cases())
        for case_id in unseen:
            if case_id not in known:
                raise UsageError(f"no case of {self.path} has the id `{case_id}`{did_you_mean(case_id, known)}")

    def _all_cases(self) -> Iterator[Case]:
        stat = self.path.stat()
        if (stat.st_size, stat.st_mtime_ns) != (self._facts.size, self._facts.mtime_ns):
            raise GoldenError((_problem(self.path, "the file changed while it was being used; start again"),))
        source = DelimitedFile(self.path, ("id", "nl"))
        header = source.header()
        if not isinstance(header, Header):
            return
        reader = _reader(self.path, header, self._backend, self._config, ConfigShelf(), check=False)
        for row in source.rows():
            case, problems = (None, []) if isinstance(row, BadRow) else reader.read(row)
            if case is None:
                changed = _problem(self.path, "the file changed while it was being used; start again")
                raise GoldenError((*problems, changed))
            yield case


def open_corpus(path: Path, *, backend: str | None = None, config: Path | None = None) -> Corpus:
    """Check a golden file and everything it names.

    Args:
        path: the golden file.
        backend: the backend of rows that name none; `sql` (postgres) unless given.
        config: the config of rows that name none.

    Raises:
        GoldenError: with every problem found, in the order of the file.
    """
    return _Check(path, backend or "sql", config).run()


@dataclass
class _Check:
    """One pass over a golden file that keeps counts and problems, and of each row eight bytes: the hash of its id."""

    path: Path
    backend: str
    config: Path | None
    problems: list[FileProblem] = field(default_factory=list)
    unreported: int = 0
    warnings: list[FileProblem] = field(default_factory=list)
    count: int = 0
    unpinned: int = 0
    tags: dict[str, int] = field(default_factory=dict)
    id_hashes: "array[int]" = field(default_factory=lambda: array("q"))
    shelf: ConfigShelf = field(default_factory=ConfigShelf)

    def run(self) -> Corpus:
        source = DelimitedFile(self.path, ("id", "nl"))
        if (said := source.whole_file_problem()) is not None:
            raise GoldenError((_problem(self.path, said),))
        stat = self.path.stat()
        header = source.header()
        if header is None:
            raise GoldenError((_problem(self.path, "the file is empty; it needs a header row and a case"),))
        if isinstance(header, BadRow):
            raise GoldenError((_problem(self.path, header.message, line=header.line),))
        self.problems.extend(_header_problems(self.path, header))
        if self.config is not None:
            self.shelf.get(self.config)
        self._read_rows(source, header)
        self._find_duplicates(source, header)
        self._finish(header)
        facts = Facts(
            digest=_digest(self.path),
            size=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
            count=self.count,
            unpinned=self.unpinned,
            tags=self.tags,
            configs=self.shelf.loaded,
            warnings=tuple(self.warnings),
        )
        return Corpus(self.path, facts, backend=self.backend, config=self.config)

    def _read_rows(self, source: DelimitedFile, header: Header) -> None:
        reader = _reader(self.path, header, self.backend, self.config, self.shelf, check=True)
        id_index = header.names.index("id") if "id" in header.names else None
        for row in source.rows():
            self.count += 1
            if isinstance(row, BadRow):
                self._report(_problem(self.path, row.message, line=row.line))
                if row.final:
                    self._report(_problem(self.path, "the rows after it were not read", line=row.line))
                continue
            if id_index is not None and id_index < len(row.cells):
                self.id_hashes.append(hash(row.cells[id_index].strip()))
            case, problems = reader.read(row)
            for problem in problems:
                self._report(problem)
            if case is not None:
                self._note(case)

    def _note(self, case: Case) -> None:
        for tag in case.tags:
            self.tags[tag] = self.tags.get(tag, 0) + 1
        words = relative_words(case.nl) if case.now is None else ()
        if words:
            self.unpinned += 1
            if len(self.warnings) < MAX_WARNINGS:
                said = f"says “{'”, “'.join(words)}” but pins no clock; set `now`, or the expectation goes stale"
                self.warnings.append(
                    FileProblem(path=self.path, line=case.line, column="now", message=said, severity="warning")
                )

    def _find_duplicates(self, source: DelimitedFile, header: Header) -> None:
        """Ids that occur more than once. Only hashes were kept, so the few that are suspect are read again."""
        ordered = sorted(self.id_hashes)
        suspect = {one for one, two in itertools.pairwise(ordered) if one == two}
        if not suspect:
            return
        index = header.names.index("id")
        first: dict[str, int] = {}
        for row in source.rows():
            if isinstance(row, BadRow) or index >= len(row.cells):
                continue
            case_id = row.cells[index].strip()
            if case_id and hash(case_id) in suspect:
                if case_id in first:
                    said = f"`{case_id}` is used already on line {first[case_id]}; ids are unique"
                    self._report(_problem(self.path, said, line=row.line, column="id"))
                first.setdefault(case_id, row.line)

    def _finish(self, header: Header) -> None:
        self.problems.sort(key=lambda problem: problem.line or 0)
        self.problems.extend(self.shelf.problems)
        if self.count == 0:
            self.problems.append(_problem(self.path, "the file has a header but no case", line=header.line))
        if self.unreported:
            self.problems.append(_problem(self.path, f"… and {self.unreported} more problems"))
        if self.problems:
            raise GoldenError(tuple(self.problems))
        if self.unpinned > len(self.warnings):
            said = f"… and {self.unpinned - len(self.warnings)} more cases with relative dates and no `now`"
            self.warnings.append(_problem(self.path, said, column="now", severity="warning"))

    def _report(self, problem: FileProblem) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.unreported += 1


def _reader(
    path: Path, header: Header, backend: str, config: Path | None, shelf: ConfigShelf, *, check: bool
) -> CaseReader:
    return CaseReader(path, header.names, backend=backend, config=config, shelf=shelf, check=check)


def _header_problems(path: Path, header: Header) -> Iterator[FileProblem]:
    seen: set[str] = set()
    for name in filter(None, header.names):
        if name in seen:
            yield _problem(path, "the header names this column twice", line=header.line, column=name)
        elif name not in COLUMNS:
            said = not_utf8(name) or f"unknown column{column_hint(name)}"
            yield _problem(path, said, line=header.line, column=name)
        seen.add(name)
    for name in ("id", "nl"):
        if name not in seen:
            yield _problem(
                path, "the header lacks this column, which every golden file has", line=header.line, column=name
            )
    if seen.isdisjoint(EXPECTATIONS):
        wanted = ", ".join(f"`{column}`" for column in EXPECTATIONS)
        yield _problem(path, f"the header has none of {wanted}", line=header.line)


def _problem(
    path: Path,
    message: str,
    *,
    line: int | None = None,
    column: str | None = None,
    severity: Literal["error", "warning"] = "error",
) -> FileProblem:
    named = printable(column) if column is not None else None
    return FileProblem(path=path, line=line, column=named, message=printable(message), severity=severity)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
