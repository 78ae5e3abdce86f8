"""A policy of a few thousand weights must reach the known optimum of a scripted task.

Two problems want two different programs, and the policy begins with neither: at a third each. The
optimum is the wanted program with probability 1 for each problem, which is read from the policy,
not estimated. Two rows a step and two passes over each batch, so that a group's advantages, the
mask over its tokens, the sum over rows and the ratio all take part. ``scripts/mutants.py`` breaks
each of these in turn and shows that this test then fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from llm_as_judge.config import PRESETS
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from llm_as_judge.types import Completion, Group, Message, Sampling
from streams import prompts
from tiny_models import tiny_policy
from two_problems import group_of

STEPS, SAMPLES, LIMIT = 40, 12, 40
WANTED = {
    "Problem: 1 + 1?": 'r = await answer_generate(input=problem)\nreturn r["answer"]\n```',
    "Task: name the capital.": (
        'r = await custom(input=problem, instruction="x")\nreturn r["response"]\n```'
    ),
}
# The head too: frozen, it bounds how sure so small a model can be of a token.
ADAPTER = AdapterSpec(16, 32, (*AdapterSpec().targets, "lm_head"))
PROMPTS = [[Message("user", text)] for text in WANTED]


def wanted_ids(policy: Policy) -> list[tuple[int, ...]]:
    encode = policy.tokenizer
    return [tuple(encode(body, add_special_tokens=False)["input_ids"]) for body in WANTED.values()]


def graded(completions: list[Completion], wanted: tuple[int, ...]) -> Group:
    """A completion is right if its ids are those its problem wants.

    Ids, not text: the same text in other tokens would be a second optimum.
    """
    return group_of(completions, [10.0 if c.token_ids == wanted else -5.0 for c in completions])


def chances(policy: Policy) -> list[float]:
    """Probability of the wanted program, for each problem, computed."""
    sampler = HFSampler(policy)
    found = []
    for prompt, wanted in zip(PROMPTS, wanted_ids(policy), strict=True):
        tree = pack_tree([sampler.prompt_ids(prompt)], [[wanted]], policy.device)
        with torch.no_grad(), packed_attention(policy.base):
            found.append(packed_logprobs(policy.base, tree)[0].sum().exp().item())
    return found


@pytest.mark.parametrize(
    "preset", [p if p == "grpo" else pytest.param(p, marks=pytest.mark.chaos) for p in PRESETS]
)  # loss and gradient of each are TRL's: test_trl_equality.py
def test_a_tiny_policy_reaches_the_known_optimum(preset: str, tiny_weights: Path) -> None:
    policy = tiny_policy(tiny_weights, ADAPTER, seed=0)
    learner = Learner(
        policy,
        LossOptions(**PRESETS[preset], constant_tokens=LIMIT),
        OptimizerOptions(learning_rate=2e-3, epochs=2, tokens_per_micro_batch=64),
    )
    assert learner.path.name == "packed"
    sampler = HFSampler(policy)
    wanted, start = wanted_ids(policy), chances(policy)
    assert all(0.05 < chance < 0.6 for chance in start)
    for step in range(STEPS):
        sampled = sampler.complete(prompts(PROMPTS), Sampling(SAMPLES, 1.0, LIMIT, seed=step))
        groups = [graded(*one) for one in zip(sampled, wanted, strict=True)]
        learner.update(groups, temperature=1.0)
        if min(chances(policy)) > 0.8:
            return
    pytest.fail(f"{preset}: from {start} to {chances(policy)} in {STEPS} steps, wanted > 0.8")
