"""What the user asked of a run, as one value: every command that makes a run fills one in."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from harness.errors import UsageError
from harness.grading.execution import ExecutionMode
from harness.types.frozen import Frozen


class RunOptions(Frozen):
    """What to ask, of whom, how, and where to keep it. `None` = not said: the config or the default decides.

    Attributes:
        golden: the golden file.
        config: vocabulary config of rows that name none.
        backend: backend of rows that name none.
        target: what is scored, as `--target` names it.
        model: the model's name.
        base_url: the endpoint.
        api_key_env: the environment variable that holds the key.
        answers: for the `recorded` target, the file with the answers.
        command: for the `command` target, the program and its arguments.
        function: for the `python` target, `module:function`.
        url: for the `http` target, the service.
        max_repairs: how often the QueryForge engine may ask the model again.
        now: clock of cases that pin none.
        repeat: attempts per case.
        parallel: attempts in flight at a time.
        rpm: calls a minute.
        tpm: tokens a minute.
        retries: further tries of a call that failed in transport.
        timeout: seconds of one request.
        temperature: sampling temperature.
        seed: sampling seed.
        max_tokens: tokens of one reply.
        max_cost: stop once this much is spent.
        price: what tokens cost, as `IN/OUT` per million.
        deadline: seconds that the run may take.
        record: tape to write.
        replay: tape to answer from.
        only: cases with one of these tags.
        ids: cases of these ids.
        limit: at most so many cases.
        exec_url: fixture of cases that name none.
        exec_mode: what an execution may do to a grade.
        columns: whether the order of columns counts.
        witness: look for rows that tell an undecided pair apart.
        words_refuse: words without any query are a refusal.
        name: the run's name.
        runs: the folder that holds the runs.
        resume: go on with a run.
        retry_errors: with `resume`, ask again what failed on its way.
    """

    golden: Path
    config: Path | None = None
    backend: str | None = None
    target: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    answers: Path | None = None
    command: str | None = None
    function: str | None = None
    url: str | None = None
    max_repairs: int | None = Field(default=None, ge=0)
    now: datetime | None = None
    repeat: int | None = Field(default=None, ge=1)
    parallel: int = Field(default=4, ge=1)
    rpm: float | None = None
    tpm: float | None = None
    retries: int | None = Field(default=None, ge=0)
    timeout: float | None = None
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    price: str | None = None
    deadline: float | None = None
    record: Path | None = None
    replay: Path | None = None
    only: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    limit: int | None = None
    exec_url: str | None = None
    exec_mode: ExecutionMode = "annotate"
    columns: Literal["any", "ordered"] = "any"
    witness: bool = True
    words_refuse: bool = True
    name: str | None = None
    runs: Path = Path("runs")
    resume: bool = False
    retry_errors: bool = False

    def instant(self) -> datetime:
        """The clock of cases that pin none, for a check that is no run."""
        return self.now or datetime.now(UTC)

    def flags(self) -> dict[str, JsonValue]:
        """What was said, for the record of the run. A URL's credentials are left out."""
        said = self.model_dump(mode="json", exclude_defaults=True, exclude={"resume", "retry_errors", "runs", "name"})
        return {name: _without_credentials(value) for name, value in said.items()}


def _without_credentials(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or "://" not in value:
        return value
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(value)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def listed(given: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Items given by repeating a flag, by commas, or both; each once, in order."""
    items = (item.strip() for text in given for item in text.split(","))
    return tuple(dict.fromkeys(item for item in items if item))


def read_instant(option: str, text: str) -> datetime:
    """Read an ISO 8601 instant; a bare date is midnight UTC, an instant without a zone is UTC.

    Raises:
        UsageError: it is none.
    """
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: write an instant such as 2026-08-04 or 2026-08-04T09:30:00Z") from error
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
