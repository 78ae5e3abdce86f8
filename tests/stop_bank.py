"""A bank of draws that `stop learn` learns from."""

from __future__ import annotations

import json
from pathlib import Path

from llm_as_judge.assembly import program_options
from llm_as_judge.assembly.executor_settings import BOUND
from llm_as_judge.config import load_config
from llm_as_judge.evaluation.baselines import single_call_baselines
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import ABOUT, Bank
from llm_as_judge.types import Problem


def filled(folder: Path, problems: int, *, hopeless: bool = False) -> Path:
    """Four draws of the chain of thought on each problem; every third one is hopeless, or all."""
    config = load_config("embedded")
    folder.mkdir()
    bank = Bank(folder)
    (way,) = single_call_baselines(program_options(config), ["cot"])["math"]
    bank.add_program(way)
    for n in range(problems):
        bank.add_problem(
            Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} + 1?", (str(n + 1),))
        )
        for draw in range(4):
            right = float(n % 3 != 1 and draw != n % 4 and not hopeless)
            bank.add(
                RunRecord(
                    way.key, f"gsm8k/train/{n}", draw, right, 100.0, 200, 1, "ok", str(int(right))
                )
            )
    about = {name: read(config) for name, read in BOUND.items()}
    (folder / ABOUT).write_text(json.dumps(about))
    return folder
