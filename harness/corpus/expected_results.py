"""Reads what a result should be: `expect_rows` (JSON, or a CSV or JSON Lines file), `expect_schema`, `expect_suite`."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

from pydantic import JsonValue, TypeAdapter, ValidationError

from harness.corpus.columns import CellError, read_json
from harness.corpus.query_texts import Args
from harness.types.cases import Expectation
from harness.types.evaluation import in_dialect
from harness.types.expectations import (
    MAX_EXPECTED_ROWS,
    ExpectationSuite,
    ExpectRows,
    ExpectTypedRows,
    ResultExpectation,
)
from harness.types.results import Column, ResultCell, ResultSchema, SqlType

_CHECKS: TypeAdapter[ResultExpectation] = TypeAdapter(ResultExpectation)
_INTEGERS = ("INT", "BIGINT", "SMALLINT", "TINYINT", "UTINYINT", "USMALLINT", "UINT", "UBIGINT", "INT128", "SERIAL")
_FLOATS = ("FLOAT", "DOUBLE", "REAL")
_DECIMALS = ("DECIMAL", "NUMERIC")
_TAGGED = (("DATETIME", "timestamp"), ("TIMESTAMPTZ", "timestamptz"), ("TIMESTAMP", "timestamp"), ("DATE", "date"))

_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "decimal": Decimal,
        "date": date.fromisoformat,
        "timestamp": datetime.fromisoformat,
        "timestamptz": datetime.fromisoformat,
    }
)


@dataclass(frozen=True)
class Beside:
    """What of a row goes with its expectation.

    Attributes:
        args: `expect_args`.
        schema: `expect_schema`.
        dialect: in which types are written.
        folder: where relative paths start.
    """

    args: Args = None
    schema: ResultSchema | None = None
    dialect: str = "postgres"
    folder: Path = Path()


def read_schema(cell: str, dialect: str) -> ResultSchema:
    """`{"id": "BIGINT", "name": "TEXT"}`, or an array of `{"name", "type", "nullable"?}` (names may repeat there).

    Raises:
        CellError: it is neither.
    """
    value = read_json(cell)
    if isinstance(value, dict):
        value = [{"name": name, "type": kind} for name, kind in value.items()]
    try:
        schema = ResultSchema.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise CellError(_said(error, 'takes columns, such as {"id": "BIGINT", "name": "TEXT"}')) from None
    if len(schema) == 0:
        raise CellError("names no column")
    columns = []
    for column in schema.columns():
        kind = SqlType.parse(column.type.raw, dialect)
        if kind.canonical is None:
            raise CellError(f"`{column.type.raw[:60]}` of {column.name} is no type of {dialect}")
        columns.append(Column(name=column.name, type=kind, nullable=column.nullable))
    return ResultSchema(tuple(columns))


def read_suite(cell: str, beside: Beside) -> Expectation:
    """An array of checks, such as `[{"kind": "row_count", "count": 3}, {"kind": "not_null", "column": "id"}]`.

    Raises:
        CellError: it is none; says which check cannot be read.
    """
    value = read_json(cell)
    if not isinstance(value, list) or not value:
        raise CellError('takes a JSON array of checks, such as [{"kind": "row_count", "count": 3}]')
    checks = []
    for number, item in enumerate(value, start=1):
        try:
            checks.append(_CHECKS.validate_json(json.dumps(item)))
        except ValidationError as error:
            raise CellError(_said(error, f"check {number}")) from None
    return in_dialect(ExpectationSuite(expectations=tuple(checks)), beside.dialect)


def read_rows(cell: str, beside: Beside) -> Expectation:
    """Rows as a JSON array of arrays or objects, a path, or `{"file": PATH, "null": TOKEN}`.

    A CSV file has a header, needs `expect_schema`, and has a NULL only where a cell is the token that is declared;
    without a token it has none. In JSON Lines NULL is `null`.

    Raises:
        CellError: it cannot be read; says which row.
    """
    text = cell.strip()
    token: str | None = None
    names: tuple[str, ...] | None
    if text.startswith(("[", "{")):
        value = read_json(text)
        if isinstance(value, dict):
            path, token = _file_of(value)
            names, rows = _from_file(beside.folder / path, token, beside)
        else:
            assert isinstance(value, list)
            names, rows = _tabular(iter(value))
    else:
        names, rows = _from_file(beside.folder / text, None, beside)
    return _expectation(names, rows, beside)


def _expectation(names: tuple[str, ...] | None, rows: list[tuple[ResultCell, ...]], beside: Beside) -> Expectation:
    if len(rows) > MAX_EXPECTED_ROWS:
        raise CellError(f"lists {len(rows):,} rows; at most {MAX_EXPECTED_ROWS:,} are compared")
    try:
        if beside.schema is None:
            return ExpectRows(rows=tuple(rows), columns=names)
        wanted = beside.schema.names
        if names is not None and names != wanted:
            if sorted(names) != sorted(wanted) or len(set(names)) != len(names):
                raise CellError(f"has the columns {', '.join(names)}, and `expect_schema` {', '.join(wanted)}")
            order = [names.index(name) for name in wanted]
            rows = [tuple(row[place] for place in order) for row in rows]
        return ExpectTypedRows(rows=tuple(rows), schema_=beside.schema)
    except ValidationError as error:
        raise CellError(_said(error, "the rows")) from None


def _file_of(value: dict[str, JsonValue]) -> tuple[str, str | None]:
    path, token = value.get("file"), value.get("null")
    unknown = value.keys() - {"file", "null"}
    if not isinstance(path, str) or not path or unknown or not isinstance(token, str | None):
        raise CellError('takes rows, a path, or {"file": "rows.csv", "null": "\\\\N"}')
    return path, token


def _from_file(
    path: Path, token: str | None, beside: Beside
) -> tuple[tuple[str, ...] | None, list[tuple[ResultCell, ...]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            if path.suffix.lower() == ".csv":
                return _from_csv(csv.reader(stream, strict=True), path.name, token, beside)
            if path.suffix.lower() in (".jsonl", ".ndjson"):
                if token is not None:
                    raise CellError("`null` is for CSV files; in JSON Lines NULL is null")
                return _tabular(read_json(line) for line in stream if line.strip())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CellError(f"{path.name} cannot be read: {reason} (looked for beside the golden file)") from None
    raise CellError(f"takes JSON rows or the path of a .csv or .jsonl file, not `{path.name[:60]}`")


def _from_csv(
    lines: Iterator[list[str]], name: str, token: str | None, beside: Beside
) -> tuple[tuple[str, ...], list[tuple[ResultCell, ...]]]:
    if beside.schema is None:
        raise CellError(f"{name} does not say of which types its columns are: declare them in `expect_schema`")
    header = tuple(next(lines, []))
    if sorted(header) != sorted(beside.schema.names):
        raise CellError(f"{name} has the columns {', '.join(header)}; `expect_schema` {', '.join(beside.schema.names)}")
    types = [next(column.type for column in beside.schema.columns() if column.name == title) for title in header]
    rows: list[tuple[ResultCell, ...]] = []
    for number, cells in enumerate(lines, start=1):
        if len(cells) != len(header):
            raise CellError(f"{name}: row {number} has {len(cells)} cells, the header has {len(header)}")
        rows.append(
            tuple(_typed(text, kind, token, f"{name}: row {number}") for text, kind in zip(cells, types, strict=True))
        )
        if len(rows) > MAX_EXPECTED_ROWS:
            break
    return header, rows


def _typed(text: str, kind: SqlType, token: str | None, where: str) -> ResultCell:
    """A cell of a CSV file as its column's type declares it."""
    if token is not None and text == token:
        return None
    canonical = (kind.canonical or kind.raw).upper()
    try:
        if canonical.startswith(_INTEGERS) and not canonical.startswith("INTERVAL"):
            return int(text)
        if canonical.startswith(_FLOATS):
            number = float(text)
            return number if number - number == 0 else {"type": "float", "value": str(number)}
        if canonical.startswith("BOOL"):
            return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}[text.strip().lower()]
    except (ValueError, KeyError):
        hint = "" if token is not None else "; a NULL needs a token, declared as `null`"
        raise CellError(f"{where}: `{text[:40]}` is no {kind.raw}{hint}") from None
    if canonical.startswith(_DECIMALS):
        return _tagged(text, "decimal", kind, where)
    tag = next((tag for prefix, tag in _TAGGED if canonical.startswith(prefix)), None)
    return text if tag is None else _tagged(text, tag, kind, where)


def _tagged(text: str, tag: str, kind: SqlType, where: str) -> ResultCell:
    try:
        _READERS[tag](text)
    except (ValueError, ArithmeticError):
        raise CellError(f"{where}: `{text[:40]}` is no {kind.raw}") from None
    return {"type": tag, "value": text}


def _tabular(items: Iterator[JsonValue]) -> tuple[tuple[str, ...] | None, list[tuple[ResultCell, ...]]]:
    """Rows written as arrays, or as objects that all have the same keys."""
    names: tuple[str, ...] | None = None
    rows: list[tuple[ResultCell, ...]] = []
    for number, item in enumerate(items, start=1):
        if isinstance(item, dict) and (names is not None or not rows):
            names = names if names is not None else tuple(item)
            if set(item) != set(names):
                raise CellError(f"row {number} has the keys {', '.join(item)}, the first has {', '.join(names)}")
            rows.append(tuple(item[name] for name in names))
        elif isinstance(item, list) and names is None:
            rows.append(tuple(item))
        else:
            raise CellError(f"row {number} is no array or object like the first")
        if len(rows) > MAX_EXPECTED_ROWS:
            break
    return names, rows


def _said(error: ValidationError, what: str) -> str:
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{what}: {f'{place}: ' if place else ''}{first['msg']}"
