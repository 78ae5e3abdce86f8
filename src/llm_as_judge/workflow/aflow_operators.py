"""The host's operators as plain Python, for programs that run in AFlow: nothing here needs this package.

The export copies what stands below into the file of a program. Answers are compared as numbers where
they are numbers, and else as words without their punctuation; code is compared as it is written.
"""

import inspect
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any


def _said(given: Any) -> str:
    """A text, or the last text of a whole result."""
    if isinstance(given, dict):
        given = next((held for held in reversed(given.values()) if isinstance(held, str)), "")
    return str("" if given is None else given).strip()


def _key(text: str) -> Any:
    """Equal for answers that are the same: ``18``, ``18.0`` and ``$18``; code is what is written."""
    if re.search(r"^[ \t]*(async )?def ", text, re.MULTILINE):
        return text
    boxed = re.findall(r"\\boxed\{([^{}]*)\}", text)
    plain = (boxed[-1] if boxed else text).strip(" $.*")
    number = re.sub(r"\\d?frac\{(-?\d+)\}\{(\d+)\}", r"\1/\2", plain)
    number = re.sub(r",(?=\d{3}\b)", "", number)
    try:
        # an exponent may stand for a number of any length
        return Fraction("" if "e" in number.lower() else number)
    except (ValueError, ZeroDivisionError):
        words = re.sub(r"\b(a|an|the)\b|[.,;:!?'\"](?!\d)", " ", plain.lower())
        return " ".join(words.split()) or plain.lower() or text


def _tally(solutions: list[Any]) -> tuple[str, int, int]:
    """(first solution of the class that most are in, its votes, all votes)."""
    said = [text for text in map(_said, solutions) if text]
    votes = Counter(map(_key, said))
    winner = max(said, key=lambda text: votes[_key(text)], default="")
    return winner, votes[_key(winner)] if winner else 0, len(said)


class Vote:
    def __init__(self, llm: Any, name: str = "Vote") -> None:
        self.llm = llm

    async def __call__(self, solutions: list[Any]) -> dict[str, Any]:
        winner, votes, every = _tally(solutions)
        return {"answer": winner, "share": votes / max(1, every)}


class UntilAgree:
    def __init__(self, llm: Any, name: str = "UntilAgree") -> None:
        self.llm = llm

    async def __call__(
        self, ways: list[Callable[[], Any]], agree: int = 2, most: int = 5
    ) -> dict[str, Any]:
        drawn: list[Any] = []
        wanted = min(agree, most)
        while len(drawn) < most and _tally(drawn)[1] < wanted:
            made = ways[len(drawn) % len(ways)]()
            drawn.append(await made if inspect.isawaitable(made) else made)
        winner, votes, every = _tally(drawn)
        return {"answer": winner, "share": votes / max(1, every), "agreed": votes >= wanted}


class UntilPassed:
    writer: Any = None
    """AFlow's CustomCodeGenerate."""
    tester: Any = None
    """AFlow's Test, which knows the public tests of an entry point."""

    def __init__(self, llm: Any, name: str = "UntilPassed") -> None:
        self.write, self.test = type(self).writer(llm), type(self).tester(llm)

    async def __call__(self, problem: str, entry_point: str, most: int = 3) -> dict[str, Any]:
        best, fewest = "", 0
        for _ in range(most):
            code = _said(await self.write(problem, entry_point, ""))
            found = self.test.exec_code(code, entry_point) if code else "no code"
            if found == "no error":
                return {"solution": code, "passed": True}
            failed = len(found) if isinstance(found, list) else 10**6
            if code and (not best or failed < fewest):
                best, fewest = code, failed
        return {"solution": best, "passed": False}
