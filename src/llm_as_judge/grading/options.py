"""Options of a multiple choice: given apart, or written into the question with letters from A on."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from llm_as_judge.grading.extract import undecorated
from llm_as_judge.types import Problem

_DRESS = re.compile(
    r"\\(?:boxed|fbox|text|textbf|textit|textrm|textsf|emph|underline|mathrm|mathbf|mathit|mathsf"
    r"|operatorname)\s*\{([^{}]*)\}"
)
_SPACING = re.compile(r"\\(?:[ ,;:!]|quad|qquad|enspace|hspace\{[^{}]*\})|~|[^\S\n]+")
_DELIMITERS = re.compile(r"\\[()\[\]]|(?<!\\)\$|\*\*|__|`")
_SAME = (
    *((r"\dfrac", r"\frac"), (r"\tfrac", r"\frac"), (r"\left", ""), (r"\right", "")),
    *((r"\%", "%"), (r"\$", "$"), ("\u2212", "-"), ("\u2019", "'"), ("\u2013", "-")),
)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x2212: "-"}
_DEEPEST = 6


def undressed(text: str) -> str:
    """``text`` without the marks of LaTeX and Markdown that only set it in type."""
    for _ in range(_DEEPEST):
        text, count = _DRESS.subn(r" \1 ", text)
        if not count:
            break
    return _SPACING.sub(" ", _DELIMITERS.sub("", text)).translate(_FULL_WIDTH)


def option_key(text: str) -> str:
    """What texts of one option share: no case, no dress, no spaces beside signs. Signs stay."""
    text = undecorated(undressed(text))
    for one, other in _SAME:
        text = text.replace(one, other)
    text = re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(text.casefold().split()))
    return re.sub(r"^(?:the|an?) (?=\w)", "", text.rstrip(".,;:!")).strip("$ ")


_LONGEST_QUESTION = 8000
_MOST_TEXT = 300
_BEFORE = r"(?:(?<=\s)|(?<=^)|(?<=[,;|]))"
_LABELS = tuple(
    (re.compile(rf"{_BEFORE}{form}(?=\s|\S)", re.MULTILINE), least)
    for form, least in (
        (r"\(([A-Z])\)", 2),
        (r"\(([a-z])\)", 2),
        (r"\[([A-Z])\]", 2),
        (r"([A-Z])\)", 2),
        (r"([a-z])\)", 2),
        (r"([A-Z])[.:](?=\s)", 3),
        (r"([a-z])[.:](?=\s)", 3),
    )
)
"""A way to write the letters, and how many options on one line are no accident."""


def problem_options(problem: Problem) -> tuple[str, ...]:
    """Texts of the options in order, given apart or written into the question; empty if it has none."""
    return problem.options or options_in(problem.question)


@lru_cache(maxsize=1024)
def options_in(question: str) -> tuple[str, ...]:
    """Options with letters from A on in ``question``: ``A. argon``, ``(A) 3 (B) 5``, ``a) argon b) neon``."""
    text = undressed(question[-_LONGEST_QUESTION:])
    found = [_run(text, label, least) for label, least in _LABELS]
    return max(found, key=len)


def _run(text: str, label: re.Pattern[str], least: int) -> tuple[str, ...]:
    """The longest run of consecutive letters, the last of equals."""
    marks = list(label.finditer(text))
    best: tuple[str, ...] = ()
    for place, mark in enumerate(marks):
        if mark[1] not in "Aa":
            continue
        run = [mark]
        for other in marks[place + 1 :]:
            if ord(other[1]) == ord(run[-1][1]) + 1:
                run.append(other)
        texts = _texts(text, run)
        own_lines = all(not text[: one.start()].rpartition("\n")[2].strip(" -*") for one in run)
        if len(texts) >= (2 if own_lines else least) and len(texts) >= len(best):
            best = texts
    return best


_SENTENCE_END = re.compile(r"(?<=[\w)%\]])[.?!]\s+(?=[A-Z])")


def _texts(text: str, run: list[re.Match[str]]) -> tuple[str, ...]:
    """The text behind each mark; none if one is missing, or two are the same."""
    texts = [text[one.end() : other.start()] for one, other in pairwise(run)]
    wrapped = any("\n" in one.strip() for one in texts)
    last = re.split(r"\n\s*\n" if wrapped else r"\n", text[run[-1].end() :].lstrip(), maxsplit=1)[0]
    if not any(_SENTENCE_END.search(one) for one in texts):
        last = _SENTENCE_END.split(last, maxsplit=1)[0]
    shown = [
        re.sub(r"[\s,;|/]+(?:or|and|[-*\u2022])?\s*$", "", one).strip() for one in (*texts, last)
    ]
    whole = all(one and len(one) <= _MOST_TEXT for one in shown)
    return (
        tuple(shown) if whole and len({option_key(one) for one in shown}) == len(shown) > 1 else ()
    )
