"""Memory of a policy's weights and its adapter, from the shapes alone: nothing is loaded."""

from __future__ import annotations

import json
import struct
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path

from llm_as_judge.config import ModelEntry
from llm_as_judge.hub import hub_address, hub_errors
from llm_as_judge.llm.weights import installed

Shapes = Mapping[str, tuple[int, ...]]

_TRAINED_BYTES = 16
"""Of an adapter's parameter, in float32: itself, its gradient and two moments of Adam."""


def memory_line(shapes: Shapes, rank: int, targets: Collection[str]) -> str:
    """What the weights and an adapter take, in words.

    Args:
        targets: last names of the layers that get an adapter.
    """
    count = sum(map(prod, shapes.values()))
    adapted = [shape for name, shape in shapes.items() if _layer_of(name) in targets]
    adapter = rank * sum(map(sum, adapted)) * _TRAINED_BYTES
    return (
        f"weights {2 * count / 1e9:.1f} GB in bfloat16, {4 * count / 1e9:.1f} GB in float32; adapter of rank "
        f"{rank} with its Adam state {adapter / 1e9:.1f} GB; activations come on top (docs/answers.md)"
    )


def listed_line(entry: ModelEntry) -> str:
    """What is known of weights whose shapes cannot be read; empty where models.yaml has no size of them."""
    if entry.bytes is None or entry.format != "safetensors":
        return ""
    size = entry.bytes / 1e9  # published in bfloat16
    return (
        f"weights about {size:.1f} GB in bfloat16, {2 * size:.1f} GB in float32, by the size in models.yaml; "
        "adapter and activations come on top (docs/answers.md)"
    )


def tensor_shapes(entry: ModelEntry, cache_dir: Path) -> Shapes:
    """Of the model's tensors; of one that is on the hub alone, the headers of its files are read there.
    Empty where they cannot be told without unpacking or fetching."""
    found = installed(entry, cache_dir)
    if found is None:
        return _on_the_hub(entry)
    folder = found.with_name(f"{found.stem}-safetensors") if found.is_file() else found
    shapes: dict[str, tuple[int, ...]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        shapes.update(_of_file(path))
    return shapes


def _layer_of(name: str) -> str:
    """``q_proj`` of ``model.layers.0.self_attn.q_proj.weight``; empty for what is no weight of a layer."""
    before, _, last = name.rpartition(".")
    return before.rpartition(".")[2] if last == "weight" else ""


def _of_file(path: Path) -> Shapes:
    try:
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header = json.loads(stream.read(length))
        return {name: tuple(one["shape"]) for name, one in header.items() if name != "__metadata__"}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error):
        return {}  # no safetensors: loading says so
    except (OverflowError, MemoryError, RecursionError):
        return {}


def _on_the_hub(entry: ModelEntry) -> Shapes:
    hub = next((s for s in entry.sources if s.hub is not None and s.file is None), None)
    if hub is None or entry.format != "safetensors":
        return {}
    from huggingface_hub import HfApi
    from huggingface_hub.errors import NotASafetensorsRepoError, SafetensorsParsingError

    unreadable = (NotASafetensorsRepoError, SafetensorsParsingError)

    assert hub.hub is not None
    try:
        told = HfApi(endpoint=hub_address()).get_safetensors_metadata(
            hub.hub, revision=hub.revision
        )
    except hub_errors() + unreadable:
        return {}
    return {
        name: tuple(tensor.shape)
        for file in told.files_metadata.values()
        for name, tensor in file.tensors.items()
    }
