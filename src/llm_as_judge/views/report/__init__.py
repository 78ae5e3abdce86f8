"""One self-contained HTML page from a run's folder and results files."""

from llm_as_judge.views.report.page import Sources, render, write_report
from llm_as_judge.views.report.results import Change, Changes, Side
