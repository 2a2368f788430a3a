"""Conjunctive queries without duplicates: an atom that folds onto another says nothing (J6)."""

from itertools import product

from canon.sql.algebra import Block, Expr, Source, rewrite, sids
from canon.sql.context import Context
from canon.sql.facts import nullable, rejected
from canon.sql.identities.shapes import conjoined, ignores_duplicates, outputs
from canon.sql.predicates import oriented

MAX_FOLDINGS = 256


def fold_atoms(block: Block, ctx: Context) -> Block | None:
    """`SELECT DISTINCT a.x FROM t a, t b WHERE a.k = b.k`  =  `SELECT DISTINCT a.x FROM t a WHERE a.k IS NOT NULL`."""
    if len(block.sources) < 2 or block.lefts or block.ordered or (block.limit is not None and ctx.role == "exists"):
        return None
    names = [source.name for source in block.sources if source.kind == "table"]
    if len(set(names)) == len(names):
        return None
    if not (ignores_duplicates(block) or (ctx.role == "exists" and block.group is None and not block.extra)):
        return None
    fixed = _fixed(block)
    choices = [_targets(source, block, fixed) for source in block.sources]
    size = 1
    for options in choices:
        size *= len(options)
    if size == 1 or size > MAX_FOLDINGS:
        return None
    classes = _classes(block)
    for images in sorted(product(*choices), key=lambda found: len(set(found))):
        if len(set(images)) == len(images):
            return None
        folding = {source.sid: image for source, image in zip(block.sources, images, strict=True)}
        slim = _restricted(block, set(images))
        moved = None if slim is None else _with_outputs(slim, folding, classes)
        if slim is not None and moved is not None and _preserved(block, slim, folding, classes, ctx):
            return moved._replace(where=conjoined(moved.where, ctx))
    return None


def _fixed(block: Block) -> set[int]:
    """The sources that outputs mention in another way than by plain columns."""
    found: set[int] = set()
    for expr in outputs(block):
        if expr.op != "col":
            found |= sids(expr)
    return found


def _with_outputs(slim: Block, folding: dict[int, int], classes: dict[Expr, Expr]) -> Block | None:
    """The block with its outputs taken from the images, where these are equal to what they were."""

    def image(expr: Expr) -> Expr | None:
        if expr.op != "col" or folding.get(expr.value[0], expr.value[0]) == expr.value[0]:
            return expr
        new = expr._replace(value=(folding[expr.value[0]], expr.value[1]))
        return new if new in classes and classes.get(expr) == classes[new] else None

    select = [image(expr) for expr in slim.select]
    group = [image(expr) for expr in slim.group or ()]
    order = [image(key.expr) for key in slim.order]
    kept = [expr for expr in (*select, *group, *order) if expr is not None]
    if len(kept) < len(select) + len(group) + len(order):
        return None
    width, keys = len(select), len(group)
    return slim._replace(
        select=tuple(kept[:width]),
        group=None if slim.group is None else tuple(kept[width : width + keys]),
        order=tuple([key._replace(expr=expr) for key, expr in zip(slim.order, kept[width + keys :], strict=True)]),
    )


def _targets(source: Source, block: Block, fixed: set[int]) -> list[int]:
    if source.kind != "table" or source.sid in fixed:
        return [source.sid]
    twins = [
        other.sid
        for other in block.sources
        if other.kind == "table" and other.name == source.name and other is not source
    ]
    return [source.sid, *twins]


def _classes(block: Block) -> dict[Expr, Expr]:
    """For each member of an equality class, the member that stands for it."""
    return {member: part.args[0] for part in block.where if part.op == "eqclass" for member in part.args}


def _restricted(block: Block, image: set[int]) -> Block | None:
    """The block with the sources of the image alone, and what its conditions say of them."""
    gone = {source.sid for source in block.sources} - image
    where: list[Expr] = []
    for part in block.where:
        if not sids(part) & gone:
            where.append(part)
        elif part.op == "eqclass":
            rest = tuple([member for member in part.args if member.value[0] not in gone])
            if len(rest) == 1:
                where.append(Expr("notnull", None, rest))
            elif rest:
                where.append(Expr("eqclass", None, rest))
    return block._replace(
        sources=tuple([source for source in block.sources if source.sid in image]), where=tuple(where)
    )


def _preserved(block: Block, slim: Block, folding: dict[int, int], classes: dict[Expr, Expr], ctx: Context) -> bool:
    """Whether each condition, its sources replaced by their images, follows from those that are kept."""
    said = {_standing(part, classes) for part in slim.where}
    not_null = set().union(*(rejected(part) for part in slim.where)) if slim.where else set()

    def moved(node: Expr) -> Expr | None:
        if node.op == "col" and node.value[0] in folding:
            return node._replace(value=(folding[node.value[0]], node.value[1]))
        if node.op == "star" and node.value in folding:
            return node._replace(value=folding[node.value])
        return None

    for part in block.where:
        if part.op == "eqclass":
            members = {moved(member) or member for member in part.args}
            if len(members) == 1:
                only = next(iter(members))
                if only not in not_null and nullable(only, ctx):
                    return False
            elif (
                len({classes.get(member, member) for member in members}) > 1
                or not all(member in classes for member in members)
                or any(not _kept_together(member, members, slim) for member in members)
            ):
                return False
        else:
            image = rewrite(part, moved)
            if image != part and image.op in {"=", "<>", "same", "distinct"} and len(image.args) == 2:
                image = oriented(image.op, *image.args)
            if _standing(image, classes) not in said:
                return False
    return True


def _kept_together(member: Expr, members: set[Expr], slim: Block) -> bool:
    return any(part.op == "eqclass" and member in part.args and members <= set(part.args) for part in slim.where)


def _standing(part: Expr, classes: dict[Expr, Expr]) -> Expr:
    """A condition with every member of a class replaced by the one that stands for it."""
    return part if part.op == "eqclass" else rewrite(part, classes.get)
