"""Checks what a run needs before the first call: the golden file, its configs, each golden against itself."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from canon.errors import ReadError
from canon.schema import Schema
from canon.verdict import ProblemKind
from harness.corpus.golden_csv import Corpus
from harness.errors import GoldenError
from harness.grading.knowledge import ConfigKnowledge
from harness.grading.ladder import judge
from harness.grading.meaning import read_form
from harness.runs.options import RunOptions
from harness.runs.session import open_selected, resolved_cases
from harness.types.answers import Answer, MongoAnswer, Refusal, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.outcomes import LADDER, Grade
from harness.types.problems import FileProblem

_BEYOND_CANON: frozenset[ProblemKind] = frozenset({"unsupported", "too_large", "budget"})
"""Reading problems that are canon's and not the golden's."""


@dataclass
class DryRun:
    """What a dry run found; a corpus with a problem does not get this far.

    Attributes:
        corpus: the selected cases.
        backends: cases per backend.
        grades: how each golden graded against itself.
        calls: model calls that a run would make at least.
        beyond: cases whose golden canon does not understand, so that only its own bytes can equal it.
    """

    corpus: Corpus
    backends: Counter[str] = field(default_factory=Counter)
    grades: Counter[Grade] = field(default_factory=Counter)
    calls: int = 0
    beyond: list[str] = field(default_factory=list)


def dry_run(options: RunOptions) -> DryRun:
    """Check, without calling a model.

    Raises:
        GoldenError: a golden file, a config or a golden that cannot be used; every problem found.
    """
    found = DryRun(open_selected(options))
    knowledge = ConfigKnowledge()
    problems: list[FileProblem] = []
    for case in resolved_cases(found.corpus):
        found.backends[case.backend] += 1
        found.calls += options.repeat or 1
        answer = own_answer(case)
        if answer is None:
            continue
        now = case.now or options.instant()
        schema, fields = knowledge.schema(case), knowledge.fields(case)
        found.grades[judge(case, answer, now=now, schema=schema, fields=fields).grade] += 1
        for column, error in _unreadable(case, answer, now, schema):
            if error.kind in _BEYOND_CANON:
                found.beyond.append(case.id)
                continue
            message = f"case {case.id}: {error.message}"
            problems.append(FileProblem(path=options.golden, line=case.line, column=column, message=message))
    if problems:
        raise GoldenError(tuple(problems))
    return found


def own_answer(case: Case) -> Answer | None:
    """The answer that a perfect system would give: the golden itself; `None` where the golden is no query."""
    match case.expectation:
        case ExpectSql(text=text, args=args):
            return SqlAnswer(text=text, args=args or ())
        case ExpectMongo(text=text):
            return MongoAnswer(text=text)
        case ExpectRefusal():
            return Refusal(message="cannot be expressed")
        case _:
            return None


def _unreadable(case: Case, answer: Answer, now: datetime, schema: Schema | None) -> Iterator[tuple[str, ReadError]]:
    """What of the golden or its alternatives canon cannot read, so that no other text could ever equal it."""
    column = "expect_mongo" if case.backend == "mongo" else "expect_sql"
    own = MongoAnswer if case.backend == "mongo" else SqlAnswer
    texts = [(column, answer), *(("accept", own(text=text)) for text in case.accept)]
    for place, text in texts:
        if not isinstance(text, SqlAnswer | MongoAnswer):
            continue
        try:
            read_form(case, text, now=now, schema=schema)
        except ReadError as error:
            yield place, error


def lines(found: DryRun) -> list[str]:
    """A dry run in words."""
    corpus = found.corpus
    backends = ", ".join(f"{number} {backend}" for backend, number in found.backends.most_common())
    exact = found.grades["EXACT"] + found.grades["REFUSED"]
    said = [
        f"{corpus.path}: {corpus.count} cases ({backends}), {len(corpus.tags)} tags",
        f"configs: {', '.join(str(path) for path in corpus.configs) or 'none'}",
        f"relative dates without a pinned now: {corpus.unpinned} cases",
        f"each golden against itself: {exact} of {corpus.count} as it should be (EXACT, or REFUSED for a refusal)",
    ]
    said += [f"  {grade}: {found.grades[grade]}" for grade in LADDER if found.grades[grade]]
    if found.beyond:
        said.append(f"goldens that only the same bytes can equal: {', '.join(found.beyond[:20])}")
    return [*said, f"a run would make at least {found.calls} model calls; this one made none"]


def facts_of(found: DryRun) -> dict[str, JsonValue]:
    """A dry run as data."""
    return {
        "format": "rung.dry-run/1",
        "golden": str(found.corpus.path),
        "cases": found.corpus.count,
        "backends": dict(found.backends),
        "tags": dict(found.corpus.tags),
        "configs": [str(path) for path in found.corpus.configs],
        "unpinned": found.corpus.unpinned,
        "against_itself": {grade: found.grades[grade] for grade in LADDER},
        "calls": found.calls,
        "beyond": list(found.beyond),
    }
