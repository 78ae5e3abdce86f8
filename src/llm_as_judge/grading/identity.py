"""Is an expression zero? What two values differ by is never called nothing because it is small.

A rational number is known exactly. Any other is evaluated with more and more digits until it is
certain not to be zero; what is still nothing at more digits than all its numbers have is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy

_LEAST_DIGITS = 200
_MOST_DIGITS = 4000
_SURE_DIGITS = 10
_SURE_BITS = 20
"""Correct bits of a value from which it is no rounding error of a zero."""
_BITS_PER_DIGIT = 3.33


def is_zero(expression: Any, point: Mapping[Any, Any]) -> bool | None:
    """Is the sympy ``expression`` zero where its symbols have the values of ``point``?

    Returns:
        None: it has no value there, or its numbers are too long for this to be told.
    """
    if expression.is_Rational:
        return bool(expression == 0)
    wanted = _LEAST_DIGITS + _written_digits(expression)
    parts = _parts(expression, point, _SURE_DIGITS, min(wanted, _MOST_DIGITS))
    if parts is None:
        return None
    if any(map(_is_surely_something, parts)):
        return False
    return True if wanted <= _MOST_DIGITS else None


def real_value(expression: Any, digits: int) -> Fraction | None:
    """A number correct to ``digits`` digits; None if it has no value, or no real one."""
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    parts = _parts(expression, {}, digits, digits + _LEAST_DIGITS)
    if parts is None or _is_surely_something(parts[1]):
        return None
    return Fraction(str(parts[0]))


def _is_surely_something(part: Any) -> bool:
    return bool(part != 0) and (bool(part.is_Rational) or part._prec >= _SURE_BITS)  # noqa: SLF001 - shown nowhere else


def _written_digits(expression: Any) -> int:
    """Twice the digits of all numbers of ``expression``; a power has those of its exponent's size."""
    numbers = expression.atoms(sympy.Rational)
    bits = sum(int(number.p).bit_length() + int(number.q).bit_length() for number in numbers)
    powers = (power.exp for power in expression.atoms(sympy.Pow) if power.exp.is_Integer)
    return int(2 * (bits / _BITS_PER_DIGIT + sum(abs(int(power)) for power in powers)))


def _parts(
    expression: Any, point: Mapping[Any, Any], digits: int, most: int
) -> tuple[Any, Any] | None:
    """Real and imaginary part at ``point``, each with as many correct bits as its precision says."""
    try:
        value = expression.evalf(digits, subs=point, maxn=most)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError, NotImplementedError):
        return None
    except (AttributeError, ArithmeticError, RecursionError, KeyError):
        return None
    if not value.is_number or value.has(sympy.nan, sympy.zoo, sympy.oo):
        return None
    real, imaginary = value.as_real_imag()
    if not all(part.is_Float or part.is_Rational for part in (real, imaginary)):
        return None
    return real, imaginary
