"""One self-contained HTML page from a run's folder, results files and a judge audit."""

from llm_as_judge.views.report.page import Sources, render, write_report

__all__ = ["Sources", "render", "write_report"]
