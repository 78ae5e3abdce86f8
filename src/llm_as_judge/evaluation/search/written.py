"""Output of a search: the programs, as folders that ``evaluate --policy`` takes, and the figures.

OUT/DOMAIN.py                     the best of each domain at the configured budget
OUT/BUDGET/DOMAIN.py              the same at each budget: low, middle, high
OUT/BUDGET/everything/DOMAIN.py   one name for all domains
OUT/BUDGET/sets/SET.py            the best of each data set
OUT/report.json                   every figure, cross-validated and in-sample
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llm_as_judge.evaluation.headroom import Headroom
from llm_as_judge.evaluation.search.choices import DOMAIN, EVERYTHING, Choice, Score, SearchResult
from llm_as_judge.files import write_text
from llm_as_judge.types import Budget, to_json

REPORT = "report.json"


def write_found(found: SearchResult, out: Path, budget: Budget, room: Headroom | None) -> None:
    """
    Args:
        budget: of the programs that stand in ``out`` itself.
        room: the audit of the finalists.
    Raises:
        OutputError: the folder cannot be written.
    """
    for choice in found.choices:
        for domain, program in choice.programs.items():
            for path in _paths(choice, domain, out, budget):
                write_text(path, program.text)
    write_text(out / REPORT, json.dumps(as_json(found, room), indent=1) + "\n")


def _paths(choice: Choice, domain: str, out: Path, budget: Budget) -> list[Path]:
    folder = out / choice.budget
    if choice.scope == EVERYTHING:
        return [folder / EVERYTHING / f"{domain}.py"]
    if choice.scope == DOMAIN:
        own = [out / f"{domain}.py"] if choice.budget == budget else []
        return [*own, folder / f"{domain}.py"]
    return [folder / "sets" / f"{choice.of}.py"]


def as_json(found: SearchResult, room: Headroom | None) -> dict[str, Any]:
    """The figures as plain data; a mean of nothing is null."""
    return {
        "choices": [
            {
                "scope": choice.scope,
                "of": choice.of,
                "budget": choice.budget,
                "name": choice.name,
                "programs": {d: p.key for d, p in choice.programs.items()},
                "cross_validated": _score(choice.cross_validated),
                "in_sample": _score(choice.in_sample),
            }
            for choice in found.choices
        ],
        "finalists": {d: [p.name for p in programs] for d, programs in found.finalists.items()},
        "search_cost": round(found.search_cost, 1),
        "search_runs": found.search_runs,
        "measuring_cost": round(found.measuring_cost, 1),
        "headroom": None if room is None else {**to_json(room), "words": room.words},
    }


def _score(score: Score) -> dict[str, float | int] | None:
    if not score.problems:
        return None
    rounded: dict[str, float | int] = {
        name: round(value, 6) for name, value in to_json(score).items()
    }
    return {**rounded, "problems": score.problems}
