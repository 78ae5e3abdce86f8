"""Tables of answers and of the verdicts that they must get."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

Row = tuple[str, str, bool | None]
"""Gold, answer, verdict."""
_SIGNS = {"=>": True, "!>": False, "?>": None}


def table_rows(table: str) -> list[Row]:
    """Rows of lines ``gold => answer | answer !> answer ?> answer``: right, wrong and open ones.

    ``⏎`` is a line end within an answer.
    """
    found = []
    for line in table.strip().splitlines():
        gold, *parts = re.split(r" ([=!?]>) ", line.replace("⏎", "\n"))
        for sign, answers in zip(parts[::2], parts[1::2], strict=True):
            found += [(gold, answer, _SIGNS[sign]) for answer in answers.split(" | ")]
    return found


def items(text: str) -> list[str]:
    """The texts between `` | `` and line ends."""
    return [item.strip() for line in text.strip().splitlines() for item in line.split(" | ")]


async def verdicts_on(
    rules: Judge, rows: Iterable[Row], problem: Callable[[str], Problem]
) -> list[Row]:
    """The rows with the verdicts that they get; ``problem``: of a gold."""
    return [
        (gold, answer, (await rules.grade(problem(gold), answer)).correct)
        for gold, answer, _ in rows
    ]
