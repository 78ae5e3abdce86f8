"""The owner's word on how answers of a set are compared, where a row of it does not say so itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from llm_as_judge.types import AnswerSpec, Problem


@dataclass(frozen=True, slots=True)
class SetAnswers:
    """What the owner of a set says of all its answers."""

    spec: AnswerSpec = field(default_factory=AnswerSpec)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Gold answer -> further accepted ones."""


def with_set_answers(problem: Problem, sets: Mapping[str, SetAnswers]) -> Problem:
    """``problem`` as its set wants it compared; what its row says stands. Tests alone grade code.

    Args:
        sets: by name of the set; ``mine`` stands for ``mine_math`` and ``mine_qa``, too.
    """
    said = _of_set(problem, sets) if problem.domain != "code" else None
    if said is None:
        return problem
    own, of_set = problem.spec, said.spec
    spec = AnswerSpec(
        kind=own.kind or of_set.kind,
        tolerance=of_set.tolerance if own.tolerance is None else own.tolerance,
        unit=own.unit or of_set.unit,
        grader=own.grader or of_set.grader,
    )
    aliases = {_folded(gold): others for gold, others in said.aliases.items()}
    further = (one for gold in problem.answers for one in aliases.get(_folded(gold), ()))
    return replace(problem, spec=spec, answers=tuple(dict.fromkeys((*problem.answers, *further))))


def _of_set(problem: Problem, sets: Mapping[str, SetAnswers]) -> SetAnswers | None:
    name = problem.dataset
    return sets.get(name) or sets.get(name.removesuffix(f"_{problem.domain}"))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
