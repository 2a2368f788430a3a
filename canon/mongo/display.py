"""Parts of a query as the text a person writes, and documents as the JSON of a witness."""

import json
from datetime import datetime

from bson import Regex
from bson.json_util import RELAXED_JSON_OPTIONS, default
from pydantic import JsonValue

from canon.logic import forms
from canon.mongo.algebra import written
from canon.mongo.filters import Atom, Form, Literal
from canon.mongo.values import Document, date_text, text


def value_text(value: object) -> str:
    """A value in shell notation, shortened."""
    if isinstance(value, datetime):
        return f'ISODate("{date_text(value)}")'
    if isinstance(value, Regex):
        return text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        shown = [value_text(item) for item in value[:8]]
        return "[" + ", ".join(shown + ["…"] * (len(value) > 8)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)[:120].encode("utf-8", "replace").decode()
    return text(value)[:120]


def atom_text(atom: Atom) -> str:
    """An atom as a condition in shell notation."""
    path = ".".join(atom.path)
    match atom.operator:
        case "$expr":
            assert isinstance(atom.argument, tuple)
            return f"$expr: {_expression_text(written_or_key(atom))}"
        case "opaque":
            return f"{path} {value_text(atom.argument)}".strip()
        case "value" | "document":
            return f"{path}: {{$elemMatch: {form_text(atom.argument)}}}"
        case "$eq" | "$regex":
            return f"{path}: {value_text(atom.argument)}".removeprefix(": ")
        case _:
            return f"{path}: {{{atom.operator}: {value_text(atom.argument)}}}".removeprefix(": ")


def written_or_key(atom: Atom) -> object:
    """An expression atom as MongoDB writes it, or its text where it holds terms of a pipeline's own."""
    assert isinstance(atom.argument, tuple)
    try:
        return written(atom.argument)
    except ValueError:
        return atom.key.strip()


def _expression_text(value: object) -> str:
    if isinstance(value, dict) and list(value) == ["$literal"]:
        return value_text(value["$literal"])
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_expression_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_expression_text, value)) + "]"
    return value_text(value)


def form_text(form: object) -> str:
    """A form as a person reads it."""
    if isinstance(form, Literal):
        shown = atom_text(form.atom)
        return shown if form.positive else f"not ({shown})"
    if isinstance(form, forms.Junction):
        joint = " and " if form.kind == "and" else " or "
        parts = sorted(part_text(part) for part in form.parts)
        return joint.join(parts[:8] + ["…"] * (len(parts) > 8))
    assert isinstance(form, forms.Truth)
    return "everything" if form.value else "nothing"


def part_text(form: Form) -> str:
    """A part of a junction: in parentheses where it is one itself."""
    shown = form_text(form)
    return f"({shown})" if isinstance(form, forms.Junction) else shown


def document_json(document: Document) -> JsonValue:
    """A document as relaxed Extended JSON."""
    shown: JsonValue = json.loads(json.dumps(document, default=_relaxed))
    return shown


def _relaxed(value: object) -> object:
    return default(value, RELAXED_JSON_OPTIONS)
