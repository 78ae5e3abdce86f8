"""A quick reader of ordinary formulas: what most answers are needs no general LaTeX grammar.

Numbers, one-letter variables, ``+ - * / ^``, fractions, roots, brackets and the usual functions.
Anything else is None, and the general parser (ten to twenty times slower) reads it instead.
"""

from __future__ import annotations

import re
from typing import Any

import sympy

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?|\.\d+)|(?P<command>\\[a-zA-Z]+)|(?P<letter>[a-zA-Z])"
    r"|(?P<sign>[-+*/^(){}]))"
)
_FUNCTIONS = {
    r"\sin": "sin",
    r"\cos": "cos",
    r"\tan": "tan",
    r"\cot": "cot",
    r"\sec": "sec",
    r"\csc": "csc",
    r"\ln": "log",
    r"\exp": "exp",
    r"\arcsin": "asin",
    r"\arccos": "acos",
    r"\arctan": "atan",
}
_LONGEST = 200
_GREATEST_POWER = 64


class _NotOrdinary(Exception):  # noqa: N818 - a signal, never seen outside
    """The text has something that this reader leaves to the general parser."""


def read_formula(latex: str) -> Any:
    """A sympy expression, not simplified beyond sympy's own; None if ``latex`` is not ordinary."""
    if len(latex) > _LONGEST:
        return None
    try:
        tokens = _tokens(latex)
        reader = _Reader(tokens)
        value = reader.sum()
    except _NotOrdinary:
        return None
    return value if reader.at_end() else None


def _tokens(latex: str) -> list[str]:
    found: list[str] = []
    position = 0
    text = latex.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _NotOrdinary
        token = match.group().strip()
        if found and found[-1][0].isdigit() and token[0].isdigit():
            raise _NotOrdinary  # "2 3" is no product
        found.append(token)
        position = match.end()
    return found


class _Reader:
    """Recursive descent over tokens; every method reads one construct and moves on."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def _peek(self) -> str:
        return "" if self.at_end() else self._tokens[self._at]

    def _take(self, wanted: str = "") -> str:
        token = self._peek()
        if not token or (wanted and token != wanted):
            raise _NotOrdinary
        self._at += 1
        return token

    def sum(self) -> Any:
        value = self._product()
        while self._peek() in {"+", "-"}:
            plus = self._take() == "+"
            other = self._product()
            value = value + other if plus else value - other
        return value

    def _product(self) -> Any:
        value = self._signed()
        divided = False
        while True:
            token = self._peek()
            if token in {"*", r"\cdot"}:
                self._take()
                divided = False
                value = value * self._signed()
            elif token == "/":
                self._take()
                value = value / self._nonzero(self._signed())
                divided = True
            elif token and (token[0].isalpha() or token[0] in "(\\" or token[0].isdigit()):
                if token[0].isdigit() or divided:
                    raise _NotOrdinary  # "x2", "(2)3", and "1/2x", which is read both ways
                value = value * self._power()
            else:
                return value

    def _nonzero(self, value: Any) -> Any:
        if value == 0:
            raise _NotOrdinary
        return value

    def _signed(self) -> Any:
        if self._peek() in {"+", "-"}:
            return self._signed() if self._take() == "+" else -self._signed()
        mixed = self._peek()[:1].isdigit() and self._tokens[self._at + 1 : self._at + 2]
        if mixed == [r"\frac"]:
            raise _NotOrdinary  # 6\frac{1}{2} is a mixed number
        return self._power()

    def _power(self) -> Any:
        base = self._atom()
        if self._peek() != "^":
            return base
        self._take()
        exponent = self._group() if self._peek() == "{" else self._atom()
        if self._peek() == "^":
            raise _NotOrdinary
        if not (exponent.is_Rational and abs(exponent) <= _GREATEST_POWER) and base.is_number:
            raise _NotOrdinary  # towers and great powers belong to the bounded parser
        return base**exponent

    def _group(self) -> Any:
        self._take("{")
        value = self.sum()
        self._take("}")
        return value

    def _atom(self) -> Any:
        token = self._take()
        if token[0].isdigit() or token[0] == ".":
            return sympy.Rational(token)
        if token == "(":
            value = self.sum()
            self._take(")")
            return value
        if token == r"\frac":
            top = self._group()
            return top / self._nonzero(self._group())
        if token == r"\sqrt":
            return sympy.sqrt(self._group())
        if token == r"\pi":
            return sympy.pi
        if token in _FUNCTIONS:
            return self._function(token)
        # e, i and the like have a meaning that the general parser knows; f(x) is no product.
        if len(token) == 1 and token.isalpha() and token not in "eifghEI":
            return sympy.Symbol(token)
        raise _NotOrdinary

    def _function(self, name: str) -> Any:
        if self._peek() not in {"(", "{"}:
            raise _NotOrdinary
        inner = self._group() if self._peek() == "{" else self._atom()
        if self._peek() == "^":
            raise _NotOrdinary
        return getattr(sympy, _FUNCTIONS[name])(inner)
