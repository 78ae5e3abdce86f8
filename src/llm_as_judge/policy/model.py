"""The policy: a frozen base model with one LoRA adapter, and its tokenizer.

Weights come as a safetensors folder or as one GGUF file. GGUF weights are de-quantized once into a
safetensors folder beside the file, which then loads in a second.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from peft.tuners.lora import LoraLayer
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import Linear, Parameter
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from llm_as_judge.config import published_base
from llm_as_judge.errors import ModelError
from llm_as_judge.policy.adapter import AdapterSpec, new_adapter, saved_adapter
from llm_as_judge.policy.checkpoint import require_whole
from llm_as_judge.policy.launched import launched
from llm_as_judge.policy.recompute import recompute_activations
from llm_as_judge.policy.soundness import require_finite_weights, require_plain_weights
from llm_as_judge.policy.unpacking import no_policy, unpack_gguf

MODELS_OWN = "sdpa"
"""The attention that a policy is loaded with, by its name in transformers."""

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()
# peft asks transformers by the attribute's old name; nothing a user could mend
warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated")


@dataclass(slots=True)
class Policy:
    """Base model + adapter + tokenizer on one device."""

    model: Any
    """A ``peft.PeftModel`` around a causal language model."""
    tokenizer: Any
    device: torch.device
    dtype: torch.dtype
    name: str = ""
    """What saved adapters call the base model: a hub id, or a plain name; never a path."""
    version: int = 0
    """Number of updates the adapter has had."""

    @property
    def base(self) -> Any:
        """The transformers model inside (adapter layers included)."""
        return self.model.get_base_model()

    @property
    def stop_ids(self) -> frozenset[int]:
        eos = self.base.generation_config.eos_token_id
        ids = eos if isinstance(eos, list) else [eos]
        return frozenset(i for i in [*ids, self.tokenizer.eos_token_id] if i is not None)

    @property
    def context_tokens(self) -> int | None:
        """Positions the model has, prompt and completion together; None = it does not say."""
        found = getattr(self.base.config, "max_position_embeddings", None)
        return int(found) if found else None

    @property
    def sliding_window(self) -> bool:
        """Whether a token of some layer sees only the last tokens before it."""
        config = self.base.config
        if kinds := getattr(config, "layer_types", None):
            return any(kind != "full_attention" for kind in kinds)
        return getattr(config, "sliding_window", None) is not None

    @property
    def adapter_spec(self) -> AdapterSpec:
        (found,) = self.model.peft_config.values()
        return AdapterSpec(found.r, found.lora_alpha, tuple(sorted(found.target_modules)))

    def adapter_parameters(self) -> list[tuple[str, torch.nn.Parameter]]:
        return [(n, p) for n, p in self.model.named_parameters() if p.requires_grad]

    def adapter_state(self) -> dict[str, torch.Tensor]:
        """A copy of the adapter's weights, on the CPU."""
        return {n: p.detach().cpu().clone() for n, p in self.adapter_parameters()}

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Recomputation of activations, where asked for, is on inside and off outside.

        It works in train mode only, and together with a KV cache it is silently wrong, so sampling
        must never see it. There is no dropout: both modes compute the same numbers.
        """
        self.model.train()
        try:
            yield
        finally:
            self.model.eval()

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Inside, a token costs less, and nothing may learn. Takes the memory of the weights once more.

        In float32 every adapted weight has its update added: a third of the products. It is exactly
        undone: the weights themselves are put back, not the update subtracted. In half precision a small
        update would be rounded away, so weights are packed instead, where that gains.
        """
        layers = [m for m in self.model.modules() if isinstance(m, LoraLayer)]
        if self.dtype != torch.float32 or not all(type(m.base_layer) is Linear for m in layers):
            with packed_weights(self.model):
                yield
            return
        plain = [layer.base_layer.weight for layer in layers]
        try:
            with torch.inference_mode(mode=False), torch.no_grad():
                for layer, weight in zip(layers, plain, strict=True):
                    (name,) = layer.active_adapters
                    # a parameter of its own: the weight of a head may be the embedding's too
                    layer.base_layer.weight = Parameter(
                        weight + layer.get_delta_weight(name), requires_grad=False
                    )
            with self.model.disable_adapter():
                yield
        finally:
            for layer, weight in zip(layers, plain, strict=True):
                layer.base_layer.weight = weight

    def save_adapter(self, folder: Path) -> None:
        """Write the adapter in PEFT's format (adapter_config.json, adapter_model.safetensors)."""
        (told,) = self.model.peft_config.values()
        told.base_model_name_or_path = self.name  # PEFT would write where the weights lie here
        # a set's order is another in each process
        told.target_modules = sorted(told.target_modules)
        self.model.save_pretrained(folder, save_embedding_layers=False)
        (folder / "README.md").unlink(missing_ok=True)  # PEFT's form of a model card, not filled in


@contextmanager
def packed_weights(model: Any) -> Iterator[None]:
    """Inside, linear layers in bfloat16 on a CPU read a copy in blocks; without gradient alone.

    A product wants its weight in blocks, and left to itself torch lays every weight out anew for every
    token, which takes longer than the product. The values are the same; the memory is taken once more.
    """
    layers = [m for m in model.modules() if type(m) is Linear and _gains(m.weight)]
    try:
        for layer in layers:
            blocks = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach())  # noqa: SLF001
            layer.forward = partial(_product, blocks, layer.bias)  # type: ignore[method-assign]
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


def _gains(weight: Tensor) -> bool:
    return (
        weight.dtype == torch.bfloat16
        and weight.device.type == "cpu"
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())  # noqa: SLF001
    )


def _product(blocks: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, blocks, bias, "none", [], "")  # noqa: SLF001
    return found


_M_MMAP_THRESHOLD, _OWN_MAPPING_BYTES = -3, 2**20


def return_freed_memory() -> bool:
    """Freed tensors go back to the system at once from now on; False where the C library is not glibc.

    glibc raises the size above which a block is mapped by itself each time such a block is freed, up to
    32 MiB. Most activations are then cut out of heaps that one small survivor keeps from shrinking, so a
    training process grows with every step. A threshold that is set stays. Source: mallopt(3).
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return bool(library.mallopt(_M_MMAP_THRESHOLD, _OWN_MAPPING_BYTES))


def pick_device(name: str) -> torch.device:
    """``auto`` takes a CUDA device if there is one: the first, or each process of
    ``accelerate launch`` its own.

    Raises:
        ModelError: a CUDA device is named and none answers.
    """
    if name == "auto":
        own = f"cuda:{launched().local_rank}"
        return torch.device(own if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ModelError(
            f"device {name!r}: this torch ({torch.__version__}) sees no CUDA device; "
            "use --device cpu, or install a CUDA build of torch"
        )
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ModelError(f"device {name!r}: wanted cpu, cuda:0, ... or auto") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ModelError(f"device {name!r}: found {torch.cuda.device_count()} CUDA devices")
    return device


def pick_dtype(name: Literal["auto", "bfloat16", "float32"], device: torch.device) -> torch.dtype:
    """bfloat16 only where the hardware multiplies in it.

    On a CPU without such instructions a bfloat16 product of 256 rows was measured 7 times slower
    than the float32 one (dtype.py at commit 7c35486).
    """
    if name != "auto":
        return torch.bfloat16 if name == "bfloat16" else torch.float32
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    able = torch.cpu.get_capabilities()
    return torch.bfloat16 if able.get("avx512_bf16") or able.get("amx_bf16") else torch.float32


def load_policy(
    weights: Path,
    *,
    adapter: AdapterSpec | Path,
    name: str | None = None,
    device: str = "auto",
    dtype: Literal["auto", "bfloat16", "float32"] = "auto",
    gradient_checkpointing: bool = False,
    seed: int = 0,
    layers: int | None = None,
) -> Policy:
    """Base weights with a fresh adapter (B = 0: equal to the base) or a saved one.

    Args:
        weights: safetensors folder, or a .gguf file.
        adapter: shape of a new adapter, or the folder of a saved one.
        name: what saved adapters call the base model; None = by the place of ``weights``.
        layers: of the base model from the bottom, the rest is left out; None = all.
    Raises:
        ModelError: weights or adapter cannot be loaded, or do not fit each other.
    """
    if isinstance(adapter, Path):
        require_whole(adapter)  # before the minutes that weights may take
    where = pick_device(device)
    torch_dtype = pick_dtype(dtype, where)
    if where.type == "cpu":
        return_freed_memory()
    folder = unpack_gguf(weights) if weights.suffix == ".gguf" else weights
    require_plain_weights(folder)
    try:
        base = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch_dtype, attn_implementation=MODELS_OWN, local_files_only=True
        )
    except (OSError, ValueError, SafetensorError) as error:
        raise no_policy(folder, error) from error
    _refuse_other_layers(base.config, folder)
    if layers is not None:
        _keep_layers(base, layers, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    base.to(where)
    torch.manual_seed(seed)
    if isinstance(adapter, AdapterSpec):
        model = new_adapter(base, adapter)
    else:
        model = saved_adapter(base, adapter)
    require_finite_weights(base, adapter if isinstance(adapter, Path) else folder)
    if gradient_checkpointing:
        recompute_activations(base)
    model.eval()
    return Policy(
        model=model,
        tokenizer=tokenizer,
        device=where,
        dtype=torch_dtype,
        name=published_base(name or str(weights.absolute())),
    )


def _refuse_other_layers(config: Any, folder: Path) -> None:
    # A recurrent layer has no cache that could be repeated for K completions.
    kinds: Sequence[str] = getattr(config, "layer_types", None) or ()
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            raise ModelError(
                f"{folder}: layers of kind {kind!r} are not supported as policy; "
                "wanted full_attention or sliding_attention"
            )


def _keep_layers(base: Any, layers: int, folder: Path) -> None:
    config = base.config
    if not 1 <= layers <= config.num_hidden_layers:
        raise ModelError(
            f"{folder}: {layers} layers asked for, wanted 1 to {config.num_hidden_layers}"
        )
    base.model.layers = base.model.layers[:layers]
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]
