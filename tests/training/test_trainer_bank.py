"""Training draws what a bank calls informative, and draws the same after a resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import tiny_settings

from llm_as_judge.assembly import problem_file, problem_sampler
from llm_as_judge.assembly.budgets import budgets_told
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.data.informative import InformativeSampler
from llm_as_judge.errors import DataError
from llm_as_judge.runs.bank import Bank, BankProgram, Cell
from llm_as_judge.runs.runlog import read_rollouts
from llm_as_judge.training.trainer import GRPOTrainer, TrainingResult
from llm_as_judge.types import Problem
from own_config import with_only_model

PROBLEMS = [
    Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(8)
]
INFORMATIVE = {f"gsm8k/train/{n}" for n in (1, 3, 4, 6, 7)}
PROGRAM = BankProgram("math", "ab", "direct", "shipped", "return 'x'")


@pytest.fixture
def place(
    tmp_path: Path, tiny_weights: Path, audited: None, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(with_only_model(tmp_path, tiny_weights)))
    write_problems(tmp_path / "train.jsonl", PROBLEMS)
    with Bank.writing(tmp_path / "bank", {}) as bank:
        bank.add_program(PROGRAM)
        for problem in PROBLEMS:
            bank.add_problem(problem)
            for draw in range(4):
                right = float(draw % 2) if problem.id in INFORMATIVE else 1.0
                bank.add(Cell(PROGRAM.key, problem.id, draw, right, 1.0, 2, 1, "ok"))
    return tmp_path


def settings(place: Path, name: str = "any", **data: Any) -> Config:
    shape = {"problems_per_step": 2, "samples_per_problem": 2, "max_staleness": 1, "save_every": 2}
    return Config.model_validate(
        {
            **tiny_settings("scripted", steps=4, **shape),
            "data": {"train_file": place / "train.jsonl", "bank": place / "bank", **data},
            "output": {
                "checkpoints": place / name,
                "cache": place / "cache",
                "results": place / "results",
            },
        }
    )


async def train(place: Path, name: str, steps: int, *, resume: bool = False) -> TrainingResult:
    trainer = GRPOTrainer(
        config=settings(place, name), run_dir=place / f"run_{name}", resume=resume
    )
    return await trainer.train(num_steps=steps)


def drawn(result: TrainingResult) -> list[tuple[int, str]]:
    return sorted((step, rollout.problem_id) for step, _, rollout in read_rollouts(result.run_dir))


@pytest.mark.slow
async def test_a_run_draws_informative_problems_and_the_same_ones_after_a_resume(
    place: Path,
) -> None:
    whole = await train(place, "whole", 4)
    assert {id_ for _, id_ in drawn(whole)} <= INFORMATIVE
    await train(place, "broken", 2)
    with Bank.writing(place / "bank", {}) as bank:  # which grows meanwhile
        for problem in PROBLEMS:
            bank.add(Cell(PROGRAM.key, problem.id, 4, 0.0, 1.0, 2, 1, "ok"))
    assert drawn(await train(place, "broken", 4, resume=True)) == drawn(whole)
    state = json.loads((whole.checkpoint / "state.json").read_text())
    assert set(state["sampler"]["learned"]) == {"1", "2", "3", "4"}


def test_where_budgets_are_drawn_the_lowest_is_told_of_problems_that_all_solve_too(
    place: Path,
) -> None:
    config = settings(place)
    priced = Config.model_validate({**config.model_dump(), "reward": {"scheme": "priced"}})
    sampler = problem_sampler(problem_file(config.data.train_file), priced)
    seen: set[str] = set()
    for step in range(1, 41):
        batch = [PROBLEMS[row] for row in sampler.next_batch()]
        for problem, word in zip(batch, budgets_told(priced, batch, "step", step), strict=True):
            assert problem.id in INFORMATIVE or word == "low"
            seen.add(problem.id)
    assert seen == {problem.id for problem in PROBLEMS}


def test_a_folder_that_is_no_bank_is_one_line(place: Path) -> None:
    config = settings(place, bank=place)
    problems = problem_file(config.data.train_file)
    with pytest.raises(
        DataError, match=r"is no bank \(no cells\.jsonl\); fill one: .* --split train"
    ):
        problem_sampler(problems, config)
    assert isinstance(problem_sampler(problems, settings(place)), InformativeSampler)
    assert not isinstance(problem_sampler(problems, settings(place, bank=None)), InformativeSampler)
