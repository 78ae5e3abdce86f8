"""Questions of open QA that several tests ask."""

from llm_as_judge.types import Problem


def asked(question: str, *golds: str) -> Problem:
    return Problem("open/t/1", "open", "qa", question, golds)


NEVER = asked("Which bicycles are never delivered?", "cargo bicycles")
