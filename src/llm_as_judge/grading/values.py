"""Typed values: of which kind a gold answer is, and whether an answer is the same value of it.

Same kind and equal value: right. Same kind and another value: wrong. What is of no kind, or of a kind
on one side only, is left to the comparison of texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llm_as_judge.grading.comparison import compare_numbers, kind_of
from llm_as_judge.grading.dates import (
    compare_clocks,
    compare_dates,
    read_clock,
    read_dates,
    read_ratio,
    same_ratio,
)
from llm_as_judge.grading.number import Quantity, parse_number
from llm_as_judge.grading.text import is_short, normal_text
from llm_as_judge.grading.wordlists import new_words
from llm_as_judge.types import UNSPECIFIED, AnswerKind, AnswerSpec, Domain


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two values of one kind say about each other; ``correct`` None = a doubt remains."""

    correct: bool | None
    kind: AnswerKind
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a comparison knows beside the two texts."""

    question: str
    domain: Domain
    spec: AnswerSpec = UNSPECIFIED


_WORDS_READ = 40
_DECORATION = re.compile(r"^[\s\"'“”‘’*_`]+|[\s\"'“”‘’*_`]+$|(?<=[^\W\d])!+$|(?<!\b[a-zA-Z])[.]$")


FEET_AND_INCHES = re.compile(r"\s*\d+\s*['’′]\s*\d+(?:\.\d+)?\s*(?:[\"”″]|'')\s*")


def bare(text: str) -> str:
    """``text`` without quotes, emphasis and a last period."""
    before = None
    if FEET_AND_INCHES.fullmatch(text):
        return text
    while before != text:
        before, text = text, _DECORATION.sub("", text)
    return text


def compare_values(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Compares two texts as values of the gold's kind.

    Returns:
        None where the gold is of no kind of value, or the candidate is no value at all.
    """
    gold, candidate = bare(gold), bare(candidate)
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
        return (_yes_no, _range, _bound, _clock, _ratio, _number, _date, _items)
    by_kind: dict[AnswerKind, tuple[Comparer, ...]] = {
        "number": (_bound, _ratio, _number),
        "quantity": (_bound, _number),
        "money": (_bound, _number),
        "percentage": (_bound, _number),
        "duration": (_bound, _number),
        "date": (_bound, _date, _number),
        "time": (_bound, _clock),
        "bound": (_range, _bound),
        "set": (_items,),
        "sequence": (_items,),
        "yes_no": (_yes_no,),
    }
    return by_kind.get(kind, ())


# --------------------------------------------------------------------------------------- yes or no
_YES_NO = {"yes": "yes", "no": "no", "y": "yes", "n": "no", "true": "true", "false": "false"}
_CONCLUDES = re.compile(r"^(?:so|thus|hence|therefore)\b,?\s+", re.IGNORECASE)
_OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_FIRST_WORD = re.compile(r"^(yes|no|true|false)\b\s*(?=[,.;:!–—-]|$)", re.IGNORECASE)
_SAID_AGAIN = re.compile(
    r"[\s,.;:!–—-]*(?:it|they|s?he|this|that|these|those|i|you|we|there)\s+"
    r"(?:is|are|was|were|do|does|did|has|have|had|can?|could|wo|will|would|should)(\s*not|n['’]t)?[.!]*$",
    re.IGNORECASE,
)
"""Behind yes or no: "they are", "it does not"."""


def _yes_no(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    wanted = _YES_NO.get(gold.casefold())
    if wanted is None:
        return None
    candidate = _CONCLUDES.sub("", candidate)
    said = _YES_NO.get(candidate.casefold())
    if said is not None:
        return Comparison(said == wanted, "yes_no", "yes_no.word", f"says {said}")
    words = re.findall(r"[a-z]+", candidate.casefold())
    if len(words) <= 4 and {wanted, _OPPOSITE[wanted]} <= set(words):
        return Comparison(False, "yes_no", "yes_no.both", "says both")
    first = _FIRST_WORD.match(candidate)
    if first and first[1].casefold() == _OPPOSITE[wanted]:
        return Comparison(False, "yes_no", "yes_no.opposite", f"begins with {first[1]!r}")
    again = _SAID_AGAIN.match(candidate, first.end()) if first else None
    if again and (again[1] is not None) == (wanted in ("no", "false")):
        return Comparison(True, "yes_no", "yes_no.sentence", f"says {wanted} twice")
    if first:
        return Comparison(None, "yes_no", "yes_no.qualified", "words behind yes or no may turn it")
    return None


# ------------------------------------------------------------------------------------------ bounds
_BOUNDS = {
    "above": r">(?!=)|over|above|more than|greater than|larger than|exceeding|upwards of|beyond|longer than|after|since",
    "least": r">=|≥|\\ge|\\geq|=>|at least|no (?:less|fewer) than|not (?:less|fewer) than|a minimum of|minimum|min\.?|from",
    "below": r"<(?!=)|under|below|less than|fewer than|smaller than|within|before|shorter than",
    "most": r"<=|≤|\\le|\\leq|=<|at most|up to|no more than|not more than|no later than|a maximum of|maximum|max\.?|until|till|by",
    "about": r"~|≈|\\approx|\\sim|about|around|approximately|approx\.?|roughly|circa|ca\.|c\.|nearly|almost|some|an estimated|estimated",
}
_BOUND = re.compile(
    r"(?:(?:it|that|this|they)\s+(?:is|are|was|were)\s+)?(?:"
    + "|".join(rf"(?P<{name}>{pattern})(?![a-zA-Z])" for name, pattern in _BOUNDS.items())
    + r")\s*(?P<rest>.*\d.*|.*[a-z]{2}.*)",
    re.IGNORECASE | re.DOTALL,
)
_BOUND_BEHIND = re.compile(
    r"(?P<rest>.+?)\s+(?:(?P<least>(?:or|and) (?:more|longer|later|above|over|older|up|upwards?|higher|greater|larger)"
    r"|at (?:the )?least|minimum)|(?P<most>(?:or|and) (?:less|fewer|earlier|below|under|younger|lower|shorter|smaller)"
    r"|at (?:the )?most|maximum))",
    re.IGNORECASE,
)
_PLUS = re.compile(r"(?P<rest>\d[\d,. ]*)\+")
_ASKS_BOUND = {
    "above": re.compile(
        r"\b(?:above|over|more than|exceed\w*|beyond|from|after|longer than)\b", re.I
    ),
    "least": re.compile(r"\b(?:at least|minimum|least|fewest|lowest|smallest|from)\b", re.I),
    "below": re.compile(r"\b(?:below|under|less than|fewer than|within|before|until)\b", re.I),
    "most": re.compile(
        r"\b(?:at most|maximum|up to|most|highest|largest|greatest|longest|latest|until|by when|limit|within)\b",
        re.I,
    ),
    "about": re.compile(r"\b(?:about|around|approximately|roughly|estimat\w+|nearly)\b", re.I),
}
_SAME_SIDE = ({"above", "least"}, {"below", "most"})


def _read_bound(text: str) -> tuple[str, str]:
    """(name of the bound, text behind it); no name where there is none."""
    for pattern in (_BOUND, _BOUND_BEHIND, _PLUS):
        match = pattern.fullmatch(text)
        if match is None:
            continue
        said = match.groupdict()
        rest = said.pop("rest").strip()
        if not _reads(rest):
            continue
        return next((name for name, found in said.items() if found), "least"), rest
    return "", text


def _reads(text: str) -> bool:
    return bool(parse_number(text, decimal_comma=True) or read_dates(text) or read_clock(text))


def _bound(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """A bound or an approximation on either side: "more than 5" is not 5, but where the question asks for it."""
    wanted, gold_value = _read_bound(gold)
    found, value = _read_bound(candidate)
    if not (wanted or found):
        return None
    compared = _of_values(gold_value, value, asked)
    if compared is None or compared.correct is False:
        return compared and Comparison(False, "bound", "bound.value", compared.why)
    if wanted == found or compared.correct is None:
        return Comparison(compared.correct, "bound", "bound.equal", compared.why)
    said = wanted or found
    if not (wanted and found):
        if _ASKS_BOUND[said].search(asked.question):
            return Comparison(True, "bound", "bound.asked", f"the question says {said!r}, too")
        if wanted or asked.domain == "qa":
            return Comparison(None, "bound", "bound.left_out", f"one is {said!r}, the other is not")
        return Comparison(False, "bound", "bound.added", f"{said!r} a value is not the value")
    if any({wanted, found} == side for side in _SAME_SIDE) or "about" in {wanted, found}:
        return Comparison(None, "bound", "bound.other", f"wanted {wanted!r}, found {found!r}")
    return Comparison(False, "bound", "bound.other", f"wanted {wanted!r}, found {found!r}")


_LONGEST_RANGE = 60
_RANGE = re.compile(
    r"(?:from\s+)?(?P<low>.+?)\s*(?:\bto\b|\buntil\b|\btill\b|\bthrough\b|-|\u2013|\u2014)\s*(?P<high>.+)"
    r"|between\s+(?P<over>.+?)\s+and\s+(?P<under>.+)",
    re.IGNORECASE,
)


def _range_ends(text: str) -> tuple[str, str] | None:
    """Both ends of "20-25 people", "from 9:00 to 17:00", "between 3 and 5 days"; the first takes the second's unit."""
    said = _RANGE.fullmatch(text)
    if said is None or len(text) > _LONGEST_RANGE or read_dates(text):
        return None
    low, high = (said["low"] or said["over"]).strip(), (said["high"] or said["under"]).strip()
    first, last = parse_number(low), parse_number(high)
    if first and last:
        unit = "%" if last.percent else last.unit
        low = f"{low} {unit}" if unit and not (first.unit or first.percent) else low
        return (low, high) if first.value < last.value or first.unit != last.unit else None
    clocks = read_clock(low) or (first and read_clock(f"{low}:00")), read_clock(high)
    if all(clocks) or (read_dates(low) and read_dates(high)):
        return low, high
    return None


def _range(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """A range of texts: both ends, in order. Formulas have intervals, and "5-3" is a difference there."""
    if asked.domain == "math" or _NO_TIME.search(asked.question):
        return None
    wanted, said = _range_ends(gold), _range_ends(candidate)
    if wanted is None:
        return None
    if said is None:
        values = (candidate, _read_bound(candidate)[1], *_split_items(candidate))
        other = any(map(_reads, values))
        return Comparison(False, "bound", "bound.no_range", "a range was wanted") if other else None
    ends = [_of_values(*pair, asked) for pair in zip(wanted, said, strict=True)]
    verdicts = {end.correct for end in ends if end is not None}
    if None in ends or None in verdicts:
        return Comparison(None, "bound", "bound.range", "an end of the range is in doubt")
    same = verdicts == {True}
    return Comparison(same, "bound", "bound.range", "both ends are compared")


def _of_values(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    for compare in (_clock, _number, _date):
        compared = compare(gold, candidate, asked)
        if compared is not None:
            return compared
    return None


# --------------------------------------------------------------------------------- times and ratios
_NO_TIME = re.compile(
    r"\b(?:ratio|odds|scale|proportion|score|scored|result|verse|chapter)\b", re.I
)
_ASKS_TIME = re.compile(
    r"\b(?:what time|when|at which time|which time|o['’]?clock|time of day|until|by what)\b", re.I
)


def _clock(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    if _NO_TIME.search(asked.question) and asked.spec.kind != "time":
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


def _ratio(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    wanted = read_ratio(gold)
    if wanted is None or "/" in gold:
        return None
    said = read_ratio(candidate)
    if said is None:
        quotient = parse_number(candidate)
        if quotient is None or len(wanted) != 2 or not wanted[1] or quotient.unit:
            return None
        same = quotient.value == wanted[0] / wanted[1]
        return Comparison(same, "number", "ratio.quotient", "a ratio as a quotient")
    if same_ratio(wanted, said):
        return Comparison(True, "number", "ratio.equal", "terms in the same ratio")
    if ":" not in gold and ":" not in candidate:
        return None  # "1939 to 1945" may be a span
    return Comparison(False, "number", "ratio.different", "another ratio")


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


def _number(gold: str, candidate: str, asked: Asked) -> Comparison | None:
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
        said = _with_unit(said, asked.spec.unit) if wanted.unit or wanted.percent else said
    correct, rule, why = compare_numbers(wanted, said, asked.question, asked.spec)
    kind = asked.spec.kind or kind_of(wanted if wanted.unit or wanted.percent else said)
    if correct and (doubt := _told_besides(wanted, said, gold, candidate, asked.question)):
        return Comparison(None, kind, *doubt)
    return Comparison(correct, kind, rule, why)


_ASKS_LABEL = re.compile(
    r"\b(?:which|what)(?:\s+is\s+the)?(?:\s+\w+)?\s+(?:version|release|section|chapter|clause|paragraph|article|room|edition|form)\b"
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
    """Has ``remark`` only words of ``question``: "per minute" where "a minute" is asked for?"""
    return not new_words(remark, question) - {"per", "each", "every"}


def _is_era(number: Quantity) -> bool:
    return number.unit.casefold().replace(".", "") in _ERAS


def _with_unit(number: Quantity, unit: str) -> Quantity:
    return parse_number(f"{number.value} {unit}") or number


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
def _date(gold: str, candidate: str, asked: Asked) -> Comparison | None:
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


# ------------------------------------------------------------------------------------------- lists
_SEPARATOR = re.compile(r"\s*(?:;|\n|,(?!\d{3}(?!\d))\s*(?:and\b|or\b|&)?|\s(?:and|&)\s|\s\+\s)\s*")
_NUMBERED = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_ORDERED = re.compile(
    r"\b(?:order|rank\w*|sequence|steps?|chronological\w*|ascending|descending|sorted|respectively"
    r"|(?:first|\w+est|least|most) to (?:the )?(?:last|\w+est|least|most)|(?:start|beginn)ing (?:with|from))\b",
    re.IGNORECASE,
)


def asks_order(question: str) -> bool:
    """Whether the items of the answer have an order: "from smallest to largest"."""
    return _ORDERED.search(question) is not None


def _split_items(text: str) -> list[str]:
    items = (_NUMBERED.sub("", item).strip(" .") for item in _SEPARATOR.split(text) if item)
    return [item for item in items if item]


def _items(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """Lists of short items; formulas have their own parser."""
    if _reads(gold):
        return None  # "August 5, 1937" is one value
    wanted, said = _split_items(gold), _split_items(candidate)
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
        return Comparison(False, kind, "sequence.order", "the same items in another order")
    if asked.spec.kind is not None or all(map(_reads, [*wanted, *said])):
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


def contains_value(gold: str, text: str, asked: Asked) -> bool:
    """Does a value equal to ``gold`` stand in ``text``, in at most four words side by side?"""
    if not is_value(gold, asked):
        return False
    words = text.split()[:_WORDS_READ]
    spans = (
        " ".join(words[at : at + size]).strip(" ,;:()")
        for at in range(len(words))
        for size in range(1, min(4, len(words) - at) + 1)
    )
    compared = (compare_values(gold, span, asked) for span in spans)
    return any(one is not None and one.correct is True for one in compared)


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
