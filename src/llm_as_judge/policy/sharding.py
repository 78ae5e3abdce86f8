"""FSDP2: the frozen base weights divided among processes, layer by layer.

What is divided are the weights of the decoder layers, where nearly all of them are. The adapter stays
whole in every process: it is small, its gradients are added up once a step, and the process that
writes checkpoints has all of it. Embedding, norm and head stay whole too: the head is called a chunk
of labels at a time, in each process another number of times, which a divided one could not bear.

Options come from the launcher's configuration (``accelerate launch --config_file``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

if TYPE_CHECKING:
    from llm_as_judge.policy.model import Policy


def shard(policy: Policy, device: torch.device) -> None:
    """Divide a policy that was loaded on the CPU, in place, and move it to ``device``.

    A layer at a time is whole on the device; processes must all call this.
    """
    from accelerate.utils import FullyShardedDataParallelPlugin

    options = FullyShardedDataParallelPlugin()  # reads the launcher's environment
    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    inner = policy.base.model
    adapter = {parameter for _, parameter in policy.adapter_parameters()}
    for layer in inner.layers:
        fully_shard(
            layer,
            mesh=mesh,
            reshard_after_forward=bool(options.reshard_after_forward),
            offload_policy=options.cpu_offload,
            ignored_params=adapter,
        )
    # Without weights of its own: what the layers' gathering is ordered by.
    fully_shard(inner, mesh=mesh, ignored_params=set(inner.parameters()))
    for parameter in [*adapter, *_whole(policy)]:
        parameter.data = parameter.data.to(device)
    for buffer in policy.model.buffers():
        buffer.data = buffer.data.to(device)


def _whole(policy: Policy) -> list[torch.nn.Parameter]:
    """Parameters outside of the decoder layers."""
    inside = {id(p) for layer in policy.base.model.layers for p in layer.parameters()}
    return [p for p in policy.model.parameters() if id(p) not in inside]
