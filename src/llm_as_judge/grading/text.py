"""Short texts in a normal form that keeps signs, decimals, ``+``, ``#`` and ``%``.

Articles, case, accents, spacing and other punctuation do not count; a number written in words is its
digits. Unlike the official normalization of SQuAD, "3.14" is not "314", "C#" is not "C" and the article
"A" at the end of "hepatitis A" stays.
"""

from __future__ import annotations

import re
import unicodedata

from llm_as_judge.grading.number import fold_number_signs
from llm_as_judge.grading.wordlists import NUMERALS, ORDINALS, ROMAN, TENS

SHORT = 6
"""Words up to which a text is short: one that two people would word alike."""
_ARTICLES = frozenset(["a", "an", "the"])
_IDENTIFIER = r"(?=\S{0,60}[^\W_](?:@|[_+](?=[^\W\d_]))[^\W_])[^\W_]+(?:[-./@+_]+[^\W_]+)+"
"""A name with signs inside, which tell it from others: "a-b_c.yaml", "ann@firm.example", "Ctrl+S"; no "H_2O"."""
_TOKEN = re.compile(
    rf"{_IDENTIFIER}"
    r"|(?<![^\W_])[-+]?\d+(?:[.,:/-]\d+)*[a-z]*|[^\W\d_][^\W_]*(?:[+#]+(?!\w)|-(?![\w-]))?|[%$€£¥₹°√]|(?<=\d)[+^]"
    r"|[<>≤≥≠≈±]=?|(?<![^\W\d_])[~-](?=\s?[$€£¥₹√]?\d)"
)
"""Words, numbers, and signs that make another value of one."""
_SUFFIX = {1: "st", 2: "nd", 3: "rd"}
_WORD_OF = {
    **{word: str(number) for word, number in NUMERALS.items()},
    **{word: f"{number}{_SUFFIX.get(number, 'th')}" for word, number in ORDINALS.items()},
}


def normal_tokens(text: str, *, numerals: bool = True) -> list[str]:
    """Words and signs of ``text`` that tell it from others.

    Args:
        numerals: write number words and Roman numerals in digits.
    """
    text = fold_number_signs(text)
    text = re.sub(r"(?<=\d)(?=[⁰¹²³⁴-⁹⁻])", "^", text)
    text = unicodedata.normalize("NFKD", text).replace("\u2212", "-")
    text = "".join(char for char in text if not unicodedata.combining(char))
    if numerals:
        text = re.sub(r"\b[IVX]{2,4}\b", lambda m: str(ROMAN.get(m.group(), m.group())), text)
    text = re.sub(r"['’`]", "", text).replace("&", " and ")
    text = re.sub(r"\b(?:[A-Za-z]\.){2,}", lambda m: m.group().replace(".", ""), text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    raw = _TOKEN.findall(_lower_but_single(text))
    kept = [word for at, word in enumerate(raw) if not _is_article(word, at, raw)]
    words = [word.casefold() for word in kept]
    return _in_digits(words) if numerals else words


def _lower_but_single(text: str) -> str:
    """Lower case but for single capital letters, which are no articles."""
    return re.sub(
        r"[^\W_]+", lambda m: m.group() if len(m.group()) == 1 else m.group().lower(), text
    )


def _is_article(word: str, at: int, words: list[str]) -> bool:
    last = at == len(words) - 1 or words[at + 1] in _ARTICLES  # the band The The
    return not last and (word in _ARTICLES or (at == 0 and word == "A"))


def _in_digits(words: list[str]) -> list[str]:
    digits: list[str] = []
    for word in words:
        tens = TENS.get(digits[-1]) if digits else None
        unit = _WORD_OF.get(word, word)
        if tens and len(unit.rstrip("stndrh")) == 1 and unit[0] in "123456789" and word in _WORD_OF:
            digits[-1] = str(tens + int(unit[0])) + unit[1:]
        else:
            digits.append(unit)
    return [str(TENS.get(word, word)) for word in digits]


def normal_text(text: str, *, numerals: bool = True) -> str:
    """The normal form: two texts with an equal one are one answer. Spaces and hyphens between words do not count,
    between digits they do."""
    words = normal_tokens(text, numerals=numerals)
    joined = ""
    for word in words:
        apart = joined[-1:].isdigit() and (word[0].isdigit() or word[0] in "+-")
        joined += (" " if apart else "") + word
    return joined or " ".join(text.casefold().split())


def contains_words(text: str, gold: str) -> bool:
    """Do the words of ``gold`` stand in ``text`` in one piece?"""
    wanted, words = normal_tokens(gold), normal_tokens(text)
    size = len(wanted)
    return bool(size) and any(
        words[at : at + size] == wanted for at in range(len(words) - size + 1)
    )


def is_short(text: str) -> bool:
    """At most :data:`SHORT` words."""
    return len(text.split()) <= SHORT


_ITEMS_APART = re.compile(
    r"\s*(?:;|\n|,(?!\d{3}(?!\d))\s*(?:and\b|or\b|&)?|\s(?:and|&)\s|\s\+\s)\s*"
)
_NUMBERED = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")


def split_items(text: str) -> list[str]:
    """Items of a list: between commas, semicolons, lines or "and"; without numbers and bullets before them."""
    items = (_NUMBERED.sub("", item).strip(" .") for item in _ITEMS_APART.split(text) if item)
    return [item for item in items if item]
