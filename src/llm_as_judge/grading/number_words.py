"""Numbers in words: "three hundred and four", "two thirds"."""

from __future__ import annotations

import re
from fractions import Fraction

from llm_as_judge.grading.wordlists import NUMERALS, ORDINALS, TENS

SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_DENOMINATORS = {
    "half": 2,
    "halves": 2,
    "quarter": 4,
    "quarters": 4,
    **{name: value for name, value in ORDINALS.items() if value > 2},
    **{f"{name}s": value for name, value in ORDINALS.items() if value > 2},
    "hundredth": 100,
    "hundredths": 100,
    "thousandths": 1000,
}


def is_number_word(word: str) -> bool:
    return word in NUMERALS or word in TENS


def cardinal(words: list[str]) -> tuple[int, int] | None:
    """(value, how many words were read) of number words at the start; None if there are none."""
    total = current = 0
    used = 0
    for index, word in enumerate(words):
        if word in NUMERALS and current % 10:
            break  # "one two" is no number
        if is_number_word(word):
            current += NUMERALS.get(word, 0) + TENS.get(word, 0)
        elif word == "hundred" and used:
            current = max(current, 1) * 100
        elif word in SCALES and used:
            total += max(current, 1) * SCALES[word]
            current = 0
        elif (
            word == "and"
            and used
            and words[index + 1 : index + 2]
            and is_number_word(words[index + 1])
        ):
            if index + 2 < len(words) and words[index + 2] in _DENOMINATORS:
                break  # "two and one half"
            continue
        elif word in {"a", "an"} and not used and words[1:2] and words[1] in SCALES:
            current = 1
        else:
            break
        used = index + 1
    return (total + current, used) if used else None


def fraction(words: list[str]) -> tuple[Fraction, int] | None:
    """(value, words read) of "half", "a third", "two thirds" at the start."""
    if words[:1] and words[0] in {"half", "quarter"}:
        return Fraction(1, _DENOMINATORS[words[0]]), 1
    top = 1 if words[:1] in (["a"], ["an"]) else NUMERALS.get(words[0], 0) if words else 0
    if top and words[1:2] and words[1] in _DENOMINATORS:
        return Fraction(top, _DENOMINATORS[words[1]]), 2
    return None


def spelled_numbers(text: str) -> list[tuple[int, int, int]]:
    """(start, end, value) of the cardinals in words within ``text``, in order; "one" alone is a pronoun as
    often, and none."""
    words = list(re.finditer(r"[^\W\d_]+", text))
    spelled = [word.group().casefold() for word in words]
    found = []
    at = 0
    while at < len(words):
        read = cardinal(spelled[at:]) if is_number_word(spelled[at]) else None
        if read is not None and spelled[at : at + read[1]] != ["one"]:
            found.append((words[at].start(), words[at + read[1] - 1].end(), read[0]))
        at += read[1] if read is not None else 1
    return found
