"""Aggregation expressions on one document: the total BSON order, no type bracketing, no opening of arrays."""

from collections.abc import Callable, Mapping, Sequence

from canon.errors import ReadError
from canon.mongo.values import MISSING, Document, bracket, compare, equal, is_nan, number

Variables = Mapping[str, object]


def truthy(value: object) -> bool:
    """Whether a value counts as true: all but false, null, missing and zero."""
    kind = bracket(value)
    if kind == "number":
        return is_nan(value) or number(value) != 0
    return kind not in ("null", "missing") and value is not False


def look_up(value: object, parts: Sequence[str]) -> object:
    """The value of a field path; through an array, the array of what its documents have (manual: "Field Paths")."""
    for place, part in enumerate(parts):
        if isinstance(value, list):
            found = [look_up(item, parts[place:]) for item in value if isinstance(item, dict)]
            return [item for item in found if item is not MISSING]
        if not isinstance(value, dict) or part not in value:
            return MISSING
        value = value[part]
    return value


def evaluate(expression: object, document: Document, variables: Variables | None = None) -> object:
    """The value of an expression on a document; `MISSING` where it has none.

    Raises:
        ReadError: `unsupported` for operators that are not evaluated here, or arguments for which a server gives an
        error.
    """
    if isinstance(expression, str) and expression.startswith("$"):
        return _reference(expression, document, variables or {})
    if isinstance(expression, list):
        found = [evaluate(item, document, variables) for item in expression]
        return [None if item is MISSING else item for item in found]
    if not isinstance(expression, dict):
        return expression
    if not expression or not next(iter(expression)).startswith("$"):
        fields = {key: evaluate(item, document, variables) for key, item in expression.items()}
        return {key: item for key, item in fields.items() if item is not MISSING}
    if len(expression) != 1:
        raise ReadError("unparseable", f"an expression has one operator: {expression!r:.80}")
    key, argument = next(iter(expression.items()))
    return _operator(key, argument, document, variables or {})


def _reference(text: str, document: Document, variables: Variables) -> object:
    if not text.startswith("$$"):
        return look_up(document, text[1:].split("."))
    name, *rest = text[2:].split(".")
    if name in ("ROOT", "CURRENT"):
        return look_up(document, rest)
    if name == "REMOVE":
        return MISSING
    if name not in variables:
        raise ReadError("unsupported", f"the variable $${name} has no value here")
    return look_up(variables[name], rest)


def _operator(key: str, argument: object, document: Document, variables: Variables) -> object:
    if key == "$literal":
        return argument
    if key == "$cond":
        return _cond(argument, document, variables)
    operator = _OPERATORS.get(key)
    if operator is None:
        raise ReadError("unsupported", f"{key} is not evaluated without a server")
    listed = argument if isinstance(argument, list) else [argument]
    return operator([evaluate(item, document, variables) for item in listed])


def _cond(argument: object, document: Document, variables: Variables) -> object:
    if isinstance(argument, dict):
        argument = [argument.get("if"), argument.get("then"), argument.get("else")]
    if not isinstance(argument, list) or len(argument) != 3:
        raise ReadError("unparseable", "$cond takes if, then and else")
    test = truthy(evaluate(argument[0], document, variables))
    return evaluate(argument[1 if test else 2], document, variables)


def _pair(values: list[object], key: str) -> tuple[object, object]:
    if len(values) != 2:
        raise ReadError("unparseable", f"{key} takes two arguments, not {len(values)}")
    return values[0], values[1]


def _comparison(key: str, accepts: Callable[[int], bool]) -> Callable[[list[object]], object]:
    def operator(values: list[object]) -> object:
        left, right = _pair(values, key)
        return accepts(compare(left, right))

    return operator


def _in(values: list[object]) -> object:
    item, array = _pair(values, "$in")
    if not isinstance(array, list):
        raise ReadError("unsupported", "$in of an expression gives an error where its second argument is no array")
    return any(equal(item, member) for member in array)


def _if_null(values: list[object]) -> object:
    for value in values[:-1]:
        if value is not None and value is not MISSING:
            return value
    return values[-1]


def _size(values: list[object]) -> object:
    if len(values) != 1 or not isinstance(values[0], list):
        raise ReadError("unsupported", "$size of an expression gives an error where its argument is no array")
    return len(values[0])


def _arithmetic(key: str, compute: Callable[[int, int], int]) -> Callable[[list[object]], object]:
    def operator(values: list[object]) -> object:
        if any(value is None or value is MISSING for value in values):
            return None
        whole: list[int] = []
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int):
                raise ReadError("unsupported", f"{key} is evaluated on whole numbers only")
            whole.append(value)
        result = whole[0]
        for value in whole[1:]:
            result = compute(result, value)
        return result

    return operator


_OPERATORS: dict[str, Callable[[list[object]], object]] = {
    "$eq": _comparison("$eq", lambda sign: sign == 0),
    "$ne": _comparison("$ne", lambda sign: sign != 0),
    "$gt": _comparison("$gt", lambda sign: sign > 0),
    "$gte": _comparison("$gte", lambda sign: sign >= 0),
    "$lt": _comparison("$lt", lambda sign: sign < 0),
    "$lte": _comparison("$lte", lambda sign: sign <= 0),
    "$and": lambda values: all(truthy(value) for value in values),
    "$or": lambda values: any(truthy(value) for value in values),
    "$not": lambda values: not truthy(values[0]),
    "$in": _in,
    "$ifNull": _if_null,
    "$size": _size,
    "$isArray": lambda values: isinstance(values[0], list),
    "$add": _arithmetic("$add", lambda left, right: left + right),
    "$subtract": _arithmetic("$subtract", lambda left, right: left - right),
    "$multiply": _arithmetic("$multiply", lambda left, right: left * right),
}
