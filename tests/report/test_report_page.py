"""The page in a real browser, where one is installed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_helpers import LEARNED, PATTERN, PUBLISHED, write_runs

from trlap.report.build import build

EVERY = PATTERN + LEARNED


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page on all made-up runs; it is made only where there is a browser."""
    outputs = write_runs(EVERY, tmp_path_factory.mktemp("runs") / "outputs")
    folder: Path = outputs / "report"
    build([outputs], folder, PUBLISHED)
    return (folder / "index.html").as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """On a telephone, at night; a message, an error or a request to the network fails the test."""
    opened = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
    problems: list[str] = []

    def check(request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            problems.append(request.url)

    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", check)
    opened.goto(address)
    yield opened
    # nothing sticks out
    assert opened.evaluate("document.documentElement.scrollWidth") == 390
    assert problems == []
    opened.close()


def test_runs_are_filtered_and_columns_that_none_has_are_hidden(page: Any) -> None:
    rows = page.locator("#cells tbody tr")
    assert rows.count() == len(EVERY)
    page.locator("#filter-protocol").select_option("release")
    assert rows.count() == 4
    assert page.locator("#count").inner_text() == f"4 of {len(EVERY)} runs"
    # none of them has one
    assert page.locator("#cells th[data-key=accuracy]").is_hidden()
    page.locator("#filter-protocol").select_option("")
    assert page.locator("#cells th[data-key=accuracy]").is_visible()
    page.locator("#find").fill("mechanism=laplace")
    assert rows.count() == 1


def test_columns_are_sorted_and_a_run_is_opened_by_the_keyboard_alone(page: Any) -> None:
    rows = page.locator("#cells tbody tr")
    page.locator("#filter-dataset").select_option("yelp")
    header = page.locator("#cells th[data-key=rouge1]")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    column = [t.strip() for t in page.locator("#cells td[data-key=rouge1]").all_inner_texts()]
    assert column == ["20.0", "24.0", "30.0", "67.5", "68.0", "68.0"]
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    rows.nth(5).locator("button").focus()
    page.keyboard.press("Enter")
    box = page.locator("#box")
    assert "python run.py mechanism=trlap epsilon=0.05" in box.inner_text()
    assert box.locator("mark").all_inner_texts()[0] == "fork"
    # text from runs is text, not markup
    assert "</b>" in box.inner_text()
    page.keyboard.press("Escape")
    assert not box.is_visible()


def test_the_sentence_is_shown_at_the_epsilon_one_chooses(page: Any) -> None:
    values = page.locator("#budget input").evaluate_all("all => all.map(one => one.value)")
    assert [float(value) for value in values] == sorted(map(float, values))
    shown = page.locator(".sentence dl:visible")
    for value in values:
        page.locator(f"#budget label:has(input[value='{value}'])").click()
        assert {*shown.evaluate_all("all => all.map(one => one.dataset.epsilon)")} == {value}


def test_a_wide_figure_says_that_it_scrolls_and_is_drawn_for_the_dark(page: Any) -> None:
    figure = page.locator("figure").first
    assert figure.locator(".hint").is_visible()
    assert figure.locator(".scroll").evaluate("box => box.scrollWidth > box.clientWidth")
    used = figure.locator("img").evaluate("image => image.currentSrc")
    assert used == figure.locator("source").get_attribute("srcset")


def test_runs_come_in_the_order_of_numbers(page: Any) -> None:
    page.locator("#filter-dataset").select_option("sst2")
    page.locator("#filter-mechanism").select_option("crr")
    column = page.locator("#cells td[data-key=epsilon]").all_inner_texts()
    assert column == sorted(column, key=float) and "10" in column and "5" in column
    options = page.locator("#filter-epsilon option").all_inner_texts()[1:]
    numbers = [float(text.replace("∞", "inf")) for text in options]
    assert numbers == sorted(numbers)


def test_columns_have_the_names_and_digits_of_the_metrics(page: Any) -> None:
    titles = page.locator("#cells thead th:not([hidden])").all_inner_texts()
    settings = ["mechanism", "ε", "exact ε", "holds", "protocol", "dataset", "vectors", "train"]
    private_and_labels = ["kept", "cosine", "accuracy", "classifier reads"]
    rewritten = ["Loss", "Rouge1", "N_w", "BERTScore"]
    assert [title.strip(" ↑") for title in titles] == settings + private_and_labels + rewritten
    page.locator("#find").fill("mechanism=laplace")
    digits = {key: f"#cells td[data-key={key}]" for key in ("private_n_w", "loss", "n_w")}
    shown = {key: page.locator(place).inner_text() for key, place in digits.items()}
    assert shown == {"private_n_w": "0.100", "loss": "38.0", "n_w": "0.240"}
