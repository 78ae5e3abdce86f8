"""Folders of evaluations as comparisons read them, written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llm_as_judge.evaluation.system_results import SystemResults, read_systems
from llm_as_judge.grading.version import GRADING_VERSION

OPEN = "qa.partial"
"""Rule of an open answer."""


def row(
    number: int,
    correct: list[bool | None],
    tokens: int,
    dataset: str = "gsm8k",
    undecided: str = "",
) -> Any:
    """
    Args:
        undecided: rule of what is neither right nor wrong; empty: it failed.
    """
    return {
        "id": f"{dataset}/{number}",
        "dataset": dataset,
        "domain": "math" if dataset == "gsm8k" else "qa",
        "content": f"digest of {number}",
        "correct": correct,
        "rule": [undecided if one is None else "r" for one in correct],
        "tokens": [tokens] * len(correct),
    }


def written(folder: Path, name: str, rows: list[Any], **more: Any) -> Path:
    """A run folder with the parts of full.json that comparisons read."""
    run = folder / name / "hash"
    run.mkdir(parents=True)
    graded = [float(value) for r in rows for value in r["correct"] if value is not None]
    overall = {
        "accuracy": sum(graded) / max(1, len(graded)),
        "policy_tokens": 0.0,
        "calls": 1.0,
        "seconds": 2.0,
        "cost_usd": None,
        **dict.fromkeys(("accuracy_low", "accuracy_high", "strictly_valid", "executed"), 0.5),
        "tokens": 1.0,
        **more.pop("overall", {}),
    }
    data = {
        "policy": name,
        "executor": "e",
        "judge": "j",
        "seed": 0,
        "grading_version": GRADING_VERSION,
        "datasets": [],
        "problems": rows,
        "overall": overall,
        "facts": {"programs": "p", "executor": "w", "judge": "r", "code": "c"},
        "config": {
            "executor": {"model": "e", "max_tokens": 256, "timeout_s": 60.0},
            "evaluation": {"samples": 1, "limit_per_set": 4},
        },
    }
    (run / "full.json").write_text(json.dumps({**data, **more}))
    return run


def system(folder: Path, name: str, right: str, tokens: int, **more: Any) -> SystemResults:
    """``right``: a letter a problem: y, n, ? for open, or - for failed."""
    values = {"y": True, "n": False}
    rows = [
        row(i, [values.get(letter)], tokens, undecided=OPEN if letter == "?" else "")
        for i, letter in enumerate(right)
    ]
    (found,) = read_systems([written(folder, name, rows, **more)])
    return found
