"""Mentions of options in a text: their letters in any dress, and their texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase

from llm_as_judge.grading.options import option_key

_SAYING_WORDS = """
    a an the my our your this that these it its i we i'm i'd i'll it's that's is are was be been
    would will should must has have had to so thus therefore hence then and finally final
    correct right best true proper appropriate answer answers option options choice choices
    letter letters selection pick solution response one here among above following given only
    clearly of in choose chose chosen pick picked select selected go going with say take
    answered conclude conclusion think believe know seems seem appears appear equals which as
    question stands for means ok okay yes sure well result there most =
"""
SAYING = frozenset(_SAYING_WORDS.split())
"""Words that announce an option, or say of it that it is the answer."""
JOINING = frozenset(
    {"and", "or", "either", "both", "neither", "nor", "&", "/", ",", "vs", "versus"}
)
_HEDGING_WORDS = "maybe perhaps possibly probably likely might could may guess unsure either or"
HEDGING = frozenset(_HEDGING_WORDS.split())
_DENIES = (
    r"(?:\b(?:(?:anything|everything|anyone|everyone|all|any)\s+(?:but|except|other than|besides)|not|never"
    r"|neither|nor|except|excluding|unlike|rather than|instead of|as opposed to|other than)|n't)"
)
DENIED_BEFORE = re.compile(
    rf"{_DENIES}\s+(?:be\s+|is\s+|it\s+)?(?:the\s+)?(?:option\s+|choice\s+|answer\s+)?$"
)
DENIED_BEHIND = re.compile(
    r"\s*(?:(?:is|are|was|can|could|would|must|does)\s*(?:not|n't|never)(?:\s+(?:be\s+)?(?:the\s+|a\s+)?"
    r"(?:right|correct|true|answer|it|one|possible|work|fit)(?:\s+(?:answer|option|choice|one))?)?"
    r"|can't be|cannot be|(?:is|are|was|can be|would be)\s+(?:the\s+|an?\s+)?"
    r"(?:wrong|incorrect|false|ruled out|excluded|impossible|out|eliminated)"
    r"(?:\s+(?:answer|option|choice|one))?)\b"
)
_LETTER = re.compile(
    r"(?P<open>[(\[{<])\s*(?P<inner>[A-Za-z])\s*[)\]}>]"
    r"|(?<![\w'\\])(?P<called>(?:option|choice|letter|answer)\s*:?\s+)?"
    r"(?P<bare>[A-Za-z])(?P<mark>[)\]]|[.:](?=\s|$))?(?![\w'^_+*<>(]|=\S|(?-i:/[a-z])|-\w|[.,]\d)",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W_]+(?:['\u2019][a-z]+)?|[&/+=<>^%$~\u2248*\\-]")


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    index: int


@lru_cache(maxsize=256)
def _text_pattern(options: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, int]] | None:
    """All options' texts as they may stand in a sentence, and whose they are."""
    keys: dict[str, int] = {}
    for index, option in enumerate(options):
        if key := option_key(option):
            keys.setdefault(key, index)
    if not keys:
        return None
    spelled = [
        r"\s*".join(
            re.escape(part).replace(r"\ ", r"\s+") for part in re.split(r"([^\w\s])", key) if part
        )
        for key in sorted(keys, key=len, reverse=True)
    ]
    pattern = rf"(?<![\w.+\-^\\$=])(?<!\d/)(?:{'|'.join(spelled)})(?!\w|[.,^]\w|/\d|\s*[%^])"
    return re.compile(pattern, re.IGNORECASE), keys


def mentions_of(text: str, options: tuple[str, ...]) -> list[_Mention]:
    """Options that stand in ``text``, in order; a text of one counts before a letter within it."""
    found: list[_Mention] = []
    texts = _text_pattern(options)
    if texts is not None:
        pattern, keys = texts
        for match in pattern.finditer(text):
            index = keys.get(option_key(match.group()))
            if index is not None and not _is_label(match, text, options):
                found.append(_Mention(match.start(), match.end(), index))
    for match in _LETTER.finditer(text):
        index = _letter_index(match, text, options)
        inside = any(one.start < match.end() and match.start() < one.end for one in found)
        if index is not None and not inside:
            found.append(_Mention(match.start(), match.end(), index))
    return sorted(found, key=lambda one: one.start)


def _is_label(match: re.Match[str], text: str, options: tuple[str, ...]) -> bool:
    """Is this one letter, which is an option's text, too, the letter of an option here?"""
    shown = match.group()
    if option_of_letter(shown, options) is None:
        return False
    behind = text[match.end() :]
    return shown.isupper() or (behind[:1] in (")", "]", ".", ":") and len(behind) > 1)


def option_of_letter(letter: str, options: tuple[str, ...]) -> int | None:
    """The index of the option that an ASCII letter of either case stands for; None of any other text."""
    index = ascii_uppercase.find(letter.upper()) if len(letter) == 1 and letter.isascii() else -1
    return index if 0 <= index < len(options) else None


def _letter_index(match: re.Match[str], text: str, options: tuple[str, ...]) -> int | None:
    """The option of a letter; None if it is a word ("a lamp", "I choose") or no option's."""
    letter = match["inner"] or match["bare"]
    index = option_of_letter(letter, options)
    if index is None:
        return None
    if match["inner"] or match["called"] or match["mark"] in (")", "]"):
        return index
    behind = text[match.end() :].lstrip(" .:,;!?)*")
    alone = not text[: match.start()].strip(" (*#>-") and not behind
    own = option_key(options[index])
    before_own_text = bool(own) and option_key(behind[: len(options[index]) + 8]).startswith(own)
    if letter.islower():
        return index if alone or before_own_text or (match["mark"] and match.start() == 0) else None
    if letter not in "AI" or match["mark"]:
        return index
    following = re.match(r"[^\W\d_]+", text[match.end() :].lstrip())
    is_word = text[match.end() :].startswith(" ") and following is not None
    within = letter == "A" and _MID_SENTENCE.search(text[: match.start()])
    if not is_word or before_own_text or within:
        return index
    assert following is not None
    word = following.group().casefold()
    if letter == "I":
        return index if word in {"is", "because", "or", "and"} else None
    return (
        index if word in (SAYING | JOINING | REASONS) or _starts_option(behind, options) else None
    )


_MID_SENTENCE = re.compile(r"\b[a-z]+\s+\Z")
"""Behind a small word the article is small, too: a capital A is a letter ("so A remain")."""


def _starts_option(text: str, options: tuple[str, ...]) -> bool:
    texts = _text_pattern(options)
    return texts is not None and texts[0].match(text) is not None


_REASONS_WORDS = "because since as for due given while whereas rather instead not but"
REASONS = frozenset(_REASONS_WORDS.split())
