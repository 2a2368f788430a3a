"""The reading of SQL by the parser process, as every SQL engine needs it before anything runs."""

import hashlib
import time
from dataclasses import dataclass
from typing import Any

from harness.sandbox.backends import Job
from harness.sandbox.processes import LostError
from harness.sandbox.result import Validation
from harness.sandbox.slots import Slot
from harness.sandbox.validation import sha256
from harness.sandbox.values import encode
from harness.sandbox.work import Failure


@dataclass(frozen=True)
class FixtureSchema:
    """The tables of a fixture, for the parser.

    Attributes:
        sha256: of its canonical JSON.
        tables: `names`, `refused` and `default_schema` of `harness.sandbox.validation.Tables`.
    """

    sha256: str
    tables: dict[str, Any]


@dataclass(frozen=True)
class SqlRead:
    """What reading a query gave: the text to run, or why none is.

    Attributes:
        validation: what was found.
        failure: why the query is not run.
        text: what the engine runs.
        sort_key: positions of the sort keys in its rows, where asked for and known.
        hidden: columns that were added at the end to carry sort keys.
    """

    validation: Validation
    failure: Failure | None = None
    text: str = ""
    sort_key: tuple[int, ...] | None = None
    hidden: int = 0


def schema_of(described: dict[str, Any], names: dict[str, str], refused: list[str], default: str) -> FixtureSchema:
    """A schema from what an engine described."""
    digest = hashlib.sha256(encode(described).encode()).hexdigest()
    return FixtureSchema(digest, {"names": names, "refused": refused, "default_schema": default})


def read_query(
    slot: Slot, query: str, job: Job, engine_dialect: str, schema: FixtureSchema, *, sort_keys: bool = False
) -> SqlRead:
    """Have a query read against a fixture's schema."""
    request = {
        "text": query,
        "source": job.dialect,
        "dialect": engine_dialect,
        "max_characters": job.policy.max_sql_characters,
        "now": None if job.now is None else job.now.isoformat(),
        "sort_keys": sort_keys,
    }
    digest = sha256(query)
    try:
        query.encode()
        left = min(job.deadline - time.monotonic(), job.policy.deadline_seconds)
        answer = slot.read(request, left, (schema.sha256, schema.tables))
    except UnicodeEncodeError:
        answer = {"accepted": False, "code": "unparseable"}
    except LostError as lost:
        code = "deadline" if lost.timed_out else "worker_terminated"
        status = "timeout" if lost.timed_out else "resource_limit"
        rejected = Validation(accepted=False, code=code, dialect=job.dialect, sql_sha256=digest)
        return SqlRead(rejected, Failure(status, code, "parse"))
    if not answer["accepted"]:
        rejected = Validation(accepted=False, code=answer["code"], dialect=job.dialect, sql_sha256=digest)
        return SqlRead(rejected, Failure("validation_rejected", answer["code"], "parse"))
    validation = Validation(
        accepted=True,
        dialect=job.dialect,
        sql_sha256=digest,
        tables=tuple(answer["tables"]),
        functions=tuple(answer["functions"]),
        deterministic=answer["deterministic"],
    )
    sort_key = answer.get("sort_key")
    return SqlRead(
        validation,
        text=answer["text"],
        sort_key=None if sort_key is None else tuple(sort_key),
        hidden=answer.get("hidden", 0),
    )
