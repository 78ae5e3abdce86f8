"""Statements about a made-up house: answers in whole sentences, and near ones that answer another question.

People's labels are of questions of trivia, where a wrong reply mostly names something else. Own questions are answered
from a page of rules, and a wrong reply names the gold: of another room, on another day, with the roles turned round.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from importlib import resources

import yaml
from pydantic import BaseModel, ConfigDict

from llm_as_judge.audit.attacks import Case
from llm_as_judge.types import Problem

SET = "statements"
"""Data set and family of what is made here."""
_QUESTIONS, _RIGHT, _WRONG = 800, 2, 3
"""Questions that are made, and replies of each label to one."""
_SLOT = re.compile(r"\{(\w+)(!?)(?::(\d))?\}")


class _Frame(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: str
    gold: str
    say: tuple[str, ...]
    wrong: tuple[str, ...]


class _Wordings(BaseModel):
    """statements.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: dict[str, tuple[str, ...]]
    frames: tuple[_Frame, ...]


@functools.cache
def _wordings() -> _Wordings:
    file = resources.files("llm_as_judge.training.judge") / "statements.yaml"
    return _Wordings.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def statements(rng: random.Random) -> list[Case]:
    """Replies to made questions, right and wrong ones; ``category``: :data:`SET`."""
    found: dict[tuple[str, str], Case] = {}
    for number in range(_QUESTIONS):
        frame = rng.choice(_wordings().frames)
        filled = _Filled(frame, rng)
        problem = Problem(
            f"{SET}/{number}", SET, "qa", filled.text(frame.ask), (filled.text("{gold}"),)
        )
        wrong = [*frame.wrong, *(one for say in frame.say for one in _exchanged(say))]
        for label, wordings, count in ((True, frame.say, _RIGHT), (False, wrong, _WRONG)):
            for wording in rng.sample(wordings, count):
                text = filled.text(wording)
                found[problem.question, text] = Case(problem, text, label, "made", SET)
    return list(found.values())


def _exchanged(wording: str) -> list[str]:
    """The wording with one of its words exchanged for another."""
    return [
        f"{wording[: at.start()]}{{{at[1]}!{f':{at[3]}' if at[3] else ''}}}{wording[at.end() :]}"
        for at in _SLOT.finditer(wording)
        if at[1] not in ("gold", "other")
    ]


class _Filled:
    """The words of one question: each name has a word and another, all of them apart."""

    def __init__(self, frame: _Frame, rng: random.Random) -> None:
        words = _wordings().words
        self._drawn: Mapping[str, list[str]] = {
            name: rng.sample(list(known), min(4, len(known))) for name, known in words.items()
        }
        kind = frame.gold
        if kind in words:  # behind the two that stand in the question and for another one
            golds = self._drawn[kind][2:]
            self._gold, self._other = golds
        else:
            self._gold = self.text(kind)
            self._other = self.text(_SLOT.sub(r"{\1!}", kind))

    def text(self, wording: str) -> str:
        text = _SLOT.sub(self._word, wording)
        return text[:1].upper() + text[1:] if text.endswith(".") and " " in text else text

    def _word(self, at: re.Match[str]) -> str:
        name, other, form = at.groups()
        if name in ("gold", "other"):
            return self._gold if name == "gold" else self._other
        forms = self._drawn[name][1 if other else 0].split("/")
        return forms[int(form or 0)]
