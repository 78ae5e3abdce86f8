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

from llm_as_judge.grading.denial import denies_more, says_denied
from llm_as_judge.grading.extract import is_hedged, is_negated
from llm_as_judge.grading.other_numbers import has_other_numbers
from llm_as_judge.grading.wordlists import LIMITING, informative, numbers, stem, tokens
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
_SIGNED = re.compile(r"(?:(?:^|[\s(\"'“$€£])[-−–]|[+~≈≠<>≤≥±¬])\s*[$€£]?\.?\d")
_AND_ANOTHER = re.compile(
    r"(?:\band\b|[,;&])\s+(?:(?:the|an?)\s+)?"
    r"(?:[A-Z0-9]|[^\x00-\x7f]|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
)
_BY_THE_WAY = re.compile(r",\s*(?:who|whom|whose|which|where)\b", re.IGNORECASE)
"""Behind it stands what is told of another answer: "Plato, who had known Aristotle"."""
_TAKES_BACK = frozenset(["half", "sometimes", "yes"])
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
    sentence = one_sentence(text)
    if sentence is None or _BROKEN.search(text.strip()):
        return None
    if _CONTRAST.search(text) or is_negated(text) or is_hedged(text):
        return None
    asked = {stem(word) for word in tokens(problem.question)}
    if not _is_sentence(sentence, asked):
        return None
    return next(
        (gold for gold in problem.answers if _stands(gold, sentence, problem.question)), None
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


def adds_sign(gold: str, text: str) -> bool:
    """Has ``text`` more signs before numbers ("-14", "< 14") than ``gold``?"""
    return len(_SIGNED.findall(text)) > len(_SIGNED.findall(gold))


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


def _is_sentence(text: str, asked: set[str]) -> bool:
    """Words in a row are a list, whatever separates them."""
    return any(word in _STATES or stem(word) in asked for word in tokens(text))


def _stands(gold: str, sentence: str, question: str) -> bool:
    asked = {stem(word) for word in tokens(question)}
    if all(stem(word) in asked for word in informative(gold)) or adds_sign(gold, sentence):
        return False  # an echo of the question would have it, too
    if denies_more(sentence, question, gold) or says_denied(question, gold, sentence):
        return False
    if limits_more(sentence, question, gold):
        return False
    return any(
        _states(sentence[:begin], sentence[end:], gold, question)
        for begin, end in gold_places(gold, sentence)
    )


def _states(before: str, after: str, gold: str, question: str) -> bool:
    asked = {stem(word) for word in tokens(question)}
    if has_other_numbers(question, gold, before, after):
        return False
    if _TAKES_BACK & set(tokens(after)) - asked:
        return False
    return (
        _alone(before, after, gold, asked)
        and _nothing_new(before, asked)
        and not _AND_ANOTHER.search(after)
        and not _BY_THE_WAY.search(before)
        and not does_what_nobody_asked(before, after, gold, asked)
    )


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


def _nothing_new(before: str, asked: set[str]) -> bool:
    """Only words of the question, and those by which a sentence leads to its answer."""
    begun = {word[:_BEGINNING] for word in asked if len(word) >= _BEGINNING}
    return all(
        word in _LEADING or stem(word) in asked or word[:_BEGINNING] in begun
        for word in informative(before)
    )


def _alone(before: str, after: str, gold: str, asked: set[str]) -> bool:
    """Is the gold between these texts no item of a list and no part of a longer name?"""
    before, after = before.rstrip(_MARKS), after.lstrip(_MARKS + ".")
    if _JOINED_BEFORE.search(before) or _JOINED_AFTER.match(after):
        return False
    if re.findall(r"\w", gold)[-1].isdigit() and _SCALED.match(after):
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
