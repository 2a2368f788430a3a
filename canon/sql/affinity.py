"""Which terms make SQLite convert the other side of a comparison (https://sqlite.org/datatype3.html, 3.2 and 4.2).

A column and a CAST have an affinity, and so has an output of a derived table that is one of them. Any other expression
has none, even one whose value is always that of a column: `COALESCE(s, '') = 5` compares a text with a number, `s = 5`
compares two texts. Such a term is marked where it meets the other class, and the mark stays on whatever it is rewritten
to.
"""

from canon.schema import ColumnType
from canon.sql.algebra import Block, Expr
from canon.sql.context import Context

_BARE = ("bare",)


def converts(term: Expr, ctx: Context) -> bool:
    """Whether a term has an affinity."""
    if term.op == "cast":
        return True
    if term.op == "scalar":
        rel = term.value
        return isinstance(rel, Block) and len(rel.select) == 1 and converts(rel.select[0], ctx)
    if term.op != "col":
        return False
    source, name = term.value
    outputs = None if isinstance(name, str) else ctx.outputs.get(source)
    return outputs is None or name >= len(outputs) or outputs[name].converts


def is_bare(term: Expr) -> bool:
    """Whether the term is marked as one that converts nothing."""
    return term.op == "func" and term.value == _BARE


def bare(term: Expr) -> Expr:
    """The term, marked as one that converts nothing."""
    return term if is_bare(term) else Expr("func", _BARE, (term,))


def as_compared(term: Expr, kind: ColumnType, other: Expr, other_kind: ColumnType, ctx: Context) -> Expr:
    """A term as it stands in a comparison with another: marked where SQLite compares across classes unconverted."""
    if ctx.dialect.coerces != "affinity" or term.op == "lit" or converts(term, ctx):
        return term
    if _class(term, kind) == _class(other, other_kind) != "unknown":
        return term.args[0] if is_bare(term) else term
    return bare(term)


def _class(term: Expr, kind: ColumnType) -> str:
    if term.op == "lit":
        return "text" if term.value[0] == "str" else "number"
    if kind in {"integer", "real", "decimal", "boolean"}:
        return "number"
    return "text" if kind == "text" else "unknown"
