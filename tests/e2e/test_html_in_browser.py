"""The HTML reports in a real browser: opened from disk, without a network, by people and by hostile text."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from harness.comparison.comparing import compare
from harness.comparison.sides import side_of_run
from harness.report.comparison.page import write_html
from harness.report.html import HtmlReporter
from tests import synthetic_runs as made

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("CI"),
    reason="no chromium on this machine: .ci/install-chromium installs it where that is allowed",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PWNED = "window.pwned === undefined && document.querySelectorAll('main script, main style, main img').length === 0"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    runs = {
        "sample": made.sample_run(),
        "repeats": made.sample_run(5),
        "hostile": made.hostile_run(),
        "empty": made.memory_run([]),
        "large": made.large_run(2_000),
    }
    for name, run in runs.items():
        HtmlReporter().write(run, folder / f"{name}.html")
    one, two, three = (made.large_run(60, seed=n, pass_share=0.5 + n / 8, model=f"model-{n}") for n in (1, 2, 3))
    for name, sides in {
        "two": [one, two],
        "three": [one, two, three],
        "hostile-comparison": [runs["hostile"], runs["hostile"]],
        "repeats-comparison": [runs["repeats"], made.sample_run(1, model="other")],
    }.items():
        write_html(
            compare([side_of_run(run.facts.name, run.facts, run.results()) for run in sides]), folder / f"{name}.html"
        )
    return folder


class Opened:
    """A page, and everything that went wrong or left it."""

    def __init__(
        self, browser: Browser, file: Path, fragment: str = "", polled: bool = True, **context: object
    ) -> None:
        # Playwright's polling evaluates text, which the pages' own policy forbids: only an unpolled page is held to it.
        self.context = browser.new_context(viewport={"width": 1200, "height": 900}, bypass_csp=polled, **context)
        self.page: Page = self.context.new_page()
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
        self.page.goto(file.as_uri() + fragment)


@pytest.fixture
def open_page(browser, pages):
    opened = []

    def open_it(name, fragment="", **context):
        opened.append(Opened(browser, pages / f"{name}.html", fragment, **context))
        return opened[-1]

    yield open_it
    for each in opened:
        each.context.close()
        assert each.troubles == []
        assert [url for url in each.requests if not url.startswith("file:")] == []
        assert len([url for url in each.requests if url.startswith("file:")]) == 1


ALL = ["sample", "repeats", "hostile", "empty", "large", "two", "three", "hostile-comparison", "repeats-comparison"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_in_silence_and_fits_its_width(open_page, name, scheme):
    page = open_page(name, color_scheme=scheme).page
    assert page.evaluate(PWNED)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(251, 250, 247)" if scheme == "light" else "rgb(19, 19, 22)")


@pytest.mark.parametrize("name", ALL)
def test_it_fits_a_telephone(open_page, name):
    page = open_page(name).page
    page.set_viewport_size({"width": 380, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", ["sample", "two"])
def test_its_own_policy_runs_its_script_and_evaluates_no_text(open_page, name):
    opened = open_page(name, polled=False)
    assert "unsafe-eval" not in opened.page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
    opened.page.locator("input[name=q]").fill("no case says this")
    opened.page.locator("output", has_text="0 of ").wait_for()


def test_a_comparison_shows_the_rows_that_refute_an_answer(open_page):
    page = open_page("two").page
    shown = page.locator("details.flip .witness")
    assert shown.count() >= 1
    assert shown.first.locator("figcaption").all_text_contents()[-2:] == [
        "the expected query gives",
        "the answer gives",
    ]


def visible_ids(page):
    return page.eval_on_selector_all(
        ".list > details",
        "rows => rows.filter(row => row.offsetParent).map(row => row.querySelector('.id').textContent)",
    )


def test_the_verdict_comes_first(open_page):
    page = open_page("sample").page
    assert page.inner_text("h1") == "13 of 22 cases passed"
    assert page.inner_text(".big") == "59 %"
    assert page.inner_text(".example h3") == "FAIL Read this one first: S20"
    assert "leaves out order 1" in page.inner_text(".example .witness")
    assert page.eval_on_selector_all(".example mark", "marks => marks.map(m => m.textContent)") == [
        *("NOT", "IN (", ", 'REFUNDED')"),
        *("refunded = FALSE AND", "<>"),
    ]


def test_search_and_filters_narrow_the_table(open_page):
    page = open_page("sample").page
    assert len(visible_ids(page)) == 22
    page.select_option("[name=grade]", "ERROR")
    page.wait_for_function("document.querySelector('output').value === '2 of 22 cases'")
    assert visible_ids(page) == ["S25", "S26"]
    page.select_option("[name=grade]", "")
    page.select_option("[name=tag]", "negation")
    page.wait_for_function("document.querySelector('output').value === '2 of 22 cases'")
    assert visible_ids(page) == ["S06", "S20"]
    page.select_option("[name=kind]", "wrong_field")
    page.wait_for_function("document.querySelector('output').value === '1 of 22 cases'")
    page.click("button[type=reset]")
    page.wait_for_function("document.querySelector('output').value === '22 cases'")
    page.fill("[name=q]", "coupon IS null")
    page.wait_for_function("document.querySelector('output').value === '1 of 22 cases'")
    assert visible_ids(page) == ["S26"]
    page.select_option("[name=basis]", "refuted")
    page.wait_for_function("document.querySelector('output').value === '0 of 22 cases'")


def test_rows_are_sorted_and_go_back(open_page):
    page = open_page("sample").page
    before = visible_ids(page)
    page.select_option("[name=sort]", "grade")
    page.wait_for_function("document.querySelector('.list > details .id').textContent === 'S25'")
    grades = page.eval_on_selector_all(".list > details", "rows => rows.map(row => row.dataset.g)")
    assert grades == sorted(grades, key=["ERROR", "FAIL", "REFUSED", "EQUIVALENT", "EXACT"].index)
    page.select_option("[name=sort]", "latency")
    page.wait_for_function("document.querySelector('.list > details').dataset.l === '1400'")
    page.select_option("[name=sort]", "")
    page.wait_for_function("document.querySelector('.list > details .id').textContent === 'S01'")
    assert visible_ids(page) == before


def test_a_ladder_row_leads_to_its_cases_and_the_address_keeps_them(open_page):
    page = open_page("sample").page
    page.click("a[data-filter='grade=REFUSED']")
    page.wait_for_function("document.querySelector('output').value === '1 of 22 cases'")
    assert page.evaluate("location.hash") == "#?grade=REFUSED"
    again = open_page("sample", "#?grade=REFUSED").page
    assert visible_ids(again) == ["R01"]


def test_a_permalink_opens_its_case_even_behind_a_filter(open_page):
    page = open_page("sample", "#case-S21").page
    assert page.eval_on_selector_all("details.c[open] .id", "ids => ids.map(id => id.textContent)") == ["S21"]
    top = page.evaluate("document.querySelector('details.c[open]').getBoundingClientRect().top")
    assert page.evaluate("document.querySelector('.filters').getBoundingClientRect().bottom") <= top < 400
    page.select_option("[name=grade]", "EXACT")
    page.wait_for_function("document.querySelector('output').value === '3 of 22 cases'")
    page.evaluate("location.hash = '#case-M01'")
    page.wait_for_function("document.activeElement.closest('details').querySelector('.id').textContent === 'M01'")
    assert len(visible_ids(page)) == 22


def test_opening_a_case_puts_its_permalink_into_the_address(open_page):
    page = open_page("sample").page
    page.click(".list > details:nth-child(3) > summary")
    page.wait_for_function("location.hash === '#case-S03'")
    assert "Overlooked: between" in page.inner_text("#case-S03")


def test_the_keyboard_reaches_everything(open_page):
    page = open_page("sample").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("refunded")
    page.wait_for_function("document.querySelector('output').value !== '22 cases'")
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelector('output').value === '22 cases'")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.querySelector('.id').textContent") == "S02"
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('details.c')[1].open")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.querySelector('.id').textContent") == "S01"


def test_without_javascript_it_can_be_read(open_page):
    page = open_page("sample", "#case-S22", java_script_enabled=False).page
    assert page.is_hidden(".filters")
    assert page.locator(".list > details").count() == 22
    assert page.is_visible("#case-S22 .pair")
    page.click(".list > details:nth-child(1) > summary")
    assert page.is_visible("#case-S01 .pair")


def test_print_opens_the_failures_and_hides_the_controls(open_page):
    opened = open_page("sample")
    page = opened.page
    page.emulate_media(media="print")
    assert page.is_hidden(".filters")
    assert page.evaluate("document.querySelector('#case-S20 .pair').getBoundingClientRect().height > 0")
    assert (
        page.evaluate("document.querySelector('#case-S01 .pair').checkVisibility({contentVisibilityAuto: true})")
        is False
    )
    assert len(page.pdf()) > 20_000


def test_hostile_text_is_shown_as_it_is(open_page):
    page = open_page("hostile").page
    assert page.evaluate(PWNED)
    assert "<script>window.pwned = 1</script>" in page.inner_text(".brand")
    assert "⟨U+202E⟩gnp.exe" in page.inner_text(".notice")
    assert page.locator(".list > details").count() == 5
    ids = page.eval_on_selector_all(".list .id", "ids => ids.map(id => id.textContent)")
    assert ids[3] == "java script:alert('x')\"><b>"
    assert (
        page.eval_on_selector_all("a", "links => links.filter(a => !a.getAttribute('href').startsWith('#')).length")
        == 0
    )
    page.select_option("[name=tag]", "quo\"te's")
    page.wait_for_function("document.querySelector('output').value === '1 of 5 cases'")
    link = page.eval_on_selector_all(".list .b", "bodies => bodies.map(body => body.id)")[3]
    page.evaluate("hash => { location.hash = hash }", f"#{link}")
    page.wait_for_function("document.querySelectorAll('.list > details')[3].open")
    assert page.evaluate(PWNED)


def test_a_script_that_got_in_would_not_run(open_page):
    opened = open_page("sample", polled=False)
    opened.page.evaluate(
        "() => { const made = document.createElement('script'); made.textContent = 'window.pwned = 1';"
        " document.body.append(made); }"
    )
    assert opened.page.evaluate("window.pwned === undefined")
    assert [trouble for trouble in opened.troubles if "Content Security Policy" in trouble] == opened.troubles != []
    opened.troubles.clear()


def test_stability_is_drawn_and_filtered(open_page):
    page = open_page("repeats").page
    strip = page.locator(".unstable svg.strip rect")
    assert strip.evaluate_all("rects => rects.map(r => r.getAttribute('class'))") == [
        *("fail", "exact", "exact", "fail", "exact")
    ]
    page.select_option("[name=flag]", "flaky")
    page.wait_for_function("document.querySelector('output').value === '1 of 22 cases'")
    page.select_option("[name=flag]", "steady")
    page.wait_for_function("document.querySelector('output').value === '6 of 22 cases'")


def test_a_comparison_says_which_is_better_and_shows_what_changed(open_page):
    page = open_page("two").page
    assert page.inner_text("h1") in (
        "model-2 is better than model-1",
        "No difference shown between model-1 and model-2",
    )
    changed = page.locator(".list > details[data-x~=changed]").count()
    page.select_option("[name=flip]", "changed")
    page.wait_for_function(f"document.querySelector('output').value === '{changed} of 60 cases'")
    gained = page.locator(".list > details[data-x~='gained-1']").count()
    assert f"Passed only with model-2 ({gained})" in page.inner_text("main")
    assert (
        page.locator(".matrix tbody td").evaluate_all(
            "cells => cells.reduce((sum, cell) => sum + (Number(cell.textContent) || 0), 0)"
        )
        == 60
    )


def test_three_runs_are_ranked_with_every_pair(open_page):
    page = open_page("three").page
    assert page.locator("section[aria-labelledby=h-pairs] tbody tr").count() == 3
    assert page.locator(".matrix").count() == 2
    assert page.locator(".list > details .grades").first.locator("b").count() == 3


def test_a_large_run_answers_at_once(open_page):
    page = open_page("large").page
    page.fill("[name=q]", "case-01999")
    page.wait_for_function("document.querySelector('output').value === '1 of 2,000 cases'", timeout=5_000)
    assert visible_ids(page) == ["case-01999"]
