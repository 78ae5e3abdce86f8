"""Times of day in a text: "9 p.m." is "21:00"."""

from __future__ import annotations

import re

from llm_as_judge.grading.wordlists import informative

_TIME = re.compile(
    r"(?<![\w.:])(?:(?P<hour>1[0-2]|0?[1-9])(?:[:.](?P<minute>[0-5]\d))?\s*(?P<half>[ap])\.?\s?m\b\.?"
    r"|(?P<hour24>[01]?\d|2[0-3]):(?P<minute24>[0-5]\d)(?![\d:]|\s*[ap]\.?\s?m\b))",
    re.IGNORECASE,
)


def times_of_day(text: str) -> set[int]:
    """Minutes since midnight of each time of day that ``text`` names; one without a.m. or p.m. is of 24 hours."""
    return {_minutes(found) for found in _TIME.finditer(text)}


def is_time_of_day(text: str) -> bool:
    """Whether ``text`` is one time of day and nothing else: "at 21:00"."""
    return len(_TIME.findall(text)) == 1 and not informative(_TIME.sub(" ", text))


def _minutes(found: re.Match[str]) -> int:
    if found["hour24"] is not None:
        return 60 * int(found["hour24"]) + int(found["minute24"])
    afternoon = 12 if found["half"].casefold() == "p" else 0
    return 60 * (int(found["hour"]) % 12 + afternoon) + int(found["minute"] or 0)
