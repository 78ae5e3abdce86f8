"""A real policy of a few thousand weights, so that every part is tested for real in seconds.

The tiny model has a small tokenizer with a chat template and has been fitted for a moment to
three texts: about half of what it then writes are valid programs, which is what an update needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

# A busy machine draws examples slowly, and is no reason to fail: no clock decides a test.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

# Tiny matrices: a second thread costs more than it gives, and on a busy machine far more.
torch.set_num_threads(1)

CHAT_TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>{% endif %}"
)
FIT_STEPS = 150
TEXTS = (
    'r = await answer_generate(input=problem)\nreturn r["answer"]\n```',
    'r = await custom(input=problem, instruction="x")\nreturn r["response"]\n```',
    "the answer is 4\n```",
)


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


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Safetensors folder of the tiny policy."""
    folder = tmp_path_factory.mktemp("tiny_policy")
    tokenizer = byte_tokenizer()
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(
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
    )
    _fit(model, tokenizer)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Safetensors folder of a sentence model of random weights."""
    folder = tmp_path_factory.mktemp("tiny_encoder")
    tokenizer = byte_tokenizer()
    torch.manual_seed(0)
    BertModel(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            pad_token_id=tokenizer.pad_token_id,
        )
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def fluent_weights(tiny_weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny policy, fitted on to one program: most of what it writes runs."""
    folder = tmp_path_factory.mktemp("fluent_policy")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tiny_weights)
    torch.manual_seed(0)
    model = Qwen2ForCausalLM.from_pretrained(tiny_weights)
    model.train()
    _fit(model, tokenizer, TEXTS[:1], enough=1e-3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _fit(
    model: Any, tokenizer: Any, texts: tuple[str, ...] = TEXTS, *, enough: float = 0.0
) -> None:
    """Any prompt, then one of ``texts``: prompts are random bytes, so that all prompts serve.

    Args:
        enough: loss to stop at. One text is soon learned, and Adam's steps on what is left of its
            gradient are large: how the weights end is then a matter of rounding.
    """
    opening = tokenizer("<|end|><|start|>```python\n")["input_ids"]
    bodies = [tokenizer(text)["input_ids"] for text in texts]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(FIT_STEPS):
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
        if loss.item() < enough:
            return
