"""Which reporter writes a file, by its extension. A new format is one file and one line here."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from harness import plugins
from harness.errors import UsageError
from harness.report.reporter import Reporter, RunView

REPORTERS: Mapping[str, str] = MappingProxyType(
    {
        ".csv": "harness.report.tables:CsvReporter",
        ".jsonl": "harness.report.tables:JsonLinesReporter",
        ".html": "harness.report.html:HtmlReporter",
        ".md": "harness.report.markdown:MarkdownReporter",
        ".xml": "harness.report.junit:JUnitReporter",
    }
)
"""From an extension to `module:class`; the module is imported when a file of that kind is written."""


def reporter_for(path: Path) -> Reporter:
    """The reporter for a file.

    Raises:
        UsageError: nothing writes files of that extension.
    """
    place = REPORTERS.get(path.suffix.lower())
    if place is None:
        return _installed(path)
    module, _, name = place.partition(":")
    reporter: Reporter = getattr(import_module(module), name)()
    return reporter


def _installed(path: Path) -> Reporter:
    """A reporter that another package brings, by the entry points `rung.reporters`."""
    build = plugins.load(plugins.REPORTERS, path.suffix.lower().lstrip(".")) if path.suffix else None
    if build is None:
        known = [*REPORTERS, *(f".{name}" for name in plugins.names(plugins.REPORTERS))]
        raise UsageError(f"--out {path}: no report has this extension; use one of {' '.join(known)}")
    reporter: Reporter = build()
    return reporter


def write_reports(run: RunView, paths: tuple[Path, ...]) -> None:
    """Write a run to each of the files."""
    for path in paths:
        reporter_for(path).write(run, path)
