"""The placeholder `<default>`: the projection that a vocabulary config compiles an empty query to."""

import re

ENGINE_SQL = frozenset({"postgres", "mysql"})
"""The dialects that QueryForge compiles SQL for."""

_SELECT_DEFAULT = re.compile(r"\A(?P<head>\s*select\s+(?:distinct\s+)?)<\s*default\s*>", re.IGNORECASE)


def uses_default(sql: str) -> bool:
    """Whether a statement projects `<default>`."""
    return _SELECT_DEFAULT.match(sql) is not None


def with_projection(sql: str, projection: str) -> str:
    """Put a projection in the place of `<default>`; a statement without it stays as it is."""
    return _SELECT_DEFAULT.sub(lambda match: match["head"] + projection, sql, count=1)
