"""Writes docs/configuration.md and docs/metrics.md anew; a test keeps them up to date."""

from pathlib import Path

from llm_as_judge.config.reference import configuration_page
from llm_as_judge.runs.metric_names import metrics_page

DOCS = Path(__file__).resolve().parents[1] / "docs"

if __name__ == "__main__":
    (DOCS / "configuration.md").write_text(configuration_page(), encoding="utf-8")
    (DOCS / "metrics.md").write_text(metrics_page(), encoding="utf-8")
