"""Decides whether two queries mean the same. Pure: no network, no files, no database, no clock of its own.

The public names are loaded when they are asked for, so that importing the package costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from canon.errors import ReadError
    from canon.mongo import compare_mongo, read_mongo
    from canon.rules import Rules
    from canon.schema import Schema
    from canon.sql import compare_sql, read_schema, read_sql
    from canon.verdict import (
        Canonical,
        Comparison,
        Difference,
        DocumentWitness,
        Identical,
        Problem,
        Proved,
        Refuted,
        RowWitness,
        Undecided,
    )

__all__ = [
    "Canonical",
    "Comparison",
    "Difference",
    "DocumentWitness",
    "Identical",
    "Problem",
    "Proved",
    "ReadError",
    "Refuted",
    "RowWitness",
    "Rules",
    "Schema",
    "Undecided",
    "compare_mongo",
    "compare_sql",
    "read_mongo",
    "read_schema",
    "read_sql",
]

_HOMES = {
    "ReadError": "errors",
    "Rules": "rules",
    "Schema": "schema",
    "compare_mongo": "mongo",
    "compare_sql": "sql",
    "read_mongo": "mongo",
    "read_schema": "sql",
    "read_sql": "sql",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'verdict')}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
