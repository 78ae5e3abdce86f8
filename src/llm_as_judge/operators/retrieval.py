"""Retrieval of the passages that a question needs, by BM25 and by links between passages."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from llm_as_judge.operators.base import Operator, Result
from llm_as_judge.types import Json

_CONTEXT, _QUESTION = "Context:\n", "\n\nQuestion: "
_TITLE = re.compile(r"([^\n:]{4,100}): ")
_COMMON = """
a also an and are as at be been both but by did do does for from had has have he her his how in is it its not of on
or she that the their these they this those to was were what when where which who whom whose why with
"""
_NO_WORDS = frozenset(_COMMON.split())


def with_passages(problem: str, keep: int, context: str = "") -> tuple[str, int]:
    """(the problem with its ``keep`` best passages in their order, number of passages that there were).

    Args:
        problem: ``Context:``, passages with a blank line between them, ``Question:``; or a question alone.
        context: passages for a question alone.
    """
    asked = problem
    if problem.startswith(_CONTEXT) and _QUESTION in problem:
        before, _, asked = problem.rpartition(_QUESTION)
        context = before.removeprefix(_CONTEXT)
    passages = [passage for passage in context.split("\n\n") if passage.strip()]
    if not passages or (len(passages) <= keep and asked != problem):
        return problem, len(passages)
    kept = "\n\n".join(passages[n] for n in sorted(best_passages(asked, passages, keep)))
    return f"{_CONTEXT}{kept}{_QUESTION}{asked}", len(passages)


def best_passages(question: str, passages: Sequence[str], keep: int) -> list[int]:
    """Positions of the ``keep`` passages that a question needs, the best first; of equals the first.

    A passage gains half of the best score where the question names its title (what stands before its
    first colon), and as much where it names a chosen passage's title or is named there.
    """
    scores = bm25(question, passages)
    bonus = (max(scores) or 1.0) / 2
    texts = [passage.lower() for passage in passages]
    titles = [_title(text) for text in texts]
    asked = question.lower()
    scores = [
        score + bonus * (title != "" and title in asked)
        for score, title in zip(scores, titles, strict=True)
    ]
    linked = [0.0] * len(passages)
    chosen: list[int] = []
    left = list(range(len(passages)))
    while left and len(chosen) < keep:
        best = max(left, key=lambda n: scores[n] + linked[n])
        left.remove(best)
        chosen.append(best)
        for n in left:
            named = titles[n] and titles[n] in texts[best]
            if named or (titles[best] and titles[best] in texts[n]):
                linked[n] = bonus
    return chosen


def bm25(question: str, passages: Sequence[str]) -> list[float]:
    """Score of each passage by the question's words without the common ones; k1 1.2, b 0.75.

    Source: Robertson and Zaragoza, Foundations and Trends in Information Retrieval 3 (2009).
    """
    counts = [Counter(_words(passage)) for passage in passages]
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / len(lengths) or 1.0
    wanted = sorted(set(_words(question)))
    holding = {word: sum(word in count for count in counts) for word in wanted}
    weight = {
        word: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for word, n in holding.items()
    }
    return [
        math.fsum(
            weight[word] * count[word] * 2.2 / (count[word] + 1.2 * (0.25 + 0.75 * length / mean))
            for word in wanted
            if word in count
        )
        for count, length in zip(counts, lengths, strict=True)
    ]


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in _NO_WORDS]


def _title(passage: str) -> str:
    """Without what stands behind it in brackets; empty where there is none."""
    found = _TITLE.match(passage)
    title = found[1].partition(" (")[0].strip() if found else ""
    return title if len(title) > 3 else ""


class Retrieve(Operator):
    """The problem with its best passages alone, without a call."""

    empty: ClassVar[Mapping[str, Json]] = {"problem": ""}
    worst_case_calls = 0
    answers = False

    async def run(self, problem: str, keep: int = 4) -> Result:
        text, passages = with_passages(problem, keep, self.context.problem.context)
        if passages > keep:
            self.context.note(f"{keep} of {passages} passages kept")
        return {"problem": text}
