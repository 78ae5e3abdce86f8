"""Weights that no policy can be made of, and numbers that nothing may follow from: quantized files, NaN,
infinities. Each is one line, before anything is written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_as_judge.errors import ModelError
from llm_as_judge.files import read_json
from llm_as_judge.quoting import quoted

if TYPE_CHECKING:  # the files are looked at before torch is loaded
    from torch import Tensor

_REMEDY = (
    "its weights are broken, or too large for its dtype: take an earlier checkpoint, policy.dtype=float32, or other "
    "weights"
)


def require_plain_weights(folder: Path) -> None:
    """
    Raises:
        ModelError: config.json cannot be read, or says that the weights are quantized.
    """
    file = folder / "config.json"
    try:
        config = read_json(file)
    except FileNotFoundError:
        raise ModelError(f"{folder}: no config.json; run: llm-as-judge models pull NAME") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: cannot be read ({quoted(str(error), 80)})") from None
    found = config.get("quantization_config") if isinstance(config, dict) else None
    if found:
        method = found.get("quant_method") if isinstance(found, dict) else None
        raise ModelError(
            f"{folder}: its weights are quantized ({quoted(str(method or 'no method named'), 40)}); wanted plain "
            "ones, which a LoRA adapter can be trained on and merged into: take the model that it was made from"
        )


def require_finite_weights(model: Any, where: Path) -> None:
    """
    Args:
        model: a torch module.
    Raises:
        ModelError: a weight is NaN or infinite.
    """
    for name, weight in model.named_parameters():
        if weight.is_floating_point() and weight.numel() and not weight.is_meta:
            least, greatest = weight.detach().aminmax()
            if not math.isfinite(least) or not math.isfinite(greatest):
                raise ModelError(
                    f"{where}: {name} holds NaN or an infinity; fetch the weights again"
                )


def all_finite(weights: Iterable[Tensor]) -> bool:
    return all(bool(weight.isfinite().all()) for weight in weights)


def require_finite_logprobs(logprobs: Iterable[float], who: str) -> None:
    """
    Args:
        logprobs: of tokens that were drawn, or read off; nats.
        who: begins the message, say ``policy NAME``.
    Raises:
        ModelError: one is NaN or infinite.
    """
    if not all(map(math.isfinite, logprobs)):
        raise ModelError(f"{who}: its logits are not finite numbers; {_REMEDY}")
