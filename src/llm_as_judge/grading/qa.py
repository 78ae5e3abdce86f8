"""Grader of short text answers, three-valued.

Equal after the official normalization -> correct; nothing in common -> incorrect; abstention is
right exactly where the problem is unanswerable. In between, rules accept what carries the same
information and nothing else; they look at words, so they cannot know that two different names mean
one thing: that stays unknown, for the LLM judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import zip_longest

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.grading.clock import is_time_of_day, times_of_day
from llm_as_judge.grading.denial import says_denied
from llm_as_judge.grading.extract import declared_answer
from llm_as_judge.grading.number import FAMILIES, parse_number, singular
from llm_as_judge.grading.objects import is_object
from llm_as_judge.grading.restated import restates
from llm_as_judge.grading.shifted import adds_period, is_shifted
from llm_as_judge.grading.squad import hotpot_f1, normalize_answer, squad_f1
from llm_as_judge.grading.whole_words import adds_sign, gold_places, limits_more, stated_gold
from llm_as_judge.grading.wordlists import MONTHS, TURNING, informative, numbers, stem, tokens
from llm_as_judge.grading.yes_no import restated_yes_or_no, yes_or_no
from llm_as_judge.types import Problem, Verdict


def official_score(problem: Problem, answer: str) -> float:
    """Greatest official F1 over all gold answers; of an unanswerable problem 1 for abstaining."""
    if not problem.answers:
        return float(is_abstention(answer, problem.question) or not normalize_answer(answer))
    if problem.dataset_info.metric == "hotpot":
        return max(hotpot_f1(answer, gold)[0] for gold in problem.answers)
    return max(squad_f1(answer, gold) for gold in problem.answers)


_DECORATION = re.compile(r"^[\s\"'“”‘’*_`]+|[\s\"'“”‘’*_`.!]+$")


async def grade_qa(problem: Problem, answer: str) -> Verdict:
    """Verdict on a clean, guarded ``answer``; score is the official F1."""
    declared = declared_answer(answer, one_sentence=False)
    text = _DECORATION.sub("", declared.text)
    score = official_score(problem, text)
    if declared.fault is not None:
        return _verdict(False, "extract.several", f"several answers: {declared.shown}", 0.0)
    if not problem.answers or is_abstention(text, problem.question):
        return _abstention(problem, text, score)
    if any(normalize_answer(text) == normalize_answer(gold) for gold in problem.answers):
        return _verdict(True, "qa.exact", "equal after the official normalization", 1.0)
    notation = re.search(r"roman|numeral|spell|written|digit", problem.question, re.IGNORECASE)
    if not notation and any(
        tokens(text) == tokens(gold) and tokens(gold) for gold in problem.answers
    ):
        return _verdict(True, "qa.same_words", "equal up to numerals, accents and dashes", score)
    if any(_same_time(gold, text) for gold in problem.answers):
        return _verdict(True, "qa.same_time", "equal times in other units", score)
    closed = [gold for gold in problem.answers if normalize_answer(gold) in {"yes", "no"}]
    if closed and restated_yes_or_no(problem.question, text) == normalize_answer(closed[0]):
        return _verdict(True, "qa.yes_no", "the question's own words, said or denied", score)
    if not closed and any(restates(problem.question, gold, text) for gold in problem.answers):
        return _verdict(True, "qa.restated", "the question's own words with a gold answer", score)
    broken = _no_single_answer(text, problem)
    if broken:
        return _verdict(False, broken, "not one answer", 0.0)
    if closed:
        correct, rule, why = yes_or_no(normalize_answer(closed[0]), text, problem.question)
        return _verdict(correct, rule, why, 0.0 if correct is False else score)
    for gold in problem.answers:
        same = _same_information(gold, text, problem)
        if same:
            return _verdict(True, same, f"carries the same information as {gold!r}", score)
    if stated_gold(problem, text) is not None and not is_shifted(problem, text):
        return _verdict(True, "qa.stated", "a sentence that states a gold answer alone", score)
    if score == 0 and not _shared(problem, text):
        return _verdict(False, "qa.nothing_shared", "no word in common with any gold answer", 0.0)
    return _verdict(None, "qa.partial", f"official F1 {score:.2f}", score)


def _verdict(correct: bool | None, rule: str, explanation: str, score: float) -> Verdict:
    return Verdict(correct, rule.split(".")[0], rule, explanation, score=score)


def _abstention(problem: Problem, text: str, score: float) -> Verdict:
    abstained = is_abstention(text, problem.question)
    if problem.answers:
        golds = {normalize_answer(gold) for gold in problem.answers}
        if normalize_answer(text) in golds:
            return _verdict(True, "qa.exact", "equal after the official normalization", 1.0)
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
        return "extract.negated"
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


# --------------------------------------------------------------------------- the same information
_COORDINATION = re.compile(r"\band\b|\bor\b|&|/|;|,|\n|\bvs\b|\bas well as\b", re.IGNORECASE)


_TIMES = {"once": "1", "twice": "2", "thrice": "3"}
_LONGEST_NUMBER = 40
"""Digits of a number that is compared as a value; a longer one is compared as a word."""


def _shared(problem: Problem, text: str) -> set[str]:
    """What ``text`` has in common with a gold answer: words in some form, beginnings of long words,
    values of numbers, times of day, lengths of time: "a month" may be "30 days"."""
    golds = {part for gold in problem.answers for part in _parts(gold)}
    shared = golds & {*_parts(text), *_parts(_GLUED.sub(" ", text))}
    words = tokens(text)
    if not (shared or numbers(words)) and any(map(_is_length_of_time, problem.answers)):
        return {singular(word) for word in words} & set(FAMILIES["time"])
    return shared


def _is_length_of_time(gold: str) -> bool:
    number = parse_number(gold)
    return number is not None and number.unit in FAMILIES["time"]


_GLUED = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|[⁰¹²³⁴-⁹]+")
"""Where a footnote's mark or a lost space has joined words: "wasBuddhism1", "1994⁶"."""


def _parts(text: str) -> Iterator[str]:
    """See :func:`_shared`: "dog" of "dogs", "36" of "36.0", "1209600 s" of "14 days"."""
    yield from (f"{minutes} min" for minutes in times_of_day(text))
    words = [_TIMES.get(word, word) for word in informative(text)]
    for word, unit in zip_longest(words, words[1:], fillvalue=""):
        if not word[0].isdecimal() or len(word) > _LONGEST_NUMBER:
            yield from (word[:5], stem(word)[:5], _singular(word)[:5])
            continue
        yield str(Fraction(word))
        seconds = FAMILIES["time"].get(singular(unit))
        if seconds is not None:
            yield f"{Fraction(word) * seconds} s"


def _singular(word: str) -> str:
    """ "city" of "cities"; other plurals have the stem of their singular."""
    return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word


def _same_information(gold: str, text: str, problem: Problem) -> str | None:
    """The rule by which ``text`` says ``gold`` and nothing else, or None."""
    gold_words, words = informative(gold), informative(text)
    if not gold_words or not words:
        return None
    if (TURNING & set(tokens(text))) - set(tokens(gold)):
        return None
    if _adds(_COORDINATION, gold, text) or adds_sign(gold, text):
        return None
    if says_denied(problem.question, gold, text) or limits_more(text, problem.question, gold):
        return None
    if any(adds_period(text[end:], gold, problem.question) for _, end in gold_places(gold, text)):
        return None
    if _YEAR.search(gold):
        gold_words, words = _without_era(gold_words), _without_era(words)
    asked = {stem(word) for word in informative(problem.question)}
    new_gold = [word for word in gold_words if stem(word) not in asked]
    new = [word for word in words if stem(word) not in asked]
    dated = bool(MONTHS & set(new_gold))
    same = sorted(new) == sorted(new_gold) if dated else _unique(new) == _unique(new_gold)
    if (new_gold and same and numbers(words) == numbers(gold_words)) or (
        new_gold and same and dated and sorted(numbers(words)) == sorted(numbers(gold_words))
    ):
        return "qa.same_information"
    if _counted(gold, text, problem.question):
        return "qa.count"
    if _surname(gold, text, problem.question):
        return "qa.surname"
    if problem.context and _span_of_context(gold, text, problem.context):
        return "qa.context_span"
    return None


_YEAR = re.compile(r"\b\d{3,4}\b")
_ERA = frozenset({"year", "during", "ad", "ce"})


def _without_era(words: list[str]) -> list[str]:
    """Words beside a year that say no more than "in": "in the year 1932", "1932 AD"."""
    return [word for word in words if word not in _ERA] if len(numbers(words)) == 1 else words


def _same_time(gold: str, text: str) -> bool:
    """Two lengths of time, each one number with a unit: "120 minutes" for "2 hours"; or two times of day."""
    if is_time_of_day(gold) and is_time_of_day(text):
        return times_of_day(gold) == times_of_day(text)
    one, other = parse_number(gold), parse_number(text)
    seconds = FAMILIES["time"]
    if one is None or other is None or not {one.unit, other.unit} <= set(seconds):
        return False
    return one.value * seconds[one.unit] == other.value * seconds[other.unit]


_NO_BARE_COUNT = frozenset(
    [
        "hundred",
        "thousand",
        "million",
        "billion",
        "trillion",
        "dozen",
        "percent",
        "%",
        "per",
        "half",
        "times",
    ]
)


def _counted(gold: str, text: str, question: str) -> bool:
    """``11`` for "eleven academic units", where the question asks how many."""
    words = informative(gold)
    counted = numbers(words)
    asked = re.search(r"\bhow many\b", question, re.IGNORECASE)
    if not asked or len(counted) != 1 or words[:1] != counted or _NO_BARE_COUNT & set(words):
        return False
    return informative(text) == counted


def _surname(gold: str, text: str, question: str) -> bool:
    """The family name of a person whom the question asks for."""
    names = gold.split()
    if len(names) not in {2, 3} or not all(name.isalpha() and name.istitle() for name in names):
        return False
    return bool(re.search(r"\bwho(?:m|se)?\b", question, re.I)) and text.strip() == names[-1]


def _unique(words: list[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _adds(pattern: re.Pattern[str], gold: str, text: str) -> bool:
    """Does ``text`` join more things than ``gold`` does? (A comma in a date joins nothing.)"""
    undated = re.sub(r"(?<=\d),\s*(?=\d{4}\b)", " ", text)
    return len(pattern.findall(undated)) > len(pattern.findall(gold))


def _span_of_context(gold: str, text: str, context: str) -> bool:
    """A span of the passage around the gold, or the gold without lower-case words at its ends."""
    wanted, words = normalize_answer(gold).split(), normalize_answer(text).split()
    if squad_f1(text, gold) < 0.5 or _adds(_COORDINATION, text, gold):
        return False  # a part of what the gold lists is not all of it
    if _inside(wanted, words):
        return _inside(words, normalize_answer(context).split())
    if not _inside(words, wanted):
        return False
    dropped = [raw for raw in gold.split() if normalize_answer(raw) not in words]
    return all(raw.islower() and not any(c.isdigit() for c in raw) for raw in dropped)


def _inside(part: list[str], whole: list[str]) -> bool:
    size = len(part)
    return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))
