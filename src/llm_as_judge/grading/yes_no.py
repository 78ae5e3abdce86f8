"""Answers to questions whose gold is yes or no.

The first word decides, if nothing behind it turns it: a denial, a doubt, another option, the
opposite. "No, discounts do not add up." denies, though: there the rest must be the question's own
words with the denial at their verb. What contradicts itself ("No, discounts add up.") is left open.
"""

from __future__ import annotations

import re

from llm_as_judge.grading.restated import adds_marks, spelled_out
from llm_as_judge.grading.whole_words import one_sentence
from llm_as_judge.grading.wordlists import (
    DENYING,
    HELPING,
    STANDING_FOR,
    stem,
    tokens,
)

_DENIES = frozenset(map(stem, DENYING))
_SAME_PERSON = {
    **dict.fromkeys(("i", "we", "me", "us", "you"), "you"),
    **dict.fromkeys(("my", "our", "your"), "your"),
    "am": "are",
}
_FIRST = re.compile(
    r"\s*(?:(?:so|thus|hence|therefore)\b,?\s*)?(yes|no)\b[\s.,:;!]*", re.IGNORECASE
)


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
