"""The reference matcher: does a filter match a document? Every operator's docstring names the documented rule.

A path selects *candidates* in a document (`candidates`): what stands at its end, and where that is an array, its
elements as well as the array itself. An operator matches a path when it holds for one candidate (manual: "Query an
Array"); `$size`, `$elemMatch` ask the array alone. `$ne`, `$nin`, `$not` and `$nor` are complements: they match
exactly where the positive form does not.
"""

import re
from collections.abc import Callable, Sequence

from bson import Decimal128, Int64, MaxKey, MinKey, Regex

from canon.errors import ReadError
from canon.mongo.expressions import evaluate, truthy
from canon.mongo.values import (
    MISSING,
    Document,
    bracket,
    compare,
    equal,
    flag_letters,
    is_nan,
    number,
)

Filter = Document

ORDERINGS: dict[str, Callable[[int], bool]] = {
    "$gt": lambda sign: sign > 0,
    "$gte": lambda sign: sign >= 0,
    "$lt": lambda sign: sign < 0,
    "$lte": lambda sign: sign <= 0,
}

TYPE_CODES: dict[int, str] = {
    1: "double",
    2: "string",
    3: "object",
    4: "array",
    5: "binData",
    6: "undefined",
    7: "objectId",
    8: "bool",
    9: "date",
    10: "null",
    11: "regex",
    12: "dbPointer",
    13: "javascript",
    14: "symbol",
    16: "int",
    17: "timestamp",
    18: "long",
    19: "decimal",
    -1: "minKey",
    127: "maxKey",
}
"""The type numbers of `$type`, by the manual's table of BSON types."""

_TYPE_NAMES: dict[str, str] = {
    "string": "string",
    "object": "object",
    "array": "array",
    "binary": "binData",
    "objectid": "objectId",
    "boolean": "bool",
    "date": "date",
    "null": "null",
    "regex": "regex",
    "timestamp": "timestamp",
    "minkey": "minKey",
    "maxkey": "maxKey",
    "code": "javascript",
    "dbref": "object",
    "missing": "missing",
}


def matches(condition: Filter, document: Document) -> bool:
    """Whether a filter matches a document.

    Raises:
        ReadError: `unparseable` where MongoDB refuses the filter, `unsupported` where an operator (text, geo,
        `$jsonSchema`,
            a regular expression that is not evaluated here) cannot be evaluated without a server.
    """
    return all(_clause(key, value, document) for key, value in condition.items())


def _clause(key: str, value: object, document: Document) -> bool:
    if not key.startswith("$"):
        return _path(key, value, document)
    match key:
        case "$and":
            return all(matches(member, document) for member in members(key, value))
        case "$or":
            return any(matches(member, document) for member in members(key, value))
        case "$nor":
            return not any(matches(member, document) for member in members(key, value))
        case "$expr":
            return truthy(evaluate(value, document))
        case "$comment":
            return True
        case "$alwaysTrue" | "$alwaysFalse":
            return key == "$alwaysTrue"
        case _:
            raise ReadError("unsupported", f"{key} is not evaluated without a server")


def members(key: str, value: object) -> list[Filter]:
    """The members of `$and`, `$or`, `$nor` or `$all`'s kin.

    Raises:
        ReadError: the value is no list with at least one document.
    """
    if not isinstance(value, list) or not value:
        raise ReadError("unparseable", f"{key} takes a list with at least one condition")
    found: list[Filter] = []
    for member in value:
        if not isinstance(member, dict):
            raise ReadError("unparseable", f"{key} takes conditions, not {member!r:.60}")
        found.append(member)
    return found


# -- paths ------------------------------------------------------------------------------------------------------------


def candidates(document: Document, path: str, *, leaf: bool = True) -> list[object]:
    """What a path selects in a document (manual: "Query an Array of Embedded Documents").

    A field that is not there, or whose parent is a scalar, is one `MISSING`. On the way, an array stands for each of
    its documents, and a numeric part also for the element at that place; elements that are no documents select
    nothing, so that `a.b` selects nothing at all in `{a: []}` and `{a: [1]}`. An array at the end gives its elements,
    then itself; one that a numeric part has picked is not opened again.

    Args:
        document: the document.
        path: field names joined by dots.
        leaf: whether an array at the end is opened.
    """
    found: list[object] = []
    _select(document, path.split("."), leaf, found)
    return found


def _select(document: Document, parts: Sequence[str], leaf: bool, found: list[object]) -> None:
    value: object = document
    for place, part in enumerate(parts):
        if not isinstance(value, dict) or part not in value:
            found.append(MISSING)
            return
        value = value[part]
        if isinstance(value, list):
            rest = parts[place + 1 :]
            if rest:
                _select_within(value, rest, leaf, found)
            else:
                if leaf:
                    found.extend(value)
                found.append(value)
            return
    found.append(value)


def _select_within(array: list[object], rest: Sequence[str], leaf: bool, found: list[object]) -> None:
    head = rest[0]
    index = int(head) if head.isascii() and head.isdigit() and (head == "0" or head[0] != "0") else None
    for place, element in enumerate(array):
        if isinstance(element, dict):
            _select(element, rest, leaf, found)
        if place != index:
            continue
        if len(rest) == 1:
            found.append(element)
        elif isinstance(element, dict):
            _select(element, rest[1:], leaf, found)
        elif isinstance(element, list):
            _select_within(element, rest[1:], leaf, found)


def _path(path: str, condition: object, document: Document) -> bool:
    if isinstance(condition, dict) and is_operators(condition):
        return all(
            _operator(path, key, argument, condition, document)
            for key, argument in condition.items()
            if key != "$options"
        )
    key = "$regex" if isinstance(condition, Regex) else "$eq"
    return _operator(path, key, condition, {}, document)


def is_operators(condition: Document) -> bool:
    """Whether a document under a path is operators, and not a subdocument to be equal to.

    Raises:
        ReadError: it mixes the two.
    """
    if not condition:
        return False
    operators = [key[:1] == "$" for key in condition]
    if not operators[0] or "$ref" in condition or "$id" in condition:
        return False
    if not all(operators):
        raise ReadError("unparseable", f"operators and fields are mixed in {condition!r:.80}")
    return True


def _operator(path: str, key: str, argument: object, siblings: Document, document: Document) -> bool:
    match key:
        case "$ne":
            if isinstance(argument, Regex):
                raise ReadError("unparseable", "$ne takes no regular expression; use $not")
            return not _operator(path, "$eq", argument, {}, document)
        case "$nin":
            return not _operator(path, "$in", argument, {}, document)
        case "$not":
            return not _path(path, negated(argument), document)
        case "$all":
            return bool(_listed(key, argument)) and all(
                _path(path, member, document) if _is_element_match(member) else _equality(path, member, document)
                for member in _listed(key, argument)
            )
        case "$exists":
            found = any(value is not MISSING for value in candidates(document, path, leaf=False))
            return found == truthy(argument)
        case "$size" | "$elemMatch":
            values = candidates(document, path, leaf=False)
            return any(holds(key, argument, value) for value in values)
        case _:
            return any(holds(key, argument, value, siblings) for value in candidates(document, path))


def negated(argument: object) -> object:
    """The condition under `$not`: operators, or a regular expression.

    Raises:
        ReadError: it is neither.
    """
    if isinstance(argument, Regex) or (isinstance(argument, dict) and argument and is_operators(argument)):
        return argument
    raise ReadError("unparseable", "$not takes operators or a regular expression; for a value, use $ne")


def _is_element_match(member: object) -> bool:
    return isinstance(member, dict) and "$elemMatch" in member


def _equality(path: str, member: object, document: Document) -> bool:
    key = "$regex" if isinstance(member, Regex) else "$eq"
    return _operator(path, key, member, {}, document)


def _listed(key: str, argument: object) -> list[object]:
    if not isinstance(argument, list):
        raise ReadError("unparseable", f"{key} takes a list, not {argument!r:.60}")
    return argument


# -- operators on one value -------------------------------------------------------------------------------------------


def holds(key: str, argument: object, value: object, siblings: Document | None = None) -> bool:
    """Whether an operator holds for one value (manual: "Query and Projection Operators").

    Args:
        key: the operator.
        argument: what it is given.
        value: the value, or `MISSING`.
        siblings: the operators written beside it (`$options` beside `$regex`).

    Raises:
        ReadError: MongoDB refuses the operator's argument, or the operator cannot be evaluated without a server.
    """
    operator = _OPERATORS.get(key)
    if operator is None:
        raise ReadError("unsupported", f"{key} is not evaluated without a server")
    if key == "$regex" and siblings and "$options" in siblings:
        return _regex(compiled_pattern(argument, siblings["$options"]), value)
    return operator(argument, value)


def _eq(argument: object, value: object) -> bool:
    """`$eq`: equal in the BSON order; null equals a missing field too; subdocuments and arrays as a whole, in order."""
    if value is MISSING:
        return argument is None
    return equal(argument, value)


def _ordered(key: str) -> Callable[[object, object], bool]:
    """`$gt`, `$gte`, `$lt`, `$lte`: within the type bracket of the argument only; NaN is only `>=` and `<=` itself."""
    accepts = ORDERINGS[key]

    def operator(argument: object, value: object) -> bool:
        if isinstance(argument, Regex):
            raise ReadError("unparseable", f"{key} takes no regular expression")
        if value is MISSING and argument is None:
            return accepts(0)
        if isinstance(argument, MinKey | MaxKey):
            return value is not MISSING and accepts(compare(value, argument))
        if bracket(argument) != bracket(value):
            return False
        if is_nan(argument) or is_nan(value):
            return key in ("$gte", "$lte") and is_nan(argument) and is_nan(value)
        return accepts(compare(value, argument))

    return operator


def _in(argument: object, value: object) -> bool:
    """`$in`: equal to one member, or matched by a member that is a regular expression."""
    return any(
        _regex(member, value) if isinstance(member, Regex) else _eq(member, value)
        for member in _listed("$in", argument)
    )


def _ne(argument: object, value: object) -> bool:
    return not _eq(argument, value)


def _nin(argument: object, value: object) -> bool:
    return not _in(argument, value)


def _not(argument: object, value: object) -> bool:
    """`$not` of operators on an element of `$elemMatch`: where not all of them hold."""
    return not element_holds(negated(argument), value)


def _exists(argument: object, value: object) -> bool:
    return (value is not MISSING) == truthy(argument)


def _size(argument: object, value: object) -> bool:
    """`$size`: an array with exactly so many elements."""
    size = size_argument(argument)
    return isinstance(value, list) and len(value) == size


def size_argument(argument: object) -> int:
    """The number that `$size` asks for.

    Raises:
        ReadError: it is no whole number, or negative.
    """
    if isinstance(argument, Decimal128):
        argument = float(argument.to_decimal())
    if isinstance(argument, bool) or not isinstance(argument, int | float) or argument != int(argument) or argument < 0:
        raise ReadError("unparseable", f"$size takes a whole number, not {argument!r:.60}")
    return int(argument)


def _mod(argument: object, value: object) -> bool:
    """`$mod`: the remainder of the value, truncated towards zero; it has the sign of the value."""
    divisor, remainder = mod_arguments(argument)
    if bracket(value) != "number" or is_nan(value):
        return False
    plain = number(value)
    if plain in (float("inf"), float("-inf")):
        return False
    whole = int(plain)
    left = abs(whole) % abs(divisor)
    return (left if whole >= 0 else -left) == remainder


def mod_arguments(argument: object) -> tuple[int, int]:
    """Divisor and remainder of `$mod`.

    Raises:
        ReadError: they are not two numbers, or the divisor is zero.
    """
    pair = _listed("$mod", argument)
    numbers: list[int] = []
    for part in pair:
        if bracket(part) != "number" or is_nan(part):
            raise ReadError("unparseable", f"$mod takes numbers, not {part!r:.60}")
        numbers.append(int(number(part)))
    if len(numbers) != 2 or numbers[0] == 0:
        raise ReadError("unparseable", "$mod takes a divisor other than 0 and a remainder")
    return numbers[0], numbers[1]


def type_names(argument: object) -> frozenset[str]:
    """The types that `$type` asks for, by name; `number` stands for the four numeric ones.

    Raises:
        ReadError: there is no such type.
    """
    found: set[str] = set()
    for part in argument if isinstance(argument, list) else [argument]:
        name = TYPE_CODES.get(int(part)) if isinstance(part, int | float) and not isinstance(part, bool) else part
        if name == "number":
            found |= {"int", "long", "double", "decimal"}
        elif isinstance(name, str) and (name in TYPE_CODES.values() or name == "javascriptWithScope"):
            found.add(name)
        else:
            raise ReadError("unparseable", f"$type knows no type {part!r:.60}")
    if not found:
        raise ReadError("unparseable", "$type takes at least one type")
    return frozenset(found)


def type_name(value: object) -> str:
    """The BSON type of a value, as `$type` names it."""
    if bracket(value) != "number":
        return _TYPE_NAMES[bracket(value)]
    if isinstance(value, Decimal128):
        return "decimal"
    if isinstance(value, float):
        return "double"
    assert isinstance(value, int)
    return "long" if isinstance(value, Int64) or not -(2**31) <= value < 2**31 else "int"


def _type(argument: object, value: object) -> bool:
    """`$type`: the value is of one of the types; of an array, also where an element is (manual: "$type", Arrays)."""
    return type_name(value) in type_names(argument)


def compiled_pattern(pattern: object, options: object) -> "Regex[str]":
    """The regular expression of `$regex` with `$options`, which replace the flags of a literal.

    Raises:
        ReadError: it is none.
    """
    if isinstance(pattern, Regex):
        pattern = pattern.pattern
    if not isinstance(pattern, str) or not isinstance(options, str) or set(options) - set("imsxu"):
        raise ReadError("unparseable", "$regex takes a pattern, $options letters out of imsx")
    bits = {"i": re.I, "m": re.M, "s": re.S, "x": re.X, "u": re.U}
    total = 0
    for letter in options:
        total |= int(bits[letter])
    return Regex(pattern, total)


_DANGEROUS = re.compile(r"[+*}]\)?[+*{]|\)[+*{]|\(\?|\\[1-9kgGKRXpPNQEAzZbBhHvV]|\[\[:|\(\*")
_LONGEST_PATTERN = 200
_LONGEST_SUBJECT = 400


def _regex(argument: object, value: object) -> bool:
    """`$regex` and a regular expression as condition: a string that it is found in, or an equal regular expression."""
    pattern = argument if isinstance(argument, Regex) else compiled_pattern(argument, "")
    if isinstance(value, Regex):
        return equal(pattern, value)
    return isinstance(value, str) and search(pattern, value)


def search(pattern: "Regex[str]", subject: str) -> bool:
    """Whether a regular expression is found in a string, for patterns that Python reads as PCRE2 does, and soon.

    Raises:
        ReadError: `unsupported` for others: repeated groups, look-around, back references, anything long.
    """
    source = str(pattern.pattern)
    if _DANGEROUS.search(source) or len(source) > _LONGEST_PATTERN or len(subject) > _LONGEST_SUBJECT:
        raise ReadError("unsupported", f"the regular expression /{source[:40]}/ is not evaluated without a server")
    letters = flag_letters(pattern)
    if set(letters) - set("ims") or len(re.findall(r"[*+}]", source)) > 4:
        raise ReadError(
            "unsupported", f"the regular expression /{source[:40]}/{letters} is not evaluated without a server"
        )
    flags = re.ASCII
    for letter, bit in (("i", re.I), ("m", re.M), ("s", re.S)):
        flags |= bit if letter in letters else 0
    if not source.isascii():
        flags = (flags & ~re.ASCII) | re.UNICODE
    try:
        return re.search(source, subject, flags) is not None
    except (re.error, RecursionError, OverflowError) as error:
        raise ReadError(
            "unsupported", f"the regular expression /{source[:40]}/ is not readable here: {error}"
        ) from None


def element_match_form(argument: object) -> bool:
    """Whether an `$elemMatch` puts operators to the elements themselves, and not a filter to element documents.

    Raises:
        ReadError: the argument is no document.
    """
    if not isinstance(argument, dict):
        raise ReadError("unparseable", f"$elemMatch takes a document, not {argument!r:.60}")
    if not argument:
        return False
    first = next(iter(argument))
    return first[:1] == "$" and first not in ("$and", "$or", "$nor", "$expr", "$comment") and is_operators(argument)


def _element_match(argument: object, value: object) -> bool:
    """`$elemMatch`: an array with one element for which all hold; an array within is a document by index."""
    by_value = element_match_form(argument)
    if not isinstance(value, list):
        return False
    if by_value:
        return any(element_holds(argument, element) for element in value)
    assert isinstance(argument, dict)
    return any(matches(argument, as_document(element)) for element in value if isinstance(element, dict | list))


def as_document(element: Document | list[object]) -> Document:
    """An element as `$elemMatch` takes it: an array within the array is a document keyed by index."""
    return element if isinstance(element, dict) else {str(place): item for place, item in enumerate(element)}


def element_holds(condition: object, element: object) -> bool:
    """Whether operators (or a regular expression) hold for one element, which is not opened where it is an array."""
    if isinstance(condition, Regex):
        return _regex(condition, element)
    assert isinstance(condition, dict)
    return all(
        _element_operator(key, argument, element, condition) for key, argument in condition.items() if key != "$options"
    )


def _element_operator(key: str, argument: object, element: object, condition: Document) -> bool:
    if key == "$all":
        listed = _listed(key, argument)
        return bool(listed) and all(_in([member], element) for member in listed)
    return holds(key, argument, element, condition)


_OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "$eq": _eq,
    "$ne": _ne,
    "$gt": _ordered("$gt"),
    "$gte": _ordered("$gte"),
    "$lt": _ordered("$lt"),
    "$lte": _ordered("$lte"),
    "$in": _in,
    "$nin": _nin,
    "$not": _not,
    "$exists": _exists,
    "$size": _size,
    "$mod": _mod,
    "$type": _type,
    "$regex": _regex,
    "$elemMatch": _element_match,
}
