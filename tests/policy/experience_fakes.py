"""Experiences with vectors one can work out by hand, and an embedder of letters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llm_as_judge.policy.experience import Experience
from llm_as_judge.types import (
    Completion,
    Domain,
    Group,
    Problem,
    Program,
    Reward,
    Rollout,
    Verdict,
)


def unit(*numbers: float) -> np.ndarray:
    vector = np.asarray(numbers, np.float32)
    return np.divide(vector, np.linalg.norm(vector))


def experience(
    number: int,
    hash_: str = "h",
    reward: float = 9.0,
    *,
    vector: Sequence[float] = (1.0, 0.0),
    domain: Domain = "math",
    question: str | None = None,
    step: int = 1,
) -> Experience:
    return Experience(
        problem_id=f"set/train/{number}",
        domain=domain,
        question=f"question {number}" if question is None else question,
        passages=(),
        shown=f"shown {number}",
        program=f"return {hash_}",
        hash=hash_,
        reward=reward,
        step=step,
        vector=unit(*vector),
    )


class LetterEmbedder:
    """Counts of a, b and everything else, at unit length."""

    name = "letters"
    dimensions = 3

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        rows = []
        for text in texts:
            a, b = text.count("a"), text.count("b")
            rows.append([float(x) for x in unit(a, b, max(1, len(text) - a - b))])
        return rows


def rollout(problem: Problem, program: str, reward: float, *, correct: bool = True) -> Rollout:
    return Rollout(
        problem.id,
        0,
        Completion((1,), (2,), (-1.0,), program, "stop"),
        Program(program, program, hash=f"hash of {program}"),
        verdict=Verdict(correct, "exact", "equal"),
        reward=Reward({}, reward),
    )


def group(problem: Problem, *rollouts: Rollout) -> Group:
    return Group(problem, rollouts)
