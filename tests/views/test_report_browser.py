"""The page in a real browser: it draws, filters and moves by keyboard; hostile text does nothing.

Needs Chromium and the extra ``browser``; skipped with a reason where they are not. Screenshots go to
the folder that REPORT_SCREENSHOTS names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.views.report import Sources, write_report
from run_folders import HOSTILE, group, results, rollout, write_run

playwright = pytest.importorskip(
    "playwright.sync_api", reason="no playwright: pip install 'llm-as-judge[browser]'"
)
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    page = folder / "page.html"
    named = {"direct": results(0.5, 100), "trained": results(0.7, 300)}
    write_report(Sources(write_run(folder / "run", texts=HOSTILE, steps=12), named), page)
    return page.as_uri()


def opened(browser: Any, address: str, width: int = 1280, theme: str = "light") -> Any:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text))
    page.on("request", lambda request: page.problems.append(request.url))
    page.goto(address)
    page.problems.remove(address.partition("#")[0])  # the page itself is the one request
    return page


def test_hostile_text_is_shown_and_does_nothing(browser: Any, address: str) -> None:
    page = opened(browser, address)
    for _ in range(24):
        page.keyboard.press("n")
        assert page.evaluate("window.hacked") is None
    assert page.problems == []
    assert page.evaluate("document.querySelectorAll('#group script, #group img').length") == 0
    assert HOSTILE[0] in page.locator(".neighbors").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_serious_finding_of_axe_and_nothing_beyond_the_edge(
    browser: Any, address: str, width: int, theme: str
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe: extra browser"
    )
    page = opened(browser, address, width, theme)
    found = axe.Axe().run(page).response["violations"]
    assert [v["id"] for v in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if folder := os.environ.get("REPORT_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/report_{theme}_{width}.png", full_page=True)


def test_filters_narrow_the_list(browser: Any, address: str) -> None:
    page = opened(browser, address)
    assert page.locator("#count").inner_text() == "24 problems, 96 programs"
    page.select_option("#f-domain", "qa")
    assert page.locator("#count").inner_text() == "12 problems, 12 programs"
    first = page.locator("#list .id").first.inner_text()
    assert page.locator("#group h3").inner_text().startswith(first)  # what is shown is in the list
    page.select_option("#f-domain", "")
    page.select_option("#f-outcome", "mixed")
    assert page.locator("#count").inner_text() == "12 problems, 84 programs"
    page.fill("#f-text", "nothing holds this text")
    assert page.locator("#count").inner_text() == "0 problems, 0 programs"


def test_the_keyboard_reaches_everything(browser: Any, address: str) -> None:
    page = opened(browser, address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    first = page.locator("#group h3").inner_text()
    page.keyboard.press("n")
    second = page.locator("#group h3").inner_text()
    page.keyboard.press("n")
    page.keyboard.press("p")
    assert page.locator("#group h3").inner_text() == second != first
    page.keyboard.press("/")
    page.keyboard.type("train/7")
    assert page.locator("#count").inner_text() == "1 problems, 7 programs"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#group h3").inner_text() == "gsm8k/train/7 · step 7"


def test_a_chosen_problem_has_an_address(browser: Any, address: str) -> None:
    page = opened(browser, address)
    page.keyboard.press("n")
    shown = page.locator("#group h3").inner_text()
    assert opened(browser, page.url).locator("#group h3").inner_text() == shown


def test_curves_and_tables_need_no_script(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("svg.chart").count() >= 6
    assert page.locator("#results").is_visible()
    assert page.locator("#rollouts noscript").count() == 1


def test_equal_programs_are_one_card_with_each_of_their_outcomes(
    browser: Any, tmp_path: Path
) -> None:
    alike = [replace(rollout(i), program=rollout(0).program) for i in range(3)]
    otherwise = replace(rollout(3, correct=False, total=1.0), program=rollout(0).program)
    log = RunLog(tmp_path / "run")
    log.groups(1, [group(1, *alike, otherwise, rollout(4, text="another"))])
    log.step(1, {"reward/mean": 1.0})
    write_report(Sources(log.folder), tmp_path / "page.html")
    page = opened(browser, (tmp_path / "page.html").as_uri())
    cards = page.locator(".neighbors .card")
    assert cards.count() == 2
    first = cards.nth(0).inner_text()
    assert first.startswith("Programs 1, 2, 3, 4")
    assert "3 of 4 right" in first
    assert "4 times the same program" in first
    assert "reward +4.00" in first  # the mean
    assert cards.nth(0).locator("pre").count() == 1
    runs = cards.nth(0).locator(".runs")
    assert runs.all_inner_texts() == ["Programs 1, 2, 3: right", "Program 4: wrong"]
    assert cards.nth(1).inner_text().startswith("Program 5")
