"""Two expressions, equations or inequalities: equal, different, or not to be told.

Expressions are *equal* if their difference is zero (:mod:`identity`) at every test point: what
differs anywhere differs at a random rational point. Only where they cannot be evaluated does
math-verify's symbolic comparison decide, and then the gold must survive its own round trip.
*Different* needs evaluated values, too.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import sympy
from latex2sympy2_extended.latex2sympy2 import ConversionConfig, latex2sympy
from math_verify import verify

from llm_as_judge.grading.formula import read_formula
from llm_as_judge.grading.identity import is_zero, real_value
from llm_as_judge.grading.number import is_written_as
from llm_as_judge.grading.shape import Relation, Scalar

_DIGITS = 300
"""To which math-verify, which knows no exact comparison, compares what it evaluates."""
_DEEPEST = 40
_SIDE = r"(\d+|\(-?\d+\))"
_QUOTIENT = re.compile(rf"(?<![\w.}}]){_SIDE}/{_SIDE}(?=\s*(?:[a-zA-Z(]|\\(?!cdot|text|%)))")
_PRODUCT = re.compile(r"[a-z]{2,3}")
"""A name that may be a product of variables."""
_LEFT_OUT = re.compile(r"\\ldots(?![a-z])|\.\.\.")
_POINTS = ("13/11", "29/17", "7/19")


@dataclass(frozen=True, slots=True)
class Given:
    """What is known beside the two answers.

    ``step``: of a rounded gold (:class:`~llm_as_judge.grading.number.Quantity`). ``positive``: names of positive variables, ``*``
    for all. ``integers``: the variable of gold and of candidate that runs through numbers ("" = not
    said), and which numbers; empty: there is none.
    """

    step: Fraction | None = None
    positive: frozenset[str] = frozenset()
    integers: tuple[str, ...] = ()


def compare_scalars(gold: Scalar, candidate: Scalar, given: Given) -> Relation:
    """Relation of two expressions or equations."""
    if _PRODUCT.fullmatch(gold.name) and not candidate.name:
        return "unknown"  # the gold may be a curve: xy = 6
    renamed = bool(gold.name and candidate.name and gold.name.lower() != candidate.name.lower())
    renamed = renamed and "(" not in gold.name + candidate.name
    if renamed or "=" in gold.latex + candidate.latex:
        relation = _compare(_equation(gold), _equation(candidate), given)
        if relation != "unknown" or not renamed:
            return relation
        # x = 3 and y = 4 differ, x = 3 and y = 3 may be one thing by two names.
        values = _compare(gold.latex, candidate.latex, given)
        return "different" if values == "different" and not _free(gold, candidate) else "unknown"
    return _compare(gold.latex, candidate.latex, given)


def _equation(scalar: Scalar) -> str:
    return (
        f"{scalar.name}={scalar.latex}" if scalar.name and "(" not in scalar.name else scalar.latex
    )


def _free(*scalars: Scalar) -> bool:
    return any(getattr(parse(scalar.latex), "free_symbols", ()) for scalar in scalars)


def _compare(gold: str, candidate: str, given: Given) -> Relation:
    if _LEFT_OUT.search(gold + candidate):
        return "unknown"  # the algebra does not know which terms
    one, other = parse(gold, given.positive), parse(candidate, given.positive)
    if one is None or other is None or _is_undefined(one) or _is_undefined(other):
        return "unknown"
    relation = _identity(one, other, given)
    if relation == "different":
        # 2/3x is two thirds of x to some, and two over 3x to others.
        both = [_QUOTIENT.sub(r"\\frac{\1}{\2} ", latex) for latex in (gold, candidate)]
        again = relation if both == [gold, candidate] else _compare(both[0], both[1], given)
        return relation if again == relation else "unknown"
    equations = [isinstance(side, sympy.Equality) for side in (one, other)]
    if relation == "unknown" and given.step is None and equations[0] == equations[1]:
        relation = _verified(one, other)
    return relation


@functools.lru_cache(maxsize=4096)
def parse(latex: str, positive: frozenset[str] = frozenset()) -> Any:
    """A sympy object, or None. Its variables are those of ``positive`` positive."""
    read = _read(latex)
    if read is None or not positive:
        return read
    named = [s for s in read.free_symbols if "*" in positive or s.name.lower() in positive]
    return read.xreplace({symbol: sympy.Symbol(symbol.name, positive=True) for symbol in named})


def _read(latex: str) -> Any:
    if _is_deep(latex):
        return None
    ordinary = read_formula(latex)
    if ordinary is not None:
        return ordinary
    latex = re.sub(r"\^\s*\\circ", r" \\cdot \\frac{\\pi}{180}", latex)
    latex = re.sub(r"\\(?:text|mathrm)\s*\{\s*([a-zA-Z])\s*\}", r"\1", latex)
    latex = re.sub(r"(?<![\\\w{^.])(\d+)\s+(?=\d)", r"\1\\cdot ", latex)
    try:
        # R and r are two variables
        parsed = latex2sympy(latex, conversion_config=ConversionConfig(lowercase_symbols=False))
    except MemoryError:
        return None
    # The parser raises bare Exception for what it cannot read, and sympy many kinds.
    except Exception:  # noqa: BLE001
        return None
    return parsed if isinstance(parsed, sympy.Basic) else None


def _is_deep(latex: str) -> bool:
    """Nested so deep that readers by recursion would not come back."""
    depth = 0
    for char in latex:
        depth += (char in "([{") - (char in ")]}")
        if depth > _DEEPEST:
            return True
    return False


def _is_undefined(expression: Any) -> bool:
    """Is something divided by zero? That equals nothing, not even itself."""
    if expression.has(sympy.zoo, sympy.nan):
        return True
    return any(power.base == 0 for power in expression.atoms(sympy.Pow) if power.exp.is_negative)


def _identity(one: Any, other: Any, given: Given) -> Relation:
    if isinstance(one, sympy.Equality) and isinstance(other, sympy.Equality):
        return same_relation(one, other)
    if isinstance(one, sympy.Set) and isinstance(other, sympy.Set):
        return "equal" if one == other else "unknown"
    if not (isinstance(one, sympy.Expr) and isinstance(other, sympy.Expr)):
        return "unknown"
    one, other = exact(one), exact(other)
    if one.has(sympy.I) or other.has(sympy.I):
        one, other = _with_unit(one), _with_unit(other)
    if {one, other} & {sympy.oo, -sympy.oo}:
        return "equal" if one == other else "different"
    if given.integers:
        return _for_each_integer(one, other, given.integers)
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    if not symbols:
        step = given.step
        relation = _agree(one, other, {}) if step is None else _written_as(one, other, step)
        return relation or "unknown"
    if bool(one.free_symbols) != bool(other.free_symbols):
        return "different"
    if one.free_symbols != other.free_symbols and (
        not one.free_symbols & other.free_symbols or _folded(one) == _folded(other)
    ):
        return "unknown"  # one may name its variables otherwise
    return _at_points(one, other, symbols)


def _folded(expression: Any) -> set[str]:
    return {symbol.name.lower() for symbol in expression.free_symbols}


def _at_points(one: Any, other: Any, symbols: list[Any]) -> Relation:
    found = [_agree(one, other, point) for point in sample_points(symbols)]
    seen = [relation for relation in found if relation is not None]
    if len(seen) >= 2 and set(seen) == {"equal"}:
        return "equal"
    if len(seen) >= 2 and set(seen) == {"different"}:
        return "unknown" if _needs_integers(one, other) else "different"
    return "unknown"


def _with_unit(expression: Any) -> Any:
    r"""The letter i as the imaginary unit: \sqrt{-4} is 2i. Where nothing is imaginary it stays a
    variable."""
    letters = {symbol for symbol in expression.free_symbols if symbol.name == "i"}
    return expression.xreplace(dict.fromkeys(letters, sympy.I))


def exact(expression: Any) -> Any:
    """Decimals as the fractions they are written as."""
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({number: sympy.Rational(str(number)) for number in floats})


def _needs_integers(one: Any, other: Any) -> bool:
    kinds = (sympy.factorial, sympy.binomial, sympy.floor, sympy.ceiling, sympy.Mod)
    if one.has(*kinds) or other.has(*kinds):
        return True
    powers = (one.atoms(sympy.Pow) | other.atoms(sympy.Pow)) if one.free_symbols else set()
    return any(power.exp.free_symbols and power.base.is_negative for power in powers)


def sample_points(symbols: list[Any]) -> list[dict[Any, Any]]:
    """Three rational points, the last of them negative in every variable that may be."""
    points = []
    for shift, start in enumerate(_POINTS):
        base = sympy.Rational(start)
        values = {
            symbol: base + sympy.Rational(3 * index * index + shift + index, 7 + index)
            for index, symbol in enumerate(symbols)
        }
        if shift == 2:
            values = {s: value if s.is_positive else -value for s, value in values.items()}
        points.append(values)
    return points


def _agree(one: Any, other: Any, point: dict[Any, Any]) -> Literal["equal", "different"] | None:
    zero = is_zero(one - other, point)
    if zero is None:
        return None
    return "equal" if zero else "different"


def _written_as(one: Any, other: Any, step: Fraction) -> Literal["equal", "different"] | None:
    """Is ``other`` written like the rounded gold ``one``, to the digits which that has?"""
    digits = len(str(one)) + 30
    gold, value = real_value(one, digits), real_value(other, digits)
    if gold is None or value is None:
        return None
    return "equal" if is_written_as(value, gold, step) else "different"


def _for_each_integer(one: Any, other: Any, integers: tuple[str, ...]) -> Relation:
    """Do both have the same values when their variables run through the integers?"""
    gold, candidate, numbers = integers
    mine, its = sympy.Symbol(gold or candidate), sympy.Symbol(candidate or gold)
    if not gold and mine not in one.free_symbols and len(one.free_symbols) == 1:
        (mine,) = one.free_symbols
    if not candidate and its not in other.free_symbols and len(other.free_symbols) == 1:
        (its,) = other.free_symbols
    other = other.xreplace({its: mine})
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    if _at_points(one, other, symbols or [mine]) == "equal":
        return "equal"
    pace, its_pace = (sympy.expand(side).coeff(mine, 1) for side in (one, other))
    start, its_start = (side.xreplace({mine: sympy.S.Zero}) for side in (one, other))
    linear = all(
        is_zero(side - begin - mine * each, point) is True
        for side, begin, each in ((one, start, pace), (other, its_start, its_pace))
        for point in sample_points(symbols or [mine])
    )
    if (
        numbers != "Z"
        or not linear
        or symbols != [mine]
        or not (pace.is_number and its_pace.is_number)
    ):
        return "unknown"
    if is_zero(pace, {}) is not False or is_zero(its_pace, {}) is not False:
        return "unknown"
    if is_zero(pace - its_pace, {}) is False and is_zero(pace + its_pace, {}) is False:
        return "different"
    shift = real_value((its_start - start) / pace, 30)
    if shift is None:
        return "unknown"
    whole = is_zero(its_start - start - round(shift) * pace, {})
    return "unknown" if whole is None else "equal" if whole else "different"


# -------------------------------------------------------------------------------------- relations
def same_relation(one: Any, other: Any) -> Relation:
    """Equations and inequalities are equal if one is a constant multiple of the other.

    They are different if a point of one is shown to be none of the other, or if both are linear.
    """
    left, right = _over_zero(one), _over_zero(other)
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    if left.free_symbols != right.free_symbols or not symbols:
        return "unknown"
    twins = {symbol: sympy.Dummy() for symbol in symbols}
    cross = left.xreplace(twins) * right - left * right.xreplace(twins)
    first, *others = sample_points(symbols)
    if is_zero(left, first) is not False or is_zero(right, first) is not False:
        return "unknown"
    fixed = {twin: first[symbol] for symbol, twin in twins.items()}
    multiple = all(is_zero(cross, {**point, **fixed}) for point in others)
    if isinstance(one, sympy.Equality):
        if multiple:
            return "equal"
        return "different" if _point_apart(left, right, symbols) else "unknown"
    strict = isinstance(one, sympy.StrictGreaterThan | sympy.StrictLessThan)
    its_strict = isinstance(other, sympy.StrictGreaterThan | sympy.StrictLessThan)
    factor = real_value(left.xreplace(first) / right.xreplace(first), 30)
    if multiple and factor is not None and factor > 0 and strict == its_strict:
        return "equal"
    linear = all(
        side.is_polynomial(*symbols) and sympy.Poly(side, *symbols).total_degree() == 1
        for side in (left, right)
    )
    return "different" if linear and factor is not None else "unknown"


def _over_zero(relation: Any) -> Any:
    """What the relation says to be zero, or to be greater: without fractions in an equation."""
    if isinstance(relation, sympy.Equality):
        return sympy.fraction(sympy.together(exact(relation.lhs - relation.rhs)))[0]
    return exact(relation.gts - relation.lts)


def _point_apart(one: Any, other: Any, symbols: list[Any]) -> bool:
    """Is a real point found where the polynomial ``one`` is zero and ``other`` is not?"""
    if not (one.is_polynomial(*symbols) and other.is_polynomial(*symbols)):
        return False
    for solved in symbols:
        for point in sample_points(symbols):
            at = {symbol: value for symbol, value in point.items() if symbol != solved}
            for root in _real_roots(sympy.Poly(one.xreplace(at), solved)):
                if is_zero(other.xreplace(at), {solved: root}) is False and not (
                    solved.is_positive and not root.is_positive
                ):
                    return True
    return False


def _real_roots(polynomial: Any) -> list[Any]:
    if polynomial.degree() == 1:
        slope, start = polynomial.all_coeffs()
        return [-start / slope]
    rational = all(value.is_Rational for value in polynomial.all_coeffs())
    return list(polynomial.real_roots()) if rational and polynomial.degree() > 1 else []


def _verified(one: Any, other: Any) -> Relation:
    """math-verify's word, if it can tell the gold from something else."""

    def same(left: Any, right: Any) -> bool:
        rounding = {"float_rounding": _DIGITS, "numeric_precision": _DIGITS}
        return bool(verify([left], [right], timeout_seconds=None, raise_on_error=False, **rounding))

    marker = sympy.Symbol("zz_other")
    if not same(one, one) or same(one, marker) or same(marker, other):
        return "unknown"
    return "equal" if same(one, other) and same(other, one) else "unknown"
