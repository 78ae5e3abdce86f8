"""Before its first step a policy learns to write what a bank's programs did best, and no more."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import Shown, require_same_records, run_config, train

from llm_as_judge.assembly import load_policy_of, policy_prompt
from llm_as_judge.assembly.learning import warm_start_options
from llm_as_judge.assembly.trainer import TrainingResult
from llm_as_judge.cli.training import _estimate
from llm_as_judge.config import Config
from llm_as_judge.config.grading import RewardConfig
from llm_as_judge.data.files import write_problems
from llm_as_judge.data.selection import problem_file
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.chat_template import prompt_ids
from llm_as_judge.policy.launched import Launched
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.runlog import read_steps
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.training.imitation import batches_of
from llm_as_judge.training.imitation_targets import ImitationTarget
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from llm_as_judge.training.warm_start import WarmStartPlan, foretold
from llm_as_judge.types import BUDGETS, Problem
from llm_as_judge.workflow.program import parse_program

BODIES = {
    "sum": 'r = await custom(input=problem, instruction="x")\nreturn r["response"]',
    "ask": 'r = await answer_generate(input=problem)\nreturn r["answer"]',
}
"""Kind of problem -> the program that is right on it; the untrained policy prefers the first one on both."""
TRAINED, HELD_OUT = range(8), range(8, 10)


def problem(kind: str, n: int) -> Problem:
    text = f"{n} + {n}" if kind == "sum" else f"name the town with number {n}, please"
    return Problem(f"gsm8k/{kind}/{n}", "gsm8k", "math", text, (str(n),))


PROBLEMS = [problem(kind, n) for n in TRAINED for kind in BODIES]


def program(kind: str) -> BankProgram:
    """In class form, as shipped programs and mutated ones are."""
    found = parse_program(BODIES[kind], "math", "body")
    return BankProgram("math", found.hash, kind, "given", found.runnable)


def fill(
    folder: Path,
    right: Any,
    problems: list[Problem] = PROBLEMS,
    cost: Mapping[str, float] | None = None,
) -> Path:
    """A bank in which the program of each kind is ``right(problem, kind)`` on every problem."""
    with Bank.writing(folder, {}) as bank:
        for kind in BODIES:
            bank.add_program(program(kind))
        for one in problems:
            bank.add_problem(one)
            for kind in BODIES:
                spent, mark = (cost or {}).get(kind, 50.0), right(one, kind)
                bank.add(RunRecord(program(kind).key, one.id, 0, mark, spent, 9, 1, "ok"))
    return folder


def by_kind(one: Problem, kind: str) -> float:
    return float(f"/{kind}/" in one.id)


@pytest.fixture
def place(place: Path) -> Path:
    write_problems(place / "train.jsonl", PROBLEMS)
    return place


def settings(
    place: Path, name: str, bank: Path | None, reward: Any = None, **training: Any
) -> Config:
    shape = {"problems_per_step": 4, "samples_per_problem": 2, "save_every": 1, "steps": 1}
    return run_config(
        place,
        name,
        policy={"lora_rank": 16, "lora_alpha": 32},
        sampling={"examples": False},
        reward=reward or {},
        training=shape | {"warm_start": bank and str(bank)} | training,
    )


@dataclass(frozen=True)
class WarmStart:
    """A warm start that nothing happened to, without any step after it."""

    config: Config
    result: TrainingResult
    view: Shown


@pytest.fixture(scope="module")
def cold(shared_place: Path) -> WarmStart:
    """None at all: the policy as it begins."""
    write_problems(shared_place / "train.jsonl", PROBLEMS)
    return begun(settings(shared_place, "cold", None))


@pytest.fixture(scope="module")
def warm(shared_place: Path, cold: WarmStart) -> WarmStart:
    bank = fill(shared_place / "bank", by_kind)
    shape = {"warm_start_epochs": 10, "learning_rate": 1e-2, "save_every": 99}
    return begun(settings(shared_place, "warm", bank, **shape))


def begun(config: Config) -> WarmStart:
    view = Shown()
    return WarmStart(config, asyncio.run(train(config, 0, view=view)), view)


def gains(config: Config, checkpoint: Path) -> dict[str, list[float]]:
    """Kind -> nats by which its own program is likelier than the other, on held-out problems."""
    policy = load_policy_of(config, checkpoint, Launched())
    prompt, found = policy_prompt(config), dict[str, list[float]]()
    ids = {
        kind: policy.tokenizer(f"{body}\n```", add_special_tokens=False)["input_ids"]
        for kind, body in BODIES.items()
    }
    for kind in BODIES:
        for written in prompt.write([problem(kind, n) for n in HELD_OUT]):
            tree = pack_tree(
                [prompt_ids(policy.tokenizer, written.messages)],
                [list(ids.values())],
                policy.device,
            )
            with torch.no_grad(), packed_attention(policy.base):
                logprobs = packed_logprobs(policy.base, tree)[0]
            first = tree.leaf_lengths[0]
            sums = logprobs[:first].sum().item(), logprobs[first:].sum().item()
            own = list(BODIES).index(kind)
            found.setdefault(kind, []).append(sums[own] - sums[1 - own])
    return found


def weights(result: TrainingResult) -> dict[str, torch.Tensor]:
    return load_file(result.checkpoint / "adapter_model.safetensors")


@pytest.mark.slow
def test_the_right_program_is_likelier_than_the_other_on_held_out_problems(
    cold: WarmStart, warm: WarmStart
) -> None:
    before, after = (gains(one.config, one.result.checkpoint) for one in (cold, warm))
    assert max(before["ask"]) < 0
    assert min(map(min, after.values())) > 1.0


def test_the_rate_of_the_steps_is_not_the_warm_starts(place: Path) -> None:
    rates = {"learning_rate": 1.0, "warm_start_learning_rate": 1e-3}
    assert warm_start_options(settings(place, "a", None, **rates)).learning_rate == 1e-3
    assert warm_start_options(settings(place, "b", None, learning_rate=0.5)).learning_rate == 0.5


@pytest.mark.slow
def test_what_is_taught_is_said_once_before_the_first_update_and_as_the_dry_run_says_it(
    warm: WarmStart,
) -> None:
    options = warm_start_options(warm.config)
    plan = WarmStartPlan.of(options, problem_file(warm.config.data.train_file), None)
    assert isinstance(plan, WarmStartPlan)
    first, last = [line for line in warm.view.stages if line.startswith("warm start: ")]
    assert first == foretold(options, plan)
    assert first == (
        "warm start: 16 of the bank's 16 training problems teach 2 programs (math 16 of 16): 40 updates"
    )
    assert last.startswith("warm start: 40 updates, loss ")


@pytest.mark.slow
def test_the_updates_of_the_warm_start_are_counted_as_they_end(warm: WarmStart) -> None:
    counts = [one for one in warm.view.parts if one[0] == "warm start"]
    assert counts == [("warm start", done, 40) for done in range(41)]
    doings = warm.view.doings
    assert doings[doings.index("writing the checkpoint step_0") + 1] == "", (
        "it ends with the writing"
    )
    assert sum(said.startswith("loss ") for said in doings) == 40


@pytest.mark.slow
async def test_a_bank_in_which_all_are_wrong_changes_no_weight(
    place: Path, cold: WarmStart
) -> None:
    wrong, view = fill(place / "wrong", lambda one, kind: 0.0), Shown()
    taught = await train(settings(place, "taught", wrong), 0, view=view)
    said = next(line for line in view.stages if line.startswith("warm start: "))
    assert "(math none: no program was right there): 0 updates. So GRPO begins" in said
    require_equal(weights(taught), weights(cold.result))
    assert facts_of(taught)["warm_start"]["warm_start/updates"] == 0.0
    assert "warm_start" not in facts_of(cold.result)


def test_each_epoch_teaches_a_problem_at_a_budget_of_its_own(place: Path) -> None:
    lessons = {
        word: [ImitationTarget(one, ((n,),), (1.0,)) for one in PROBLEMS]
        for n, word in enumerate(BUDGETS)
    }
    silent, priced = (
        warm_start_options(settings(place, "any", None, reward, warm_start_epochs=4))
        for reward in ({}, {"scheme": "priced"})
    )
    batches = batches_of(lessons, priced)
    assert batches_of(lessons, priced) == batches
    assert [len(batch) for batch in batches] == [4] * 16
    told = [pair for batch in batches for pair in batch]
    epochs = [told[at : at + 16] for at in range(0, 64, 16)]
    for epoch in epochs:
        assert {lesson.problem.id for lesson, _ in epoch} == {one.id for one in PROBLEMS}
    for lesson, word in told:
        assert word is not None
        assert lesson in lessons[word]
    assert {word for _, word in told} == set(BUDGETS)
    words = [{lesson.problem.id: word for lesson, word in epoch} for epoch in epochs]
    assert len({tuple(sorted(epoch.items())) for epoch in words}) == 4
    untold = batches_of({"middle": lessons["middle"]}, silent)
    assert {word for batch in untold for _, word in batch} == {None}


@pytest.mark.slow
async def test_a_budget_is_learned_from_its_word(place: Path) -> None:
    """Both programs are right everywhere, one of them dearer and a little more often."""

    def right(one: Problem, kind: str) -> float:
        return 1.0 if kind == "sum" else 0.9

    bank = fill(place / "bank", right, cost={"sum": 800.0, "ask": 50.0})
    shape = {"warm_start_epochs": 16, "learning_rate": 1e-2, "save_every": 99}
    config = settings(place, "told", bank, {"scheme": "priced"}, **shape)
    checkpoint = (await train(config, 0)).checkpoint
    dearer = {
        word: gains(
            config.model_copy(update={"reward": RewardConfig(scheme="priced", budget=word)}),
            checkpoint,
        )["sum"]
        for word in ("low", "high")
    }
    assert max(dearer["low"]) < min(dearer["high"])


class KilledError(Exception):
    """In the place of a kill: nobody handles it, and nothing is written on the way out."""


def kill_at_the_third(done: int) -> None:
    if done == 3:
        raise KilledError


@pytest.mark.slow
async def test_a_stage_that_is_killed_refuses_another_bank_and_is_resumed_as_if_it_had_not_been(
    place: Path,
) -> None:
    bank, view = fill(place / "bank", by_kind), Shown()
    shape = {"learning_rate": 5e-3, "save_every": 2, "warm_start_epochs": 2}
    broken = settings(place, "broken", bank, **shape)
    whole = await train(settings(place, "unbroken", bank, **shape), 1, view=view)
    with pytest.raises(KilledError):
        await train(broken, 1, view=Shown(kill_at_the_third))
    state = json.loads((place / "broken/checkpoints/tiny/grpo_mixed/step_0/state.json").read_text())
    assert len(state["warm_start"]["losses"]) == 2
    assert state["warm_start"]["bank_sha256"] == Bank(bank).sha256()

    shutil.copytree(bank, place / "kept")
    with Bank.writing(bank, {}) as open_bank:
        open_bank.add(RunRecord(program("sum").key, PROBLEMS[0].id, 1, 0.0, 1.0, 2, 1, "ok"))
    form = {**shape, "warm_start_mode": "form"}
    for other, kind, said in (
        (broken, DataError, ": .*bank has changed since the stage"),
        (settings(place, "broken", None, **shape), ConfigError, ": .* began with one, and none is"),
        (settings(place, "broken", bank, **form), ConfigError, "_mode: the stage began as best"),
    ):
        with pytest.raises(kind, match=rf"^training\.warm_start{said}"):
            await train(other, 1, resume=True)
    shutil.rmtree(bank)
    (place / "kept").rename(bank)

    resumed = await train(broken, 1, resume=True)
    require_equal(weights(resumed), weights(whole))
    require_same_records(resumed.run_dir, whole.run_dir)
    (first,) = read_steps(whole.run_dir)
    assert first["warm_start/updates"] == 8.0
    assert first["warm_start/loss_last"] < first["warm_start/loss_first"]
    assert facts_of(whole)["warm_start"]["bank_sha256"] == Bank(bank).sha256()
    assert any(line.startswith("estimate: ") for line in view.stages)
    shutil.rmtree(bank)  # a stage that is over asks no more of it
    assert (await train(broken, 1, resume=True)).steps == 1


@pytest.mark.slow
def test_a_warm_start_alone_estimates_no_steps(warm: WarmStart) -> None:
    assert not any(line.startswith("estimate: ") for line in warm.view.stages)


@pytest.mark.slow
def test_a_dry_run_of_a_resume_refuses_what_the_resume_refuses(
    shared_place: Path, cold: WarmStart, warm: WarmStart
) -> None:
    assert _estimate(cold.config, cold.result.checkpoint)
    other = settings(shared_place, "cold", warm.config.training.warm_start)
    with pytest.raises(
        ConfigError, match=r"^training\.warm_start: .* began without one, and it is"
    ):
        _estimate(other, cold.result.checkpoint)


async def test_a_bank_of_no_use_is_one_line_before_models_are_loaded(place: Path) -> None:
    others = fill(place / "others", by_kind, [problem("sum", n) for n in HELD_OUT])
    with pytest.raises(DataError, match=r"none of its 2 problems is one of the 16 training"):
        await train(settings(place, "a", others))
    with pytest.raises(DataError, match=r"training\.warm_start: .* is no bank \(no runs\.jsonl\)"):
        await train(settings(place, "b", place))
    broken = fill(place / "broken", by_kind)
    with (broken / "runs.jsonl").open("a") as file:
        file.write('{"program": 3}\n')
    with pytest.raises(DataError, match=r"runs\.jsonl:33: 'program' is 3; remove that line"):
        await train(settings(place, "c", broken))


async def test_programs_too_long_for_the_policy_are_one_line(place: Path) -> None:
    config = settings(place, "short", fill(place / "bank", by_kind))
    sampling = config.sampling.model_copy(update={"max_new_tokens": 5})
    with pytest.raises(DataError, match=r"no program .* form body with 5 tokens"):
        await train(config.model_copy(update={"sampling": sampling}))


def facts_of(result: TrainingResult) -> dict[str, Any]:
    return dict(json.loads((result.run_dir / "run.json").read_text()))


def require_equal(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[key], wanted[key]) for key in wanted)
