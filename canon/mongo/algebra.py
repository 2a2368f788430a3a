"""Aggregation expressions as terms: read, brought to one spelling, shown, and with paths replaced by other terms.

A term is a tuple whose first member says its kind:

* `("lit", text, value)`: a constant;
* `("path", "a.b")`: the value at a path of the document that the stage reads;
* `("var", "this.x")`: a variable bound within the expression (`$$this.x`), or a system variable;
* `("op", "$add", (term, …))`: an operator; one that takes a document has one `rec` argument;
* `("rec", (("name", term), …))`: an object literal;  `("arr", (term, …))`: an array literal;
* `("missing",)`: no value (`$$REMOVE`, an excluded field).

Pipelines add `("slot", name)`, a value that a stage has made; `("get", term, "a.b")`, the value below a term; and
`("pick", term, paths)` and `("drop", term, paths)`, a subdocument reduced to some paths, or without them.
"""

from collections.abc import Callable, Iterator
from typing import Any

from canon.mongo.identities import Trace
from canon.mongo.values import text

Expression = tuple[Any, ...]

MISSING_TERM: Expression = ("missing",)

_COMMUTATIVE = frozenset({"$eq", "$ne", "$setUnion", "$setIntersection", "$setEquals"})
_COMMUTATIVE_PAIR = frozenset({"$add", "$multiply"})
_LOGIC = frozenset({"$and", "$or"})
_MIRROR = {"$gt": "$lt", "$gte": "$lte"}
_ONE_ARGUMENT_DATE = frozenset(
    {
        "$year",
        "$month",
        "$dayOfMonth",
        "$dayOfWeek",
        "$dayOfYear",
        "$hour",
        "$minute",
        "$second",
        "$millisecond",
        "$week",
        "$isoWeek",
        "$isoWeekYear",
        "$isoDayOfWeek",
    }
)


def literal(value: object) -> Expression:
    """A constant as a term."""
    return ("lit", text(value), value)


def read_expression(value: object, trace: Trace | None = None) -> Expression:
    """Read an expression as MongoDB writes it into a term, in one spelling."""
    return canonical_expression(_read(value), trace)


def _read(value: object) -> Expression:
    if isinstance(value, str):
        if value[:2] == "$$":
            return _variable(value[2:])
        return ("path", value[1:]) if value[:1] == "$" and len(value) > 1 else literal(value)
    if isinstance(value, list):
        return ("arr", tuple(_read(item) for item in value))
    if not isinstance(value, dict):
        return literal(value)
    if len(value) == 1 and next(iter(value))[:1] == "$":
        key, argument = next(iter(value.items()))
        return _operator(key, argument)
    return ("rec", tuple((key, _read(item)) for key, item in value.items()))


def _variable(name: str) -> Expression:
    if name == "REMOVE":
        return MISSING_TERM
    root, _, rest = name.partition(".")
    if root in ("ROOT", "CURRENT") and rest:
        return ("path", rest)
    return ("var", name)


def _operator(key: str, argument: object) -> Expression:
    if key == "$literal":
        return literal(argument)
    if key == "$cond" and isinstance(argument, list) and len(argument) == 3:
        argument = dict(zip(("if", "then", "else"), argument, strict=True))
    if key in _ONE_ARGUMENT_DATE and isinstance(argument, dict) and argument.keys() == {"date"}:
        argument = argument["date"]
    if isinstance(argument, list):
        return ("op", key, tuple(_read(item) for item in argument))
    if isinstance(argument, dict) and not (len(argument) == 1 and next(iter(argument))[:1] == "$"):
        names = sorted(argument) if key != "$mergeObjects" else list(argument)
        return ("op", key, (("rec", tuple((name, _read(argument[name])) for name in names)),))
    return ("op", key, (_read(argument),))


def canonical_expression(term: Expression, trace: Trace | None = None) -> Expression:
    """One spelling of a term: commuting arguments sorted, comparisons turned one way, logic flattened."""
    found = rebuilt(term, lambda part: canonical_expression(part, trace))
    if found[0] != "op":
        return found
    key, arguments = found[1], found[2]
    if key in _MIRROR and len(arguments) == 2:
        key, arguments = _MIRROR[key], (arguments[1], arguments[0])
        if trace is not None:
            trace.note("expression_mirror")
    if key in _LOGIC:
        flat: list[Expression] = []
        for argument in arguments:
            flat.extend(argument[2] if argument[:2] == ("op", key) else (argument,))
        arguments = tuple(sorted(dict.fromkeys(flat), key=show))
    elif key in _COMMUTATIVE or (key in _COMMUTATIVE_PAIR and len(arguments) == 2):
        arguments = tuple(sorted(arguments, key=show))
    elif key == "$in" and len(arguments) == 2 and arguments[1][0] == "arr":
        arguments = (arguments[0], ("arr", tuple(sorted(dict.fromkeys(arguments[1][1]), key=show))))
    done = ("op", key, arguments)
    if trace is not None and done != found:
        trace.note("expression_forms")
    return done


def rebuilt(term: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """A term with a change made to each direct part."""
    match term[0]:
        case "op":
            return ("op", term[1], tuple(change(part) for part in term[2]))
        case "arr":
            return ("arr", tuple(change(part) for part in term[1]))
        case "rec":
            return ("rec", tuple((name, change(part)) for name, part in term[1]))
        case "pick" | "drop" | "get":
            return (term[0], change(term[1]), term[2])
        case _:
            return term


def parts_of(term: Expression) -> Iterator[Expression]:
    """A term and all terms within it."""
    yield term
    match term[0]:
        case "op":
            inner = term[2]
        case "arr":
            inner = term[1]
        case "rec":
            inner = tuple(part for _, part in term[1])
        case "pick" | "drop" | "get":
            inner = (term[1],)
        case _:
            inner = ()
    for part in inner:
        yield from parts_of(part)


def paths_of(term: Expression) -> set[str]:
    """The paths that a term reads; `""` where it reads the whole document."""
    found = {part[1] for part in parts_of(term) if part[0] == "path"}
    if any(part[0] == "var" and part[1] in ("ROOT", "CURRENT") for part in parts_of(term)):
        found.add("")
    return found


def show(term: Expression) -> str:
    """A text that is equal exactly for equal terms."""
    match term[0]:
        case "lit":
            return str(term[1])
        case "path":
            return f"${term[1]}"
        case "var":
            return f"$${term[1]}"
        case "missing":
            return "$$REMOVE"
        case "slot":
            return str(term[1])
        case "get":
            return f"{show(term[1])}→{term[2]}"
        case "op":
            return f"{term[1]}({', '.join(map(show, term[2]))})"
        case "arr":
            return f"[{', '.join(map(show, term[1]))}]"
        case "rec":
            return "{" + ", ".join(f"{name}: {show(part)}" for name, part in term[1]) + "}"
        case _:
            return f"{term[0]}({show(term[1])}; {', '.join(term[2])})"


def written(term: Expression) -> object:
    """A term as MongoDB writes it."""
    match term[0]:
        case "lit":
            return {"$literal": term[2]}
        case "path":
            return f"${term[1]}"
        case "var":
            return f"$${term[1]}"
        case "missing":
            return "$$REMOVE"
        case "arr":
            return [written(part) for part in term[1]]
        case "rec":
            return {name: written(part) for name, part in term[1]}
        case "op":
            arguments = [written(part) for part in term[2]]
            return {term[1]: arguments[0] if len(arguments) == 1 and term[2][0][0] == "rec" else arguments}
        case _:
            raise ValueError(f"{term[0]} is no expression of MongoDB's")
