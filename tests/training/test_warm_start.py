"""Before its first step a policy learns to write what a bank's programs did best, and no more."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import tiny_settings

from llm_as_judge.assembly import load_policy_of, policy_prompt
from llm_as_judge.assembly.learning import warm_start_options
from llm_as_judge.assembly.trainer import GRPOTrainer, TrainingResult
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
from llm_as_judge.training.view import SilentView
from llm_as_judge.training.warm_start import WarmStartPlan, foretold
from llm_as_judge.types import BUDGETS, Problem
from llm_as_judge.workflow.program import parse_program
from own_config import with_only_model

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
    draws: int = 1,
) -> Path:
    """A bank in which the program of each kind is ``right(problem, kind)`` on every problem."""
    with Bank.writing(folder, {}) as bank:
        for kind in BODIES:
            bank.add_program(program(kind))
        for one in problems:
            bank.add_problem(one)
            for kind in BODIES:
                spent = (cost or {}).get(kind, 50.0)
                for draw in range(draws):
                    mark = right(one, kind)
                    bank.add(RunRecord(program(kind).key, one.id, draw, mark, spent, 9, 1, "ok"))
    return folder


def by_kind(one: Problem, kind: str) -> float:
    return float(f"/{kind}/" in one.id)


@pytest.fixture
def place(
    tmp_path: Path, tiny_weights: Path, audited: None, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(with_only_model(tmp_path, tiny_weights)))
    write_problems(tmp_path / "train.jsonl", PROBLEMS)
    return tmp_path


def settings(place: Path, name: str, bank: Path | None, **training: Any) -> Config:
    shape = {"problems_per_step": 4, "samples_per_problem": 2, "save_every": 1, "steps": 1}
    tree = tiny_settings("scripted", **{**shape, "warm_start": bank, **training})
    tree["policy"].update(lora_rank=16, lora_alpha=32)
    tree["sampling"]["examples"] = False
    return Config.model_validate(
        {
            **tree,
            "data": {"train_file": place / "train.jsonl"},
            "output": {
                "checkpoints": place / name,
                "cache": place / "cache",
                "results": place / "results",
            },
        }
    )


async def train(
    config: Config, place: Path, steps: int = 0, *, resume: bool = False, view: Any = None
) -> TrainingResult:
    run_dir = place / f"run_{config.output.checkpoints.name}"
    trainer = GRPOTrainer(config=config, run_dir=run_dir, resume=resume, view=view)
    return await trainer.train(num_steps=steps)


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


def weights(checkpoint: Path) -> dict[str, torch.Tensor]:
    return load_file(checkpoint / "adapter_model.safetensors")


@pytest.mark.slow
async def test_the_right_program_is_likelier_than_the_other_on_held_out_problems(
    place: Path,
) -> None:
    bank = fill(place / "bank", by_kind)
    config = settings(place, "warm", bank, warm_start_epochs=10, learning_rate=1e-2, save_every=99)
    before = gains(config, (await train(settings(place, "cold", None), place)).checkpoint)
    after = gains(config, (await train(config, place)).checkpoint)
    assert max(before["ask"]) < 0
    assert min(map(min, after.values())) > 1.0


@pytest.mark.slow
async def test_a_policy_that_has_learned_the_form_prefers_no_program(place: Path) -> None:
    """Whatever was right in the bank."""
    bank = fill(place / "bank", by_kind)
    shape = {"warm_start_epochs": 4, "learning_rate": 1e-2, "save_every": 99}
    config = settings(place, "form", bank, warm_start_mode="form", **shape)
    after = gains(config, (await train(config, place)).checkpoint)
    assert all(abs(gain) < 0.3 for of_kind in after.values() for gain in of_kind)


@pytest.mark.slow
async def test_the_rate_of_the_steps_is_not_the_warm_starts(place: Path) -> None:
    bank = fill(place / "bank", by_kind)
    one = await train(settings(place, "one", bank, learning_rate=1e-3), place)
    rates = {"learning_rate": 1.0, "warm_start_learning_rate": 1e-3}
    two = await train(settings(place, "two", bank, **rates), place)
    require_equal(weights(one.checkpoint), weights(two.checkpoint))


class Listing(SilentView):
    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, text: str) -> None:
        self.stages.append(text)


@pytest.mark.slow
async def test_a_warm_start_alone_estimates_no_steps(place: Path) -> None:
    bank, shown = fill(place / "bank", by_kind), (Listing(), Listing())
    for steps, view in enumerate(shown):
        await train(settings(place, f"steps_{steps}", bank), place, steps, view=view)
    estimated = [any(line.startswith("estimate: ") for line in view.stages) for view in shown]
    assert estimated == [False, True]


@pytest.mark.slow
async def test_what_is_taught_is_said_once_before_the_first_update_and_as_the_dry_run_says_it(
    place: Path,
) -> None:
    bank, view = fill(place / "bank", by_kind), Listing()
    config = settings(place, "said", bank, warm_start_epochs=2)
    await train(config, place, view=view)
    options = warm_start_options(config)
    plan = WarmStartPlan.of(options, problem_file(config.data.train_file), None)
    assert isinstance(plan, WarmStartPlan)
    first, last = [line for line in view.stages if line.startswith("warm start: ")]
    assert first == foretold(options, plan)
    assert first == (
        "warm start: 16 of the bank's 16 training problems teach 2 programs (math 16 of 16): 8 updates"
    )
    assert last.startswith("warm start: 8 updates, loss ")


class Counting(SilentView):
    """The count of each part, and what is said beside it."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def part(
        self, name: str, total: int = 0, unit: str = "", done: int = 0, *, begun: bool = False
    ) -> None:
        self.told.append((name, done, total))

    def did(self, count: int = 1) -> None:
        name, done, total = next(one for one in reversed(self.told) if isinstance(one, tuple))
        self.told.append((name, done + count, total))

    def doing(self, text: str) -> None:
        self.told.append(text)


@pytest.mark.slow
async def test_the_updates_of_the_warm_start_are_counted_as_they_end(place: Path) -> None:
    view = Counting()
    bank = fill(place / "bank", by_kind)
    await train(settings(place, "named", bank, save_every=1), place, view=view)
    counts = [one for one in view.told if isinstance(one, tuple) and one[0] == "warm start"]
    assert counts == [("warm start", done, 4) for done in range(5)]
    written = view.told.index("writing the checkpoint step_0")
    assert view.told[written + 1] == "", "the remark ends with the writing"
    assert sum(str(one).startswith("loss ") for one in view.told) == 4


@pytest.mark.slow
async def test_a_bank_in_which_all_are_wrong_changes_no_weight(place: Path) -> None:
    wrong = fill(place / "wrong", lambda one, kind: 0.0)
    view = Listing()
    taught = await train(settings(place, "taught", wrong), place, view=view)
    said = next(line for line in view.stages if line.startswith("warm start: "))
    assert said.endswith("(math none: no program was right there): 0 updates")
    untaught = await train(settings(place, "untaught", None), place)
    require_equal(weights(taught.checkpoint), weights(untaught.checkpoint))
    assert warm_start(taught)["warm_start/updates"] == 0.0
    assert "warm_start" not in json.loads((untaught.run_dir / "run.json").read_text())


@pytest.mark.slow
async def test_a_problem_on_which_all_are_wrong_teaches_nothing(place: Path) -> None:
    some = fill(place / "some", lambda one, kind: float(kind == "ask" and "/ask/" in one.id))
    only = fill(place / "only", by_kind, [one for one in PROBLEMS if "/ask/" in one.id])
    found = [
        await train(settings(place, bank.name, bank, learning_rate=1e-2), place)
        for bank in (some, only)
    ]
    require_equal(*(weights(result.checkpoint) for result in found))
    assert warm_start(found[0])["warm_start/problems"] == len(TRAINED)


def test_each_epoch_teaches_a_problem_at_a_budget_of_its_own(place: Path) -> None:
    lessons = {
        word: [ImitationTarget(one, ((n,),), (1.0,)) for one in PROBLEMS]
        for n, word in enumerate(BUDGETS)
    }
    config = settings(place, "any", None, warm_start_epochs=4)
    priced = warm_start_options(config.model_copy(update={"reward": RewardConfig(scheme="priced")}))
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
    silent = batches_of({"middle": lessons["middle"]}, warm_start_options(config))
    assert {word for batch in silent for _, word in batch} == {None}


@pytest.mark.slow
async def test_a_budget_is_learned_from_its_word(place: Path) -> None:
    """Both programs are right everywhere, one of them dearer and a little more often."""

    def right(one: Problem, kind: str) -> float:
        return 1.0 if kind == "sum" else 0.9

    bank = fill(place / "bank", right, cost={"sum": 800.0, "ask": 50.0})
    shape = {"warm_start_epochs": 40, "learning_rate": 1e-2, "save_every": 99}
    config = settings(place, "told", bank, **shape)
    config = config.model_copy(update={"reward": RewardConfig(scheme="priced")})
    checkpoint = (await train(config, place)).checkpoint
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


class Killing(SilentView):
    """Ends the process, so to speak, while it works on an update."""

    def __init__(self) -> None:
        self._updates = 0

    def did(self, count: int = 1) -> None:
        self._updates += count
        if self._updates == 3:
            raise KilledError


@pytest.mark.slow
async def test_a_stage_that_is_killed_and_resumed_ends_as_if_it_had_not_been(place: Path) -> None:
    bank = fill(place / "bank", by_kind)
    shape = {"learning_rate": 5e-3, "save_every": 2, "warm_start_epochs": 2}
    unbroken, broken = (settings(place, name, bank, **shape) for name in ("unbroken", "broken"))
    whole = await train(unbroken, place, 1)
    with pytest.raises(KilledError):
        await train(broken, place, 1, view=Killing())
    state = json.loads((place / "broken/tiny/grpo_mixed/step_0/state.json").read_text())
    assert len(state["warm_start"]["losses"]) == 2
    assert state["warm_start"]["bank_sha256"] == Bank(bank).sha256()
    resumed = await train(broken, place, 1, resume=True)
    require_equal(weights(resumed.checkpoint), weights(whole.checkpoint))
    assert (resumed.run_dir / "metrics.jsonl").read_bytes() == (
        whole.run_dir / "metrics.jsonl"
    ).read_bytes()
    assert (resumed.run_dir / "rollouts.jsonl").read_bytes() == (
        whole.run_dir / "rollouts.jsonl"
    ).read_bytes()
    (first,) = read_steps(whole.run_dir)
    assert first["warm_start/updates"] == 8.0
    assert first["warm_start/loss_last"] < first["warm_start/loss_first"]
    assert warm_start(whole)["bank_sha256"] == Bank(bank).sha256()
    shutil.rmtree(bank)  # a stage that is over asks no more of it
    assert (await train(broken, place, 1, resume=True)).steps == 1


@pytest.mark.slow
async def test_a_dry_run_of_a_resume_refuses_what_the_resume_refuses(place: Path) -> None:
    config = settings(place, "cold", None)
    checkpoint = (await train(config, place)).checkpoint
    assert _estimate(config, checkpoint)
    warm = settings(place, "cold", fill(place / "bank", by_kind))
    with pytest.raises(
        ConfigError, match=r"^training\.warm_start: .* began without one, and it is"
    ):
        _estimate(warm, checkpoint)


@pytest.mark.slow
async def test_a_bank_that_changes_while_the_stage_stands_still_is_one_line(place: Path) -> None:
    bank = fill(place / "bank", by_kind)
    config = settings(place, "broken", bank, save_every=2, warm_start_epochs=2)
    with pytest.raises(KilledError):
        await train(config, place, view=Killing())
    with Bank.writing(bank, {}) as open_bank:
        open_bank.add(RunRecord(program("sum").key, PROBLEMS[0].id, 1, 0.0, 1.0, 2, 1, "ok"))
    with pytest.raises(
        DataError, match=r"^training\.warm_start: .*bank has changed since the stage"
    ):
        await train(config, place, resume=True)
    without = config.model_copy(
        update={"training": config.training.model_copy(update={"warm_start": None})}
    )
    with pytest.raises(ConfigError, match=r"^training\.warm_start: .* began with one, and none is"):
        await train(without, place, resume=True)
    form = settings(
        place, "broken", bank, save_every=2, warm_start_epochs=2, warm_start_mode="form"
    )
    with pytest.raises(ConfigError, match=r"^training\.warm_start_mode: the stage began as best"):
        await train(form, place, resume=True)


async def test_a_bank_of_no_use_is_one_line_before_models_are_loaded(place: Path) -> None:
    others = fill(place / "others", by_kind, [problem("sum", n) for n in HELD_OUT])
    with pytest.raises(DataError, match=r"none of its 2 problems is one of the 16 training"):
        await train(settings(place, "a", others), place)
    with pytest.raises(DataError, match=r"training\.warm_start: .* is no bank \(no runs\.jsonl\)"):
        await train(settings(place, "b", place), place)
    broken = fill(place / "broken", by_kind)
    with (broken / "runs.jsonl").open("a") as file:
        file.write('{"program": 3}\n')
    with pytest.raises(DataError, match=r"runs\.jsonl:33: 'program' is 3; remove that line"):
        await train(settings(place, "c", broken), place)


async def test_programs_too_long_for_the_policy_are_one_line(place: Path) -> None:
    config = settings(place, "short", fill(place / "bank", by_kind))
    sampling = config.sampling.model_copy(update={"max_new_tokens": 5})
    with pytest.raises(DataError, match=r"no program .* form body with 5 tokens"):
        await train(config.model_copy(update={"sampling": sampling}), place)


def warm_start(result: TrainingResult) -> dict[str, Any]:
    return dict(json.loads((result.run_dir / "run.json").read_text())["warm_start"])


def require_equal(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[key], wanted[key]) for key in wanted)
