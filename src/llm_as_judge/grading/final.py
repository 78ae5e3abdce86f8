"""Final expression of a declared answer, and its plain number."""

from __future__ import annotations

import re
from fractions import Fraction

from llm_as_judge.grading.comparison import asking_sentence
from llm_as_judge.grading.extract import (
    Declared,
    is_hedged,
    is_negated,
    without_denied_number,
)
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.number import (
    Quantity,
    count_numbers,
    has_decimal_comma,
    in_currency,
    is_written_as,
    parse_number,
)
from llm_as_judge.grading.number_words import spelled_numbers
from llm_as_judge.grading.objects import is_object
from llm_as_judge.grading.shape import is_range, parse_shape
from llm_as_judge.grading.wordlists import NOT_A_UNIT, NUMERALS, informative, new_words
from llm_as_judge.types import AnswerKind, Verdict


def verdict_of(
    correct: bool | None, rule: str, explanation: str, kind: AnswerKind | None = None
) -> Verdict:
    """A verdict whose stage is the first part of its rule."""
    score = None if correct is None else float(correct)
    return Verdict(correct, rule.split(".")[0], rule, explanation, score=score, kind=kind)


def fold(latex: str) -> str:
    """Normal form without layout: spaces, redundant braces and outer dollar signs."""
    latex = re.sub(r"\\text\s*\{\s*([^{}]*?)\s*\}", r"\1", latex)
    latex = re.sub(r"\^\{(\w)\}", r"^\1", re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", latex))
    latex = re.sub(r"^\(([a-zA-Z])\)$", r"\1", latex)
    return re.sub(r"^[a-zA-Z]=(?=[-\d\\][^=]*$)", "", latex).rstrip(".")


def words(latex: str) -> str:
    """Words in lower case, and what holds a digit with its signs ("-4", "4/5"): to compare answers in words."""
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", latex)
    parts = (
        part.strip("(),.;:'\"") if re.search(r"\d", part) else re.sub(r"[^\w%]+|_+", " ", part)
        for part in bare.split()
    )
    return " ".join(" ".join(parts).casefold().split())


# --------------------------------------------------------------------------- the final expression
_INLINE = re.compile(r"(?<!\\)\$\$?([^$]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_EMPHASIZED = re.compile(r"(?<![\w)])\*\*(\S(?:[^*\n]*\S)?)\*\*(?![\w(])")
_PROSE_WORD = re.compile(r"(?<![\\a-zA-Z{])[a-zA-Z]{3,}(?![a-zA-Z}])")
_WORD = re.compile(r"(?<![\\a-zA-Z{])[a-zA-Z]{2}")
_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])")
_LAST_RESULT = re.compile(r"(?<![<>!~≈])=\s*([^=]+?)\s*$")


def final_expression(
    declared: Declared, gold: str, gold_number: Quantity | None, listed: bool, question: str
) -> tuple[str, Verdict | None]:
    """The expression to compare, or the verdict on a text that has none."""
    text = _EMPHASIZED.sub(r"\1", declared.text)
    text = text.replace("**", "") if "**" in text[:2] else text
    if not re.search(r"(?<!\\)\$", text):
        text = text.replace(r"\$", "$")  # a sum of money in prose, no formula
    if not declared.marked and not is_object(text):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        several = _several_lines(lines, gold, listed)
        if several is not None:
            return several
        text = " ".join(lines) if r"\begin" in text else lines[-1] if lines else text
    if words(normalize(text)) == words(normalize(gold)) and gold_number is None:
        return text, None
    text = without_denied_number(text, (gold,))
    if is_negated(text, (gold,)) and not is_range(parse_shape(normalize(text))):
        return "", verdict_of(False, "extract.negated", "the answer is negated")
    if is_hedged(text, (gold,)):
        return "", verdict_of(False, "extract.hedged", "the answer is hedged")
    text = _LEAD_IN.sub("", text)
    if quantity(normalize(text)) is not None or parse_number(text) is not None:
        return text, None
    if gold_number is not None and has_decimal_comma(text):
        return text, None
    if gold_number is not None and (rounded := _rounded_side(text)) is not None:
        return rounded, None
    if gold_number is not None and _unequal_sides(text):
        return "", verdict_of(False, "extract.several", "different numbers, said to be equal")
    inline = {normalize(next(g for g in m.groups() if g)) for m in _INLINE.finditer(text)}
    if len(inline) == 1 and _PROSE_WORD.search(_INLINE.sub(" ", text)):
        return _right_side(inline.pop(), question), None
    if gold_number is not None:
        return _number_of_prose(text, gold_number, question)
    return text, None


_LEAD_IN = re.compile(
    r"^(?:(?:so|thus|hence|therefore|then)\b,?\s+)?(?:(?:(?:it|that|this|which)(?:\s+is|['’]s)"
    r"|(?:it|that|this|which)\s+(?:equals|gives|makes)|we\s+(?:get|have|find|obtain)|equals"
    r"|(?:the\s+)?(?:total|sum|result|value|solution)\s*(?:is|:|=)|[a-z]\s*:)\s+"
    r"|in(?:\s+the\s+year)?\s+(?=\d)|(?:exactly|precisely)\s+(?=[-+$€£\d]))?",
    re.IGNORECASE,
)
"""What announces an answer and says nothing of it: "so", "it is", "we get", "exactly" or "in" before a number."""


def _several_lines(lines: list[str], gold: str, listed: bool) -> tuple[str, Verdict | None] | None:
    """Lines that are each an answer: one list where the gold is one, else no single answer."""
    whole = "\n".join(lines)
    if r"\begin" in whole:
        if whole.count(r"\begin") > max(1, gold.count(r"\begin")):
            return "", verdict_of(False, "extract.several", "several matrices")
        return None
    answers = list(dict.fromkeys(line for line in lines if _answer_like(line)))
    if len(answers) == 1 and answers[0] not in lines[-1:]:
        alone, last = (set(count_numbers(line)) for line in (answers[0], lines[-1]))
        if alone and last and not alone & last:
            return "", verdict_of(
                None,
                "extract.undeclared",
                "a line with a number of its own, and another at the end",
            )
    if len(answers) < 2:
        return None
    if listed and len(answers) == len(lines):
        return ", ".join(answers), None
    return "", verdict_of(False, "extract.several", f"{len(answers)} lines are each an answer")


def _answer_like(line: str) -> bool:
    """A line that could be a whole answer: short or one word, no step of a calculation."""
    words_in = _PROSE_WORD.findall(re.sub(r"\\[a-zA-Z]+", " ", line))
    brief = len(line) <= 80 or " " not in line
    return brief and "=" not in line and len(words_in) <= 1 and not line.endswith(":")


def _right_side(text: str, question: str) -> str:
    """``48 + 24 = 72`` -> ``72``: a chain of equal numbers ends in its result."""
    sides = text.split("=")
    if "," in text or len(sides) < 2 or not all(re.search(r"\d", side) for side in sides):
        return text
    return sides[-1].strip() if _is_worked_out(text, question) else text


_OPERATION = re.compile(r"[-+*/^|\d]|\\(?:frac|sqrt|cdot|times|pm)")
_SINGLE = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z](?![a-zA-Z])")
_FACTOR = re.compile(
    r"(?<![\\a-zA-Z])(?<!\d )(?<!\d)([a-zA-Z]{2,})(?=\s*[\^*])|(?<=[-+*])\s*(?<![\\a-zA-Z])[a-zA-Z]{2,}"
)
"""A word that is reckoned with: "answer^2", and no unit as in "3 pens + 4 pens"."""
_OF_NAME = re.compile(
    r"(?<=[a-zA-Z'])(?:_\{?\w+\}?|\([^()]*\))|(?<=[a-zA-Z])-(?=[a-zA-Z]{3})|^\s*-\s"
)
"""What belongs to a name: an index, arguments, a hyphen; or to a list: its dash."""


_ARTICLE = re.compile(r"\b[aA]\s+(?=[a-zA-Z]{2})")


def _of_variables(side: str, result: str = "") -> bool:
    """``2x`` and ``-k``, but neither ``x``, ``f(3)`` nor ``2 + 3``; a letter of the result is its unit."""
    side = _ARTICLE.sub("", _OF_NAME.sub("", side))
    letters = set(_SINGLE.findall(side)) - set(_SINGLE.findall(result))
    named = set(_FACTOR.findall(side)) - set(re.findall(r"[a-zA-Z]+", result))
    return bool(named) or (bool(letters) and _OPERATION.search(side) is not None)


def _is_worked_out(text: str, question: str) -> bool:
    """Is what stands behind the last sign the value of what was asked, and of no ``x^2`` on the way there?"""
    first, *_, result = sides = text.strip("$ .").split("=")
    if not all(_of_variables(side, result) for side in (first, sides[-2])):
        return True
    asked = re.sub(r"[{}]", "", normalize(question))
    for side in (first, sides[-2]):
        signs = map(re.escape, re.sub(r"[\s{}]", "", normalize(side)))
        alone = r"(?<![-+*/=\w^])(?<![-+*/=]\s)" + r"\s*".join(signs) + r"(?!\s*[-+*/=\w^])"
        if re.search(alone, asked):
            return True
    return False


def _unequal_sides(text: str) -> bool:
    """``20 = 18``: two plain numbers that differ, so that the last is no result."""
    sides = [quantity(normalize(side)) for side in text.strip("$ .").split("=")]
    bare = {side.value for side in sides if side and not (side.unit or side.percent)}
    return len(bare) > 1


def _number_of_prose(text: str, gold: Quantity, question: str) -> tuple[str, Verdict | None]:
    """The one number of a sentence such as "She has 72 clips left."."""
    joined = _THOUSANDS.sub(lambda m: m[0].replace(",", ""), text)
    result = _LAST_RESULT.search(joined) if "," not in joined else None
    if result and not _is_worked_out(text, question):
        return "", verdict_of(None, "extract.equation", "an equation that was not asked for")
    shown = result.group(1) if result else text
    if parse_number(shown) is not None:
        return shown, None
    concluded = _conclusion(text)
    if concluded is not None:
        return concluded
    if text.count("=") > 1 and _SO.search(text):
        return "", verdict_of(None, "extract.undeclared", "a conclusion from an equation")
    found = count_numbers(text)
    prose = len(_PROSE_WORD.findall(re.sub(r"\\[a-zA-Z]+", " ", text)))
    if 0 < len(_NEGATIVE.findall(text)) < len(found):
        return "", verdict_of(
            None, "extract.undeclared", "a number and its negative, none declared"
        )
    if len(set(found)) == 1 and prose >= 2 and "\\" not in text:
        return _number_of_sentence(text, gold, question)
    if len(set(found)) > 1 and _CALCULATION.search(text) and "\\" not in text:
        return "", verdict_of(None, "extract.undeclared", "a calculation, no result declared")
    if found == [abs(gold.value)] and _only_words_beside(text):
        return "", verdict_of(None, "number.partial", "the number wanted, with words of its own")
    asked = {gold.value, *count_numbers(question)}
    sentence = _WORD.search(text) and not _NEGATIVE.search(text)
    if sentence and len(set(found)) > 1 and gold.value in found and set(found) <= asked:
        why = "the question's numbers beside the one wanted"
        return "", verdict_of(None, "extract.undeclared", why)
    if len(set(found)) > 1 and prose < 2 and not re.search(r"[\\^+*/()]", text):
        return "", verdict_of(False, "extract.several", "several numbers, one was wanted")
    spelled = spelled_numbers(text)
    if not found and len(spelled) == 1 and prose >= 2:
        start, end, value = spelled[0]
        return _number_of_sentence(f"{text[:start]}{value}{text[end:]}", gold, question)
    if spelled and (not found or abs(gold.value) in {value for *_, value in spelled}):
        return "", verdict_of(None, "extract.undeclared", "numbers in words, none declared")
    digits = gold.form != "words"  # else it is several numbers, or none: "2 hours and 15 minutes"
    if found and prose >= 2 and digits and abs(gold.value) not in found and "\\" not in text:
        return "", verdict_of(False, "number.absent", "the number wanted is not in the answer")
    if not found and "\\" not in text and parse_number(text) is None and prose:
        return "", verdict_of(False, "number.none", "no number in the answer")
    if len(set(found)) > 1 and prose >= 2:
        return "", verdict_of(None, "extract.undeclared", "several numbers, none declared")
    return text, None


def _number_of_sentence(text: str, gold: Quantity, question: str) -> tuple[str, Verdict | None]:
    """The number of a sentence that says nothing but what was asked; with words of its own ("a loss of 45") the
    number wanted may be said of something else."""
    shown = _with_unit(text)
    read = parse_number(shown)
    beside = _BRACKETED.sub(lambda m: " " if _is_value(m[1], gold) else m[0], text)
    new = new_words(beside.replace(shown, " "), f"{question} {gold.unit} {gold.remark}")
    new |= _other_names(text, question)
    if read is not None and read.value == gold.value and new:
        why = f"the number wanted, with words of its own: {', '.join(sorted(new))}"
        return "", verdict_of(None, "number.partial", why)
    return shown, None


def _other_names(text: str, question: str) -> set[str]:
    """Names of the question in ``text`` where its asking sentence asks for another: Bert for "has Anna left?"."""
    behind_first = asking_sentence(question).partition(" ")[2]
    names = {name for name in _NAME.findall(question) if informative(name)}
    asked = names & set(_NAME.findall(behind_first))
    return (names & set(_NAME.findall(text))) - asked if asked else set()


_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_BRACKETED = re.compile(r"\(([^()]*)\)")


def _is_value(text: str, wanted: Quantity) -> bool:
    read = parse_number(text)
    return read is not None and read.value == wanted.value


_NEGATIVE = re.compile(r"(?:^|(?<=[\s(\"'=:,]))[-\u2212]\$?\.?\d")
_CHANGING = NOT_A_UNIT | set(NUMERALS)
_COMPUTING = NOT_A_UNIT - {"or", "and", "not", "to", "e", "i", "versus", "vs", "times"}
"""Behind a number they make another one of it: "66 squared"."""
_CALCULATION = re.compile(r"\d\s*[-+*/×x]\s*\$?\d[^=]*=")
_ABOUT = re.compile(r"\s*(?:≈|\\approx)\s*")
_SO = re.compile(r"[,;.]?\s+(?:and\s+)?(?:so|thus|hence|therefore)\b,?\s+", re.IGNORECASE)


def _conclusion(text: str) -> tuple[str, Verdict | None] | None:
    """The number of ``72 - 54 = 18, so 18 remain.``, which must be the calculation's result.

    None: ``text`` is no calculation with one number concluded from it.
    """
    *steps, end = _SO.split(text.rstrip(" ."))
    if len(steps) != 1 or not _CALCULATION.search(steps[0]) or _unequal_sides(steps[0]):
        return None
    if re.search(r"\bor\b|=", end, re.IGNORECASE) or len(count_numbers(end)) != 1:
        return None
    result = quantity(normalize(steps[0].rsplit("=", 1)[1]))
    shown = end if parse_number(end) is not None else _with_unit(end)
    said = parse_number(shown)
    if result is None or said is None:
        return None
    if result.value != said.value and not _rounds_to(result, said):
        return "", verdict_of(False, "extract.several", "concludes another number than the result")
    return shown, None


def _rounds_to(exact: Quantity, said: Quantity) -> bool:
    return said.step is not None and is_written_as(exact.value, said.value, said.step)


def _rounded_side(text: str) -> str | None:
    """``53.4465 ≈ 53.45`` -> ``53.45``, where the one becomes the other by rounding."""
    sides = _ABOUT.split(text.strip(" ."))
    if len(sides) != 2:
        return None
    exact, said = quantity(normalize(sides[0].rsplit("=", 1)[-1])), parse_number(sides[1])
    return sides[1].strip() if exact and said and _rounds_to(exact, said) else None


def _only_words_beside(text: str) -> bool:
    """Does nothing but words that leave a number as it is stand beside the number of ``text``?"""
    found = [word.casefold() for word in re.findall(r"[^\W\d_]+", text)]
    plain = not re.search(r"[\\^*/=_{}()<>%+]", text)
    return plain and any(len(word) > 1 for word in found) and not set(found) & _CHANGING


_NUMBER_IN_PROSE = re.compile(
    r"(?:[$€£]\s*)?-?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:/\d+|(?<=\d)\s\d+/\d+)?"
)


def _with_unit(sentence: str) -> str:
    """The number of a sentence with its sign, currency and unit ("18 minutes", "$18 per day")."""
    match = next(m for m in _NUMBER_IN_PROSE.finditer(sentence) if re.search(r"\d", m.group()))
    number = match.group().strip()
    words_behind = re.match(
        r"\s*(?:%|[a-zA-Z°¢][\w°/^²³]*)(?:\s+[\w°/^²³]+){0,4}", sentence[match.end() :]
    )
    behind = words_behind.group().split() if words_behind else []
    if behind and behind[0].casefold() in _COMPUTING:
        return " ".join([number, *behind])
    for end in range(len(behind), 0, -1):
        together = " ".join([number, *behind[:end]])
        read = parse_number(together)
        if read is not None and not read.remark and (read.units or read.percent or end == 1):
            return together
    return number


# ------------------------------------------------------------------------------------- quantities
_REPEATING = re.compile(r"^\s*(-?)(\d*)\.(\d*)\s*\\overline\s*\{?\s*(\d+)\s*\}?\s*$")

_ONE_OVER_POWER = re.compile(
    r"^(?:\\frac\{\s*(-?\d*[1-9])\s*\}\{\s*10\^\{(\d+)\}\s*\}|(-?\d*[1-9])\s*/\s*10\^\{(\d+)\})$"
)


def quantity(latex: str) -> Quantity | None:
    """The plain number that a normalized answer is (fractions, per cent, units), else None."""
    text = without_latex(latex)
    return None if text is None else parse_number(text)


def _period(match: re.Match[str]) -> str:
    """A repeating decimal as a fraction."""
    sign, whole, fixed, period = match.groups()
    tail = Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(fixed))
    value = Fraction(int(whole or 0)) + Fraction(int(fixed or 0), 10 ** len(fixed)) + tail
    return f"{sign}{value}"


_INLINE = re.compile(r"\A\s*\$\s*([^$]+?)\s*\$\s*\Z")
"""A whole answer between the dollar signs of LaTeX, which are no currency: ``$5$``."""


def plain_text(text: str) -> str | None:
    """An answer without LaTeX, as a person would write it; None where it is a formula."""
    text = _INLINE.sub(r"\1", text)
    if in_currency(text) or parse_number(text, decimal_comma=True) or text.startswith("≈"):
        return text
    return without_latex(normalize(text))


def without_latex(latex: str) -> str | None:
    """A normalized answer in plain notation: fractions with a slash, powers of ten, units in words; None where
    anything else of LaTeX is in it."""
    text = re.sub(r"^([a-zA-Z]|[A-Z]{2})\s*=\s*", "", latex)
    if len(latex) <= 200:
        text = _REPEATING.sub(_period, text)
    text = text.replace(r"\$", "$").replace(r"\%", "%").replace(r"^\circ", "°")
    text = re.sub(r"(\d)\s*\\frac\{(\d+)\}\{(\d+)\}", r"\1 \2/\3", text)
    text = re.sub(r"\\frac\{\s*(-?\d+)\s*\}\{\s*(\d+)\s*\}", r"\1/\2", text)
    text = re.sub(r"\\cdot\s*10", r"x 10", text)
    text = _ONE_OVER_POWER.sub(lambda m: f"{m[1] or m[3]} x 10^{{-{m[2] or m[4]}}}", text)
    text = re.sub(r"\\text\s*\{\s*([^{}]*?)\s*\}", r" \1", text)
    text = re.sub(r"(?<=[a-z])\s*\^\s*\{?(-?[1-4])\}?", r"^\1", text)
    text = re.sub(r"^\((-?[\d./,]+)\)$", r"\1", text.strip())
    text = re.sub(r"\\(?:ge|le|approx|sim)\b", lambda m: _SIGN_OF[m.group()], text)
    text = " ".join(text.split())
    return None if "\\" in text or "_" in text or "{" in text.replace("^{", "") else text


_SIGN_OF = {r"\ge": ">=", r"\le": "<=", r"\approx": "~", r"\sim": "~"}
