"""Numbers that a reply has beside the gold: the question's own, where the question has them, or others.

"An order of 7 euros costs 80 euros" holds no number but those of the question ("What does an order of
80 euros cost?") and of the gold ("7 euros"), and yet says something else. So a number of the question
must stand between the same words there and here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llm_as_judge.grading.wordlists import ASKING, JOINING, LIGHT, numbers, stem, tokens


class _Place(NamedTuple):
    """A number and the stems beside it, "" for a word that tells nothing or none."""

    number: str
    before_left: str
    left: str
    right: str


def has_other_numbers(question: str, gold: str, before: str, after: str) -> bool:
    """Does the text ``before`` or ``after`` a gold number hold a number that it may not?

    It may repeat the gold's, and the question's in their places, but not at the gold ("80 7 euros").
    """
    own = frozenset(map(stem, tokens(gold)))
    if not numbers(tokens(gold)):
        return False
    if numbers(tokens(before)[-1:] + tokens(after)[:1]):
        return True
    known = _places(tokens(question))
    said = _places([*tokens(before), "", *tokens(after)])
    return any(
        here.number not in own and not any(_same_place(here, there, own) for there in known)
        for here in said
    )


def _places(words: Sequence[str]) -> list[_Place]:
    told = ["", "", *map(_told, words), ""]
    return [
        _Place(told[at], told[at - 2], told[at - 1], told[at + 1])
        for at in range(2, len(told) - 1)
        if told[at][:1].isdigit()
    ]


def _told(word: str) -> str:
    return "" if word in (LIGHT - JOINING) | ASKING else stem(word)


def _same_place(here: _Place, there: _Place, own: frozenset[str]) -> bool:
    """The same word before the number, or the same behind it if nothing told stands before.

    Before it "of" or "in" says too little alone, and behind it the gold's own unit does.
    """
    if here.number != there.number:
        return False
    behind = here.right == there.right != ""
    if here.left and here.left == there.left:
        before = here.before_left == there.before_left != ""
        return here.left not in JOINING or before or behind
    alone = not here.left and there.left not in JOINING
    return alone and behind and here.right not in own | JOINING
