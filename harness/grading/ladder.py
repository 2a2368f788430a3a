"""Places one answer on the ladder EXACT > EQUIVALENT > REFUSED > FAIL > ERROR, with the evidence for it.

A pure function of the case, the answer, what is known of the data and the pinned clock. The golden is asked first, then
its `accept` alternatives in their order; the evidence of a FAIL is always about the golden itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from canon.rules import Rules
from canon.schema import Schema
from canon.verdict import (
    Canonical,
    Comparison,
    Difference,
    Identical,
    Problem,
    ProblemKind,
    Proved,
    Refuted,
    Undecided,
)
from harness.grading.byte_identity import identical_mongo, identical_sql
from harness.grading.comparing import compare, witnessed
from harness.grading.refusal import judge_refusal_case, unexpected
from harness.grading.seams import MongoPair, SqlPair, WitnessSearch
from harness.types.answers import Answer, MongoAnswer, NoQuery, NoQueryReason, Refusal, SqlAnswer
from harness.types.cases import Case, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.outcomes import Equivalent, Exact, Failed, Judgement, NoAnswer

if TYPE_CHECKING:
    from canon.mongo.fields import Field as MongoField
    from harness.grading.identities import Identity

_NO_QUERY: dict[ProblemKind, NoQueryReason] = {
    "empty": "empty",
    "multiple_statements": "multiple_statements",
    "not_a_read": "not_a_read",
    "unparseable": "unparseable",
    "too_large": "unparseable",
    "unbound_parameter": "unparseable",
}
"""Which reading problems of an answer mean that there is no query; with the others there is one, not understood."""

_NEEDS_ROWS = "the case expects rows, which only an execution can show: name the data with --exec"


def judge(
    case: Case,
    answer: Answer,
    *,
    now: datetime,
    schema: Schema | None = None,
    fields: "Mapping[str, MongoField | str] | None" = None,
    rules: Rules | None = None,
    witness: WitnessSearch | None = None,
    identities: "Sequence[Identity]" = (),
) -> Judgement:
    """Place an answer on the ladder.

    Args:
        case: the case; a `<default>` projection is already resolved.
        answer: what was read from the reply.
        now: the pinned clock, aware UTC.
        schema: the tables, where known; it unlocks identities.
        fields: declared types by path, for MongoDB.
        rules: what the comparison may overlook.
        witness: looks for data that tells an undecided pair apart.
        identities: the user's own, asked where nothing else decides.

    Returns:
        The grade with its evidence.
    """
    rules = rules or Rules()
    match (case.expectation, answer):
        case (ExpectRefusal(), _):
            return judge_refusal_case(answer)
        case (_, Refusal() as refusal):
            return unexpected(refusal)
        case (_, NoQuery(reason=reason, message=message)):
            return NoAnswer(reason=reason, message=message)
        case (ExpectSql(), SqlAnswer() as query) | (ExpectMongo(), MongoAnswer() as query):
            pairing = _Pairing(case=case, answer=query, now=now, schema=schema, fields=fields, rules=rules)
            return pairing.judged(witness, identities)
        case (ExpectSql() | ExpectMongo(), _):
            return Failed(evidence=Undecided(problem=_wrong_language(case, answer)))
        case _:
            # Rows and suites say what a query returns: text alone decides nothing of it.
            return Failed(evidence=Undecided(problem=Problem(kind="unsupported", side=None, message=_NEEDS_ROWS)))


def _wrong_language(case: Case, answer: Answer) -> Problem:
    wanted, got = ("MongoDB", "SQL") if answer.kind == "sql" else ("SQL", "MongoDB")
    message = f"case {case.id} expects a {wanted} query, and a {got} query came back"
    return Problem(kind="unsupported", side="actual", message=message)


@dataclass(frozen=True, kw_only=True)
class _Pairing:
    """One answer against the golden and its alternatives."""

    case: Case
    answer: SqlAnswer | MongoAnswer
    now: datetime
    schema: Schema | None
    fields: "Mapping[str, MongoField | str] | None"
    rules: Rules

    def judged(self, witness: WitnessSearch | None, identities: "Sequence[Identity]") -> Judgement:
        golden = self.case.expectation
        assert isinstance(golden, ExpectSql | ExpectMongo)
        alternatives = [self._alternative(text) for text in self.case.accept]
        if self._identical(golden):
            return Exact()
        for place, alternative in enumerate(alternatives, start=1):
            if self._identical(alternative):
                return Equivalent(evidence=Canonical(absorbed=()), accepted=place)
        about_golden = compare(self._pair(golden))
        if (problem := _unreadable_answer(about_golden)) is not None:
            return NoAnswer(reason=_NO_QUERY[problem.kind], message=problem.message)
        for place, found in enumerate([about_golden, *(compare(self._pair(each)) for each in alternatives)]):
            match found:
                case Identical():
                    return Equivalent(evidence=Canonical(absorbed=()), accepted=place)
                case Canonical() | Proved():
                    return Equivalent(evidence=found, accepted=place)
                case _:
                    continue
        assert isinstance(about_golden, Refuted | Undecided)
        pair = self._pair(golden, about_golden.differences)
        found = witnessed(pair, about_golden, witness)
        if identities and isinstance(found, Undecided):
            from harness.grading.identities import joined

            if (evidence := joined(pair, found, identities)) is not None:
                return Equivalent(evidence=evidence)
        return Failed(evidence=found)

    def _alternative(self, text: str) -> ExpectSql | ExpectMongo:
        return ExpectMongo(text=text) if isinstance(self.case.expectation, ExpectMongo) else ExpectSql(text=text)

    def _identical(self, expected: ExpectSql | ExpectMongo) -> bool:
        match (expected, self.answer):
            case (ExpectSql(), SqlAnswer()):
                return identical_sql(expected, self.answer)
            case (ExpectMongo(), MongoAnswer()):
                return identical_mongo(expected, self.answer)
            case _:
                return False

    def _pair(self, expected: ExpectSql | ExpectMongo, differences: tuple[Difference, ...] = ()) -> SqlPair | MongoPair:
        match (expected, self.answer):
            case (ExpectSql(text=text, args=args), SqlAnswer(text=actual, args=bound)):
                return SqlPair(
                    dialect=self.case.backend,
                    expected=text,
                    actual=actual,
                    expected_args=args or (),
                    actual_args=bound,
                    schema=self.schema,
                    now=self.now,
                    rules=self.rules,
                    differences=differences,
                )
            case _:
                return MongoPair(
                    expected=expected.text,
                    actual=self.answer.text,
                    fields=self.fields,
                    now=self.now,
                    rules=self.rules,
                    differences=differences,
                )


def _unreadable_answer(found: Comparison) -> Problem | None:
    problem = found.problem if isinstance(found, Undecided) else None
    return problem if problem is not None and problem.side == "actual" and problem.kind in _NO_QUERY else None
