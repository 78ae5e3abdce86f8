"""Prompts remembered once for all their rows give the logits of a cache of each row's own."""

from __future__ import annotations

import pytest
import torch

from llm_as_judge.policy import decode, shared_prompts, slotted_prompts
from llm_as_judge.policy.decode import CopiedPrompts, DecodingBatch, decoding_batch
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.shared_prompts import SharedPrompts
from llm_as_judge.policy.slotted_prompts import SlottedPrompts
from tiny_models import VOCABULARY, tiny

K, MIXED = 3, "two kinds, mixed"
MATH, CODE = [5, 9, *range(2, 42)], [5, 9, *range(12, 52)]
PROMPTS = {
    "one prompt": [[5, 9, 3, 44, 17]],
    "a common beginning": [[5, 9, 3, 44, 17], [5, 9, 3, 8], [5, 9, 3, 8, 1, 2]],
    "nothing in common": [[5, 9, 3], [7], [8, 8, 8, 8]],
    MIXED: [[*MATH, 7], [*CODE, 1], [*MATH, 8, 8], [5, 9, 1], [*CODE, 1], [*MATH, 7]],
}


@pytest.mark.parametrize("slots", [False, True], ids=["rows come and go", "slots for good"])
@pytest.mark.parametrize(
    ("family", "name"), [*(("qwen3", name) for name in PROMPTS), ("qwen2", MIXED), ("llama", MIXED)]
)
@torch.inference_mode()
def test_all_ways_give_the_same_logits_while_rows_part_and_end(
    family: str, name: str, slots: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = PROMPTS[name]
    monkeypatch.setattr(slotted_prompts, "FIRST_SLOTS", shared_prompts.FIRST_BUFFER)
    policy = policy_on("cpu", family)
    shared: DecodingBatch = SlottedPrompts(policy, K + 1) if slots else SharedPrompts(policy)
    copied = CopiedPrompts(policy)
    assert torch.allclose(shared.begin(prompts), copied.begin(prompts), atol=1e-5)
    generator, rows = torch.Generator().manual_seed(0), len(prompts)
    apart = [row for row in range(rows) for _ in range(K)]
    parted = {0: apart, 2: [0, 0, *range(1, K * rows)], 3: [0, 0, *range(2, K * rows + 1)]}
    ended = {4: 2, 40: K - 1 if rows > 1 else 1}  # rows; at last a whole prompt's
    for step in range(70):  # buffers of 32 tokens grow twice
        chosen = parted.get(step)
        if step in ended:
            chosen = list(range(ended[step], rows))
        if chosen is not None:
            shared.keep(chosen)
            copied.keep(chosen)
            rows = len(chosen)
        tokens = torch.randint(VOCABULARY, (rows,), generator=generator)
        found, wanted = shared.step(tokens), copied.step(tokens)
        assert torch.allclose(found, wanted, atol=2e-5), step


def policy_on(device: str, family: str = "qwen2", **config: object) -> Policy:
    model = tiny(family)
    for name, value in config.items():
        setattr(model.get_base_model().config, name, value)
    return Policy(model, tokenizer=None, device=torch.device(device), dtype=torch.float32)


def test_slots_are_for_gpus_and_weights_that_lie_there_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # a batch makes its first tensor where the policy is, and here is no GPU
    monkeypatch.setattr(decode, "SlottedPrompts", lambda policy, rows: ("slots", rows))
    monkeypatch.setattr(decode, "SharedPrompts", lambda policy: ("rows", 0))
    rows: object = ("rows", 0)
    slots: object = ("slots", K)
    moving = {"rope_type": "dynamic", "factor": 2.0}
    assert decoding_batch(policy_on("cpu"), K) == rows
    assert decoding_batch(policy_on("cuda"), K) == slots
    assert decoding_batch(policy_on("cuda", rope_parameters=moving), K) == rows


def test_a_family_that_is_not_known_to_be_plain_has_a_cache_for_each_row() -> None:
    assert isinstance(decoding_batch(policy_on("cpu", model_type="gemma3"), K), CopiedPrompts)
