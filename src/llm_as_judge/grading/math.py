"""Grader of numbers and of mathematics, three-valued.

Order: same spelling -> correct; two plain numbers -> final either way; form gate -> the
candidate must be worked out as far as the gold is; shapes and symbols -> :mod:`symbolic` in the
killable pool. What remains unknown is for the LLM judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeGuard

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.dates import read_clock
from llm_as_judge.grading.extract import Declared, declared_answer
from llm_as_judge.grading.final import final_expression, fold, plain_text, verdict_of, words
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.number import Quantity, in_currency, parse_number
from llm_as_judge.grading.pool import AlgebraPool
from llm_as_judge.grading.shape import Item, Relation, Scalar, Shape, parse_shape
from llm_as_judge.grading.units import read_unit, same_dimensions
from llm_as_judge.grading.values import (
    asks_last_for_order,
    asks_order,
    compare_values,
    is_value,
    states,
)
from llm_as_judge.grading.wordlists import NOT_A_UNIT, new_words
from llm_as_judge.types import Problem, Verdict

_LONGEST_ANSWER = 1500
_DIVIDES_BY_ZERO = re.compile(r"/\s*0(?![\d.])|\\frac\s*\{[^{}]*\}\s*\{\s*0\s*\}")
_NAMED = re.compile(r"([a-zA-Z])\s*=(?:[^=a-zA-Z\\]|\\[a-zA-Z]+)*$")
_SLASHES = re.compile(r"\s/\s")
_EITHER_OR = (
    {"even", "odd", "neither"},
    {"yes", "no"},
    {"true", "false"},
    {"increasing", "decreasing"},
    {"rational", "irrational"},
    {"convergent", "divergent"},
)


async def grade_math(problem: Problem, answer: str, pool: AlgebraPool) -> Verdict:
    """Verdict on a clean, guarded ``answer`` against every gold answer of ``problem``.

    Returns:
        correct True, False, or None where the rules cannot decide.
    """
    declared = declared_answer(answer, one_sentence=True)
    about = re.sub(r"^\s*~(?=\s*[$€£]?\d)", "≈", declared.text)  # in LaTeX a tilde is a space
    declared = replace(declared, text=about)
    verdicts = []
    for gold in problem.answers:
        verdict = await _against(gold, declared, problem, pool)
        if verdict.correct:
            return verdict
        verdicts.append(verdict)
    undecided = [verdict for verdict in verdicts if verdict.correct is None]
    return (undecided or verdicts)[0]


def _is_price(text: str) -> bool:
    """ "$5", and not the "$5$" of LaTeX."""
    return in_currency(text) is not None and not text.rstrip(". ").endswith("$")


async def _against(gold: str, declared: Declared, problem: Problem, pool: AlgebraPool) -> Verdict:
    question, spec = problem.question, problem.spec
    gold_latex = normalize(gold)
    gold_shape = parse_shape(gold_latex)
    gold_plain = plain_text(gold)
    gold_number = parse_number(gold_plain) if gold_plain else None
    if declared.fault == "questioned" or (
        declared.fault == "several" and _is_one_thing(gold_shape) and r"\pm" not in gold_latex
    ):
        return verdict_of(False, "extract.several", f"several answers declared: {declared.shown}")
    if declared.fault == "retracted":
        return verdict_of(None, "extract.retracted", f"{declared.shown} may be taken back")
    if _DIVIDES_BY_ZERO.search(gold_latex):
        return verdict_of(None, "math.undefined", "the gold divides by zero")
    names = [_NAMED.match(text) for text in (gold_latex, normalize(declared.text))]
    if all(names) and len({name[1].casefold() for name in names if name}) > 1:
        return verdict_of(None, "math.other_name", "the value has another name")
    # the normal form drops the dollar sign, which decides where the row or the question has a unit
    by_form = not (spec.unit or (gold_number and _is_price(declared.text)))
    if by_form and fold(normalize(declared.text)) == fold(gold_latex):
        return verdict_of(True, "exact.same_form", "same normal form")
    if spec.grader == "exact":
        return verdict_of(False, "exact_match", "not equal to the gold answer")
    asked = Asked(question, "math", spec)
    is_typed = gold_plain is not None and is_value(gold_plain, asked)
    if gold_plain and is_typed and not declared.fault and states(declared.text, gold_plain, asked):
        return verdict_of(True, "math.restated", "the question's words and the value wanted")
    candidate, fault = final_expression(
        declared,
        gold,
        gold_number if gold_plain and is_typed and not read_clock(gold_plain) else None,
        isinstance(gold_shape, Shape) and gold_shape.kind != "text",
        question,
    )
    if fault is not None:
        return fault
    latex = normalize(candidate)
    in_words = isinstance(gold_shape, Shape) and gold_shape.kind == "text"
    if by_form and (
        fold(latex) == fold(gold_latex) or (in_words and words(latex) == words(gold_latex))
    ):
        return verdict_of(True, "exact.same_form", "same normal form")
    if len(latex) > _LONGEST_ANSWER:
        return verdict_of(False, "math.too_long", f"{len(latex)} characters are no final answer")
    plain = plain_text(candidate)
    candidate_number = parse_number(plain, decimal_comma=True) if plain else None
    if _echoes(latex, question):
        return verdict_of(False, "math.echo", "the candidate repeats the question's expression")
    if gold_plain is not None and is_typed and plain is not None:
        compared = compare_values(gold_plain, plain, asked)
        if compared is not None:
            return verdict_of(compared.correct, compared.rule, compared.why, compared.kind)
        if gold_number is None:
            return verdict_of(None, "typed.unread", "no value of the gold's kind alone")
    if re.search(r"\d", gold_latex) and is_abstention(candidate, question):
        return verdict_of(False, "math.abstained", "says that there is no answer")
    if len(_SLASHES.findall(latex)) > 1 and not _SLASHES.search(gold_latex):
        return verdict_of(False, "extract.several", "several answers between slashes")
    one_of_few = in_words and any(words(gold_latex) in kind for kind in _EITHER_OR)
    if one_of_few and is_abstention(candidate, question):
        return verdict_of(False, "math.abstained", "says that there is no answer")
    if in_words and any({words(latex), words(gold_latex)} <= kind for kind in _EITHER_OR):
        return verdict_of(False, "math.other_word", "one of the words that exclude each other")
    if in_words and candidate_number is not None and not re.search(r"\d", gold_latex):
        return verdict_of(False, "math.shape", "words were wanted, not a number")
    shape = parse_shape(latex)
    if gold_number is not None and isinstance(shape, Shape):
        return verdict_of(False, "math.shape", "one number was wanted")
    return await _symbolic(
        _Pair(gold_latex, gold_shape, gold_number, latex, shape, candidate_number, question), pool
    )


def _is_one_thing(gold: Item) -> bool:
    return isinstance(gold, Scalar) or gold.kind == "text"


# -------------------------------------------------------------------------------------- form gate
_UNFINISHED = re.compile(r"\\(?:int|iint|oint|sum|prod|lim|limsup|liminf)(?![a-z])|\\frac\{d\}\{d")
_CALLS = re.compile(
    r"\\(?:sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln|binom|gcd|lcm|max|min|lfloor"
    r"|lceil|det|pmod|bmod|mod)(?![a-z])|!"
)
_REMAINDER = re.compile(r"\\[bp]?mod(?![a-z])|(?<![a-zA-Z])mod(?![a-zA-Z])")
_SHAPED_ASK = re.compile(
    r"\b(factor|expand|simplif|rationali[sz]e|partial fraction)", re.IGNORECASE
)


_LITERALS = re.compile(
    r"(?<![\w}\\^.])\d+\s*(?:[-+]|\\cdot)\s*\d+(?![\s{}]*[\d.\\a-zA-Z(^])"
    r"|(?<![\w.])\d+\s*\^\s*\{\d+\}"
)
_POWER_OF_LITERALS = re.compile(r"\d\s*\^\s*\{-?\d+\}")


_LETTER = re.compile(r"(?<![\\a-zA-Z])(?![eiπ](?![a-zA-Z]))[a-zA-Z](?![a-zA-Z])")
"""A variable."""


def _echoes(latex: str, question: str) -> bool:
    """Is the candidate an expression (not a plain number) that the question already shows?"""
    squeezed = re.sub(r"[\s{}]", "", latex)
    if len(squeezed) < 3 or not re.search(r"[*/^!\\]|(?<=.)[-+]", squeezed):
        return False
    return squeezed in re.sub(r"[\s{}]", "", normalize(question))


@dataclass(frozen=True)
class _Pair:
    """A gold and a candidate, with what the gate needs of both."""

    gold: str
    gold_shape: Item
    gold_number: Quantity | None
    candidate: str
    shape: Item
    candidate_number: Quantity | None
    question: str

    def gate(self) -> Verdict | None:
        """The rule that forbids this candidate to be accepted for its value alone."""
        if _UNFINISHED.search(self.candidate) and not _UNFINISHED.search(self.gold):
            return verdict_of(False, "math.unevaluated", "an integral, sum or limit is left")
        if _REMAINDER.search(self.candidate) and not _REMAINDER.search(self.gold):
            return verdict_of(None, "math.form", "a remainder, which the gold is not")
        shown = _LITERALS.search(self.gold) or _POWER_OF_LITERALS.search(self.gold)
        if _LITERALS.search(self.candidate) and not shown:
            return verdict_of(False, "math.unevaluated", "the arithmetic is not carried out")
        if self.step is None and isinstance(self.gold_shape, Scalar) and self._unworked():
            return verdict_of(False, "math.unevaluated", "the arithmetic is not carried out")
        return None

    def _unworked(self) -> bool:
        """Is the gold a plain number and the candidate an expression still to be worked out?"""
        if self.gold_number is None or self.candidate_number is not None or "^" in self.gold:
            return False
        if not isinstance(self.shape, Scalar) or not re.search(r"\d", self.candidate):
            return False
        degrees = self.gold_number.unit.startswith(("degree", "°")) and r"\pi" in self.candidate
        symbols = re.search(r"(?<![\\a-zA-Z])[a-zA-Z](?![a-zA-Z])", self.candidate)
        return not degrees and not symbols and bool(re.search(r"[-+*/^!]|\\", self.candidate[1:]))

    @property
    def step(self) -> Fraction | None:
        """Of a rounded gold; see :class:`Quantity`."""
        number = self.gold_number
        return number.step if number and not number.percent else None


async def _symbolic(pair: _Pair, pool: AlgebraPool) -> Verdict:
    blocked = pair.gate()
    if blocked is not None:
        return blocked
    based = _bases(pair)
    if based is not None:
        return based
    gold, candidate = _without_units(pair.gold_shape), _without_units(pair.shape)
    units = _unit_conflict(pair)
    if units is not None:
        return units
    rest = (pair.step, _positive(pair.question))
    relation = await pool.compare(gold, candidate, *rest)
    if relation == "equal" and asks_order(pair.question) and _is_list(gold) and _is_list(candidate):
        one, other = replace(gold, kind="tuple"), replace(candidate, kind="tuple")
        relation = await pool.compare(one, other, *rest)
        if relation == "different":
            correct = False if asks_last_for_order(pair.question) else None
            return verdict_of(correct, "math.order", "the same items in another order")
    if relation is None:
        return verdict_of(None, "math.timeout", "the comparison was stopped at its deadline")
    return _of_relation(relation, pair)


def _is_list(shape: Item) -> TypeGuard[Shape]:
    return isinstance(shape, Shape) and shape.kind == "list"


def _of_relation(relation: Relation, pair: _Pair) -> Verdict:
    if relation == "different":
        return verdict_of(False, "math.different", "values differ")
    if relation == "unknown":
        return verdict_of(None, "math.unknown", "the rules cannot compare these two")
    called = _CALLS.search(pair.candidate) and not _CALLS.search(pair.gold)
    if called and pair.step is None and not _LETTER.search(pair.candidate):
        return verdict_of(None, "math.form", "equal, but with functions that the gold has not")
    if _SHAPED_ASK.search(pair.question) and len(pair.candidate) > 2 * len(pair.gold) + 8:
        return verdict_of(None, "math.form", "equal, but not in the form asked for")
    return verdict_of(True, "math.equal", "equal values")


_INDEXED = re.compile(r"\d\s*_")
_BASE = re.compile(r"^(?P<digits>[0-9A-Za-z]+)\s*_\s*\{?(?P<base>\d+|\\text\{[a-z]+\})\}?$")


def _bases(pair: _Pair) -> Verdict | None:
    """Numbers with a base subscript: both the digits and the base must be those of the gold."""
    gold = _BASE.match(re.sub(r"[\s()]", "", pair.gold))
    candidate = _BASE.match(re.sub(r"[\s()]", "", pair.candidate))
    if gold is None and candidate is None:
        if _INDEXED.search(pair.candidate) and not _INDEXED.search(pair.gold):
            return verdict_of(False, "math.base", "a base is too many")
        return None
    if gold is None or candidate is None:
        shown, other = (gold or candidate), (pair.candidate if gold else pair.gold)
        assert shown is not None
        asked = re.search(r"base\W{0,3}(\w+)", pair.question)
        if shown["digits"] == other and asked and _base(asked.group(1)) == _base(shown["base"]):
            return verdict_of(True, "math.base", "the question names the base")
        return verdict_of(False, "math.base", "a base is missing or too many")
    same = gold["digits"] == candidate["digits"] and _base(gold["base"]) == _base(candidate["base"])
    return verdict_of(
        same, "math.base", "same base and digits" if same else "digits or base differ"
    )


def _base(text: str) -> str:
    number = parse_number(re.sub(r"\\text\{(\w+)\}", r"\1", text))
    return str(number.value) if number else text


# ------------------------------------------------------------------------------------------ units
_POWER = r"(?:\s*\^\s*\{?\s*-?[1-9]\s*\}?)?"
_UNIT_WORD = rf"(?:\\text\s*\{{[^{{}}]*\}}|(?<![\\a-zA-Z])[a-zA-Z]{{2,12}}(?![a-zA-Z])){_POWER}"
_TRAILING_UNIT = re.compile(
    rf"(?:\\cdot|\s)*(?P<unit>{_UNIT_WORD}(?:(?:/|\\cdot|\s)*{_UNIT_WORD}){{0,5}})\s*$"
)


def _without_units(shape: Item) -> Item:
    if isinstance(shape, Scalar):
        latex = _split_unit(shape.latex)[0].replace(r"\$", "").strip()
        return replace(shape, latex=latex or shape.latex)
    return replace(shape, items=tuple(map(_without_units, shape.items)))


def _split_unit(latex: str) -> tuple[str, str]:
    """An expression and the unit behind it, which is in words or known ("" = none)."""
    found = _TRAILING_UNIT.search(latex)
    if found is None:
        return latex, ""
    unit = " ".join(re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", found["unit"]).split())
    unit = re.sub(r"\s*\^\s*\{?\s*(-?\d)\s*\}?", r"^\1", unit.replace(r"\cdot", " "))
    if found["unit"][0] != "\\" and not read_unit(unit) and unit.lower() not in {"unit", "units"}:
        return latex, ""  # xy
    return latex[: found.start()], unit


def _unit_conflict(pair: _Pair) -> Verdict | None:
    """Units behind an expression: both must be the same, if both are there."""
    wanted, found = (_split_unit(latex)[1] for latex in (pair.gold, pair.candidate))
    is_bare = isinstance(pair.shape, Scalar) and not wanted
    words_behind = found.casefold().split() if is_bare else []
    if set(words_behind) & NOT_A_UNIT or (
        words_behind and not read_unit(found) and new_words(found, pair.question)
    ):
        return verdict_of(None, "math.words", f"words of its own behind the value: {found}")
    if wanted and found and wanted.casefold() != found.casefold():
        pairs = [(one, other) for one in read_unit(wanted) for other in read_unit(found)]
        alike = [one for one in pairs if same_dimensions(*one)]
        if not any(one.factor == other.factor for one, other in alike):
            correct = False if pairs and not alike else None
            return verdict_of(correct, "math.unit_mismatch", f"wanted {wanted}, found {found}")
    percent = [r"\%" in pair.gold, r"\%" in pair.candidate]
    if percent[0] != percent[1]:
        return verdict_of(None, "math.percent", "one is a percentage, the other is not")
    return None


# ------------------------------------------------------------------------------------- positivity
_LETTERS = r"(?<![\\a-zA-Z])[a-zA-Z](?:\s*(?:,|and|,\s*and)\s*[a-zA-Z](?![a-zA-Z])){0,5}"
_SIGNED = r"(?:strictly\s+)?(?:positive|non-?negative)"
_POSITIVE = re.compile(
    rf"(?P<a>{_LETTERS})\s*(?:>=?|\\gt|\\geq?|≥)\s*0(?!\.?\d)"
    rf"|(?<![.\d])0\s*(?:<=?|\\lt|\\leq?|≤)\s*(?P<b>{_LETTERS})(?![a-zA-Z])"
    rf"|(?P<c>{_LETTERS})\s+(?:is|are|be)\s+(?:all\s+|both\s+|an?\s+)?{_SIGNED}"
    rf"|{_SIGNED}\s+(?:(?:real|whole|rational|even|odd|prime|distinct)\s+)*(?:(?:numbers?|integers?|reals?|values?|constants?)\s+)?(?:of\s+)?(?P<d>{_LETTERS})(?![a-zA-Z])"
)
_ALL_POSITIVE = re.compile(
    rf"\b(?:for|assum\w+|where|all|any)\b[^.?;]*\b{_SIGNED}\s+(?:real\s+)?(?:numbers|values|variables)"
    rf"|\bvariables?\b[^.?;]*\b{_SIGNED}"
)


def _positive(question: str) -> frozenset[str]:
    """Variables that the question calls positive, in lower case; ``*`` = all."""
    plain = " ".join(question.replace("$", " ").split())
    found = {
        letter.lower()
        for match in _POSITIVE.finditer(plain)
        for group in match.groups()
        for letter in re.findall(r"\b[a-zA-Z]\b", group or "")
    }
    return frozenset(found or ({"*"} if _ALL_POSITIVE.search(plain) else ()))
