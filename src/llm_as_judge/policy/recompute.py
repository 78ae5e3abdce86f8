"""Activations that the backward pass computes again: less memory, more time.

Transformers 5.23 calls ``activation_checkpointing_*`` what was ``gradient_checkpointing_*`` before, and version
6 ends the older names.
"""

from __future__ import annotations

from typing import Any


def recompute_activations(base: Any) -> None:
    """From now on a transformers model in training mode keeps the inputs of its layers alone."""
    name = "checkpointing_enable"
    enable = getattr(base, f"activation_{name}", None) or getattr(base, f"gradient_{name}")
    enable({"use_reentrant": False})


def recomputes_activations(base: Any) -> bool:
    return any(getattr(module, "gradient_checkpointing", False) for module in base.modules())
