"""QueryForge's vocabulary config as data: one entity, its fields, and how they are stored in each backend."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from canon.mongo.fields import Field as MongoField
from canon.mongo.fields import FieldType as MongoType
from canon.schema import Column, ColumnType, Schema, Table
from harness.corpus.json_text import JsonTextError, parse_json
from harness.errors import VocabularyError
from harness.types.problems import FileProblem

FieldType = Literal["string", "number", "boolean", "enum", "date", "array"]
Operator = Literal[
    "equals",
    "notEquals",
    "gt",
    "lt",
    "gte",
    "lte",
    "between",
    "in",
    "notIn",
    "contains",
    "containsAny",
    "containsAll",
    "startsWith",
    "endsWith",
    "regex",
    "before",
    "after",
    "isNull",
    "isNotNull",
]

_COLUMN_TYPES: dict[FieldType, ColumnType] = {
    "string": "text",
    "number": "real",  # the config does not say whether fractions occur: the widest type claims least
    "boolean": "boolean",
    "enum": "text",
    "date": "timestamp",
    "array": "array",
}
_MONGO_TYPES: dict[FieldType, MongoType] = {
    "string": "string",
    "number": "number",
    "boolean": "boolean",
    "enum": "enum",
    "date": "date",
    "array": "array",
}


def mapping_keys(backend: str) -> tuple[str, ...]:
    """The keys under which a config may name a thing for a backend, the first that is there counting.

    The engine reads `sql` for PostgreSQL, and for MySQL what `mysql` does not name; other dialects are taken as such.
    """
    if backend == "mongo":
        return ("mongo",)
    return ("sql",) if backend == "postgres" else (backend, "sql")


class _Part(BaseModel):
    """A part of the config. Keys that rung does not know are kept, for the engine may know them."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)


class Validators(_Part):
    """Bounds on the values of a number field."""

    min: float | None = None
    max: float | None = None


class VocabularyField(_Part):
    """One attribute of the entity. An unset flag has the engine's own default for the type."""

    name: str = Field(min_length=1)
    type: FieldType
    values: tuple[str, ...] = ()
    item_type: FieldType | None = Field(default=None, alias="itemType")
    operators: tuple[Operator, ...] = ()
    synonyms: tuple[str, ...] = ()
    custom_field: bool = Field(default=False, alias="customField")
    display_name: str = Field(default="", alias="displayName")
    description: str = ""
    value_hint: str = Field(default="", alias="valueHint")
    mapping: dict[str, str] = {}
    keyword_mapping: dict[str, str] = Field(default={}, alias="keywordMapping")
    nested_path: str = Field(default="", alias="nestedPath")
    routing_field: bool = Field(default=False, alias="routingField")
    elem_match: str = Field(default="", alias="elemMatch")
    value_case: Literal["", "upper", "lower"] = Field(default="", alias="valueCase")
    case_insensitive: bool = Field(default=False, alias="caseInsensitive")
    queryable: bool | None = None
    filterable: bool | None = None
    searchable: bool | None = None
    sortable: bool | None = None
    returnable: bool | None = None
    indexed: bool = False
    priority: int = 0
    validators: Validators | None = None

    @property
    def is_queryable(self) -> bool:
        """Whether the model may be told of the field."""
        return self.queryable is not False

    @property
    def is_returnable(self) -> bool:
        """Whether the field may be in a result."""
        return self.returnable is not False

    @property
    def is_sortable(self) -> bool:
        """Whether results may be sorted by the field; arrays are not, unless the config says so."""
        return self.sortable if self.sortable is not None else self.type != "array"

    @property
    def stored_values(self) -> tuple[str, ...]:
        """The values of an enum as the data holds them, which `valueCase` may write differently from the config."""
        match self.value_case:
            case "upper":
                return tuple(value.upper() for value in self.values)
            case "lower":
                return tuple(value.lower() for value in self.values)
            case _:
                return self.values

    def stored_name(self, backend: str) -> str:
        """The column or path in a backend; see `mapping_keys`."""
        return next((name for key in mapping_keys(backend) if (name := self.mapping.get(key))), self.name)


class BackendConfig(_Part):
    """Where a backend keeps the entity; the first of the keys that is set names it."""

    table: str = ""
    collection: str = ""
    index: str = ""
    name: str = ""
    indexes: tuple[str, ...] = ()
    alias: str = ""
    routing: dict[str, JsonValue] | None = None

    @property
    def source(self) -> str:
        """Table, collection or index."""
        return self.table or self.collection or self.index or self.name


class ModelBlock(_Part):
    """An endpoint to ask. `api_key` is a secret: it is never written anywhere."""

    provider: str = ""
    base_url: str = Field(default="", alias="baseURL")
    model: str = ""
    api_key_env: str = Field(default="", alias="apiKeyEnv")
    api_key: str = Field(default="", alias="apiKey", repr=False)
    temperature: float | None = None
    max_tokens: int | None = Field(default=None, alias="maxTokens")
    protocol: str = ""
    timeout_seconds: int | None = Field(default=None, alias="timeoutSeconds")
    max_retries: int | None = Field(default=None, alias="maxRetries")
    retry_backoff_ms: int | None = Field(default=None, alias="retryBackoffMs")
    json_mode: bool | None = Field(default=None, alias="jsonMode")
    aws: dict[str, JsonValue] | None = Field(default=None, repr=False)


class Defaults(_Part):
    """The window of a query that asks for none."""

    limit: int | None = None
    max_limit: int | None = Field(default=None, alias="maxLimit")


class Policy(_Part):
    """Limits that the engine enforces."""

    max_nesting_depth: int | None = Field(default=None, alias="maxNestingDepth")
    deny_regex_on: tuple[str, ...] = Field(default=(), alias="denyRegexOn")
    allow_regex_on: tuple[str, ...] = Field(default=(), alias="allowRegexOn")
    max_filter_nodes: int | None = Field(default=None, alias="maxFilterNodes")
    max_list_length: int | None = Field(default=None, alias="maxListLength")
    max_value_length: int | None = Field(default=None, alias="maxValueLength")
    max_regex_length: int | None = Field(default=None, alias="maxRegexLength")
    max_suggest_calls: int | None = Field(default=None, alias="maxSuggestCalls")
    requires: tuple[dict[str, JsonValue], ...] = ()
    required_scope: dict[str, JsonValue] | None = Field(default=None, alias="requiredScope")


class Vocabulary(_Part):
    """A whole config.

    Attributes:
        path: where it came from.
        source: the JSON as written, for the engine; holds whatever secrets the file holds.
        digest: sha256 of the text, hex.
    """

    entity: str = Field(min_length=1)
    version: int | None = None
    timezone: str = ""
    backends: dict[str, BackendConfig] = {}
    fields: tuple[VocabularyField, ...]
    defaults: Defaults = Defaults()
    policy: Policy = Policy()
    model: ModelBlock | None = None
    models: tuple[ModelBlock, ...] = ()

    path: Path = Field(default=Path(), exclude=True)
    source: dict[str, Any] = Field(default={}, exclude=True, repr=False)
    digest: str = Field(default="", exclude=True)

    @property
    def unknown_keys(self) -> tuple[str, ...]:
        """Keys that are not part of the format, as `fields[2].foo`: kept for the engine, which may refuse them."""
        return tuple(_unknown_keys(self, ""))

    @property
    def api_key_env(self) -> str | None:
        """The environment variable that the first model block names for the key."""
        blocks = (self.model, *self.models) if self.model is not None else self.models
        return next((block.api_key_env for block in blocks if block.api_key_env), None)

    def table_name(self, backend: str) -> str:
        """The table or collection in a backend, the entity's name where the config names none; see `mapping_keys`."""
        found = (self.backends[key].source for key in mapping_keys(backend) if key in self.backends)
        return next(filter(None, found), self.entity)

    def schema(self, dialect: str) -> Schema:  # type: ignore[override]  # pydantic's own is deprecated
        """What the config says of the data in a SQL dialect; it says nothing of keys and NULLs."""
        columns = tuple(_column(field, dialect) for field in self.fields)
        return Schema(tables=(Table(name=self.table_name(dialect), columns=columns),))

    def mongo_fields(self) -> dict[str, MongoField]:
        """What the config says of each path of a document."""
        fields: dict[str, MongoField] = {}
        for field in self.fields:
            if field.elem_match:
                fields.setdefault(field.elem_match, MongoField(type="array", item="object"))
            fields[field.stored_name("mongo")] = _mongo_field(field)
        return fields


def _column(field: VocabularyField, dialect: str) -> Column:
    item = _COLUMN_TYPES[field.item_type] if field.type == "array" and field.item_type is not None else "any"
    return Column(
        name=field.stored_name(dialect),
        type=_COLUMN_TYPES[field.type],
        item=item,
        values=field.stored_values if field.type == "enum" else None,
    )


def _mongo_field(field: VocabularyField) -> MongoField:
    kind = _MONGO_TYPES[field.type]
    item = _MONGO_TYPES[field.item_type] if field.item_type is not None else "any"
    if field.elem_match:  # the path leads through an array, so that it reaches many values at once
        return MongoField(type="array", item=item if field.type == "array" else kind)
    if field.type == "array":
        return MongoField(type="array", item=item)
    return MongoField(type=kind, values=field.stored_values if field.type == "enum" else ())


def _unknown_keys(part: BaseModel, prefix: str) -> Iterator[str]:
    for key in part.model_extra or {}:
        yield f"{prefix}{key}"
    for name, info in type(part).model_fields.items():
        value, label = getattr(part, name), f"{prefix}{info.alias or name}"
        if isinstance(value, BaseModel):
            yield from _unknown_keys(value, f"{label}.")
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _unknown_keys(item, f"{label}[{index}].")
        elif isinstance(value, dict) and name == "backends":
            for key, item in value.items():
                yield from _unknown_keys(item, f"{label}.{key}.")


def read_vocabulary(text: str, *, path: Path) -> Vocabulary:
    """Read a config from JSON text.

    Args:
        text: the JSON.
        path: where it came from, for messages.

    Raises:
        VocabularyError: it is not JSON, or not a config; carries every problem found.
    """
    try:
        source = parse_json(text)
    except JsonTextError as error:
        raise VocabularyError((_problem(path, None, error.message, line=error.line),)) from error
    if not isinstance(source, dict):
        said = f"a config is a JSON object, this is {_json_kind(source)}"
        raise VocabularyError((_problem(path, None, said),))
    reserved = {"path", "source", "digest"} & source.keys()
    read = {key: value for key, value in source.items() if key not in reserved}
    try:
        vocabulary = Vocabulary.model_validate_json(json.dumps(read))
    except ValidationError as error:
        raise VocabularyError(tuple(_problem(path, *_said(detail, source)) for detail in error.errors())) from error
    problems = tuple(_problem(path, where, said) for where, said in _inconsistencies(vocabulary))
    if problems:
        raise VocabularyError(problems)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return vocabulary.model_copy(update={"path": path, "source": source, "digest": digest})


def _problem(path: Path, column: str | None, message: str, *, line: int | None = None) -> FileProblem:
    return FileProblem(path=path, line=line, column=column, message=message)


def _json_kind(value: object) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")


def _said(detail: Any, source: dict[str, JsonValue]) -> tuple[str, str]:
    """Where a validation error is (`fields[2].type`, with the field's name) and what it says."""
    where = ""
    for step in detail["loc"]:
        where += f"[{step}]" if isinstance(step, int) else (f".{step}" if where else str(step))
    match detail["loc"]:
        case ("fields", int(index), *_):
            fields = source.get("fields")
            entry = fields[index] if isinstance(fields, list) and index < len(fields) else None
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                where += f" ({entry['name']})"
    message = detail["msg"][0].lower() + detail["msg"][1:]
    if detail["type"] == "missing":
        message = "is required"
    elif detail["loc"][0] not in ("model", "models"):  # those hold secrets, which no message repeats
        message = f"{message}, not {json.dumps(detail['input'], ensure_ascii=False, default=str)[:80]}"
    return where, message


def _inconsistencies(vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Rules of the engine that span more than one key; a config that breaks one is refused by it, one at a time."""
    if not vocabulary.fields:
        yield "fields", "must not be empty"
    seen: dict[str, int] = {}
    for index, field in enumerate(vocabulary.fields):
        where = f"fields[{index}] ({field.name})"
        if field.name in seen:
            yield where, f"the name is used already by fields[{seen[field.name]}]"
        seen.setdefault(field.name, index)
        yield from ((where, said) for said in _field_inconsistencies(field))
    blocks = [("model", vocabulary.model)] if vocabulary.model is not None else []
    for label, block in blocks + [(f"models[{index}]", block) for index, block in enumerate(vocabulary.models)]:
        if block.api_key_env and not (block.api_key_env.isascii() and block.api_key_env.isidentifier()):
            said = "takes the name of an environment variable (such as QF_API_KEY), never the key itself"
            yield f"{label}.apiKeyEnv", said


def _field_inconsistencies(field: VocabularyField) -> Iterator[str]:
    strings = field.type in ("string", "enum") or (field.type == "array" and field.item_type in ("string", "enum"))
    if field.type == "enum" and not field.values:
        yield "an enum must list its `values`"
    if field.value_case and not strings:
        yield f"`valueCase` is for strings, enums and arrays of them, not for {field.type}"
    if field.case_insensitive and field.type != "string":
        yield f"`caseInsensitive` is for strings, not for {field.type}"
    if field.case_insensitive and field.value_case:
        yield "`caseInsensitive` and `valueCase` cannot both apply; keep one"
    if field.elem_match and not field.stored_name("mongo").startswith(field.elem_match + "."):
        path = field.stored_name("mongo")
        yield f"`elemMatch` names {field.elem_match!r}, which the Mongo path {path!r} is not inside"
