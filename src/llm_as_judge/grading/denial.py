"""What a question denies, and whether a reply says it.

"Which bicycles are never delivered?" denies "delivered". A reply that calls the gold delivered has
only words of the question and of the gold, and says the opposite of the answer.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from llm_as_judge.grading.wordlists import DENYING, informative, stem, tokens

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


def denies_more(text: str, *known: str) -> bool:
    """Has ``text`` a denial that the texts ``known`` have not, or more often than they?"""
    denials = Counter(word for word in tokens(spelled_out(text)) if word in DENYING)
    return bool(denials - Counter(tokens(spelled_out(" ".join(known)))))


def denied_words(question: str) -> frozenset[str]:
    """Stems of the words that stand behind a denial in ``question``."""
    words = informative(spelled_out(question))
    return frozenset(
        stem(word)
        for denial, word in pairwise(words)
        if denial in DENYING and not word[0].isdigit()  # "No 1" denies nothing
    )


def says_denied(question: str, gold: str, text: str) -> bool:
    """Does ``text`` say, beside ``gold`` and without the denial, what ``question`` denies?"""
    denied = denied_words(question) - {stem(word) for word in informative(gold)}
    words = ["", *informative(spelled_out(text))]
    return any(stem(word) in denied and left not in DENYING for left, word in pairwise(words))
