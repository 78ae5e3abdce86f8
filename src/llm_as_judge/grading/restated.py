"""The question's own words with the gold where the question asks.

"Cargo bicycles are never delivered." answers "Which bicycles are never delivered?" Other rules leave
open every sentence with a denial and many with a second number, since either may turn the gold into
something else. Here they may stand, because the reply must be the question itself: its words in its
order, the gold in place of the part that asks, and else only words that tell nothing. So a denial
denies what it denies in the question, and a number counts what it counts there. What breaks a
condition is not wrong: it is left open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from llm_as_judge.grading.whole_words import gold_places, one_sentence
from llm_as_judge.grading.wordlists import (
    ASKING,
    DENYING,
    HELPING,
    JOINING,
    LIGHT,
    MODAL,
    TURNING,
    informative,
    stem,
    tokens,
)

_LONGEST = 40
"""Words of a question or a reply that are compared."""
_GOLD = "<gold>"
_TIMES = frozenset(
    map(stem, ["when", "where", "year", "month", "day", "date", "century", "season"])
)
_AT_A_TIME = frozenset(["in", "on", "at"])
_TURNS = frozenset(map(stem, TURNING | DENYING))
_DENIES = frozenset(map(stem, DENYING))
_ASKS_TWICE = re.compile(rf"\b(?:and|or|but)\s+(?:\w+\s+)?(?:{'|'.join(sorted(ASKING))})\b", re.I)
_DASH = re.compile(r"[-–—.]")
_NO_MARK = re.compile(r"[^\S\n]|[\w\"'“”‘’$€£%]")
_SHORT = re.compile(
    r"\b(is|are|was|were|do|does|did|has|have|had|would|could|should|must|might|need)n['’ ]?t\b",
    re.IGNORECASE,
)
_SHORTER = {
    "can": re.compile(r"\bca(?:n['’ ]?t|nnot)\b", re.I),
    "will": re.compile(r"\bwon['’]t\b", re.I),
}


def spelled_out(text: str) -> str:
    """``text`` with "not" as a word: "isn't" -> "is not"."""
    text = _SHORT.sub(r"\1 not", text)
    for verb, pattern in _SHORTER.items():
        text = pattern.sub(f"{verb} not", text)
    return text


def restates(question: str, gold: str, text: str) -> bool:
    """Is ``text`` the question's own words with ``gold``, a denial or a number among them?

    Args:
        text: clean, one declared answer.
    """
    sentence = one_sentence(text)
    asked = {stem(word) for word in tokens(question)}
    if sentence is None or "?" in text or all(stem(word) in asked for word in informative(gold)):
        return False  # an echo of the question would have it, too
    return any(
        _restates(asking, sentence[:begin], sentence[end:])
        for begin, end in gold_places(gold, sentence)
        if not adds_marks(gold, _DASH.sub("", sentence[begin:end]))
        for asking in re.split(r"(?<=[.!?])\s+", question)
    )


def adds_marks(text: str, reply: str) -> bool:
    """Has ``reply`` a mark (a comma, a dash, a sign, a new line) that ``text`` has not?"""
    return bool(Counter(_NO_MARK.sub("", reply)) - Counter(_NO_MARK.sub("", text)))


def _restates(asking: str, before: str, after: str) -> bool:
    """Does the reply that has the gold between these texts restate the sentence ``asking``?"""
    question, said = _words(asking), [*_words(before), _GOLD, *_words(after)]
    if max(len(question), len(said)) > _LONGEST or said[0] in ASKING:
        return False
    if _ASKS_TWICE.search(asking) or adds_marks(asking, before + after):
        return False
    at = said.index(_GOLD)
    if any(word[0].isdigit() for word in said[max(at - 1, 0) : at + 2]):
        return False  # "7 80 bicycles"
    if _modal(said) != _modal(question):
        return False
    told = _told(said)
    if not any(map(_turns, told)):
        return False  # what the other rules read
    return any(
        _is_question(question, asks, told) for asks, word in enumerate(question) if word in ASKING
    )


def _words(text: str) -> list[str]:
    return tokens(spelled_out(text))


def _modal(words: list[str]) -> list[str]:
    return sorted(word for word in words if word in MODAL)


def _told(words: list[str]) -> list[str]:
    """Stems of the words that tell something or join two that do.

    Verbs that a question moves are left out: a sentence has them elsewhere.
    """
    left_out = (LIGHT - JOINING) | ASKING | MODAL
    return [word if word == _GOLD else stem(word) for word in words if word not in left_out]


def _turns(word: str) -> bool:
    return word in _TURNS or word[0].isdigit()


def _is_question(question: list[str], asks: int, said: list[str]) -> bool:
    """Is ``said`` the question with the gold in place of what its word ``asks`` begins?"""
    head, behind = _told(question[:asks]), question[asks + 1 :]
    led = list(takewhile(lambda word: word in JOINING, reversed(head)))
    named = _told(list(takewhile(lambda word: word not in HELPING, behind)))
    tail = _told(behind)
    at_a_time = _AT_A_TIME if _TIMES & {*named, stem(question[asks])} else frozenset()
    for size in range(len(named) + 1):
        part, rest = tail[:size], tail[size:]
        if _DENIES.intersection(part) or (part and part[-1] in JOINING):
            continue
        for fewer in {0, len(led)}:
            kept, free = head[: len(head) - fewer], at_a_time.union(led[:fewer])
            if _stands_for(part, free, kept, rest, said):
                return True
    return False


def _stands_for(
    part: list[str], free: frozenset[str], head: list[str], tail: list[str], said: list[str]
) -> bool:
    """Is ``said`` these two with a gold that stands for ``part``?

    Args:
        free: "in" or "by", which may lead to the gold.
    """
    for low, high in _gold_phrases(said, part, free):
        rest = said[:low] + said[high:]
        if rest and rest == head + tail and not _splits(rest, low, len(head)):
            return True
        if head and head[0] in JOINING and rest == tail + head and not _splits(rest, low):
            return True  # "In 1990 who was not elected?"
    return False


def _gold_phrases(
    said: list[str], part: list[str], free: frozenset[str]
) -> Iterator[tuple[int, int]]:
    """The gold with words of the part that it stands for: "14 arches", "in the year 1990"."""
    at = said.index(_GOLD)
    for low in range(at, -1, -1):
        before = [word for word in said[low:at] if word not in free]
        for high in range(at + 1, len(said) + 1):
            if not _in_order([*before, *said[at + 1 : high]], part):
                break
            yield low, high


def _in_order(words: list[str], part: list[str]) -> bool:
    """ "Venn beat" is in "which team did Venn beat", "beat Venn" is not."""
    left = iter(part)
    return all(not _turns(word) and word not in JOINING and word in left for word in words)


def _splits(rest: list[str], low: int, place: int | None = None) -> bool:
    """Does a gold before ``rest[low]`` part a denial or a number from the word that it belongs to?

    Args:
        place: where the question asks; there it parts nothing.
    """
    if low in {0, place}:
        return False
    left = rest[low - 1]
    if low == len(rest):
        return left in _DENIES
    return _turns(left) or left == "and" or rest[low][0].isdigit()
