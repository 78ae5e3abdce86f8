"""What two numbers with units say about each other, given the question that asks."""

from __future__ import annotations

import re

from llm_as_judge.grading.number import CURRENCY, FAMILIES, FAMILY_OF, Quantity, singular

_DIRECT = re.compile(
    r"\bhow (?:many|much)(?: more| fewer| less)?\s+((?:\w+\s*){1,2})|\bin (\w+)\s*\?"
)
_ASKS_PERCENT = re.compile(r"(?<!\d)(?<!\d[ \\-])(?:percent|per cent|%)", re.IGNORECASE)
"""Asked for, not given: "what is 20% as a fraction" wants no per cent."""

_QUALIFYING = frozenset(
    ["before", "excluding", "excl", "without", "net", "gross", "plus", "minus", "less", "short"]
)
_FOREIGN = frozenset(CURRENCY.values()) - {"dollar"}


def _ask(question: str) -> str:
    """The sentence that asks: the last with a question mark, else the last one."""
    sentences = [s for s in re.split(r"(?<=[.?!])\s+", question.strip()) if s]
    asking = [s for s in sentences if s.endswith("?")]
    return (asking or sentences or [""])[-1].lower()


def _asked_units(text: str, family: str) -> set[str]:
    words = (singular(word) for word in re.findall(r"[a-z°¢]+", text.lower().replace("$", " usd ")))
    return {word for word in words if word in FAMILIES[family]}


def compare_numbers(
    gold: Quantity, candidate: Quantity, question: str
) -> tuple[bool | None, str, str]:
    """(correct, rule, explanation); correct is None where a unit leaves doubt."""
    same = gold.value == candidate.value
    if gold.percent != candidate.percent:
        if candidate.percent and gold.value == candidate.value / 100 and gold.form != "integer":
            return True, "number.percent", "the per cent value equals the fraction"
        if gold.percent and gold.value / 100 == candidate.value and candidate.reduced:
            return True, "number.percent", "the fraction equals the per cent value"
        asked = bool(_ASKS_PERCENT.search(_ask(question)))
        if same and not asked:
            return False, "number.percent_mismatch", "one is a percentage, the other is not"
    if candidate.form == "fraction" and same and gold.value.denominator == 1:
        return False, "number.unevaluated", "an integer left as a quotient is not worked out"
    verdict = _compare_units(gold, candidate, question)
    if verdict is not None:
        return verdict
    if same:
        return True, "number.equal", "equal numbers"
    return False, "number.different", "different numbers"


def _qualified(gold: Quantity, candidate: Quantity, question: str) -> str | None:
    """A word behind the candidate's unit that makes it another quantity: "before VAT", "per unit"; None where
    gold or question have it, too."""
    known = {singular(word) for word in re.findall(r"[a-z]+", f"{question} {gold.unit}".lower())}
    words = candidate.unit.split(" ")
    for at, word in enumerate(words):
        if word in _QUALIFYING and word not in known:
            return word
        if word == "per" and singular(words[at + 1] if at + 1 < len(words) else "") not in known:
            return "per"
    return None


def _compare_units(
    gold: Quantity, candidate: Quantity, question: str
) -> tuple[bool | None, str, str] | None:
    money = _asked_units(question, "money")
    dollars = "$" in question or (money and "euro" not in money)
    if candidate.unit in _FOREIGN and not gold.unit and dollars:
        return False, "number.unit_mismatch", f"the question has dollars, not {candidate.unit}"
    gold_head, head = gold.unit.split(" ")[0], candidate.unit.split(" ")[0]
    same = gold.value == candidate.value
    if same and (said := _qualified(gold, candidate, question)) is not None:
        return None, "number.qualified", f"{said!r} is no word of the question"
    family = FAMILY_OF.get(head)
    if family is None or head == gold_head:
        return None
    factors = FAMILIES[family]
    if family == "money" == FAMILY_OF.get(gold_head) and "cent" not in {head, gold_head}:
        return False, "number.unit_mismatch", f"wanted {gold_head}, found {head}"
    if gold_head in FAMILY_OF and gold_head not in factors:
        return None, "number.unit_mismatch", f"wanted {gold_head}, found {head}"
    if gold_head in factors:
        if gold.value * factors[gold_head] == candidate.value * factors[head]:
            return True, "number.converted", f"{gold_head} and {head} agree after conversion"
        return False, "number.unit_mismatch", f"wanted {gold_head}, found {head}"
    if gold_head:
        return None
    ask = _ask(question)
    direct = " ".join(one or other for one, other in _DIRECT.findall(ask))
    asked = _asked_units(direct, family) or _asked_units(ask, family)
    if family == "money" and "$" in ask:
        asked.add("dollar")
    if asked and head not in asked:
        return False, "number.unit_mismatch", f"the question asks for {', '.join(sorted(asked))}"
    if not asked and (everywhere := _asked_units(question, family)) and head not in everywhere:
        return False, "number.unit_mismatch", f"{head} is no unit of the question"
    return None
