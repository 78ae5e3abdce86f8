"""Reader of shifted replies, wrong by words beside the gold.

"The deputy of Rossi", "Rossi's successor", "until Sunday", "it used to be Rossi", "Rossi is banned", "Rossi forwards it",
"HR, which informs Rossi", "Rossi, but anybody may", "120 euros a year", "30 working days", "for books only".

People rarely write such replies, but one word makes a right answer wrong there, so a policy that is rewarded for
them would find them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from llm_as_judge.grading.wordlists import (
    LIGHT,
    LIMITING,
    NAMING,
    informative,
    numbers,
    stem,
    tokens,
)
from llm_as_judge.types import Problem

_SENTENCE_END = re.compile(r"(?<=[\w)\]\"'”’])[.!?](?=\s|$)|\n")
_ARTICLE = r"(?:(?:the|an?|his|her|its|their)\s+)?"
_NEAR = (
    r"(?<!named )(?:before|after|behind|beside|near|opposite|outside|until|till|since|next to|not far from"
    r"|over|under|above|below|beneath|beyond|exceeding|except|almost|nearly|at (?:least|most)|up to"
    r"|(?:more|less|fewer) than|no (?:more|less|fewer) than)"
)
_BEFORE = re.compile(rf"\b{_NEAR}\s+{_ARTICLE}$", re.IGNORECASE)
_ANOTHER = re.compile(
    r"\b(?:former|late|deputy|vice|assistant|acting|interim|old|previous|next|second|other)[\s-]+$|\bex-$",
    re.IGNORECASE,
)
_OF = re.compile(rf"([^\W\d_]+)\s+of\s+{_ARTICLE}$", re.IGNORECASE)
_NAMING = frozenset(map(stem, NAMING))
"""What a gold is: "the city of Rome" is Rome."""
_BEHIND = re.compile(r"^\s*['’]s\s+\w+", re.IGNORECASE)
_PERIODS = "second|minute|hour|day|night|week|month|quarter|year"
_BY_PERIOD = re.compile(
    rf"^\s*(?:(?:(?:in\s+)?(?:an?|each|every)|per|/)\s*({_PERIODS})\b"
    r"|(hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually)\b|per\s+(\w+))",
    re.IGNORECASE,
)
"""Behind a gold: "120 euros a year"."""
_ADVERBS = {"dai": "day", "annual": "year"}
_OBJECT_OF_ASIDE = re.compile(rf",\s*(?:who|which|that)\s+([^\W\d_]+)\s+{_ARTICLE}$", re.IGNORECASE)
"""In front of a gold: "Requests go to HR, which informs Rossi"."""
_TAKEN_BACK = re.compile(r"\b(?:but|however|though|although|yet)\b", re.IGNORECASE)
"""Behind a gold: "it mentions Rossi, but anybody may do it"."""
_FROM = re.compile(rf"\b(?:from|between)\s+{_ARTICLE}$", re.IGNORECASE)
_TO = re.compile(r"^\s*(?:to|until|till|through|and)\b", re.IGNORECASE)
_NOT_SO = re.compile(
    r"\b(?:used to|no longer|not any ?more|formerly|once|(?<=the )old|banned|forbidden|prohibited|disallowed|barred"
    r"|excluded|illegal|instead of|rather than|looks?|seems?|appears?|until (?:last|recently|now|then))\b|;",
    re.IGNORECASE,
)
"""No more, not allowed, in appearance alone; or a second clause."""
_LIMITS = re.compile(
    rf"\b(?:{'|'.join(sorted(LIMITING))}|as long as|apart from|other than|in case|(?:provid(?:ed|ing)|given) that)\b",
    re.IGNORECASE,
)
_NO_VERB = re.compile(r"\s*(?:[^\w\s'’]|(?:and|as|at|by|for|from|in|of|on|with)\b|[A-Z0-9])")
"""Behind a gold it tells more of the gold: "by John Bunyan", "(1961)"."""
_BEGINNING = 5
"""Letters by which forms of one word are held equal."""


def sentences_near(text: str, golds: Sequence[str]) -> list[str]:
    """The sentences and lines of ``text`` that share a word with a gold; all of them where none does."""
    wanted = {stem(word) for gold in golds for word in informative(gold)}
    found = [part for part in _SENTENCE_END.split(text) if part.strip()]
    near = [part for part in found if wanted & set(map(stem, informative(part)))]
    return near or found


def is_shifted(problem: Problem, text: str) -> bool:
    """Whether the single sentence ``text`` says something near a gold answer wherever it holds one.

    A word of the question shifts nothing. False where ``text`` is several sentences or holds no gold.
    """
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    if len(sentences) != 1:
        return False
    sentence = sentences[0]
    places = [(at, gold) for gold in problem.answers for at in _gold_places(gold, sentence)]
    # "Shakespeare" within "William Shakespeare" is no place of its own
    whole = [
        (at, gold) for at, gold in places if not any(_within(at, other) for other, _ in places)
    ]
    asked = {stem(word) for word in tokens(problem.question)}
    if not whole:
        return any(_is_parted(gold, sentence, asked) for gold in problem.answers)
    known = " ".join([problem.question, *problem.answers])
    if any(_found(words, sentence) - _found(words, known) for words in (_NOT_SO, _LIMITS)):
        return True
    return all(
        _at(sentence[: at[0]], sentence[at[1] :], gold, asked)
        or _adds_period(sentence[at[1] :], gold, problem.question)
        for at, gold in whole
    )


def _gold_places(gold: str, sentence: str) -> list[tuple[int, int]]:
    """Where the words of ``gold`` stand in ``sentence``, as no part of another number."""
    words = re.findall(r"\w+", gold)
    if not words:
        return []
    pattern = r"[\W_]+".join(map(re.escape, words))
    found = re.finditer(rf"(?<![\w.,$€£-]){pattern}(?![\w]|[.,:]\d)", sentence, re.IGNORECASE)
    return [at.span() for at in found]


def _within(place: tuple[int, int], other: tuple[int, int]) -> bool:
    return place != other and other[0] <= place[0] and place[1] <= other[1]


def _found(words: re.Pattern[str], text: str) -> Counter[str]:
    return Counter(found.casefold() for found in words.findall(text))


def _adds_period(after: str, gold: str, question: str) -> bool:
    """Whether ``after``, which stands behind ``gold``, begins with how often ("a year", "weekly", "per trip")
    and neither the gold nor the question names that period."""
    found = _BY_PERIOD.match(after)
    if found is None or not numbers(tokens(gold)):
        return False
    named = next(part for part in found.groups() if part).casefold()
    period = named.removesuffix("ly") if found.group(2) else named
    return stem(_ADVERBS.get(period, period)) not in {
        stem(_ADVERBS.get(word.removesuffix("ly"), word.removesuffix("ly")))
        for word in tokens(f"{question} {gold}")
    }


def _is_parted(gold: str, sentence: str, asked: set[str]) -> bool:
    """A word between a number and what it counts: "30 working days" for "30 days"."""
    words = tokens(gold)
    if len(words) < 2 or not numbers(words[:1]) or numbers(words[1:]):
        return False
    said = tokens(sentence)
    for at, word in enumerate(said):
        behind = said[at + 1 : at + 3]
        if word == words[0] and stem(words[1]) in map(stem, behind[1:]):
            return stem(behind[0]) not in asked
    return False


def _at(before: str, after: str, gold: str, asked: set[str]) -> bool:
    if _does_what_nobody_asked(before, after, gold, asked):
        return True
    aside = _OBJECT_OF_ASIDE.search(before)
    if (
        aside is not None
        and aside.group(1).casefold() not in LIGHT
        and _is_new(aside.group(1), asked)
    ):
        return True
    found = [
        *(one.search(before) for one in (_BEFORE, _ANOTHER)),
        _TAKEN_BACK.search(after),
        _BEHIND.match(after),
    ]
    if any(one is not None and _is_new(one.group(), asked) for one in found):
        return True
    if _FROM.search(before) and _TO.match(after):
        return True
    of = _OF.search(before)
    return of is not None and stem(of.group(1).casefold()) not in _NAMING | asked


def _is_new(words: str, asked: set[str]) -> bool:
    return not {stem(word) for word in tokens(words)} <= asked


def _does_what_nobody_asked(before: str, after: str, gold: str, asked: set[str]) -> bool:
    """Does the gold between these texts begin the sentence and then do or suffer what the question does not
    name? "Ada forwards it to Ben, who approves it" says nothing of who approves. Behind a bare number stands what
    it counts."""
    if informative(before) or _NO_VERB.match(after) or gold.isdecimal():
        return False
    telling = (
        word
        for word in informative(after)
        if not word.endswith("ly") and word not in {"also", "often"}
    )
    first = next(telling, None)
    begun = {word[:_BEGINNING] for word in asked if len(word) >= _BEGINNING}
    return not (first is None or stem(first) in asked or first[:_BEGINNING] in begun)
