"""Tables of figures for terminal and document: names and figures stay whole at 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.table import Table

from llm_as_judge.views.console import console, say

_NAME_WIDTH = 16
_LONGEST = 40
"""Columns with longer cells are left to wrap at their blanks, longer names in heads at their parts."""


def show_table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool
) -> None:
    """Print a table whose first column names its rows.

    What is too wide for the terminal goes on in a second table of the same rows; heads are wrapped
    at blanks, so that no name is broken.
    """
    if markdown:
        print(f"**{title}**\n")  # noqa: T201
        lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
        print("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n")  # noqa: T201
        return
    names = [_wrapped(row[0], _NAME_WIDTH) if len(row[0]) > 24 else row[0] for row in rows]
    cells = [[name, *row[1:]] for name, row in zip(names, rows, strict=True)]
    widest = [max((_width(row[n]) for row in cells), default=0) for n in range(len(head))]
    for roomy in (_NAME_WIDTH, 0):  # heads in fewer lines, if there is room for that
        heads = [_heading(text, max(w, roomy)) for text, w in zip(head, widest, strict=True)]
        widths = [min(_LONGEST, max(w, _width(h))) for w, h in zip(widest, heads, strict=True)]
        if sum(widths) + len(widths) <= console.width:
            break
    if title:
        say(title, "italic")
    for columns in _parts(widths, console.width):
        table = Table(box=None, padding=(0, 1, 0, 0))
        for n in columns:
            table.add_column(heads[n], justify="right" if n else "left", overflow="fold")
        for row in cells:
            table.add_row(*(row[n].replace("[", r"\[") for n in columns))
        console.print(table)


def _parts(widths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Numbers of the columns that stand side by side: the first one, and what fits beside it."""
    columns, used = [0], widths[0] + 1
    for number, width in enumerate(widths[1:], start=1):
        if len(columns) > 1 and used + width + 1 > most:
            yield columns
            columns, used = [0], widths[0] + 1
        columns.append(number)
        used += width + 1
    yield columns


def _heading(text: str, width: int) -> str:
    """A name is whole up to what a column may be wide."""
    longest = max(map(len, text.split()), default=0)
    return _wrapped(text, width, _ANYWHERE if longest > _LONGEST else _AT_BLANKS)


_AT_BLANKS, _ANYWHERE = r"\S*\s?", r"[^\s_/-]*[\s_/-]?"


def _wrapped(text: str, width: int, pieces: str = _ANYWHERE) -> str:
    """``text`` in lines of at most ``width``, if its words, or parts of names, are no longer."""
    lines = [""]
    for piece in filter(None, re.findall(pieces, text)):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _width(text: str) -> int:
    return max(map(len, text.split("\n")))


def turned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The same table with its rows as columns."""
    first, *others = ([*column] for column in zip(head, *rows, strict=True))
    return first, others


def number_cell(value: float | None, form: str = "{:.2f}") -> str:
    return "-" if value is None else form.format(value)
