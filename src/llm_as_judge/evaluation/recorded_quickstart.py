"""A finished quickstart that the package ships: its answers are graded again, in seconds, before the
models of a new one are loaded.

``recorded_quickstart.jsonl`` holds what three systems of that run wrote and answered. The rows are made from
the seed, as in every quickstart. ``scripts/record_quickstart.py`` writes the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from llm_as_judge.config import Config
from llm_as_judge.data.quickstart import quickstart_problems
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.records import EvaluationRecord, Plan, PlannedSet
from llm_as_judge.evaluation.regrade import Regrade, regrade
from llm_as_judge.evaluation.results import write_results
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.types import Problem, Rollout, from_json, to_json

FILE = "recorded_quickstart.jsonl"
RECORDED = ("best_fixed", "untrained", "warm_started", "trained")
"""Systems of the file, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one system of the recorded run did, on rows made from the seed."""

    system: str
    seed: int
    pairs: tuple[tuple[Problem, Rollout], ...]


def read_recorded(path: Path) -> list[Recorded]:
    """The systems of a file that :func:`recorded_of` made the lines of.

    Raises:
        DataError: a line is not one, or a row is not of this version's task.
    """
    found: dict[str, list[Rollout]] = defaultdict(list)
    seeds: set[int] = set()
    for number, row in enumerate(JsonLines(path).rows(), start=1):
        try:
            found[row["system"]].append(from_json(Rollout, row["rollout"]))
            seeds.add(row["seed"])
        except (KeyError, TypeError) as error:
            raise DataError(f"{path}:{number}: not a recorded answer: {error}") from None
    if len(seeds) != 1:
        raise DataError(f"{path}: answers of one seed are wanted; found seeds {sorted(seeds)}")
    (seed,) = seeds
    rows = {problem.id: problem for problem in quickstart_problems(seed, "test")}
    if any(
        {rollout.problem_id for rollout in rollouts} != set(rows) for rollouts in found.values()
    ):
        raise DataError(f"{path}: its rows are not those of this version; record it again")
    return [
        Recorded(name, seed, tuple((rows[one.problem_id], one) for one in rollouts))
        for name, rollouts in found.items()
    ]


def shipped_recording() -> list[Recorded]:
    """What the package holds."""
    with resources.as_file(resources.files("llm_as_judge.evaluation") / FILE) as path:
        return read_recorded(path)


async def grade_recorded(
    recorded: Sequence[Recorded], config: Config, folder: Path
) -> Mapping[str, Path]:
    """Results files below ``folder``, by system: the verdicts of today's rules on what was recorded."""
    paths = {}
    # no weights are loaded for this
    config = config.model_copy(update={"judge": config.judge.with_rules_alone()})
    for one in recorded:
        plan = _plan(one)
        new, _ = await regrade(Regrade(one.pairs, plan, config, folder / plan.name / plan.hash))
        paths[one.system] = write_results(new, folder)
    return paths


def _plan(one: Recorded) -> Plan:
    ids: dict[str, list[str]] = defaultdict(list)
    for problem, _ in one.pairs:
        ids[problem.dataset].append(problem.id)
    sets = tuple(
        PlannedSet(name, tuple(held), len(held), "all rows", None) for name, held in ids.items()
    )
    return Plan(
        one.system,
        one.system,
        None,
        (),
        1,
        one.seed,
        "recorded",
        sets,
        {},
        grading_version=GRADING_VERSION,
    )


def recorded_of(record: EvaluationRecord, system: str) -> list[dict[str, Any]]:
    """The lines of a system from the record of its evaluation: without the tokens of prompts and with no verdict."""
    lines = []
    for rollout in (rollout for group in record.groups() for rollout in group.rollouts):
        bare = replace(rollout.completion, prompt_ids=(), token_ids=(), logprobs=())
        kept = replace(rollout, completion=bare, verdict=None)
        lines.append({"system": system, "seed": record.plan.seed, "rollout": to_json(kept)})
    return lines
