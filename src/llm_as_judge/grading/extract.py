"""Declared answer of a reply (stages 0 and 1), and the guard against replies without one.

A grader must never search a transcript for the gold answer: whoever lists many answers would
always be right. So the candidate declares its answer (a box, ``####``, an answer tag, "the answer
is") or is the answer; two declarations that differ are no answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from llm_as_judge.grading.objects import answer_in_object, answered_twice
from llm_as_judge.grading.units import read_unit

Fault = Literal["several", "questioned", "retracted"]

_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SPELLED = re.compile(r"(?<=[A-Za-z0-9])[\u200b\u2060\ufeff\u00ad](?=[A-Za-z0-9 ])")
_CONTROL_TOKEN = re.compile(r"<\|[^|<>]{0,40}\|>|</?s>|\[/?INST\]|<</?SYS>>")

_EMPTY_PHRASES = frozenset(
    """answer, the answer, final answer, the final answer, the answer is, the final answer is,
    my answer is, answer is, result, the result is, output, solution, the solution, the solution is,
    thought, thoughts, thought process, thinking, reasoning, analysis, explanation, step 1, step,
    step by step, lets think step by step, let us think step by step, lets think,
    lets solve this problem step by step, lets solve the problem step by step,
    let me solve this step by step, lets analyze, ok, okay, sure, yes of course, of course,
    certainly, done, correct, right, true answer, see above, as above, as stated above, same,
    the correct answer, the correct answer is, to solve this problem, to solve this, first, so,
    therefore, hence, thus, conclusion, in conclusion, here is the answer, here is the solution,
    respuesta, solución, la respuesta es, réponse, la réponse est, antwort, die antwort ist, lösung,
    解, 答, 答案, 解答, 回答, かいせつ, 解説, 답, 정답, ответ, решение, الجواب, उत्तर""".replace(
        "\n", " "
    ).split(",")
)
_EMPTY_PHRASES = frozenset(" ".join(phrase.split()) for phrase in _EMPTY_PHRASES)

_OPENER = re.compile(
    r"(?:sure |okay |ok )?(?:here is (?:the|my) (?:answer|solution)"
    r"|to (?:solve|answer) (?:this|the) (?:problem|question)"
    r"|let(?:s| us| me) (?:solve|think|analy[sz]e|work|break|look|start|begin|consider))\b\D{0,80}"
)

_ARTIFACTS = frozenset({"none", "null", "nan", "undefined", "nil", "no code generated", "error"})
_ARTIFACT_START = re.compile(
    r"^\s*(Traceback \(most recent call last\)|(?:[A-Z]\w*)?(?:Error|Exception)\s*:|"
    r"<(?:function|coroutine|object|bound method|class|generator|module)\b|<[\w.]+ object at 0x)"
)

_INJECTION = re.compile(
    r"ignore\s+(?:all\s+|any\s+|the\s+|your\s+)*(?:previous|prior|above|earlier)"
    r"|disregard\s+(?:all\s+|any\s+|the\s+|your\s+)*(?:previous|prior|above|earlier|rubric|reference)"
    r"|(?:reference|gold|golden|expected|target|official|ground[\s-]*truth)\s+(?:answer|solution|label)"
    r"|ground[\s-]truth|answer\s+key"
    r"|\bverdict\b|\"?correct\"?\s*:\s*true|is_correct|\bgrader\b|\brubric\b"
    r"|\b(?:mark|grade|score|rate|judge|accept)\s+(?:this|it|my|the)\s(?:[^.\n]{0,40}\s)?"
    r"(?:as\s+)?(?:correct|right|true|full\s+marks|accepted|equivalent|valid)\b"
    r"|\bdear\s+(?:judge|evaluator)|\bsystem\s*(?:prompt|message|override)"
    r"|\b(?:candidate|answer|submission)\s+(?:above\s+|below\s+)?is\s+(?:correct|right|accepted)\b"
    r"|(?:always|definitely|guaranteed)\s+correct",
    re.IGNORECASE,
)

_NEGATED = re.compile(
    r"\b(?:not|never|neither|nor|isn't|isnt|wasn't|aren't|weren't|cannot|can't|don't|doesn't|didn't|"
    r"won't|wrong|incorrect|except|excluding|anything but|other than|unlike|rather than|instead of|"
    r"far from|opposite of)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:either|maybe|perhaps|possibly|probably|might|may be|could be|can be|likely|unsure|"
    r"not sure|i guess|i think|i believe|alternatively|or else|any of|one of|depending|depends|"
    r"between|somewhere|whichever|unless|otherwise|at least|at most|more than|less than|"
    r"approximately|roughly|around|about|or so|or (?:more|fewer|less|higher|lower)|etc)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Declared:
    """``text``: the declared answer. ``marked``: a box, tag or phrase declared it. ``fault``: why
    it is no single answer."""

    text: str
    marked: bool
    fault: Fault | None = None
    shown: str = ""


def clean(text: str) -> str:
    """``text`` without chat control tokens and long blanks; invisible characters become spaces, so that
    they neither hide nor join anything."""
    text = _INVISIBLE.sub(" ", text.replace("\u00a0", " ").replace("\u202f", " "))
    return _LONG_BLANK.sub(r"\1\1", _CONTROL_TOKEN.sub(" ", text)).strip()


_LONG_BLANK = re.compile(r"(\s)\s{50,}")
"""What no answer needs and what costs each reader the square of its length."""


def plain(text: str) -> str:
    """Lower case, no punctuation or marks at the ends, single spaces: to compare phrases."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    return " ".join(re.sub(r"[\W_]+", " ", text).split())


def guard(candidate: str, golds: tuple[str, ...], question: str) -> str | None:
    """Stage 0: the rule that ``candidate`` breaks, or None.

    A phrase that *is* a gold answer is no empty phrase, and words of the question are no attack.
    """
    if sum(map(_speaks, _CONTROL_TOKEN.split(candidate))) > 1:
        return "guard.control_tokens"  # a second turn, written by the first
    if len(_SPELLED.findall(candidate)) >= 3:
        return "guard.hidden_characters"  # words that are spelled unseen
    candidate = clean(candidate)
    if not _speaks(candidate):
        return None if candidate and candidate in golds else "guard.empty"  # the band `!!!`
    bare = plain(candidate)
    if bare in {plain(gold) for gold in golds}:
        return None
    of_two = any(plain(gold) in YES_NO for gold in golds)
    if says_nothing(bare, golds) and not (of_two and {bare, bare.split()[0]} & YES_NO.keys()):
        return "guard.master_key"
    asked = plain(question)
    if asked.count(" ") >= 4 and bare in {asked, f"the question is {asked}"}:
        return "guard.echo"
    if bare in _ARTIFACTS or _ARTIFACT_START.match(candidate):
        return "guard.artifact"
    known = question + "\n" + "\n".join(golds)
    if _INJECTION.search(candidate) and not _INJECTION.search(known):
        return "guard.injection"
    return None


def _speaks(text: str) -> bool:
    return any(char.isalnum() or char in "∅∞" for char in text)


_SURELY = ("certainly", "definitely", "absolutely", "of course")
YES_NO: Mapping[str, str] = {
    **dict.fromkeys(("yes", "y", "yep", "yeah", "true", "sure", "yes of course", *_SURELY), "yes"),
    **dict.fromkeys(("no", "n", "nope", "false", "not at all", "of course not"), "no"),
    **{f"{word} not": "no" for word in _SURELY},
}
"""Whole replies to a question for yes or no, as :func:`plain` writes them."""


def says_nothing(bare: str, golds: tuple[str, ...] = ()) -> bool:
    """Is what :func:`plain` makes of a text an empty phrase: "of course"?"""
    return bare in _EMPTY_PHRASES or _opens_only(bare, golds)


def _opens_only(bare: str, golds: tuple[str, ...]) -> bool:
    """A sentence that only announces an answer, and has no word of one."""
    if not _OPENER.fullmatch(bare):
        return False
    wanted = {word for gold in golds for word in plain(gold).split() if len(word) > 3}
    return not wanted & set(bare.split())


_DENIED_NUMBER = re.compile(
    r"(?<=[\w)$%])(?:,\s*(?:and\s+)?not|\s+and\s+not|,?\s+(?:rather than|instead of))\s+"
    r"(?P<number>[$€£]?\d(?:[\d.,:]*\d)?)(?:\s?%|\s+[a-z]+)?[.!]*$",
    re.IGNORECASE,
)


def without_denied_number(text: str, golds: Sequence[str]) -> str:
    """``12, not 13`` -> ``12``; what is denied may be no number of a gold."""
    found = _DENIED_NUMBER.search(text)
    if found is None or not re.search(r"\d", text[: found.start()]):
        return text
    denied = found["number"].strip("$€£")
    return text if any(denied in gold for gold in golds) else text[: found.start()]


def is_negated(text: str, golds: tuple[str, ...] = ()) -> bool:
    denied = _NEGATED.search(text) and plain(text) not in YES_NO
    return bool(denied) and not any(_NEGATED.search(gold) for gold in golds)


def is_hedged(text: str, golds: tuple[str, ...] = ()) -> bool:
    return bool(_HEDGED.search(text)) and not any(_HEDGED.search(gold) for gold in golds)


def _boxes(text: str) -> list[str]:
    """Contents of every ``\\boxed{...}``, ``\\fbox{...}`` and ``\\boxed x``, in order; a box within another
    is part of its content."""
    found = []
    place = 0
    closing = _closing_braces(text)
    while match := _BOX.search(text, place):
        place = match.end()
        if text[place : place + 1] != "{":
            bare = _UNBRACED.match(text, place)
            if bare:
                found.append(bare.group())
        elif place in closing:
            content = _unboxed(text[place + 1 : closing[place]])
            place = closing[place]
            found.append(content + _unit_behind(content, text[place + 1 :]))
    return found


_NUMBER_ALONE = re.compile(r"[\s$]*-?[\d.,\s]*\d[\s$]*\Z")
_WORD_BEHIND = re.compile(r"[\s$]*(?:\\(?:text|mathrm)\s*\{\s*)?([^\W\d_]{3,})")


def _unit_behind(number: str, rest: str) -> str:
    """ " seconds" of ``\\boxed{150} seconds``: the unit of a number may stand outside of its box."""
    word = _WORD_BEHIND.match(rest) if _NUMBER_ALONE.match(number) else None
    return f" {word[1]}" if word is not None and read_unit(word[1]) else ""


_BOX = re.compile(r"\\(?:boxed|fbox)\s*")
_UNBRACED = re.compile(r"[^\s${}\\]+")


def _closing_braces(text: str) -> dict[int, int]:
    """Place of each opening brace that is closed -> place of the brace that closes it."""
    opened: list[int] = []
    closing = {}
    for brace in re.finditer(r"[{}]", text):
        if brace.group() == "{":
            opened.append(brace.start())
        elif opened:
            closing[opened.pop()] = brace.start()
    return closing


def _unboxed(content: str) -> str:
    """``content`` without boxes in it: ``x = \\boxed{5}`` -> ``x = 5``."""
    closing = _closing_braces(content)
    cuts: list[tuple[int, int]] = []
    for match in _BOX.finditer(content):
        end = closing.get(match.end())
        cuts.append((match.start(), match.end() + (end is not None)))
        if end is not None:
            cuts.append((end, end + 1))
    kept, place = [], 0
    for start, end in sorted(cuts):
        kept.append(content[place:start])
        place = end
    return "".join([*kept, content[place:]]).strip()


# ------------------------------------------------------------------------------------- decoration
_ORNAMENT = (
    "[\u200d\u2022\u2611\u2705\u2713\u2714\u2728\u2b50\ufe0f\U0001f300-\U0001f44d\U0001f44f-\U0001f644"
    "\U0001f646-\U0001f6aa\U0001f6ac-\U0001f913\U0001f915-\U0001f936\U0001f938-\U0001faff]"
)
"""Check marks, stars, bullets and emoji, but for those that doubt or deny."""
_ORNAMENTS = re.compile(rf"^(?:{_ORNAMENT}|\s|#{{1,6}}\s)+|(?:{_ORNAMENT}|\s)+$")
_PAIRS = (
    *(("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u2018", "\u2019"), ("\u00ab", "\u00bb")),
    *((mark, mark) for mark in ("**", "__", '"', "'", "`", "*", "_")),
)
_BOLD = ("**", "__")


def undecorated(text: str) -> str:
    """``text`` without quotes, stars, emoji and check marks around the whole of it; what is nothing else
    stays. Signs of a number ("~", ">=", "-") are no decoration."""
    while True:
        bare = _without_pair(_ORNAMENTS.sub("", text))
        if bare == text or not bare:
            return bare or text
        text = bare


def _without_pair(text: str) -> str:
    for opening, closing in _PAIRS:
        inner = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.rstrip(".").endswith(closing) and text[-1:] == ".":
            inner = text[len(opening) : -len(closing) - 1]
        elif not (text.startswith(opening) and text.endswith(closing)):
            continue
        whole = inner.strip() and opening not in inner and closing not in inner
        name = "_" in opening and inner.isidentifier() and not inner.isdecimal()
        if whole and not name and (opening not in "*_" or inner == inner.strip()):
            return inner.strip()
    for mark in _BOLD:  # one half of a pair whose other half is before or behind the answer
        if text.count(mark) == 1 and (text.startswith(mark) or text.endswith(mark)):
            return text.strip(mark[0]).strip()
    return text


# ------------------------------------------------------------------------------------ declarations
_HASHES = re.compile(r"^\s*####\s*(.+?)\s*$", re.MULTILINE)
_TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_PHRASE = re.compile(
    r"(?:^|(?<=[\s*_>(]))(?:final\s+|correct\s+)?answer\s*\**\s*(?:is|are|=|:)\s*\**\s*:?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_RETRACTED = re.compile(
    r"\b(?:wait|actually|correction|second thought|i mean|rather|instead|no,|scratch that|sorry|"
    r"mistake|mistaken|or maybe|alternatively)\b|\bno[,:;]",
    re.IGNORECASE,
)
_QUESTIONED = re.compile(r"[^.!?]*\?\s*(?:no|not|wait|actually|rather|or)\b", re.IGNORECASE)
"""The answer is this? No: that."""
_LETTER_A = re.compile(r"^\s*A\s*:\s*(\S.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[\w)}\]%$\"'*\u201d\u2019])[.!?](?=[*_\"'\u201d\u2019]*(?:\s|$))")


def _same(texts: list[str]) -> list[str]:
    """Distinct texts, in order; decoration, spacing, dollar signs and a last period do not count."""
    kept: dict[str, str] = {}
    for text in map(undecorated, texts):
        spelling = text.replace(r"\dfrac", r"\frac").replace(r"\tfrac", r"\frac")
        spelling = _SET_IN_TYPE.sub(r"\1", spelling)
        kept.setdefault(re.sub(r"\\[,!;: $]|[\s$*{}]+|\.$", "", spelling.strip()), text.strip())
    return list(kept.values())


_SET_IN_TYPE = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf)\s*\{([^{}]*)\}")


_HEADING = re.compile(
    r"^[ \t]*(?:[#*_]+[ \t]*)(?:(?:the|my)\s+)?(?:final\s+|correct\s+)?answer[ \t]*[#*_:]*[ \t]*\n+(?=.*\S)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of its own, set as a heading, that says "Final answer"."""


_PART_OF = re.compile(
    r"\b(?:of|than|from|to|by|with|without|before|after|under|over|above|below|minus|plus|times|twice|thrice"
    r"|half|double|triple|not|no|wrong|first|other|unlike|except)\s+(?:(?:the|my|our|this|that|its)\s+)?\Z",
    re.IGNORECASE,
)
"""Before "the answer is": something of it is said, as in "twice the answer is"."""


def _phrases(text: str) -> list[str]:
    """What stands behind each "the answer is", up to the next one or the end of its line."""
    phrases = [mark for mark in _PHRASE.finditer(text) if not _PART_OF.search(text[: mark.start()])]
    marks = sorted([*phrases, *_HEADING.finditer(text)], key=lambda mark: mark.start())
    if not marks:
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    found = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    found = [part.split("\n", 1)[0].strip() for part in found]
    led = [re.sub(r"\s(?:the|my|a)$|^(?:[Tt]he|[Mm]y)$", "", part) for part in found[:-1]]
    found = [*led, found[-1]]
    return [part for part in found if part.strip("*_ ")]


_ANNOUNCED = re.compile(
    r"^(?:(?:so|thus|hence|therefore)\b,?\s*)?(?:the\s+|my\s+)?(?:final\s+|correct\s+)?answer\s*(?:is|are|=|:)\s*:?\s*",
    re.IGNORECASE,
)


def _announced(text: str) -> str:
    """What a box or a tag holds behind its own "The answer is", which LaTeX may have as a text."""
    worded = re.match(r"\s*\\text(?:bf|it|rm)?\s*\{([^{}]*)\}(.*)$", text, re.DOTALL)
    shown = (
        worded[1].strip() + worded[2] if worded and _ANNOUNCED.match(worded[1].strip()) else text
    )
    rest = _ANNOUNCED.sub("", shown.strip(), count=1).strip()
    return rest or text


_REMARK = re.compile(r"^(?P<answer>[^()=]*[^()=\s])\s+\((?P<remark>[^()]*)\)\.?$", re.DOTALL)
_REMARKS = re.compile(
    r"\d[^=]*=|=[^=]*\d|^(?:because|since|as|i\.?e\.?|from|using|by|see|check|note|after)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:or|not|no|maybe|perhaps|wait|actually|rather)\b|\bmod\b", re.IGNORECASE
)


def _without_remark(text: str) -> str:
    """``18 (16 - 3 = 13)`` -> ``18``: a calculation or a reason in brackets behind an answer."""
    found = _REMARK.match(text.strip())
    if found and _REMARKS.search(found["remark"]) and not _CHANGES.search(found["remark"]):
        return found["answer"]
    return text


def _strong(text: str) -> list[str]:
    """What boxes, ``####`` lines and answer tags declare."""
    return [_announced(one) for one in _boxes(text) + _HASHES.findall(text) + _TAGS.findall(text)]


def _is_taken_back(text: str) -> bool:
    """Does what stands behind the last box, ``####`` line or answer tag turn to another answer?"""
    marks = [mark for kind in (_BOX, _HASHES, _TAGS) for mark in kind.finditer(text)]
    return _RETRACTED.search(text, max(mark.end() for mark in marks)) is not None


def declarations(text: str) -> list[str]:
    """All that ``text`` declares, the phrases last and each to the end of its line; empty if it declares nothing."""
    named = answer_in_object(text)
    if named is not None:
        return [named]
    if twice := answered_twice(text):
        return list(twice)
    return _strong(text) + (_phrases(text) or _LETTER_A.findall(text))


def declared_answer(text: str, *, one_sentence: bool) -> Declared:
    """Stage 1: the one answer that ``text`` declares; the whole text if it declares none.

    An object of JSON declares the answer under its answer key; one that has this key twice declares several. Boxes, ``####`` lines and answer tags win over phrases ("the answer is ..."). Several
    different declarations are the fault ``several``, with all of them in ``shown``.

    Args:
        one_sentence: cut a phrase's answer at the end of its sentence (numbers, mathematics);
            names contain periods, so text answers run to the end of their line.
    """
    named = answer_in_object(text)
    if named is not None:
        return Declared(named, True)
    if twice := answered_twice(text):
        return Declared(text, True, "several", " | ".join(twice))
    strong = _strong(text)
    if strong:
        found = _same([_without_remark(one) for one in strong] if one_sentence else strong)
        if len(found) > 1:
            return Declared(", ".join(found), True, "several", " | ".join(found))
        fault: Fault | None = "retracted" if one_sentence and _is_taken_back(text) else None
        return Declared(found[0], True, fault, found[0])
    phrases = _phrases(text) or _LETTER_A.findall(text)
    if not phrases:
        return Declared("\n".join(map(undecorated, text.split("\n"))), False)
    if any(_QUESTIONED.match(phrase) for phrase in phrases):
        return Declared(phrases[-1], True, "questioned", phrases[-1])
    if one_sentence:
        cut = [_SENTENCE_END.split(phrase, maxsplit=1) for phrase in phrases]
        if any(_RETRACTED.search(rest) for _, *rests in cut for rest in rests):
            return Declared(phrases[-1], True, "several", phrases[-1])
        phrases = [_without_remark(sentence) for sentence, *_ in cut]
    found = _same([phrase.strip("*_ ") for phrase in phrases])
    if len(found) > 1:
        return Declared(", ".join(found), True, "several", " | ".join(found))
    return Declared(found[0], True)
