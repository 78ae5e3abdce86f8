"""Comparison of loss presets on a small task, with the options of the `embedded` profile.

The task has what training here has: few samples of a problem (K = 6), a reward that is seldom unlike,
and noise in it. Four problems, each one token of prompt; a completion of three tokens is right if its
first token is the problem's. A right completion is paid with probability 0.85, a wrong one with 0.05;
two passes over each batch. The figure is the true chance of the right token, read from the policy and
averaged over the problems and the last quarter of the steps, at the better of two learning rates; seeds
are paired, so the difference from `grpo` stands beside it with its own standard error.

    python benchmarks/presets.py [--seeds 6] [--steps 60]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: waiting threads must not spin

import torch
from peft import LoraConfig, get_peft_model
from transformers import Qwen2Config, Qwen2ForCausalLM

from llm_as_judge.config import PRESETS
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.reference import UpdatePath
from llm_as_judge.types import (
    Completion,
    Group,
    Message,
    Problem,
    Program,
    Prompt,
    Reward,
    Rollout,
    Sampling,
)

PROBLEMS, SAMPLES, LENGTH, VOCABULARY = 4, 6, 3, 12
RATES = (2e-3, 6e-3)
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **PRESETS,
    "embedded": {
        **PRESETS["grpo"],
        "baseline": "leave_one_out",
        "advantage_norm": "batch",
        "loss_aggregation": "constant",
        "loss_type": "truncated_is",
    },
}


class TokenSampler(HFSampler):
    """Prompts and completions are bare ids; every completion has the same length."""

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        return [0, 1 + int(messages[0].content)]

    def _completion(self, prompt: list[int], row: Any) -> Completion:
        return Completion(
            tuple(prompt), tuple(row.ids), tuple(row.logprobs), "", row.stop, self._policy.version
        )

    def _finished(self, row: Any, *, last: bool) -> bool:
        return last


def fresh_policy(seed: int) -> Policy:
    torch.manual_seed(seed)
    base = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
        )
    )
    targets = ["q_proj", "v_proj", "up_proj", "down_proj", "lm_head"]
    model = get_peft_model(base, LoraConfig(r=8, lora_alpha=16, target_modules=targets)).eval()
    return Policy(model, tokenizer=None, device=torch.device("cpu"), dtype=torch.float32)


def chance(policy: Policy) -> float:
    """Mean probability of the right first token."""
    prompts = torch.tensor([[0, 1 + p] for p in range(PROBLEMS)])
    with torch.no_grad():
        logits = policy.model(input_ids=prompts).logits[:, -1]
    right = torch.tensor([VOCABULARY - 1 - p for p in range(PROBLEMS)])
    return float(logits.softmax(-1).gather(-1, right[:, None]).mean())


def paid(problem: int, completions: Sequence[Completion], luck: random.Random) -> Group:
    rollouts = []
    for index, completion in enumerate(completions):
        right = completion.token_ids[0] == VOCABULARY - 1 - problem
        reward = 10.0 if luck.random() < (0.85 if right else 0.05) else -5.0
        program = Program("", "")
        rollouts.append(
            Rollout(str(problem), index, completion, program, reward=Reward({}, reward))
        )
    return Group(Problem(str(problem), "gsm8k", "math", "?", ("2",)), tuple(rollouts))


def learn(options: Mapping[str, Any], rate: float, seed: int, steps: int) -> float:
    policy = fresh_policy(seed)
    learner = Learner(
        policy,
        LossOptions(**options, constant_tokens=LENGTH),
        OptimizerOptions(learning_rate=rate, epochs=2),
        path=UpdatePath("packed", "tested elsewhere"),
    )
    sampler, luck = TokenSampler(policy), random.Random(seed)
    prompts = [Prompt([Message("user", str(p))]) for p in range(PROBLEMS)]
    found = []
    for step in range(steps):
        sampled = sampler.complete(prompts, Sampling(SAMPLES, 1.0, LENGTH, seed=seed * 1000 + step))
        groups = [paid(p, group, luck) for p, group in enumerate(sampled)]
        learner.update(groups, temperature=1.0)
        if step >= steps - steps // 4:
            found.append(chance(policy))
    return statistics.fmean(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"chance at the start {chance(fresh_policy(0)):.3f}; {options.steps} steps")
    baseline: list[float] = []
    for name, chosen in OPTIONS.items():
        rows = {
            rate: [learn(chosen, rate, seed, options.steps) for seed in range(options.seeds)]
            for rate in RATES
        }
        rate, values = max(rows.items(), key=lambda row: statistics.fmean(row[1]))
        baseline = baseline or values  # the first option is grpo
        others = [a - b for a, b in zip(values, baseline, strict=True)]
        print(
            f"{name:9} {mean_and_error(values)} (worst {min(values):.3f}) at {rate:g}; from grpo's "
            f"{mean_and_error(others)}; by rate "
            + " ".join(f"{rate:g}: {statistics.fmean(row):.3f}" for rate, row in rows.items()),
            flush=True,
        )


def mean_and_error(values: Sequence[float]) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.fmean(values):+.3f} +- {error:.3f}"


if __name__ == "__main__":
    main()
