"""Answers to questions whose gold is yes or no.

The first word decides, if nothing behind it turns it: a denial, a doubt, another option, the
opposite. "No, discounts do not add up." denies, though: there the rest must be the question's own
words with the denial at their verb. What contradicts itself ("No, discounts add up.") is left open.
"""

from __future__ import annotations

import re

from llm_as_judge.grading.denial import says_denied, spelled_out
from llm_as_judge.grading.restated import adds_marks
from llm_as_judge.grading.whole_words import limits_more, one_sentence
from llm_as_judge.grading.wordlists import (
    DENYING,
    DOUBTING,
    HELPING,
    LIGHT,
    STANDING_FOR,
    stem,
    tokens,
)

_OPPOSITE = {"yes": "no", "no": "yes"}
_DENIES = frozenset(map(stem, DENYING))
_SAME_PERSON = {
    **dict.fromkeys(("i", "we", "me", "us", "you"), "you"),
    **dict.fromkeys(("my", "our", "your"), "your"),
    "am": "are",
}
_SO = frozenset(["so", "thus", "hence", "therefore"])
_FIRST = re.compile(
    r"\s*(?:(?:so|thus|hence|therefore)\b,?\s*)?(yes|no)\b[\s.,:;!]*", re.IGNORECASE
)


def yes_or_no(gold: str, text: str, question: str) -> tuple[bool | None, str, str]:
    """(correct, rule, explanation) of an answer that is not the gold alone.

    Args:
        gold: "yes" or "no".
    """
    words = re.findall(r"[a-z']+", text.lower())
    if words and words[0] in _SO:
        del words[0]
    if len(words) <= 4 and {"yes", "no"} <= set(words):
        return False, "extract.several", "yes and no"
    first, opposite = words[0] if words else "", _OPPOSITE[gold]
    if first == opposite:
        return False, "qa.yes_no", f"{first} for {gold}"
    turns = {opposite, *DOUBTING} & set(words[1:]) or any(word.endswith("n't") for word in words)
    turned = bool(turns) or limits_more(text, question)
    if first == gold and not turned and not _contradicts(gold, _behind_it(text), question):
        return True, "qa.yes_no", f"begins with {gold}"
    if gold not in words and opposite not in words:
        return False, "qa.yes_no", f"neither yes nor no, wanted {gold}"
    return None, "qa.yes_no", f"not plainly {gold}"


def restated_yes_or_no(question: str, text: str) -> str | None:
    """The yes or no of ``text``, if nothing but the question's own words follows it, said after
    yes and denied after no ("No, discounts do not add up."); else None."""
    first, rest = _FIRST.match(text), one_sentence(_behind_it(text))
    if first is None or rest is None or "?" in text or adds_marks(question, rest):
        return None
    asked, said = _words(question), _words(rest)
    if len(asked) < 2 or asked[0] not in HELPING or asked[1] == "not":
        return None
    verb, statement = asked[0], [stem(word) for word in asked[1:]]
    if first.group(1).lower() == "yes":
        return "yes" if _says(said, verb, statement) else None
    return "no" if not DENYING & set(asked) and _denies(said, verb, statement) else None


def _behind_it(text: str) -> str:
    return _FIRST.sub("", text, count=1)


def _words(text: str) -> list[str]:
    """Words; who asks "may I" is answered "you may"."""
    return [_SAME_PERSON.get(word, word) for word in tokens(spelled_out(text))]


def _says(said: list[str], verb: str, statement: list[str]) -> bool:
    """The question's words with its verb elsewhere: "discounts add up", "Aldby is a town"."""
    without = [[*said[:at], *said[at + 1 :]] for at, word in enumerate(said) if word == verb and at]
    if verb in {"do", "does", "did"}:
        without.append(said)
    return any(_is_statement(words, statement) for words in without)


def _denies(said: list[str], verb: str, statement: list[str]) -> bool:
    """The same with one "not" behind the verb."""
    if said.count("not") != 1 or DENYING & set(said) != {"not"}:
        return False
    at = said.index("not")
    if at < 2 or said[at - 1] != verb:
        return False
    return _is_statement([*said[: at - 1], *said[at + 1 :]], statement)


def _is_statement(words: list[str], statement: list[str]) -> bool:
    """Are they the same, where a pronoun may stand for the first words?"""
    said = [stem(word) for word in words]
    if said == statement:
        return True
    denials = [[word for word in text if word in _DENIES] for text in (said, statement)]
    if not words or words[0] not in STANDING_FOR or denials[0] != denials[1]:
        return False
    return len(said) <= len(statement) and said[1:] == statement[len(statement) - len(said) + 1 :]


def _contradicts(gold: str, rest: str, question: str) -> bool:
    """Does what stands behind the first word say the opposite?"""
    denies, asks_denied = (bool(DENYING & set(_words(text))) for text in (rest, question))
    if gold == "yes":
        return denies or says_denied(question, "", rest)
    return denies if asks_denied else not denies and _affirms(rest, question)


def _affirms(rest: str, question: str) -> bool:
    """Does ``rest``, which denies nothing, say what ``question`` asks?"""
    words, said, asked = _words(rest), _content(rest), _content(question)
    if not words or not asked:
        return False
    left = iter(said)
    if all(word in left for word in asked):
        return True
    return words[0] in STANDING_FOR and said == asked[len(asked) - len(said) :]


def _content(text: str) -> list[str]:
    return [stem(word) for word in _words(text) if word not in LIGHT | HELPING | STANDING_FOR]
