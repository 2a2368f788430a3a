"""Which reporter writes a file, by its extension. A new format is one file and one line here."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

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
        raise UsageError(f"--out {path}: no report has this extension; use one of {' '.join(REPORTERS)}")
    module, _, name = place.partition(":")
    reporter: Reporter = getattr(import_module(module), name)()
    return reporter


def write_reports(run: RunView, paths: tuple[Path, ...]) -> None:
    """Write a run to each of the files."""
    for path in paths:
        reporter_for(path).write(run, path)
