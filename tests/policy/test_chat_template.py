"""The policy's prompt under a template that can think, as Qwen3's: it must not, for any sampler."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from llm_as_judge.errors import ModelError
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.chat_template import REPLY_PREFIX, prompt_ids, require_chat_template
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.policy.vllm import ServerLimits, open_vllm
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from llm_as_judge.types import Message, Sampling
from running_app import running
from streams import prompts, sync_weights
from tiny_models import naive_logprobs, tiny_policy
from vllm_server import ScriptedVllm

THINKING = (
    "{% for m in messages %}{% set text = m['content'] %}"
    "{% if m['role'] == 'assistant' and '</think>' in text %}"
    "{% set text = text.split('</think>')[-1] %}{% endif %}"
    "<|start|>{{ m['role'] }}\n{{ text }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""Where it matters as the template that Qwen3 ships: asked not to think, it writes an empty block;
of an assistant's message it keeps what follows the last ``</think>``."""
MESSAGES = [
    Message("system", "Write programs."),
    Message("user", "Problem: 1 + 1?"),
    Message("assistant", '```python\nreturn "</think>2"\n```'),
    Message("user", "Problem: what does </think><|end|> mean?"),
]
OTHER = [Message("system", "Write programs."), Message("user", "Problem: 2 + 2?")]


@pytest.fixture(scope="module")
def thinking_weights(tiny_weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny policy with the template and, as Qwen3's tokenizer has them, its two tags."""
    folder = tmp_path_factory.mktemp("thinking") / "policy"
    shutil.copytree(tiny_weights, folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tiny_weights)
    tokenizer.chat_template = THINKING
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def policy(thinking_weights: Path) -> Policy:
    return tiny_policy(thinking_weights)


def tagged(tokenizer: Any) -> Any:
    """With the tags as added tokens that are not special."""
    tokenizer.add_tokens(["<think>", "</think>"], special_tokens=False)
    return tokenizer


def test_the_prompt_ends_with_an_empty_thought_and_the_start_of_a_program(policy: Policy) -> None:
    text = policy.tokenizer.decode(prompt_ids(policy.tokenizer, MESSAGES))
    assert text.endswith(f"<|start|>assistant\n<think>\n\n</think>\n\n{REPLY_PREFIX}")
    assert text.count("<think>") == 1


def test_a_template_that_cannot_think_writes_no_thought(tiny_weights: Path) -> None:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tiny_weights)
    assert "think>" not in tokenizer.decode(prompt_ids(tokenizer, OTHER))


def test_tags_in_a_message_are_text_and_cut_no_example(thinking_weights: Path) -> None:
    tokenizer = tagged(PreTrainedTokenizerFast.from_pretrained(thinking_weights))
    ids = prompt_ids(tokenizer, MESSAGES)
    text = tokenizer.decode(ids)
    assert ids.count(tokenizer.convert_tokens_to_ids("</think>")) == 1
    assert ids.count(tokenizer.convert_tokens_to_ids("<|end|>")) == len(MESSAGES)
    assert 'return "<\u200b/think>2"' in text


async def test_every_sampler_and_both_ways_of_the_update_read_the_same_prompt(
    policy: Policy, tmp_path: Path
) -> None:
    wanted = [prompt_ids(policy.tokenizer, messages) for messages in (MESSAGES, OTHER)]
    groups = HFSampler(policy).complete(prompts([MESSAGES, OTHER]), Sampling(2, 1.0, 12, seed=3))
    assert [list(group[0].prompt_ids) for group in groups] == wanted
    assert await _asked_of_a_server(policy, [MESSAGES, OTHER], tmp_path) == sorted(wanted)

    base = policy.model.get_base_model()
    completions = [[list(c.token_ids) for c in group] for group in groups]
    sampled = torch.tensor([x for group in groups for c in group for x in c.logprobs])
    with torch.no_grad():
        rows = [(p, c) for p, cs in zip(wanted, completions, strict=True) for c in cs]
        naive = torch.cat([naive_logprobs(base, prompt, row, 1.0) for prompt, row in rows])
        with packed_attention(base):
            tree = pack_tree(wanted, completions, torch.device("cpu"))
            packed, _ = packed_logprobs(base, tree, temperature=1.0)
    assert torch.allclose(naive, sampled, atol=1e-5)
    assert torch.allclose(packed, sampled, atol=1e-5)


async def _asked_of_a_server(
    policy: Policy, messages_P: Sequence[list[Message]], folder: Path
) -> list[list[int]]:
    server = ScriptedVllm()
    limits = ServerLimits(generation_batch_size=4, timeout_s=20, retries=0)
    async with (
        running(server.app) as url,
        open_vllm(policy, f"{url}/v1", folder, limits, temperature=1.0) as sampler,
    ):
        synced = await sync_weights(sampler)
        await synced.sample(messages_P, Sampling(1, 1.0, 9, seed=3))
    return sorted(body["prompt"] for body in server.asked)


TURNS = (
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] | trim }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
REFUSES_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}" + TURNS
)
ALTERNATES = (
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}{% endfor %}"
    + TURNS
)
DROPS_SYSTEM = (
    "{% set messages = messages | rejectattr('role', 'equalto', 'system') | list %}" + TURNS
)
FOLDED = (
    f"<|start|>user\nWrite programs.\n\nProblem: 2 + 2?<|end|>\n<|start|>assistant\n{REPLY_PREFIX}"
)


def with_template(weights: Path, template: str | None) -> Any:
    tokenizer = PreTrainedTokenizerFast.from_pretrained(weights)
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize(
    "template", [REFUSES_SYSTEM, ALTERNATES, DROPS_SYSTEM], ids=["refuses", "alternates", "drops"]
)
def test_without_a_system_role_the_system_text_begins_the_users_turn(
    tiny_weights: Path, template: str
) -> None:
    tokenizer = with_template(tiny_weights, template)
    require_chat_template(tokenizer)
    assert prompt_ids(tokenizer, OTHER) == tokenizer(FOLDED, add_special_tokens=False)["input_ids"]


def test_a_template_with_a_system_role_keeps_it(tiny_weights: Path) -> None:
    text = tokenizer_text(with_template(tiny_weights, TURNS))
    assert text.startswith("<|start|>system\nWrite programs.<|end|>")


def tokenizer_text(tokenizer: Any) -> str:
    return str(tokenizer.decode(prompt_ids(tokenizer, OTHER)))


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            None,
            "has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json)",
        ),
        (
            "{{ raise_exception('no\nlines') }}",
            "its chat template cannot be used: no lines; wanted",
        ),
        ("{% for m in messages %}", "its chat template cannot be used: "),
        ("{{ messages[0]['content'][0]['text'] }}", "its chat template drops the user's text"),
        ("{{ 1 // 0 }}", "its chat template cannot be used: "),
        ("{{ messages[0]['role'] }}", "its chat template drops the user's text"),
    ],
    ids=["none", "refuses all", "no jinja", "wants parts", "breaks", "drops all"],
)
def test_a_template_that_cannot_be_used_is_one_line(
    tiny_weights: Path, template: str | None, said: str
) -> None:
    with pytest.raises(ModelError) as caught:
        require_chat_template(with_template(tiny_weights, template))
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{tiny_weights}: ")
    assert str(caught.value).isprintable()
