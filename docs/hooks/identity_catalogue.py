"""The page `identities.md`: every identity that canon uses, with its law, read from the code when the site is built."""

from collections.abc import Iterable
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from canon.mongo.identities import IDENTITIES
from canon.sql.identities import block_rules, set_rules

PAGE = "identities.md"
HEAD = """# Identities

The names that `absorbed` reports, each with its law: the left side and the right side mean the same. The list is read
from the code when this site is built.

A law holds under a condition: of dialect, NULLs, keys, types or duplicates. Where the condition is not established, the
identity does not fire. [Grading](grading.md) says what is never absorbed.
"""


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the page."""
    files.append(File.generated(config, PAGE, content=catalogue()))
    return files


def catalogue() -> str:
    """The page as Markdown."""
    sql = sorted({(rule.name, rule.law) for rule in block_rules()} | {(rule.name, rule.law) for rule in set_rules()})
    mongo = sorted((each.name, each.law, each.condition) for each in IDENTITIES)
    return "\n".join(
        (
            HEAD,
            "## SQL: blocks and set operations",
            "",
            "Predicates are also brought to one form (order, nesting, De Morgan, ranges, membership), and are decided",
            "by regions; names such as `between` and `de-morgan` come from there.",
            "",
            *_table(("identity", "law"), sql),
            "",
            "## MongoDB",
            "",
            *_table(("identity", "law", "condition"), mongo),
            "",
        )
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for name, law, *rest in rows:
        lines.append(" | ".join((f"`{name}`", _code(law), *(_cell(text) for text in rest))))
    return [f"| {line} |" for line in lines]


def _code(text: str) -> str:
    return f"<code>{_cell(text)}</code>"


def _cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in ("|", "*", "_", "[", "]", "`", "\\", "~"):
        escaped = escaped.replace(mark, f"&#{ord(mark)};")
    return escaped
