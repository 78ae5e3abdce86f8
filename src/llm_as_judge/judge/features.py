"""Lexical features of a reply beside its reference: how much of the reference it holds, and what else it says.

They see words and no meaning. Each is a number of moderate size; most are shares, counts are logarithms.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from llm_as_judge.grading.squad import normalize_answer, squad_f1
from llm_as_judge.grading.text import normal_tokens
from llm_as_judge.judge.parts import without_listings
from llm_as_judge.types import Problem

_FUNCTION_WORDS = """
    a an the of in on at by for from to with as is was are were be been being it its this that these
    those he she they his her their there who which what when where did does do has had have will would
    s and i you we
"""
_FUNCTION = frozenset(_FUNCTION_WORDS.split())
"""Words that tell nothing by themselves."""
_DENYING_WORDS = """
    not no never neither nor none nobody nothing nowhere without cannot isn't wasn't aren't weren't
    didn't doesn't don't hasn't haven't won't can't couldn't wouldn't isnt wasnt didnt doesnt dont wrong
    false incorrect mistaken myth untrue denied denies contrary unlike except
"""
_DENYING = frozenset(_DENYING_WORDS.split())
_HEDGING_WORDS = """
    or either maybe perhaps possibly probably might may could likely unlikely seems appears believe
    think guess unsure unclear about around approximately roughly some
"""
_HEDGING = frozenset(_HEDGING_WORDS.split())
_TURNING_WORDS = """
    but however although though instead rather yet while whereas until before after than former formerly
    previously once later replaced besides only unless if despite
"""
_TURNING = frozenset(_TURNING_WORDS.split())
_ASKED = ("who", "when", "where", "how", "which", "why")
_STEM = 5
_MOST_WORDS = 400
"""Of a reply that are read: its beginning and its end."""


def features(problem: Problem, reply: str) -> list[float]:
    """In the order of :data:`NAMES`; of a problem without an accepted answer all is 0."""
    apart = without_listings(problem.answers) or problem.answers
    once = {normalize_answer(gold): gold for gold in apart}.values()
    golds = [gold for gold in once if normal_tokens(gold)]
    if not golds:
        return [0.0] * len(NAMES)
    return list(map(float, _features(problem.question, golds, reply).values()))


@dataclass(frozen=True, slots=True)
class _Reference:
    words: list[str]
    recall: float
    at: int | None
    """Where it stands in the reply as one piece."""


def _features(question: str, golds: Sequence[str], reply: str) -> dict[str, float]:
    """What speaks of "the reference" is of the accepted answer that the reply holds most of."""
    said = normal_tokens(reply)
    if len(said) > _MOST_WORDS:
        said = said[: _MOST_WORDS // 2] + said[-_MOST_WORDS // 2 :]
    asked = normal_tokens(question)
    stems = set(map(_stem, said))
    read = [_read(normal_tokens(gold), said, stems) for gold in golds]
    best = max(
        range(len(read)), key=lambda n: (read[n].at is not None, read[n].recall, len(read[n].words))
    )
    one, gold = read[best], golds[best]
    wanted = one.words
    tri_gold, tri_said = _trigrams(wanted), _trigrams(said)
    shared = sum((tri_gold & tri_said).values())
    known = set(map(_stem, asked)) | set(map(_stem, wanted))
    telling = [word for word in said if word not in _FUNCTION]
    asked_stems = {_stem(word) for word in asked if word not in _FUNCTION and word not in _ASKED}
    new = [_is_new(word, known) for word in said]
    names, gold_names = _names(reply), _names(gold)
    numbers, gold_numbers = _numbers(said), _numbers(wanted)
    low, high = _place(one, said, stems)
    allowed = {*asked, *wanted}
    signs = {
        kind: [word in words and word not in allowed for word in said]
        for kind, words in (("deny", _DENYING), ("hedge", _HEDGING), ("turn", _TURNING))
    }
    raw_before, raw_after = _around(reply, gold)
    sentences = [
        part for part in re.split(r"(?<=[\w)\]\"'”’])[.!?](?=\s|$)|\n", reply) if part.strip()
    ]
    first = normal_tokens(sentences[0]) if sentences else []
    gold_set = {word for gold in golds for word in normal_tokens(gold)}
    count = max(1, len(said))
    word = next((w for w in asked if w in _ASKED), "")
    return {
        "holds": one.at is not None,  # in one piece
        "equal": said == wanted,
        "within": _piece(wanted, said) is not None,  # the whole reply stands in a reference
        "word_recall": one.recall,  # share of the reference's words in the reply, forms of one word alike
        "trigram_recall": shared / max(1, tri_gold.total()),
        "trigram_precision": shared / max(1, tri_said.total()),
        # of the reference and the piece of the reply that is most like it
        "similarity": _similarity(wanted, said, (low, high)),
        "f1": max(squad_f1(reply, gold) for gold in golds),
        "mean_recall": sum(r.recall for r in read) / len(read),  # of all references
        "references": math.log(len(golds)),
        "references_held": math.log1p(sum(r.at is not None for r in read)),
        "last_word": _stem(wanted[-1]) in stems,
        "first_word": _stem(wanted[0]) in stems,
        "reference_words": math.log(len(wanted)),
        "reply_words": math.log1p(len(said)),
        "question_words": math.log1p(len(asked)),
        "sentences": math.log1p(len(sentences)),
        "reply_of_question": _share(
            telling, lambda w: _stem(w) in asked_stems
        ),  # of the reply's telling words
        "reply_of_both": _share(telling, lambda w: _stem(w) in known),
        "question_said": len(asked_stems & stems)
        / max(1, len(asked_stems)),  # of the question's telling words
        "reference_of_question": _share(wanted, lambda w: _stem(w) in asked_stems),
        "new_words": math.log1p(sum(new)),  # telling words that neither question nor reference has
        "new_names": math.log1p(sum(_stem(n) not in known and n not in gold_set for n in names)),
        "new_numbers": math.log1p(len(numbers - _numbers(asked) - _numbers(list(gold_set)))),
        "numbers_missed": len(gold_numbers - numbers)
        / max(1, len(gold_numbers)),  # of the reference's numbers
        # both have numbers, and none is the same
        "number_for_number": bool(gold_numbers and numbers) and not gold_numbers & numbers,
        "names_missed": _share(sorted(gold_names), lambda n: _stem(n) not in stems),
        "new_before": math.log1p(sum(new[:low])),  # telling words before the place of the reference
        "new_after": math.log1p(sum(new[high:])),
        "new_between": sum(
            new[max(0, low - 3) : high + 3]
        ),  # beside the reference, within three words
        "place": low / count,  # 0 at the start of the reply, 1 at its end
        "first_sentence": _piece(first, wanted) is not None,
        # words that the question and the reference have not; so for the next two
        "denying": math.log1p(sum(signs["deny"])),
        "hedging": math.log1p(sum(signs["hedge"])),
        "turning": math.log1p(sum(signs["turn"])),
        "denying_near": any(
            signs["deny"][max(0, low - 5) : high + 4]
        ),  # near the reference, and before it
        "turning_near": any(signs["turn"][max(0, low - 5) : high + 5])
        or any(signs["hedge"][max(0, low - 5) : high + 3]),
        # the reference is an attribute: "X's ...", "... of X"
        "genitive": bool(
            re.match(r"['’]s?\s", raw_after) or re.search(r"\bof\s+(?:the\s+)?$", raw_before)
        ),
        "listed": len(re.findall(r"[,;/|]|\bor\b", reply)) / count,  # signs of a list for each word
        "asks_who": word == "who" or "whose" in asked or "whom" in asked,
        "asks_when": word == "when" or "year" in asked or "date" in asked,
        "asks_where": word == "where",
        "asks_how": word == "how",
        "asks_which": word == "which",
        "asks_why": word == "why",
        "yes_no": wanted in (["yes"], ["no"]),
    }


def _stem(word: str) -> str:
    return word if word[:1].isdigit() else word[:_STEM]


def _read(words: list[str], said: list[str], stems: set[str]) -> _Reference:
    recall = sum(_stem(word) in stems for word in words) / len(words)
    return _Reference(words, recall, _piece(said, words) if recall == 1 else None)


def _piece(said: list[str], words: list[str]) -> int | None:
    """Where ``words`` stand in ``said`` in one piece."""
    size = len(words)
    if not size:
        return None
    return next((at for at in range(len(said) - size + 1) if said[at : at + size] == words), None)


def _place(one: _Reference, said: list[str], stems: set[str]) -> tuple[int, int]:
    """The words of the reply that the reference is compared with: the piece that it is, else those between its
    first and its last word; the whole reply where it has none."""
    if one.at is not None:
        return one.at, one.at + len(one.words)
    wanted = {_stem(word) for word in one.words if word not in _FUNCTION}
    at = [n for n, word in enumerate(said) if _stem(word) in wanted]
    if not at:
        return 0, len(said)
    return at[0], min(at[-1] + 1, at[0] + 2 * len(one.words) + 2)


def _similarity(wanted: list[str], said: list[str], place: tuple[int, int]) -> float:
    piece = said[place[0] : place[1]][: 4 * len(wanted) + 4]
    return SequenceMatcher(None, " ".join(wanted), " ".join(piece), autojunk=False).ratio()


def _trigrams(words: list[str]) -> Counter[str]:
    text = f" {' '.join(words)} "
    return Counter(text[at : at + 3] for at in range(len(text) - 2))


def _is_new(word: str, known: set[str]) -> bool:
    return word not in _FUNCTION and _stem(word) not in known


def _names(text: str) -> set[str]:
    """Words that begin with a capital, but the first of the text."""
    found = re.findall(r"(?<![^\W_])[A-Z][^\W_]+", text[1:] if text[:1].isalpha() else text)
    return {word for name in found for word in normal_tokens(name)} - _FUNCTION


def _numbers(words: Sequence[str]) -> set[str]:
    return {
        word for word in words if word[:1].isdigit() or (word[:1] in "+-" and word[1:2].isdigit())
    }


def _share(words: Sequence[str], has: Callable[[str], bool]) -> float:
    return sum(bool(has(word)) for word in words) / len(words) if words else 0.0


def _around(reply: str, gold: str) -> tuple[str, str]:
    """The text before and behind ``gold`` as it is written; empty where it does not stand there."""
    at = reply.casefold().find(gold.casefold().strip(" ."))
    return ("", "") if at < 0 else (reply[:at], reply[at + len(gold.strip(" .")) :])


NAMES = tuple(_features("", ["reference"], ""))
