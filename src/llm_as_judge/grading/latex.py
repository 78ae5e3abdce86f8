"""One spelling for each mathematical answer, and its shape.

:func:`normalize` maps the many ways to write the same LaTeX (or plain text) to one; what it does
is reversible in meaning. :func:`parse_shape` then splits lists, tuples, sets, intervals, unions,
inequalities and matrices, so that only scalars are left to symbolic algebra. Brackets keep their
kind: ``[1,2)`` is not ``(1,2)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

_UNICODE = {
    "\u2212": "-",
    "\u2013": "-",
    "\u2014": "-",
    "×": r"\times ",
    "⋅": r"\cdot ",
    "·": r"\cdot ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "⩽": r"\le ",
    "⩾": r"\ge ",
    "≠": r"\ne ",
    "∞": r"\infty ",
    "π": r"\pi ",
    "θ": r"\theta ",
    "α": r"\alpha ",
    "β": r"\beta ",
    "λ": r"\lambda ",
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∈": r"\in ",
    "∅": r"\emptyset ",
    "±": r"\pm ",
    "÷": "/",
    "°": r"^\circ ",
    "√": r"\sqrt ",
    "＞": ">",
    "＜": "<",
    "，": ",",
    "（": "(",
    "）": ")",
    "½": r"\frac{1}{2}",
    "¼": r"\frac{1}{4}",
    "¾": r"\frac{3}{4}",
    "…": r"\ldots ",
    "’": "'",
}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_COMMANDS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
    (r"\\[dt]binom(?![a-zA-Z])", r"\\binom"),
    (
        r"\\(?:left|right|big|Big|bigg|Bigg|bigl|bigr|Bigl|Bigr|displaystyle|limits)(?![a-zA-Z])\.?",
        "",
    ),
    (r"\\(?:,|!|;|:|>|quad(?![a-z])|qquad(?![a-z]))", " "),
    (r"(?<!\\)\\ |~", " "),
    (r"\\(?:leqslant|leq|le)(?![a-z])", r"\\le "),
    (r"\\(?:geqslant|geq|ge)(?![a-z])", r"\\ge "),
    (r"\\lt(?![a-z])", "<"),
    (r"\\gt(?![a-z])", ">"),
    (r"\\neq(?![a-z])", r"\\ne "),
    (r"\\(?:cupdot|bigcup)(?![a-z])", r"\\cup "),
    (r"\\(?:lbrace|rbrace)(?![a-z])", lambda m: r"\{" if m.group()[1] == "l" else r"\}"),
    (r"\\(?:lbrack)(?![a-z])", "["),
    (r"\\(?:rbrack)(?![a-z])", "]"),
    (
        r"\\(?:mathrm|mbox|textbf|textrm|textit|textsf|mathbf|mathit|mathsf|operatorname\*?|hbox)(?=\s*\{)",
        r"\\text",
    ),
    (r"\\degree(?![a-z])", r"^\\circ "),
    (r"\^\s*\{\s*\\circ\s*\}", r"^\\circ "),
    (r"\\(?:varnothing)(?![a-z])", r"\\emptyset "),
    (r"\\times(?![a-z])", r"\\cdot "),
    (r"\\div(?![a-z])", "/"),
    (r"\\(?:lvert|rvert|vert|mid)(?![a-z])", "|"),
    (r"\\text\s*\{\s*\}", ""),
]
_COMPILED = [(re.compile(pattern), target) for pattern, target in _COMMANDS]
_FUNCTIONS = "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt|pi"


@lru_cache(maxsize=1024)  # an answer is compared with each gold, by several rules
def normalize(text: str) -> str:
    """``text`` in one spelling: LaTeX without layout, plain notation turned into LaTeX."""
    text = " ".join(text.split())
    text = re.sub("[⁰¹²³⁴-⁹⁺⁻]+", lambda m: f"^{{{m.group().translate(_RAISED)}}}", text)
    for sign, latex in _UNICODE.items():
        text = text.replace(sign, latex)
    text = re.sub(r"(?<=\d)\s*(?:,\s*\\!|\{,\})\s*(?=\d{3}(?!\d))", "", text)
    text = re.sub(r"(?<!\\)\\[()\[\]]", " ", text)
    text = re.sub(r"(?<!\\)\$", " ", text)
    if "\\" in text or "~" in text:  # without either no command is there
        for pattern, target in _COMPILED:
            text = pattern.sub(target, text)
    text = _plain_to_latex(text)
    text = re.sub(r"\\sqrt\s*([0-9a-zA-Z])", r"\\sqrt{\1}", text)
    text = _brace_fractions(text)
    text = re.sub(r"\^\s*(-?\d{2,}|-\d)", r"^{\1}", text)
    text = re.sub(r"\^\s*([0-9a-zA-Z])(?![0-9a-zA-Z]*\})", r"^{\1}", text)
    text = re.sub(r"_\s*([0-9a-zA-Z])", r"_{\1}", text)
    text = " ".join(text.split()).strip()
    return re.sub(r"[.;,\s]+$", "", text)


def _plain_to_latex(text: str) -> str:
    text = text.replace("**", "^")
    text = re.sub(r"(?<![\\a-zA-Z])sqrt\s*\(", r"\\sqrt(", text)
    text = _sqrt_parentheses(text)
    text = re.sub(rf"(?<![\\a-zA-Z])({_FUNCTIONS})(?![a-zA-Z])", r"\\\1 ", text)
    text = re.sub(r"(?<![\\a-zA-Z])(?:infinity|inf|oo)(?![a-zA-Z])", r"\\infty ", text)
    text = text.replace("<=", r"\le ").replace(">=", r"\ge ").replace("!=", r"\ne ")
    text = re.sub(r"\^\s*\(([^()]*)\)", r"^{\1}", text)
    return re.sub(r"(?<!\\)\*", r"\\cdot ", text)


def _sqrt_parentheses(text: str) -> str:
    """``\\sqrt(x+1)`` -> ``\\sqrt{x+1}``."""
    while (start := text.find(r"\sqrt(")) >= 0:
        depth = 0
        for position in range(start + 5, len(text)):
            depth += (text[position] == "(") - (text[position] == ")")
            if depth == 0:
                inner = text[start + 6 : position]
                text = text[:start] + r"\sqrt{" + inner + "}" + text[position + 1 :]
                break
        else:
            return text
    return text


def _brace_fractions(text: str) -> str:
    """``\\frac12`` and ``\\frac 4{3}`` -> ``\\frac{1}{2}``, ``\\frac{4}{3}``."""
    text = re.sub(r"\\frac\s+", r"\\frac", text)
    text = re.sub(r"\\frac([0-9a-zA-Z])\s*([0-9a-zA-Z])", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\frac([0-9a-zA-Z])\s*\{", r"\\frac{\1}{", text)
    return re.sub(r"(\\frac\s*\{[^{}]*\})\s*([0-9a-zA-Z])", r"\1{\2}", text)


_OPEN, _CLOSE = "([{", ")]}"


def split_top(text: str, separator: str = ",") -> list[str]:
    """Parts of ``text`` between separators outside all brackets."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position].strip())
            start = position + len(separator)
    parts.append(text[start:].strip())
    return parts


def _enclosed(text: str) -> bool:
    """Does the first bracket close at the very end?"""
    depth = 0
    for position, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0:
            return position == len(text) - 1
    return False


@dataclass(frozen=True, slots=True)
class Scalar:
    """One expression; ``name`` is what stood before ``=`` (``x``, ``f(x)``)."""

    latex: str
    name: str = ""


Kind = Literal["list", "tuple", "set", "union", "matrix", "text"]


@dataclass(frozen=True, slots=True)
class Shape:
    """``list`` (commas, no brackets) and ``set``: any order. ``tuple``: ``brackets`` such as
    ``(]``. ``union``: of intervals. ``matrix``: items are rows (shapes of kind list). ``text``:
    words, lower case, in ``brackets``."""

    kind: Kind
    items: tuple[Shape | Scalar, ...] = ()
    brackets: str = ""


_JOINED = re.compile(r"\\text\s*\{\s*(?:and|or)\s*,?\s*\}|(?<![\\a-zA-Z])(?:and|or)(?![a-zA-Z])")
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_MATRIX = re.compile(r"^\\begin\{([pbvB]?matrix|array)\}(?:\{[^{}]*\})?(.*)\\end\{\1\}$", re.DOTALL)
_NAME = re.compile(
    r"^(?P<name>\(?[a-zA-Z](?:_\{?\w+\}?)?(?:\s*,\s*[a-zA-Z](?:_\{?\w+\}?)?)*\)?"
    r"|(?:\\?[a-zA-Z]+(?:_\{?[\w\\]+\}?)?)(?:\([\w,\s]{0,12}\)))\s*=\s*(?P<rest>[^=<>].*)$"
)
_SIDES = re.compile(r"\\le |\\ge |<|>")
_FREE_NAME = re.compile(r"^\\?[a-zA-Z]+(?:_\{\w+\})?$")


def parse_shape(text: str, depth: int = 0) -> Shape | Scalar:
    """Shape of a normalized answer. Anything it does not know is a Scalar of the whole text."""
    text = text.strip()
    if depth > 6:
        return Scalar(text)
    joined = _JOINED.sub(",", text)
    words = _as_words(joined)
    if words is not None:
        return Shape("text", brackets=_as_words(text) or words)
    text = re.sub(r",\s*,", ",", joined)
    matrix = _MATRIX.match(text)
    if matrix:
        return _matrix(matrix.group(2), depth)
    parts = [part for part in split_top(text) if part]
    if len(parts) > 1:
        items = tuple(parse_shape(part, depth + 1) for part in parts)
        ranges = _SIDES.search(text) and all(_is_tuple(item) for item in items)
        return Shape("union" if ranges else "list", items)
    members = split_top(text, r"\cup")
    if len(members) > 1:
        return Shape("union", tuple(parse_shape(member, depth + 1) for member in members))
    return _single(text, depth)


def _is_tuple(item: Shape | Scalar) -> bool:
    return isinstance(item, Shape) and item.kind == "tuple"


def _single(text: str, depth: int) -> Shape | Scalar:
    text = re.sub(r"^(?:\\?[a-zA-Z]+(?:_\{\w+\})?)\s*\\in\s*(?=[(\[\\])", "", text)
    named = _NAME.match(text)
    if named:
        rest = named.group("rest").strip()
        inner = parse_shape(rest, depth + 1)
        if isinstance(inner, Scalar) and not inner.name:
            return Scalar(inner.latex, re.sub(r"\s+", "", named.group("name")))
        if isinstance(inner, Shape):
            return inner
    if text.startswith(r"\{") and text.endswith(r"\}"):
        return _set(text[2:-2], depth)
    interval = _inequality(text)
    if interval is not None:
        return interval
    if len(text) > 2 and text[0] in "([" and text[-1] in ")]" and _enclosed(text):
        parts = split_top(text[1:-1])
        if len(parts) > 1:
            items = tuple(parse_shape(part, depth + 1) for part in parts)
            return Shape("tuple", items, text[0] + text[-1])
        if text[0] + text[-1] == "()":
            return parse_shape(text[1:-1], depth + 1)
    return Scalar(text)


def _set(inner: str, depth: int) -> Shape | Scalar:
    builder = re.match(r"^\s*\\?[a-zA-Z]+\s*[|:]\s*(.*)$", inner)
    if builder:
        interval = _inequality(builder.group(1).strip())
        return interval if interval is not None else Scalar(rf"\{{{inner}\}}")
    parts = [part for part in split_top(inner) if part]
    return Shape("set", tuple(parse_shape(part, depth + 1) for part in parts))


def _matrix(body: str, depth: int) -> Shape:
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", body) if row.strip()]
    items = tuple(
        Shape("tuple", tuple(parse_shape(cell, depth + 1) for cell in row.split("&")), "&")
        for row in rows
    )
    return Shape("matrix", items)


def _inequality(text: str) -> Shape | None:
    """``1 < x \\le 2`` and ``x > 3`` as intervals; None if it is no inequality of one variable."""
    signs = [match.group().strip() for match in _SIDES.finditer(text)]
    sides = [side.strip() for side in _SIDES.split(text)]
    if not signs or len(signs) > 2 or not all(sides):
        return None
    if len(signs) == 1:
        left, right = sides
        sign = signs[0]
        if _FREE_NAME.match(right) and not _FREE_NAME.match(left):
            left, right = right, left
            sign = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le"}[sign]
        if not _FREE_NAME.match(left) or (_FREE_NAME.match(right) and "\\" not in right):
            return None
        if sign in {"<", r"\le"}:
            return _interval(r"-\infty", right, "(", "]" if sign == r"\le" else ")")
        return _interval(right, r"\infty", "[" if sign == r"\ge" else "(", ")")
    upward = {"<", r"\le"}
    low, name, high = sides
    if not _FREE_NAME.match(name) or (signs[0] in upward) != (signs[1] in upward):
        return None
    if signs[0] not in upward:
        low, high, signs = high, low, signs[::-1]
    opening = "[" if signs[0] in {r"\le", r"\ge"} else "("
    return _interval(low, high, opening, "]" if signs[1] in {r"\le", r"\ge"} else ")")


def _interval(low: str, high: str, opening: str, closing: str) -> Shape:
    return Shape("tuple", (Scalar(low), Scalar(high)), opening + closing)


def _as_words(text: str) -> str | None:
    """``text`` as lower-case words if it is words and no mathematics, else None."""
    bare = _TEXT.sub(r" \1 ", text)
    if "\\" in bare or "=" in bare or re.search(r"[\^_<>{}]", bare):
        return None
    if not re.search(r"[^\W\d_]{2,}", bare) and not (
        _TEXT.search(text) and re.fullmatch(r"[\s(]*[a-zA-Z][\s).]*", bare)
    ):
        return None
    if re.fullmatch(r"[\s\d.,+*/()a-z-]+", bare) and not re.search(r"[a-z]{3,}", bare):
        return None
    return " ".join(re.sub(r"[\"'().,;:]", " ", bare).casefold().split())
