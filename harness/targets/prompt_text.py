"""The prompt of the `prompt` target. Its text is versioned: a change here is a change of `PROMPT_VERSION`."""

import hashlib
import json
from datetime import datetime

from harness.corpus.configs import Config, DdlConfig
from harness.corpus.vocabulary import Vocabulary, VocabularyField
from harness.endpoint.chat import Message
from harness.types.cases import Case

PROMPT_VERSION = "rung.prompt/1"

_LANGUAGES = {
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
    "bigquery": "BigQuery Standard SQL",
    "snowflake": "Snowflake SQL",
    "tsql": "SQL Server (T-SQL)",
    "oracle": "Oracle SQL",
    "spark": "Spark SQL",
    "clickhouse": "ClickHouse SQL",
    "mongo": "MongoDB",
}

SQL_TASK = """\
You translate a request in natural language into one {language} query.

Rules:
- Write exactly one statement, and only one that reads: SELECT, or WITH … SELECT.
- Use the tables and columns of the schema below and no others; never guess a name or a value.
- Return what the request asks for and nothing more; sort or limit only where it asks for it{unless}.
- Write values inline. Resolve dates relative to the current time below.
- Answer with the query alone, in one ```sql block, without explanation."""

MONGO_TASK = """\
You translate a request in natural language into one MongoDB query.

Rules:
- Write one JSON object that reads, for find: {{"collection": …, "filter": {{…}}}}, with "projection", "sort", "skip"
  and "limit" where they are needed; or, where find cannot express it, {{"collection": …, "pipeline": [{{…}}]}}.
- Use the fields below and no others; never guess a name or a value.
- Return what the request asks for and nothing more; sort or limit only where it asks for it{unless}.
- Write dates as {{"$date": "2026-08-04T00:00:00Z"}}. Resolve dates relative to the current time below.
- Answer with the JSON object alone, in one ```json block, without explanation."""

REFUSAL = """\
If the request needs a table, field or value that is not listed, or asks to change data, do not guess and do not use
something similar in its place. Answer instead with exactly this JSON object, the reason being one short sentence:
{"unsupported": "<reason>"}"""

CLOCK = "Current time (UTC): {now}, a {weekday}."


def prompt_digest() -> str:
    """A digest of the prompt's fixed text, so that a change of it without a new version is noticed."""
    text = "\0".join((SQL_TASK, MONGO_TASK, REFUSAL, CLOCK))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_prompt(case: Case, config: Config, now: datetime) -> tuple[Message, Message]:
    """The conversation that asks for one case.

    Args:
        case: sentence, backend and scope are used.
        config: the schema to use.
        now: the pinned clock, aware UTC.
    """
    parts = [_task(case, config), _schema(case, config)]
    if case.scope:
        parts.append(_scope(case, config))
    clock = CLOCK.format(now=now.isoformat().replace("+00:00", "Z"), weekday=now.strftime("%A"))
    system = "\n\n".join((*parts, clock, REFUSAL))
    return Message(role="system", content=system), Message(role="user", content=f"Request: {case.nl}")


def _task(case: Case, config: Config) -> str:
    window = isinstance(config, Vocabulary) and config.defaults.limit is not None
    unless = ", or the schema says so" if window else ""
    if case.backend == "mongo":
        return MONGO_TASK.format(unless=unless)
    return SQL_TASK.format(language=_LANGUAGES.get(case.backend, case.backend), unless=unless)


def _schema(case: Case, config: Config) -> str:
    if isinstance(config, DdlConfig):
        return f"Schema:\n```sql\n{config.text.strip()}\n```"
    kind = "Collection" if case.backend == "mongo" else "Table"
    fields = [field for field in config.fields if field.is_queryable]
    lines = [f"{kind} {config.table_name(case.backend)} ({config.entity}):"]
    lines += [_field(field, case.backend) for field in fields]
    returned = [field.stored_name(case.backend) for field in config.fields if field.is_returnable]
    lines.append(
        f"A request that names no {'fields' if case.backend == 'mongo' else 'columns'} gets: {', '.join(returned)}"
    )
    if config.defaults.limit is not None:
        most = f", and never more than {config.defaults.max_limit}" if config.defaults.max_limit else ""
        lines.append(f"A request that names no number of rows gets at most {config.defaults.limit}{most}")
    return "\n".join(lines)


def _field(field: VocabularyField, backend: str) -> str:
    kind = f"array of {field.item_type or 'values'}" if field.type == "array" else field.type
    parts = [f"- {field.stored_name(backend)} ({kind})"]
    if field.values:
        parts.append(f"one of {', '.join(json.dumps(value, ensure_ascii=False) for value in field.stored_values)}")
    names = [name for name in (field.name, field.display_name, *field.synonyms) if name]
    others = [name for name in dict.fromkeys(names) if name != field.stored_name(backend)]
    if others:
        parts.append(f"also called {', '.join(others)}")
    if field.description:
        parts.append(field.description)
    if field.value_hint:
        parts.append(field.value_hint)
    if field.elem_match and backend == "mongo":
        parts.append(f"conditions on {field.elem_match} apply to one and the same element")
    return "; ".join(parts)


def _scope(case: Case, config: Config) -> str:
    names = (
        {field.name: field.stored_name(case.backend) for field in config.fields}
        if isinstance(config, Vocabulary)
        else {}
    )
    lines = ["Every query must, besides what the request asks for, be restricted to:"]
    for name, value in (case.scope or {}).items():
        stored = names.get(name, name)
        shown = json.dumps(value, ensure_ascii=False)
        lines.append(f"- {stored} {'is one of' if isinstance(value, list) else 'is'} {shown}")
    return "\n".join(lines)
