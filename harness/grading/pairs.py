"""Decides pairs of queries that come as lines of JSON: one answer a line, in the same order, whatever a line holds."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from canon.errors import ReadError
from canon.rules import Rules
from canon.schema import Schema
from canon.verdict import Canonical, Comparison, Proved, Refuted, Side, Undecided
from harness.corpus.json_text import JsonTextError, parse_json
from harness.errors import UsageError
from harness.grading.comparing import compare, contradicted, witnessed
from harness.grading.seams import Args, MongoPair, SqlPair, WitnessSearch

_SCHEMAS_KEPT = 256


class PairLine(BaseModel):
    """One line of a pairs file; keys that are none of these (labels, notes) are not looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    id: JsonValue = None
    a: str
    b: str
    dialect: str | None = None
    # `schema` is taken by pydantic's own method of that name.
    ddl: str | None = Field(default=None, validation_alias=AliasChoices("schema", "ddl"))
    args_a: Args = ()
    args_b: Args = ()
    now: datetime | None = None
    star: Literal["strict", "expand"] = "strict"
    columns: Literal["any", "ordered"] = "any"
    kind: Literal["sql", "mongo"] | None = None
    fields: dict[str, str] | None = None

    @property
    def is_mongo(self) -> bool:
        """Whether the two are MongoDB queries: said so, or by a dialect of that name."""
        return self.kind == "mongo" or (self.kind is None and (self.dialect or "").lower().startswith("mongo"))


class Decider:
    """Decides lines, one after another.

    Args:
        dialect: for lines that name none.
        budget_ms: how long one pair may take.
        witness: looks for data where canon cannot decide.
        paranoid: looks for data as well where canon has found the two equivalent; what it finds is a contradiction.
    """

    def __init__(
        self,
        *,
        dialect: str | None = None,
        budget_ms: int = 2000,
        witness: WitnessSearch | None = None,
        paranoid: bool = False,
    ) -> None:
        self._dialect = dialect
        self._budget_ms = budget_ms
        self._witness = witness
        self._paranoid = paranoid
        self._schemas: dict[tuple[str, str], Schema] = {}

    def decide(self, line: str, number: int) -> str:
        """Decide one line of JSON and return the answer as one line of JSON, without a line feed."""
        started = time.perf_counter()
        case_id, found, error = self._found(line, number)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        return json.dumps(_answer(case_id, found, error, elapsed))

    def read(self, document: JsonValue) -> PairLine:
        """Read a pair from a JSON object.

        Raises:
            UsageError: it is none.
        """
        try:
            return PairLine.model_validate(document)
        except ValidationError as error:
            raise UsageError(_said_of(error)) from error

    def decide_document(self, pair: PairLine) -> dict[str, JsonValue]:
        """Decide one pair and return the answer as the JSON object that a pairs file gets.

        Raises:
            UsageError: the schema cannot be read.
        """
        started = time.perf_counter()
        found = self.decide_pair(pair)
        return _answer(pair.id, found, _problem_of(found), round((time.perf_counter() - started) * 1000, 3))

    def decide_pair(self, pair: PairLine) -> Comparison:
        """Decide one pair.

        Raises:
            UsageError: the schema cannot be read.
        """
        started = time.monotonic()
        asked = self._pair(pair)
        found = compare(asked)
        left_ms = self._budget_ms - round((time.monotonic() - started) * 1000)
        if isinstance(found, Canonical | Proved) and self._paranoid:
            return contradicted(asked, found, self._witness)
        if not isinstance(found, Refuted | Undecided) or left_ms <= 0:
            return found
        rules = asked.rules.model_copy(update={"budget_ms": left_ms})
        return witnessed(replace(asked, differences=found.differences, rules=rules), found, self._witness)

    def _found(self, line: str, number: int) -> tuple[JsonValue, Comparison, str | None]:
        case_id: JsonValue = None
        try:
            document = parse_json(line)
            case_id = document.get("id") if isinstance(document, dict) else None
            pair = PairLine.model_validate(document)
            found = self.decide_pair(pair)
        except JsonTextError as error:
            return case_id, Undecided(), f"line {number} is no JSON: {error.message}"
        except ValidationError as error:
            return case_id, Undecided(), f"line {number}: {_said_of(error)}"
        except UsageError as error:
            return case_id, Undecided(), f"line {number}: {error}"
        return case_id, found, _problem_of(found)

    def _pair(self, pair: PairLine) -> SqlPair | MongoPair:
        rules = Rules(star=pair.star, columns=pair.columns, budget_ms=self._budget_ms)
        now = pair.now if pair.now is None or pair.now.tzinfo else pair.now.replace(tzinfo=UTC)
        if pair.is_mongo:
            return MongoPair(expected=pair.a, actual=pair.b, fields=pair.fields, now=now, rules=rules)
        dialect = _dialect(pair.dialect or self._dialect)
        return SqlPair(
            dialect=dialect,
            expected=pair.a,
            actual=pair.b,
            expected_args=pair.args_a,
            actual_args=pair.args_b,
            schema=self._schema(pair.ddl, dialect) if pair.ddl else None,
            now=now,
            rules=rules,
        )

    def _schema(self, ddl: str, dialect: str) -> Schema:
        """Schemas repeat from pair to pair, and reading one takes longer than most comparisons."""
        from canon.sql.ddl import read_schema

        key = (ddl, dialect)
        if key not in self._schemas:
            if len(self._schemas) >= _SCHEMAS_KEPT:
                self._schemas.clear()
            try:
                self._schemas[key] = read_schema(ddl, dialect)
            except (ReadError, ValueError) as error:
                raise UsageError(f"schema: {error}") from error
        return self._schemas[key]


def _dialect(name: str | None) -> str:
    return "postgres" if name is None or name.lower() == "sql" else name.lower()


def _said_of(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _problem_of(found: Comparison) -> str | None:
    problem = found.problem if isinstance(found, Undecided) else None
    if problem is None:
        return None
    sides: dict[Side | None, str] = {"expected": "a: ", "actual": "b: ", None: ""}
    return f"{sides[problem.side]}{problem.message}"


def _answer(case_id: JsonValue, found: Comparison, error: str | None, elapsed: float) -> dict[str, JsonValue]:
    differences = found.differences if isinstance(found, Refuted | Undecided) else ()
    return {
        "id": case_id,
        "relation": found.relation,
        "basis": found.basis,
        "absorbed": list(getattr(found, "absorbed", ())),
        "differences": [{**each.model_dump(mode="json"), "message": each.message} for each in differences],
        "witness": found.witness.model_dump(mode="json") if isinstance(found, Refuted) else None,
        "ms": elapsed,
        "error": error,
    }


def failed_line(line: str, error: str) -> str:
    """The answer to a line that could not be decided for a reason outside of it."""
    try:
        document = parse_json(line)
    except JsonTextError:
        document = None
    case_id = document.get("id") if isinstance(document, dict) else None
    return json.dumps(_answer(case_id, Undecided(), error, 0.0))
