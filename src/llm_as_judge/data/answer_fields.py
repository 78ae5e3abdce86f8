"""Fields of a row that say how its answers are compared: kind, tolerance, unit, aliases, grader, options."""

from __future__ import annotations

import calendar
import contextlib
import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llm_as_judge.data.rows import RowError, texts
from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.dates import Date, read_dates
from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.units import read_unit, same_dimensions
from llm_as_judge.grading.values import compare_values
from llm_as_judge.quoting import quoted
from llm_as_judge.types import ANSWER_KINDS, GRADER_NAMES, AnswerSpec, Domain

ANSWER_FIELDS = ("kind", "tolerance", "unit", "aliases", "grader")
_MOST_OPTIONS = 26


def misspelled(record: Iterable[Any], known: Iterable[str]) -> str:
    """Which fields read like one of ``known`` that is then not there; empty if none does: others are one's own
    business."""
    given, known = list(record), list(known)
    absent = [name for name in known if name not in given]
    found: dict[str, str] = {}
    for name in given:
        near = difflib.get_close_matches(str(name).casefold(), absent, n=1, cutoff=0.85)
        if name not in known and near:
            found[quoted(str(name), 40)] = near[0]
    fields = "field" if len(found) == 1 else "fields"
    wrong, meant = ", ".join(map(repr, found)), ", ".join(map(repr, found.values()))
    return f"unknown {fields} {wrong}; did you mean {meant}?" if found else ""


def read_spec(record: Mapping[str, Any]) -> AnswerSpec:
    """What the row says of its answers; :func:`require_fitting` says whether they are so.

    Raises:
        RowError: a field is not as wanted.
    """
    return AnswerSpec(
        kind=_name(record, "kind", ANSWER_KINDS),
        tolerance=_tolerance(record.get("tolerance")),
        unit=_unit(record.get("unit", "")),
        grader=_name(record, "grader", GRADER_NAMES),
    )


def require_fitting(spec: AnswerSpec, domain: Domain, answers: Sequence[str]) -> None:
    """
    Raises:
        RowError: what is said of the answers contradicts itself, their domain, or the answers.
    """
    if domain == "code" and spec.grader not in (None, "tests"):
        raise RowError(f"'grader' is {spec.grader!r}; a code row is graded by its tests")
    if domain != "code" and spec.grader == "tests":
        raise RowError(
            f"'grader' is 'tests', which a {domain} row has not; wanted exact, typed or judge"
        )
    if spec.contradiction:
        raise RowError(spec.contradiction)
    if domain == "code" and (spec.tolerance is not None or spec.unit):
        name = "unit" if spec.unit else "tolerance"
        raise RowError(f"{name!r} of a code row, which its tests grade; leave it out")
    for answer in answers if spec.tolerance is not None else ():
        if not any(character.isdigit() for character in answer):
            raise RowError(
                f"'tolerance' is {spec.tolerance:g}, but 'answer' {answer!r} has no digit; leave it out"
            )
    for answer in answers:
        _require_of_kind(answer, domain, spec)
        _require_of_unit(answer, spec.unit)


_NUMBERS = ("number", "quantity", "money", "percentage", "duration", "bound")
_READ: Mapping[str, str] = {
    **{kind: f"no {kind}" for kind in (*_NUMBERS, "date")},
    "time": "no time of day",
    "yes_no": "neither yes nor no",
}
"""Kinds whose values the rules read, and what another answer is."""
_BEGINS_YES_NO = re.compile(r"\s*(?:yes|no|true|false)\b", re.IGNORECASE)
_IN_FIGURES = re.compile(r"\d+([-./:])\d+(?:\1\d+)?")


def _require_of_kind(answer: str, domain: Domain, spec: AnswerSpec) -> None:
    """Refuses words, and a date or time in figures, that no reader of the kind reads. A number of mathematics may
    be any expression."""
    kind = spec.kind
    if kind is None or kind not in _READ or (domain == "math" and kind in _NUMBERS):
        return
    read = compare_values(answer, answer, Asked("", domain, spec)) is not None
    if kind == "date" and read and (dates := read_dates(answer)):
        read = any(map(_is_in_calendar, dates))
    elif kind == "yes_no":
        read = read or _BEGINS_YES_NO.match(answer) is not None
    elif any(char.isdigit() for char in answer):
        read = read or kind not in ("date", "time") or not _IN_FIGURES.fullmatch(answer.strip())
    if not read:
        raise RowError(
            f"'answer' {quoted(answer, 40)!r} is {_READ[kind]}; mend it, or leave 'kind' out"
        )


def _is_in_calendar(date: Date) -> bool:
    if date.day is None or date.month is None:
        return True
    year = 2000 if date.year is None else date.year  # a leap year
    return date.day <= calendar.monthrange(year if year > 0 else 2000, date.month)[1]


def _require_of_unit(answer: str, unit: str) -> None:
    """Refuses "4 kg" where the unit is "s"; what is no unit that is known may be a thing counted."""
    wanted = read_unit(unit) if unit else ()
    number = parse_number(answer) if wanted else None
    if number and number.units:
        pairs = itertools.product(number.units, wanted)
        if not any(same_dimensions(one, other) for one, other in pairs):
            raise RowError(
                f"'unit' is {quoted(unit, 40)!r}, but 'answer' {quoted(answer, 40)!r} is in {number.unit!r}; "
                "mend one of them, or leave 'unit' out"
            )


def _name(record: Mapping[str, Any], field: str, names: Sequence[Any]) -> Any:
    """One of ``names``; None where the row does not say it, or has an empty cell of a table."""
    found = record.get(field)
    if found in (None, ""):
        return None
    if found in names:
        return found
    near = difflib.get_close_matches(str(found), names, n=1, cutoff=0.6)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise RowError(f"{field!r} is {found!r}, wanted one of {', '.join(names)}{meant}")


def _tolerance(found: Any) -> float | None:
    """Tables of texts hold it as text, or an empty one."""
    if found is None or found == "":
        return None
    if not isinstance(found, bool) and isinstance(found, (int, float, str)):
        with contextlib.suppress(ValueError, OverflowError):
            return float(found)
    shown = quoted(found if isinstance(found, str) else repr(found), 40)
    raise RowError(f"'tolerance' is {shown}, wanted a number from 0 on")


def _unit(found: Any) -> str:
    found = "" if found is None else found
    if not isinstance(found, str):
        raise RowError(f"'unit' is {found!r}, wanted a text such as 'km/h'")
    return found.strip()


def read_aliases(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Further accepted answers, stripped.

    Raises:
        RowError: not a text or a list of texts, or an empty one.
    """
    found = record.get("aliases") or []
    given = texts([found] if isinstance(found, str) else found, "aliases")
    aliases = tuple(one.strip() for one in given)
    if not all(aliases):
        raise RowError("'aliases' holds an empty text; leave it out")
    return aliases


def read_options(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Texts of the options in order; empty where the row has none.

    Raises:
        RowError: not a list of different texts, one alone, or more than there are letters.
    """
    given = [one.strip() for one in texts(record.get("options") or [], "options")]
    if not given:
        return ()
    if not all(given) or not 1 < len(given) <= _MOST_OPTIONS:
        raise RowError(f"'options' holds {len(given)} texts, wanted 2 to 26, none of them empty")
    if len({_folded(one) for one in given}) < len(given):
        raise RowError("'options' holds the same text twice")
    return tuple(given)


def letters_of(answers: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """Golds of a multiple choice as letters; each is a letter, the text of an option, or both.

    Raises:
        RowError: one names no option, or two of them.
    """
    return tuple(dict.fromkeys(_letter(answer, options) for answer in answers))


_LETTERED = re.compile(r"[(\[]?([A-Za-z])(?:[)\].:]\s*(?P<text>.*)|\s*)", re.DOTALL)


def _letter(answer: str, options: Sequence[str]) -> str:
    letters = {chr(ord("A") + index): _folded(option) for index, option in enumerate(options)}
    found = {letter for letter, option in letters.items() if option == _folded(answer)}
    lettered = _LETTERED.fullmatch(answer.strip())
    if lettered is not None:
        letter, said = lettered[1].upper(), _folded(lettered["text"] or "")
        if letter in letters and said in ("", letters[letter]):
            found.add(letter)
    if len(found) == 1:
        return found.pop()
    both = ", and names two of them" if found else ""
    raise RowError(
        f"with 'options' the answer is a letter, here A-{max(letters)}, or the text of one; found "
        f"{answer!r}{both}"
    )


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
