"""A page of paragraphs, tables and charts, without a run behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from llm_as_judge.files import write_text
from llm_as_judge.views.report import charts
from llm_as_judge.views.report.page import environment, page_policy, template_text


@dataclass(frozen=True, slots=True)
class TextTable:
    """The first column names the rows."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def write_plain(
    path: Path,
    title: str,
    paragraphs: Sequence[str],
    tables: Sequence[TextTable],
    pictures: Sequence[charts.Chart],
) -> None:
    """
    Raises:
        OutputError: the file cannot be written.
    """
    style = template_text("style.css")
    page = environment().get_template("plain.html")
    write_text(
        path,
        page.render(
            title=title,
            policy=page_policy(style, ""),
            style=Markup(style),
            paragraphs=paragraphs,
            tables=tables,
            charts=pictures,
        ),
    )
