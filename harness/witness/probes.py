"""A query made ready to be run: as written, and so that its free choices show (ties, LIMIT without order)."""

from dataclasses import dataclass

from sqlglot import exp

from harness.witness.results import ResultRow

SHUFFLE = "RUNG_SHUFFLE"
_POSITIONAL = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.NthValue)


@dataclass(frozen=True)
class Probe:
    """A query in the text of an engine.

    Attributes:
        plain: the query itself.
        open: the query with its outer LIMIT lifted, its sort keys returned, and ties broken by `SHUFFLE()` inside.
        keys: positions of the sort keys in the result of `open`.
        added: number of sort keys that were added at the end.
        ordered: whether the query asks for an order.
        limit: the outer LIMIT.
        offset: the outer OFFSET.
    """

    plain: str
    open: str
    keys: tuple[int, ...] = ()
    added: int = 0
    ordered: bool = False
    limit: int | None = None
    offset: int = 0

    def split(self, rows: tuple[ResultRow, ...]) -> tuple[list[ResultRow], list[ResultRow] | None]:
        """Part the rows of `open` into the query's own rows and their sort keys."""
        own = [row[: len(row) - self.added] for row in rows] if self.added else list(rows)
        if not self.ordered:
            return own, None
        return own, [tuple(row[key] for key in self.keys) for row in rows]


def probe_of(tree: exp.Expr, plain: str, dialect: str) -> Probe:
    """Prepare a query.

    Args:
        tree: the query, in the engine's dialect; not changed.
        plain: the text of the query that is run as it is.
        dialect: the engine's dialect.
    """
    opened = tree.copy()
    ordered = _order(opened) is not None
    limit, offset, lifted = _lift(opened)
    keys, added = _expose(opened) if ordered else ((), 0)
    for query in opened.find_all(exp.Query):
        if query is not opened and (query.args.get("limit") is not None or query.args.get("offset") is not None):
            _shuffle_ties(query)
    # DuckDB and PostgreSQL number ties by the order of storage, which is shuffled; they take no chance in a window.
    for window in opened.find_all(exp.Window) if dialect == "sqlite" else ():
        if isinstance(window.this, _POSITIONAL) and (order := window.args.get("order")) is not None:
            order.append("expressions", _call())
    if not lifted:
        _shuffle_ties(opened)
    # Where the sort keys cannot be returned beside the rows, only what holds for every order is said.
    return Probe(plain, opened.sql(dialect=dialect), keys or (), added, ordered and keys is not None, limit, offset)


def _order(tree: exp.Expr) -> exp.Order | None:
    order = tree.args.get("order")
    return order if isinstance(order, exp.Order) else None


def _lift(tree: exp.Expr) -> tuple[int | None, int, bool]:
    """Take LIMIT and OFFSET off, where they are plain numbers."""
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    numbers: list[int | None] = []
    for clause in (limit, offset):
        value = None
        if clause is not None:
            node = clause.args.get("expression") or clause.args.get("count")
            if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
                value = -1
            elif isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
                value = int(node.this)
            else:
                return None, 0, False
        numbers.append(value)
    tree.set("limit", None)
    tree.set("offset", None)
    return numbers[0], numbers[1] or 0, True


def _expose(tree: exp.Expr) -> tuple[tuple[int, ...] | None, int]:
    """Return the sort keys as columns: where they are already, or added at the end."""
    order = _order(tree)
    if order is None:
        return (), 0
    head = tree
    while isinstance(head, exp.SetOperation):
        head = head.this.unnest() if isinstance(head.this, exp.Subquery) else head.this
    if not isinstance(head, exp.Select):
        return None, 0
    starred = any(item.is_star for item in head.expressions)
    simple = isinstance(tree, exp.Select) and not tree.args.get("distinct")
    keys: list[int] = []
    added: list[exp.Expr] = []
    for item in order.expressions:
        place = None if starred else _place(item.this, head)
        if place is not None:
            keys.append(place)
        elif simple and not _names_output(item.this, head):
            added.append(item.this)
            keys.append(-len(added))
        else:
            return None, 0
    for number, key in enumerate(added):
        head.append("expressions", exp.alias_(key.copy(), f"rung_key_{number}"))
    return tuple(key if key >= 0 else key_from_end(key, len(added)) for key in keys), len(added)


def key_from_end(key: int, added: int) -> int:
    """The position, counted from the end, of the added key number `-key`."""
    return -(added + key + 1)


def _place(key: exp.Expr, head: exp.Select) -> int | None:
    """The output column that a sort key is: by number, by name, or as the same expression."""
    if isinstance(key, exp.Literal) and not key.is_string and str(key.this).isdigit():
        number = int(key.this)
        return number - 1 if 0 < number <= len(head.expressions) else None
    if isinstance(key, exp.Column) and not key.table:
        for index, item in enumerate(head.expressions):
            if item.alias_or_name.lower() == key.name.lower():
                return index
    for index, item in enumerate(head.expressions):
        if item.unalias() == key:
            return index
    return None


def _names_output(key: exp.Expr, head: exp.Select) -> bool:
    """Whether an expression is built on an output's alias, which cannot be returned beside itself."""
    aliases = {item.alias.lower() for item in head.expressions if item.alias}
    return any(not column.table and column.name.lower() in aliases for column in key.find_all(exp.Column))


def _call() -> exp.Ordered:
    return exp.Ordered(this=exp.Anonymous(this=SHUFFLE, expressions=[]), nulls_first=True)


def _shuffle_ties(query: exp.Expr) -> None:
    """Let an inner LIMIT choose among ties at random."""
    if not isinstance(query, exp.Select) or query.args.get("distinct"):
        return
    order = _order(query)
    if order is not None:
        order.append("expressions", _call())
    else:
        query.set("order", exp.Order(expressions=[_call()]))
