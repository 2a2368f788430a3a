"""The counts of a run, its warnings, its exit status."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from harness.errors import UsageError
from harness.runs.status import exit_status, read_rate
from harness.runs.summary import quantile, summarise
from harness.runs.warnings import kind_of
from harness.types.cases import Case
from harness.types.outcomes import CaseResult, Execution
from harness.types.run import RunFacts, Summary, Warned
from tests import synthetic_runs as made


@dataclass
class Counting:
    """A run in memory with cases that are not finished."""

    pairs: list[tuple[Case, CaseResult]]
    repeat: int = 1
    open_cases: list[Case] = field(default_factory=list)

    @property
    def facts(self) -> RunFacts:
        return made.facts(repeat=self.repeat)

    @property
    def summary(self) -> Summary:
        return summarise(self)

    def cases(self) -> Iterator[Case]:
        yield from (case for case, _ in self.pairs)
        yield from self.open_cases

    def results(self) -> Iterator[tuple[Case, CaseResult]]:
        return iter(self.pairs)


def case(number: int, nl: str = "a sentence", *tags: str, **changes: object) -> Case:
    return made.sql_case(number, nl, "SELECT 1", *tags, **changes)


def wrong(text: str = "SELECT 2") -> made.Answered:
    return made.undecided(text, made.Difference(kind="limit", where="LIMIT", expected="1"))


def test_every_grade_basis_tag_and_reason_is_counted() -> None:
    one, two, three = case(1, "s", "a", "b"), case(2, "s", "a", "a"), case(3, "s", "b")
    run = Counting(
        [
            (one, made.result(one, made.exact(one))),
            (two, made.result(two, wrong())),
            (three, made.result(three, made.error("truncated", "cut"))),
        ]
    )
    summary = run.summary
    assert summary.grades == {"EXACT": 1, "EQUIVALENT": 0, "REFUSED": 0, "FAIL": 1, "ERROR": 1}
    assert summary.bases == {"identical": 1, "none": 1, "undecided": 1}
    assert [(tag.tag, tag.passed, tag.total) for tag in summary.tags] == [("a", 1, 2), ("b", 1, 2)]
    assert summary.reasons == {"truncated": 1}
    assert summary.differences == {"limit": 1}
    assert (summary.undecided, summary.passed, summary.finished, summary.cases) == (1, 1, 3, 3)


def test_the_score_is_weighted_over_all_asked() -> None:
    light, heavy, waiting = case(1), case(2, weight=3.0), case(3, weight=4.0)
    run = Counting([(light, made.result(light, wrong())), (heavy, made.result(heavy, made.exact(heavy)))])
    assert run.summary.score == 0.75
    run.open_cases = [waiting]
    assert run.summary.score == 3 / 8


def test_a_case_with_missing_repeats_is_asked_and_not_finished() -> None:
    one = case(1)
    summary = Counting([(one, made.result(one, made.exact(one)))], repeat=2).summary
    assert (summary.cases, summary.finished, summary.passed, summary.attempts) == (1, 0, 0, 1)
    assert sum(summary.grades.values()) == 0


def test_flaky_and_steady_cases_are_told_apart() -> None:
    flaky, steady, noisy = case(1), case(2), case(3)
    run = Counting(
        [
            (flaky, made.result(flaky, made.exact(flaky), wrong())),
            (steady, made.result(steady, wrong(), wrong())),
            (noisy, made.result(noisy, wrong("SELECT 2"), wrong("SELECT 3"))),
        ],
        repeat=2,
    )
    summary = run.summary
    assert (summary.flaky, summary.steady) == (("S01",), ("S02",))
    assert [(warned.kind, warned.message, warned.cases) for warned in summary.warnings] == [
        ("flaky", "1 case passed some repeats and failed others", ("S01",)),
        ("steady", "1 case wrong the same way in all 2 repeats: a misreading, not noise", ("S02",)),
    ]


def test_warnings_name_at_most_fifty_cases_and_count_all() -> None:
    pairs = [
        (each, made.result(each, made.exact(each))) for each in (case(n, "last month", now=None) for n in range(60))
    ]
    (warned,) = Counting(pairs).summary.warnings
    assert (warned.kind, warned.count, len(warned.cases)) == ("unpinned", 60, 50)


def test_a_notice_is_said_once_with_its_cases() -> None:
    pairs = []
    for number in range(3):
        each = case(number)
        reply, judgement, meaning = made.exact(each)
        noticed = reply.model_copy(update={"notices": ("temperature was not accepted and left out",)})
        pairs.append((each, made.result(each, (noticed, judgement, meaning), (noticed, judgement, meaning))))
    (warned,) = Counting(pairs, repeat=2).summary.warnings
    assert (warned.kind, warned.message, warned.cases, warned.count) == (
        "adapted_parameter",
        "temperature was not accepted and left out",
        ("S00", "S01", "S02"),
        3,
    )


def test_a_contradiction_comes_first() -> None:
    one = case(1, "yesterday", now=None)
    result = made.result(one, made.exact(one))
    contradiction = Execution(outcome="mismatch", engine="e", contradiction=True)
    outcome = result.outcomes[0].model_copy(update={"execution": contradiction})
    summary = Counting([(one, CaseResult(outcomes=(outcome,)))]).summary
    assert [warned.kind for warned in summary.warnings] == ["contradiction", "unpinned"]
    assert summary.executions == {"mismatch": 1}


def test_what_was_known_before_goes_first() -> None:
    told = Warned(kind="other", message="a key unknown to rung")
    one = case(1, "yesterday", now=None)
    run = Counting([(one, made.result(one, made.exact(one)))])
    assert [warned.kind for warned in summarise(run, told=(told,)).warnings] == ["other", "unpinned"]


@pytest.mark.parametrize(
    ("notice", "kind"),
    [
        ("today line absent: the prompt tells the model today's real date", "today_line_absent"),
        ("temperature was not accepted and left out", "adapted_parameter"),
        ("repeated 429: slowed down to 30 calls a minute", "other"),
    ],
)
def test_notices_are_sorted_by_what_they_speak_of(notice: str, kind: str) -> None:
    assert kind_of(notice) == kind


@pytest.mark.parametrize(
    ("values", "share", "value"),
    [
        ([5.0], 0.95, 5.0),
        ([1.0, 2.0], 0.5, 1.5),
        ([1.0, 2.0, 3.0], 0.5, 2.0),
        ([float(n) for n in range(101)], 0.95, 95.0),
    ],
)
def test_quantiles(values: list[float], share: float, value: float) -> None:
    assert quantile(values, share) == pytest.approx(value)


def test_tokens_that_nobody_reported_are_none() -> None:
    one = case(1)
    reply, judgement, meaning = made.exact(one)
    silent = reply.model_copy(update={"calls": (reply.calls[0].model_copy(update={"usage": made.Usage()}),)})
    summary = Counting([(one, made.result(one, (silent, judgement, meaning)))]).summary
    assert (summary.calls, summary.prompt_tokens, summary.completion_tokens) == (1, None, None)


def counted(*answers: made.Answered) -> Counting:
    pairs = [(case(n), made.result(case(n), answer)) for n, answer in enumerate(answers)]
    return Counting(pairs)


GOOD, DOWN, BAD = made.exact(case(0)), made.error("transport", "503"), made.error("unparseable", "prose")


@pytest.mark.parametrize(
    ("answers", "fail_under", "stopped", "status"),
    [
        ((GOOD, GOOD), None, False, 0),
        ((GOOD, BAD), None, False, 1),
        ((GOOD, BAD), 0.5, False, 0),
        ((GOOD, BAD), 0.51, False, 1),
        ((DOWN, DOWN), None, False, 3),
        ((DOWN, DOWN), 0.0, False, 3),
        ((DOWN, BAD), None, False, 1),
        ((DOWN, GOOD), None, False, 1),
        ((GOOD, GOOD), None, True, 130),
        ((DOWN, DOWN), None, True, 130),
    ],
)
def test_exit_status(answers: tuple[made.Answered, ...], fail_under: float | None, stopped: bool, status: int) -> None:
    assert exit_status(counted(*answers), fail_under=fail_under, stopped=stopped) == status


def test_a_run_with_one_answer_among_its_repeats_was_answered() -> None:
    one = case(1)
    run = Counting([(one, made.result(one, made.exact(one), DOWN))], repeat=2)
    assert exit_status(run) == 1


def test_an_unfinished_run_did_not_pass() -> None:
    run = counted(GOOD)
    run.open_cases = [case(9)]
    assert exit_status(run) == 1


@pytest.mark.parametrize(
    ("text", "rate"), [("0.9", 0.9), ("90%", 0.9), ("90", 0.9), ("1", 1.0), ("100%", 1.0), ("0", 0.0), ("0.5%", 0.005)]
)
def test_rates(text: str, rate: float) -> None:
    assert read_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["most", "", "-1", "101", "nan", "150%"])
def test_no_rates(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-under"):
        read_rate(text)
