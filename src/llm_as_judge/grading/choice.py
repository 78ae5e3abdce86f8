"""Multiple choice: the options of a problem, and the one that an answer names.

An option is named by its letter in any dress (``(b)``, ``Option B``, ``\\textbf{(B)}``), by its text, or by
both. An answer is read as mentions of options with words between them that say no more than "the answer
is": one option mentioned is chosen, two are no choice, a denied one is none. A remark may follow ("B,
because it glows"). What has other words is left open, for a judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from llm_as_judge.grading.choice_mentions import (
    DENIED_BEFORE,
    DENIED_BEHIND,
    HEDGING,
    JOINING,
    REASONS,
    SAYING,
    WORD,
    mentions_of,
    option_of_letter,
)
from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.extract import declarations, declared_answer, undecorated
from llm_as_judge.grading.options import option_key, problem_options, undressed
from llm_as_judge.grading.values import compare_values
from llm_as_judge.types import Problem, Verdict

Fault = Literal["several", "denied", "none", "unclear"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The option that an answer names, or the reason why it names none."""

    index: int | None
    fault: Fault | None = None
    named: frozenset[int] = frozenset()
    """Options mentioned, denied ones among them."""


def gold_options(problem: Problem, options: tuple[str, ...]) -> frozenset[int]:
    """The options that the gold answers name: by letter, by text, or both."""
    read = (_fragment(gold, options, problem.question) for gold in problem.answers)
    return frozenset(choice.index for choice in read if choice.index is not None)


def is_choice(problem: Problem) -> bool:
    """Has ``problem`` options, of which a gold answer is one?"""
    options = problem_options(problem)
    return bool(problem.options) or (bool(options) and bool(gold_options(problem, options)))


# -------------------------------------------------------------------------------- reading one text
_LONGEST_FRAGMENT = 600
_MOST_LINES = 200
"""Of an answer that are read, the last ones."""
_MOST_DECLARED = 50
_CUTS = re.compile(
    r"\n+|\s*[.;!?:](?=\s)|\s*[.;!?]+$|,\s|\s+[-\u2013\u2014]+\s+|\s*\u2014\s*|\s*\(|\s*/\s*"
    r"|,?\s+(?:because|since|as|for|due to|given|which|whereas|while|where)\b",
    re.IGNORECASE,
)
_RETRACTED = re.compile(
    r"\b(?:wait|actually|correction|second thought|i mean|instead|no|scratch that|sorry|mistake|mistaken"
    r"|or|maybe|alternatively|but)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:wait|scratch that|correction|mistaken|(?:that|it|this)(?:'s| is| was)\s+(?:\w+\s+)?"
    r"(?:wrong|incorrect|false|not))\b",
    re.IGNORECASE,
)

_MORE = re.compile(r"\s*,\s*[-+]?\d|\W*(?:wrong|incorrect|false)\b", re.IGNORECASE)
"""Another number behind a comma, or a word that denies."""
_CONDITION = re.compile(r"[\s.,:;(\u2013\u2014-]*(?:only\s+)?(?:if|unless)\b", re.IGNORECASE)


def _fragment(text: str, options: tuple[str, ...], question: str) -> Choice:
    """What one declaration, line or short text names."""
    shown = undecorated(undressed(text)).strip()
    exact = _exact(shown, options)
    if exact is not None:
        return Choice(exact, None, frozenset({exact}))
    shown = shown[:_LONGEST_FRAGMENT]
    lowered = shown.replace("\u2019", "'")
    whole = _strict(lowered, options, question)
    if whole is not None:
        return whole
    cuts = [cut.start() for cut in _CUTS.finditer(lowered)]
    for end in reversed(cuts):
        head = _strict(lowered[:end], options, question)
        if head is not None:
            return _with_remark(head, lowered[end:], options)
    return _unread(lowered, options)


def _exact(text: str, options: tuple[str, ...]) -> int | None:
    """The one option whose whole text ``text`` is; by case where only that tells two apart."""
    lettered = option_of_letter(text.strip(" .:()[]"), options)
    if lettered is not None:
        same = [i for i, option in enumerate(options) if option.strip() == text]
        return same[0] if text.islower() and len(same) == 1 else lettered
    for spelled in (str.strip, option_key):
        wanted = spelled(text)
        same = [i for i, option in enumerate(options) if wanted and spelled(option) == wanted]
        if len(same) == 1:
            return same[0]
    return None


def _strict(text: str, options: tuple[str, ...], question: str) -> Choice | None:
    """The choice of a text that has mentions of options and words that announce them, and no other; None
    if it has no mention, or other words, or is too long for that."""
    if len(text) > _LONGEST_FRAGMENT:
        return None
    mentions = mentions_of(text, options)
    if not mentions:
        return None
    if _TURNED.search(text[: mentions[0].start]):
        return None
    lead = _subject(text[: mentions[0].start], question)
    chosen: set[int] = set()
    denied: set[int] = set()
    kept, place = "", lead
    for number, mention in enumerate(mentions):
        before = text[place : mention.start].casefold()
        end = mentions[number + 1].start if number + 1 < len(mentions) else len(text)
        behind = DENIED_BEHIND.match(text[mention.end : end].casefold())
        refused = DENIED_BEFORE.search(before)
        (denied if behind or refused else chosen).add(mention.index)
        kept += " " + (before[: refused.start()] if refused else before)
        place = mention.end + (behind.end() if behind else 0)
    tail = text[place:]
    kept += " " + ("" if _predicate(tail, question) else tail.casefold())
    words = set(WORD.findall(kept)) - {"-"}
    named = frozenset(chosen | denied)
    if words - SAYING - JOINING - HEDGING - {"but"} or _FACTOR.fullmatch(tail):
        return None
    if len(chosen) > 1:
        return Choice(None, "several", named)
    if not chosen:
        return Choice(None, "denied", named)
    if words & HEDGING:
        return Choice(None, "unclear", named)
    return Choice(chosen.pop(), None, named)


_TURNED = re.compile(r"-\s*\(\s*\Z")
_FACTOR = re.compile(r"\s+[a-zA-Z]\W*")
"""A letter behind an option: "\\sqrt{17} i" is another value."""
_COPULA = re.compile(
    r"^\s*(?:so|thus|hence|therefore)?,?\s*(?:the|this|that|its|our)?\s*(?P<subject>[\w' ]{1,80}?)\s+"
    r"(?:is|was|are|were|must be|has to be|should be|would be)\s+(?:the\s+|an?\s+)?$",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"^\s+(?:is|was|are|were)\s+(?:the|a|an)\s+(?P<rest>[\w' ]{1,80})[.!]?$", re.I
)
_DENYING = re.compile(
    r"\b(?:not|no|never|except|least|without|false|incorrect|wrong)\b|n't\b", re.I
)


def _subject(lead: str, question: str) -> int:
    """Where the mention begins after a subject of the question's own words: "The gas is ..."."""
    found = _COPULA.match(lead)
    return len(lead) if found and _of_question(found["subject"], question) else 0


def _predicate(tail: str, question: str) -> bool:
    """Is ``tail`` a predicate of the question's own words: "... is the gas in the lamp"?"""
    found = _PREDICATE.match(tail)
    return found is not None and _of_question(found["rest"], question)


def _of_question(text: str, question: str) -> bool:
    """Has ``text`` only words of ``question``, which denies nothing?"""
    asked = set(WORD.findall(question.casefold()))
    said = set(WORD.findall(text.casefold()))
    return said <= asked | SAYING and not _DENYING.search(question) and not _DENYING.search(text)


def _with_remark(head: Choice, remark: str, options: tuple[str, ...]) -> Choice:
    """``head`` where what follows takes nothing of it back."""
    if head.fault == "several" or head.index is None:
        return head
    others = {one.index for one in mentions_of(remark, options)} - {head.index}
    named = head.named | others
    if others and (_RETRACTED.search(remark) or _SO.search(remark)):
        return Choice(None, "several", named)
    if _TAKEN_BACK.search(remark) or _CONDITION.match(remark) or _MORE.match(remark):
        return Choice(None, "unclear", named)
    if any(_names_other(line, head.index, options) for line in remark.splitlines()):
        return Choice(None, "several", named)
    beside = remark.split("\n", 1)[0].lstrip(" .,:;(\u2013\u2014-")
    others_first = [one for one in mentions_of(beside, options) if one.start == 0]
    if any(one.index != head.index for one in others_first) or _is_label_text(remark, beside):
        return Choice(None, "unclear", named)
    return head


def _is_label_text(remark: str, beside: str) -> bool:
    """Does ``remark`` give the letter before it a text of its own, as in "B. xenon"?"""
    words = beside.casefold().split()
    light = bool(words) and words[0] in SAYING | REASONS
    return (
        remark[:1] in ".:"
        and 0 < len(words) <= _MOST_BARE_WORDS
        and not light
        and beside[-1] not in ".!"
    )


def _names_other(line: str, index: int, options: tuple[str, ...]) -> bool:
    """Is ``line`` by itself the name of another option?"""
    named = _strict(undecorated(line).strip(), options, "")
    return named is not None and named.index not in (None, index)


_MOST_BARE_WORDS = 6
_PLACES = frozenset(
    {"first", "second", "third", "fourth", "fifth", "last", "former", "latter", "above", "below"}
)


def _unread(text: str, options: tuple[str, ...]) -> Choice:
    """Of a text that names no option plainly: none, if it is short and has nothing of any."""
    named = frozenset(one.index for one in mentions_of(text, options))
    words = set(re.findall(r"\w+", text.casefold()))
    known = {word for option in options for word in re.findall(r"\w+", option.casefold())}
    bare = len(text.split()) <= _MOST_BARE_WORDS and "\n" not in text
    worded = re.search(r"[^\W\d_]{2,}", text)
    if bare and not (named or words & _PLACES) and not (worded and words & (known - SAYING)):
        return Choice(None, "none")
    return Choice(None, "unclear", named)


# ------------------------------------------------------------------------------ reading an answer
_SO = re.compile(r"\b(?:so|thus|hence|therefore)\b[\s,:]*", re.IGNORECASE)


def read_choice(answer: str, options: tuple[str, ...], question: str = "") -> Choice:
    """What a clean ``answer`` chooses: by its declarations, else by itself, its last line or its conclusion."""
    declared = list(dict.fromkeys(declarations(answer)))
    if declared:
        return _of_declarations(declared, answer, options, question)
    lines = [line for line in answer.splitlines() if line.strip()][-_MOST_LINES:]
    said = [_strict(undecorated(undressed(line)).strip(), options, question) for line in lines]
    named = [None if one is None else one.index for one in said]
    if len(lines) > len(options) and named[: len(options)] == list(range(len(options))):
        lines, named = lines[len(options) :], named[len(options) :]  # the options, repeated first
    choice = _fragment("\n".join(lines), options, question)
    if choice.index is not None or choice.fault in ("several", "denied", "none"):
        return choice
    last = _fragment(lines[-1], options, question) if len(lines) > 1 else choice
    if last.index is not None:
        others = set(named[:-1]) - {None, last.index}
        return Choice(None, "several", last.named) if others else last
    *before, concluded = _SO.split(lines[-1]) if lines else [""]
    if before and len(lines) == 1:
        plain = _strict(undecorated(undressed(concluded)).strip(" ."), options, question)
        if plain is not None and plain.index is not None:
            return plain
    return choice


def _of_declarations(
    declared: list[str], answer: str, options: tuple[str, ...], question: str
) -> Choice:
    if len(declared) > _MOST_DECLARED:
        return Choice(None, "several")
    read = [_fragment(one, options, question) for one in declared]
    chosen = {one.index for one in read if one.index is not None}
    named = frozenset().union(*(one.named for one in read))
    if len(chosen) > 1 or any(one.fault == "several" for one in read):
        return Choice(None, "several", named)
    if not chosen:
        return read[-1]
    index = chosen.pop()
    behind = answer.rpartition(declared[-1])[2].splitlines()[1:][-_MOST_LINES:]
    if any(_names_other(line, index, options) for line in behind):
        return Choice(None, "several", named)
    return Choice(index, None, named)


def choose(text: str, options: tuple[str, ...], question: str = "") -> int | None:
    """Index of the one option that ``text`` names or whose value it is; None if it names none or several."""
    choice = read_choice(text, options, question)
    return _of_value(text, options, question) if choice.fault in _UNREAD else choice.index


_UNREAD = ("none", "unclear")


def _of_value(text: str, options: tuple[str, ...], question: str) -> int | None:
    """The one option whose value ``text`` declares: "0.75" for 3/4."""
    value = declared_answer(text, one_sentence=False).text
    asked = Asked(question, "qa")
    compared = (compare_values(option, value, asked) for option in options)
    equal = [at for at, one in enumerate(compared) if one is not None and one.correct]
    return equal[0] if len(equal) == 1 else None


def grade_choice(problem: Problem, answer: str) -> Verdict:
    """Verdict on a clean, guarded ``answer``; open where a judge could read what the rules cannot."""
    options = problem_options(problem)
    golds = gold_options(problem, options)
    if not golds:
        return _verdict(None, "choice.no_gold", "the reference names none of the options")
    choice = read_choice(answer, options, problem.question)
    if choice.index is not None:
        right = choice.index in golds
        return _verdict(right, "choice.letter", f"chose {_letters({choice.index})}")
    if choice.fault in _UNREAD and (of := _of_value(answer, options, problem.question)) is not None:
        return _verdict(of in golds, "choice.value", f"has the value of {_letters({of})}")
    others = (one for one in problem.answers if _fragment(one, options, "").index is None)
    if option_key(answer) in map(option_key, others):
        return _verdict(True, "choice.alias", "an accepted answer of the problem")
    if choice.fault == "several":
        return _verdict(False, "extract.several", f"names {_letters(choice.named)}")
    if choice.fault == "denied" and golds <= choice.named:
        return _verdict(False, "extract.negated", f"denies {_letters(choice.named)}")
    if choice.fault == "none":
        return _verdict(False, "choice.none", "names none of the options")
    return _verdict(None, "choice.unclear", "it cannot be told which option is meant")


def _letters(indexes: set[int] | frozenset[int]) -> str:
    return ", ".join(chr(ord("A") + index) for index in sorted(indexes))


def _verdict(correct: bool | None, rule: str, explanation: str) -> Verdict:
    score = None if correct is None else float(correct)
    return Verdict(correct, rule.split(".")[0], rule, explanation, score=score, kind="choice")
