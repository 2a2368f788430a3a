"""The CHECK conditions of the tables that a block reads, as predicates over its columns."""

from canon.errors import ReadError
from canon.sql.algebra import Block, Expr, rewrite
from canon.sql.context import Context
from canon.sql.identities.nulls import simplify
from canon.sql.lowering import Lowering, Unsupported
from canon.sql.reader import parse_query


def check_conditions(block: Block, ctx: Context) -> tuple[Expr, ...]:
    """What the declared CHECKs say of the rows of a block's inner tables.

    A condition that cannot be read is left out: that allows rows which the schema forbids, so that a proof still holds.
    """
    found: list[Expr] = []
    for source in block.sources:
        facts = ctx.tables.get(source.sid)
        for text in facts.checks if facts is not None else ():
            found.extend(_condition(text, source.name, source.sid, ctx))
    return tuple(found)


def unread_checks(block: Block, ctx: Context) -> bool:
    """Whether a table of the block has a CHECK that could not be read."""
    total = sum(len(ctx.tables[source.sid].checks) for source in block.sources if source.sid in ctx.tables)
    return bool(total) and len(check_conditions(block, ctx)) < total


def _condition(text: str, table: str, sid: int, ctx: Context) -> tuple[Expr, ...]:
    used, loose, named = set(ctx.used), ctx.loose, set(ctx.named)
    quote = "`" if ctx.dialect.name in {"mysql", "bigquery", "spark"} else '"'
    try:
        tree = parse_query(f"SELECT 1 FROM {quote}{table}{quote} WHERE ({text}) IS NOT FALSE", ctx.dialect)  # noqa: S608  (read, never run)
        rel, _, _ = Lowering(ctx).query(tree)
        readable = not ctx.loose
    except (ReadError, Unsupported):
        return ()
    finally:
        ctx.used, ctx.loose, ctx.named = used, loose, named
    if not readable or not isinstance(rel, Block) or len(rel.sources) != 1:
        return ()
    other = rel.sources[0].sid

    def change(expr: Expr) -> Expr | None:
        return expr._replace(value=(sid, expr.value[1])) if expr.op == "col" and expr.value[0] == other else None

    return tuple(simplify(rewrite(part, change), ctx, set()) for part in rel.where)
