"""What is known of a path's values: the types that a vocabulary declares."""

from collections.abc import Mapping
from typing import Literal, get_args

from canon.verdict import Frozen

FieldType = Literal[
    "string",
    "number",
    "integer",
    "boolean",
    "date",
    "objectid",
    "enum",
    "array",
    "object",
    "any",
]
"""The types that a path can be declared with; `any` = not declared."""

SYNONYMS: dict[str, FieldType] = {
    "text": "string",
    "str": "string",
    "int": "integer",
    "long": "integer",
    "double": "number",
    "decimal": "number",
    "float": "number",
    "bool": "boolean",
    "datetime": "date",
    "timestamp": "date",
    "oid": "objectid",
    "object_id": "objectid",
    "elemmatch": "array",
    "list": "array",
    "document": "object",
}


class Field(Frozen):
    """The values that a path can hold.

    Attributes:
        type: the declared type.
        item: for an array, the type of its elements.
        values: for an enum, its closed set of values.
        nullable: whether the field may be null or missing, as any field of a document may unless said otherwise.
    """

    type: FieldType = "any"
    item: FieldType = "any"
    values: tuple[str, ...] = ()
    nullable: bool = True

    @property
    def scalar(self) -> bool:
        """Whether a value is never an array and never a document."""
        return self.type not in ("array", "object", "any")


def field_of(declared: "Field | str") -> Field:
    """Read a declaration: a `Field`, or a type's name; `array<string>` and `string[]` give the elements' type.

    Raises:
        ValueError: the name is none of the known types.
    """
    if isinstance(declared, Field):
        return declared
    name = declared.strip().lower()
    if name.endswith("[]"):
        return Field(type="array", item=_type(name[:-2], declared))
    if name.startswith(("array<", "array(")) and name[-1] in ">)":
        return Field(type="array", item=_type(name[6:-1], declared))
    return Field(type=_type(name, declared))


def _type(name: str, declared: str) -> FieldType:
    name = name.strip()
    for known in get_args(FieldType):
        if known == name:
            found: FieldType = known
            return found
    if name in SYNONYMS:
        return SYNONYMS[name]
    raise ValueError(f"{declared!r} is no field type; use one of {', '.join(get_args(FieldType))}")


def read_fields(declared: "Mapping[str, Field | str] | None") -> dict[str, Field]:
    """Read declarations by path; see `field_of`."""
    return {path: field_of(field) for path, field in (declared or {}).items()}
