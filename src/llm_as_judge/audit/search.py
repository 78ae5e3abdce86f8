"""Search for wrong answers that a judge accepts: rewrites of them, changed step by step where its score rises.

One chain a question, all side by side. A state is the first sentence, which makes the reply wrong, the answers named in it
and what is put round it. A step changes one of these and is kept unless the judge thinks less of it. After a find, and
where nothing rises any more, a chain begins anew. Source: hill climbing with restarts, Russell and Norvig, section 4.1.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import cycle, islice
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.drift import case_key
from llm_as_judge.audit.seeds import Seed
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.types import Problem, Verdict

Grade = Callable[[Sequence[Case]], Awaitable[Sequence[Verdict]]]
"""Verdicts on the cases, in their order."""
_CHAINS = 20
_MOST_ROUND = 3
_PATIENCE = 6
"""Steps without a rise after which a chain begins anew."""
_OTHERS = 6
"""Wrong answers of a question, at most."""
_LONGEST = 60
"""Characters of an answer that is put into a sentence."""


class _Rewrites(BaseModel):
    """search.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: dict[str, tuple[str, ...]]
    round: tuple[str, ...]


@functools.cache
def rewrites() -> _Rewrites:
    """Wordings of the search, by family."""
    file = resources.files("llm_as_judge.audit") / "search.yaml"
    return _Rewrites.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Find:
    """A wrong answer that was accepted."""

    case: Case
    rule: str
    """That accepted it."""
    rewrites: int
    """How many it took to write: the first sentence, and each thing put round it."""

    @property
    def row(self) -> dict[str, Any]:
        """A row of ``grade`` with its label."""
        problem = self.case.problem
        return {
            "id": f"search/{case_key(self.case)}",
            "domain": problem.domain,
            "question": problem.question,
            "reference": list(problem.answers),
            "candidate": self.case.candidate,
            "correct": False,
            "source": f"search: {self.case.category}",
            "rule": self.rule,
            "rewrites": self.rewrites,
        }


@dataclass(frozen=True, slots=True)
class _State:
    family: str
    first: str
    others: tuple[str, str]
    around: tuple[str, ...] = ()

    def text(self, seed: Seed) -> str:
        words = {"gold": seed.gold, "other": self.others[0], "third": self.others[1]}
        text = self.first.format(**words)
        for frame in self.around:
            text = frame.format(text=text.rstrip("."), question=seed.problem.question, **words)
        return text


@dataclass(slots=True)
class _Chain:
    seed: Seed
    rng: random.Random
    state: _State | None = None
    value: float = -1.0
    idle: int = 0

    def proposal(self) -> _State:
        return self._anew() if self.state is None else self._changed(self.state)

    def _anew(self) -> _State:
        family = self.rng.choice(sorted(rewrites().first))
        return _State(family, self.rng.choice(rewrites().first[family]), self._others())

    def _others(self) -> tuple[str, str]:
        one, other = self.rng.sample(self.seed.wrong, 2)
        return one, other

    def _changed(self, state: _State) -> _State:
        move = self.rng.choice(("first", "others", "more", "more", "less"))
        if move == "more" and len(state.around) < _MOST_ROUND:
            return replace(state, around=(*state.around, self.rng.choice(rewrites().round)))
        if move == "less" and state.around:
            at = self.rng.randrange(len(state.around))
            return replace(state, around=state.around[:at] + state.around[at + 1 :])
        if move == "others":
            return replace(state, others=self._others())
        return replace(self._anew(), around=state.around)

    def took(self, state: _State, verdict: Verdict) -> None:
        value = _value(verdict)
        self.idle = 0 if value > self.value else self.idle + 1
        if value >= self.value:
            self.state, self.value = state, value
        if verdict.correct or self.idle > _PATIENCE:
            self.state, self.value, self.idle = None, -1.0, 0


def _value(verdict: Verdict) -> float:
    """How near it is to be accepted: what is open is nearer than what is rejected, then by what the judge says."""
    said = verdict.confidence if verdict.confidence is not None else verdict.score or 0.0
    return {True: 2.0, None: 1.0, False: 0.0}[verdict.correct] + said


async def search(grade: Grade, seeds: Sequence[Seed], *, tries: int, seed: int) -> list[Find]:
    """The wrong answers that were accepted, the cheapest first: with fewest rewrites, then the shortest.

    Args:
        seeds: see :func:`searchable`; without any nothing is tried.
        tries: answers graded; none is graded twice.
    """
    rng = random.Random(seed)
    drawn = rng.sample(seeds, min(_CHAINS, len(seeds)))
    chains = [_Chain(one, random.Random(f"{seed}/{at}")) for at, one in enumerate(drawn)]
    seen: set[tuple[str, str]] = set()
    finds: list[Find] = []
    while chains and len(seen) < tries:
        batch = [(chain, state, case) for chain in chains for state, case in _unseen(chain, seen)]
        batch = batch[: tries - len(seen)]
        if not batch:
            break  # every rewrite of these questions is tried
        seen |= {(case.problem.id, case.candidate) for _, _, case in batch}
        verdicts = await grade([case for _, _, case in batch])
        for (chain, state, case), verdict in zip(batch, verdicts, strict=True):
            chain.took(state, verdict)
            if verdict.correct:
                finds.append(Find(case, verdict.rule, 1 + len(state.around)))
    return sorted(finds, key=lambda find: (find.rewrites, len(find.case.candidate)))


def _unseen(chain: _Chain, seen: set[tuple[str, str]]) -> list[tuple[_State, Case]]:
    """One new answer; none where a chain finds none."""
    golds = {normalize_answer(gold) for gold in chain.seed.problem.answers}
    for _ in range(20):
        state = chain.proposal()
        text = state.text(chain.seed)
        new = (chain.seed.problem.id, text) not in seen
        if new and normalize_answer(text) not in golds:
            case = Case(chain.seed.problem, text, False, "search", state.family)
            return [(state, case)]
    return []


def searchable(seeds: Sequence[Seed], own: Sequence[Case]) -> list[Seed]:
    """Questions to search with: those of the package that ask for a text, and a person's own ones.

    Args:
        own: labeled rows; golds of others are the wrong answers.
    """
    found = [one for one in seeds if one.kind == "span" and len(one.wrong) > 1]
    problems: dict[str, Problem] = {
        case.problem.question: case.problem
        for case in own
        if case.problem.domain == "qa" and case.problem.answers and not case.problem.options
    }
    asked = [one for one in problems.values() if len(one.answers[0]) <= _LONGEST]
    golds = [(one.answers[0], normalize_answer(one.answers[0])) for one in asked]
    for at, problem in enumerate(asked):
        known = {normalize_answer(gold) for gold in problem.answers}
        after = islice(cycle(golds), at + 1, at + len(golds))
        apart = (text for text, normal in after if is_apart(normal, known))
        wrong = tuple(dict.fromkeys(islice(apart, _OTHERS)))
        if len(wrong) > 1:
            found.append(Seed(problem, "span", wrong))
    return found


def is_apart(gold: str, known: set[str]) -> bool:
    """Whether a gold is no part of the known ones, nor one of them of it."""
    return bool(gold) and not any(gold in one or one in gold for one in known)
