"""Markdown for CI: snapshots, and foreign text that never becomes Markdown or HTML."""

import os
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from harness.report.markdown import FAILURES_SHOWN, MarkdownReporter, as_markdown
from harness.report.markdown_text import bar, code, fenced, inline
from tests import synthetic_runs as made

SNAPSHOTS = Path(__file__).parent / "snapshots"


def snapshot(name, text):
    """Compare with the file; `RUNG_WRITE_SNAPSHOTS=1` writes it anew."""
    path = SNAPSHOTS / name
    if os.environ.get("RUNG_WRITE_SNAPSHOTS"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def rendered(text):
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_snapshot():
    snapshot("run.md", as_markdown(made.sample_run(3)))


def test_snapshot_of_a_run_without_failures():
    pairs = [pair for pair in made.sample_pairs() if pair[1].passed]
    snapshot("run-passed.md", as_markdown(made.memory_run(pairs, made.facts(replayed=True))))


def test_the_file_is_the_text(tmp_path):
    MarkdownReporter().write(made.sample_run(), tmp_path / "deep" / "r.md")
    assert (tmp_path / "deep" / "r.md").read_text("utf-8") == as_markdown(made.sample_run())
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["r.md"]


def test_hostile_text_opens_no_tag_and_closes_no_fold():
    page = rendered(as_markdown(made.hostile_run()))
    assert set(re.findall(r"</?([a-zA-Z0-9]+)", page)) <= {
        *("h2", "h3", "p", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong"),
        *("details", "summary", "b", "blockquote", "em", "br"),
    }
    assert page.count("<details>") == page.count("</details>") == 3


def test_a_great_run_stays_within_a_job_summary():
    text = as_markdown(made.large_run(3_000, pass_share=0.1))
    assert len(text.encode()) < 1_000_000
    assert text.count("<details>") == FAILURES_SHOWN
    assert "more failures; the HTML report shows all of them." in text
    long = "x" * 900_000
    pairs = [(case, made.result(case, made.error("empty", long, raw=long))) for case, _ in made.large_run(300).pairs]
    assert len(as_markdown(made.memory_run(pairs)).encode()) < 1_000_000


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a*b*_c_`d`", "a*b*_c_`d`"),
        ("[x](javascript:y) ![z](w)", "[x](javascript:y) ![z](w)"),
        ("<b>&lt;", "&lt;b&gt;&amp;lt;"),
        ("a | b", "a | b"),
        ("- list", "- list"),
        ("1. list", "1. list"),
        ("# head", "# head"),
        ("> quote", "&gt; quote"),
        ("two\nlines", "two lines"),
        ("back\\slash", "back\\slash"),
        ("@team #12 :smile: https://x.y", "@team #12 :smile: https://x.y"),
    ],
)
def test_inline_text_reads_as_itself(text, html):
    assert rendered(inline(text)) == f"<p>{html}</p>\n"
    assert rendered(f"* {inline(text)}") == f"<ul>\n<li>{html}</li>\n</ul>\n"


@pytest.mark.parametrize("text", ["a|b", "`tick`", "``", "a*b*", "<i>", "[x](y)", "_a_ \\| \\\\"])
def test_code_reads_as_itself_in_a_cell(text):
    page = rendered(f"| a |\n| --- |\n| {code(text)} |")
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert f"<td><code>{escaped}</code></td>" in page


@pytest.mark.parametrize("text", ["SELECT 1", "```\n</details>", "````", "a\r\nb"])
def test_a_fence_is_longer_than_what_it_holds(text):
    page = rendered(fenced(text, "sql"))
    escaped = text.replace("\r\n", "\n").replace("<", "&lt;").replace(">", "&gt;")
    assert page == f'<pre><code class="language-sql">{escaped}\n</code></pre>\n'


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.0, "░░░░░"), (0.01, "█░░░░"), (0.5, "██░░░"), (0.99, "████░"), (1.0, "█████")]
)
def test_a_bar_is_full_only_for_all(share, drawn):
    assert bar(share, 5) == drawn
