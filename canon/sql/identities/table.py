"""The one table in which every identity is registered, in the order in which they are tried."""

from canon.sql.identities import Rule, SetRule, equalities

BLOCK_RULES: tuple[Rule, ...] = (
    Rule("reflexive-equality", "a = a  =  a IS NOT NULL", equalities.reflexive),
    Rule("congruence", "WHERE a = b … a …  =  WHERE a = b … b …", equalities.congruence),
)

SET_RULES: tuple[SetRule, ...] = ()
