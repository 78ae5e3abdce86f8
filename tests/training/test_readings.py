"""The policy learns to choose among solutions of training problems that disagree, before its first step."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import tiny_settings

from llm_as_judge.assembly import load_policy_of, open_workbench
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ConfigError
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.operators import LETTERS, reading_prompt
from llm_as_judge.policy.launched import Launched
from llm_as_judge.policy.reader import PolicyReader
from llm_as_judge.runs.bank import Bank, BankProgram, Cell
from llm_as_judge.training.imitation import interleaved
from llm_as_judge.training.preflight import check_before_training
from llm_as_judge.training.readings import Reading, Solution, sets_of
from llm_as_judge.training.trainer import GRPOTrainer, TrainingResult
from llm_as_judge.types import ChatRequest, Message, Problem
from llm_as_judge.workflow.program import parse_program
from own_config import with_only_model

ASK = 'r = await answer_generate(input=problem)\nreturn r["answer"]'
DRAWS = 3
PROBLEM = Problem("gsm8k/t/0", "gsm8k", "math", "What is 9 + 9?", ("18",))


def drawn(*said: tuple[str, int, bool]) -> list[Solution]:
    return [Solution(text, kind, right) for text, kind, right in said]


def test_a_set_needs_a_right_and_a_wrong_solution() -> None:
    right, same, wrong, other = (
        ("18", 0, True),
        ("18.0", 0, True),
        ("17", 1, False),
        ("3", 2, False),
    )
    assert not list(sets_of(PROBLEM, [drawn(right, same), drawn(wrong, other), drawn(wrong)]))
    found, _ = sets_of(PROBLEM, [drawn(wrong, right, other, same)])
    assert found.votes == {"18": 2, "17": 1, "3": 1}
    assert found.right == (0,)


def test_sets_are_of_five_and_of_three() -> None:
    row = drawn(*[(str(n), n, n == 2) for n in range(7)])
    five, three = sets_of(PROBLEM, [row])
    assert (len(five.votes), five.right) == (5, (2,))
    assert (len(three.votes), three.right) == (3, (2,))


def test_updates_on_letters_stand_evenly_between_those_on_programs() -> None:
    programs: list[Any] = [[f"p{n}"] for n in range(6)]
    letters: list[Any] = [["a"], ["b"]]
    names: list[Any] = [batch[0] for batch in interleaved(programs, letters)]
    assert names == ["p0", "p1", "a", "p2", "p3", "p4", "b", "p5"]
    assert interleaved([], letters) == letters
    assert interleaved(programs, []) == programs


@pytest.fixture
def place(
    tmp_path: Path, tiny_weights: Path, audited: None, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(with_only_model(tmp_path, tiny_weights)))
    return tmp_path


def settings(place: Path, name: str, **training: Any) -> Config:
    shape = {"problems_per_step": 2, "samples_per_problem": 2, "save_every": 99, "steps": 1}
    tree = tiny_settings("scripted", max_staleness=0, **{**shape, **training})
    tree["policy"].update(lora_rank=16, lora_alpha=32)
    tree["sampling"].update(examples=False, operators=["AnswerGenerate", "Choose"])
    tree["executor"].update(temperature=0.7, seed=0)
    return Config.model_validate(
        {
            **tree,
            "data": {"train_file": place / "train.jsonl"},
            "output": {
                "checkpoints": place / name,
                "cache": place / "cache",
                "results": place / "r",
            },
        }
    )


async def filled(place: Path, config: Config) -> Path:
    """A bank of what the scripted executor says; of each problem its second answer is right."""
    found = parse_program(ASK, "math", "body")
    program = BankProgram("math", found.hash, "ask", "given", found.runnable)
    problems, answers = [], {}
    async with open_workbench(config) as bench:
        for n in range(8):
            one = Problem(f"gsm8k/t/{n}", "gsm8k", "math", f"What is {n} + {n}?", ("0",))
            environment = bench.environment()
            runs = [
                await dataclasses.replace(environment, offset=draw).run(
                    environment.parse(program.text, one), one
                )
                for draw in range(DRAWS)
            ]
            said = [run.answer for run in runs]
            problems.append(dataclasses.replace(one, answers=(said[1],)))
            answers[one.id] = said
    write_problems(place / "train.jsonl", problems)
    with Bank.writing(place / "bank", {}) as bank:
        bank.add_program(program)
        for one in problems:
            bank.add_problem(one)
            for draw, text in enumerate(answers[one.id]):
                right = float(text == one.answers[0])
                bank.add(Cell(program.key, one.id, draw, right, 50.0, 9, 1, "ok"))
    return place / "bank"


async def trained(config: Config, place: Path) -> TrainingResult:
    trainer = GRPOTrainer(config=config, run_dir=place / f"run_{config.output.checkpoints.name}")
    return await trainer.train(num_steps=0)


async def right_of(config: Config, checkpoint: Path, readings: list[Reading]) -> int:
    policy = load_policy_of(config, checkpoint, Launched())
    reader = PolicyReader(policy, asyncio.to_thread, Ledger())
    found = 0
    for reading in readings:
        text = reading_prompt(reading.problem.statement(), reading.votes)
        letters = list(LETTERS[: len(reading.votes)])
        request = ChatRequest((Message("user", text),), 1, json_schema={"enum": letters})
        found += LETTERS.index(json.loads((await reader.chat(request)).text)) in reading.right
    return found


@pytest.mark.slow
async def test_the_warm_start_teaches_the_policy_to_choose(place: Path) -> None:
    cold = settings(place, "cold")
    bank = await filled(place, cold)
    config = settings(place, "warm", warm_start=bank, warm_start_epochs=60, learning_rate=1e-2)
    result = await trained(config, place)
    said = json.loads((result.run_dir / "run.json").read_text())["warm_start"]
    assert said["warm_start/readings"] >= 4
    readings = await readings_in(config, bank)
    assert len(readings) == said["warm_start/readings"]
    assert await right_of(config, result.checkpoint, readings) == len(readings)


async def readings_in(config: Config, bank: Path) -> list[Reading]:
    """As the stage finds them."""
    from llm_as_judge.assembly import open_system, problem_file
    from llm_as_judge.training.lessons import taught_cells
    from llm_as_judge.training.readings import readings_of

    problems = list(problem_file(config.data.train_file))
    kept = Bank(bank)
    async with open_system(config, training=True) as system:
        cells = taught_cells(kept, problems, "bank")
        return await readings_of(config, system, kept, problems, cells)


@pytest.mark.slow
async def test_the_same_bank_teaches_the_same_weights(place: Path) -> None:
    bank = await filled(place, settings(place, "cold"))
    found = [
        (await trained(settings(place, name, warm_start=bank), place)).checkpoint
        for name in ("one", "two")
    ]
    one, two = ((path / "adapter_model.safetensors").read_bytes() for path in found)
    assert one == two


def test_an_update_beside_a_choice_is_refused(place: Path) -> None:
    write_problems(place / "train.jsonl", [PROBLEM])
    config = settings(place, "late")
    late = config.training.model_copy(update={"max_staleness": 1})
    with pytest.raises(ConfigError, match=r"training\.max_staleness: sampling\.operators has an"):
        check_before_training(
            config.model_copy(update={"training": late}), resume=False, run_dir=None
        )
