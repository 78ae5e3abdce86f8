"""Grader of numbers and of mathematics, three-valued.

Order: same spelling -> correct; two plain numbers -> final either way; form gate -> the
candidate must be worked out as far as the gold is; shapes and symbols -> :mod:`symbolic` in the
killable pool. What remains unknown is for the LLM judge.
"""

from __future__ import annotations

import re
from fractions import Fraction

from llm_as_judge.judge.extract import Declared, declared_answer, is_hedged, is_negated
from llm_as_judge.judge.latex import Scalar, Shape, normalise, parse_shape
from llm_as_judge.judge.number import Quantity, compare_numbers, count_numbers, parse_number
from llm_as_judge.judge.pool import KillablePool
from llm_as_judge.judge.symbolic import Relation, compare
from llm_as_judge.types import Problem, Verdict

__all__ = ["grade_math"]

_LONGEST_ANSWER = 1500


async def grade_math(problem: Problem, answer: str, pool: KillablePool) -> Verdict:
    """Verdict on a clean, guarded ``answer`` against every gold answer of ``problem``.

    Returns:
        correct True, False, or None where the rules cannot decide.
    """
    declared = declared_answer(answer, one_sentence=True)
    verdicts = []
    for gold in problem.answers:
        verdict = await _against(gold, declared, problem.question, pool)
        if verdict.correct:
            return verdict
        verdicts.append(verdict)
    undecided = [verdict for verdict in verdicts if verdict.correct is None]
    return (undecided or verdicts)[0]


def _verdict(correct: bool | None, rule: str, explanation: str) -> Verdict:
    stage = "number" if rule.startswith("number") else rule.split(".")[0]
    score = None if correct is None else float(correct)
    return Verdict(correct, stage, rule, explanation, score=score)


async def _against(gold: str, declared: Declared, question: str, pool: KillablePool) -> Verdict:
    gold_latex = normalise(gold)
    gold_shape = parse_shape(gold_latex)
    gold_number = quantity(gold_latex)
    if declared.fault == "several" and isinstance(gold_shape, Scalar) and r"\pm" not in gold_latex:
        return _verdict(False, "extract.several", f"several answers declared: {declared.shown}")
    if fold(normalise(declared.text)) == fold(gold_latex):
        return _verdict(True, "exact.same_form", "same normal form")
    candidate, fault = _final_expression(
        declared, gold, gold_number, isinstance(gold_shape, Shape) and gold_shape.kind != "text"
    )
    if fault is not None:
        return fault
    latex = normalise(candidate)
    if fold(latex) == fold(gold_latex) or (
        isinstance(gold_shape, Shape)
        and gold_shape.kind == "text"
        and words(latex) == words(gold_latex)
    ):
        return _verdict(True, "exact.same_form", "same normal form")
    if len(latex) > _LONGEST_ANSWER:
        return _verdict(False, "math.too_long", f"{len(latex)} characters are no final answer")
    candidate_number = quantity(latex)
    if _echoes(latex, question):
        return _verdict(False, "math.echo", "the candidate repeats the question's expression")
    if gold_number is not None and candidate_number is not None:
        rounded = _rounded(gold_latex, gold_number, candidate_number)
        return rounded or _verdict(*compare_numbers(gold_number, candidate_number, question))
    wordy = isinstance(gold_shape, Shape) and gold_shape.kind == "text"
    if wordy and candidate_number is not None and not re.search(r"\d", gold_latex):
        return _verdict(False, "math.shape", "words were wanted, not a number")
    if gold_number is not None and isinstance(parse_shape(latex), Shape):
        return _verdict(False, "math.shape", "one number was wanted")
    return await _symbolic(
        _Pair(gold_latex, gold_shape, gold_number, latex, candidate_number, question), pool
    )


def fold(latex: str) -> str:
    """Normal form without layout: spaces, redundant braces and outer dollar signs."""
    latex = re.sub(r"\\text\s*\{\s*([^{}]*?)\s*\}", r"\1", latex)
    latex = re.sub(r"\^\{(\w)\}", r"^\1", re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", latex))
    latex = re.sub(r"^\(([a-zA-Z])\)$", r"\1", latex)
    return re.sub(r"^[a-zA-Z]=(?=[-\d\\])", "", latex).rstrip(".")


def words(latex: str) -> str:
    """Letters and digits in lower case: to compare answers in words."""
    bare = re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", latex)
    return " ".join(re.sub(r"[\W_]+", " ", bare).casefold().split())


# --------------------------------------------------------------------------- the final expression
_INLINE = re.compile(r"(?<!\\)\$\$?([^$]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_PROSE_WORD = re.compile(r"(?<![\\a-zA-Z{])[a-zA-Z]{3,}(?![a-zA-Z}])")
_LAST_RESULT = re.compile(r"=\s*([^=]+?)\s*$")


def _final_expression(
    declared: Declared, gold: str, gold_number: Quantity | None, listed: bool
) -> tuple[str, Verdict | None]:
    """The expression to compare, or the verdict on a text that has none."""
    text = declared.text.replace("**", "") if "**" in declared.text[:2] else declared.text
    if not declared.marked:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        several = _several_lines(lines, gold, listed)
        if several is not None:
            return several
        text = " ".join(lines) if r"\begin" in text else lines[-1] if lines else text
    if words(normalise(text)) == words(normalise(gold)) and gold_number is None:
        return text, None
    if is_negated(text, (gold,)):
        return "", _verdict(False, "extract.negated", "the answer is negated")
    if is_hedged(text, (gold,)):
        return "", _verdict(False, "extract.hedged", "the answer is hedged")
    if quantity(normalise(text)) is not None:
        return text, None
    inline = {normalise(next(g for g in m.groups() if g)) for m in _INLINE.finditer(text)}
    if len(inline) == 1 and _PROSE_WORD.search(_INLINE.sub(" ", text)):
        return _right_side(inline.pop()), None
    if gold_number is not None:
        return _number_of_prose(text, gold_number)
    return text, None


def _several_lines(lines: list[str], gold: str, listed: bool) -> tuple[str, Verdict | None] | None:
    """Lines that are each an answer: one list where the gold is one, else no single answer."""
    whole = "\n".join(lines)
    if r"\begin" in whole:
        if whole.count(r"\begin") > max(1, gold.count(r"\begin")):
            return "", _verdict(False, "extract.several", "several matrices")
        return None
    answers = list(dict.fromkeys(line for line in lines if _answer_like(line)))
    if len(answers) < 2:
        return None
    if listed and len(answers) == len(lines):
        return ", ".join(answers), None
    return "", _verdict(False, "extract.several", f"{len(answers)} lines are each an answer")


def _answer_like(line: str) -> bool:
    """A line that could be a whole answer: short, no sentence, no step of a calculation."""
    words_in = _PROSE_WORD.findall(re.sub(r"\\[a-zA-Z]+", " ", line))
    return len(line) <= 80 and "=" not in line and len(words_in) <= 1 and not line.endswith(":")


def _right_side(text: str) -> str:
    """``48 + 24 = 72`` -> ``72``: a chain of equal numbers ends in its result."""
    sides = text.split("=")
    if "," not in text and len(sides) > 1 and all(re.search(r"\d", side) for side in sides):
        return sides[-1].strip()
    return text


def _number_of_prose(text: str, gold: Quantity) -> tuple[str, Verdict | None]:
    """The one number of a sentence such as "She has 72 clips left."."""
    result = _LAST_RESULT.search(text) if "," not in text else None
    shown = result.group(1) if result else text
    if parse_number(shown) is not None:
        return shown, None
    found = count_numbers(text)
    prose = len(_PROSE_WORD.findall(re.sub(r"\\[a-zA-Z]+", " ", text)))
    if len(set(found)) == 1 and prose >= 2 and "\\" not in text:
        return _with_unit(text), None
    if len(set(found)) > 1 and prose < 2 and not re.search(r"[\\^+*/()]", text):
        return "", _verdict(False, "extract.several", "several numbers, one was wanted")
    if found and prose >= 2 and abs(gold.value) not in found and "\\" not in text:
        return "", _verdict(False, "number.absent", "the number wanted is not in the answer")
    if not found and "\\" not in text and parse_number(text) is None and prose:
        return "", _verdict(False, "number.none", "no number in the answer")
    if len(set(found)) > 1 and prose >= 2:
        return "", _verdict(None, "extract.undeclared", "several numbers, none declared")
    return text, None


_NUMBER_IN_PROSE = re.compile(r"(?:[$€£]\s*)?-?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:/\d+)?")


def _with_unit(sentence: str) -> str:
    """The number of a sentence with its sign, currency and next word ("18 minutes")."""
    match = next(m for m in _NUMBER_IN_PROSE.finditer(sentence) if re.search(r"\d", m.group()))
    after = re.match(r"\s*(%|[a-zA-Z°¢]{2,})", sentence[match.end() :])
    number = match.group().strip()
    if after is None:
        return number
    together = f"{number} {after.group(1)}"
    return together if parse_number(together) is not None else number


# ------------------------------------------------------------------------------------- quantities
_REPEATING = re.compile(r"^(-?)(\d*)\.(\d*)\\overline\{?(\d+)\}?$")
_BASE = re.compile(r"^(?P<digits>[0-9A-Za-z]+)\s*_\s*\{?(?P<base>\d+|\\text\{[a-z]+\})\}?$")


def quantity(latex: str) -> Quantity | None:
    """The plain number that a normalised answer is (fractions, per cent, units), else None."""
    repeating = _REPEATING.match(latex.replace(" ", ""))
    if repeating:
        sign, whole, fixed, period = repeating.groups()
        tail = Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(fixed))
        value = Fraction(int(whole or 0)) + Fraction(int(fixed or 0), 10 ** len(fixed)) + tail
        return Quantity(-value if sign else value, "decimal")
    text = re.sub(r"^([a-zA-Z]|[A-Z]{2})\s*=\s*", "", latex)
    text = text.replace(r"\$", "$").replace(r"\%", "%").replace(r"^\circ", "°")
    text = re.sub(r"(\d)\s*\\frac\{(\d+)\}\{(\d+)\}", r"\1 \2/\3", text)
    text = re.sub(r"\\frac\{\s*(-?\d+)\s*\}\{\s*(\d+)\s*\}", r"\1/\2", text)
    text = re.sub(r"\\cdot\s*10", r"x 10", text)
    text = re.sub(r"\\text\s*\{\s*([^{}]*?)\s*\}", r" \1", text)
    text = re.sub(r"(?<=[a-z])\s*\^\s*\{?([23])\}?$", lambda m: "²" if m[1] == "2" else "³", text)
    text = re.sub(r"^\((-?[\d./,]+)\)$", r"\1", text.strip())
    if "\\" in text or "_" in text:
        return None
    return parse_number(text)


# -------------------------------------------------------------------------------------- form gate
_UNFINISHED = re.compile(r"\\(?:int|iint|oint|sum|prod|lim|limsup|liminf)(?![a-z])|\\frac\{d\}\{d")
_CALLS = re.compile(
    r"\\(?:sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|log|ln|exp|binom|gcd|lcm|max|min|lfloor"
    r"|lceil|det|sqrt\[|pmod|bmod|mod)(?![a-z])|!"
)
_SHAPED_ASK = re.compile(
    r"\b(factor|expand|simplif|rationali[sz]e|partial fraction)", re.IGNORECASE
)


_LITERALS = re.compile(
    r"(?<![\w}\\^.])\d+\s*(?:[-+]|\\cdot)\s*\d+(?![\s{}]*[\d.\\a-zA-Z(^])"
    r"|(?<![\w.])\d+\s*\^\s*\{\d+\}"
)


def _echoes(latex: str, question: str) -> bool:
    """Is the candidate an expression (not a plain number) that the question already shows?"""
    squeezed = re.sub(r"[\s{}]", "", latex)
    if len(squeezed) <= 3 or not re.search(r"[*/^!\\]|(?<=.)[-+]", squeezed):
        return False
    return squeezed in re.sub(r"[\s{}]", "", normalise(question))


class _Pair:
    """A gold and a candidate, with what the gate needs of both."""

    def __init__(
        self,
        gold: str,
        gold_shape: Shape | Scalar,
        gold_number: Quantity | None,
        candidate: str,
        candidate_number: Quantity | None,
        question: str,
    ) -> None:
        self.gold, self.gold_shape, self.gold_number = gold, gold_shape, gold_number
        self.candidate, self.candidate_number = candidate, candidate_number
        self.shape = parse_shape(candidate)
        self.question = question

    def gate(self) -> Verdict | None:
        """The rule that forbids this candidate to be accepted for its value alone."""
        if _UNFINISHED.search(self.candidate) and not _UNFINISHED.search(self.gold):
            return _verdict(False, "math.unevaluated", "an integral, sum or limit is left")
        if _LITERALS.search(self.candidate) and not _LITERALS.search(self.gold):
            return _verdict(False, "math.unevaluated", "the arithmetic is not carried out")
        if self.decimals is None and isinstance(self.gold_shape, Scalar) and self._unworked():
            return _verdict(False, "math.unevaluated", "the arithmetic is not carried out")
        return None

    def _unworked(self) -> bool:
        """Is the gold a plain number and the candidate an expression still to be worked out?"""
        if self.gold_number is None or self.candidate_number is not None:
            return False
        if not isinstance(self.shape, Scalar) or not re.search(r"\d", self.candidate):
            return False
        degrees = self.gold_number.unit == "degree" and r"\pi" in self.candidate
        symbols = re.search(r"(?<![\\a-zA-Z])[a-zA-Z](?![a-zA-Z])", self.candidate)
        return not degrees and not symbols and bool(re.search(r"[-+*/^!]|\\", self.candidate[1:]))

    @property
    def decimals(self) -> int | None:
        return _decimals(self.gold, self.gold_number)


def _decimals(gold: str, number: Quantity | None) -> int | None:
    """Digits behind the point of a rounded gold (three digits in all, or it says too little)."""
    if number is None or number.form != "decimal":
        return None
    digits = re.search(r"(\d*)\.(\d+)", gold)
    if digits is None or len(digits.group(1).lstrip("0")) + len(digits.group(2)) < 3:
        return None
    return len(digits.group(2))


def _rounded(gold: str, number: Quantity, candidate: Quantity) -> Verdict | None:
    """A fraction whose value the gold gives rounded or cut: within one unit of the last digit."""
    decimals = _decimals(gold, number)
    if decimals is None or candidate.form != "fraction" or candidate.percent:
        return None
    scale = 100 if number.percent else 1
    if abs(number.value - candidate.value * scale) < Fraction(1, 10**decimals):
        return _verdict(True, "number.rounded", "the gold is this fraction, rounded")
    return None


async def _symbolic(pair: _Pair, pool: KillablePool) -> Verdict:
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
    extra_calls = _CALLS.search(pair.candidate) and not _CALLS.search(pair.gold)
    relation = await pool.run(compare, gold, candidate, pair.decimals)
    if relation is None:
        return _verdict(None, "math.timeout", "the comparison was stopped at its deadline")
    return _of_relation(relation, pair, bool(extra_calls))


def _of_relation(relation: Relation, pair: _Pair, extra_calls: bool) -> Verdict:
    if relation == "different":
        return _verdict(False, "math.different", "values differ")
    if relation == "unknown":
        return _verdict(None, "math.unknown", "the rules cannot compare these two")
    if extra_calls and pair.decimals is None:
        return _verdict(None, "math.form", "equal, but with functions that the gold has not")
    if _SHAPED_ASK.search(pair.question) and len(pair.candidate) > 2 * len(pair.gold) + 8:
        return _verdict(None, "math.form", "equal, but not in the form asked for")
    return _verdict(True, "math.equal", "equal values")


def _bases(pair: _Pair) -> Verdict | None:
    """Numbers with a base subscript: both the digits and the base must be those of the gold."""
    gold = _BASE.match(pair.gold.replace(" ", ""))
    candidate = _BASE.match(pair.candidate.replace(" ", ""))
    if gold is None and candidate is None:
        return None
    if gold is None or candidate is None:
        shown, other = (gold or candidate), (pair.candidate if gold else pair.gold)
        assert shown is not None
        asked = re.search(r"base\W{0,3}(\w+)", pair.question)
        if shown["digits"] == other and asked and _base(asked.group(1)) == _base(shown["base"]):
            return _verdict(True, "math.base", "the question names the base")
        return _verdict(False, "math.base", "a base is missing or too many")
    same = gold["digits"] == candidate["digits"] and _base(gold["base"]) == _base(candidate["base"])
    return _verdict(same, "math.base", "same base and digits" if same else "digits or base differ")


def _base(text: str) -> str:
    number = parse_number(re.sub(r"\\text\{(\w+)\}", r"\1", text))
    return str(number.value) if number else text


_TRAILING_UNIT = re.compile(r"\s*\\text\s*\{([^{}]*)\}\s*(?:\^\s*\{?\s*[23]\s*\}?)?\s*$")


def _without_units(shape: Shape | Scalar) -> Shape | Scalar:
    if isinstance(shape, Scalar):
        latex = _TRAILING_UNIT.sub("", shape.latex).replace(r"\$", "").strip()
        return Scalar(latex or shape.latex, shape.name)
    items = tuple(_without_units(item) for item in shape.items)
    return Shape(shape.kind, items, shape.brackets)


def _unit_conflict(pair: _Pair) -> Verdict | None:
    """Units written in words behind an expression: both must be the same, if both are there."""
    units = []
    for latex in (pair.gold, pair.candidate):
        found = _TRAILING_UNIT.search(latex)
        one = parse_number("1 " + found.group(1).strip()) if found else None
        units.append(one.unit.split(" ")[0] if one else "")
    if all(units) and units[0] != units[1]:
        return _verdict(None, "math.unit_mismatch", f"wanted {units[0]}, found {units[1]}")
    percent = [r"\%" in pair.gold, r"\%" in pair.candidate]
    if percent[0] != percent[1]:
        return _verdict(None, "math.percent", "one is a percentage, the other is not")
    return None
