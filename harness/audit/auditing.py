"""Audits a golden file against its fixtures: is each golden right, determined by the data, and are there doubles?"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import sqlglot
from pydantic import JsonValue
from sqlglot import exp
from sqlglot.errors import SqlglotError

from canon.errors import ReadError
from canon.mongo.pipelines import Plan
from canon.schema import Schema
from harness.audit.adequacy import Adequacy, CaseAdequacy, Question, Survivor, case_adequacy, plan_on, told_apart
from harness.audit.findings import SEVERITIES, Audit, Check, Finding, Severity
from harness.audit.fixtures import TableFixture, read_fixture
from harness.corpus.configs import DdlConfig, load_config
from harness.corpus.relative_dates import relative_words
from harness.corpus.vocabulary import Vocabulary
from harness.errors import RungError, TargetError
from harness.grading.knowledge import ConfigKnowledge
from harness.grading.ladder import judge
from harness.types.answers import MongoAnswer, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.outcomes import Exact
from harness.witness import documents
from harness.witness.plans import Unrunnable, parsed

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*|\d[\d.,]*")
_PLAIN_WORDS = frozenset(
    re.split(
        r" ",
        "a all an and any are as at be been but by each every for from get give has have in is it its last latest "
        "less list made me more most new newest no not of on one ones only or order orders our out over per please "
        "second show since some than that the their them there they this those to top under until up was were what "
        "when where which who whose with without worth above below after before between cheapest cost costs dearest "
        "oldest today yesterday day days week weeks month months year years find still whole everything ",
    )
)
_GROUPING = frozenset(
    ("how", "many", "average", "mean", "sum", "number", "count", "each", "per", "every", "most", "common", "share")
)

Add = Callable[[Check, Severity, str], None]


@dataclass
class _Seen:
    """What earlier rows mean, so that later ones can be held against them."""

    by_meaning: dict[str, Case] = field(default_factory=dict)
    by_sentence: dict[str, list[tuple[Case, str]]] = field(default_factory=dict)


@dataclass
class Auditor:
    """Audits case after case.

    Args:
        fixtures: paths or URLs; files of SQL tables and of documents. A case's own fixture comes first.
        adequacy: whether the goldens are mutated as well.
        now: the clock of cases that pin none.
    """

    fixtures: tuple[str, ...] = ()
    adequacy: bool = True
    now: datetime | None = None
    knowledge: ConfigKnowledge = field(default_factory=ConfigKnowledge)
    survivors: list[tuple[Survivor, Question]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tables: dict[tuple[str, str], TableFixture] = {}
        self._documents: dict[str, list[documents.Document]] = {}
        self._seen = _Seen()

    def audit(self, golden: str, cases: Iterable[Case]) -> Audit:
        """Look at every case.

        Raises:
            RungError: a config or a fixture cannot be used.
        """
        findings: list[Finding] = []
        measured: list[CaseAdequacy] = []
        count = executed = 0
        for case in cases:
            count += 1
            found: list[Finding] = []

            def add(
                check: Check, severity: Severity, message: str, case: Case = case, found: list[Finding] = found
            ) -> None:
                found.append(Finding(line=case.line, case_id=case.id, check=check, severity=severity, message=message))

            share = self._case(case, add)
            if share is not None:
                executed += 1
                if self.adequacy:
                    measured.append(share)
            findings += sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
        adequacy = Adequacy(cases=tuple(measured)) if measured else None
        return Audit(golden=golden, cases=count, executed=executed, findings=tuple(findings), adequacy=adequacy)

    def _case(self, case: Case, add: Add) -> CaseAdequacy | None:
        """Look at one case; its adequacy where it ran on a fixture (an empty one where it was not asked for)."""
        self._pinned(case, add)
        expectation = case.expectation
        if isinstance(expectation, ExpectRefusal):
            self._refusal(case, add)
            return None
        if isinstance(expectation, ExpectSql):
            self._itself(case, SqlAnswer(text=expectation.text, args=expectation.args or ()), add)
            self._doubles(case, add)
            return self._sql(case, expectation, add)
        if not isinstance(expectation, ExpectMongo):
            return None
        self._itself(case, MongoAnswer(text=expectation.text), add)
        self._doubles(case, add)
        return self._mongo(case, expectation.text, add)

    def _clock(self, case: Case) -> datetime | None:
        return case.now or self.now

    def _pinned(self, case: Case, add: Add) -> None:
        words = relative_words(case.nl)
        reads = isinstance(case.expectation, ExpectSql) and _reads_clock(
            case.expectation.text, case.backend, case.expectation.args or ()
        )
        if reads and self._clock(case) is None:
            add("pinned", "error", "the golden reads the clock, and none is pinned: fill in `now`")
        elif words and self._clock(case) is None and not isinstance(case.expectation, ExpectRefusal):
            add("pinned", "warning", f"the sentence says {', '.join(words)!s}, and no clock is pinned: fill in `now`")

    def _itself(self, case: Case, answer: SqlAnswer | MongoAnswer, add: Add) -> None:
        now = self._clock(case) or datetime(2000, 1, 1, tzinfo=UTC)
        judgement = judge(case, answer, now=now, schema=self.knowledge.schema(case), fields=self.knowledge.fields(case))
        if not isinstance(judgement, Exact):
            add("itself", "error", f"the golden is not graded EXACT against itself but {judgement.grade}")

    # -- doubles ------------------------------------------------------------------------------------------------------

    def _doubles(self, case: Case, add: Add) -> None:
        """Hold the case against earlier ones: the same meaning twice, one sentence with two meanings."""
        meaning = self._meaning(case)
        if meaning is None:
            return
        twin = self._seen.by_meaning.setdefault(f"{case.backend}:{meaning}", case)
        sentence = " ".join(case.nl.lower().split()).rstrip(".?!")
        if twin is not case and (case.group is None or twin.group != case.group):
            add("same_meaning", "note", f"means the same as {twin.id} (line {twin.line}); `group` them as paraphrases")
        for other, known in self._seen.by_sentence.setdefault(sentence, []):
            same_question = (other.backend, other.scope, other.now) == (case.backend, case.scope, case.now)
            if same_question and known != meaning:
                add("contradiction", "error", f"the sentence of {other.id} (line {other.line}) with another meaning")
        self._seen.by_sentence[sentence].append((case, meaning))

    def _meaning(self, case: Case) -> str | None:
        from canon.mongo import read_mongo
        from canon.sql import read_sql

        now = self._clock(case)
        try:
            if isinstance(case.expectation, ExpectSql):
                args = case.expectation.args or ()
                schema = self.knowledge.schema(case)
                return read_sql(
                    case.expectation.text, dialect=case.backend, schema=schema, args=args, now=now
                ).fingerprint()
            if isinstance(case.expectation, ExpectMongo):
                return read_mongo(case.expectation.text, now=now).fingerprint()
        except ReadError:
            return None
        return None

    # -- SQL ----------------------------------------------------------------------------------------------------------

    def _sql(self, case: Case, expectation: ExpectSql, add: Add) -> CaseAdequacy | None:
        fixture = self._table_fixture(case)
        schema = fixture.schema if fixture is not None else self.knowledge.schema(case)
        try:
            tree = parsed(expectation.text, case.backend, expectation.args or (), self._clock(case))
        except Unrunnable as problem:
            add("deterministic" if "each time" in str(problem) else "runs", "error", str(problem))
            return None
        if schema is not None:
            _domain(tree, schema, self.knowledge.schema(case), add)
            _named_columns(case, tree, self._vocabulary(case), schema, add)
        if fixture is None:
            return None
        bound = tree.sql(dialect=case.backend) if expectation.args else expectation.text
        question = Question(case, bound, case.backend, fixture.schema, self._clock(case))
        if not _runs(question, fixture, add):
            return None
        self._accepted(case, question, fixture, add)
        if not self.adequacy:
            return CaseAdequacy(case_id=case.id, tags=case.tags, killed=0)
        share = case_adequacy(question, fixture, fixture.rows)
        self._told(share, add)
        self.survivors += [(survivor, question) for survivor in share.survivors]
        return share

    def _told(self, share: CaseAdequacy, add: Add) -> None:
        for survivor in share.survivors:
            if survivor.witness is not None:
                reading = survivor.witness.reading or ""
                add("adequacy", "note", f"the fixture does not show it when {survivor.change}; it would {reading}")

    def _accepted(self, case: Case, question: Question, fixture: TableFixture, add: Add) -> None:
        from canon.sql import compare_sql

        for number, text in enumerate(case.accept, 1):
            found = compare_sql(question.text, text, dialect=case.backend, schema=question.schema, now=question.now)
            if found.relation in {"identical", "equivalent"}:
                add("accept", "warning", f"alternative {number} of `accept` means the same as the golden: drop it")
            elif told_apart(question.text, text, question, fixture, rows=fixture.rows):
                add(
                    "accept",
                    "note",
                    f"alternative {number} of `accept` gives other rows than the golden on the fixture",
                )

    def _table_fixture(self, case: Case) -> TableFixture | None:
        places = [case.fixture] if case.fixture is not None else [f for f in self.fixtures if not f.endswith(".jsonl")]
        if not places:
            return None
        key = (str(places[0]), case.backend)
        if key not in self._tables:
            self._tables[key] = read_fixture(*key)
        return self._tables[key]

    @property
    def table_fixtures(self) -> list[TableFixture]:
        """The fixtures of tables that were read."""
        return list(self._tables.values())

    # -- MongoDB ------------------------------------------------------------------------------------------------------

    def _mongo(self, case: Case, text: str, add: Add) -> CaseAdequacy | None:
        place = case.fixture or next((f for f in self.fixtures if f.endswith(".jsonl")), None)
        if place is None:
            return None
        if place not in self._documents:
            self._documents[place] = documents.read_documents(Path(place))
        collection = self._documents[place]
        fields = self.knowledge.fields(case)
        try:
            plan = documents.planned(text, fields, self._clock(case))
        except ReadError as problem:
            add("runs", "error", problem.message)
            return None
        returned = documents.results(plan, collection)
        if returned is None:
            add("runs", "note", "the pipeline takes a server to run; it was not executed")
            return None
        if not returned:
            add(
                "returns_rows",
                "warning",
                "the golden returns nothing on the fixture: any other empty answer matches it",
            )
        share = self._mongo_adequacy(case, text, plan, collection)
        self._told(share, add)
        for survivor in share.survivors:
            add("adequacy", "note", f"the fixture does not show it when {survivor.change}")
        return share

    def _mongo_adequacy(self, case: Case, text: str, plan: Plan, collection: list[documents.Document]) -> CaseAdequacy:
        from canon.mongo import compare_mongo

        fields, now = self.knowledge.fields(case), self._clock(case)
        killed = equivalent = unrunnable = 0
        for _, _, mutant in documents.mutants_of(text) if self.adequacy else ():
            try:
                told = documents.told_apart(plan, documents.planned(mutant, fields, now), collection)
            except ReadError:
                told = None
            if told is None:
                unrunnable += 1
            elif told:
                killed += 1
            elif compare_mongo(text, mutant, fields=fields, now=now).relation in {"identical", "equivalent"}:
                equivalent += 1
        return CaseAdequacy(
            case_id=case.id, tags=case.tags, killed=killed, equivalent=equivalent, unrunnable=unrunnable
        )

    # -- refusals -----------------------------------------------------------------------------------------------------

    def _vocabulary(self, case: Case) -> Vocabulary | None:
        if case.config is None:
            return None
        config = load_config(case.config)
        return None if isinstance(config, DdlConfig) else config

    def _refusal(self, case: Case, add: Add) -> None:
        """A refusal is doubtful when the vocabulary has a word for all that the sentence names."""
        vocabulary = self._vocabulary(case)
        words = [word.lower() for word in _WORD.findall(case.nl)]
        if vocabulary is None or not words or not _GROUPING.isdisjoint(words):
            return
        known = {word for name in _names(vocabulary) for word in name.split()}
        left = [
            w
            for w in words
            if w not in _PLAIN_WORDS and w not in known and w.rstrip("s") not in known and not w[0].isdigit()
        ]
        used = [w for w in words if w in known and w not in _PLAIN_WORDS]
        if not left and used:
            add("refusal", "warning", f"a refusal is expected, but the vocabulary has {', '.join(dict.fromkeys(used))}")


def _reads_clock(text: str, dialect: str, args: tuple[JsonValue, ...]) -> bool:
    try:
        return bool(parsed(text, dialect, args, None).meta.get("clock"))
    except Unrunnable:
        return False


def _names(vocabulary: Vocabulary) -> Iterator[str]:
    """Every word by which a sentence may name a field or a value."""
    for entry in vocabulary.fields:
        if entry.is_queryable:
            yield re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", entry.name).lower()
            yield from (synonym.lower() for synonym in entry.synonyms)
            yield from (value.lower().replace("_", " ") for value in entry.values)
            if entry.display_name:
                yield entry.display_name.lower()


def _runs(question: Question, fixture: TableFixture, add: Add) -> bool:
    """Whether a golden runs on its fixture; what its result there shows of it."""
    planned = plan_on(question.text, question.text, question, fixture, 10.0)
    if planned is None:
        add("runs", "error", "the golden cannot be run on the fixture: no such table, column or function there")
        return False
    plan, search = planned
    with closing(plan):
        seen = search.outcomes(fixture.rows)
    if seen is None:
        add("runs", "error", "the golden fails on the fixture's rows")
        return False
    if not seen[0].size:
        add("returns_rows", "warning", "the golden returns no rows on the fixture: any other empty result matches it")
    tree = sqlglot.parse_one(question.text, dialect=question.dialect)
    _determined(tree, search.free_choice_on(seen), len(seen) > 1, add)
    return True


def _determined(tree: exp.Expr, cut: bool, varies: bool, add: Add) -> None:
    limited, ordered = tree.args.get("limit") is not None, tree.args.get("order") is not None
    if cut and limited and not ordered:
        add("deterministic", "warning", "LIMIT without ORDER BY drops rows of the fixture: which ones is chance")
    elif cut and limited:
        add(
            "deterministic",
            "warning",
            "rows tie at the LIMIT on the fixture: add a key to ORDER BY that breaks the tie",
        )
    elif varies:
        add("deterministic", "warning", "the result changes with the order in which the fixture's rows are stored")


def _domain(tree: exp.Expr, schema: Schema, declared: Schema | None, add: Add) -> None:
    """Texts compared with a column of a closed domain that are not in it."""
    domains = _domains(schema) | (_domains(declared) if declared is not None else {})
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In):
        if not isinstance(node.this, exp.Column):
            continue
        allowed = domains.get(node.this.name.lower())
        for item in node.expressions if isinstance(node, exp.In) else [node.expression]:
            if allowed and isinstance(item, exp.Literal) and item.is_string and item.this not in allowed:
                known = ", ".join(sorted(allowed))
                add("domain", "error", f"{item.sql()} is no value of {node.this.name}, which has {known}")


def _domains(schema: Schema) -> dict[str, set[str]]:
    """Closed domains by column name, where every table that has the column agrees."""
    found: dict[str, list[set[str]]] = {}
    for table in schema.tables:
        checked = _checked(table.checks)
        for column in table.columns:
            values = set(column.values) if column.values else checked.get(column.name.lower(), set())
            found.setdefault(column.name.lower(), []).append(values)
    return {name: sets[0] for name, sets in found.items() if sets[0] and all(one == sets[0] for one in sets)}


def _checked(checks: tuple[str, ...]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for check in checks:
        try:
            tree = sqlglot.parse_one(check)
        except SqlglotError:
            continue
        if isinstance(tree, exp.In) and isinstance(tree.this, exp.Column):
            texts = {str(item.this) for item in tree.expressions if isinstance(item, exp.Literal) and item.is_string}
            if texts:
                found[tree.this.name.lower()] = texts
    return found


def _named_columns(case: Case, tree: exp.Expr, vocabulary: Vocabulary | None, schema: Schema, add: Add) -> None:
    """Columns of the query's tables that the sentence names and the query does not use."""
    sentence = f" {' '.join(word.lower() for word in _WORD.findall(case.nl))} "
    used = {column.name.lower() for column in tree.find_all(exp.Column)}
    if any(isinstance(item, exp.Star) for select in tree.find_all(exp.Select) for item in select.expressions):
        return
    tables = {table.name.lower() for table in tree.find_all(exp.Table)}
    for table in schema.tables:
        for column in table.columns if table.name.lower() in tables else ():
            names = {column.name.lower().replace("_", " ")}
            if vocabulary is not None:
                field_ = next((f for f in vocabulary.fields if f.stored_name(case.backend) == column.name), None)
                names |= {synonym.lower() for synonym in field_.synonyms} if field_ is not None else set()
            said = [name for name in sorted(names) if f" {name} " in sentence]
            if said and column.name.lower() not in used:
                add("named_column", "note", f"the sentence says {said[0]!r}, and the golden does not use {column.name}")


def resolved(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases with `<default>` in place; one whose projection cannot be asked for is an error of the caller.

    Raises:
        RungError: the engine cannot be asked.
    """
    from harness.targets.default_projections import DefaultProjections

    projections = DefaultProjections()
    for case in cases:
        try:
            yield projections.resolve(case)
        except TargetError as error:
            raise RungError(f"{case.id}: {error}") from error
