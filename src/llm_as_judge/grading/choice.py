"""Grader of multiple choice: exactly one option, by its letter or by its text."""

from __future__ import annotations

import re

from llm_as_judge.grading.extract import declared_answer
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.types import Problem, Verdict

_LETTER = re.compile(
    r"^(?:[Oo]ption\s+|[Cc]hoice\s+|[Aa]nswer\s+)?[(\[]?([A-Z])(?:[)\].:]|\s*[-–:.]|$)\s*(.*)$",
    re.DOTALL,
)


def choose(text: str, options: tuple[str, ...]) -> int | None:
    """Index of the one option that ``text`` names; None if it names none or several.

    A letter with the text of another option beside it names two.
    """
    text = text.strip().strip("*_`\"'").strip()
    verbatim = [i for i, option in enumerate(options) if option.casefold() == text.casefold()]
    if len(text) > 1 and len(verbatim) == 1:
        return verbatim[0]
    by_text = [
        index
        for index, option in enumerate(options)
        if normalize_answer(option) and normalize_answer(option) == normalize_answer(text)
    ]
    match = _letter(text, options)
    if match is not None:
        return _by_letter(match, options)
    return by_text[0] if len(by_text) == 1 else None


def _letter(text: str, options: tuple[str, ...]) -> re.Match[str] | None:
    """``C``, ``(C)``, ``C. ...``; a lower-case letter counts only if no option is that."""
    match = _LETTER.match(text)
    if match is None and len(text) == 1 and text not in options:
        match = _LETTER.match(text.upper())
    in_range = match is not None and ord(match.group(1)) - ord("A") < len(options)
    return match if in_range else None


def _by_letter(match: re.Match[str], options: tuple[str, ...]) -> int | None:
    """The option of a letter, unless another text than its own stands beside it."""
    index = ord(match.group(1)) - ord("A")
    rest = normalize_answer(match.group(2))
    if not rest or rest == normalize_answer(options[index]):
        return index
    return None


def grade_choice(problem: Problem, answer: str) -> Verdict:
    """Verdict on a clean, guarded ``answer``; the gold is a letter."""
    declared = declared_answer(answer, one_sentence=True)
    if declared.fault is not None:
        return Verdict(False, "extract", "extract.several", declared.shown, score=0.0)
    index = choose(declared.text, problem.options)
    if index is None and not declared.marked:
        named = {choose(line, problem.options) for line in declared.text.strip().splitlines()}
        last = choose(declared.text.strip().splitlines()[-1], problem.options)
        index = last if named <= {last, None} else None
    if index is None:
        explanation = "the answer names no option, or several"
        return Verdict(False, "choice", "choice.unclear", explanation, score=0.0)
    letter = chr(ord("A") + index)
    correct = letter in {gold.strip().upper() for gold in problem.answers}
    return Verdict(correct, "choice", "choice.letter", f"chose {letter}", score=float(correct))
