"""Run folders as training writes them, made of invented rollouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llm_as_judge.runs.results import Results
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.types import (
    Completion,
    Diagnostic,
    Execution,
    Failure,
    Group,
    OperatorCall,
    Problem,
    Program,
    Reward,
    RewardPart,
    Rollout,
    Verdict,
)

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<!--<script>",
    "]]>{{ 7*7 }}{% raw %}&lt;b&gt;'\"`${window.hacked=1}",
    "\u2028\u2029\x00\x1b[31m\ud800 \u202eevil",
    "javascript:window.hacked=1//</style></title>",
)


def rollout(
    index: int,
    *,
    problem_id: str = "gsm8k/train/1",
    correct: bool | None = True,
    text: str = "plain",
    operator: str = "Custom",
    total: float = 5.0,
    failure: Failure | None = None,
) -> Rollout:
    return Rollout(
        problem_id,
        index,
        Completion((1, 2), (3, 4), (-0.5, -0.25), text, "stop"),
        Program(
            f"a = 1\nb = {text!r}\n{text}",
            "" if failure else "class Workflow: ...",
            (operator,),
            (Diagnostic("W208", 2, f"no key {text}", text),) if correct is False else (),
            hash=f"h{index}",
        ),
        Execution(
            "ok", text, (OperatorCall(operator, 10, 5, None, 0.0, 1, 0, text, (text,)),), error=text
        ),
        Verdict(correct, "qa", "exact", text),
        None if correct is None else Reward({"correctness": RewardPart(total, 0.65)}, total),
        failure,
    )


def group(step: int, *rollouts: Rollout, domain: Any = "math") -> Group:
    first = rollouts[0]
    return Group(Problem(first.problem_id, "gsm8k", domain, f"question {step}"), rollouts)


def write_run(folder: Path, *, texts: tuple[str, ...] = ("plain",), steps: int = 3) -> Path:
    """A run of ``steps`` steps, two groups each, with ``texts`` in every place a text can be."""
    log = RunLog(folder)
    log.write_config({"policy": {"name": texts[0]}, "training": {"steps": 9}, "data": {}})
    log.write_facts({"policy": texts[0], "executor": texts[-1], "versions": {"python": "3.11"}})
    for step in range(1, steps + 1):
        first = group(
            step,
            *(
                rollout(i, correct=i % 2 == 0, text=text, problem_id=f"gsm8k/train/{step}")
                for i, text in enumerate((*texts, "last"))
            ),
        )
        second = group(
            step,
            rollout(0, correct=None, problem_id=f"squad2/{step}/{texts[0]}", operator="Review"),
            domain="qa",
        )
        log.groups(step, [first, second])
        log.step(
            step,
            {"reward/mean": step - 2.0, "time/step_s": 10.0 * step, "rollout/count": 4.0},
        )
    return folder


def write_rows(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def results(accuracy: float, tokens: float, **more: Any) -> Results:
    metrics = {
        "accuracy": accuracy,
        "accuracy_low": accuracy - 0.1,
        "accuracy_high": accuracy + 0.1,
        "tokens": tokens,
        "calls": 1.5,
        "strictly_valid": None,
        "executed": None,
    }
    sets = ({"dataset": "gsm8k", "metrics": metrics},)
    return Results.model_validate({"datasets": sets, "overall": metrics, **more})
