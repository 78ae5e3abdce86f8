"""Shapes of mathematical answers: scalar, list, point, set, interval, matrix, named values.

:func:`parse_shape` splits a normalized answer until only scalars are left to symbolic algebra.
Brackets keep their kind (``[1,2)`` is not ``(1,2)``), names keep their values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Scalar:
    """One expression or equation; ``name`` is what stood before ``=`` (``x``, ``f(x)``)."""

    latex: str
    name: str = ""


Kind = Literal[
    "list",
    "names",
    "tuple",
    "sequence",
    "set",
    "union",
    "intersection",
    "difference",
    "ranges",
    "relation",
    "matrix",
    "family",
    "text",
]


@dataclass(frozen=True, slots=True)
class Shape:
    r"""An answer of several parts.

    ``list`` (commas, no brackets) and ``set``: any order. ``names``: the values of ``names``.
    ``tuple``: a point or interval in ``brackets`` such as ``(]``; ``names`` has the variable of an
    inequality that was written. ``sequence``: with ``\ldots`` among its items. ``union``, ``intersection``, ``difference``:
    of sets. ``ranges``: conditions on one variable side by side. ``relation``: sides of the signs
    in ``brackets``. ``matrix``: items are rows (tuples). ``family``: its only item, for every value of ``names[0]`` in the
    numbers that ``brackets`` says (``Z``). ``text``: words, lower case, in ``brackets``.
    """

    kind: Kind
    items: tuple[Shape | Scalar, ...] = ()
    brackets: str = ""
    names: tuple[str, ...] = ()


Item = Scalar | Shape
Relation = Literal["equal", "different", "unknown"]
DOTS = Scalar(r"\ldots")
REALS = Shape("tuple", (Scalar(r"-\infty"), Scalar(r"\infty")), "()")
RANGES = frozenset(["union", "intersection", "difference", "ranges", "relation"])
"""Kinds that are sets of numbers and nothing else."""

_DEEPEST = 6
_OPEN, _CLOSE = "([{", ")]}"
_OR = "\x1e"
"""What stands for "or" while a text is split."""


def split_top(text: str, separator: str = ",") -> list[str]:
    """Parts of ``text`` between separators outside all brackets."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif depth == 0 and position >= start and text.startswith(separator, position):
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


_WORD_OF = r"\\text\s*\{{\s*,?\s*(?:{0})\s*,?\s*\}}|(?<![\\a-zA-Z])(?:{0})(?![a-zA-Z])"
_AND = re.compile(_WORD_OF.format("and") + r"|\\(?:land|wedge)(?![a-zA-Z])")
_EITHER = re.compile(_WORD_OF.format("or") + r"|\\(?:lor|vee)(?![a-zA-Z])|;")
_IS = re.compile(r"(?<![\\a-zA-Z])([a-zA-Z])\s+is\s+(?=[-\d\\(])")
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_VARIABLE = r"(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_\{?\w{1,8}\}?)?'*"
_PLAIN_NAME = rf"{_VARIABLE}|[a-zA-Z]{{2,20}}"
_CALLED = rf"{_VARIABLE}(?:\([a-zA-Z]\))?"
_FREE_NAME = re.compile(rf"^{_VARIABLE}$")
_NAME = re.compile(
    rf"^(?P<name>{_PLAIN_NAME}|[a-zA-Z]{{1,8}}\([\w,\s]{{0,12}}\)|\\text\{{[^{{}}]{{1,20}}\}}"
    rf"|\(\s*{_CALLED}(?:\s*,\s*{_CALLED}){{1,8}}\s*\))\s*=\s*(?P<rest>[^=<>].*)$"
)
_SIGNS = re.compile(r"\\le |\\ge |\\ne |<|>")
_OPERATIONS: tuple[tuple[str, Kind], ...] = (
    (r"\cup", "union"),
    (r"\cap", "intersection"),
    (r"\setminus", "difference"),
)


def parse_shape(text: str, depth: int = 0) -> Item:
    """Shape of a normalized answer. Anything it does not know is a Scalar of the whole text."""
    text = text.strip()
    if depth > _DEEPEST:
        return Scalar(text)
    known = _set_in_words(text, depth) or _family(text, depth)
    if known is not None:
        return known
    if "," not in text and not _SIGNS.search(text):
        text = text.replace(";", ",")  # x = 2; y = 3
    joined = _EITHER.sub(_OR, _AND.sub(",", _IS.sub(r"\1 = ", text)))
    words = _as_words(joined.replace(_OR, ","))
    if words is not None:
        return Shape("text", brackets=_as_words(text) or words)
    return _joined(joined, depth)


def _joined(text: str, depth: int) -> Item:
    grid = _grid(text, depth)
    if grid is not None:
        return grid
    branches = [part for part in split_top(text, _OR) if part.strip(", ")]
    if len(branches) > 1:
        items = tuple(parse_shape(part.strip(", "), depth + 1) for part in branches)
        return Shape("union" if any(map(is_range, items)) else "list", items)
    text = branches[0] if branches else text
    without = _all_but(text, depth)
    if without is not None:
        return without
    parts = [part for part in split_top(text) if part]
    if len(parts) > 1:
        return _several(tuple(parse_shape(part, depth + 1) for part in parts))
    for sign, kind in _OPERATIONS:
        members = split_top(text, sign)
        if len(members) > 1 and all(members):
            return Shape(kind, tuple(parse_shape(member, depth + 1) for member in members))
    return _single(parts[0] if parts else text, depth)


def _several(items: tuple[Item, ...]) -> Shape:
    """Items between commas."""
    if DOTS in items:
        return Shape("sequence", items)
    names = [_name_of(item) for item in items]
    if all(names) and len(set(names)) == len(names):
        values = tuple(Scalar(i.latex) if isinstance(i, Scalar) else i for i in items)
        return Shape("names", values, names=tuple(names))
    if all(map(is_range, items)) and len(set(names)) == 1:
        return Shape("ranges", items, names=(names[0],))
    return Shape("list", items)


def _name_of(item: Item) -> str:
    if isinstance(item, Scalar):
        return item.name
    return item.names[0] if len(item.names) == 1 and item.kind != "family" else ""


def is_range(item: Item) -> bool:
    """Is it a set of numbers or an inequality, and nothing else?"""
    return isinstance(item, Shape) and (
        item.kind in RANGES or (item.kind == "tuple" and bool(item.names))
    )


# ---------------------------------------------------------------------------------------- in words
_ALL_REALS = (
    r"(?:[a-z]\s*(?:\\in|is|can be|may be)\s*)?(?:\\mathbb\s*\{R\}"
    r"|(?:(?:the\s+)?set\s+of\s+)?(?:all|any|every)\s+reals?(?:\s+(?:numbers?|values?))?(?:\s+(?:(?:of|for)\s+)?[a-z])?)"
)
_REALS_ONLY = re.compile(_ALL_REALS, re.IGNORECASE)
_REALS_BUT = re.compile(
    rf"{_ALL_REALS}\s*,?\s*(?:except|but|excluding|other than|without|apart from)(?:\s+for)?\s+(?P<rest>.+)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\\emptyset|\\\{\s*\\\}|(?:the\s+)?(?:empty|null)\s+set"
    r"|(?:there\s+(?:is|are)\s+)?no\s+(?:real\s+|such\s+)?(?:solutions?|values?|roots?)(?:\s+(?:of|for)\s+[a-z])?(?:\s+exists?)?",
    re.IGNORECASE,
)
_INTEGERS = {"integer": "Z", "natural number": "N", "real number": "R"}
_CONDITION = re.compile(
    r"(?:[,;:(|]|\b(?:for|where|with|and)\b)\s*(?:(?:for|where|with|and)\s+)?(?:(?:any|all|every|some|each|an?)\s+)?(?:"
    r"(?P<a>[a-zA-Z])\s*\\in\s*\\mathbb\s*\{(?P<set>[ZNQR])\}"
    r"|(?P<b>[a-zA-Z])\s+(?:is|be)\s+(?:an?|any)\s+(?P<is>integer|natural number|real number)"
    r"|(?P<of>integer|natural number|real number)s?\s+(?P<c>[a-zA-Z])"
    r"|(?P<d>[a-zA-Z])\s+(?P<an>integer))\s*\)?$"
)


def _set_in_words(text: str, depth: int) -> Shape | None:
    plain = " ".join(_TEXT.sub(r" \1 ", text).split()).rstrip(".")
    if _NOTHING.fullmatch(plain):
        return Shape("set")
    if _REALS_ONLY.fullmatch(plain):
        return REALS
    but = _REALS_BUT.fullmatch(plain)
    return _reals_without(re.sub(rf"{_VARIABLE}\s*=", "", but["rest"]), depth) if but else None


def _reals_without(points: str, depth: int) -> Shape:
    inner = parse_shape(points.strip(), depth + 1)
    is_set = isinstance(inner, Shape) and (inner.kind == "set" or is_range(inner))
    items = inner.items if isinstance(inner, Shape) and inner.kind == "list" else (inner,)
    return Shape("difference", (REALS, inner if is_set else Shape("set", items)))


_UNEQUAL = re.compile(rf"^(?P<name>{_VARIABLE})\s*\\ne (?P<rest>.+)$")


def _all_but(text: str, depth: int) -> Shape | None:
    """``x \\ne -2`` and ``x \\ne 1, x \\ne 3``."""
    found = _UNEQUAL.match(text)
    if found is None:
        return None
    again = rf"(?<![\\\w]){re.escape(found['name'])}\s*\\ne "
    points = re.sub(again, " ", found["rest"])
    if re.search(r"[=<>]|\\(?:in|ne|le|ge)(?![a-z])", points) or _FREE_NAME.match(points.strip()):
        return None
    return replace(_reals_without(points, depth), names=(_spelled(found["name"]),))


def _family(text: str, depth: int) -> Shape | None:
    """``\\frac{\\pi}{6}+2k\\pi, k \\in \\mathbb{Z}``."""
    if not re.search(r"\\mathbb|integer|number", text):
        return None
    plain = " ".join(_TEXT.sub(r" \1 ", text).split())
    plain = re.sub(r"^\\\{(.*)\\\}$", r"\1", plain).strip()
    found = _CONDITION.search(plain)
    if found is None:
        return None
    group = found.groupdict()
    name = next(filter(None, (group[key] for key in "abcd")))
    numbers = group["set"] or _INTEGERS[group["is"] or group["of"] or group["an"]]
    head = plain[: found.start()].rstrip(" ,;(")
    head = re.sub(r"\s(?:for|where|with|and)$", "", head)
    if not re.search(rf"(?<![\\a-zA-Z]){name}(?![a-zA-Z])|\d{name}", head):
        return None
    return Shape("family", (parse_shape(head, depth + 1),), numbers, (name,))


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


# ------------------------------------------------------------------------------------- one thing
_MEMBER = re.compile(
    rf"^(?:{_VARIABLE}|\(\s*{_VARIABLE}(?:\s*,\s*{_VARIABLE}){{1,8}}\s*\))\s*\\in\s*(?=[(\[\\])"
)


def _spelled(name: str) -> str:
    return re.sub(r"[\s\\{}]|text(?=\{)", "", name)


def _single(text: str, depth: int) -> Item:
    text = _MEMBER.sub("", text)
    if re.fullmatch(r"\\mathbb\s*\{R\}", text):
        return REALS
    if text == DOTS.latex:
        return DOTS
    named = _NAME.match(text)
    if named:
        return _named(named["name"], named["rest"].strip(), depth, text)
    if text.startswith(r"\{") and text.endswith(r"\}"):
        return _set(text[2:-2], depth)
    if text.startswith("{") and text.endswith("}") and _enclosed(text):
        return _set(text[1:-1], depth) if "," in text else parse_shape(text[1:-1], depth + 1)
    relation = _relation(text)
    if relation is not None:
        return relation
    if len(text) > 2 and text[0] in "([" and text[-1] in ")]" and _enclosed(text):
        return _bracketed(text, depth)
    return Scalar(text)


def _named(name: str, rest: str, depth: int, text: str) -> Item:
    chain = [part.strip() for part in f"{name}={rest}".split("=")]  # x = y = 2
    if len(chain) > 2 and all(re.fullmatch(_PLAIN_NAME, part) for part in chain[:-1]):
        value = parse_shape(chain[-1], depth + 1)
        if isinstance(value, Scalar) and not value.name:
            names = tuple(map(_spelled, chain[:-1]))
            return Shape("names", (value,) * len(names), names=names)
    inner = parse_shape(rest, depth + 1)
    if name[0] == "(":
        names = tuple(map(_spelled, name[1:-1].split(",")))
        if isinstance(inner, Shape) and inner.kind == "tuple" and len(inner.items) == len(names):
            return Shape("names", inner.items, names=names)
        return inner if isinstance(inner, Shape) else Scalar(text)
    if isinstance(inner, Scalar):
        plain = not inner.name and "=" not in inner.latex
        return Scalar(inner.latex, _spelled(name)) if plain else Scalar(text)
    return inner


def _set(inner: str, depth: int) -> Item:
    builder = re.match(rf"^\s*{_VARIABLE}\s*(?:\\in\s*\\mathbb\s*\{{R\}}\s*)?[|:]\s*(.*)$", inner)
    if builder:
        condition = parse_shape(builder[1], depth + 1)
        return condition if isinstance(condition, Shape) else Scalar(rf"\{{{inner}\}}")
    parts = dict.fromkeys(part.strip() for part in split_top(inner) if part)  # each member once
    items = tuple(parse_shape(part, depth + 1) for part in parts)
    return Shape("sequence" if DOTS in items else "set", items)


def _bracketed(text: str, depth: int) -> Item:
    brackets = text[0] + text[-1]
    parts = split_top(text[1:-1])
    if len(parts) > 1:
        items = tuple(parse_shape(part, depth + 1) for part in parts)
        rows = [item for item in items if isinstance(item, Shape) and item.brackets == "[]"]
        if brackets == "[]" and len(rows) == len(items):
            return Shape("matrix", tuple(replace(row, brackets="&") for row in rows))
        return Shape("sequence" if DOTS in items else "tuple", items, brackets)
    return parse_shape(text[1:-1], depth + 1) if brackets == "()" else Scalar(text)


# -------------------------------------------------------------------------------------- relations
_TURNED = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", r"\ne": r"\ne"}
_UPWARD = frozenset(["<", r"\le"])
_CLOSED = frozenset([r"\le", r"\ge"])


def _relation(text: str) -> Shape | None:
    """``1 < x \\le 2`` and ``x > 3`` as intervals, ``|x| < 1`` as it is written; None if it is no
    inequality."""
    signs = [match.group().strip() for match in _SIGNS.finditer(text)]
    sides = [side.strip() for side in _SIGNS.split(text)]
    if not 1 <= len(signs) <= 2 or not all(sides) or "=" in text:
        return None
    written = Shape("relation", tuple(map(Scalar, sides)), " ".join(signs))
    if r"\ne" in signs:
        return written
    if len(signs) == 1:
        left, right, sign = sides[0], sides[1], signs[0]
        if _is_variable(right) and not _is_variable(left):
            left, right, sign = right, left, _TURNED[sign]
        if not _is_variable(left) or _is_variable(right) or _uses(right, left):
            return written
        if sign in _UPWARD:
            return _interval(left, r"-\infty", right, "(", "]" if sign in _CLOSED else ")")
        return _interval(left, right, r"\infty", "[" if sign in _CLOSED else "(", ")")
    low, name, high = sides
    if (signs[0] in _UPWARD) != (signs[1] in _UPWARD):
        return None
    if not _is_variable(name) or _uses(low, name) or _uses(high, name):
        return written
    if signs[0] not in _UPWARD:
        low, high, signs = high, low, signs[::-1]
    opening = "[" if signs[0] in _CLOSED else "("
    return _interval(name, low, high, opening, "]" if signs[1] in _CLOSED else ")")


def _is_variable(text: str) -> bool:
    return bool(_FREE_NAME.match(text)) and text not in {r"\pi", r"\infty", "e"}


def _uses(text: str, name: str) -> bool:
    return re.search(rf"(?<![\\a-zA-Z]){re.escape(name)}(?![a-zA-Z])", text) is not None


def _interval(name: str, low: str, high: str, opening: str, closing: str) -> Shape:
    ends = (Scalar(low), Scalar(high))
    return Shape("tuple", ends, opening + closing, (_spelled(name),))


# --------------------------------------------------------------------------------------- matrices
_ENVIRONMENT = re.compile(
    r"^(?P<open>\(|\[|\||\\\{)?\s*\\begin\{(?P<kind>[pbvBV]?(?:small)?matrix|array|cases|aligned|gathered)\}"
    r"(?:\{[^{}]*\})?(?P<body>.*)\\end\{(?P=kind)\}\s*(?P<close>\)|\]|\||\\\})?$",
    re.DOTALL,
)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?")


def _grid(text: str, depth: int) -> Item | None:
    """A matrix, or a system of equations in rows."""
    found = _ENVIRONMENT.match(text)
    if found is None:
        return None
    if r"\begin" in found["body"]:
        return Scalar(text)
    rows = [row.strip() for row in _ROW_END.split(found["body"]) if row.strip()]
    opening, kind = found["open"] or "", found["kind"]
    if kind in {"cases", "aligned", "gathered"} or (opening == r"\{" and not found["close"]):
        if kind == "cases" and "&" in found["body"]:
            return Scalar(text)  # a function by cases
        return parse_shape(",".join(row.replace("&", "").strip(" ,") for row in rows), depth + 1)
    bars = "|" if opening == "|" or kind[0] in "vV" else ""  # a determinant
    items = tuple(
        Shape("tuple", tuple(parse_shape(cell, depth + 1) for cell in row.split("&")), "&")
        for row in rows
    )
    return Shape("matrix", items, bars)
