"""Retrieval of the passages that a question needs, by BM25 and by links between passages."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from llm_as_judge.operators.base import Operator, Result
from llm_as_judge.types import Json, Problem
from llm_as_judge.types.datasets import is_shipped

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
    kept = "\n\n".join(passages[n] for n in sorted(Passages(passages).best(asked, keep)))
    return f"{_CONTEXT}{kept}{_QUESTION}{asked}", len(passages)


class Passages:
    """Passages, indexed by their words."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._texts = [passage.lower() for passage in passages]
        self._titles = [_title(text) for text in self._texts]
        self._holding: dict[str, list[tuple[int, int]]] = {}
        """Word -> (passage, how often it is there)."""
        self._lengths: list[int] = []
        for n, text in enumerate(self._texts):
            counts = Counter(_words(text))
            self._lengths.append(counts.total())
            for word, count in counts.items():
                self._holding.setdefault(word, []).append((n, count))

    def best(self, question: str, keep: int) -> list[int]:
        """Positions of the ``keep`` passages that a question needs, the best first; of equals the first.

        A passage gains half of the best score where the question names its title (what stands before its
        first colon), and as much where it names a chosen passage's title or is named there.
        """
        texts, titles, asked = self._texts, self._titles, question.lower()
        scores = self.bm25(question)
        bonus = (max(scores) or 1.0) / 2
        scores = [
            score + bonus * (title != "" and title in asked)
            for score, title in zip(scores, titles, strict=True)
        ]
        linked = [0.0] * len(texts)
        chosen: list[int] = []
        left = list(range(len(texts)))
        while left and len(chosen) < keep:
            best = max(left, key=lambda n: scores[n] + linked[n])
            left.remove(best)
            chosen.append(best)
            for n in left:
                named = titles[n] and titles[n] in texts[best]
                if named or (titles[best] and titles[best] in texts[n]):
                    linked[n] = bonus
        return chosen

    def bm25(self, question: str) -> list[float]:
        """Score of each passage by the question's words without the common ones; k1 1.2, b 0.75.

        Source: Robertson and Zaragoza, Foundations and Trends in Information Retrieval 3 (2009).
        """
        total = len(self._texts)
        mean = sum(self._lengths) / total or 1.0
        parts: list[list[float]] = [[] for _ in self._texts]
        for word in set(_words(question)):
            holding = self._holding.get(word, ())
            weight = math.log(1 + (total - len(holding) + 0.5) / (len(holding) + 0.5))
            for n, count in holding:
                long = 0.25 + 0.75 * self._lengths[n] / mean
                parts[n].append(weight * count * 2.2 / (count + 1.2 * long))
        return [math.fsum(part) for part in parts]


@dataclass(frozen=True, slots=True)
class Library:
    """Passages of a folder of documents, for questions that come without any."""

    passages: Sequence[str]
    given: int
    """How many a question gets."""
    index: Passages = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", Passages(self.passages))

    def opened(self, problem: Problem) -> Problem:
        """The problem with the passages that its question needs, in their order; one of another domain, of
        a shipped set, or with passages, as it is."""
        if not wants_documents(problem):
            return problem
        found = sorted(self.index.best(problem.question, self.given))
        return replace(problem, context="\n\n".join(self.passages[n] for n in found))

    @property
    def sha256(self) -> str:
        """Of all that decides which passages a question gets."""
        return hashlib.sha256(json.dumps([self.given, *self.passages]).encode()).hexdigest()


def wants_documents(problem: Problem) -> bool:
    """Whether it is a question of one's own without passages."""
    told = problem.context or problem.question.startswith(_CONTEXT)
    return problem.domain == "qa" and not told and not is_shipped(problem.dataset)


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
        elif not passages:
            self.context.note("no passages: give the row a context, or set data.documents")
        return {"problem": text}
