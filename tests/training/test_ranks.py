"""Several processes learn what one learns, and none is waited for in vain.

Nothing is imitated: processes of their own, which talk by gloo.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from started_ranks import started
from test_learner import sampled
from torch.nn import Parameter

from llm_as_judge.assembly import load_policy_of
from llm_as_judge.config import Config
from llm_as_judge.policy.launched import launched
from llm_as_judge.policy.model import Policy
from llm_as_judge.training import ranks as ranks_module
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.ranks import Link, Peers, Ranks
from llm_as_judge.training.worker import serve_gradients
from llm_as_judge.types import Group
from own_config import only_models
from tiny_models import tiny_policy
from two_problems import group_of

STEPS, TREES = 5, 3
WHOLE = pytest.mark.skipif("RANKS" not in os.environ, reason="half a minute: `make ranks`")
TIMEOUT_S = 100.0


@dataclass(frozen=True)
class Lesson:
    """What every learner of this file learns from."""

    weights: Path
    steps: list[list[Group]]
    loss: LossOptions

    def policy(self) -> Policy:
        return tiny_policy(self.weights)

    def learned(self, policy: Policy, peers: Peers) -> dict[str, float]:
        """Metrics of the last step."""
        options = OptimizerOptions(learning_rate=1e-3, tokens_per_micro_batch=300)
        learner = Learner(policy, self.loss, options, peers=peers)
        learner.prepare()
        return [learner.update(groups, temperature=1.0) for groups in self.steps][-1]


@pytest.fixture(scope="module")
def lesson(tiny_weights: Path) -> Lesson:
    """Groups of uneven size, three a step: two processes get two and one, four have one too few."""
    loss = LossOptions(baseline="leave_one_out", advantage_norm="batch", loss_type="truncated_is")
    found = Lesson(tiny_weights, [], loss)
    writer = found.policy()
    for step in range(STEPS):
        found.steps.append(
            [
                group_of(
                    sampled(writer, 3 + tree, seed=10 * step + tree),
                    [10.0 if index % 2 else -5.0 + index for index in range(3 + tree)],
                )
                for tree in range(TREES)
            ]
        )
    return found


def lead(lesson: Lesson, folder: Path) -> None:
    """Rank 0: learn with the others and leave what came of it."""
    ranks = Ranks(Link(launched(), TIMEOUT_S))
    policy = lesson.policy()
    metrics = lesson.learned(policy, ranks)
    ranks.left(None)
    policy.save_adapter(folder)
    (folder / "metrics.json").write_text(json.dumps(metrics))


def follow(config: Config) -> None:
    """Any other rank, as the command line runs it."""
    serve_gradients(partial(load_policy_of, config), launched(), config.training.rank_timeout_s)


def killed_in_update(job: Callable[[], None], update: int) -> None:
    """``job``, killed in the middle of an update."""
    passes = 0
    whole = Link.reduce

    def reduce(link: Link, parameters: Sequence[Parameter]) -> None:
        nonlocal passes
        passes += 1
        if passes == update:
            os.kill(os.getpid(), signal.SIGKILL)
        whole(link, parameters)

    Link.reduce = reduce  # type: ignore[method-assign, assignment]
    job()


def killed_while_idle(config: Config) -> None:
    """Another rank, killed by the first word that asks nothing of it."""
    whole = Link.recv

    def recv(link: Link, rank: int) -> Any:
        said = whole(link, rank)
        if said["do"] == "stay":
            os.kill(os.getpid(), signal.SIGKILL)
        return said

    Link.recv = recv  # type: ignore[method-assign, assignment]
    follow(config)


def lead_idly(lesson: Lesson) -> None:
    """Rank 0 with nothing to compute, as while programs run for hours."""
    ranks_module.WORD_EVERY_S = 0.05
    ranks = Ranks(Link(launched(), TIMEOUT_S))
    Learner(lesson.policy(), lesson.loss, OptimizerOptions(), peers=ranks).prepare()
    asyncio.run(ranks.watch(asyncio.sleep(3600), asyncio.to_thread))


@pytest.fixture
def config(tmp_path: Path, tiny_weights: Path) -> Config:
    """Of the other ranks, whose only model is the tiny one."""
    only_models(tmp_path, tiny=tiny_weights)
    return Config.model_validate(
        {
            "policy": {"name": "tiny", "device": "cpu", "dtype": "float32"},
            "training": {"rank_timeout_s": TIMEOUT_S},
            "output": {"cache": str(tmp_path / "cache")},
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "kl"),
    [
        pytest.param(2, 0.0, id="two", marks=WHOLE),
        pytest.param(4, 0.0, id="more than groups", marks=WHOLE),
        pytest.param(2, 0.05, id="with KL to the base model"),
    ],
)
def test_after_five_steps_the_adapter_is_that_of_one_process(
    lesson: Lesson, config: Config, tmp_path: Path, count: int, kl: float
) -> None:
    lesson = replace(lesson, loss=lesson.loss.model_copy(update={"kl_weight": kl}))
    others = [partial(follow, config)] * (count - 1)
    alone = lesson.policy()
    start = alone.adapter_state()
    with started(
        tmp_path,
        partial(lead, lesson, tmp_path),
        *others,
        LLM_AS_JUDGE_CONFIG=str(tmp_path),
    ) as processes:
        metrics = lesson.learned(alone, Peers())
        assert processes.statuses() == [0] * count
    wanted = alone.adapter_state()
    found = load_file(tmp_path / "adapter_model.safetensors")
    moved = sum(float((weight - start[name]).pow(2).sum()) for name, weight in wanted.items())
    apart = sum(
        float((found[name.replace(".default", "")] - weight).pow(2).sum())
        for name, weight in wanted.items()
    )
    assert moved**0.5 > 1e-3
    # all weights together: AdamW moves a weight whose gradient is near zero by what rounding leaves of it
    gap = (apart / moved) ** 0.5
    print(f"\ngap to one process's adapter, of the way moved: {gap:.1e}")  # noqa: T201
    assert gap <= 5e-4
    told = json.loads((tmp_path / "metrics.json").read_text())
    assert told.keys() == metrics.keys()
    for name in told.keys() - {
        "time/update_s",
        "update/micro_batch_tokens",
    }:  # prompts packed otherwise
        assert told[name] == pytest.approx(metrics[name], rel=1e-3, abs=1e-5), name


@pytest.mark.slow
@pytest.mark.parametrize("victim", [pytest.param(0, marks=WHOLE), 2])
def test_a_process_that_is_killed_ends_the_others_with_one_line(
    lesson: Lesson, config: Config, tmp_path: Path, victim: int
) -> None:
    jobs = [partial(lead, lesson, tmp_path), partial(follow, config), partial(follow, config)]
    jobs[victim] = partial(killed_in_update, jobs[victim], 3)
    with started(tmp_path, *jobs, LLM_AS_JUDGE_CONFIG=str(tmp_path)) as processes:
        statuses = processes.statuses()
    assert statuses.pop(victim) == -signal.SIGKILL
    assert statuses == [1, 1]
    for rank in {0, 1, 2} - {victim}:
        is_told(processes.said(rank), rank)


def is_told(said: str, rank: int) -> None:
    assert said.startswith(f"rank {rank} of ")
    assert "cannot be reached any more" in said
    assert "start again with --resume" in said
    assert "\n" not in said


@pytest.mark.slow
def test_a_process_that_dies_while_nothing_is_computed_is_noticed(
    lesson: Lesson, config: Config, tmp_path: Path
) -> None:
    jobs = (partial(lead_idly, lesson), partial(killed_while_idle, config))
    with started(tmp_path, *jobs, LLM_AS_JUDGE_CONFIG=str(tmp_path)) as processes:
        assert processes.statuses() == [1, -signal.SIGKILL]
    is_told(processes.said(0), 0)


@pytest.mark.slow
def test_what_one_process_cannot_do_is_said_by_rank_0(
    lesson: Lesson, config: Config, tmp_path: Path
) -> None:
    other = config.model_copy(update={"policy": config.policy.model_copy(update={"name": "huge"})})
    jobs = (partial(lead, lesson, tmp_path), partial(follow, other))
    with started(tmp_path, *jobs, LLM_AS_JUDGE_CONFIG=str(tmp_path)) as processes:
        assert processes.statuses() == [1, 1]
    assert processes.said(0).startswith("rank 1 of 2: policy.name: no model 'huge' in models.yaml")
    assert "\n" not in processes.said(0)
