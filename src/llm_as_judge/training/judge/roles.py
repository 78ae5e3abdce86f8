"""Replies in which who did it and to whom are turned round: the gold's words are there, and the answer is wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from llm_as_judge.training.judge.questions import Question

_DID = {
    "wrote": "written", "taught": "taught", "beat": "beaten", "led": "led", "built": "built", "made": "made", "won": "won",
    "sang": "sung", "drew": "drawn", "shot": "shot", "bought": "bought", "sold": "sold", "found": "found", "held": "held",
}  # fmt: skip
_WHO_DID = re.compile(
    rf"who (?P<verb>\w+ed|{'|'.join(_DID)}) (?P<whom>[^,?]{{3,60}})\??", re.IGNORECASE
)
_BY = re.compile(r"\b(?:was|were) (?P<verb>\w+ed|taught|led|beaten|written|built|shot) by\b")
_ACTIVE = re.compile(
    rf"(?P<who>\b[A-Z]\w+) (?P<verb>\w+ed|{'|'.join(_DID)}) (?P<whom>(?:the |The )?[A-Z]\w+)"
)
_NAME = re.compile(r"[A-Z][\w'-]+(?: (?:of |the )?[A-Z][\w'-]+)*")
_BOTH_WAYS = re.compile(
    r"\b(?:marr|wife|husband|spous|partner|sibling|brother|sister|friend|cousin|twin|between|border|neighbo|met\b|"
    r"meet|play(?:ed|s)? against|and\b|with\b|together|same|equal|also known|called|named|nickname|stand)",
    re.IGNORECASE,
)
"""Of what stays true when its two sides are exchanged."""


def turned_round(question: Question, rng: random.Random) -> Sequence[str]:
    """ "Socrates was taught by Plato" for who taught Plato, "Poland invaded Germany" for the right way round."""
    found = [*_told_by_the_question(question)]
    if _BOTH_WAYS.search(question.problem.question) is None:
        replies = [
            one for one in question.right[:6] if len(one) <= 200 and not _BOTH_WAYS.search(one)
        ]
        exchanged = [text for one in replies for text in _exchanged(question, one)]
        voices = [text for one in replies for text in _other_voice(one)]
        found += [rng.choice(texts) for texts in (exchanged, voices) if texts]
    return found


def _told_by_the_question(question: Question) -> Sequence[str]:
    asked = _WHO_DID.fullmatch(question.problem.question.strip())
    golds = question.problem.answers
    if asked is None or not golds:
        return ()
    verb = _DID.get(asked["verb"].casefold(), asked["verb"])
    return [f"{golds[0]} was {verb} by {asked['whom']}."]


def _exchanged(question: Question, reply: str) -> Sequence[str]:
    """The gold and a name that the question has, each in the other's place."""
    golds = sorted(question.problem.answers, key=len, reverse=True)
    gold = next((one for one in golds if one[:1].isupper() and one in reply), None)
    asked = question.problem.question.casefold()
    if gold is None:
        return ()
    parts = reply.split(gold)
    if len(parts) != 2:
        return ()
    for match in _NAME.finditer(reply):
        name = match.group()
        apart = name not in gold and gold not in name and reply.count(name) == 1
        if apart and name.casefold() in asked and len(name) > 3:
            before, after = (part.replace(name, gold) for part in parts)
            return (f"{before}{name}{after}",)
    return ()


def _other_voice(reply: str) -> Sequence[str]:
    """What was done by somebody is done to them, and the other way round."""
    passive = _BY.search(reply)
    if passive is not None:
        active = {done: did for did, done in _DID.items()}
        verb = active.get(passive["verb"], passive["verb"])
        return (f"{reply[: passive.start()]}{verb}{reply[passive.end() :]}",)
    active_one = _ACTIVE.search(reply)
    if active_one is None:
        return ()
    verb = _DID.get(active_one["verb"], active_one["verb"])
    told = f"{active_one['who']} was {verb} by {active_one['whom']}"
    return (reply[: active_one.start()] + told + reply[active_one.end() :],)
