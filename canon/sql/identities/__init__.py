"""The identities: laws by which one query is rewritten to another that means the same.

Each family has a module; each rule is a pure function from a block to the rewritten query, or to `None` where the law
does not apply or its side condition cannot be established. One more file is one more rule: add it to `BLOCK_RULES` or
`SET_RULES` below, in the place where what it leaves is what the later ones expect.

The normal form that the rules work towards:

* derived tables are merged into the block that reads them, where a block can say the same;
* conditions are conjuncts of WHERE, each in canonical form, with the equalities among columns of the inner sources in
  `eqclass` atoms and every other mention of a member replaced by the class's first;
* outer joins whose padding is filtered away are inner joins; joins to what is not used are dropped;
* a test of membership is EXISTS; one that matches at most one row is a join; in a block without duplicates that is
  marked `distinct`, every positive EXISTS is a join;
* groupings are by a smallest set of keys; aggregates count rows where they count what is never NULL.
"""

from collections.abc import Callable
from typing import NamedTuple

from canon.sql.algebra import Block, Rel, SetOp
from canon.sql.context import Context


class Rule(NamedTuple):
    """One identity.

    Attributes:
        name: what `absorbed` calls it.
        law: the law in one line.
        apply: rewrites a block, or gives `None`.
        needs: operators of which one must occur in the block's own expressions for the law to apply; empty where it
            does not hang on that. Only for speed.
        full: whether the law holds where a source is a FULL JOIN, whose two sides are sources inside that source.
    """

    name: str
    law: str
    apply: Callable[[Block, Context], Rel | None]
    needs: frozenset[str] = frozenset()
    full: bool = False


class SetRule(NamedTuple):
    """One identity of set operations; as `Rule`."""

    name: str
    law: str
    apply: Callable[[SetOp, Context], Rel | None]


def block_rules() -> tuple[Rule, ...]:
    """The rules for blocks, in the order in which they are tried."""
    from canon.sql.identities import table

    return table.BLOCK_RULES


def set_rules() -> tuple[SetRule, ...]:
    """The rules for set operations, in the order in which they are tried."""
    from canon.sql.identities import table

    return table.SET_RULES
