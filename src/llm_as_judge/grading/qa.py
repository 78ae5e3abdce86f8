"""Grader of text answers, three-valued: typed values, equality of short texts, else left open.

Abstention is right exactly where the problem is unanswerable. A value of the gold's kind is right or
wrong. A text is right if it is the gold in a normal form; what is unequal is for the judge. Rules look at
words, so they cannot know that two names mean one thing, or that a sentence denies what it repeats.
"""

from __future__ import annotations

import re

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.extract import declared_answer, without_denied_number
from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.objects import is_object
from llm_as_judge.grading.single_values import Comparison
from llm_as_judge.grading.squad import hotpot_f1, normalize_answer, squad_f1
from llm_as_judge.grading.text import contains_words, is_short, normal_text
from llm_as_judge.grading.values import (
    FEET_AND_INCHES,
    compare_values,
    equal_values_in,
    states,
    without_asked_preposition,
)
from llm_as_judge.types import AnswerKind, Problem, Verdict

UNEQUAL = "qa.short_text"
"""The rule of a short gold and another text: open, for the judge; without one it is wrong, as an exact match is."""


def official_score(problem: Problem, answer: str) -> float:
    """Greatest official F1 over all gold answers; of an unanswerable problem 1 for abstaining."""
    if not problem.answers:
        return float(is_abstention(answer, problem.question) or not normalize_answer(answer))
    if problem.dataset_info.metric == "hotpot":
        return max(hotpot_f1(answer, gold)[0] for gold in problem.answers)
    return max(squad_f1(answer, gold) for gold in problem.answers)


_DECORATION = re.compile(r"^[\s\"'“”‘’*_`]+|[\s\"'“”‘’*_`.!]+$")
_NOTATION = re.compile(r"roman|numeral|spell|written|digit", re.IGNORECASE)


async def grade_qa(problem: Problem, answer: str) -> Verdict:
    """Verdict on a clean, guarded ``answer``; score is the official F1."""
    declared = declared_answer(answer, one_sentence=False)
    text = _bare(without_denied_number(declared.text, problem.answers))
    asked = Asked(problem.question, problem.domain, problem.spec)
    score = official_score(problem, text)
    if declared.fault is not None:
        return _verdict(False, "extract.several", f"several answers: {declared.shown}", 0.0)
    if not problem.answers or is_abstention(text, problem.question):
        return _abstention(problem, text, score)
    if _is_equal(problem, text):
        kind: AnswerKind = "short_text" if all(map(is_short, problem.answers)) else "long_text"
        return _verdict(True, "qa.exact", "equal to a gold answer", 1.0, kind)
    if problem.spec.grader is None and any(states(text, gold, asked) for gold in problem.answers):
        return _verdict(True, "qa.restated", "the question's words and a gold", 1.0, "short_text")
    typed = _typed(problem, text, asked) if problem.spec.grader != "exact" else None
    if typed is not None and typed.correct is not None:
        return _verdict(typed.correct, typed.rule, typed.why, float(typed.correct), typed.kind)
    if problem.spec.grader in ("exact", "typed"):
        return _verdict(False, "exact_match", "not equal to any gold answer", 0.0)
    if any(_is_surname(gold, text, problem.question) for gold in problem.answers):
        return _verdict(True, "qa.surname", "the family name of a person asked for", score)
    of_two = typed is not None and typed.kind == "yes_no"  # "They are not included." says no
    broken = None if of_two else _no_single_answer(text, problem)
    if broken:
        return _verdict(False, broken, "not one answer", 0.0)
    if typed is not None:
        return _verdict(None, typed.rule, typed.why, score, typed.kind)
    return _unequal(problem, text, asked, score)


def _verdict(
    correct: bool | None, rule: str, explanation: str, score: float, kind: AnswerKind | None = None
) -> Verdict:
    return Verdict(correct, rule.split(".")[0], rule, explanation, score=score, kind=kind)


def _is_equal(problem: Problem, text: str) -> bool:
    spelled = [True, False][bool(_NOTATION.search(problem.question)) :]
    return any(
        normal_text(_bare(one), numerals=numerals) == normal_text(_bare(other), numerals=numerals)
        for gold in problem.answers
        for one, other in (
            (text, gold),
            (without_asked_preposition(text, problem.question), gold),
            (text, without_asked_preposition(gold, problem.question)),
        )
        for numerals in spelled
    )


def _bare(text: str) -> str:
    return text if FEET_AND_INCHES.fullmatch(text) else _DECORATION.sub("", text) or text


def _typed(problem: Problem, text: str, asked: Asked) -> Comparison | None:
    """Of the gold answers the one that decides: an equal value, else a doubt, else another value."""
    found = [compare_values(gold, text, asked) for gold in problem.answers]
    compared = [one for one in found if one is not None]
    order = (True, None, False)
    return min(compared, key=lambda one: order.index(one.correct), default=None)


def _is_surname(gold: str, text: str, question: str) -> bool:
    """The family name of a person whom the question asks for."""
    names = gold.split()
    if len(names) not in {2, 3} or not all(name.isalpha() and name.istitle() for name in names):
        return False
    return bool(re.search(r"\bwho(?:m|se)?\b", question, re.I)) and text.strip() == names[-1]


def _unequal(problem: Problem, text: str, asked: Asked, score: float) -> Verdict:
    """What no rule decides, by what a judge would have to read."""
    if not any(map(is_short, problem.answers)):
        return _verdict(None, "qa.long_text", "the gold is a long text", score, "long_text")
    if any(
        contains_words(text, gold) or any(equal_values_in(text, gold, asked))
        for gold in problem.answers
    ):
        return _verdict(None, "qa.sentence", "a gold answer among other words", score, "short_text")
    return _verdict(None, UNEQUAL, "not equal to a gold answer", score, "short_text")


def _abstention(problem: Problem, text: str, score: float) -> Verdict:
    abstained = is_abstention(text, problem.question)
    if problem.answers:
        if _is_equal(problem, text):
            return _verdict(True, "qa.exact", "equal to a gold answer", 1.0, "short_text")
        return _verdict(False, "qa.abstained", "abstained on an answerable question", 0.0)
    if abstained:
        return _verdict(True, "qa.unanswerable", "abstained on an unanswerable question", 1.0)
    return _verdict(False, "qa.unanswerable", "answered an unanswerable question", score)


_DENIED = re.compile(
    r"(?:it|this|he|she|they|the answer)?\s*(?:is|was|are|were)?\s*"
    r"(?:not|never|anything but|neither|isn't|wasn't)\b",
    re.IGNORECASE,
)


_OF_ITSELF = re.compile(r"(?:^|\s)(\S.{0,120}?)\s+=\s+\1[\s,.;]")
"""An equation of a thing with itself, a piece of a calculation: "four = four, so 14 remain"."""
_OPEN_CHOICE = re.compile(r"\b(?:or|either|maybe|perhaps)\b", re.IGNORECASE)


def _no_single_answer(text: str, problem: Problem) -> str | None:
    """A denial, a choice left open, or a list of short lines, where no gold is one."""
    golds = problem.answers
    if _DENIED.match(text) and not any(_DENIED.match(gold) for gold in golds):
        return None if _denies_another(text, golds) else "extract.negated"
    short = len(text.split()) <= 12
    unquoted = _without_quoted_choices(text, problem)
    if short and _OPEN_CHOICE.search(unquoted) and not any(_OPEN_CHOICE.search(g) for g in golds):
        return "extract.several"
    if _listed(text, golds) or _OF_ITSELF.search(text):
        return "extract.several"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and not is_object(text) and all(len(line.split()) <= 5 for line in lines):
        return "extract.several"
    return None


_DENIED_PART = re.compile(r"[,;:.]\s|\bbut\b", re.IGNORECASE)


def _denies_another(text: str, golds: tuple[str, ...]) -> bool:
    """ "Not in Mora, but in Venn": what is denied is no gold, and a gold comes after it."""
    denied, *rest = _DENIED_PART.split(text, maxsplit=1)
    return not any(contains_words(denied, gold) for gold in golds) and any(
        contains_words(after, gold) for after in rest for gold in golds
    )


_CHOICE_BETWEEN = re.compile(r"\b(\w+) or (\w+)\b", re.IGNORECASE)


def _without_quoted_choices(text: str, problem: Problem) -> str:
    """Without those of the question's own words, unless a gold is among what they choose from: "the cue
    ball in pool or billiards is white"."""
    question = normalize_answer(problem.question)
    chosen = {word for gold in problem.answers for word in normalize_answer(gold).split()}

    def shown(match: re.Match[str]) -> str:
        quoted = f" {normalize_answer(match[0])} " in f" {question} "
        return "" if quoted and not chosen & set(normalize_answer(match[0]).split()) else match[0]

    return _CHOICE_BETWEEN.sub(shown, text)


_SEPARATED = re.compile(r",\s|\s/\s|;|\|")


def _listed(text: str, golds: tuple[str, ...]) -> bool:
    """Short items, of which one is a gold answer: three of them, and between commas only numbers
    and dates, since places and titles have commas too."""
    items = [item.strip() for item in _SEPARATED.split(text)]
    wanted = {normalize_answer(gold) for gold in golds}
    if any(_SEPARATED.search(gold) for gold in golds) or not wanted & set(
        map(normalize_answer, items)
    ):
        return False
    counted = [bool(re.search(r"\d", item)) or parse_number(item) is not None for item in items]
    short = all(len(item.split()) <= 5 for item in items)
    return short and len(items) >= 3 and (all(counted) or not re.search(r",\s", text))
