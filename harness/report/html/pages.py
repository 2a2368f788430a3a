"""Templates, style and script put together into one page that loads nothing and runs nothing but its own script."""

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from harness.report import words
from harness.report.html import drawings, text


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The jinja environment: autoescape for all, and the filters for foreign text."""
    made = Environment(
        loader=PackageLoader("harness.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(text=text.content, attribute=text.attribute, marked=text.marked)
    made.globals.update(
        d=drawings,
        strip=drawings.strip,
        anchor=text.anchor,
        percent=words.percent,
        points=words.points,
        ms=words.milliseconds,
        count=words.count,
        clip=words.clip,
        p_value=words.p_value,
        kind_title=words.kind_title,
        meanings=words.MEANINGS,
        **_inline("style", "style.css"),
        **_inline("script", "script.js"),
    )
    return made


def template(name: str) -> Template:
    """A template by file name."""
    return environment().get_template(name)


def _inline(name: str, file: str) -> dict[str, object]:
    """A file of ours as it stands in the page, and its digest for the content security policy."""
    source = files("harness.report.html").joinpath(file).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return {name: Markup(source), f"{name}_hash": Markup(digest)}  # noqa: S704 - our own file
