"""Runs of the tiny policy: a place for them, their configuration, and what they leave."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llm_as_judge.assembly.trainer import GRPOTrainer, TrainingResult
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.training.view import SilentView
from llm_as_judge.types import Problem
from own_config import with_only_model

PROBLEMS = [
    *(
        Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
        for n in range(4)
    ),
    *(
        Problem(f"hotpotqa/train/{n}", "hotpotqa", "qa", f"Who lit lamp {n}?", ("Edna Moss",))
        for n in range(4)
    ),
]
STEPS, GROUPS, SAMPLES = 3, 2, 4


def tiny_place(folder: Path, weights: Path, audits: Path | None = None) -> Path:
    """``folder`` with a configuration, problems, and reports of audits that others made."""
    with_only_model(folder, weights)
    write_problems(folder / "train.jsonl", PROBLEMS)
    if audits is not None:
        (folder / "results").mkdir()
        (folder / "results" / "audit").symlink_to(audits)
    return folder


def tiny_settings(**sections: Any) -> dict[str, Any]:
    """A configuration without data and output.

    Args:
        sections: what is laid over it.
    """
    settings: dict[str, Any] = {
        "policy": {
            "name": "tiny",
            "device": "cpu",
            "dtype": "float32",
            "lora_rank": 4,
            "lora_alpha": 8,
        },
        "sampling": {
            "temperature": 1.0,
            "max_new_tokens": 60,
            "form": "body",
            "prompt_style": "short",
        },
        "executor": {"model": "scripted"},
        "judge": {"model": "none"},
        "training": {
            "learning_rate": 1e-3,
            "steps": STEPS,
            "problems_per_step": GROUPS,
            "samples_per_problem": SAMPLES,
        },
    }
    return settings | {name: settings.get(name, {}) | more for name, more in sections.items()}


def run_settings(place: Path, name: str, **sections: Any) -> Any:
    """The configuration of a run called ``name``."""
    output = {
        "checkpoints": str(place / name / "checkpoints"),
        "logs": str(place / "logs"),
        "results": str(place / "results"),
        "cache": str(place / "cache"),
    }
    data = {"train_file": str(place / "train.jsonl")}
    return tiny_settings(**{"data": data, "output": output, **sections})


def run_config(place: Path, name: str, **sections: Any) -> Config:
    return Config.model_validate(run_settings(place, name, **sections))


async def train(
    config: Config, steps: int | None = None, *, resume: bool = False, **options: Any
) -> TrainingResult:
    """The run's folder lies beside its checkpoints."""
    run_dir = config.output.checkpoints.with_name("run")
    trainer = GRPOTrainer(config=config, run_dir=run_dir, resume=resume, **options)
    return await trainer.train(num_steps=steps)


def lines(folder: Path, name: str) -> list[Any]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def require_same_records(run: Path, other: Path) -> None:
    """To the last byte."""
    for name in ("rollouts.jsonl", "metrics.jsonl"):
        assert (run / name).read_bytes() == (other / name).read_bytes(), name


class Shown(SilentView):
    """What a terminal would be told."""

    def __init__(self, did: Callable[[int], None] = lambda done: None) -> None:
        self.stages: list[str] = []
        self.parts: list[tuple[str, int, int]] = []
        """Name, done, total, as often as one of them changes."""
        self.doings: list[str] = []
        self._did = did

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def part(
        self, name: str, total: int = 0, unit: str = "", done: int = 0, *, begun: bool = False
    ) -> None:
        self.parts.append((name, done, total))

    def did(self, count: int = 1) -> None:
        name, done, total = self.parts[-1]
        self.parts.append((name, done + count, total))
        self._did(done + count)

    def doing(self, text: str) -> None:
        self.doings.append(text)
