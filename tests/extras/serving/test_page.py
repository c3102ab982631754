"""The page in a real browser: typed into, clicked, driven by the keyboard, at the width of a phone."""

import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
QUIETLY = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-quic", *QUIETLY])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser):
    """A function that opens the page of a server; what the page says in its console must be nothing."""
    pages = []

    def opened(port, width=1200):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.said = []
        page.asked = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"http://127.0.0.1:{port}/")
        pages.append(page)
        return page

    yield opened
    for page in pages:
        assert page.said == []
        assert all(url.startswith(("http://127.0.0.1:", "data:")) for url in page.asked)
        page.close()


def test_a_sentence_is_labelled_while_it_is_typed(served, open_page):
    page = open_page(served.port)
    page.fill("#text", "2 ripe tomatoes, chopped")
    page.wait_for_selector(".span.named")
    assert "QTY" in page.inner_text("#spans")
    assert page.locator(".cell.best").count() == 5
    assert page.locator("#best li").count() == 5
    page.wait_for_selector("#why .bar")


def test_a_click_fixes_a_label_and_everything_changes(served, open_page):
    page = open_page(served.port)
    page.fill("#text", "2 ripe tomatoes, chopped")
    page.check("#all")
    before = page.inner_text("#best")
    page.click('.cell[data-t="1"][data-label="B-SIZE"]')
    page.wait_for_selector('.cell.fixed[data-t="1"][data-label="B-SIZE"]')
    assert page.inner_text("#best") != before
    assert "ripe is B-SIZE" in page.inner_text("#fixed")
    page.click("#fixed button")
    playwright.expect(page.locator(".cell.fixed")).to_have_count(0)
    assert page.inner_text("#best") == before


def test_the_keyboard_is_enough(served, open_page):
    page = open_page(served.port)
    page.focus("#text")
    page.keyboard.type("2 ripe tomatoes")
    page.wait_for_selector(".cell.best")
    while page.evaluate("!document.activeElement.classList.contains('cell')"):
        page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.dataset.t")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".cell.fixed")
    assert page.evaluate("document.activeElement.dataset.t") == str(int(first) + 1)
    assert page.evaluate("document.activeElement.classList.contains('fixed')")


def test_another_token_is_explained_when_it_is_chosen(served, open_page):
    page = open_page(served.port)
    page.fill("#text", "2 ripe tomatoes")
    page.wait_for_selector("#why .bar")
    page.click(".token >> text=tomatoes")
    playwright.expect(page.locator("#why")).to_contain_text("tomatoes:")


def test_it_fits_a_phone(served, open_page):
    page = open_page(served.port, width=375)
    page.fill("#text", "2 ( 15 oz ) cans black beans , rinsed and drained , plus more for serving")
    page.wait_for_selector(".cell.best")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_what_is_wrong_is_said(served, open_page):
    page = open_page(served.port)
    page.fill("#text", "a " * 30_000)
    page.wait_for_selector("#problem:not([hidden])")
    assert "tokens" in page.inner_text("#problem")
    page.said.clear()  # the browser notes the refusal
    page.fill("#text", "salt")
    page.wait_for_selector("#problem", state="hidden")


def test_what_is_typed_is_never_markup(served, open_page):
    page = open_page(served.port)
    page.fill("#text", "<img src=x onerror=alert(1)> salt")
    page.wait_for_selector(".cell.best")
    assert page.locator("main img").count() == 0


def test_trees_are_drawn_as_arcs_and_heads_can_be_fixed(start, parser, open_page):
    server = start(parser)
    try:
        page = open_page(server.port)
        page.fill("#text", "The/DET old/ADJ dog/NOUN barks/VERB")
        page.wait_for_selector("#tree svg path")
        page.select_option('select[aria-label="Head of old"]', "4")
        playwright.expect(page.locator("#best")).to_contain_text("old←barks")
        page.wait_for_selector("#why .bar")
    finally:
        server.stop()


def test_no_word_above_the_trellis_is_cut_off(served, open_page):
    page = open_page(served.port)
    page.fill(
        "#text", "2 extraordinarily ripe tomatoes , coarsely chopped and drained , plus more for serving , optional"
    )
    page.wait_for_selector(".cell.best")
    cut = "[...document.querySelectorAll('.column-name')].filter(e => e.scrollWidth > e.clientWidth).length"
    assert page.evaluate(cut) == 0


def test_improbable_trees_have_logarithms(start, parser, open_page):
    server = start(parser)
    try:
        page = open_page(server.port)
        page.fill(
            "#text", "The/DET old/ADJ dog/NOUN that/PRON she/PRON loves/VERB barks/VERB at/ADP the/DET postman/NOUN"
        )
        page.wait_for_selector("#best li")
        assert "log p " in page.inner_text("#best")
        assert "0%" not in [line.split()[0] for line in page.inner_text("#best").splitlines() if line]
    finally:
        server.stop()


@pytest.mark.parametrize("width", [1200, 375])
def test_the_report_fits(labeler, browser, tmp_path, width):
    from trelliswork.cli.main import main

    gold = tmp_path / ("a_very_long_name_of_a_file_" * 6 + ".tsv")
    gold.write_text("2\tB-QTY\nripe\tB-NAME\ntomatoes\tI-NAME\n\n")
    assert main(["inspect", str(labeler), "--html", str(tmp_path / "report.html"), "--gold", str(gold)]) == 0
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((tmp_path / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert str(tmp_path) not in page.content()
    page.close()
