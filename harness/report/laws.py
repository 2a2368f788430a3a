"""The laws behind the names that `absorbed` reports, one line each."""

from functools import lru_cache

from harness.report import words


@lru_cache(maxsize=1)
def _laws() -> dict[str, tuple[str, ...]]:
    """Every law by name; a name that several laws share has them all. Read once, when a report first asks."""
    from canon.mongo.identities import IDENTITIES
    from canon.sql.identities import block_rules, set_rules

    found: dict[str, tuple[str, ...]] = {}
    for name, law in (
        *((rule.name, rule.law) for rule in block_rules()),
        *((rule.name, rule.law) for rule in set_rules()),
        *((identity.name, identity.law) for identity in IDENTITIES),
    ):
        found[name] = (*found.get(name, ()), law)
    return found


def law_of(name: str) -> str:
    """The law of an identity in words: as canon states it, else its name as words."""
    laws = _laws().get(name)
    return ";  ".join(laws) if laws else words.identity(name)
