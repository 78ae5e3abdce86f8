"""Makes the documents' pictures from a run: docs/pictures/monitor.svg, report.png and front.png.

The report's needs Chromium and the extra `browser` (see docs/monitoring.md). A picture shows programs
and problems of the run: take one on the built-in sample, as `make full` leaves where no data are.

    python scripts/pictures.py logs/train_MODEL_TIME [results/evaluation/*_results.json | FOLDER/*]

The front is that of the results; docs/results/learning.md has the one of examples/adaptive/held_out_form.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from llm_as_judge.evaluation.layout import heading, read_full
from llm_as_judge.runs.rundir import read_run
from llm_as_judge.views.report import Sources, write_report
from llm_as_judge.views.screen import look, read_tail

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
MAX_BYTES = 200_000
SIZE: ViewportSize = {"width": 1280, "height": 560}


def monitor_picture(run_dir: Path) -> Path:
    """The terminal of `llm-as-judge monitor`, 80 columns."""
    run = read_run(run_dir)
    screen = Console(record=True, width=80, file=io.StringIO())
    screen.print(look(run, read_tail(run, "all"), now=(run.written_at or 0.0) + 3, size=(80, 23)))
    path = PICTURES / "monitor.svg"
    svg = screen.export_svg(title="llm-as-judge monitor", theme=DIMMED_MONOKAI)
    # the reader's own monospaced font: a picture asks the network for nothing
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S), encoding="utf-8")
    return path


def page_pictures(run_dir: Path, results: list[Path]) -> list[Path]:
    """Of `llm-as-judge report --html`: programs of one problem, side by side, and results by cost."""
    made = [PICTURES / "report.png"]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        page_file = Path(folder) / "report.html"
        named = {at.parent.name if at.is_dir() else heading(at): read_full(at) for at in results}
        write_report(Sources(run_dir, named), page_file)
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(page_file.as_uri())
        front = page.locator("#chart-front")
        if front.count():
            made.append(PICTURES / "front.png")
            front.screenshot(path=str(made[-1]))
        page.select_option("#f-outcome", "mixed")
        page.evaluate("document.querySelector('#group').scrollIntoView()")
        page.screenshot(path=str(made[0]))
        browser.close()
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("results", type=Path, nargs="*")
    chosen = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    for made in (
        monitor_picture(chosen.run_dir),
        *page_pictures(chosen.run_dir, chosen.results),
    ):
        print(f"{made}  {made.stat().st_size / 1000:.0f} kB")
        if made.stat().st_size > MAX_BYTES:
            raise SystemExit(f"error: {made}: larger than {MAX_BYTES} bytes")
