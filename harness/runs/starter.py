"""The files that a newcomer starts from: three cases, one of them to be refused, and the vocabulary they need."""

from pathlib import Path

from harness.errors import UsageError

_GOLDEN = """\
id,nl,tags,expect_sql,expect_error,now,notes
S01,cancelled orders,simple;enum,SELECT <default> FROM orders WHERE status = 'CANCELLED' LIMIT 50,,,\
<default> is whatever the config compiles an empty query to
S02,orders of the last 30 days,relative-date,SELECT <default> FROM orders WHERE created_at >= '2026-07-05' LIMIT 50,,\
2026-08-04,Pin now wherever a sentence speaks of today
R01,orders shipped by express,refusal,,unsupported,,The config has no such field: the model should decline
"""
_CONFIG = """\
{
  "entity": "Order",
  "version": 1,
  "backends": {"sql": {"table": "orders"}, "mongo": {"collection": "orders"}},
  "fields": [
    {"name": "status", "type": "enum", "values": ["PLACED", "DELIVERED", "CANCELLED"], "synonyms": ["state"]},
    {"name": "createdAt", "type": "date", "mapping": {"sql": "created_at"}, "synonyms": ["made", "ordered on"]},
    {"name": "amount", "type": "number", "synonyms": ["price", "total"]}
  ],
  "defaults": {"limit": 50, "maxLimit": 500}
}
"""
_SETTINGS = """\
# Settings of rung in this folder. Keys are the names of flags; a flag or RUNG_<NAME> in the environment wins.
in = "golden.csv"
config = "config.json"
# model = "NAME"
# base-url = "https://HOST/v1"   # any OpenAI-compatible endpoint; the key comes from the environment: RUNG_API_KEY

[run]
# repeat = 5
# rpm = 60
# out = ["results.csv"]
"""
FILES = (("golden.csv", _GOLDEN), ("config.json", _CONFIG), ("rung.toml", _SETTINGS))


def write_starter(folder: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write the starter files and return their paths.

    Raises:
        UsageError: one of them is there already, or the folder cannot be written.
    """
    paths = tuple(folder / name for name, _ in FILES)
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise UsageError(f"there already: {', '.join(there)}; --force writes over them")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, (_, text) in zip(paths, FILES, strict=True):
            path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    return paths
