"""Congruence: columns that an inner equality makes one are one wherever they are mentioned."""

from canon.sql.algebra import Block, Expr, all_sources, columns, rewrite_rel, substitution
from canon.sql.context import Context
from canon.sql.facts import padded_sids, type_of
from canon.sql.predicates import merge

EXACT_TYPES = frozenset({"integer", "text", "date", "timestamp", "timestamptz", "boolean", "uuid", "decimal", "time"})


def interchangeable(left: Expr, right: Expr, ctx: Context) -> bool:
    """Whether two equal columns are the same value: of one type whose equality is identity."""
    kind = type_of(left, ctx)
    if kind != type_of(right, ctx) or kind not in EXACT_TYPES:
        return False
    return kind != "text" or ctx.dialect.collation == "binary"


def congruence(block: Block, ctx: Context) -> Block | None:
    """`WHERE a = b … a …`  =  `WHERE a = b … b …`, for inner columns of one type whose equality is identity."""
    padded = padded_sids(block)
    own = {source.sid for source in all_sources(block)}
    classes: list[set[Expr]] = []
    used: set[Expr] = set()
    for part in block.where:
        members = part.args
        if part.op not in {"=", "eqclass"} or not all(member.op == "col" for member in members):
            continue
        if any(member.value[0] in padded or member.value[0] < 0 for member in members):
            continue
        if part.op == "=" and not interchangeable(members[0], members[1], ctx):
            continue
        if part.op == "=" and not any(member.value[0] in own for member in members):
            continue
        used.add(part)
        group = set(members)
        touching = [found for found in classes if found & group]
        classes = [found for found in classes if not found & group]
        classes.append(group.union(*touching))
    if not classes:
        return None
    return _rewritten(block, ctx, classes, used, own)


def _rewritten(block: Block, ctx: Context, classes: list[set[Expr]], used: set[Expr], own: set[int]) -> Block | None:
    atoms: list[Expr] = []
    mapping: dict[Expr, Expr] = {}
    for members in classes:
        ordered = sorted(
            members, key=lambda column: (column.value[0] not in own, column.value[0], str(column.value[1]))
        )
        atoms.append(Expr("eqclass", None, tuple(ordered)))
        mapping.update({member: ordered[0] for member in ordered[1:]})
    rest = tuple([part for part in block.where if part not in used])
    changed = rewrite_rel(block._replace(where=rest), substitution(mapping))
    assert isinstance(changed, Block)
    where = merge("and", changed.where, ctx)
    kept = where.args if where.op == "and" else (where,) if where.op != "lit" or where.value[1] != "true" else ()
    result = changed._replace(where=(*atoms, *kept))
    if result == block:
        return None
    return result


def reflexive(block: Block, ctx: Context) -> Block | None:
    """`a = a`  =  `a IS NOT NULL`."""
    found = [part for part in block.where if part.op == "=" and part.args[0] == part.args[1]]
    if not found or any(part.args[0].op != "col" for part in found):
        return None
    where = [Expr("notnull", None, (part.args[0],)) if part in found else part for part in block.where]
    return block._replace(where=tuple(where))


__all__ = ["columns", "congruence", "interchangeable", "reflexive"]
