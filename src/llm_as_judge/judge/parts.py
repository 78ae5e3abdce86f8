"""Kinds of replies to questions that a trained judge has thresholds of their own for, or may not accept at all.

A reply that holds the gold as whole words is nearly always right, one that does not is a near miss as often
as another wording: one threshold for both would give away the first or believe the second.

Four kinds are never accepted, however sure the judge is (:data:`NEVER_ACCEPTED`). There one word decides, and a
policy that is rewarded by the judge would find them:

- numbers, but none of a gold that has some ("1932" for "1923"),
- a short list, or a choice, with a gold in it ("Lisbon, Madrid, Porto"),
- a gold with one of its words replaced ("olive oil" for "whale oil"),
- something near the gold in each sentence that holds it ("the deputy of Rossi", :mod:`llm_as_judge.grading.shifted`).

The last three are looked for in the whole reply and in each of its sentences that shares a word with a gold, so a
sentence beside them that says nothing of it changes nothing.

Nor is a reply to a multiple choice that names no option plainly: the judge has not learned from options, and of
it such a reply is not asked at all.

Of 13,237 answers that people call right, the rules leave 7,575 open; 292 of these are of the four kinds
(judge_parts.py at commit 7c35486).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from llm_as_judge.grading.choice import is_choice
from llm_as_judge.grading.extract import declared_answer
from llm_as_judge.grading.number import count_numbers
from llm_as_judge.grading.shifted import is_shifted, sentences_near
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.grading.wordlists import informative, stem, tokens
from llm_as_judge.types import Problem

HOLDING = ", gold in it"
OTHER_NUMBER = ", another number"
IN_LIST = ", gold in a list"
WORD_OFF = ", one word off"
SHIFTED = ", near the gold"
CHOICE = ", multiple choice"
NEVER_ACCEPTED = (OTHER_NUMBER, IN_LIST, WORD_OFF, SHIFTED, CHOICE)


def part_of(problem: Problem, candidate: str) -> str:
    """The domain, for questions with the kind of reply behind it."""
    domain: str = problem.domain
    if is_choice(problem):
        return domain + CHOICE
    if domain != "qa":
        return domain
    if _has_another_number(problem, candidate):
        return domain + OTHER_NUMBER
    text = declared_answer(candidate, one_sentence=False).text
    kind = _kind_decided_by_a_word(problem, text)
    if kind is not None:
        return domain + kind
    return domain + HOLDING if holds_gold(problem, candidate) else domain


def _kind_decided_by_a_word(problem: Problem, text: str) -> str | None:
    """Of the whole ``text``, or of every sentence of it that is near a gold."""
    kind = _kind_of_piece(problem, text)
    if kind is not None:
        return kind
    kinds = [_kind_of_piece(problem, one) for one in sentences_near(text, problem.answers)]
    return None if None in kinds else next(iter(kinds), None)


def _kind_of_piece(problem: Problem, text: str) -> str | None:
    if _is_in_list(text, _golds(problem)):
        return IN_LIST
    if _is_one_word_off(text, problem.answers):
        return WORD_OFF
    return SHIFTED if is_shifted(problem, text) else None


def holds_gold(problem: Problem, candidate: str) -> bool:
    """Whether a gold, but yes and no, stands in ``candidate`` as whole words."""
    said = f" {normalize_answer(candidate)} "
    return any(f" {gold} " in said for gold in _golds(problem))


def without_listings(golds: Sequence[str]) -> list[str]:
    """Without the text that only lists others of them between slashes."""
    known = {gold.strip() for gold in golds}
    return [g for g in golds if "/" not in g or {part.strip() for part in g.split("/")} - known]


def shown_references(
    golds: Sequence[str], problem: Problem, candidate: str, most: int
) -> Sequence[str]:
    """Each accepted answer once; of more than ``most`` those with most words of the candidate.

    Collections of open questions have dozens of spellings of one name, and reading them is most of a judge's work.
    """
    if problem.domain == "qa":
        apart = without_listings(golds)[::-1]
        golds = list({normalize_answer(gold): gold for gold in apart}.values())[::-1]
    if len(golds) > most:
        said = set(normalize_answer(candidate).split())
        golds = sorted(golds, key=lambda gold: -len(said & set(normalize_answer(gold).split())))
    return golds[:most]


def _golds(problem: Problem) -> set[str]:
    return {normalize_answer(gold) for gold in problem.answers} - {"", "yes", "no"}


def _has_another_number(problem: Problem, candidate: str) -> bool:
    golds, said = [_numbers(gold) for gold in problem.answers], _numbers(candidate)
    return bool(golds and all(golds) and said and not said & set().union(*golds))


def _numbers(text: str) -> set[Fraction]:
    """In digits and in words: 7 of "seven"."""
    spelled = (word for word in tokens(text) if word.isascii() and word.isdecimal())
    return {*count_numbers(text), *map(Fraction, spelled)}


_BETWEEN = re.compile(r",?\s+or\s+(?:else\s+)?|,\s|\s/\s|;|\||\n")
_SAYING = re.compile(
    r"^(?:or else )?(?:either |it |this |that |he |she |they )*(?:is |was |are |were )?",
    re.IGNORECASE,
)
_LONGEST_ITEM = 5


def _is_in_list(text: str, golds: set[str]) -> bool:
    """Three short items or more, or alternatives, one of which is a gold and another is none."""
    items = [normalize_answer(_SAYING.sub("", item.strip())) for item in _BETWEEN.split(text)]
    items = [item for item in items if item]
    least = 2 if re.search(r"\bor\b", text) else 3
    short = len(items) >= least and all(len(item.split()) <= _LONGEST_ITEM for item in items)
    return short and bool(golds & set(items)) and not set(items) <= golds


def _is_one_word_off(text: str, golds: Sequence[str]) -> bool:
    """As many words as a gold has, all but one of them the same."""
    said = Counter(map(stem, informative(text)))
    wanted = [Counter(map(stem, informative(gold))) for gold in golds]
    count = said.total()
    if count < 2 or said in wanted:
        return False
    return any(gold.total() == count and (gold & said).total() == count - 1 for gold in wanted)
