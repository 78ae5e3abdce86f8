"""One self-contained HTML page from a run's folder, results files and a judge audit."""

from llm_as_judge.monitoring.report.page import Sources, render, write_report

__all__ = ["Sources", "render", "write_report"]
