"""Prompts remembered once for all their rows give the logits of a cache of each row's own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from llm_as_judge.policy.decode import CopiedPrompts, SharedPrompts, decoding_batch
from llm_as_judge.policy.model import Policy
from tiny_models import FAMILIES, VOCABULARY, tiny

K = 3
MATH, CODE = [5, 9, *range(2, 42)], [5, 9, *range(12, 52)]
PROMPTS = {
    "one prompt": [[5, 9, 3, 44, 17]],
    "a common beginning": [[5, 9, 3, 44, 17], [5, 9, 3, 8], [5, 9, 3, 8, 1, 2]],
    "nothing in common": [[5, 9, 3], [7], [8, 8, 8, 8]],
    "two kinds, mixed": [[*MATH, 7], [*CODE, 1], [*MATH, 8, 8], [5, 9, 1], [*CODE, 1], [*MATH, 7]],
}


@pytest.mark.parametrize("prompts", PROMPTS.values(), ids=PROMPTS)
@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_both_ways_give_the_same_logits_while_rows_part_and_end(
    family: str, prompts: Sequence[Sequence[int]]
) -> None:
    model = tiny(family)
    policy = Policy(model, tokenizer=None, device=torch.device("cpu"), dtype=torch.float32)
    shared, copied = decoding_batch(policy), CopiedPrompts(policy)
    assert isinstance(shared, SharedPrompts)
    assert torch.allclose(shared.begin(prompts), copied.begin(prompts), atol=1e-5)
    generator, rows = torch.Generator().manual_seed(0), len(prompts)
    apart = torch.arange(rows).repeat_interleave(K)
    parted = {0: apart, 2: torch.tensor([0, 0, *range(1, K * rows)])}
    ended = {4: 2, 40: K - 1 if rows > 1 else 1}  # rows; at last a whole prompt's
    for step in range(70):  # buffers of 32 tokens grow twice
        chosen = parted.get(step)
        if step in ended:
            chosen = torch.arange(ended[step], rows)
        if chosen is not None:
            shared.keep(chosen)
            copied.keep(chosen)
            rows = len(chosen)
        tokens = torch.randint(VOCABULARY, (rows,), generator=generator)
        found, wanted = shared.step(tokens), copied.step(tokens)
        assert torch.allclose(found, wanted, atol=2e-5), step


def test_a_family_that_is_not_known_to_be_plain_has_a_cache_for_each_row() -> None:
    model = tiny("qwen2")
    model.get_base_model().config.model_type = "gemma3"
    policy = Policy(model, tokenizer=None, device=torch.device("cpu"), dtype=torch.float32)
    assert isinstance(decoding_batch(policy), CopiedPrompts)
