"""GRPO with groups of 6, 12 and 48 on a task whose optimum is known: what more programs a problem are worth.

A small policy first learns the form: whatever the problem, each of 64 programs alike. Each problem wants one
of them (reward 10, else -5), which it begins with at 1.6 %; the optimum is 10 everywhere. Sampler, advantages
and update are the product's, no executor takes part. The mean reward that the policy would have is computed
from its weights, not estimated from draws. Runs with more programs a problem get fewer updates, so that each writes as many
tokens; their beginnings compare equal numbers of updates.

    python benchmarks/group_size.py [--layers 4] [--width 256] [--seeds 3] [--processes 3]

Expected, written down before the first run on a GPU: at equal updates more programs win by far; at equal tokens groups of 12 are
level with those of 6 or better, and groups of 48 behind both.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from shapes import tokens

from training import EndlessSampler  # before torch: it sets how threads wait

import torch  # isort: skip
from transformers import AutoModelForCausalLM, Qwen2Config

from llm_as_judge.policy.adapter import AdapterSpec, new_adapter
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import Policy, pick_device
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.packing import pack_tree, packed_logprobs
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

SIZES = (6, 12, 48)
PLACES, CHOICES = 3, 4
"""A program is one token of four at each of three places."""
PROBLEMS, SHARED, OWN = 8, 48, 16
"""Tokens of a prompt: what all share, the rest."""
WORDS = 1024
RIGHT, WRONG = 10.0, -5.0
FORM_STEPS, FORM_ROWS, FORM_RATE = 200, 64, 1e-3
RATES = "1e-3,3e-3"

Ids = tuple[int, ...]
PROGRAMS: list[Ids] = [
    tuple(1 + CHOICES * place + choice for place, choice in enumerate(chosen))
    for chosen in itertools.product(range(CHOICES), repeat=PLACES)
]


def prompts() -> list[list[int]]:
    return [tokens(SHARED, 0) + [20 + p] * OWN for p in range(PROBLEMS)]


def with_form(layers: int, width: int, steps: int, device: torch.device, seed: int) -> Any:
    """A base model that writes each program alike after any prompt."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    config = Qwen2Config(
        vocab_size=WORDS,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        num_key_value_heads=max(1, width // 128),
        max_position_embeddings=1024,
    )
    base: Any = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").to(device)
    optimizer = torch.optim.AdamW(base.parameters(), lr=FORM_RATE)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = FORM_RATE * (1 - step / steps)
        rows = [
            [draw.randrange(20, WORDS) for _ in range(SHARED + OWN)] + list(draw.choice(PROGRAMS))
            for _ in range(FORM_ROWS)
        ]
        ids = torch.tensor(rows, device=device)
        labels = ids.clone()
        labels[:, : SHARED + OWN] = -100
        torch.autograd.backward(base(input_ids=ids, labels=labels).loss)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return base


class ProgramSampler(EndlessSampler):
    """Problem number n has the n-th prompt."""

    def prompt_ids(self, messages: Any) -> list[int]:
        return prompts()[int(messages[-1].content)]

    def _completion(self, prompt: list[int], row: Any) -> Completion:
        version = self._policy.version
        return Completion(tuple(prompt), tuple(row.ids), tuple(row.logprobs), "", "stop", version)


def graded(number: int, completions: Sequence[Completion], wanted: Ids) -> Group:
    rollouts = [
        Rollout(
            str(number),
            k,
            completion,
            Program("", ""),
            reward=Reward({}, RIGHT if completion.token_ids == wanted else WRONG),
        )
        for k, completion in enumerate(completions)
    ]
    return Group(Problem(str(number), "gsm8k", "math", "?", ("2",)), tuple(rollouts))


def mean_reward(policy: Policy, wanted_P: Sequence[Ids]) -> float:
    """Over all problems, computed from the wanted programs' probabilities."""
    tree = pack_tree(prompts(), [[wanted] for wanted in wanted_P], policy.device)
    with torch.no_grad(), packed_attention(policy.base):
        logprobs_PT = packed_logprobs(policy.base, tree)[0].reshape(PROBLEMS, PLACES)
    chances_P = logprobs_PT.float().sum(dim=1).exp().tolist()
    return statistics.fmean(WRONG + (RIGHT - WRONG) * chance for chance in chances_P)


def curve(base: Any, samples: int, updates: int, seed: int, rate: float) -> list[float]:
    """Mean reward before the first update and after each; the base is as it was afterwards."""
    wanted_P = random.Random(f"wanted {seed}").sample(PROGRAMS, PROBLEMS)
    torch.manual_seed(seed)
    model = new_adapter(base, AdapterSpec(16, 32))
    policy = Policy(model.eval(), tokenizer=None, device=base.device, dtype=base.dtype)
    path = UpdatePath("packed", "tested elsewhere")
    learner = Learner(policy, LossOptions(), OptimizerOptions(learning_rate=rate), path=path)
    sampler = ProgramSampler(policy, generation_batch_size=PROBLEMS * samples)
    asked = [Prompt([Message("user", str(p))]) for p in range(PROBLEMS)]
    found = [mean_reward(policy, wanted_P)]
    for step in range(updates):
        sampling = Sampling(samples, 1.0, PLACES, seed=1000 * seed + step)
        written = sampler.complete(asked, sampling)
        groups = [graded(p, group, wanted_P[p]) for p, group in enumerate(written)]
        learner.update(groups, temperature=1.0)
        found.append(mean_reward(policy, wanted_P))
    model.unload()
    return found


Curves = dict[int, list[float]]


def curves_of(
    seed: int, rate: float, layers: int, width: int, form: int, updates: dict[int, int]
) -> Curves:
    """By group size; in a process of its own."""
    torch.set_num_threads(1)
    device = pick_device("auto")
    base = with_form(layers, width, form, device, seed)
    return {size: curve(base, size, count, seed, rate) for size, count in updates.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256, help="a multiple of 128")
    parser.add_argument("--updates", type=int, default=320, help="of groups of 6; a multiple of 32")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", default=RATES, help="each group size has its best one")
    parser.add_argument("--form", type=int, default=FORM_STEPS, help="steps that teach the form")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for the curves")
    options = parser.parse_args()
    device = pick_device("auto")
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor"
    print(
        f"{options.layers} layers of {options.width}, {PROBLEMS} problems, {len(PROGRAMS)} programs, "
        f"on {where}, torch {torch.__version__}"
    )
    updates = {size: options.updates * SIZES[0] // size for size in SIZES}
    rates = [float(rate) for rate in options.rates.split(",")]
    runs = [(seed, rate) for rate in rates for seed in range(options.seeds)]
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        shape = options.layers, options.width, options.form
        futures = [pool.submit(curves_of, *run, *shape, updates) for run in runs]
        found = {run: future.result() for run, future in zip(runs, futures, strict=True)}
    if options.json:
        named = {f"{rate:g}/{seed}": one for (seed, rate), one in found.items()}
        options.json.write_text(json.dumps(named), encoding="utf-8")

    few = updates[SIZES[-1]]
    equal_updates = {f"{n} updates": dict.fromkeys(SIZES, n) for n in (few // 4, few // 2, few)}
    equal_programs = {
        f"{SIZES[0] * n * PROBLEMS} programs": {size: n * SIZES[0] // size for size in SIZES}
        for n in (options.updates // 4, options.updates // 2, options.updates)
    }
    print(
        f"mean reward of {options.seeds} seeds (lowest, highest), at a rate; the optimum is {RIGHT:g}"
    )
    for said, at in (equal_updates | equal_programs).items():
        cells = []
        for size in SIZES:
            ends = {
                rate: [found[seed, rate][size][at[size]] for seed in range(options.seeds)]
                for rate in rates
            }
            rate, of_best = max(ends.items(), key=lambda one: statistics.fmean(one[1]))
            mean, low, high = statistics.fmean(of_best), min(of_best), max(of_best)
            cells.append(f"K {size:2} {mean:5.2f} ({low:.2f}, {high:.2f}) {rate:g}")
        print(f"  after {said:15} {'   '.join(cells)}")


if __name__ == "__main__":
    main()
