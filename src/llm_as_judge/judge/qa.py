"""Grader of short text answers, three-valued.

Equal after the official normalisation -> correct; nothing in common -> incorrect; abstention is
right exactly where the problem is unanswerable. In between, three rules accept what carries the
same information and nothing else; they look at words, so they cannot know that two different
names mean one thing: that stays unknown, for the LLM judge.
"""

from __future__ import annotations

import re
import unicodedata

from llm_as_judge.judge.extract import clean, declared_answer
from llm_as_judge.judge.squad import hotpot_f1, normalise_answer, squad_f1
from llm_as_judge.types import Problem, Verdict

__all__ = ["grade_qa", "is_abstention", "official_score"]


def official_score(problem: Problem, answer: str) -> float:
    """Greatest official F1 over all gold answers; of an unanswerable problem 1 for abstaining."""
    if not problem.answers:
        return float(is_abstention(answer) or not normalise_answer(answer))
    if problem.dataset == "hotpotqa":
        return max(hotpot_f1(answer, gold)[0] for gold in problem.answers)
    return max(squad_f1(answer, gold) for gold in problem.answers)


_SOURCE = r"(?:passages?|texts?|contexts?|articles?|paragraphs?|documents?|information|question|it)"
_CANNOT = r"(?:not|n't|n’t|cannot|can not|unable|insufficient|impossible|no)"
_ABSTAIN_WHOLE = re.compile(
    r"(?:unanswerable|not answerable|no ?answer|n/?a|unknown|not (?:enough|sufficient) information"
    r"|insufficient information|not (?:given|stated|mentioned|specified|provided|available)"
    r"|(?:i )?(?:do not|dont|don't) know|cannot (?:be )?(?:answered?|determined?)|can't say"
    r"|no information(?: (?:is )?(?:given|provided|available))?"
    r"|(?:the |this )?(?:question|answer) (?:is|cannot be) (?:unanswerable|not answerable|unknown"
    r"|answered|determined|not (?:given|stated|mentioned|specified|provided|available)))",
    re.IGNORECASE,
)
_ABSTAIN_SENTENCE = re.compile(
    rf"\b{_SOURCE}\s+(?:(?:above|given|provided)\s+)?(?:does|do|did|is|are|has|have)\s*{_CANNOT}\s+"
    r"(?:\w+\s+){0,2}?(?:say|state|mention|specify|provide|contain|give|indicate|include|discuss"
    r"|tell|answer|address|enough|sufficient|answerable|explain|identify|list|name|describe)"
    r"|\b(?:not|n't|n’t|cannot|unable|impossible|insufficient)\b(?:\s+\w+){0,4}\s+"
    r"(?:information|determined?|answered?|answer|mentioned|stated|specified|provided|given|found)\b"
    r"|\bno\s+(?:\w+\s+)?(?:answer|information|mention)\b|\bunanswerable\b",
    re.IGNORECASE,
)
_BUT = re.compile(r"\b(?:but|however|although|though|or|probably|likely|maybe|i think|so)\b", re.I)


def is_abstention(answer: str) -> bool:
    """Does ``answer`` say that there is no answer, and nothing else?"""
    text = clean(answer).strip(" .!*\"'\n")
    text = re.sub(r"^(?:the\s+)?(?:final\s+)?answer(?:\s+is|\s*:)\s*", "", text, flags=re.I)
    if _ABSTAIN_WHOLE.fullmatch(text.strip(" .\"'")):
        return True
    words = text.split()
    return (
        len(words) <= 40
        and bool(_ABSTAIN_SENTENCE.search(text))
        and not _BUT.search(text)
        and len(re.findall(r"[.!?](?:\s|$)", text)) <= 1
    )


_DECORATION = re.compile(r"^[\s\"'“”‘’*_`]+|[\s\"'“”‘’*_`.!]+$")


async def grade_qa(problem: Problem, answer: str) -> Verdict:
    """Verdict on a clean, guarded ``answer``; score is the official F1."""
    declared = declared_answer(answer, one_sentence=False)
    text = _DECORATION.sub("", declared.text)
    score = official_score(problem, text)
    if declared.fault == "several":
        return _verdict(False, "extract.several", f"several answers: {declared.shown}", 0.0)
    if not problem.answers or is_abstention(text):
        return _abstention(problem, text, score)
    if any(normalise_answer(text) == normalise_answer(gold) for gold in problem.answers):
        return _verdict(True, "qa.exact", "equal after the official normalisation", 1.0)
    notation = re.search(r"roman|numeral|spell|written|digit", problem.question, re.IGNORECASE)
    if not notation and any(
        _tokens(text) == _tokens(gold) and _tokens(gold) for gold in problem.answers
    ):
        return _verdict(True, "qa.same_words", "equal up to numerals, accents and dashes", score)
    closed = [gold for gold in problem.answers if normalise_answer(gold) in {"yes", "no"}]
    if closed:
        return _yes_or_no(normalise_answer(closed[0]), text, score)
    for gold in problem.answers:
        rule = _same_information(gold, text, problem)
        if rule:
            return _verdict(True, rule, f"carries the same information as {gold!r}", score)
    if score == 0 and not _shared(problem, text):
        return _verdict(False, "qa.nothing_shared", "no word in common with any gold answer", 0.0)
    return _verdict(None, "qa.partial", f"official F1 {score:.2f}", score)


def _verdict(correct: bool | None, rule: str, explanation: str, score: float) -> Verdict:
    return Verdict(correct, rule.split(".")[0], rule, explanation, score=score)


def _abstention(problem: Problem, text: str, score: float) -> Verdict:
    abstained = is_abstention(text)
    if problem.answers:
        golds = {normalise_answer(gold) for gold in problem.answers}
        if normalise_answer(text) in golds:
            return _verdict(True, "qa.exact", "equal after the official normalisation", 1.0)
        return _verdict(False, "qa.abstained", "abstained on an answerable question", 0.0)
    if abstained:
        return _verdict(True, "qa.unanswerable", "abstained on an unanswerable question", 1.0)
    return _verdict(False, "qa.unanswerable", "answered an unanswerable question", score)


_OPPOSITE = {"yes": "no", "no": "yes"}


def _yes_or_no(gold: str, text: str, score: float) -> Verdict:
    words = re.findall(r"[a-z']+", text.lower())
    first = words[0] if words else ""
    if first == _OPPOSITE[gold]:
        return _verdict(False, "qa.yes_no", f"{first} for {gold}", 0.0)
    turns = {_OPPOSITE[gold], "but", "however", "or", "maybe", "not", "although", "unless"}
    if first == gold and not turns & set(words[1:]) and not any(w.endswith("n't") for w in words):
        return _verdict(True, "qa.yes_no", f"begins with {gold}", score)
    if gold not in words and _OPPOSITE[gold] not in words and len(words) <= 5:
        return _verdict(False, "qa.yes_no", f"neither yes nor no, wanted {gold}", 0.0)
    return _verdict(None, "qa.yes_no", f"not plainly {gold}", score)


# --------------------------------------------------------------------------- the same information
_LIGHT = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "to",
        "with",
        "as",
        "is",
        "was",
        "are",
        "were",
        "be",
        "been",
        "being",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "he",
        "she",
        "they",
        "his",
        "her",
        "their",
        "there",
        "who",
        "which",
        "what",
        "when",
        "where",
        "did",
        "does",
        "do",
        "has",
        "had",
        "have",
        "will",
        "would",
        "s",
        "mr",
        "mrs",
        "ms",
        "dr",
        "sir",
    ]
)
_TURNING = frozenset(
    [
        "not",
        "no",
        "never",
        "neither",
        "nor",
        "except",
        "without",
        "but",
        "or",
        "either",
        "maybe",
        "perhaps",
        "possibly",
        "unknown",
        "wrong",
        "false",
        "instead",
        "excluding",
        "unlike",
        "almost",
        "nearly",
        "half",
        "quarter",
        "least",
        "most",
        "more",
        "less",
        "over",
        "under",
        "before",
        "after",
        "until",
        "since",
    ]
)
_COORDINATION = re.compile(r"\band\b|\bor\b|&|/|;|,|\n|\bvs\b|\bas well as\b", re.IGNORECASE)
_NUMERALS = dict(
    zip(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ],
        (str(number) for number in range(21)),
        strict=True,
    )
)
_ORDINALS = dict(
    zip(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
        ],
        (str(number) for number in range(1, 11)),
        strict=True,
    )
)
_ROMAN = dict(
    zip(
        ["II", "III", "IV", "VI", "VII", "VIII", "IX", "XI", "XII"],
        ["2", "3", "4", "6", "7", "8", "9", "11", "12"],
        strict=True,
    )
)
_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)


def _tokens(text: str) -> list[str]:
    """Words in lower case without accents; numerals and ordinals as digits."""
    text = re.sub(r"\b[IVX]{2,4}\b", lambda m: _ROMAN.get(m.group(), m.group()), text)
    text = unicodedata.normalize("NFKD", text)
    text = "".join(char for char in text if not unicodedata.combining(char)).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("'s", "").replace("’s", "")
    found = re.findall(r"\d+(?:\.\d+)?(?=(?:st|nd|rd|th)\b)|\d+(?:\.\d+)?|[^\W\d_]+|[$€£%]", text)
    kept = [_NUMERALS.get(word, _ORDINALS.get(word, word)) for word in found]
    return [word for word in kept if word not in {"a", "an", "the", "st", "nd", "rd", "th"}]


def _informative(text: str) -> list[str]:
    return [word for word in _tokens(text) if word not in _LIGHT]


def _numbers(words: list[str]) -> list[str]:
    return [word for word in words if word[0].isdigit()]


def _shared(problem: Problem, text: str) -> set[str]:
    """Words, or beginnings of long words, that ``text`` has in common with a gold answer."""
    gold_words = {word[:5] for gold in problem.answers for word in _informative(gold)}
    return gold_words & {word[:5] for word in _informative(text)}


def _same_information(gold: str, text: str, problem: Problem) -> str | None:
    """The rule by which ``text`` says ``gold`` and nothing else, or None."""
    gold_words, words = _informative(gold), _informative(text)
    if not gold_words or not words:
        return None
    if (_TURNING & set(_tokens(text))) - set(_tokens(gold)):
        return None
    if _adds(_COORDINATION, gold, text):
        return None
    asked = set(_informative(problem.question))
    new_gold = [word for word in gold_words if word not in asked]
    new = [word for word in words if word not in asked]
    dated = bool(_MONTHS & set(new_gold))
    same = sorted(new) == sorted(new_gold) if dated else _unique(new) == _unique(new_gold)
    if (new_gold and same and _numbers(words) == _numbers(gold_words)) or (
        new_gold and same and dated and sorted(_numbers(words)) == sorted(_numbers(gold_words))
    ):
        return "qa.same_information"
    if problem.context and _span_of_context(gold, text, problem.context):
        return "qa.context_span"
    return None


def _unique(words: list[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _adds(pattern: re.Pattern[str], gold: str, text: str) -> bool:
    """Does ``text`` join more things than ``gold`` does? (A comma in a date joins nothing.)"""
    undated = re.sub(r"(?<=\d),\s*(?=\d{4}\b)", " ", text)
    return len(pattern.findall(undated)) > len(pattern.findall(gold))


def _span_of_context(gold: str, text: str, context: str) -> bool:
    """A span of the passage around the gold, or the gold without lower-case words at its ends."""
    wanted, words = normalise_answer(gold).split(), normalise_answer(text).split()
    if squad_f1(text, gold) < 0.5:
        return False
    if _inside(wanted, words):
        return _inside(words, normalise_answer(context).split())
    if not _inside(words, wanted):
        return False
    dropped = [raw for raw in gold.split() if normalise_answer(raw) not in words]
    return all(raw.islower() and not any(c.isdigit() for c in raw) for raw in dropped)


def _inside(part: list[str], whole: list[str]) -> bool:
    size = len(part)
    return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))
