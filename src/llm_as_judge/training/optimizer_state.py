"""An optimizer's moments as tensors with names, and back: what a checkpoint holds of it."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor
from torch.optim import Optimizer

from llm_as_judge.errors import ModelError


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """Every tensor of the optimizer's state, on the CPU, as ``NUMBER_OF_THE_WEIGHT.NAME``."""
    return {
        f"{index}.{key}": value.detach().cpu().contiguous()
        for index, entry in optimizer.state_dict()["state"].items()
        for key, value in entry.items()
    }


def load_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """The inverse of :func:`optimizer_tensors`.

    Raises:
        ModelError: a tensor that is of no weight of this optimizer.
    """
    shapes = [p.shape for group in optimizer.param_groups for p in group["params"]]
    entries: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition(".")
        known = index.isdecimal() and int(index) < len(shapes)
        if not known or value.shape not in ((), shapes[int(index)]):
            raise ModelError(
                f"optimizer: {name} of shape {tuple(value.shape)} is of no weight of this "
                "policy; resume with the model and adapter of the checkpoint"
            )
        entries.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": entries})
