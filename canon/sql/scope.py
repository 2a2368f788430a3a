"""Resolves names to (source, column): innermost scope first, by the dialect's case and quoting rules."""

from typing import NamedTuple

from sqlglot import exp

from canon.sql.algebra import Expr, Source, col, lit
from canon.sql.context import Context


class Item(NamedTuple):
    """A named item of FROM.

    Attributes:
        alias: the folded name by which columns are qualified.
        source: the source.
        columns: its columns by folded name, in order; `None` where they are not known.
        starred: for each column of a derived source, whether it came in by a star over a table.
    """

    alias: str
    source: Source
    columns: dict[str, str | int] | None
    starred: dict[str, bool]


class Scope:
    """The names that one SELECT can see.

    Attributes:
        items: the items of FROM, in textual order.
        parent: the enclosing scope, for correlated names.
        aliases: the output names of the SELECT with their expressions, folded.
        merged: columns that USING or NATURAL made one, folded, with what stands for them.
        ctes: the WITH queries in reach, by folded name.
        reads_aliases: whether a name that is no column may be an output name here.
        aliases_first: whether an output name beats a column here (ORDER BY).
    """

    def __init__(self, ctx: Context, parent: "Scope | None", ctes: dict[str, "Cte"]) -> None:
        self.ctx = ctx
        self.parent = parent
        self.ctes = ctes
        self.items: list[Item] = []
        self.aliases: dict[str, Expr] = {}
        self.merged: dict[str, Expr] = {}
        self.windows: dict[str, exp.Window] = {}
        self.reads_aliases = False
        self.aliases_first = False

    def fold(self, identifier: exp.Expr) -> str:
        """The name as it is matched: folded as the dialect folds it, then without case where it has none."""
        text = identifier.name
        rule = self.ctx.dialect.fold
        if rule == "insensitive":
            return text.lower()
        if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted"):
            return text
        return text.lower() if rule == "lower" else text.upper()

    def column(self, node: exp.Column) -> Expr:
        """Resolve a column reference."""
        name = node.this
        folded = self.fold(name)
        table = node.args.get("table")
        if table is not None:
            return self._qualified(self.fold(table), folded, node)
        if self.aliases_first and folded in self.aliases:
            self.ctx.used.add("output-alias")
            return self.aliases[folded]
        scope: Scope | None = self
        while scope is not None:
            found = scope._own(folded, innermost=scope is self)
            if found is not None:
                return found
            if scope.reads_aliases and folded in scope.aliases:
                self.ctx.used.add("output-alias")
                return scope.aliases[folded]
            scope = scope.parent
        return self._nowhere(node, folded)

    def _own(self, folded: str, *, innermost: bool) -> Expr | None:
        if folded in self.merged:
            return self.merged[folded]
        matches = [item for item in self.items if item.columns is not None and self._has(item, folded)]
        if matches:
            item = matches[0]
            return col(item.source.sid, self._get(item, folded))
        unknown = [item for item in self.items if item.columns is None]
        if not unknown:
            return None
        if len(unknown) > 1 or self._outer_unknown():
            self.ctx.loose = True
        if len(unknown) > 1 and len({item.alias for item in unknown}) > 1:
            return Expr("col", (-1, folded), ())
        return col(unknown[0].source.sid, folded)

    def _outer_unknown(self) -> bool:
        scope = self.parent
        while scope is not None:
            if any(item.columns is None for item in scope.items):
                return True
            scope = scope.parent
        return False

    def _has(self, item: Item, folded: str) -> bool:
        return item.columns is not None and (folded in item.columns or self._caseless(item, folded) is not None)

    def _get(self, item: Item, folded: str) -> str | int:
        columns = item.columns or {}
        return columns[folded if folded in columns else self._caseless(item, folded) or folded]

    def _caseless(self, item: Item, folded: str) -> str | None:
        """A column that differs only by case: schemas written for another dialect are common."""
        if self.ctx.dialect.fold == "insensitive":
            return None
        near = [name for name in item.columns or () if name.lower() == folded.lower()]
        return near[0] if len(near) == 1 else None

    def _qualified(self, table: str, folded: str, node: exp.Column) -> Expr:
        scope: Scope | None = self
        while scope is not None:
            for item in scope.items:
                if item.alias == table:
                    if item.columns is None:
                        return col(item.source.sid, folded)
                    if self._has(item, folded):
                        return col(item.source.sid, self._get(item, folded))
            scope = scope.parent
        self.ctx.loose = True
        return Expr("col", (-1, f"{table}.{folded}"), ())

    def _nowhere(self, node: exp.Column, folded: str) -> Expr:
        identifier = node.this
        quoted = isinstance(identifier, exp.Identifier) and identifier.args.get("quoted")
        if quoted and self.ctx.dialect.quotes == "fallback" and self.ctx.schema is not None:
            self.ctx.used.add("quoted-string")
            return lit("str", identifier.name)
        self.ctx.loose = True
        return Expr("col", (-1, folded), ())


class Cte(NamedTuple):
    """A WITH query: its tree, the names given to its columns, and the WITH queries that it can itself see."""

    tree: exp.Expr
    columns: tuple[str, ...]
    ctes: "dict[str, Cte]"
    recursive: bool
