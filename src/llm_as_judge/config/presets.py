"""Named losses of the literature: ``training.preset`` sets all keys of the loss at once.

Each preset is the published loss, not the published recipe: DAPO's over-long shaping and its
sampling until a group has variance, say, are no part of a loss. What a paper leaves open is said
beside the number.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from llm_as_judge.config.loss import LossKeys

Preset = Literal["grpo", "dr_grpo", "dapo", "gspo", "cispo"]


def _over_grpo(**changes: Any) -> Mapping[str, Any]:
    return MappingProxyType(LossKeys(**changes).model_dump())


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # DeepSeekMath, arXiv:2402.03300, equation 3. The paper adds a KL of weight 0.04; here it is
        # off, as in the papers below: no second forward pass.
        "grpo": _over_grpo(),
        # arXiv:2503.20783, section 3.2: neither the length of a sequence nor the deviation of its
        # group may weigh it.
        "dr_grpo": _over_grpo(advantage_norm="none", loss_aggregation="constant"),
        # arXiv:2503.14476, sections 3.1 and 3.3: the upper clip is higher, all tokens weigh alike.
        "dapo": _over_grpo(loss_aggregation="token", clip_high=0.28),
        # arXiv:2507.18071, equation 5 and section 5.1: the ratio of the whole sequence, so the clip
        # is three orders of magnitude smaller.
        "gspo": _over_grpo(loss_type="gspo", clip_low=3e-4, clip_high=4e-4),
        # MiniMax-M1, arXiv:2506.13585, equations 4 and 5: no floor, a tuned cap that the paper does
        # not print; 5 is that of ScaleRL (arXiv:2510.13786).
        "cispo": _over_grpo(loss_type="cispo", loss_aggregation="token", is_clip_max=5.0),
    }
)
"""Preset -> keys of ``training`` with their values; every preset sets the same keys."""
