"""Runs made up for the tests of reports and comparisons: every grade and basis, witnesses, repeats, hostile text."""

# ruff: noqa: E501 - queries and sentences read best on one line
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

from canon.verdict import (
    Canonical,
    Difference,
    DifferenceKind,
    DocumentWitness,
    Problem,
    Proved,
    Refuted,
    RowWitness,
    Table,
    Undecided,
)
from harness.runs.attempts import Question
from harness.runs.folder import RunFolder
from harness.runs.journal import Entry, encode
from harness.types.answers import Call, MongoAnswer, NoQuery, NoQueryReason, Refusal, Reply, SqlAnswer, Usage
from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.outcomes import (
    LADDER,
    CaseResult,
    Equivalent,
    Exact,
    Execution,
    Failed,
    Judgement,
    NoAnswer,
    Observed,
    Outcome,
    Refused,
    basis_of,
)
from harness.types.run import RunFacts, Summary, TagCount, Warned

NOW = datetime(2026, 8, 4, tzinfo=UTC)
HOSTILE = (
    '<script>window.pwned = 1</script></script></style></textarea><!-- <img src=x onerror="window.pwned=1"> '
    "javascript:alert(1) ]]> & \x00\x1b[31m \u202egnp.exe {{ 7*7 }} ${7*7} </details></pre></body></html>"
)

Answered = tuple[Reply, Judgement, str]


@dataclass(frozen=True)
class MemoryRun:
    """A run held in memory."""

    facts: RunFacts
    pairs: tuple[tuple[Case, CaseResult], ...]
    summary: Summary

    def results(self) -> Iterator[tuple[Case, CaseResult]]:
        """Every case with its result."""
        return iter(self.pairs)


def facts(name: str = "nightly", model: str | None = "gemini-3.1-flash-lite", **changes: object) -> RunFacts:
    """Facts of a run, some of them changed."""
    return RunFacts(
        name=name,
        started_at=datetime(2026, 8, 4, 9, 30, tzinfo=UTC),
        now=NOW,
        golden="goldens/orders/golden.csv",
        golden_digest="9f" * 32,
        target="queryforge",
        model=model,
        versions={"rung": "0.1.0", "sqlglot": "30.30.0", "sqlite": "3.46.1"},
        flags={"repeat": 1, "rpm": 25},
        target_facts={"config": "orders.config.json"},
    ).model_copy(update=changes)


def summarise(pairs: Sequence[tuple[Case, CaseResult]], **changes: object) -> Summary:
    """The counts of a run, as far as reports read them."""
    results = [result for _, result in pairs]
    passed = sum(result.passed for result in results)
    tags = list(dict.fromkeys(tag for case, _ in pairs for tag in case.tags))
    members = {tag: [result for case, result in pairs if tag in case.tags] for tag in tags}
    usages = [call.usage for each in results for outcome in each.outcomes for call in outcome.reply.calls]
    bases = [basis_of(result.worst.judgement) for result in results]
    return Summary(
        cases=len(results),
        finished=len(results),
        passed=passed,
        score=passed / len(results) if results else 0.0,
        grades={grade: sum(result.grade == grade for result in results) for grade in LADDER},
        bases={basis: bases.count(basis) for basis in dict.fromkeys(bases)},
        tags=tuple(TagCount(tag=t, passed=sum(r.passed for r in m), total=len(m)) for t, m in members.items()),
        flaky=tuple(case.id for case, result in pairs if result.flaky),
        steady=tuple(case.id for case, result in pairs if result.steady),
        undecided=bases.count("undecided"),
        attempts=sum(len(result.outcomes) for result in results),
        calls=len(usages),
        prompt_tokens=sum(usage.prompt or 0 for usage in usages),
        completion_tokens=sum(usage.completion or 0 for usage in usages),
    ).model_copy(update=changes)


def memory_run(
    pairs: Sequence[tuple[Case, CaseResult]], run_facts: RunFacts | None = None, **changes: object
) -> MemoryRun:
    """A run of these cases."""
    return MemoryRun(run_facts or facts(), tuple(pairs), summarise(pairs, **changes))


def call(latency: float = 700.0, tries: int = 1) -> Call:
    """One model call."""
    return Call(latency_ms=latency, tries=tries, usage=Usage(prompt=812, completion=64, total=876), finish="stop")


def sql_case(number: int, nl: str, text: str, *tags: str, **changes: object) -> Case:
    """A SQL case `S01`, `S02`, …."""
    case = Case(
        id=f"S{number:02d}", nl=nl, line=number + 1, backend="postgres", expectation=ExpectSql(text=text), tags=tags
    )
    return case.model_copy(update={"now": NOW, **changes})


def outcome(case: Case, repeat: int, answered: Answered) -> Outcome:
    """One attempt at a case."""
    reply, judgement, meaning = answered
    return Outcome(
        case_id=case.id,
        case_digest=case.digest,
        repeat=repeat,
        key=f"{case.id}-{repeat}",
        now=NOW,
        reply=reply,
        judgement=judgement,
        meaning=meaning,
        finished_at=NOW + timedelta(seconds=repeat),
    )


def result(case: Case, *answers: Answered) -> CaseResult:
    """A case over its attempts."""
    return CaseResult(outcomes=tuple(outcome(case, repeat, each) for repeat, each in enumerate(answers)))


def exact(case: Case, latency: float = 640.0) -> Answered:
    """The golden text itself."""
    text = case.expectation.text
    answer = MongoAnswer(text=text) if case.backend == "mongo" else SqlAnswer(text=text)
    return Reply(answer=answer, raw=text, calls=(call(latency),)), Exact(), "golden"


def equivalent(text: str, *absorbed: str, latency: float = 700.0, proved: bool = False) -> Answered:
    """Another text with the same meaning."""
    evidence = (
        Proved(absorbed=absorbed, assumptions=("status holds only its four declared values",)) if proved else None
    )
    judgement = Equivalent(evidence=evidence or Canonical(absorbed=absorbed))
    return (
        Reply(answer=SqlAnswer(text=text), raw='{"sql": ' + repr(text) + "}", calls=(call(latency),)),
        judgement,
        "golden",
    )


def refuted(
    text: str, differences: Sequence[Difference], witness: RowWitness | DocumentWitness, latency: float = 900.0
) -> Answered:
    """A wrong query, shown by rows."""
    judgement = Failed(evidence=Refuted(differences=tuple(differences), witness=witness))
    answer = MongoAnswer(text=text) if isinstance(witness, DocumentWitness) else SqlAnswer(text=text)
    return Reply(answer=answer, raw=text, calls=(call(latency),)), judgement, f"wrong: {text}"


def undecided(text: str, *differences: Difference, problem: Problem | None = None) -> Answered:
    """A query that could not be told apart nor shown the same."""
    judgement = Failed(evidence=Undecided(differences=differences, problem=problem))
    return Reply(answer=SqlAnswer(text=text), raw=text, calls=(call(),)), judgement, f"wrong: {text}"


def error(reason: NoQueryReason, message: str, raw: str = "") -> Answered:
    """No query."""
    reply = Reply(answer=NoQuery(reason=reason, message=message), raw=raw, calls=(call(1400.0, tries=3),))
    return reply, NoAnswer(reason=reason, message=message), reason


def order_witness(
    expected_rows: Sequence[tuple[object, ...]], actual_rows: Sequence[tuple[object, ...]], reading: str | None = None
) -> RowWitness:
    """A witness over a small table of orders."""
    columns = ("id", "status", "refunded", "amount")
    rows = ((1, "REFUNDED", False, 500), (2, "PLACED", None, 20))
    return RowWitness(
        tables=(Table(name="orders", columns=columns, rows=rows),),
        expected=Table(name="expected", columns=columns, rows=tuple(expected_rows)),
        actual=Table(name="actual", columns=columns, rows=tuple(actual_rows)),
        reading=reading,
        confirmed_on=("sqlite 3.46.1",),
    )


def sample_pairs(repeats: int = 1) -> list[tuple[Case, CaseResult]]:
    """Some thirty cases with every grade and basis, as a real corpus has them."""
    pairs: list[tuple[Case, CaseResult]] = []

    def take(case: Case, *answers: Answered) -> None:
        pairs.append((case, result(case, *(answers * repeats)[: max(repeats, 1)])))

    star = "SELECT * FROM orders WHERE"
    for number, (nl, condition, other, absorbed, tags) in enumerate(PASSING, start=1):
        case = sql_case(number, nl, f"{star} {condition} LIMIT 50", *tags)
        take(case, equivalent(f"{star} {other} LIMIT 50", *absorbed) if absorbed else exact(case))
    case = sql_case(
        20,
        "orders that are neither cancelled nor refunded",
        f"{star} status NOT IN ('CANCELLED', 'REFUNDED') LIMIT 50",
        "negation",
        "disjunction",
    )
    take(
        case,
        refuted(
            f"{star} refunded = FALSE AND status <> 'CANCELLED' LIMIT 50",
            [
                Difference(
                    kind="wrong_field",
                    where="WHERE",
                    expected="status <> 'REFUNDED'",
                    actual="refunded = FALSE",
                    field="status",
                )
            ],
            order_witness(
                [(2, "PLACED", None, 20)],
                [(1, "REFUNDED", False, 500)],
                "The expected query leaves out order 1, whose status is REFUNDED; the answer looks at the flag instead.",
            ),
        ),
    )
    case = sql_case(21, "orders of at least 500", f"{star} amount >= 500 LIMIT 50", "boundary", "numeric")
    take(
        case,
        refuted(
            f"{star} amount > 500 LIMIT 50",
            [
                Difference(
                    kind="bound_inclusivity",
                    where="WHERE",
                    expected="amount >= 500",
                    actual="amount > 500",
                    field="amount",
                )
            ],
            order_witness([(1, "REFUNDED", False, 500)], []),
        ),
        exact(case),
        exact(case),
    )
    case = sql_case(22, "ten biggest orders", "SELECT * FROM orders ORDER BY amount DESC LIMIT 10", "sort", "limit")
    take(
        case,
        refuted(
            "SELECT * FROM orders ORDER BY amount LIMIT 10",
            [
                Difference(
                    kind="sort_direction", where="ORDER BY", expected="amount DESC", actual="amount ASC", field="amount"
                ),
                Difference(kind="limit", where="LIMIT", expected="10", actual="10"),
            ],
            order_witness(
                [(1, "REFUNDED", False, 500), (2, "PLACED", None, 20)],
                [(2, "PLACED", None, 20), (1, "REFUNDED", False, 500)],
            ),
        ),
    )
    mongo = Case(
        id="M01",
        nl="orders with a line of 2 to 5 pieces",
        line=40,
        backend="mongo",
        tags=("array", "numeric"),
        expectation=ExpectMongo(text='{"lines":{"$elemMatch":{"$gte":2,"$lte":5}}}'),
        now=NOW,
    )
    take(
        mongo,
        refuted(
            '{"lines":{"$gte":2,"$lte":5}}',
            [
                Difference(
                    kind="boolean_structure",
                    where="filter",
                    expected="one element in 2..5",
                    actual="any element >= 2 and any <= 5",
                    field="lines",
                )
            ],
            DocumentWitness(
                collections={"": ({"_id": 1, "lines": [1, 9]},)},
                expected=(),
                actual=({"_id": 1, "lines": [1, 9]},),
                reading="No single line lies between 2 and 5.",
                confirmed_on=("regions",),
            ),
        ),
    )
    take(
        mongo.model_copy(
            update={
                "id": "M02",
                "nl": "cancelled orders (documents)",
                "expectation": ExpectMongo(text='{"status":"CANCELLED"}'),
            }
        ),
        (
            Reply(answer=MongoAnswer(text="{status: 'CANCELLED'}"), raw="{status: 'CANCELLED'}", calls=(call(),)),
            Equivalent(evidence=Canonical(absorbed=("shell_text",))),
            "golden",
        ),
    )
    case = sql_case(23, "orders whose customer name sounds foreign", f"{star} name ~ '[^a-z]' LIMIT 50", "text")
    take(
        case,
        undecided(
            f"{star} name SIMILAR TO '%[^a-z]%' LIMIT 50",
            Difference(kind="wrong_operator", where="WHERE", expected="~", actual="SIMILAR TO", field="name"),
        ),
    )
    case = sql_case(24, "revenue by month", "SELECT month, SUM(amount) FROM orders GROUP BY month", "aggregate")
    take(
        case,
        undecided(
            "SELEC month",
            problem=Problem(kind="unparseable", side="actual", message="line 1, column 1: SELEC is no keyword"),
        ),
    )
    refusal = Case(
        id="R01",
        nl="orders shipped from the Ohio warehouse",
        line=50,
        backend="postgres",
        tags=("refusal",),
        expectation=ExpectRefusal(),
        now=NOW,
    )
    take(
        refusal,
        (
            Reply(answer=Refusal(message="There is no warehouse field."), raw="{}", calls=(call(),)),
            Refused(),
            "refusal",
        ),
    )
    late = refusal.model_copy(update={"id": "R02", "nl": "the weather in Paris"})
    take(
        late,
        (
            Reply(answer=SqlAnswer(text="SELECT 'sunny'"), raw="SELECT 'sunny'", calls=(call(),)),
            Failed(evidence=None),
            "wrong",
        ),
    )
    case = sql_case(25, "orders of last July", f"{star} created_at >= '2026-07-01' LIMIT 50", "relative-date")
    take(case, error("transport", "503 Service Unavailable after 3 tries"))
    case = sql_case(26, "orders with a coupon", f"{star} coupon IS NOT NULL LIMIT 50", "null")
    take(case, error("unparseable", "expected a JSON object, got prose", raw=HOSTILE))
    case = sql_case(27, "placed orders on the fixture", f"{star} status = 'PLACED' LIMIT 50", "enum")
    answer = (
        Reply(answer=SqlAnswer(text=f"{star} lower(status) = 'placed' LIMIT 50"), calls=(call(),)),
        Equivalent(evidence=Observed(differences=(Difference(kind="wrong_operator", where="WHERE"),))),
        "other",
    )
    take(case, answer)
    return pairs


PASSING: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("cancelled orders", "status = 'CANCELLED'", "", (), ("simple", "enum")),
    ("orders over 500", "amount > 500", "500 < amount", ("mirror_comparison",), ("simple", "numeric")),
    (
        "orders between 100 and 200",
        "amount BETWEEN 100 AND 200",
        "amount >= 100 AND amount <= 200",
        ("between",),
        ("numeric",),
    ),
    (
        "cancelled or refunded",
        "status IN ('CANCELLED', 'REFUNDED')",
        "status = 'REFUNDED' OR status = 'CANCELLED'",
        ("in_list", "clause_order"),
        ("disjunction", "enum"),
    ),
    (
        "orders of the last 30 days",
        "created_at >= '2026-07-05'",
        "created_at >= '2026-07-05T00:00:00Z'",
        ("date_spelling",),
        ("relative-date",),
    ),
    ("not placed", "status <> 'PLACED'", "NOT status = 'PLACED'", ("negated_comparison",), ("negation", "enum")),
    ("tagged vip", "tags @> ARRAY['vip']", "", (), ("array",)),
    (
        "delivered over 50",
        "status = 'DELIVERED' AND amount > 50",
        "amount > 50.0 AND status = 'DELIVERED'",
        ("clause_order", "number_spelling"),
        ("conjunction",),
    ),
    ("acme orders", "customer_name = 'acme'", "", (), ("scope",)),
    ("unpaid orders", "paid = FALSE", "NOT paid", ("boolean_spelling",), ("boolean",)),
)


def sample_run(repeats: int = 1, **changes: object) -> MemoryRun:
    """The sample cases as one run."""
    warnings = (Warned(kind="flaky", message="1 case passed some repeats and failed others", cases=("S21",), count=1),)
    return memory_run(sample_pairs(repeats), facts(repeat=repeats, **changes), warnings=warnings if repeats > 1 else ())


def stored(run: MemoryRun, path: Path) -> Path:
    """The run as the folder that a real one leaves, its attempts journalled last case first."""
    folder = RunFolder(path)
    folder.write_facts(run.facts)
    questions = [Question(case=case, now=case.now or run.facts.now, digest=case.digest) for case, _ in run.pairs]
    folder.write_questions(questions)
    with folder.journal.open("wb") as journal:
        for question, (_, answered) in reversed(list(zip(questions, run.pairs, strict=True))):
            for each in answered.outcomes:
                keyed = each.model_copy(update={"key": question.key(each.repeat)})
                journal.write(encode(Entry(graded="", outcome=keyed)))
    folder.write_summary(run.summary)
    return path


def hostile_run() -> MemoryRun:
    """Every text that a model or a golden file can set is hostile, and one reply is a line of a million characters."""
    difference = Difference(kind="wrong_value", where=HOSTILE, expected=HOSTILE, actual=HOSTILE, field=HOSTILE)
    table = Table(name=HOSTILE, columns=(HOSTILE, "b"), rows=((HOSTILE, {"type": HOSTILE, "value": 1}),))
    witness = RowWitness(tables=(table,), expected=table, actual=table, reading=HOSTILE, confirmed_on=(HOSTILE,))
    documents = DocumentWitness(
        collections={HOSTILE: ({"a": HOSTILE},)}, expected=({"a": HOSTILE},), actual=(), reading=HOSTILE
    )
    one = sql_case(1, HOSTILE, HOSTILE, HOSTILE.replace(";", ""), id=HOSTILE, group=HOSTILE)
    two = sql_case(2, "a long line", "SELECT 1", "long")
    three = sql_case(3, "documents", "SELECT 1", "quo\"te's", "a b", "tag=x&y")
    four = sql_case(4, "error", "SELECT 1", id="java script:alert('x')\"><b>")
    long = "SELECT '" + "x<y&" * 250_000 + "'"
    five = sql_case(5, "observed", "SELECT 1", "<i>")
    reply = Reply(
        answer=SqlAnswer(text=HOSTILE, args=(HOSTILE,)), raw=HOSTILE, cut=HOSTILE, notices=(HOSTILE,), calls=(call(),)
    )
    strange = outcome(five, 0, (reply, Equivalent(evidence=Canonical(absorbed=(HOSTILE,))), HOSTILE))
    strange = strange.model_copy(
        update={"execution": Execution(outcome="mismatch", engine=HOSTILE, detail=HOSTILE, contradiction=True)}
    )
    pairs = [
        (one, result(one, refuted(HOSTILE, [difference], witness))),
        (two, result(two, equivalent(long, "clause_order"))),
        (three, result(three, refuted(HOSTILE, [difference], documents))),
        (four, result(four, error("unparseable", HOSTILE, raw=HOSTILE))),
        (five, CaseResult(outcomes=(strange,))),
    ]
    warned = Warned(kind="other", message=HOSTILE, cases=(HOSTILE,), count=1)
    run_facts = facts(
        name=HOSTILE,
        model=HOSTILE,
        golden=HOSTILE,
        target=HOSTILE,
        flags={HOSTILE: HOSTILE},
        versions={HOSTILE: HOSTILE},
    )
    return memory_run(pairs, run_facts, warnings=(warned,))


def large_run(
    cases: int,
    *,
    repeats: int = 1,
    seed: int = 0,
    pass_share: float = 0.85,
    name: str = "large",
    model: str = "model-a",
) -> MemoryRun:
    """A run of any size with the mixture of a real one; the same cases for every seed, the answers drawn by it."""
    draw = random.Random(seed)
    pairs: list[tuple[Case, CaseResult]] = []
    kinds: tuple[DifferenceKind, ...] = get_args(DifferenceKind)
    makers: tuple[Callable[[Case, int], Answered], ...] = (
        lambda case, n: equivalent(
            f"SELECT id, status, amount FROM orders WHERE amount > {n}.0 AND status = 'PLACED'",
            "clause_order",
            "number_spelling",
            latency=draw.gauss(800, 200),
        ),
        lambda case, n: exact(case, draw.gauss(700, 150)),
    )
    for number in range(cases):
        tags = (("simple", "numeric", "date", "join", "negation")[number % 5], ("easy", "hard")[number % 2])
        text = f"SELECT id, status, amount FROM orders WHERE status = 'PLACED' AND amount > {number} ORDER BY amount DESC LIMIT 50"
        case = sql_case(
            number,
            f"placed orders over {number}, biggest first, at most fifty of them",
            text,
            *tags,
            id=f"case-{number:05d}",
        )
        answers: list[Answered] = []
        for _ in range(repeats):
            if draw.random() < pass_share:
                answers.append(makers[draw.random() < 0.3](case, number))
            elif draw.random() < 0.1:
                answers.append(error("transport", "503 after 3 tries"))
            else:
                kind = kinds[draw.randrange(len(kinds))]
                difference = Difference(
                    kind=kind,
                    where="WHERE",
                    expected=f"amount > {number}",
                    actual=f"amount >= {number}",
                    field="amount",
                )
                answers.append(
                    refuted(text.replace(">", ">="), [difference], order_witness([(1, "PLACED", None, number)], []))
                )
        pairs.append((case, result(case, *answers)))
    return memory_run(pairs, facts(name=name, model=model, repeat=repeats))
