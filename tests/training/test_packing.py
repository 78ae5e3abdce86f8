"""The packed computation equals one unpadded row per completion."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from llm_as_judge.training.packing import pack_tree, packed_attention, packed_logprobs

CPU = torch.device("cpu")
SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
FAMILIES = {
    "qwen2": lambda **k: Qwen2ForCausalLM(Qwen2Config(**SIZES, **k)),
    "qwen3": lambda **k: Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=8, **k)),
    "llama": lambda **k: LlamaForCausalLM(LlamaConfig(**SIZES, **k)),
}
COMMON = [5, 9, 3, 44, 17, 8]
PROMPTS = [[*COMMON, 21, 2], [*COMMON, 30, 31, 32, 33]]
COMPLETIONS = [[[1, 2, 3], [4], [1, 2, 9, 9, 7]], [[6, 5], [6, 5, 4, 3]]]


def tiny(family: str, *, tied: bool = False) -> Any:
    torch.manual_seed(0)
    base = FAMILIES[family](tie_word_embeddings=tied)
    model = get_peft_model(
        base, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj"])
    )
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


def naive_logprobs(base: Any, prompt: list[int], completion: list[int], t: float) -> torch.Tensor:
    ids = torch.tensor([prompt + completion])
    logits = base(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    rows = torch.log_softmax(logits.float() / t, -1)
    return rows.gather(-1, torch.tensor(completion)[:, None])[:, 0]


def gradients(model: Any) -> dict[str, torch.Tensor]:
    found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("recompute", [False, True], ids=["stored", "recomputed"])
def test_packed_logprobs_and_gradients_equal_the_naive_ones(
    family: str, tied: bool, recompute: bool
) -> None:
    model = tiny(family, tied=tied)
    base = model.get_base_model()
    flat = [(p, c) for p, group in zip(PROMPTS, COMPLETIONS, strict=True) for c in group]
    wanted = torch.cat([naive_logprobs(base, p, c, 0.7) for p, c in flat])
    weights = torch.linspace(-1, 1, len(wanted))
    (wanted * weights).sum().backward()
    wanted_gradients = gradients(model)

    if recompute:
        base.activation_checkpointing_enable({"use_reentrant": False})
        base.enable_input_require_grads()
        model.train()
    tree = pack_tree(PROMPTS, COMPLETIONS, CPU)
    with packed_attention(base):
        found, _ = packed_logprobs(base, tree, temperature=0.7, chunk=4)
        (found * weights).sum().backward()
    found_gradients = gradients(model)

    assert torch.allclose(found, wanted, atol=2e-6, rtol=0)
    assert wanted_gradients.keys() == found_gradients.keys()
    for name, gradient in wanted_gradients.items():
        assert torch.allclose(found_gradients[name], gradient, atol=2e-6, rtol=1e-4), name


@pytest.mark.parametrize(
    ("prompts", "completions"),
    [
        pytest.param([[1, 2]], [[[3]]], id="one completion of one token"),
        pytest.param([[1, 2, 3]], [[[4, 5], [4, 5], [6]]], id="one prompt"),
        pytest.param([[1, 2, 3], [7, 8, 9]], [[[4]], [[5, 6]]], id="nothing shared"),
        pytest.param([[1, 2, 3], [1, 2, 4]], [[[4]], [[5, 6]]], id="last token differs"),
        pytest.param([[1, 2, 3], [1, 2, 3]], [[[4]], [[5, 6]]], id="equal prompts"),
    ],
)
def test_edges_of_the_tree_equal_the_naive_computation(
    prompts: list[list[int]], completions: list[list[list[int]]]
) -> None:
    base = tiny("qwen2").get_base_model()
    with torch.no_grad():
        with packed_attention(base):
            found, entropy = packed_logprobs(base, pack_tree(prompts, completions, CPU))
        flat = [(p, c) for p, group in zip(prompts, completions, strict=True) for c in group]
        wanted = torch.cat([naive_logprobs(base, p, c, 1.0) for p, c in flat])
    assert torch.allclose(found, wanted, atol=2e-6, rtol=0)
    assert ((entropy > 0) & (entropy < torch.log(torch.tensor(97.0)))).all()


def test_prompt_tokens_are_packed_once() -> None:
    tree = pack_tree(PROMPTS, COMPLETIONS, CPU)
    # root 6, rests (8-6-1) + (10-6-1), leaves 3+1+5 and 2+4
    assert tree.input_ids_1N.numel() == 6 + 1 + 3 + 9 + 6
    assert tree.leaf_lengths == (3, 1, 5, 2, 4)


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
