"""One message for each kind of difference, in the words of the person who wrote the golden file."""

from canon.verdict import Difference, DifferenceKind

TITLES: dict[DifferenceKind, str] = {
    "missing_predicate": "missing condition",
    "extra_predicate": "extra condition",
    "wrong_field": "wrong field",
    "wrong_operator": "wrong operator",
    "wrong_value": "wrong value",
    "bound_inclusivity": "bound inclusive instead of exclusive, or the reverse",
    "date_resolution": "date resolved differently",
    "boolean_structure": "conditions combined differently",
    "projection": "other columns returned",
    "sort_key": "other sort key",
    "sort_direction": "other sort direction",
    "limit": "other limit",
    "offset": "other offset",
    "grouping": "grouped differently",
    "having": "other condition on groups",
    "aggregate": "other aggregate",
    "source": "other table or collection",
    "join_kind": "other kind of join",
    "join_condition": "joined on another condition",
    "distinct": "duplicates kept instead of removed, or the reverse",
    "set_operation": "other set operation",
    "subquery": "other subquery",
    "window": "other window",
    "pipeline_stage": "other pipeline stage",
    "collation": "other collation",
    "parameters": "other bound parameters",
    "vacuous": "both are constant here (never or always true) for different reasons",
    "nondeterministic": "the result is not determined by the data",
}


def describe(difference: Difference) -> str:
    """Say a difference in one line: what, where, and both parts where there are both."""
    title = TITLES[difference.kind]
    about = f" on {difference.field}" if difference.field else ""
    head = f"{title}{about} ({difference.where})" if difference.where else f"{title}{about}"
    match (difference.expected, difference.actual):
        case (None, None):
            return head
        case (expected, None):
            return f"{head}: expected {expected}, the answer has none"
        case (None, actual):
            return f"{head}: the answer adds {actual}"
        case (expected, actual):
            return f"{head}: expected {expected}, got {actual}"
