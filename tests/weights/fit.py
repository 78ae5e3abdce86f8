"""Make the weights in this folder again: ``python tests/weights/fit.py``.

Two policies of 115,776 weights each, in half precision, and their tokenizer. Tests load them and
never fit a policy themselves: how a fit ends is decided by rounding, which differs between processors.

``tiny``: any prompt, then one of three texts; about half of what it writes are valid programs.
``fluent``: any prompt, then one program; nearly all of what it writes runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

HERE = Path(__file__).parent
CHAT_TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>{% endif %}"
)
TEXTS = (
    'r = await answer_generate(input=problem)\nreturn r["answer"]\n```',
    'r = await custom(input=problem, instruction="x")\nreturn r["response"]\n```',
    "the answer is 4\n```",
)
TINY_STEPS, FLUENT_STEPS, RATE = 150, 300, 3e-3


def byte_tokenizer() -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        TEXTS * 20,  # merges: a program is a dozen tokens
        trainers.BpeTrainer(
            vocab_size=400,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=["<|pad|>", "<|start|>", "<|end|>"],
            show_progress=False,
        ),
    )
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|end|>",
        pad_token="<|pad|>",
        additional_special_tokens=["<|start|>"],
        chat_template=CHAT_TEMPLATE,
    )


def policy_shape(tokenizer: Any) -> Qwen2Config:
    """Two layers; the tests build the policies that they load of it, too."""
    return Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def fit(model: Any, tokenizer: Any, texts: tuple[str, ...], steps: int, *, cool: bool) -> None:
    """Any prompt, then one of ``texts``: prompts are random bytes, so that all prompts serve.

    Args:
        cool: let the rate fall to zero. One text is soon learned, and full steps on what is left of
            its gradient would lead away again.
    """
    opening = tokenizer("<|end|><|start|>```python\n")["input_ids"]
    bodies = [tokenizer(text)["input_ids"] for text in texts]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for step in range(steps):
        if cool:
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / steps)
        length = int(torch.randint(1, 200, ()))
        rows = [torch.randint(3, 259, (length,)).tolist() + opening + body for body in bodies]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        labels = ids.masked_fill(ids == 0, -100)
        labels[:, : length + len(opening)] = -100
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def save(model: Any, name: str) -> None:
    weights = {key: value.half().contiguous() for key, value in model.state_dict().items()}
    save_file(weights, HERE / f"{name}.safetensors")


def main() -> None:
    torch.set_num_threads(1)
    tokenizer = byte_tokenizer()
    tokenizer.save_pretrained(HERE / "tokenizer")
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(policy_shape(tokenizer))
    fit(model, tokenizer, TEXTS, TINY_STEPS, cool=False)
    save(model, "tiny")
    fit(model, tokenizer, TEXTS[:1], FLUENT_STEPS, cool=True)
    save(model, "fluent")


if __name__ == "__main__":
    main()
