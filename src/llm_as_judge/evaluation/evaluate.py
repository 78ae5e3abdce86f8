"""A policy on held-out problems: the same rollout code as training, one greedy program a problem.

Accuracy is over graded answers and comes from verdicts; what was not graded is counted beside it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_as_judge.build import System, problem_file
from llm_as_judge.config import Config
from llm_as_judge.data.files import ProblemFile
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.statistics import wilson
from llm_as_judge.monitoring.judges import judges_of
from llm_as_judge.monitoring.runlog import write_text
from llm_as_judge.rollout import SamplingOptions
from llm_as_judge.types import Group, Problem, Rollout, to_json

PROBLEMS_AT_ONCE = 16
SHOWN = (
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "strictly_valid",
    "executed",
    "calls",
    "tokens",
)
"""Figures that every results file has, of each set and overall."""


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """Groups of one rollout each, by data set, in the order of the configuration."""

    groups_by_set: dict[str, list[Group]]
    rows_by_set: dict[str, int]
    """Rows of each test file, of which the groups may be a sample."""


def test_problems(config: Config) -> dict[str, tuple[list[Problem], int]]:
    """For each set its test problems (a seeded sample if limited) and the rows of its file.

    Raises:
        DataError: a test file is missing, empty or broken.
    """
    chosen = {}
    for name in config.data.sets:
        file = problem_file(config.data.data_dir / "test" / f"{name}_test.jsonl")
        chosen[name] = (_sample(file, config.evaluation.limit_per_set, config.data.seed), len(file))
    return chosen


def _sample(file: ProblemFile, limit: int | None, seed: int) -> list[Problem]:
    if limit is None or limit >= len(file):
        return list(file)
    picked = random.Random(f"evaluation/{seed}/{file.path.name}").sample(range(len(file)), limit)
    return [file[i] for i in sorted(picked)]


async def evaluate(
    config: Config,
    system: System,
    *,
    on_rollout: Callable[[Rollout], None] | None = None,
) -> EvaluationResult:
    """Run the system's policy on every test problem of the configuration."""
    chosen = test_problems(config)
    everything = [problem for problems, _ in chosen.values() for problem in problems]
    sampling = SamplingOptions(config.evaluation.temperature, config.sampling.max_new_tokens)
    groups: list[Group] = []
    for start in range(0, len(everything), PROBLEMS_AT_ONCE):
        part = everything[start : start + PROBLEMS_AT_ONCE]
        groups += await system.runner.groups(
            part, 1, sampling, seed=config.training.seed, on_rollout=on_rollout
        )
    by_set: dict[str, list[Group]] = {name: [] for name in chosen}
    remaining = iter(groups)
    for name, (problems, _) in chosen.items():
        by_set[name] = [next(remaining) for _ in problems]
    return EvaluationResult(by_set, {name: rows for name, (_, rows) in chosen.items()})


def results_json(result: EvaluationResult, config: Config, checkpoint: Path | None) -> Any:
    """The documented results form: ``.datasets[] | {name: .dataset, accuracy: .metrics.accuracy}``.

    ``judge`` graded here; ``judges`` rewarded the checkpoint when it was trained.
    """
    everything = [group for groups in result.groups_by_set.values() for group in groups]
    return {
        "model": config.policy.name,
        "checkpoint": str(checkpoint) if checkpoint else None,
        "executor": config.executor.model,
        "judge": config.judge.model,
        "judges": judges_of(checkpoint) if checkpoint else [],
        "seed": config.training.seed,
        "datasets": [
            {
                "dataset": name,
                "domain": groups[0].problem.domain,
                "num_samples": len(groups),
                "rows_in_test_file": result.rows_by_set[name],
                "metrics": set_metrics(groups),
            }
            for name, groups in result.groups_by_set.items()
        ],
        "domains": {
            domain: set_metrics([g for g in everything if g.problem.domain == domain])
            for domain in sorted({g.problem.domain for g in everything})
        },
        "overall": set_metrics(everything),
    }


def set_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Shares in 0..1 with Wilson intervals (95 %), means per problem."""
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    graded = [r for r in rollouts if r.verdict and r.verdict.correct is not None]
    correct = sum(bool(r.verdict and r.verdict.correct) for r in graded)
    low, high = wilson(correct, len(graded))
    count = max(1, len(rollouts))
    executions = [r.execution for r in rollouts if r.execution]
    scores = [r.verdict.score for r in graded if r.verdict and r.verdict.score is not None]
    metrics = {
        "accuracy": correct / len(graded) if graded else 0.0,
        "accuracy_low": low,
        "accuracy_high": high,
        "correct": float(correct),
        "graded": float(len(graded)),
        "not_graded": float(len(rollouts) - len(graded)),
        "strictly_valid": sum(r.program.strictly_valid for r in rollouts) / count,
        "repaired": sum(bool(r.program.repairs) for r in rollouts) / count,
        "executed": sum(e.status == "ok" for e in executions) / count,
        "timeout": sum(e.status == "timeout" for e in executions) / count,
        "calls": sum(e.llm_calls for e in executions) / count,
        "tokens": sum(e.tokens for e in executions) / count,
        "seconds": sum(e.seconds for e in executions) / count,
    }
    if scores:
        metrics["score"] = sum(scores) / len(scores)
    return metrics


def write_results(
    result: EvaluationResult, config: Config, checkpoint: Path | None, name: str
) -> Path:
    """``results/evaluation/NAME_results.json`` and every rollout beside it.

    Raises:
        OutputError: the folder cannot be written.
    """
    folder = config.output.results / "evaluation"
    path = folder / f"{name}_results.json"
    lines = [
        json.dumps({"problem": to_json(group.problem), "rollout": to_json(rollout)})
        for groups in result.groups_by_set.values()
        for group in groups
        for rollout in group.rollouts
    ]
    write_text(folder / f"{name}_rollouts.jsonl", "".join(line + "\n" for line in lines))
    write_text(path, json.dumps(results_json(result, config, checkpoint), indent=2) + "\n")
    return path


def read_results(path: Path) -> Any:
    """A results file.

    Raises:
        DataError: missing, or not of the documented form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run: llm-as-judge evaluate") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("datasets"), list):
        raise DataError(f'{path}: found no "datasets" list; wanted a results file of evaluate')
    entries = [("overall", data.get("overall"))]
    for number, row in enumerate(data["datasets"]):
        named = isinstance(row, dict) and isinstance(row.get("dataset"), str)
        entries.append((f"datasets[{number}]", row.get("metrics") if named else None))
    for where, metrics in entries:
        found = metrics if isinstance(metrics, dict) else {}
        missing = [n for n in SHOWN if not isinstance(found.get(n), (int, float))]
        if missing:
            raise DataError(
                f"{path}: {where} has no {missing[0]!r}; wanted a whole results file of evaluate"
            )
    return data
