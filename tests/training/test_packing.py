"""The packed computation equals one unpadded row per completion."""

# mypy: disable-error-code="no-untyped-call"
# torch's backward() has no types

from __future__ import annotations

from typing import Any

import pytest
import torch

from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.recompute import recompute_activations
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from tiny_models import FAMILIES, VOCABULARY, naive_logprobs, take_gradients, tiny

CPU = torch.device("cpu")
COMMON = [5, 9, 3, 44, 17, 8]
PROMPTS = [[*COMMON, 21, 2], [*COMMON, 30, 31, 32, 33]]
COMPLETIONS = [[[1, 2, 3], [4], [1, 2, 9, 9, 7]], [[6, 5], [6, 5, 4, 3]]]


RAGGED = (PROMPTS, COMPLETIONS)
STEPS: dict[str, tuple[list[list[int]], list[list[list[int]]]]] = {
    "tree, ragged": RAGGED,
    "group, ragged": ([PROMPTS[0]], [COMPLETIONS[0]]),
    "group, equal lengths": ([PROMPTS[0]], [[[1, 2, 3], [3, 2, 1]]]),
    "C = 1": (PROMPTS, [[[1], [2]], [[3], [4]]]),
    "K = 1": (PROMPTS, [[[1, 2, 3]], [[4, 5]]]),
    "C = 1, K = 1": ([[1, 2]], [[[3]]]),
    "equal completions": ([[1, 2, 3]], [[[4, 5], [4, 5], [6]]]),
    "one begins another": ([[1, 2, 3]], [[[4, 5], [4, 5, 6], [4, 5, 6], [4, 7, 6, 8], [9]]]),
    "nothing shared": ([[1, 2, 3], [7, 8, 9]], [[[4]], [[5, 6]]]),
    "last token differs": ([[1, 2, 3], [1, 2, 4]], [[[4]], [[5, 6]]]),
    "equal prompts": ([[1, 2, 3], [1, 2, 3]], [[[4]], [[5, 6]]]),
    "a prompt begins another": ([[1, 2, 3], [1, 2, 3, 4, 5]], [[[4]], [[5, 6], [7]]]),
}


def padded_logprobs(base: Any, flat: list[tuple[list[int], list[int]]], t: float) -> torch.Tensor:
    """As other trainers do it: prompts padded on the left, completions on the right."""
    before, after = (max(len(part[i]) for part in flat) for i in (0, 1))
    ids = torch.zeros(len(flat), before + after, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, (prompt, completion) in enumerate(flat):
        span = slice(before - len(prompt), before + len(completion))
        ids[row, span], mask[row, span] = torch.tensor(prompt + completion), 1
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    logits = base(input_ids=ids, attention_mask=mask, position_ids=positions).logits / t
    return torch.cat(
        [
            torch.log_softmax(logits[row, before - 1 : before - 1 + len(completion)], -1).gather(
                -1, torch.tensor(completion)[:, None]
            )[:, 0]
            for row, (_, completion) in enumerate(flat)
        ]
    )


def require_naive(
    model: Any,
    prompts: list[list[int]] = PROMPTS,
    completions: list[list[list[int]]] = COMPLETIONS,
    *,
    recompute: bool = False,
    padded: bool = False,
    temperature: float = 0.7,
    chunk: int = 4,
    most: float = 1e-5,
) -> dict[str, torch.Tensor]:
    """Packed log-probs and gradients are those of a naive computation; the gradients."""
    base = model.get_base_model()
    flat = [(p, c) for p, group in zip(prompts, completions, strict=True) for c in group]
    if padded:
        wanted = padded_logprobs(base, flat, temperature)
    else:
        wanted = torch.cat([naive_logprobs(base, p, c, temperature) for p, c in flat])
    weights = torch.linspace(-1, 2, len(wanted))
    (wanted * weights).sum().backward()
    wanted_gradients = take_gradients(model)

    if recompute:
        recompute_activations(base)
        model.train()
    with packed_attention(base):
        tree = pack_tree(prompts, completions, CPU)
        found, entropy = packed_logprobs(base, tree, temperature=temperature, chunk=chunk)
        (found * weights).sum().backward()
    found_gradients = take_gradients(model)

    assert torch.allclose(found, wanted, atol=most, rtol=0)
    assert ((entropy > 0) & (entropy < torch.log(torch.tensor(float(VOCABULARY))))).all()
    assert wanted_gradients.keys() == found_gradients.keys()
    for name, gradient in wanted_gradients.items():
        assert torch.allclose(found_gradients[name], gradient, atol=most, rtol=1e-4), name
    return wanted_gradients


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("recompute", [False, True], ids=["stored", "recomputed"])
def test_packed_logprobs_and_gradients_equal_the_naive_ones(
    family: str, tied: bool, recompute: bool
) -> None:
    require_naive(tiny(family, tied=tied), recompute=recompute, most=2e-6)


@pytest.mark.parametrize("padded", [False, True], ids=["one unpadded row each", "one padded batch"])
@pytest.mark.parametrize("recompute", [False, True], ids=["stored", "recomputed"])
@pytest.mark.parametrize("step", STEPS)
def test_every_shape_of_a_step_equals_the_naive_computation(
    step: str, recompute: bool, padded: bool
) -> None:
    model = tiny("qwen2", tied=True)
    require_naive(model, *STEPS[step], recompute=recompute, padded=padded, temperature=0.9, chunk=3)


def test_an_adapter_on_the_head_is_computed_too() -> None:
    model = tiny("llama", targets=("q_proj", "lm_head"))
    assert any("lm_head" in name for name in require_naive(model, temperature=1.0))


def test_what_sequences_begin_with_is_packed_once() -> None:
    tree = pack_tree(PROMPTS, COMPLETIONS, CPU)
    # root 6, rests (8-6-1) + (10-6-1); last tokens of prompts; inputs 1 2 | - | 1 2 9 9, and 6 | 6 5 4
    assert tree.input_ids_1N.numel() == 6 + 1 + 3 + 2 + 4 + 3
    assert tree.leaf_lengths == (3, 1, 5, 2, 4)
    again = pack_tree(PROMPTS, [[*group, *group] for group in COMPLETIONS], CPU)
    assert again.input_ids_1N.tolist() == tree.input_ids_1N.tolist()
    assert len(again.labels_L) == 2 * len(tree.labels_L)


def test_model_computes_as_before_after_a_packed_pass() -> None:
    base = tiny("llama").get_base_model()
    ids = torch.tensor([PROMPTS[0]])
    with torch.no_grad():
        before = base(input_ids=ids).logits
        with packed_attention(base):
            packed_logprobs(base, pack_tree(PROMPTS, COMPLETIONS, CPU))
        assert torch.equal(base(input_ids=ids).logits, before)


@pytest.mark.parametrize(
    ("prompts", "completions"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([[1]], [[[2]]], id="short prompt"),
        pytest.param([[1, 2]], [[[]]], id="empty completion"),
    ],
)
def test_what_has_no_logprob_is_refused(
    prompts: list[list[int]], completions: list[list[list[int]]]
) -> None:
    with pytest.raises(ValueError):
        pack_tree(prompts, completions, CPU)
