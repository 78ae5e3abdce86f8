"""Labeled answers to questions about lakes, for tests of the judge's training."""

from llm_as_judge.audit.attacks import Case
from llm_as_judge.types import Problem

LAKES = ("Ostra", "Venn", "Mora", "Silt", "Arden", "Pell", "Quay", "Rook")


def case(number: int, candidate: str, correct: bool) -> Case:
    gold = f"Lake {LAKES[number % len(LAKES)]} {number}"
    question = f"Which lake does river number {number} feed?"
    problem = Problem(f"q/{number}", "open", "qa", question, (gold, gold.upper()))
    return Case(problem, candidate.format(gold=gold), correct, "labeled", "labeled")


def many(n: int = 60) -> list[Case]:
    return [
        one
        for number in range(n)
        for one in (
            case(number, "It feeds {gold}, which is large, as most know.", True),
            case(number, "Lake of tears, not far away.", False),
        )
    ]
