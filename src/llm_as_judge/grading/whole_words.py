"""A gold answer that stands as whole words in a sentence which says nothing else.

People rarely answer with the bare gold: "The three-point line was added in the 1979-80 season." Who
looks for the gold in a reply is easily fooled, though, by a reply that names everything. So the
sentence must state one thing plainly: no denial, hedge, contrast, choice, question or list, no other
number beside a number, no longer name around a name. In front of the gold it must say nothing that the
question does not ("Verona, to the north of Rome" is no Rome), and the gold must bring a word that the
question has not. What breaks a condition is not wrong: it is left open.
"""

from __future__ import annotations

import re

from llm_as_judge.grading.extract import is_hedged, is_negated
from llm_as_judge.grading.wordlists import informative, stem, tokens
from llm_as_judge.types import Problem

_SENTENCE_END = re.compile(r"(?<=[\w)\]\"'”’])[.!?](?=\s|$)")
_BROKEN = re.compile(r"[\n?|=]|\bor\b|\s/\s|,\s*so\b", re.IGNORECASE)
"""A second line, a question, a choice, a calculation."""
_CONTRAST = re.compile(
    r"\b(?:but|however|although|though|while|whereas|actually|others?|another|some|previous(?:ly)?|former(?:ly)?"
    r"|originally|later|first thought|mistaken(?:ly)?|said to|claim(?:s|ed)?|false(?:ly)?)\b",
    re.IGNORECASE,
)
_JOINED_BEFORE = re.compile(r"(?:[,;&/+]|\b(?:and|or|nor|versus|vs\.?|plus))\s*$", re.IGNORECASE)
_JOINED_AFTER = re.compile(r"\s*(?:[,;&/+]|(?:and|or|nor|versus|vs|plus)\b)", re.IGNORECASE)
_SCALED = re.compile(
    r"\s*(?:%|[/^*+=<>-]\s*\d|(?:percent|hundred|thousand|million|billion|trillion|dozen|squared|cubed"
    r"|times|per)\b)",
    re.IGNORECASE,
)
_AND_ANOTHER = re.compile(r"\band\b\s+(?:the\s+)?[A-Z0-9]")
_BEGINNING = 5
"""Letters by which forms of one word are held equal."""
_LEADING = frozenset(
    [
        "call",
        "called",
        "name",
        "named",
        "known",
        "located",
        "found",
        "founded",
        "situated",
        "based",
        "play",
        "played",
        "portrayed",
        "voiced",
        "provided",
        "role",
        "write",
        "written",
        "titled",
        "made",
        "composed",
        "sing",
        "sung",
        "perform",
        "performed",
        "recorded",
        "direct",
        "directed",
        "create",
        "created",
        "invent",
        "invented",
        "introduced",
        "take",
        "took",
        "taken",
        "place",
        "primarily",
        "hold",
        "held",
        "release",
        "released",
        "premiered",
        "aired",
        "bear",
        "born",
        "win",
        "won",
        "answer",
        "year",
        "date",
        "day",
        "term",
        "word",
        "title",
        "actor",
        "actress",
        "singer",
        "author",
        "person",
        "city",
        "country",
        "state",
        "character",
        "song",
        "film",
        "movie",
        "book",
    ]
)
_MARKS = "\"'“”‘’*()[] "
_STATES = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "has",
        "had",
        "have",
        "by",
        "in",
        "on",
        "at",
        "of",
        "for",
        "from",
        "to",
    ]
)


def stated_gold(problem: Problem, text: str) -> str | None:
    """The gold answer that ``text`` states and nothing beside it, or None.

    Args:
        text: clean, one declared answer.
    """
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    if len(sentences) != 1 or _BROKEN.search(text.strip()):
        return None  # "Rome. Verona. Milan." is a list, too
    golds = problem.answers
    if _CONTRAST.search(text) or is_negated(text) or is_hedged(text):
        return None
    asked = {stem(word) for word in tokens(problem.question)}
    if not _is_sentence(sentences[0], asked):
        return None
    return next((gold for gold in golds if _stands(gold, sentences[0], text, asked)), None)


def _is_sentence(text: str, asked: set[str]) -> bool:
    """Words in a row are a list, whatever separates them."""
    return any(word in _STATES or stem(word) in asked for word in tokens(text))


def _stands(gold: str, sentence: str, text: str, asked: set[str]) -> bool:
    words = re.findall(r"\w+", gold)
    if not words or not any(stem(word) not in asked for word in informative(gold)):
        return False  # an echo of the question would have it, too
    if _has_number(words) and _other_numbers(words, text, asked):
        return False
    pattern = r"[\W_]+".join(map(re.escape, words))
    found = re.finditer(rf"(?<![\w.,$€£-]){pattern}(?![\w]|[.,:]\d)", sentence, re.IGNORECASE)
    return any(
        _alone(sentence[: at.start()], sentence[at.end() :], words, asked)
        and _nothing_new(sentence[: at.start()], asked)
        and not _AND_ANOTHER.search(sentence[at.end() :])
        for at in found
    )


def _nothing_new(before: str, asked: set[str]) -> bool:
    """Only words of the question, and those by which a sentence leads to its answer."""
    begun = {word[:_BEGINNING] for word in asked if len(word) >= _BEGINNING}
    return all(
        word in _LEADING or stem(word) in asked or word[:_BEGINNING] in begun
        for word in informative(before)
    )


def _has_number(words: list[str]) -> bool:
    return any(word[0].isdigit() for word in tokens(" ".join(words)))


def _other_numbers(words: list[str], text: str, asked: set[str]) -> bool:
    known = {*tokens(" ".join(words)), *asked}
    return any(word[0].isdigit() and word not in known for word in tokens(text))


def _alone(before: str, after: str, words: list[str], asked: set[str]) -> bool:
    """Is the gold between these texts no item of a list and no part of a longer name?"""
    before, after = before.rstrip(_MARKS), after.lstrip(_MARKS)
    if _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after):
        return False
    if words[-1][-1].isdigit() and _SCALED.match(after):
        return False
    return not (_name_ends(before, asked) or _name_begins(after, asked))


def _name_ends(before: str, asked: set[str]) -> bool:
    """A capital at the beginning of the sentence is no sign of a name."""
    last = re.search(r"\S+\s+([^\W\d_]\S*)$", before)
    return last is not None and _is_name(last.group(1), asked)


def _name_begins(after: str, asked: set[str]) -> bool:
    first = re.match(r"[^\W\d_][\w'’-]*", after)
    return first is not None and _is_name(first.group(), asked)


def _is_name(word: str, asked: set[str]) -> bool:
    return word[0].isupper() and not {stem(part) for part in tokens(word)} <= asked
