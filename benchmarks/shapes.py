"""The steps that benchmarks of the update compute: how many tokens, how many operations.

from shapes import GROUP, TREE, Shape
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """A step: problems, tokens all prompts share, tokens of a prompt, of a completion, K, tokens that the
    completions of a problem begin with alike."""

    problems: int
    shared: int
    prompt: int
    completion: int
    samples: int
    alike: int = 0

    @property
    def naive_tokens(self) -> int:
        return self.problems * self.samples * (self.prompt + self.completion)

    @property
    def packed_tokens(self) -> int:
        own = (self.prompt - self.shared) + self._written
        return self.shared + self.problems * own

    @property
    def _written(self) -> int:
        """Tokens of a problem's completions, what they begin with alike once."""
        return self.alike + self.samples * (self.completion - self.alike)

    @property
    def labeled_tokens(self) -> int:
        """That the head is computed for in the packed row."""
        return self.problems * self._written

    def prompts(self) -> list[list[int]]:
        common = tokens(self.shared, 0)
        return [common + tokens(self.prompt - self.shared, 1 + p) for p in range(self.problems)]

    def completions(self) -> list[list[list[int]]]:
        return [
            [
                tokens(self.alike, 500 + p)
                + tokens(self.completion - self.alike, 1000 + 100 * p + k)
                for k in range(self.samples)
            ]
            for p in range(self.problems)
        ]


TINY = {
    "vocab_size": 8192,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
QWEN_7B = {
    "vocab_size": 152064,
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "max_position_embeddings": 32768,
}
QWEN_05B = {
    "vocab_size": 151936,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
}
"""Arguments of ``Qwen2Config``: models of random weights, two of them in the shape of Qwen2.5."""

GROUP = Shape(1, 1500, 1500, 200, 6)
TREE = Shape(4, 1700, 2000, 250, 6)
ALIKE = Shape(4, 100, 220, 50, 12, alike=38)
"""Programs of a warm-started policy under a short prompt: they differ in their last quarter."""
QUICK_GROUP, QUICK_TREE = Shape(1, 150, 150, 20, 6), Shape(2, 170, 200, 25, 6)
QUICK_ALIKE = Shape(2, 20, 40, 20, 6, alike=15)


def tokens(count: int, seed: int) -> list[int]:
    draw = random.Random(seed)
    return [draw.randrange(10, 1000) for _ in range(count)]


def naive_operations(config: Any, shape: Shape) -> float:
    """Floating-point operations of one row per completion, forward."""
    per_token, per_pair = _parts(config)
    rows, length = shape.problems * shape.samples, shape.prompt + shape.completion
    labeled = rows * shape.completion
    return rows * (length * per_token + per_pair * length**2 / 2) + _labels(config, labeled)


def packed_operations(config: Any, shape: Shape) -> float:
    """The same of the packed row."""
    per_token, per_pair = _parts(config)
    rest = shape.prompt - shape.shared
    pairs = (
        shape.shared**2 / 2
        + shape.problems * rest * (shape.shared + rest / 2)
        + shape.labeled_tokens * (shape.prompt + shape.completion / 2)
    )
    head = _labels(config, shape.labeled_tokens)
    return shape.packed_tokens * per_token + per_pair * pairs + head


def _parts(config: Any) -> tuple[float, float]:
    """Operations a token in the layers' products, and a pair of tokens in attention."""
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    wide, kv = head * config.num_attention_heads, head * config.num_key_value_heads
    hidden, inner = config.hidden_size, config.intermediate_size
    per_token = 2 * hidden * (2 * wide + 2 * kv + 3 * inner) * config.num_hidden_layers
    per_pair = 4 * wide * config.num_hidden_layers  # scores and sums, causal: half the square
    return per_token, per_pair


def _labels(config: Any, count: int) -> float:
    """The head is computed for completions alone."""
    return float(count * 2 * config.hidden_size * config.vocab_size)
