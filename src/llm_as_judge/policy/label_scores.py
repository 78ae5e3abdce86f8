"""Log-odds of two label tokens at the end of short prompts: one packed row, no text written.

Prompts that begin alike share the computation of their beginning (``training/packing.py`` draws the
tree). Of the head only the rows of the two labels are multiplied, at the last tokens alone: a head over the whole
vocabulary costs more than a layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from llm_as_judge.errors import ModelError
from llm_as_judge.judge.scoring import LABELS, ROOT, LabelPrompt
from llm_as_judge.policy.attention import AttentionPlan, Node, packed_hidden, plan_attention

TEMPERATURE = 4.0
"""Of the labels: a model that was never asked so is sure of either for no reason, most of all one of
whose upper layers are left out, and learning would first have to make it doubt."""


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """Ids of a prompt without its root. Prompts of equal ``prefix`` share it in a row."""

    prefix: tuple[int, ...]
    rest: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.prefix) + len(self.rest)


class LabelTokens:
    """The tokenizer's side: ids of the root, of prompts, of the two labels.

    Raises:
        ModelError: no pair of labels is one token each.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.root = self._ids(ROOT)
        pairs = [tuple(map(self._ids, pair)) for pair in LABELS]
        fitting = [(yes[0], no[0]) for yes, no in pairs if len(yes) == len(no) == 1]
        if not fitting:
            raise ModelError(f"the tokenizer writes none of {LABELS} as one token each")
        self.labels = fitting[0]

    def prompt(self, prompt: LabelPrompt) -> TokenizedPrompt:
        """The ids of a prompt; markers of the chat template in it are read as plain text."""
        return TokenizedPrompt(self._ids(prompt.prefix), self._ids(prompt.rest))

    def _ids(self, text: str) -> tuple[int, ...]:
        found = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        return tuple(found["input_ids"])


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One packed row of N tokens with S prompts."""

    input_ids_1N: Tensor
    position_ids_1N: Tensor
    plan: AttentionPlan
    last_at_S: Tensor
    """Index of each prompt's last token, in the order of the prompts given."""


def pack_labels(
    root: Sequence[int], prompts_S: Sequence[TokenizedPrompt], device: torch.device
) -> LabelRow:
    """One row: the root, then each prefix once, followed by its rests.

    Raises:
        ValueError: nothing to pack, or a part without tokens.
    """
    if not prompts_S or not root or not all(p.prefix and p.rest for p in prompts_S):
        raise ValueError("a row needs a root, and prompts with a prefix and a rest")
    ids, positions = list(root), list(range(len(root)))
    nodes = [Node(0, len(root), ())]
    last_at = [0] * len(prompts_S)
    for prefix, members in _by_prefix(prompts_S):
        trunk = Node(len(ids), len(ids) + len(prefix), ((0, len(root)),))
        nodes.append(trunk)
        ids.extend(prefix)
        positions.extend(range(len(root), len(root) + len(prefix)))
        depth = len(root) + len(prefix)
        for index in members:
            rest = prompts_S[index].rest
            nodes.append(
                Node(len(ids), len(ids) + len(rest), (*trunk.path, (trunk.start, trunk.stop)))
            )
            ids.extend(rest)
            positions.extend(range(depth, depth + len(rest)))
            last_at[index] = len(ids) - 1
    return LabelRow(
        input_ids_1N=torch.tensor([ids], device=device),
        position_ids_1N=torch.tensor([positions], device=device),
        plan=plan_attention(nodes, device),
        last_at_S=torch.tensor(last_at, device=device),
    )


def _by_prefix(
    prompts_S: Sequence[TokenizedPrompt],
) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for index, prompt in enumerate(prompts_S):
        found.setdefault(prompt.prefix, []).append(index)
    yield from found.items()


def label_log_odds(base: Any, row: LabelRow, labels: tuple[int, int]) -> Tensor:
    """(S,) log-odds of the first label against the second at :data:`TEMPERATURE`, nats, float32, with
    gradient.

    Args:
        base: causal language model of transformers (adapter layers may be inside).
        labels: token ids, right first.
    Raises:
        RuntimeError: outside ``packed_attention(base)``.
    """
    hidden_SD = packed_hidden(base, row.input_ids_1N, row.position_ids_1N, row.plan)[row.last_at_S]
    right_D, wrong_D = base.lm_head.weight[list(labels)]
    log_odds_S: Tensor = hidden_SD.float() @ (right_D - wrong_D).float() / TEMPERATURE
    return log_odds_S
