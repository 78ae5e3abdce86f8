"""Restated questions: one sentence of the question's words, in their order, around the gold.

"A contractor's badge is blue." for "What color is a contractor's badge?". Their order tells who did what to whom, and
the auxiliaries tell when, and whether it is so. What a question may lose on the way is told by its grammar: the
words beside its interrogative, and a form of do.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from llm_as_judge.grading.text import contains_words, normal_tokens
from llm_as_judge.grading.units import read_unit

Words = Sequence[str]

_ONE_FORM = {"am": "is", "are": "is", "were": "was", "has": "have"}
_DO = frozenset(["do", "does", "did"])
_MODAL = frozenset(["can", "could", "may", "might", "must", "shall", "should", "will", "would"])
_AUXILIARIES = _DO | _MODAL | frozenset(["is", "was", "be", "been", "has", "have", "had"])
_RELATIVES = frozenset(["that", "which", "who"])
_LINKS = _RELATIVES | {"there"}
"""Words that a statement may add: "which river enters" is "the river that enters ... is", "how many", "there are"."""
_INTERROGATIVES = frozenset(
    ["how", "what", "when", "where", "which", "who", "whom", "whose", "why"]
)
_UNDOING = frozenset(["no", "not", "never", "without", "cannot", "cant", "wont", "and", "or"])
"""Words of a question that leave it open what a part of it says."""
_AT = frozenset(["at", "in", "on"])
"""Before a time or a place that a question asks for without them, as "for" before a duration."""
_ANSWERED = {"i": "you", "we": "you", "my": "your", "our": "your"}
"""Whom an answer speaks of: "You may enter." for "May I enter?"."""
_PRONOUNS = frozenset(["it", "he", "she", "they"])
"""In the place of what the question names: "It closes at 18:00", "Ann wrote it"."""
_STOP = re.compile(r"[?;\n]|(?<!\d):|:(?!\d)|[.!]\s")
"""A colon between digits is one of a time of day."""
_PLAIN = frozenset(",.'\"&\N{RIGHT SINGLE QUOTATION MARK}")
"""Punctuation that makes no other statement; of all other signs only those of question and gold may stand."""
_LONGER = 60
"""Characters by which a restatement may be longer than question and gold."""


def restates(text: str, gold: str, asking: str) -> bool:
    """Is ``text`` one sentence that says what ``asking`` asks, with ``gold`` in the place of what is asked for?"""
    if not _is_one_statement(text, f"{gold} {asking.rstrip(' ?')}"):
        return False
    words, wanted, asked = map(_tokens, (text.rstrip(" .!"), gold, asking))
    at = [n for n in range(len(words)) if words[n : n + len(wanted)] == wanted]
    where = [n for n, word in enumerate(asked) if word in _INTERROGATIVES]
    if len(at) != 1 or len(where) != 1 or asked[where[0]] == "whose":
        return False
    if set(wanted) <= _AUXILIARIES | _INTERROGATIVES or contains_words(asking, gold):
        return False
    if _UNDOING.intersection(asked) or any(_is_denied(word) for word in asked):
        return False
    before, behind = words[: at[0]], words[at[0] + len(wanted) :]
    front, which, rest = asked[: where[0]], asked[where[0]], asked[where[0] + 1 :]
    endings = _endings(before + behind, front + rest, which)
    if endings is None or (before and not _may_begin(before, front, before + behind + rest)):
        return False
    noun = _noun_told(which, rest, wanted, behind)
    ends = list(_ends(which, rest))
    if noun:
        ends.append(rest[_first_auxiliary(rest) :])
        behind = behind[len(noun) if behind[: len(noun)] == noun else 0 :]
    if front and _content(before) == _content(front):
        inside = (
            ends if _AUXILIARIES.intersection(rest) else [rest[n:] for n in range(len(rest) + 1)]
        )
        if any(_same(_content(behind), _content(end), endings) for end in inside):
            return True
    if _content(before) and _content(behind):
        return False
    if before and not front and before[-1] in _prepositions(which, rest, noun):
        before = before[:-1]
    moved = _content(front)  # "to whom" ends as "to Ann"
    if moved and not (before and len(moved) == 1):
        return False
    told = _content(before + behind)
    sought = [_content(end) + moved for end in ends if noun or _content(end)]
    return any(_same(told, one, endings) or _shortened(told, one, endings) for one in sought)


def affirms(text: str, asking: str) -> bool | None:
    """Does ``text`` say with the words of a question for yes or no that it is so? False: that it is not; None: it
    says something else, or not in these words.

    "Guests may not enter." for "May guests enter?" is False.
    """
    if not _is_one_statement(text, asking.rstrip(" ?")):
        return None
    words = _tokens(text.rstrip(" .!"))
    asked = [_ANSWERED.get(word, word) for word in _tokens(asking)]
    if not asked or asked[0] not in _AUXILIARIES or _UNDOING.intersection(asked):
        return None
    words = [part for word in words for part in _parted(word)]
    denials = words.count("not")
    said = [word for word in words if word != "not"]
    if denials > 1 or not said or said[0] in _AUXILIARIES | _RELATIVES:
        return None
    endings = _endings(said, asked, "")
    if endings is None or not _same(_content(said), _content(asked), endings):
        return None
    return not denials


def _is_one_statement(text: str, known: str) -> bool:
    """Not much longer than what is known, one sentence that asks nothing, and without signs of its own."""
    for word in known.split():
        if word.endswith("."):  # "Dr. Holm"
            text = text.replace(f"{word} ", f"{word[:-1]} ")
    if len(text) > len(known) + _LONGER or _STOP.search(text.strip()):
        return False
    return _signs(text.rstrip(" .!")) <= set(known)


def _parted(word: str) -> list[str]:
    """``isnt`` -> ``is not``"""
    if word == "cannot":
        return ["can", "not"]
    return [_ONE_FORM.get(word[:-2], word[:-2]), "not"] if _is_denied(word) else [word]


def _tokens(text: str) -> list[str]:
    return [_ONE_FORM.get(word, word) for word in normal_tokens(text)]


def _signs(text: str) -> set[str]:
    """Characters that may say something and are no words."""
    return {
        char
        for char in unicodedata.normalize("NFC", text)
        if (kind := unicodedata.category(char))[0] in "SMC"
        or (kind == "Po" and char not in _PLAIN)
        or kind == "Pc"
    }


def _is_denied(word: str) -> bool:
    return word.endswith("nt") and word.removesuffix("nt") in _AUXILIARIES | _ONE_FORM.keys()


def _content(words: Words) -> list[str]:
    return [word for word in words if word not in _AUXILIARIES and word not in _LINKS]


def _endings(said: Words, asked: Words, which: str) -> tuple[str, ...] | None:
    """What one word of a statement may have gained from a form of do that it has lost; None where its auxiliaries are
    others than those of the question."""
    found, wanted = (Counter(w for w in words if w in _AUXILIARIES) for words in (said, asked))
    added = found - wanted
    counts = "there" in said and which == "how" and not wanted
    joins = bool(_RELATIVES.intersection(said) - set(asked))
    if added and not ((counts or joins) and added.total() == 1 and set(added) <= {"is", "was"}):
        return None
    lost = wanted - found
    if set(lost) - _DO:
        return None
    if "did" in lost:
        return ("d", "ed")
    return ("s", "es") if lost else ()


def _may_begin(before: Words, front: Words, others: Words) -> bool:
    """May a statement have these words before its gold? With an auxiliary first it is a question or a wish; and where
    neither it nor the question has one, the gold is who does something."""
    if before[0] in _AUXILIARIES | _RELATIVES:
        return False
    return bool(front) or not _AUXILIARIES.isdisjoint(others)


def _ends(which: str, rest: Words) -> Iterator[Words]:
    """What is left of the words behind the interrogative without those that belong to it."""
    most = _first_auxiliary(rest)
    if which not in ("what", "which"):
        most = int(which == "how")
    elif most == len(rest):
        most = 1
    for count in range(min(most, len(rest)) + 1):
        yield rest[count:]


def _first_auxiliary(rest: Words) -> int:
    return next((n for n, word in enumerate(rest) if word in _AUXILIARIES), len(rest))


def _noun_told(which: str, rest: Words, gold: Words, behind: Words) -> Words:
    """What is asked for, where a statement names it with the gold: "14 days" for "How many days", "56 m tall" for
    "How tall"; none where it does not."""
    asked = rest[: _first_auxiliary(rest)]
    if which not in ("how", "what", "which") or len(asked) == len(rest):
        return ()
    for noun in (asked, asked[1:]):
        if noun and (behind[: len(noun)] == noun or gold[-len(noun) :] == noun):
            return noun
    return ()


def _prepositions(which: str, rest: Words, noun: Words) -> frozenset[str]:
    """What a statement may have before the gold that the question has not."""
    if which in ("when", "where") or (which != "how" and _is_time(rest[:1])):
        return _AT
    lasts = which == "how" and (_is_time(noun[-1:]) or rest[:1] == ["long"])
    return frozenset(["for"] if lasts else ())


def _is_time(noun: Words) -> bool:
    """ "year", "days", "time" """
    return any(
        word in ("time", "date") or (("second", 1),) in {one.dimensions for one in read_unit(word)}
        for word in noun
    )


def _shortened(told: Words, wanted: Words, endings: Words) -> bool:
    """Are the words equal, but for a pronoun in the place of one or several side by side?"""
    return not _PRONOUNS.intersection(wanted) and any(
        _same([*told[:at], *told[at + 1 :]], [*wanted[:at], *wanted[rest:]], endings)
        for at, word in enumerate(told)
        if word in _PRONOUNS
        for rest in range(at + 1, len(wanted) + 1)
    )


def _same(told: Words, wanted: Words, endings: Words) -> bool:
    """Are the words equal, but for an ending of one?"""
    if len(told) != len(wanted):
        return False
    pairs = [pair for pair in zip(told, wanted, strict=True) if pair[0] != pair[1]]
    return not pairs or (
        len(pairs) == 1 and any(pairs[0][0] == pairs[0][1] + end for end in endings)
    )
