"""Reader of gold answers: takes the answer out of a whole solution, refuses what can be no answer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

from llm_as_judge.data.mathematics import boxed_answer
from llm_as_judge.data.rows import RowError
from llm_as_judge.types import AnswerKind, Domain

Marker = Literal["####", "\\boxed"]

_FINAL = re.compile(r"(?:^|[^#])####(?!#)[ \t]*(?P<final>[^\n#]*\S)\s*\Z")
"""What GSM8K writes behind its solutions: ``#### 72`` as the last line."""


def solution_answer(text: str) -> tuple[str, Marker | None]:
    r"""The answer of a whole solution, and what marks it: ``#### 72`` at its end, else the last ``\boxed{72}``.

    Returns:
        ``text`` itself, stripped, and None where neither is there.
    """
    final = _FINAL.search(text)
    if final is not None:
        return final["final"].strip(), "####"
    boxed = boxed_answer(text)
    return (boxed, "\\boxed") if boxed else (text.strip(), None)


_PLACEHOLDERS = frozenset(
    ["nan", "null", "n/a", "tbd", "todo", "#n/a", "#ref!", "#div/0!", "#value!", "#name?", "#num!"]
)
_NO_NUMBERS = frozenset(["inf", "-inf", "+inf", "none", "na"])
_SCIENTIFIC = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+")
_WANTED = 'wanted what an answer can equal; is it meant, write "kind": "short_text"'


def require_answer(
    answer: str, domain: Domain, kind: AnswerKind | None, name: str = "answer"
) -> None:
    """Refuses what stands where an answer is missing; where the row says that it is a text, it passes.

    Raises:
        RowError: such a text, or a number that is none.
    """
    if not answer.strip():
        do = "; write [] where the question has no answer" if domain == "qa" else ""
        raise RowError(f"{name!r} is empty{do}")
    if kind in ("short_text", "long_text"):
        return
    said = answer.strip().casefold()
    blank = not said.strip("?-._\u2013\u2014\u2026")
    wordless = not any(char.isalnum() or char in "∅∞" for char in said)
    if blank or said in _PLACEHOLDERS or (domain == "math" and (wordless or said in _NO_NUMBERS)):
        raise RowError(f"{name!r} is {answer!r}, {_WANTED}")
    if _SCIENTIFIC.fullmatch(said) and math.isinf(float(said)):
        raise RowError(f"{name!r} {answer!r} is a number too large to compare; write 10^{{...}}")


def as_text(value: Any, name: str = "answer") -> str | None:
    """A text or number of JSON as text; None for any other value.

    Raises:
        RowError: NaN or an infinity, which Python's JSON reads as numbers.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        raise RowError(f"{name!r} is {value}, wanted a number that answers can equal")
    return str(value)


def read_golds(
    value: Any, domain: Domain, kind: AnswerKind | None, name: str = "answer"
) -> tuple[str, ...]:
    """The accepted answers of a row that no tests grade, each once.

    Raises:
        RowError: another value than a text, a number or a list of them; or one that can be no answer.
    """
    golds = [solution_answer(text)[0] for text in answer_texts(value, name)]
    for gold in golds:
        require_answer(gold, domain, kind, name)
    return tuple(dict.fromkeys(golds))


def answer_texts(value: Any, name: str = "answer") -> list[str]:
    """The texts and numbers of a row's answer as texts.

    Raises:
        RowError: another value than a text, a number or a list of them.
    """
    given = value if isinstance(value, list) else [value]
    texts = [text for one in given if (text := as_text(one, name)) is not None]
    if len(texts) < len(given):
        raise RowError(f"{name!r} is not a text, a number or a list of them")
    return texts


def markers_of(answer: Any) -> set[Marker]:
    """What marks the whole solutions among a row's answers; empty where it holds answers alone."""
    given = answer if isinstance(answer, list) else [answer]
    return {marker for one in given if isinstance(one, str) and (marker := solution_answer(one)[1])}


_DECIMAL_COMMA = re.compile(
    r"\D{0,5}(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}(?:\s?[^\W\d]{1,12}|\s?[%$€£])?"
)

_BARE = re.compile(r"[^\d$€£¥]{0,5}\d+,\d{1,2}")
"""A decimal comma or two numbers of a list: nothing says which."""
_NAMED = re.compile(r"(?![A-Z]{3}\s?\d)[^\W\d]")
"""Begins with a word, as "John 3,16" does; a currency is none."""


def require_no_decimal_comma(
    answers: Sequence[str],
    domain: Domain,
    kind: AnswerKind | None,
    name: str = "answer",
    *,
    bare: bool = True,
) -> None:
    """Refuses "56,28" where an answer may be one number, since no rule would find it again in "56.28".

    Args:
        kind: that the row says; a text may have one.
        bare: refuse it without a unit, too. Files that were written before can hold lists of this form.
    Raises:
        RowError: one of ``answers`` is such a number.
    """
    for answer in answers if kind not in ("short_text", "long_text") else ():
        text = answer.strip()
        if (not bare and _BARE.fullmatch(text)) or (domain == "qa" and _NAMED.match(text)):
            continue
        if _DECIMAL_COMMA.fullmatch(text):
            point = text.replace(".", "").replace(",", ".")
            listed = text.replace(",", ", ")
            raise RowError(
                f"{name!r} {answer!r} has a decimal comma; write {point!r}, or {listed!r} if it is a list, or "
                '"kind": "short_text" if it is a text'
            )
