"""One query that was read: its text, its algebra, its normal form, and what can be told of it."""

import hashlib
from datetime import datetime

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from canon.clock import utc
from canon.errors import ReadError
from canon.schema import Schema
from canon.sql.algebra import Block, Rel
from canon.sql.context import Arguments, BudgetError, Context
from canon.sql.ddl import read_schema
from canon.sql.dialects import dialect_of
from canon.sql.lowering import Lowering, Unsupported
from canon.sql.normal import normalise
from canon.sql.reader import parse_query
from canon.sql.rendering import canonical_text


class SqlQuery:
    """A query that was read.

    Attributes:
        text: as given.
        tables: the names of the tables that it reads, sorted.
        deterministic: whether the data alone determine its result (the pinned clock counted as data).
        nondeterminism: why not, `None` where they do.
        uses_clock: whether the text calls the clock.
        ordered: whether it has a top-level ORDER BY.
        limited: whether it has a top-level LIMIT, OFFSET, TOP or FETCH.
        starred: for each output, whether a star over a table brought it in.
    """

    def __init__(  # noqa: PLR0917  (both sides and what is known of them, always in this order)
        self,
        text: str,
        ctx: Context,
        rel: Rel | None,
        names: tuple[str, ...],
        starred: tuple[bool, ...],
        unsupported: str | None,
    ) -> None:
        self.text = text
        self.ctx = ctx
        self.rel = rel
        self.names = names
        self.starred = starred
        self.unsupported = unsupported
        self.tables = tuple(sorted(ctx.named))
        self.nondeterminism = ctx.nondeterministic
        self.deterministic = ctx.nondeterministic is None
        self.uses_clock = ctx.clock_calls
        self.ordered = rel is not None and bool(rel.order)
        self.limited = rel is not None and (rel.limit is not None or rel.offset is not None)
        self._normal: Rel | None = None

    def surface(self, *, any_column_order: bool = False) -> str:
        """The canonical text before any identity beyond the lowering: aliases, order of joins and conditions vanish."""
        if self.rel is None:
            return tokens_text(self.text, self.ctx.dialect.name)
        return canonical_text(self.rel, any_column_order=any_column_order)

    def normal(self) -> Rel | None:
        """The normal form, worked out once; `None` for a query that the algebra has no words for.

        Raises:
            BudgetError: the time ran out.
        """
        if self._normal is None and self.rel is not None:
            self._normal = self.rel if self.ctx.loose else normalise(self.rel, self.ctx)
        return self._normal

    def normal_text(self, *, any_column_order: bool = False) -> str:
        """The canonical text of the normal form."""
        rel = self.normal()
        return self.surface() if rel is None else canonical_text(rel, any_column_order=any_column_order)

    def fingerprint(self) -> str:
        """A digest of the normal form: the same for two texts that canon calls canonical, in every process."""
        try:
            form = self.normal_text()
        except (BudgetError, RecursionError):
            form = self.surface()
        stars = "".join("*" if star else "." for star in self.starred) if any(self.starred) else ""
        return hashlib.sha256(f"{self.ctx.dialect.name}|{stars}|{form}".encode()).hexdigest()[:32]


def read_sql(
    text: str,
    *,
    dialect: str,
    schema: Schema | str | None = None,
    args: Arguments = (),
    now: datetime | None = None,
    deadline: float | None = None,
) -> SqlQuery:
    """Read one query.

    Args:
        text: the query; outer blanks and a trailing `;` do not matter.
        dialect: any sqlglot dialect; the table of facts knows more of some than of others.
        schema: the tables, as a `Schema` or as DDL text.
        args: what its parameters are bound to: a sequence by position, or a mapping by name.
        now: the instant that clock calls fold to.
        deadline: the `time.monotonic()` instant at which reading gives up.

    Raises:
        ReadError: the text is no single readable query, or a parameter has no argument.
    """
    facts = dialect_of(dialect)
    known = read_schema(schema, facts.name) if isinstance(schema, str) else schema
    if known is not None and not known.tables:
        known = None
    tree = parse_query(text, facts)
    ctx = Context(facts, known, args, None if now is None else utc(now), deadline)
    try:
        rel, names, starred = Lowering(ctx).query(tree)
    except Unsupported as reason:
        ctx.loose = True
        return SqlQuery(text, ctx, None, (), (), str(reason))
    except RecursionError:
        raise ReadError("too_large", "the query is nested too deeply to be read") from None
    except BudgetError:
        raise ReadError("budget", "reading the query took longer than the budget allows") from None
    return SqlQuery(text, ctx, rel, names, starred, None)


def tokens_text(text: str, dialect: str) -> str:
    """The text without white space, comments and the case of what is not quoted: for what the algebra cannot say."""
    try:
        tokens = list(sqlglot.tokenize(text, dialect=dialect))
    except SqlglotError:
        return text
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return "tokens " + " ".join([_token(token) for token in tokens])


def _token(token: Token) -> str:
    kind = token.token_type.name
    if kind in {"STRING", "IDENTIFIER", "NATIONAL_STRING", "RAW_STRING", "HEREDOC_STRING"}:
        return f"{kind}:{token.text}"
    return str(token.text).lower()


def is_block(rel: Rel | None) -> bool:
    """Whether a query is one SELECT."""
    return isinstance(rel, Block)
