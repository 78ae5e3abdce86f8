"""A gold answer that stands as whole words in a sentence which says nothing else.

People rarely answer with the bare gold: "The three-point line was added in the 1979-80 season." Who
looks for the gold in a reply is easily fooled, though, by a reply that names everything. So the
sentence must state one thing plainly: no denial, hedge, contrast, limit ("for books only"), choice,
question or list, no other number beside a number, no longer name around a name. In front of the gold
it must say nothing that the question does not ("Verona, to the north of Rome" is no Rome), and the gold must bring a word that the
question has not. What breaks a condition is not wrong: it is left open.
"""

from __future__ import annotations

import re
from collections import Counter

from llm_as_judge.grading.wordlists import LIMITING, informative, numbers, stem, tokens

_SENTENCE_END = re.compile(r"(?<=[\w)\]\"'”’])[.!?](?=\s|$)")
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


def one_sentence(text: str) -> str | None:
    """The only sentence of ``text`` without its end ("Rome. Verona. Milan." is a list), or None."""
    sentences = [part for part in _SENTENCE_END.split(text) if part.strip()]
    return sentences[0] if len(sentences) == 1 else None


def gold_places(gold: str, sentence: str) -> list[tuple[int, int]]:
    """Where the words of ``gold`` stand in ``sentence``, as no part of another number."""
    words = re.findall(r"\w+", gold)
    if not words:
        return []
    pattern = r"[\W_]+".join(map(re.escape, words))
    found = re.finditer(rf"(?<![\w.,$€£-]){pattern}(?![\w]|[.,:]\d)", sentence, re.IGNORECASE)
    return [at.span() for at in found if _digits(at.group()) == _digits(gold)]


def _digits(text: str) -> list[str]:
    return numbers(tokens(text.casefold()))  # "Edward ii" is "Edward II"


_LIMITS = re.compile(
    rf"\b(?:{'|'.join(sorted(LIMITING))}|as long as|apart from|other than|in case|(?:provid(?:ed|ing)|given) that)\b",
    re.IGNORECASE,
)


def limits_more(text: str, *known: str) -> bool:
    """Has ``text`` a word that limits what it says ("14 days for books only", "..., if unopened")
    which the texts ``known`` have not, or more often than they?"""
    said, allowed = _limits(text), _limits(" ".join(known))
    return bool(said - allowed)


def _limits(text: str) -> Counter[str]:
    return Counter(found.casefold() for found in _LIMITS.findall(text))


_NO_VERB = re.compile(r"\s*(?:[^\w\s'’]|(?:and|as|at|by|for|from|in|of|on|with)\b|[A-Z0-9])")
"""Behind a gold it tells more of the gold: "by John Bunyan", "(1961)"."""
_VERBS_OF_ANY_ANSWER = frozenset(
    map(
        stem,
        [
            "credit",
            "establish",
            "hold",
            "honor",
            "know",
            "lead",
            "portray",
            "provide",
            "refer",
            "voice",
        ],
    )
)


def does_what_nobody_asked(before: str, after: str, gold: str, asked: set[str]) -> bool:
    """Does the gold between these texts begin the sentence and then do or suffer what the question does not
    name? "Ada forwards it to Ben, who approves it" says nothing of who approves. Behind a bare number stands what
    it counts."""
    if informative(before) or _NO_VERB.match(after) or gold.isdecimal():
        return False
    begun = {word[:_BEGINNING] for word in asked if len(word) >= _BEGINNING}
    telling = (
        word
        for word in informative(after)
        if not word.endswith("ly") and word not in {"also", "often"}
    )
    first = next(telling, None)
    return not (
        first is None
        or first in _LEADING
        or stem(first) in asked | _VERBS_OF_ANY_ANSWER
        or first[:_BEGINNING] in begun
    )
