"""GSM8K and MATH: raw record -> Problem.

Each function takes the record in its upstream form or in the hub's form (they differ in names and
nesting only) and keeps everything: what has no field of its own goes to ``meta``. A record that
breaks its set's promise raises :class:`~llm_as_judge.data.rows.RowError`.
"""

from __future__ import annotations

import hashlib
import re

from llm_as_judge.data.rows import RawRow, RowError, field, fields, text
from llm_as_judge.types import Problem
from llm_as_judge.types.datasets import GSM8K, MATH


def gsm8k(row: RawRow, split: str) -> Problem:
    """``{question, answer}``; the gold number follows the last ``####``, commas removed.

    Source: github.com/openai/grade-school-math.
    """
    record = fields(row.record)
    solution = text(record, "answer")
    _, marker, final = solution.rpartition("####")
    answer = final.strip().replace(",", "")
    if not marker or not answer:
        raise RowError("'answer' has no number after '####'")
    return Problem(
        id=f"{GSM8K.name}/{split}/{row.number}",
        dataset=GSM8K.name,
        domain="math",
        question=text(record, "question"),
        answers=(answer,),
        meta={"solution": solution},
    )


def math(row: RawRow, split: str) -> Problem:
    """``{problem, level, type, solution}``; the gold answer is the last box of the solution.

    Source: github.com/hendrycks/math.
    """
    record = fields(row.record)
    solution, question = text(record, "solution"), text(record, "problem")
    answer = boxed_answer(solution) or _EMPTY_BOXES.get(_digest(question), "")
    if not answer:
        raise RowError(r"'solution' has no \boxed{} or \fbox{} with an answer")
    return Problem(
        id=f"{MATH.name}/{split}/{row.number}",
        dataset=MATH.name,
        domain="math",
        question=question,
        answers=(answer,),
        meta={
            "level": field(record, "level", str),
            "subject": field(record, "type", str),
            "solution": solution,
        },
    )


_EMPTY_BOXES = {
    # Two rows of the official train split have an empty box; the answer stands in their solutions
    # (all numbers named are composite). The key is a digest of the problem.
    "6bf518e40168794f": "0",
    "debc168317355296": "0",
}


def _digest(question: str) -> str:
    return hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:16]


_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
_TOKEN = re.compile(r"\\[A-Za-z]+|[^\s$\\{}]+")


def boxed_answer(solution: str) -> str:
    r"""Content of the last ``\boxed{...}`` or ``\fbox{...}``, braces nested to any depth.

    ``\boxed 7`` (no braces) gives ``7``. Empty when there is no box, or it is never closed.
    """
    answer = ""
    for box in _BOX.finditer(solution):
        start = box.end()
        if solution[start : start + 1] == "{":
            end = _closing_brace(solution, start)
            answer = solution[start + 1 : end].strip() if end else ""
        else:
            token = _TOKEN.match(solution, start)
            answer = token.group() if token else ""
    return answer


def _closing_brace(source: str, opening: int) -> int:
    """Index of the brace that closes the one at ``opening``; 0 if none does. ``\\{`` is no brace."""
    depth, position = 0, opening
    while position < len(source):
        character = source[position]
        if character == "\\":
            position += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return 0
