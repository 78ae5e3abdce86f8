"""Log-probs in bfloat16, and what the bar on the gap between sampling and update catches.

    python benchmarks/half_precision.py [--model smollm2-135m] [--temperature 0.7]

Prompts are those of real problems; programs are sampled in bfloat16 by the product's own sampler.
Anchor: the packed update in float32 of the same weights and ids. Then what faults make of the same
gap, which is measured in the same way: each must lie clear of the bar, or the bar does not see it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from real_problems import real_problems

from llm_as_judge.assembly import model_weights, policy_prompt
from llm_as_judge.config import load_config
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.training.learner import ROUNDING_FACTOR, ROUNDING_LIMIT
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from llm_as_judge.training.reference import naive_logprobs
from llm_as_judge.types import Completion, Sampling

SAMPLES, NEW_TOKENS = 6, 96
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
Groups = Sequence[Sequence[Completion]]


class HeadInFloat32(torch.nn.Module):
    """The same logits, not rounded to 8 bits."""

    def __init__(self, head: torch.nn.Linear) -> None:
        super().__init__()
        self.weight = head.weight.detach().float()

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(hidden.float(), self.weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2-135m", help="a name in models.yaml, pulled")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--per-set", type=int, default=1, help="problems of each of the six sets")
    args = parser.parse_args()
    config = load_config("smoke")
    weights = model_weights(config, args.model, "--model")
    half, single = (
        load_policy(weights, adapter=AdapterSpec(8, 16, LINEAR), device="cpu", dtype=dtype)
        for dtype in ("bfloat16", "float32")
    )
    prompt = policy_prompt(config)
    problems = [p for rows in real_problems(args.per_set).values() for p in rows]
    prompts = prompt.write(problems)
    wanted = Sampling(SAMPLES, args.temperature, NEW_TOKENS, seed=0)

    groups = HFSampler(half).complete(prompts, wanted)
    truth = packed(single, groups, args.temperature)
    sampler, update = sampled(groups), packed(half, groups, args.temperature)
    own = naive(half, groups, args.temperature)
    print(f"{args.model}, temperature {args.temperature}: {len(truth)} tokens, mean |gap| in nats")
    show("update of bfloat16, from float32", update, truth)
    show("the naive update of bfloat16, from float32", own, truth)
    show("sampler of bfloat16, from float32", sampler, truth)
    gap = show("sampler from update, both bfloat16", sampler, update)
    rounding = show("update from naive update, both bfloat16", update, own)

    head = half.base.lm_head
    half.base.lm_head = HeadInFloat32(head)
    again = HFSampler(half).complete(prompts, wanted)  # rounded otherwise: other programs
    show(
        "sampler from update, head alone in float32",
        sampled(again),
        packed(half, again, args.temperature),
    )
    half.base.lm_head = head
    exact = HFSampler(single).complete(prompts, wanted)
    show(
        "sampler from update, both float32",
        sampled(exact),
        packed(single, exact, args.temperature),
    )

    bar = max(3e-2, min(ROUNDING_FACTOR * rounding, ROUNDING_LIMIT))
    print(f"bar {bar:.2e}; the gap is {gap / rounding:.2f} of the rounding. Faults, update's side:")
    for name, fault in faults(half, groups, args.temperature).items():
        found = (sampler - fault()).abs().mean().item()
        print(f"  {name:44} {found:.2e}  {'caught' if found > bar else 'NOT caught'}")
    print("The same in float32, the greatest (bar 1e-4):")
    for name, fault in faults(single, exact, args.temperature).items():
        found = (sampled(exact) - fault()).abs().max().item()
        print(f"  {name:44} {found:.2e}  {'caught' if found > 1e-4 else 'NOT caught'}")


def faults(
    policy: Policy, groups: Groups, temperature: float
) -> dict[str, Callable[[], torch.Tensor]]:
    """What an update would compute that was wired wrongly."""

    def shifted() -> torch.Tensor:
        return packed(policy, groups, temperature)[torch.arange(len(sampled(groups))) - 1]

    def cut() -> torch.Tensor:
        short = [[replace(c, prompt_ids=c.prompt_ids[1:]) for c in group] for group in groups]
        return packed(policy, short, temperature)

    def without_examples() -> torch.Tensor:
        short = [[replace(c, prompt_ids=c.prompt_ids[-200:]) for c in group] for group in groups]
        return packed(policy, short, temperature)

    def another_adapter(scale: float) -> Callable[[], torch.Tensor]:
        def moved() -> torch.Tensor:
            before = policy.adapter_state()
            torch.manual_seed(0)
            state = {
                name: torch.randn_like(value) * scale if "lora_B" in name else value
                for name, value in before.items()
            }
            policy.load_adapter_state(state)
            found = packed(policy, groups, temperature)
            policy.load_adapter_state(before)
            return found

        return moved

    return {
        "temperature 1.5 times as high": lambda: packed(policy, groups, 1.5 * temperature),
        "temperature 1.1 times as high": lambda: packed(policy, groups, 1.1 * temperature),
        "log-probs of the token before": shifted,
        "the prompt without its first token": cut,
        "the prompt's last 200 tokens alone": without_examples,
        "another adapter: B of deviation 1e-2": another_adapter(1e-2),
        "another adapter: B of deviation 1e-3": another_adapter(1e-3),
        "another adapter: B of deviation 2e-4 (a step)": another_adapter(2e-4),
    }


def sampled(groups: Groups) -> torch.Tensor:
    return torch.tensor([p for group in groups for c in group for p in c.logprobs])


def packed(policy: Policy, groups: Groups, temperature: float) -> torch.Tensor:
    prompts = [group[0].prompt_ids for group in groups]
    tree = pack_tree(prompts, [[c.token_ids for c in group] for group in groups], policy.device)
    with torch.no_grad(), packed_attention(policy.base):
        return packed_logprobs(policy.base, tree, temperature=temperature)[0]


def naive(policy: Policy, groups: Groups, temperature: float) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat(
            [
                naive_logprobs(policy.base, c.prompt_ids, c.token_ids, temperature=temperature)[0]
                for group in groups
                for c in group
            ]
        )


def show(name: str, one: torch.Tensor, other: torch.Tensor) -> float:
    gap = (one - other).abs()
    print(f"  {name:44} {gap.mean():.2e}  greatest {gap.max():.2e}")
    return gap.mean().item()


if __name__ == "__main__":
    main()
