"""Typed values: of which kind a gold answer is, and whether an answer is the same value of it.

Same kind and equal value: right. Same kind and another value: wrong. What is of no kind, or of a kind
on one side only, is left to the comparison of texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from llm_as_judge.grading.bounds import compare_bounds, compare_ranges
from llm_as_judge.grading.comparison import Asked, asking_sentence
from llm_as_judge.grading.extract import YES_NO, plain, says_nothing
from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.restated import affirms, restates
from llm_as_judge.grading.single_values import (
    Comparison,
    compare_clock,
    compare_date,
    compare_number,
    compare_ratio,
    compare_terms,
    reads_value,
)
from llm_as_judge.grading.text import is_short, normal_text, split_items
from llm_as_judge.types import UNSPECIFIED, AnswerKind, AnswerSpec, Domain

_WORDS_READ = 40
_DECORATION = re.compile(r"^[\s\"'“”‘’*_`]+|[\s\"'“”‘’*_`]+$|(?<=[^\W\d])!+$|(?<!\b[a-zA-Z])[.]$")


FEET_AND_INCHES = re.compile(r"\s*\d+\s*['’′](?:\s*\d+(?:\.\d+)?\s*(?:[\"”″]|''))?\s*")


def bare(text: str) -> str:
    """``text`` without quotes, emphasis and a last period."""
    before = None
    if FEET_AND_INCHES.fullmatch(text):
        return text
    while before != text:
        before, text = text, _DECORATION.sub("", text)
    return text


_PREPOSITION = r"in|on|at|by|to|from|for|with|of|under|through|during|into|since|until"
_ASKS_WITH = re.compile(
    rf"(?P<preposition>{_PREPOSITION})\s+(?:which|what|whom|whose|when|how)\b", re.I
)
_ASKS_WHERE_OR_WHEN = re.compile(r"(?:where|when)\b", re.I)


def without_asked_preposition(text: str, question: str) -> str:
    """ "on Tuesday" without the preposition of "On which day?", "by 20 %" of "By how many?"; "in Paris" for "Where?"."""
    asks = _ASKS_WITH.match(question.strip())
    places = "in|on|at" if _ASKS_WHERE_OR_WHEN.match(question.strip()) else None
    wanted = re.escape(asks["preposition"]) if asks else places
    return re.sub(rf"^(?:{wanted})\s+(?=\S)", "", text, flags=re.I) if wanted else text


def compare_values(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Compares two texts as values of the gold's kind.

    Returns:
        None where the gold is of no kind of value, or the candidate is no value at all.
    """
    gold, candidate = bare(gold), without_asked_preposition(bare(candidate), asked.question)
    if len(gold) > 300 or len(candidate) > 300:
        return None
    for compare in _comparers(asked.spec.kind):
        compared = compare(gold, candidate, asked)
        if compared is not None:
            return compared
    return None


Comparer = Callable[[str, str, Asked], "Comparison | None"]


def _comparers(kind: AnswerKind | None) -> Sequence[Comparer]:
    """Those that may read a gold of ``kind``, of any kind where it is None."""
    if kind is None:
        return (
            _yes_no,
            compare_terms,
            compare_ranges,
            compare_bounds,
            compare_clock,
            compare_ratio,
            compare_number,
            compare_date,
            _items,
        )
    by_kind: dict[AnswerKind, tuple[Comparer, ...]] = {
        "number": (compare_bounds, compare_ratio, compare_number),
        "quantity": (compare_bounds, compare_number),
        "money": (compare_bounds, compare_number),
        "percentage": (compare_bounds, compare_number),
        "duration": (compare_bounds, compare_number),
        "date": (compare_bounds, compare_date, compare_number),
        "time": (compare_bounds, compare_clock),
        "bound": (compare_ranges, compare_bounds),
        "set": (_items,),
        "sequence": (_items,),
        "yes_no": (_yes_no,),
    }
    return by_kind.get(kind, ())


# --------------------------------------------------------------------------------------- yes or no
_CONCLUDES = re.compile(r"^(?:so|thus|hence|therefore)\b,?\s+", re.IGNORECASE)
_OPPOSITE = {"yes": "no", "no": "yes"}
_SENTENCE = 3
"""Words from which on a text may be a sentence."""
_FIRST_WORD = re.compile(r"^(yes|no|true|false)\b\s*(?=[,.;:!–—-]|$)", re.IGNORECASE)
_SAID_AGAIN = re.compile(
    r"[\s,.;:!–—-]*(?:it|they|s?he|this|that|these|those|i|you|we|there)\s+"
    r"(?:is|are|was|were|do|does|did|has|have|had|can?|could|wo|will|would|should|may|might|must|shall)(\s*not|n['’]t)?[.!]*$",
    re.IGNORECASE,
)
"""Behind yes or no: "they are", "it does not"."""


def _yes_no(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    wanted = YES_NO.get(gold.casefold())
    if wanted is None:
        return None
    candidate = _CONCLUDES.sub("", candidate)
    said = YES_NO.get(plain(candidate))
    if said is not None:
        return Comparison(said == wanted, "yes_no", "yes_no.word", f"says {said}")
    words = re.findall(r"[a-z]+", candidate.casefold())
    if len(words) <= 4 and {"yes", "no"} <= set(map(YES_NO.get, words)):
        return Comparison(False, "yes_no", "yes_no.both", "says both")
    first = _FIRST_WORD.match(candidate)
    if first and YES_NO[first[1].casefold()] == _OPPOSITE[wanted]:
        return Comparison(False, "yes_no", "yes_no.opposite", f"begins with {first[1]!r}")
    again = _SAID_AGAIN.match(candidate, first.end()) if first else None
    if again and (again[1] is not None) == (wanted == "no"):
        return Comparison(True, "yes_no", "yes_no.sentence", f"says {wanted} twice")
    rest = candidate[first.end() :].lstrip(" ,.;:!") if first else candidate
    if first and says_nothing(plain(rest)):
        return Comparison(True, "yes_no", "yes_no.word", f"says {wanted}")
    stated = affirms(rest, asking_sentence(asked.question))
    if stated is not None and (first is None or stated == (wanted == "yes")):
        why = "the question's words say so" if stated else "the question's words, denied"
        return Comparison(stated == (wanted == "yes"), "yes_no", "yes_no.restated", why)
    if first:
        return Comparison(None, "yes_no", "yes_no.qualified", "words behind yes or no may turn it")
    if len(words) >= _SENTENCE:
        return Comparison(None, "yes_no", "yes_no.unread", "a sentence may say it without the word")
    return None


# ------------------------------------------------------------------------------------------- lists
_ORDERED = re.compile(
    r"\b(?:order|rank\w*|sequence|steps?|chronological\w*|ascending|descending|sorted|respectively"
    r"|(?:first|\w+est|least|most) to (?:the )?(?:last|\w+est|least|most)|(?:start|beginn)ing (?:with|from))\b",
    re.IGNORECASE,
)


def asks_order(question: str) -> bool:
    """Whether the items of the answer have an order: "from smallest to largest"."""
    return _ORDERED.search(question) is not None


def asks_last_for_order(question: str) -> bool:
    """Whether the last sentence speaks of it: the order that an earlier one speaks of need not be the answer's."""
    return asks_order(re.split(r"[.?!]\s+", question.strip())[-1])


def _items(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Lists of short items; formulas have their own parser."""
    if reads_value(gold):
        return None  # "August 5, 1937" is one value
    wanted, said = split_items(gold), split_items(candidate)
    if asked.domain == "math" and not all(map(_is_counted, [*wanted, *said])):
        return None
    if len(wanted) < 2 or len(said) < 2 or not all(map(is_short, wanted)):
        return None
    kind: AnswerKind = asked.spec.kind if asked.spec.kind in ("set", "sequence") else "set"
    if asked.spec.kind is None and asks_order(asked.question):
        kind = "sequence"
    plain = Asked(asked.question, asked.domain)
    if len(wanted) == len(said) and _matched(wanted, said, plain, ordered=kind == "sequence"):
        return Comparison(True, kind, f"{kind}.equal", "the same items")
    if (
        kind == "sequence"
        and len(wanted) == len(said)
        and _matched(wanted, said, plain, ordered=False)
    ):
        is_sure = asked.spec.kind is not None or asks_last_for_order(asked.question)
        correct = False if is_sure else None
        return Comparison(correct, kind, "sequence.order", "the same items in another order")
    if asked.spec.kind is not None or all(map(reads_value, [*wanted, *said])):
        return Comparison(False, kind, f"{kind}.different", "other items")
    return None


def _is_counted(item: str) -> bool:
    number = parse_number(item)
    return number is not None and bool(number.unit) and not number.units


def _matched(wanted: list[str], said: list[str], asked: Asked, *, ordered: bool) -> bool:
    left = list(said)
    for at, item in enumerate(wanted):
        places = [at - (len(said) - len(left))] if ordered else range(len(left))
        found = next((place for place in places if _same_item(item, left[place], asked)), None)
        if found is None:
            return False
        del left[found]
    return not left


def _same_item(gold: str, item: str, asked: Asked) -> bool:
    compared = compare_values(gold, item, asked)
    return compared.correct is True if compared else normal_text(gold) == normal_text(item)


def is_value(gold: str, asked: Asked) -> bool:
    """Is a gold answer of a kind that is compared as a value?"""
    compared = compare_values(gold, gold, asked)
    return compared is not None and compared.correct is True


_VALUE_WORDS = 5
"""Of the longest value: "2 hours and 15 minutes"."""


def states(text: str, gold: str, asked: Asked) -> bool:
    """Is ``text`` one sentence of the question's words with ``gold``, or with an equal value, in its place?"""
    asking = asking_sentence(asked.question)
    return restates(text, gold, asking) or any(
        restates(text.replace(span, gold, 1), gold, asking)
        for span in equal_values_in(text, gold, asked)
    )


def equal_values_in(text: str, gold: str, asked: Asked) -> Iterator[str]:
    """Each value equal to ``gold`` that stands in ``text``, in at most five words side by side."""
    if not is_value(gold, asked):
        return
    words = text.split()[:_WORDS_READ]
    spans = (
        " ".join(words[at : at + size]).strip(" ,;:()")
        for at in range(len(words))
        for size in range(1, min(_VALUE_WORDS, len(words) - at) + 1)
    )
    for span in spans:
        compared = compare_values(gold, span, asked)
        if compared is not None and compared.correct:
            yield span


def gold_kind(
    gold: str, question: str, domain: Domain, spec: AnswerSpec = UNSPECIFIED
) -> AnswerKind:
    """The kind that a gold answer is read as: what ``init`` tells the owner of the rows.

    Args:
        gold: one accepted answer.
    """
    if spec.kind is not None:
        return spec.kind
    compared = compare_values(gold, gold, Asked(question, domain, spec))
    if compared is not None:
        return compared.kind
    if domain == "math":
        return "expression"
    return "short_text" if is_short(gold) else "long_text"
