"""The part of mathematical grading that can hang: it runs only in the killable pool.

Everything here takes and returns plain values. Two expressions are *equal* if their difference is
zero (:mod:`identity`) at every test point: what differs anywhere differs at a random rational
point. Only where they cannot be evaluated does math-verify's symbolic comparison decide, and
then the gold must survive its own round trip. *Different* needs evaluated values, too.
"""

from __future__ import annotations

import functools
import importlib
import logging
import re
import resource
import signal
from fractions import Fraction
from typing import Any, Literal

from llm_as_judge.grading.formula import read_formula
from llm_as_judge.grading.identity import is_zero, real_value
from llm_as_judge.grading.latex import Scalar, Shape
from llm_as_judge.grading.number import is_written_as

Relation = Literal["equal", "different", "unknown"]

_DIGITS = 300
"""To which math-verify, which knows no exact comparison, compares what it evaluates."""
_POINTS = ("13/11", "29/17", "7/19")
_MEMORY_BYTES = 3 * 2**30


def _algebra() -> Any:
    return importlib.import_module("sympy")


def limit_worker() -> None:
    """Bounds the workers' memory and loads the algebra, so that no pair pays for it."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, _MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    logging.disable(logging.CRITICAL)
    _parse(r"\frac{1}{2}")


def compare(
    gold: Shape | Scalar, candidate: Shape | Scalar, step: Fraction | None, cpu_s: float
) -> Relation:
    """Relation of two shapes that are not spelled the same.

    Args:
        step: what one unit of the last digit of a rounded gold is worth; a closed form that is
            written like this when rounded or cut then equals it. None: exact.
        cpu_s: processor seconds after which the kernel ends this process. Python code could
            not be trusted to stop: a power of big integers never returns to the interpreter.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        return _compare(gold, candidate, step)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _compare(gold: Shape | Scalar, candidate: Shape | Scalar, step: Fraction | None) -> Relation:
    if isinstance(gold, Scalar) and isinstance(candidate, Scalar):
        return _compare_scalars(gold.latex, candidate.latex, step)
    if isinstance(gold, Scalar) or isinstance(candidate, Scalar):
        return _expanded(gold, candidate)
    kinds = {gold.kind, candidate.kind}
    if kinds <= {"list", "set"} or gold.kind == candidate.kind == "union":
        return _any_order(gold.items, candidate.items)
    if gold.kind != candidate.kind or gold.brackets != candidate.brackets:
        return "unknown" if "text" in kinds or "union" in kinds else "different"
    if gold.kind == "text" or len(gold.items) != len(candidate.items):
        return "unknown" if gold.kind == "text" else "different"
    return _all([_item(one, other) for one, other in zip(gold.items, candidate.items, strict=True)])


def _item(gold: Shape | Scalar, candidate: Shape | Scalar) -> Relation:
    return "equal" if gold == candidate else _compare(gold, candidate, None)


def _all(relations: list[Relation]) -> Relation:
    if "different" in relations:
        return "different"
    return "unknown" if "unknown" in relations else "equal"


def _any_order(gold: tuple[Shape | Scalar, ...], candidate: tuple[Shape | Scalar, ...]) -> Relation:
    gold, candidate = _spread(gold), _spread(candidate)
    if len(gold) != len(candidate):
        return "unknown" if r"\pm" in repr(gold) + repr(candidate) else "different"
    left = list(candidate)
    unsure = False
    for item in gold:
        relations = [_item(item, other) for other in left]
        if "equal" in relations:
            del left[relations.index("equal")]
        elif "unknown" in relations:
            unsure = True
        else:
            return "different"
    return "unknown" if unsure or left else "equal"


def _spread(items: tuple[Shape | Scalar, ...]) -> tuple[Shape | Scalar, ...]:
    """``a \\pm b`` as two items."""
    spread: list[Shape | Scalar] = []
    for item in items:
        if isinstance(item, Scalar) and item.latex.count(r"\pm") == 1:
            for sign in "+-":
                latex = item.latex.replace(r"\pm", sign).strip()
                spread.append(Scalar(latex.removeprefix("+").strip(), item.name))
        else:
            spread.append(item)
    return tuple(spread)


def _expanded(gold: Shape | Scalar, candidate: Shape | Scalar) -> Relation:
    """A scalar against a shape: only ``a \\pm b`` can be a list."""
    one = gold if isinstance(gold, Shape) else Shape("list", _spread((gold,)))
    other = candidate if isinstance(candidate, Shape) else Shape("list", _spread((candidate,)))
    kinds = {one.kind, other.kind}
    if kinds <= {"list", "set"}:
        return _any_order(one.items, other.items)
    return "unknown" if "text" in kinds or "union" in kinds else "different"


def _compare_scalars(gold: str, candidate: str, step: Fraction | None) -> Relation:
    one, other = _parse(gold), _parse(candidate)
    if one is None or other is None:
        return "unknown"
    relation = _identity(one, other, step)
    if relation == "unknown" and step is None:
        relation = _verified(one, other)
    return relation


@functools.lru_cache(maxsize=4096)
def _parse(latex: str) -> Any:
    """A sympy expression, or None."""
    from latex2sympy2_extended import latex2sympy

    ordinary = read_formula(latex)
    if ordinary is not None:
        return ordinary
    latex = re.sub(r"\^\s*\\circ", r" \\cdot \\frac{\\pi}{180}", latex)
    latex = re.sub(r"\\(?:text|mathrm)\s*\{\s*([a-zA-Z])\s*\}", r"\1", latex)
    latex = re.sub(r"(?<![\\\w{^.])(\d+)\s+(?=\d)", r"\1\\cdot ", latex)
    try:
        parsed = latex2sympy(latex)
    except MemoryError:
        return None
    # The parser raises bare Exception for what it cannot read, and sympy many kinds.
    except Exception:  # noqa: BLE001
        return None
    return parsed if isinstance(parsed, _algebra().Basic) else None


def _identity(one: Any, other: Any, step: Fraction | None) -> Relation:
    sympy = _algebra()

    if isinstance(one, sympy.Equality) and isinstance(other, sympy.Equality):
        return _same_equation(one, other)
    if not (isinstance(one, sympy.Expr) and isinstance(other, sympy.Expr)):
        return "unknown"
    one, other = _exact(one), _exact(other)
    if one.has(sympy.I) or other.has(sympy.I):
        one, other = _with_unit(one), _with_unit(other)
    if one in _infinities() or other in _infinities():
        return "equal" if one == other else "different"
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    if not symbols:
        relation = _agree(one, other, {}) if step is None else _written_as(one, other, step)
        return relation or "unknown"
    if bool(one.free_symbols) != bool(other.free_symbols):
        return "different"
    if one.free_symbols != other.free_symbols and not (one.free_symbols & other.free_symbols):
        return "unknown"
    found = [_agree(one, other, point) for point in _test_points(symbols)]
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
    return expression.xreplace(dict.fromkeys(letters, _algebra().I))


def _infinities() -> tuple[Any, ...]:
    sympy = _algebra()

    return (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan)


def _exact(expression: Any) -> Any:
    """Decimals as the fractions they are written as."""
    sympy = _algebra()

    floats = expression.atoms(sympy.Float)
    return expression.xreplace({number: sympy.Rational(str(number)) for number in floats})


def _needs_integers(one: Any, other: Any) -> bool:
    sympy = _algebra()

    kinds = (sympy.factorial, sympy.binomial, sympy.floor, sympy.ceiling, sympy.Mod)
    if one.has(*kinds) or other.has(*kinds):
        return True
    powers = (one.atoms(sympy.Pow) | other.atoms(sympy.Pow)) if one.free_symbols else set()
    return any(power.exp.free_symbols and power.base.is_negative for power in powers)


def _test_points(symbols: list[Any]) -> list[dict[Any, Any]]:
    sympy = _algebra()

    points = []
    for shift, start in enumerate(_POINTS):
        base = sympy.Rational(start)
        values = {
            symbol: base + sympy.Rational(3 * index * index + shift + index, 7 + index)
            for index, symbol in enumerate(symbols)
        }
        if shift == 2:
            values = {symbol: -value for symbol, value in values.items()}
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


def _same_equation(one: Any, other: Any) -> Relation:
    """Equations are equal if one is a constant multiple of the other."""
    left, right = _exact(one.lhs - one.rhs), _exact(other.lhs - other.rhs)
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    if left.free_symbols != right.free_symbols or not symbols:
        return "unknown"
    twins = {symbol: _algebra().Dummy() for symbol in symbols}
    cross = left.xreplace(twins) * right - left * right.xreplace(twins)
    first, *others = _test_points(symbols)
    if is_zero(left, first) is not False or is_zero(right, first) is not False:
        return "unknown"
    fixed = {twin: first[symbol] for symbol, twin in twins.items()}
    same = all(is_zero(cross, {**point, **fixed}) for point in others)
    return "equal" if same else "unknown"


def _verified(one: Any, other: Any) -> Relation:
    """math-verify's word, if it can tell the gold from something else."""
    from math_verify import verify

    sympy = _algebra()

    def same(left: Any, right: Any) -> bool:
        rounding = {"float_rounding": _DIGITS, "numeric_precision": _DIGITS}
        return bool(verify([left], [right], timeout_seconds=None, raise_on_error=False, **rounding))

    marker = sympy.Symbol("zz_other")
    if not same(one, one) or same(one, marker) or same(marker, other):
        return "unknown"
    return "equal" if same(one, other) and same(other, one) else "unknown"
