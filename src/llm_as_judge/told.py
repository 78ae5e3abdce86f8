"""Lines about a file whose rows cannot be taken: each kind of reason is told once."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

from llm_as_judge.quoting import quoted

_NAMES, _LINES = 8, 8
"""Most that a line names."""
_FIGURES = re.compile(r"\d+(?:[.,]\d+)*")
_OF_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def told_once(refusals: Iterable[tuple[str, str]]) -> list[str]:
    """Lines ``file:line: reason``; of reasons of one file that differ in figures alone the first, with
    the count and the lines of the others.

    Args:
        refusals: ``file:line`` and reason of each row.
    """
    kinds: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for place, reason in refusals:
        kind = place.rpartition(":")[0], _FIGURES.sub("0", reason)
        kinds.setdefault(kind, []).append((place, reason))
    return [
        f"{place}: {reason}{_others([other.rpartition(':')[2] for other, _ in rest])}"
        for (place, reason), *rest in kinds.values()
    ]


def _others(lines: list[str]) -> str:
    if not lines:
        return ""
    more = " ..." if len(lines) > _LINES else ""
    rows = "1 more row" if len(lines) == 1 else f"{len(lines)} more rows"
    return f"; the same in {rows} ({', '.join(lines[:_LINES])}{more})"


def names(found: Iterable[object]) -> str:
    """``problem, answer``: of keys or columns the first, each without what no line may hold."""
    known = [quoted(str(name), 40) for name in found]
    more = " ..." if len(known) > _NAMES else ""
    return ", ".join(known[:_NAMES]) + more or "none"


def is_utf16(beginning: bytes) -> bool:
    """By its byte order mark, or by the zeros between the first letters."""
    return beginning.startswith(_OF_UTF16) or b"\0" in beginning[:2]


def invalid_utf8(found: bytes = b"", at: int | None = None) -> str:
    """Why a text cannot be read, and how its file can.

    Args:
        found: the text, as far as it is known; ``at``: the first byte that is wrong.
    """
    encoding = "UTF-16" if is_utf16(found) else "WINDOWS-1252"
    where = "" if at is None else f" at byte {at}"
    return f"invalid UTF-8{where}; save the file as UTF-8, or convert it: iconv -f {encoding} -t UTF-8 FILE > NEW"
