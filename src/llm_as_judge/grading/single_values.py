"""Single values, compared: times of day, ratios, numbers with what is said beside them, dates."""

import re
from dataclasses import dataclass
from fractions import Fraction

from llm_as_judge.grading.comparison import (
    Asked,
    asking_sentence,
    compare_numbers,
    kind_of,
)
from llm_as_judge.grading.dates import (
    compare_clocks,
    compare_dates,
    read_clock,
    read_dates,
    read_ratio,
    same_ratio,
)
from llm_as_judge.grading.number import Quantity, fold_number_signs, parse_number
from llm_as_judge.grading.wordlists import informative, new_words, stem, tokens
from llm_as_judge.types import AnswerKind


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two values of one kind say about each other; ``correct`` None = a doubt remains."""

    correct: bool | None
    kind: AnswerKind
    rule: str
    why: str


def compare_single(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """As time of day, number or date, the first that the gold is."""
    for compare in (compare_clock, compare_number, compare_date):
        compared = compare(gold, candidate, asked)
        if compared is not None:
            return compared
    return None


def reads_value(text: str) -> bool:
    """Whether ``text`` is a number, a date or a time of day."""
    return bool(parse_number(text, decimal_comma=True) or read_dates(text) or read_clock(text))


# --------------------------------------------------------------------------------- times and ratios
ASKS_RATIO = re.compile(r"\b(?:ratio|odds|scale|proportion)\b", re.I)
_ASKS_TIME = re.compile(
    r"\b(?:what time|when|at which time|which time|o['’]?clock|time of day|until|by what)\b", re.I
)


def compare_clock(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Times of day; None where the gold is none."""
    if ASKS_RATIO.search(asked.question) and asked.spec.kind != "time":
        return None
    wanted = read_clock(gold)
    dotted = re.fullmatch(r"[\d.]+", gold) is not None  # "14.30"
    if wanted is None or (
        dotted and asked.spec.kind != "time" and not _ASKS_TIME.search(asked.question)
    ):
        return None
    said = read_clock(re.sub(r"^(?:is|it is|it's)\s+", "", candidate))
    if said is not None:
        same = compare_clocks(wanted, said)
        why = "the half of the day is not told" if same is None else f"{said.seconds // 60} minutes"
        return Comparison(same, "time", "time.equal" if same else "time.different", why)
    hour = parse_number(candidate)
    if hour and not hour.unit and (hour.value - wanted.seconds / 3600) % 12 == 0:
        return Comparison(None, "time", "time.hour", "a number that may be the hour")
    if _is_other_value(candidate):
        return Comparison(False, "time", "time.none", "a time of day was wanted")
    return None


def _is_other_value(text: str) -> bool:
    return bool(
        parse_number(text, decimal_comma=True)
        or read_dates(text)
        or read_ratio(text)
        or (":" in text and re.fullmatch(r"[\d:.\s]+", text))
    )


_DASHED = re.compile(r"(?<=\d)\s*-\s*(?=\d)")


def _is_ratio(asked: Asked) -> bool:
    """May a factor change the terms? A score or a verse has no ratio."""
    return asked.domain == "math" or ASKS_RATIO.search(asked.question) is not None


def _terms(text: str, asked: Asked) -> tuple[Fraction, ...] | None:
    return read_ratio(text if _is_ratio(asked) else _DASHED.sub(":", fold_number_signs(text)))


def _may_be_span(gold: str, candidate: str, asked: Asked) -> bool:
    """ "1939 to 1945", "3-5": each end counts, and no factor."""
    low, *_, high = read_ratio(_DASHED.sub(":", gold)) or (1, 0)
    return low <= high and ":" not in gold + candidate and not ASKS_RATIO.search(asked.question)


def compare_terms(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """The same terms, once with a colon and once without: "2:15" and "2-15"; None for all others."""
    wanted = _terms(gold, asked) if (":" in gold) != (":" in candidate) else None
    if wanted is None or wanted != _terms(candidate, asked):
        return None
    return Comparison(True, "number", "ratio.terms", "the same terms")


def compare_ratio(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Terms up to a factor, and their quotient, where a ratio is asked for; None where the gold has none."""
    wanted, said = _terms(gold, asked), _terms(candidate, asked)
    if wanted is None or "/" in gold:
        return None
    quotient = parse_number(candidate) if said is None and read_ratio(gold) else None
    if quotient is not None and len(wanted) == 2 and wanted[1] and not quotient.unit:
        same, why = quotient.value == wanted[0] / wanted[1], "a ratio as a quotient"
    elif said is None or _may_be_span(gold, candidate, asked):
        return None
    else:
        same, why = same_ratio(wanted, said), "terms up to a factor"
    sure = not same or wanted == said or _is_ratio(asked)
    return Comparison(same if sure else None, "number", "ratio.terms", why)


# ----------------------------------------------------------------------------------------- numbers
_LEAD = re.compile(
    r"^(?:(?:it|that|this|they)\s+(?:is|was|are|were)\s+|it['’]s\s+)?"
    r"(?:(?:in|on|at|for|during|the|year|=)\s+)*(?=[\d$€£+-]|[a-z]+\b)",
    re.IGNORECASE,
)
_ERAS = frozenset(["ad", "bc", "ce", "bce"])


def _read_number(text: str) -> Quantity | None:
    number = parse_number(text, decimal_comma=True)
    return number or parse_number(_LEAD.sub("", text), decimal_comma=True)


def compare_number(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Numbers with units and with what is said beside them; None where the gold is none."""
    if asked.spec.kind is None and not asked.spec.unit and _ASKS_LABEL.search(asked.question):
        return None  # version 3.10 is not 3.1
    wanted = parse_number(gold)
    if wanted is None and (comma := parse_number(gold, decimal_comma=True)) and comma.unit:
        wanted = comma  # "19,99 €" is no list
    if wanted is None or _is_era(wanted) or _is_more_than_a_year(gold, asked):
        return None
    said = _read_number(candidate)
    if said is None or _is_era(said):
        return _year(wanted, gold, candidate, asked)
    if asked.spec.unit and not said.unit and not said.percent:
        said = (
            parse_number(f"{said.value} {asked.spec.unit}") or said
            if wanted.unit or wanted.percent
            else said
        )
    correct, rule, why = compare_numbers(wanted, said, asked)
    kind = asked.spec.kind or kind_of(wanted if wanted.unit or wanted.percent else said)
    if correct and (doubt := _told_besides(wanted, said, gold, candidate, asked.question)):
        return Comparison(None, kind, *doubt)
    return Comparison(correct, kind, rule, why)


_ASKS_LABEL = re.compile(
    r"\b(?:which|what)(?:\s+is\s+the)?(?:\s+\w+)?\s+(?:version|release|section|chapter|clause|paragraph|article|room|edition|form)s?\b"
    r"(?!\s+(?:temperature|size|area|length|height|width|volume|capacity|rate|price|cost|count)\b)",
    re.IGNORECASE,
)
"""Asks for a name that looks like a number."""


def _is_more_than_a_year(gold: str, asked: Asked) -> bool:
    """ "the 1980s"; "4 May", where the owner does not call it a number."""
    dates = read_dates(gold)
    return any(
        date.span > 1 or (date.month is not None and asked.spec.kind is None) for date in dates
    )


def _of_words(remark: str, question: str) -> bool:
    """Has ``remark`` only words of ``question``, in the order of the sentence that asks: "per minute" where "a minute"
    is asked for?"""
    if new_words(remark, question) - {"per", "each", "every"}:
        return False
    asking = [stem(word) for word in tokens(asking_sentence(question))]
    later = iter(asking)
    return all(word in later for word in map(stem, informative(remark)) if word in asking)


def _is_era(number: Quantity) -> bool:
    return number.unit.casefold().replace(".", "") in _ERAS


def _told_besides(
    gold: Quantity, said: Quantity, gold_text: str, text: str, question: str
) -> tuple[str, str] | None:
    """(rule, why) where equal numbers are not the whole of what the two say."""
    if said.remark and not _of_words(said.remark, f"{question} {gold.remark}"):
        return "number.remark", f"{said.remark!r} stands behind the number"
    if gold.remark and not _of_words(gold.remark, f"{question} {text}"):
        return "number.remark", f"{gold.remark!r} stands behind the gold's number"
    if not said.units and not gold.unit and said.unit and new_words(said.thing, question):
        return "number.thing", f"{said.thing!r} is no word of the question"
    if gold.unit[:1].isupper() and not gold.units and new_words(gold.unit, text):
        return "number.name", f"the gold is a name: {gold.unit!r} stands behind its number"
    if re.fullmatch(r"0\d+", gold_text) and gold_text not in text:
        return "number.digits", "a gold that begins with 0 is no amount"
    return None


def _year(wanted: Quantity, gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """A number against a date: a year may be meant."""
    dates = read_dates(_LEAD.sub("", candidate))
    if not dates or wanted.unit or wanted.percent:
        return None
    years = read_dates(gold)
    if not years:
        return Comparison(False, "number", "number.none", "a number was wanted, not a date")
    same = compare_dates(years, dates)
    return Comparison(same, "date", "date.equal" if same else "date.different", "a date for a year")


# ------------------------------------------------------------------------------------------- dates
def compare_date(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Dates; None where one of the two is none."""
    wanted = read_dates(gold)
    said = read_dates(candidate) if wanted else ()
    if not wanted or not said:
        return None
    bare_years = (parse_number(gold), parse_number(candidate))
    if all(year and not year.unit for year in bare_years) and wanted[0].span == said[0].span == 1:
        return None  # they are numbers
    same = compare_dates(wanted, said)
    if same is None:
        return Comparison(None, "date", "date.more", "says more than the gold, or in another order")
    return Comparison(same, "date", "date.equal" if same else "date.different", "dates compared")
