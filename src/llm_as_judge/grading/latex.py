"""One spelling for each mathematical answer.

:func:`normalize` maps the many ways to write the same LaTeX (or plain text) to one; what it does
is reversible in meaning. :mod:`shape` then splits it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

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
    "…": r"\ldots ",
    "ℝ": r"\mathbb{R}",
    "ℤ": r"\mathbb{Z}",
    "ℕ": r"\mathbb{N}",
    "∖": r"\setminus ",
    "－": "-",
    "’": "'",
}
_UNICODE |= {
    char: r"\frac{{{}}}{{{}}}".format(*unicodedata.normalize("NFKC", char).split("\u2044"))
    for char in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
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
    (r"\\lbrack(?![a-z])", "["),
    (r"\\rbrack(?![a-z])", "]"),
    (r"\\langle(?![a-z])", "("),
    (r"\\rangle(?![a-z])", ")"),
    (
        r"\\(?:mathrm|mbox|textbf|textrm|textit|textsf|mathbf|mathit|mathsf|operatorname\*?|hbox)(?=\s*\{)",
        r"\\text",
    ),
    (r"\\degree(?![a-z])", r"^\\circ "),
    (r"\^\s*\{\s*\\circ\s*\}", r"^\\circ "),
    (r"\\varnothing(?![a-z])", r"\\emptyset "),
    (r"\\(?:d|c)?dots(?![a-z])|\\dots[bcim](?![a-z])", r"\\ldots "),
    (r"\\mathbb\s*([A-Z])|\\(?=R(?![a-zA-Z]))(R)", r"\\mathbb{\1\2}"),
    (r"\\(?:smallsetminus|backslash)(?![a-z])", r"\\setminus "),
    (r"(\\mathbb\{R\})\s*-\s*(?=\\\{)", r"\1\\setminus "),
    (r"\\colon(?![a-z])", ":"),
    (r"\\times(?![a-z])", r"\\cdot "),
    (r"\\div(?![a-z])", "/"),
    (r"\\(?:lvert|rvert|vert|mid)(?![a-z])", "|"),
    (r"\\text\s*\{\s*\}", ""),
    (r"(?<=\d)\s*\^\s*\{\s*(?:\\text\s*\{\s*)?(st|nd|rd|th)\s*\}?\s*\}", r"\1"),
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
    text = re.sub(r"(?<=,)\s*\.\.\.\s*(?=,|$)", r" \\ldots ", text)
    text = re.sub(
        r"(?<![\w.}])(?<!\d )(\d+)/(\d+) (?=(?:[a-zA-Z]|\\(?:pi|sqrt))(?![a-zA-Z]))",
        r"\\frac{\1}{\2} ",
        text,
    )
    text = _plain_to_latex(text)
    text = re.sub(r"\\sqrt\s*([0-9a-zA-Z])", r"\\sqrt{\1}", text)
    text = _brace_fractions(text)
    text = re.sub(r"\^\s*(-?\d{2,}|-\d)", r"^{\1}", text)
    text = re.sub(r"\^\s*([0-9a-zA-Z])(?![0-9a-zA-Z]*\})", r"^{\1}", text)
    text = re.sub(r"_\s*([0-9a-zA-Z])", r"_{\1}", text)
    text = " ".join(text.split()).strip()
    return text.rstrip(".;, ")


def _plain_to_latex(text: str) -> str:
    text = text.replace("**", "^")
    text = re.sub(rf"(?<![\\a-zA-Z])({_FUNCTIONS})(?![a-zA-Z])", r"\\\1 ", text)
    text = re.sub(r"(?<![\\a-zA-Z])(?:infinity|inf|oo)(?![a-zA-Z])", r"\\infty ", text)
    text = _brace_calls(text)
    text = text.replace("<=", r"\le ").replace(">=", r"\ge ").replace("!=", r"\ne ")
    text = re.sub(r"\^\s*\(([^()]*)\)", r"^{\1}", text)
    return re.sub(r"(?<!\\)\*", r"\\cdot ", text)


_CALL = re.compile(r"\\(sqrt|exp)\s*([(\[{])")
_PARTNER = {"(": ")", "[": "]", "{": "}"}


def _brace_calls(text: str) -> str:
    r"""``\sqrt(x+1)`` -> ``\sqrt{x+1}``, ``\exp(-x)`` -> ``e^{-x}``."""
    calls = [call for call in _CALL.finditer(text) if call[1] == "exp" or call[2] == "("]
    if not calls:
        return text
    closing: dict[int, int] = {}
    opened: list[int] = []
    for position, char in enumerate(text):
        if char in _PARTNER:
            opened.append(position)
        elif opened and char == _PARTNER[text[opened[-1]]]:
            closing[opened.pop()] = position
    chars = list(text)
    for call in calls:
        start, opening = call.start(), call.end() - 1
        if opening in closing:
            chars[opening], chars[closing[opening]] = "{", "}"
            if call[1] == "exp":
                chars[start:opening] = ["e^", *[""] * (opening - start - 1)]
    return "".join(chars)


def _brace_fractions(text: str) -> str:
    """``\\frac12`` and ``\\frac 4{3}`` -> ``\\frac{1}{2}``, ``\\frac{4}{3}``."""
    text = re.sub(r"\\frac\s+", r"\\frac", text)
    text = re.sub(r"\\frac([0-9a-zA-Z])\s*([0-9a-zA-Z])", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\frac([0-9a-zA-Z])\s*\{", r"\\frac{\1}{", text)
    text = re.sub(r"\\frac(\\[a-zA-Z]+)(?![a-zA-Z{])\s*", r"\\frac{\1}", text)
    top = r"(\\frac\s*\{(?:[^{}]|\{[^{}]*\})*\})"
    return re.sub(top + r"\s*(?:([0-9a-zA-Z])|(\\[a-zA-Z]+)(?![a-zA-Z{]))", r"\1{\2\3}", text)
