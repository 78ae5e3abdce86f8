"""Short texts in a normal form that keeps signs, decimals, ``+``, ``#`` and ``%``.

Articles, case, accents, spacing and other punctuation do not count; a number written in words is its
digits. Unlike the official normalization of SQuAD, "3.14" is not "314", "C#" is not "C" and the article
"A" at the end of "hepatitis A" stays.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from llm_as_judge.grading.number import fold_number_signs
from llm_as_judge.grading.wordlists import NUMERALS, ORDINALS, ROMAN, TENS, stem

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


_BEING = frozenset(
    ["am", "are", "be", "been", "is", "was", "were", "that", "which", "who", "there"]
)
"""What may be added: "which river enters" is "the river that enters ... is", "how many" is "there are"."""
_HAVING = "can could did do does had has have may might must shall should will would"
_AUXILIARIES = _BEING.union(_HAVING.split())
_PAST, _PRESENT = frozenset(["was", "were"]), frozenset(["is", "are", "do", "does"])
_INTERROGATIVES = frozenset(
    ["how", "what", "when", "where", "which", "who", "whom", "whose", "why"]
)
_UNDOING = frozenset(["no", "not", "never", "without", "cannot", "cant", "wont", "and", "or"])
"""Words of a question that a part of it leaves out at its peril."""
_STOP = re.compile(r"[?:;\n]|[.!]\s")
_AT = frozenset(["at", "in", "on"])
"""Before a place or a time that a question asks for without them."""


def restates(text: str, gold: str, asking: str) -> bool:
    """Is ``text`` one sentence that says what ``asking`` asks, with ``gold`` in the place of what is asked for?

    "A contractor's badge is blue." for "What color is a contractor's badge?". Before and behind the gold stand the
    words of the question in their order, which tells who did what to whom, up to its end. Forms of be, do, have and
    of modal verbs may stand elsewhere, since a question moves them, and endings may differ.
    """
    words, asked = normal_tokens(text.rstrip(" .!")), normal_tokens(asking)
    wanted, which = normal_tokens(gold), _INTERROGATIVES.intersection(asked)
    at = [n for n in range(len(words)) if words[n : n + len(wanted)] == wanted]
    denies = any(w.endswith("nt") and w.removesuffix("nt") in _AUXILIARIES for w in asked)
    if len(which) != 1 or len(at) != 1 or denies or _UNDOING.intersection(asked):
        return False
    if _STOP.search(text.strip()) or contains_words(asking, gold):
        return False
    before, behind = words[: at[0]], words[at[0] + len(wanted) :]
    if Counter(_moved(before + behind)) - Counter(_moved(asked)):
        return False
    if _PAST.intersection(before + behind) - set(asked) and _PRESENT.intersection(asked):
        return False  # no longer
    where = asked.index(*which)
    front, rest = _said(asked[:where]), _said(asked[where + 1 :])
    if front and _said(before) == front and _said(behind) in _endings(rest):
        return True
    if _said(before) and _said(behind):
        return False
    if before and before[-1] in _AT and which <= {"when", "where"}:
        before = before[:-1]
    told = _said(before + behind)
    kept = [end for end in _endings(rest) if end and _is_told(end, rest, before + behind)]
    moved = front if len(front) == 1 and before else []  # "to whom" ends as "to Ann"
    return any(told == end + moved for end in kept)


def _is_told(end: list[str], rest: list[str], said: list[str]) -> bool:
    """Is it more than a word behind the gold, which may make another name of it: "New York City"?"""
    return end == rest or not _AUXILIARIES.isdisjoint(said) or len(rest) - 2 <= len(end) > 1


def _said(words: list[str]) -> list[str]:
    """Those that no question moves, without their endings."""
    return [stem(word) for word in words if word not in _AUXILIARIES]


def _moved(words: list[str]) -> list[str]:
    return [word for word in words if word in _AUXILIARIES - _BEING]


def _endings(words: list[str]) -> list[list[str]]:
    return [words[n:] for n in range(len(words) + 1)]


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
