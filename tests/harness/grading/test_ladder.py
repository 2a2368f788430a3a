"""The ladder: each rung, each reason, the evidence for it, and the order in which golden and alternatives are asked."""

from datetime import UTC, datetime

import pytest

from canon.rules import Rules
from canon.verdict import Refuted, RowWitness, Table, Undecided
from harness.grading.ladder import judge
from harness.grading.seams import MongoPair, SqlPair
from harness.types.answers import Answer, MongoAnswer, NoQuery, NoQueryReason, Refusal, SqlAnswer
from harness.types.cases import Case, Expectation, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.outcomes import Equivalent, Exact, Failed, Judgement, NoAnswer, Refused, basis_of

NOW = datetime(2026, 8, 4, tzinfo=UTC)
GOLDEN = "SELECT id FROM orders WHERE amount > 500 AND status = 'PLACED'"


def case(expectation: Expectation | str = GOLDEN, backend: str = "postgres", **changes: object) -> Case:
    if isinstance(expectation, str):
        expectation = ExpectMongo(text=expectation) if backend == "mongo" else ExpectSql(text=expectation)
    made = Case(id="c1", nl="a sentence", backend=backend, expectation=expectation)
    return made.model_copy(update=changes)


def placed(asked: Case, answer: Answer, **known: object) -> Judgement:
    return judge(asked, answer, now=NOW, **known)


@pytest.mark.parametrize(
    ("golden", "answer"),
    [
        (GOLDEN, GOLDEN),
        (GOLDEN, f"  {GOLDEN} ;\n"),
        (f"{GOLDEN};", GOLDEN),
        ("SELECT random()", "SELECT random()"),
    ],
)
def test_the_same_bytes_are_exact(golden: str, answer: str) -> None:
    assert placed(case(golden), SqlAnswer(text=answer)) == Exact()


@pytest.mark.parametrize(
    ("golden", "answer", "grade"),
    [
        (ExpectSql(text="SELECT a FROM t WHERE a > $1", args=(5,)), ("SELECT a FROM t WHERE a > $1", (5,)), "EXACT"),
        (ExpectSql(text="SELECT a FROM t WHERE a > $1", args=(5,)), ("SELECT a FROM t WHERE a > $1", (6,)), "FAIL"),
        (ExpectSql(text="SELECT a FROM t WHERE a > $1", args=(5,)), ("SELECT a FROM t WHERE a > 5", ()), "EQUIVALENT"),
        (ExpectSql(text="SELECT a FROM t WHERE a > 5"), ("SELECT a FROM t WHERE a > $1", (5,)), "EQUIVALENT"),
        (ExpectSql(text="SELECT a FROM t WHERE a > $1"), ("SELECT a FROM t WHERE a > $1", (5,)), "FAIL"),
        (ExpectSql(text="SELECT a FROM t WHERE a > $1", args=(5,)), ("SELECT a FROM t WHERE a > $1", ("5",)), "FAIL"),
        (ExpectSql(text="SELECT a FROM t WHERE a > $1", args=(1,)), ("SELECT a FROM t WHERE a > $1", (True,)), "FAIL"),
    ],
)
def test_bound_values_are_part_of_the_answer(
    golden: ExpectSql, answer: tuple[str, tuple[object, ...]], grade: str
) -> None:
    judgement = placed(case(golden), SqlAnswer(text=answer[0], args=answer[1]))
    assert judgement.grade == grade


def test_other_text_with_the_same_meaning_is_equivalent_and_names_what_was_absorbed() -> None:
    judgement = placed(case(), SqlAnswer(text="select id from orders where status = 'PLACED' and 500 < amount"))
    assert isinstance(judgement, Equivalent)
    assert basis_of(judgement) == "canonical"
    assert judgement.evidence.absorbed != ()
    assert judgement.accepted == 0


def test_a_wrong_query_fails_with_differences() -> None:
    judgement = placed(case(), SqlAnswer(text="SELECT id FROM orders WHERE amount >= 500 AND status = 'PLACED'"))
    assert isinstance(judgement, Failed)
    assert [difference.kind for difference in judgement.evidence.differences] == ["bound_inclusivity"]


@pytest.mark.parametrize(
    ("accept", "answer", "accepted"),
    [
        (("SELECT 1", "SELECT id FROM orders"), "SELECT id FROM orders", 2),
        (("SELECT id FROM orders WHERE amount > 1",), "SELECT id FROM orders WHERE 1 < amount", 1),
        ((GOLDEN,), GOLDEN.replace("SELECT id", "select   id"), 0),
    ],
)
def test_an_alternative_passes_as_equivalent_and_says_which(
    accept: tuple[str, ...], answer: str, accepted: int
) -> None:
    judgement = placed(case(accept=accept), SqlAnswer(text=answer))
    assert isinstance(judgement, Equivalent)
    assert judgement.accepted == accepted


def test_a_fail_is_told_of_the_golden_not_of_an_alternative() -> None:
    answer = SqlAnswer(text="SELECT id FROM orders WHERE amount > 3")
    golden = "SELECT id FROM orders WHERE amount > 1"
    asked = case(golden, accept=("SELECT id FROM orders WHERE amount > 2",))
    assert placed(asked, answer) == placed(case(golden), answer)


@pytest.mark.parametrize("by", ["structure", "words"])
def test_a_refusal_passes_where_one_is_expected(by: str) -> None:
    assert placed(case(ExpectRefusal()), Refusal(message="no such field", by=by)) == Refused(by=by)


def test_a_query_where_a_refusal_is_expected_fails() -> None:
    judgement = placed(case(ExpectRefusal()), SqlAnswer(text="SELECT 1"))
    assert isinstance(judgement, Failed)
    assert judgement.evidence is None
    assert "should have been refused" in judgement.message


def test_no_reply_where_a_refusal_is_expected_is_no_refusal() -> None:
    judgement = placed(case(ExpectRefusal()), NoQuery(reason="unparseable", message="prose"))
    assert judgement == NoAnswer(reason="unparseable", message="prose")


def test_a_refusal_of_what_can_be_expressed_is_an_error() -> None:
    judgement = placed(case(), Refusal(message="no such field"))
    assert judgement == NoAnswer(reason="unexpected_refusal", message="no such field")


REASONS: tuple[NoQueryReason, ...] = (
    "transport",
    "empty",
    "unparseable",
    "truncated",
    "content_filter",
    "target_crashed",
)


@pytest.mark.parametrize("reason", REASONS)
def test_a_reply_without_a_query_keeps_its_reason(reason: NoQueryReason) -> None:
    assert placed(case(), NoQuery(reason=reason, message="m")) == NoAnswer(reason=reason, message="m")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("-- nothing", "empty"),
        ("SELECT 1; SELECT 2", "multiple_statements"),
        ("DELETE FROM orders", "not_a_read"),
        ("DROP TABLE orders", "not_a_read"),
        ("SELECT FROM WHERE (", "unparseable"),
        ("SELECT id FROM orders WHERE amount > $1", "unparseable"),
    ],
)
def test_an_answer_that_is_no_readable_query_is_an_error(text: str, reason: NoQueryReason) -> None:
    judgement = placed(case(), SqlAnswer(text=text))
    assert isinstance(judgement, NoAnswer)
    assert judgement.reason == reason
    assert judgement.message != ""


def test_a_query_in_the_other_language_fails() -> None:
    judgement = placed(case(), MongoAnswer(text="{}"))
    assert isinstance(judgement, Failed)
    assert judgement.evidence.problem.message == "case c1 expects a SQL query, and a MongoDB query came back"
    assert placed(case("{}", "mongo"), SqlAnswer(text="SELECT 1")).grade == "FAIL"


class Found:
    """A search that finds one witness, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[SqlPair | MongoPair] = []
        empty = Table(name="orders", columns=("id",), rows=())
        self.witness = RowWitness(tables=(empty,), expected=empty, actual=empty)

    def search(self, pair: SqlPair | MongoPair) -> RowWitness:
        self.asked.append(pair)
        return self.witness


UNDECIDED = "SELECT id FROM orders WHERE amount > 500 AND status = 'PLACED' AND note LIKE 'x%'"


def test_a_witness_turns_an_undecided_fail_into_a_refutation() -> None:
    plain = placed(case(), SqlAnswer(text=UNDECIDED))
    assert isinstance(plain, Failed)
    assert isinstance(plain.evidence, Undecided)
    search = Found()
    judgement = placed(case(), SqlAnswer(text=UNDECIDED), witness=search)
    assert isinstance(judgement.evidence, Refuted)
    assert judgement.evidence.witness == search.witness
    assert judgement.evidence.differences == plain.evidence.differences
    (asked,) = search.asked
    assert (asked.expected, asked.actual, asked.dialect, asked.now) == (GOLDEN, UNDECIDED, "postgres", NOW)


@pytest.mark.parametrize(
    "answer", [GOLDEN, "SELECT id FROM orders WHERE 500 < amount AND status = 'PLACED'", "DROP TABLE t"]
)
def test_no_witness_is_sought_where_there_is_nothing_to_refute(answer: str) -> None:
    search = Found()
    placed(case(), SqlAnswer(text=answer), witness=search)
    assert search.asked == []


def test_a_fault_of_canon_fails_the_pair_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*args: object, **known: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("canon.sql.compare_sql", faulty)
    judgement = placed(case(), SqlAnswer(text="SELECT 2"))
    assert isinstance(judgement, Failed)
    assert judgement.evidence.problem.message.endswith("which is a bug in rung: ZeroDivisionError: division by zero")


def test_columns_ordered_is_passed_on() -> None:
    asked, answer = case("SELECT a, b FROM t"), SqlAnswer(text="SELECT b, a FROM t")
    assert placed(asked, answer).grade == "EQUIVALENT"
    assert placed(asked, answer, rules=Rules(columns="ordered")).grade == "FAIL"


def test_clock_calls_fold_at_the_pinned_now() -> None:
    asked = case("SELECT id FROM orders WHERE created_at >= '2026-07-05'")
    answer = SqlAnswer(text="SELECT id FROM orders WHERE created_at >= CURRENT_DATE - INTERVAL '30 days'")
    assert placed(asked, answer).grade == "EQUIVALENT"
    later = judge(asked, answer, now=datetime(2026, 8, 5, tzinfo=UTC))
    assert later.grade == "FAIL"
