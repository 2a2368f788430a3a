"""Expectations, answers and judgements as the text that people read."""

from canon.verdict import Difference
from harness.types.answers import Answer, MongoAnswer, NoQuery, Refusal, SqlAnswer
from harness.types.cases import Expectation, ExpectMongo, ExpectRefusal, ExpectSql
from harness.types.outcomes import Failed, Judgement, NoAnswer


def expected_text(expectation: Expectation) -> str:
    """What the golden asks for, as text."""
    match expectation:
        case ExpectSql(text=text, args=None) | ExpectMongo(text=text):
            return text
        case ExpectSql(text=text, args=args):
            return f"{text}  -- args: {list(args or ())}"
        case ExpectRefusal():
            return "(a refusal: this cannot be expressed)"


def answer_text(answer: Answer) -> str:
    """What came back, as text."""
    match answer:
        case SqlAnswer(text=text, args=args):
            return f"{text}  -- args: {list(args) if isinstance(args, tuple) else args}" if args else text
        case MongoAnswer(text=text):
            return text
        case Refusal(message=message):
            return f"(refused) {message}".strip()
        case NoQuery(message=message, reason=reason):
            return f"({reason.replace('_', ' ')}) {message}".strip()


def differences_of(judgement: Judgement) -> tuple[Difference, ...]:
    """The differences behind a failure, none for anything else."""
    if isinstance(judgement, Failed) and judgement.evidence is not None:
        return judgement.evidence.differences
    return ()


def failure_lines(judgement: Judgement) -> tuple[str, ...]:
    """What went wrong, one line each; none for a pass."""
    match judgement:
        case NoAnswer(message=message, reason=reason):
            return (message or reason.replace("_", " "),)
        case Failed(evidence=None, message=message):
            return (message or "answered where it should have declined",)
        case Failed(evidence=evidence, message=message):
            lines = [difference.message for difference in differences_of(judgement)]
            if evidence is not None and evidence.basis == "undecided" and evidence.problem is not None:
                lines.append(evidence.problem.message)
            return tuple(lines) or (message or "not shown to be the same, nor to differ",)
        case _:
            return ()
