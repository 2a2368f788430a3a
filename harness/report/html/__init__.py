"""The HTML reports: one self-contained file each, no network, inert whatever a model said."""

from harness.report.html.run_page import HtmlReporter

__all__ = ["HtmlReporter"]
